"""The Python interface: `from cgm_cli import solve, load_run`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgm_cli.display.answer import Answer
from cgm_cli.display.console import Progress, error_console
from cgm_cli.errors import ProblemError
from cgm_cli.methods.record import IterationRecord
from cgm_cli.runs.execute import Observer, execute
from cgm_cli.runs.load import Run, load_run

__all__ = ["Answer", "Run", "load_run", "solve"]


def solve(
    spec: str | Path | Mapping[str, Any],
    overrides: Sequence[str] = (),
    out: str | Path | None = None,
    on_record: Callable[[IterationRecord], None] | None = None,
    quiet: bool = True,
    resume: str | Path | None = None,
) -> Answer:
    """Solve a spec, given as a file or a mapping, and return the result; the run folder is written as by `cgm solve`.

    A mapping may hold arrays and numbers of NumPy, matrices of SciPy, frames and series of pandas. They are saved in
    the run folder, whose spec.yaml names them: it can be solved again, and the run resumed and verified, like any
    other. overrides: as for `--set`, for instance ["solver.beta0=0.5"]; a single one may be given as it is. out: the
    run folder, else runs/<name>/<id> below the current folder. resume: instead, the folder of a run to go on with, as
    by `cgm solve --resume`. on_record: called with each IterationRecord. quiet=False shows the progress on standard
    error.

    Raises CgmError, and TypeError, with the place, for a value that no spec can hold; warns (RuntimeWarning) when the
    result is there but the run folder could not be written to the end.
    """
    if isinstance(spec, Mapping | str | Path):
        return _solve_spec(spec, overrides, out, on_record, quiet, resume)
    raise TypeError(f"a spec is the path of a file or a mapping, not a value of type {type(spec).__name__}")


def _solve_spec(
    spec: str | Path | Mapping[str, Any],
    overrides: Sequence[str],
    out: str | Path | None,
    on_record: Callable[[IterationRecord], None] | None,
    quiet: bool,
    resume: str | Path | None,
) -> Answer:
    if isinstance(overrides, str):
        overrides = [overrides]
    with ExitStack() as stack:

        def observers(sense: str) -> list[Observer]:
            chosen: list[Observer] = [] if quiet else [stack.enter_context(Progress(sense, error_console()))]
            if on_record is not None:
                chosen.append(_Callback(on_record))
            return chosen

        outcome = execute(spec, overrides, _path(out), observers, resume=_path(resume))
    if outcome.result is None:
        raise ProblemError(f"{outcome.run} has ended and has nothing left to do; `load_run` reads its result.")
    if outcome.fault is not None:
        warnings.warn(outcome.fault.message, RuntimeWarning, stacklevel=3)
    return Answer.of(outcome.result, outcome.run)


def _path(name: str | Path | None) -> Path | None:
    return None if name is None else Path(name)


@dataclass(frozen=True)
class _Callback:
    on_record: Callable[[IterationRecord], None]
