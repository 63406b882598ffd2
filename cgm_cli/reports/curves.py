"""The curves of a run, thinned out: as few points as an eye needs, on linear and on logarithmic axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cgm_cli.methods.theory import fitted_line
from cgm_cli.spec.metrics import Metric

POINTS = 300


@dataclass(frozen=True)
class Curve:
    """One column: its values, and the iteration and the seconds of each. Values that are not numbers are left out.

    line: slope and intercept of log(value) against log(k), where every value is positive and there are enough.
    """

    k: np.ndarray
    seconds: np.ndarray
    values: np.ndarray
    line: tuple[float, float] | None = None

    def fitted(self) -> np.ndarray:
        """The fitted line where it was fitted, over the last nine tenths of the iterations; nan elsewhere."""
        slope, intercept = self.line or (np.nan, np.nan)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(self.k >= max(1.0, 0.1 * self.k[-1]), np.exp(intercept + slope * np.log(self.k)), np.nan)


@dataclass(frozen=True)
class Quantity:
    """What one figure shows: a column of the trace, and what belongs beside it.

    name: the column. beside: columns to draw with it, and how: bound, theory or floor. log: whether orders of magnitude
    matter. fit: whether its rate does. label: what it is, in words.
    """

    name: str
    label: str
    beside: Mapping[str, str] = field(default_factory=dict)
    log: bool = True
    fit: bool = True

    @property
    def columns(self) -> list[str]:
        return [self.name, *self.beside]


ACCURACY = "accuracy"
LEVELS = (1e-2, 1e-4, 1e-6)
"""Accuracies whose time is told."""
_FIXED = (
    Quantity("total", "objective with its bound", {"bound": "bound"}, log=False, fit=False),
    Quantity("gap", "relative gap between objective and bound"),
    Quantity("infeasibility", "largest relative infeasibility"),
    Quantity(ACCURACY, "max(gap, infeasibility): how far point and bound are off, together"),
)
_THEORY = (
    Quantity(
        "theory_residual",
        "objective less the optimum, and what the theory promises",
        {"theory_residual_bound": "theory", "theory_residual_floor": "floor"},
    ),
    Quantity(
        "theory_smoothed_gap",
        "smoothed objective less the optimum, and what the theory promises",
        {"theory_smoothed_bound": "theory"},
    ),
    Quantity(
        "theory_distance",
        "distance of A x from the set, and what the theory promises",
        {"theory_distance_bound": "theory"},
    ),
)
FEW_RUNS = 50
"""Up to so many runs, everything is shown; of more, what every run has."""


def with_accuracy(trace: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """The trace and max(gap, infeasibility), where that is another curve than the gap; nan where there is no bound."""
    gap, infeasibility = (np.asarray(trace.get(name, ()), dtype=float) for name in ("gap", "infeasibility"))
    if gap.size == 0 or gap.shape != infeasibility.shape or not (infeasibility > 0.0).any():
        return trace
    return {**trace, ACCURACY: np.maximum(gap, infeasibility)}


def seconds_to(trace: Mapping[str, np.ndarray], levels: Sequence[float] = LEVELS) -> list[float]:
    """When max(gap, infeasibility) was first at most each of the levels; nan where it never was."""
    values = np.asarray(with_accuracy(trace).get(ACCURACY, trace.get("gap", ())), dtype=float)
    found = [np.flatnonzero(values <= level) for level in levels]
    return [float(trace["seconds"][rows[0]]) if rows.size else float("nan") for rows in found]


def logarithmic(values: Iterable[float]) -> bool:
    """Whether numbers belong on a logarithmic axis: a hundred times apart, or spaced by factors rather than steps."""
    known = np.unique([value for value in values if np.isfinite(value)])
    if known.size < 2 or known[0] <= 0.0 or known[-1] < 10.0 * known[0]:
        return False
    steps, factors = np.diff(known), np.diff(np.log(known))
    return bool(known[-1] > 100.0 * known[0] or np.ptp(factors) / factors.mean() < np.ptp(steps) / steps.mean())


def quantities(
    names: Iterable[str], runs: int = 1, said: Callable[[str], Metric | None] = lambda name: None
) -> list[Quantity]:
    """What there is to show of traces with these columns. said: what is known of a template's column."""
    names = set(names)
    found = [each for each in _FIXED if each.name in names]
    terms = sorted(name for name in names if name.startswith("infeasibility_"))
    metrics = sorted(name for name in names if name.startswith("metric_"))
    if runs > FEW_RUNS:
        return found + [_metric(name, said(name)) for name in metrics[:2]]
    if len(terms) > 1:
        found += [Quantity(name, f"relative infeasibility of {name[14:].replace('_', ' ')}") for name in terms]
    found += [each for each in _THEORY if names & set(each.columns)]
    if "fw_gap" in names:
        found.append(Quantity("fw_gap", "gap of the linear minimisation, <v, x - s>"))
    found += [
        Quantity(name, f"gap between the bound and the best {name[5:-4].replace('_', ' ')} so far", fit=False)
        for name in sorted(names)
        if name.startswith("best_") and name.endswith("_gap")
    ]
    return found + [_metric(name, said(name)) for name in metrics]


def curves(trace: Mapping[str, np.ndarray], columns: Iterable[str], points: int = POINTS) -> dict[str, Curve]:
    """Column -> curve of at most `points` points, for the columns that the trace has any number of."""
    if "k" not in trace or "seconds" not in trace:
        return {}
    found = {}
    for name in dict.fromkeys(columns):
        if name not in trace:
            continue
        values = np.asarray(trace[name], dtype=float)
        rows = np.flatnonzero(np.isfinite(values))
        if rows.size == 0:
            continue
        line = fitted_line(trace["k"][rows], values[rows]) if (values[rows] >= 0.0).all() else None
        rows = rows[thinned(rows.size, points)]
        found[name] = Curve(trace["k"][rows].astype(float), trace["seconds"][rows], values[rows], line)
    return found


def thinned(count: int, points: int) -> np.ndarray:
    """At most `points` of the indices below `count`, the first and the last among them.

    Half are spaced evenly and half logarithmically, so that neither axis shows gaps.
    """
    if count <= points:
        return np.arange(count)
    even = np.linspace(0, count - 1, points // 2)
    spread = np.geomspace(1, count, points - points // 2) - 1
    return np.unique(np.round(np.concatenate([even, spread])).astype(int))


def column_names(traces: Sequence[Mapping[str, np.ndarray]]) -> list[str]:
    """Every column that holds a number in any of the traces."""
    return list(dict.fromkeys(name for trace in traces for name, column in trace.items() if _has_number(column)))


def _metric(name: str, said: Metric | None) -> Quantity:
    words = name.removeprefix("metric_").replace("_", " ")
    if said is None:
        return Quantity(name, words, log=False, fit=False)
    return Quantity(name, f"{words}: {said.description}", log=said.log, fit=said.log)


def _has_number(column: np.ndarray) -> bool:
    return bool(np.isfinite(np.asarray(column, dtype=float)).any())
