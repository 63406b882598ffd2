"""The command `cgm`, also as `python -m cgm_cli`. It imports next to nothing before it minds signals."""

from __future__ import annotations

import os
import signal
import sys

_EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 75, signal.SIGUSR1: 75, signal.SIGUSR2: 75}
_SOLVING = ("solve", "resume")
"""The commands that leave with those codes; any other one is ended by a signal as usual, once it is imported."""


def main() -> None:
    """Import the command line and run it. A signal before a solve has begun ends the process with its exit code and no
    traceback; one that comes when the command has done its work changes nothing any more.
    """
    # A signal that somebody ignores, or handles, stays with them.
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    former = {number: signal.getsignal(number) for number in _EXIT_CODES}
    ours = [number for number, handler in former.items() if handler in defaults]
    try:
        # A KeyboardInterrupt in one of the import system's callbacks would be printed and forgotten.
        for number in ours:
            signal.signal(number, _leave)
        from cgm_cli.cli import main as command_line

        solving = sys.argv[1:2] and sys.argv[1] in _SOLVING
        for number in () if solving else ours:
            signal.signal(number, former[number])
        try:
            command_line()
        finally:
            for number in ours if solving else ():
                signal.signal(number, signal.SIG_IGN)
    except KeyboardInterrupt:
        sys.exit(130)


def _leave(number: int, frame: object) -> None:
    # Nothing is open yet, and nothing is printed.
    os._exit(_EXIT_CODES[signal.Signals(number)])


if __name__ == "__main__":
    main()
