"""The command `cgm`, also as `python -m cgm_cli`. It imports next to nothing before it minds Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Import the command line and run it. A Ctrl-C meanwhile ends the process with exit code 130 and no traceback."""
    try:
        # A KeyboardInterrupt in one of the import system's callbacks would be printed and forgotten.
        python = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if python:
            signal.signal(signal.SIGINT, _leave)
        from cgm_cli.cli import main as command_line

        if python:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command_line()
    except KeyboardInterrupt:
        sys.exit(130)


def _leave(number: int, frame: object) -> None:
    # Nothing is open yet, and nothing is printed.
    os._exit(130)


if __name__ == "__main__":
    main()
