"""The Python interface: `from cgm_cli import solve, load_run`.

What solves is imported by the first call: who only imports this, or reads runs, does not wait for it.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgm_cli.errors import ProblemError
from cgm_cli.runs.load import load_run

if TYPE_CHECKING:
    from cgm_cli.blocks.problem import CompositeProblem
    from cgm_cli.certificates.certificate import Certificate
    from cgm_cli.display.answer import Answer
    from cgm_cli.methods.method import Method
    from cgm_cli.methods.record import IterationRecord
    from cgm_cli.methods.stopping import StopRules
    from cgm_cli.runs.execute import Observer

__all__ = ["certify", "load_run", "solve"]


def solve(
    spec: str | Path | Mapping[str, Any] | CompositeProblem,
    overrides: Sequence[str] = (),
    out: str | Path | None = None,
    on_record: Callable[[IterationRecord], None] | None = None,
    quiet: bool = True,
    resume: str | Path | None = None,
    *,
    progress: Callable[..., Any] | None = None,
    method: str | Mapping[str, Any] | Method = "auto",
    stop: Mapping[str, Any] | StopRules | None = None,
    seed: int = 0,
    allow_python: bool = False,
) -> Answer:
    """Solve a spec, given as a file or a mapping, and return the result; the run folder is written as by `cgm solve`,
    which makes a spec of data files, too.

    A mapping may hold arrays and numbers of NumPy, matrices of SciPy, frames and series of pandas. They are saved in
    the run folder, whose spec.yaml names them: it can be solved again, and the run resumed and verified, like any
    other. overrides: as for `--set`, for instance ["solver.beta0=0.5"]; a single one may be given as it is. out: the
    run folder, else runs/<name>/<id> below the current folder. resume: instead, the folder of a run to go on with, as
    by `cgm solve --resume`; never beside `out`. on_record: called with each IterationRecord. quiet=False shows the
    progress on standard error. progress: a bar of tqdm's kind, for instance `tqdm.auto.tqdm`: it is called with
    total=iterations and then told by `update(steps)`, `set_postfix(objective=..., gap=..., infeasibility=...)` and
    `close()`. The logger `cgm_cli` is told of the progress, too, every five seconds or more, at the level INFO.

    allow_python: whether Python functions that the spec names are run; else it is refused.

    In place of a spec there may be a CompositeProblem, built of the blocks in Python: then `method` is what stands
    under `solver` in a spec, or the name of a method, or a Method, `stop` what stands under `stop`, or StopRules
    (without it, a gap and an infeasibility of 1e-4), and no run folder is written: the answer's `run` is None.

    Raises CgmError, and TypeError, with the place, for a value that no spec can hold, or the argument, for one that is
    none; warns (RuntimeWarning) when the result is there but the run folder could not be written to the end.
    """
    if on_record is not None and not callable(on_record):
        raise TypeError(f"on_record: expected a function of a record, not a value of type {type(on_record).__name__}")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: expected a bar such as tqdm, not a value of type {type(progress).__name__}")
    watch = _Watch(on_record, quiet, progress, logging.getLogger("cgm_cli").isEnabledFor(logging.INFO))
    if isinstance(spec, Mapping | str | Path):
        from cgm_cli.readers.functions import allowing

        if stop is not None or method != "auto" or seed != 0:
            raise TypeError("a spec says `method`, `stop` and `seed` itself: change them by `overrides`")
        if spec == "":
            raise ProblemError("spec: expected the path of a file, got an empty text")
        with allowing(allow_python):
            return _solve_spec(spec, overrides, out, watch, resume)
    from cgm_cli.blocks.problem import CompositeProblem

    if isinstance(spec, CompositeProblem):
        if overrides or out is not None or resume is not None:
            raise TypeError("a problem built in Python has no spec to override, and no run folder")
        return _solve_problem(spec, method, stop, seed, watch)
    raise TypeError(f"a spec is the path of a file or a mapping, not a value of type {type(spec).__name__}")


def certify(
    points: Any,
    labels: Any = None,
    clusters: int | None = None,
    *,
    within: float | None = None,
    time: float | None = 60.0,
    failure: float = 1e-3,
    seed: int = 0,
) -> Certificate:
    """How far a k-means clustering is from the best possible one, proven: `certify(X, labels).within_percent`.

    points (n, d): numbers, finite. labels (n,): the clustering, any values; without them one is looked for. clusters:
    how many clusters the others may have, those of the labels if not given. within: a relative distance from the best
    that is enough, e.g. 0.02. time: seconds, None for no limit. failure: the probability with which the proof may be
    wrong where the points are too many to be taken all at once in the time, as more than 20,000 are; of others it is
    certified.

    Raises CgmError and TypeError for arguments that are none.
    """
    from cgm_cli.certificates.points import certify as certify_points

    return certify_points(points, labels, clusters, within=within, time=time, failure=failure, seed=seed)


def _solve_problem(
    problem: CompositeProblem,
    method: str | Mapping[str, Any] | Method,
    stop: Mapping[str, Any] | StopRules | None,
    seed: int,
    watch: _Watch,
) -> Answer:
    from cgm_cli.display.answer import Answer
    from cgm_cli.methods.stopping import StopRules
    from cgm_cli.solving.direct import solve_problem

    with ExitStack() as stack:
        rules = stop if isinstance(stop, StopRules) else None
        observers = watch.observers(stack, problem.sense, rules)
        result = solve_problem(problem, method, stop, seed=seed, observers=observers)
    return Answer.of(result, None)


def _solve_spec(
    spec: str | Path | Mapping[str, Any],
    overrides: Sequence[str],
    out: str | Path | None,
    watch: _Watch,
    resume: str | Path | None,
) -> Answer:
    from cgm_cli.display.answer import Answer
    from cgm_cli.readers.kinds import recognise
    from cgm_cli.runs.execute import execute

    overrides = _overrides(overrides)
    out, resume = _path(out, "out"), _path(resume, "resume")
    if out is not None and resume is not None:
        raise ProblemError("a run goes on in its own folder: give either `out` or `resume`")
    made = None if isinstance(spec, Mapping) else recognise(Path(spec))
    with ExitStack() as stack:
        outcome = execute(
            made or spec,
            overrides,
            out,
            lambda sense, rules: watch.observers(stack, sense, rules),
            resume=resume,
        )
    if outcome.result is None and outcome.status.resumable:
        raise ProblemError(f"{outcome.run} was left before its first step; `resume` goes on with it.")
    if outcome.result is None:
        raise ProblemError(f"{outcome.run} has ended and has nothing left to do; `load_run` reads its result.")
    if outcome.fault is not None:
        warnings.warn(outcome.fault.message, RuntimeWarning, stacklevel=3)
    return Answer.of(outcome.result, outcome.run)


@dataclass(frozen=True)
class _Watch:
    """Who is told of the records. logged: whether the logger is."""

    on_record: Callable[[IterationRecord], None] | None
    quiet: bool
    progress: Callable[..., Any] | None
    logged: bool

    def observers(self, stack: ExitStack, sense: str, rules: StopRules | None) -> list[Observer]:
        """They are closed with the stack."""
        from cgm_cli.display.bar import Bar, logging_console
        from cgm_cli.display.console import Progress, error_console

        chosen: list[Observer] = []
        if not self.quiet:
            chosen.append(stack.enter_context(Progress(sense, error_console(), rules=rules)))
        if self.progress is not None:
            bar = Bar(self.progress(total=None if rules is None else rules.iterations))
            stack.callback(bar.close)
            chosen.append(bar)
        if self.logged:
            chosen.append(stack.enter_context(Progress(sense, logging_console(), rules=rules)))
        if self.on_record is not None:
            chosen.append(_Callback(self.on_record))
        return chosen


def _overrides(given: Sequence[str]) -> list[str]:
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise TypeError(f'overrides: expected texts such as "solver.beta0=0.5", not {type(given).__name__}')
    found = list(given)
    for index, each in enumerate(found):
        if not isinstance(each, str):
            raise TypeError(
                f'overrides[{index}]: expected a text such as "solver.beta0=0.5", not a value of type '
                f"{type(each).__name__}"
            )
    return found


def _path(name: str | Path | None, argument: str) -> Path | None:
    if name is None:
        return None
    if not isinstance(name, str | Path):
        raise TypeError(f"{argument}: expected the path of a folder, not a value of type {type(name).__name__}")
    if name == "":
        raise ProblemError(f"{argument}: expected the path of a folder, got an empty text")
    return Path(name)


@dataclass(frozen=True)
class _Callback:
    tell: Callable[[IterationRecord], None]

    def on_record(self, record: IterationRecord) -> None:
        self.tell(record)
