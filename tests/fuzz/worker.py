"""A long-lived process that tries one case after another, and the watchdog that notices when it dies or hangs."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import io
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import typer.main

from cgm_cli.cli import _run
from cgm_cli.errors import CgmError
from cgm_cli.readers import memory
from cgm_cli.runs.load import load_run
from tests.fuzz.cases import Case
from tests.fuzz.seeds import oddities

SECONDS = 20.0
"""Of processor time; a machine that is busy with others is no failure before WALL."""
WALL = 90.0
BYTES = 10**9
"""How far the address space may grow in one case."""
TOLD = 300_000_000
"""What the program is told that the machine has left: little, so that whatever is accepted is solved in no time."""
ODD = "odd"
SHORT = ("--set", "solver.iterations=3", "--set", "stop.time=1", "--set", "threads=1")


class Failure(Exception):
    """What is not as it must be."""


class Pool:
    """One worker, started again when it is lost. `peak` is the most memory that a worker ever had, in bytes."""

    def __init__(self) -> None:
        memory_disk = Path("/dev/shm")
        self.scratch = Path(tempfile.mkdtemp(prefix="fuzz-", dir=memory_disk if memory_disk.is_dir() else None))
        odd = self.scratch / ODD
        odd.mkdir()
        Case("spec", "oddities", {**oddities()}).put(odd)
        self.peak = 0
        self.warned: dict[str, int] = {}
        self._process: Any = None

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def run(self, case: Case) -> tuple[str, str]:
        """How the case ended: ("accepted" | "refused" | "failed", what there is to say of it)."""
        if self._process is None:
            self._start()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._pipe.send(case)
        reason = self._wait()
        if reason is not None:
            return "failed", f"{reason}\n{self._lost()}"
        try:
            outcome, detail, peak, warned = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            return "failed", f"the process ended with {self._process.exitcode}\n{self._lost()}"
        self.peak = max(self.peak, peak)
        for text in warned:
            self.warned[text] = self.warned.get(text, 0) + 1
        return outcome, detail

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, self._pipe, self.scratch), daemon=True)
        self._process.start()
        theirs.close()

    def stop(self) -> None:
        """End the worker; the next case gets a new one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None

    def _wait(self) -> str | None:
        """Why the worker does not answer, or None as soon as it does."""
        begun, used = time.monotonic(), self._processor()
        while not self._pipe.poll(0.5):
            if self._processor() - used > SECONDS:
                return f"took more than {SECONDS:g} s of processor time"
            if time.monotonic() - begun > WALL:
                return f"took more than {WALL:g} s"
        return None

    def _processor(self) -> float:
        try:
            cells = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")

    def _lost(self) -> str:
        """End the worker, and tell where in the code it was."""
        if self._process.is_alive():
            os.kill(self._process.pid, signal.SIGUSR1)
            time.sleep(0.5)
        self.stop()
        return (self.scratch / "stack.txt").read_text(errors="replace")[:4000]


def _work(pipe: Any, other_end: Any, scratch: Path) -> None:
    other_end.close()  # else the end of the parent would go unnoticed
    memory._machine = lambda: TOLD
    null = os.open(os.devnull, os.O_RDWR)
    # Standard input never ends and never gives: whoever reads it hangs.
    os.dup2(os.pipe()[0], 0)
    os.dup2(null, 1)
    stack = (scratch / "stack.txt").open("w")
    faulthandler.enable(stack)
    faulthandler.register(signal.SIGUSR1, stack)
    os.chdir(scratch)
    # Where data files are looked up last: what is no file, under any name a spec may have for it.
    os.environ["CGM_DATA"] = os.pathsep.join([os.environ.get("CGM_DATA", ""), str(scratch / ODD)])
    # The commands are the same every time.
    typer.main.get_command = functools.cache(typer.main.get_command)
    while True:
        try:
            case = pipe.recv()
        except EOFError:
            return
        folder = scratch / "case"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        case.put(folder)
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_size() + BYTES, hard))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                outcome, detail = try_spec(folder) if case.kind == "spec" else try_run(folder)
            except Failure as failure:
                outcome, detail = "failed", str(failure)
            except BaseException:
                outcome, detail = "failed", traceback.format_exc()
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        told = [f"{w.category.__name__}: {str(w.message)[:100]} ({Path(w.filename).name}:{w.lineno})" for w in caught]
        peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        pipe.send((outcome, detail, peak, told))


def _size() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def try_spec(folder: Path) -> tuple[str, str]:
    """`cgm check`, and `cgm solve` and `load_run` of what it accepts."""
    spec = str(folder / "spec.yaml")
    code, output, errors = _command("check", spec)
    if code:
        asked, text, _ = _command("check", spec, "--json")
        if asked != code or not json.loads(text)["error"]["faults"]:
            raise Failure(f"check says {code}, check --json {asked}: {text[:500]}")
        return "refused", errors
    # What a clustering is compared with takes as long as the spec says.
    few = ("--set", "problem.restarts=1") if b"kmeans-sdp" in (folder / "spec.yaml").read_bytes() else ()
    out = str(folder / "run")
    code, output, errors = _command("solve", spec, "--json", "--quiet", "--out", out, *SHORT, *few)
    if output or not code:
        json.loads(output, parse_constant=_refuse_constant)
    elif code:
        _check_message(errors)
        return "refused", f"by solve only: {errors}"
    _read(folder / "run")
    return "accepted", ""


def try_run(folder: Path) -> tuple[str, str]:
    """`load_run` and all that it offers; each property may fail by itself."""
    messages = _read(folder)
    return ("refused", "\n".join(messages)) if messages else ("accepted", "")


def _read(folder: Path) -> list[str]:
    messages = []
    try:
        run = load_run(folder)
    except CgmError as error:
        _check_message(error.message)
        return [error.message]
    for name in ("died", "summary", "spec_text", "resolved", "provenance", "trace", "solution", "duals"):
        try:
            getattr(run, name)
        except CgmError as error:
            _check_message(error.message)
            messages.append(error.message)
    return messages


def _command(*arguments: str) -> tuple[int, str, str]:
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = _run(list(arguments)) or 0
    out, err = output.getvalue(), errors.getvalue()
    if code not in (0, 2, 3, 4):
        raise Failure(f"exit code {code}: {err[:2000]}")
    if "--json" not in arguments and code:
        _check_message(err)
    if "out of memory" in err.lower():
        raise Failure("memory ran out that was not reserved")
    _check_printable(err)
    return int(code), out, err


def _check_message(message: str) -> None:
    if not message.strip():
        raise Failure("no message")
    if "Traceback" in message or len(message) > 60_000:
        raise Failure(f"not a message for people: {message[:2000]}")
    _check_printable(message)


def _check_printable(message: str) -> None:
    bad = [c for c in message if unicodedata.category(c) in ("Cc", "Cs", "Cf") and c != "\n"]
    if bad:
        raise Failure(f"a message with the character {bad[0]!r}: {message[:2000]!r}")


def _refuse_constant(name: str) -> None:
    raise Failure(f"the JSON of a solve has {name}")


if sys.platform != "linux":
    raise ImportError("the watchdog reads /proc")
