"""The methods of cgm that are measured, taken from the model of the spec: a method or a correction that is added there
is measured from then on.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.suite.problems import Problem
from benchmarks.suite.references import Reference
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.status import Leave, Status
from cgm_cli.solving.rivals import RIVALS
from cgm_cli.spec.registry import METHODS
from cgm_cli.templates.build import build

TARGETS = (1e-1, 1e-2, 1e-3)
"""The accuracies that the time to is measured."""

STEPS = 16
"""So many first steps tell what one takes: within the same time there are many more of a small problem, and the oracle
needs more products for some than for others.
"""


def methods(problem: Problem) -> dict[str, dict[str, Any]]:
    """The section `solver` of each method, by the name of its row.

    Without terms to smooth, dual ascent and the classical method are hcgm under another name. Those of others are in
    `benchmarks.rivals`.
    """
    own = [name for name in METHODS if name not in RIVALS]
    named = [name for name in own if name != "cgm" and (problem.constrained or name != "cgal")]
    found = {name: {"method": name} for name in named}
    # What `auto` descends to is local descent, but over vectors.
    found["auto"] |= {} if problem.family == "logistic" else {"oracle": {"mode": "fixed", "tolerance": 1e-4}}
    found["fully-corrective"] = {"method": "cgal" if problem.constrained else "hcgm", "correction": "fully-corrective"}
    if problem.family == "kmeans":
        found["cgal-additive"] = {"method": "cgal", "beta0": 8.0, "oracle": {"mode": "additive", "delta": 0.1}}
    if problem.family == "max-cut":
        oracle = {"mode": "additive", "delta": 1e-3, "budget": 0.5}
        found["cgal-budget"] = {"method": "cgal", "beta0": 1.0, "oracle": oracle}
        # For atoms that are local, as on sparse random graphs.
        oracle = oracle | {"delta": 1e-4}
        found["cgal-search"] = {"method": "cgal", "beta0": 0.3, "step": "line-search", "oracle": oracle}
    return found


@dataclass(frozen=True)
class Sample:
    """One record against the reference. primal: the larger of the objective's error and the infeasibility; error: that
    or the error of the bound, whichever is larger; all relative.
    """

    seconds: float
    primal: float
    error: float

    @classmethod
    def of(cls, record: IterationRecord, reference: Reference) -> Sample:
        primal = max(reference.error(record.total), record.infeasibility)
        bound = reference.error(record.bound) if np.isfinite(record.bound) else np.inf
        return cls(record.seconds, primal, max(primal, bound))


def first(samples: Iterable[tuple[float, float]]) -> list[float | None]:
    """Of (seconds, error): for each target the seconds at which it was first met; None if it never was."""
    held = list(samples)
    return [next((seconds for seconds, error in held if error <= target), None) for target in TARGETS]


class _Watch:
    """Collects records, and asks for the end of the run when the last target is met or the time is over."""

    def __init__(self, reference: Reference, limit: float):
        self.reference, self.limit = reference, limit
        self.samples: list[Sample] = []
        self.phases: dict[str, float] = {}
        self.began = time.perf_counter()

    def on_record(self, record: IterationRecord) -> None:
        self.samples.append(Sample.of(record, self.reference))
        for name, seconds in record.phases.items():
            self.phases[name] = self.phases.get(name, 0.0) + seconds

    def request(self) -> Status | None:
        done = bool(self.samples) and self.samples[-1].error <= TARGETS[-1]
        return Status.STOPPED if done or time.perf_counter() - self.began > self.limit else None


@contextmanager
def _no_rounding() -> Iterator[None]:
    """Leave the rounding before it begins: the bound is certified by then."""
    raise Leave(Status.STOPPED)
    yield


def measure(problem: Problem, solver: dict[str, Any], reference: Reference, limit: float) -> dict[str, Any]:
    """Solve and report: seconds to each target, errors at the end, the certified bound, seconds by phase.

    Raises CgmError if the method does not take the problem.
    """
    instance = build(problem.spec(solver))
    watch = _Watch(reference, limit)
    result = instance.solve(observers=[watch], should_stop=watch.request, rounding=_no_rounding)
    record, samples = result.record, watch.samples
    samples.append(Sample.of(record, reference))
    steps = np.diff([sample.seconds for sample in samples[:-1]])
    return {
        "to_primal": first((sample.seconds, sample.primal) for sample in samples),
        "to_all": first((sample.seconds, sample.error) for sample in samples),
        "objective": record.total,
        "objective_error": reference.error(record.total),
        "infeasibility": record.infeasibility,
        "bound": record.bound,
        "bound_error": reference.error(record.bound) if np.isfinite(record.bound) else None,
        "bound_is": result.bound_is,
        "iterations": record.k,
        "seconds": time.perf_counter() - watch.began,
        "seconds_per_iteration": float(np.median(steps[:STEPS])) if steps.size else None,
        "phases": watch.phases,
    }
