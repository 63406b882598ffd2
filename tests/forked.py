"""A process that is forked from this one, which has loaded everything.

What a process has for itself, its signals, its rights, its limits and its streams, is tried in one of these, without
the second that `python -m cgm_cli` takes to start. What happens in that second needs the latter.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import cgm_cli.display.console
import cgm_cli.runs.execute  # noqa: F401  both are loaded here, and not by every child
from cgm_cli.__main__ import main

CLOSED = "-"
"""In place of the path of a stream: it is closed, as by `>&-`."""


class Forked:
    """work() in a child of this process; it has the names and the meaning of subprocess.Popen.

    stdin: what it reads, or CLOSED; nothing if it is not given. stdout, stderr: a file or its path, or CLOSED;
    what goes to one that is not given is kept, and can be looked at meanwhile.
    """

    def __init__(
        self,
        work: Callable[[], Any],
        *,
        cwd: Path | None = None,
        stdin: bytes | str = b"",
        stdout: IO[bytes] | Path | str | None = None,
        stderr: IO[bytes] | Path | str | None = None,
    ):
        self._kept = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115
        if stdin != CLOSED:
            self._kept[0].write(stdin.encode() if isinstance(stdin, str) else stdin)
            self._kept[0].flush()
            self._kept[0].seek(0)

        def begin() -> None:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            sys.stdin = _stream(0, CLOSED if stdin == CLOSED else self._kept[0])
            sys.stdout = _stream(1, stdout or self._kept[1])
            sys.stderr = _stream(2, stderr or self._kept[2])
            if cwd is not None:
                os.chdir(cwd)
            work()

        self._process = multiprocessing.get_context("fork").Process(target=begin, daemon=True)
        self._process.start()
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    @property
    def stdout(self) -> str:
        """So far."""
        return _read(self._kept[1].fileno())

    @property
    def stderr(self) -> str:
        """So far."""
        return _read(self._kept[2].fileno())

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float = 120.0) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout, self.stdout, self.stderr)
        return self._process.exitcode

    def communicate(self, timeout: float = 120.0) -> tuple[str, str]:
        self.wait(timeout)
        return self.stdout, self.stderr

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def begun(*arguments: object, before: Callable[[], None] | None = None, **options: Any) -> Forked:
    """The command, begun. before: what is done in the child first; options: those of Forked."""

    def work() -> None:
        if before is not None:
            before()
        sys.argv = ["cgm", *map(str, arguments)]
        main()

    return Forked(work, **options)


def cgm(*arguments: object, **options: Any) -> Forked:
    """The command, at its end."""
    process = begun(*arguments, **options)
    try:
        process.wait()
    finally:
        process.kill()
    return process


def until(what: Callable[[], Any], seconds: float = 30.0) -> Any:
    """The first value of what() that is true."""
    deadline = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return value


def without_privileges() -> None:
    """In a child: root gives up the right to write anywhere."""
    dac_override, version = 1, 0x20080522
    libc = ctypes.CDLL(None)
    header = (ctypes.c_uint32 * 2)(version, 0)  # of this process
    held = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable rights: the first 32, then the others
    assert libc.capget(header, held) == 0
    held[0] &= ~(1 << dac_override)
    assert libc.capset(header, held) == 0


def _stream(number: int, place: Any) -> Any:
    """What Python makes of a descriptor as it starts, once it leads to that place."""
    if place == CLOSED:
        os.close(number)
        return None
    opened = place if hasattr(place, "fileno") else open(place, "r+b", buffering=0)  # noqa: SIM115
    os.dup2(opened.fileno(), number)
    if number == 0:
        return open(0, encoding="utf-8", closefd=False)
    return open(number, "w", encoding="utf-8", errors="backslashreplace", buffering=number - 1 or -1, closefd=False)


def _read(descriptor: int) -> str:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode()
