"""docs/templates.md: every template against an independent reference solution.

`python -m benchmarks.templates [NAME ...]`: a new row is one entry of CASES. With names of templates, only those are
run, and the table goes to standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgm_cli.methods.record import IterationRecord
from cgm_cli.spec.load import load
from cgm_cli.templates.base import Template
from cgm_cli.templates.build import build
from tests.templates import programs, references

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "templates.md"

HEAD = """\
<!-- Written by `python -m benchmarks.templates`. Do not edit. -->
# The templates, measured

Every template on a spec of [configs/](../configs), against the optimum F\\* that another method finds.

- distance: (F - F\\*) / |F\\*| after N iterations, F the objective with its penalties. Where there are
  constraints an infeasible point may have F below F\\*.
- infeasible: the largest relative infeasibility of a term; 0 if there are no constraints.
- bound: (F\\* - bound) / |F\\*|. A certified bound never exceeds F\\* by more than the error of F\\* itself.
- slope: of log |F - F\\*| against log k over the last half of the iterations, by least squares: -1 is O(1/k), -0.5 is
  O(1/sqrt k).
- The time is that of one core, and counts iterations and bounds, not the reading of the data.

"""
COLUMNS = ("template", "spec", "F\\*", "by", "N", "distance", "infeasible", "bound", "slope", "seconds")


@dataclass(frozen=True)
class Case:
    """One row. spec: below configs/. optimum: F* of the built template, in the user's sense. how: what computed it.

    overrides: as for `--set`, on top of the spec.
    """

    template: str
    spec: str
    optimum: Callable[[Template], float]
    how: str
    overrides: tuple[str, ...] = ()


L1, SIMPLEX, LINF = (f"problem.domain={kind}" for kind in ("l1", "simplex", "linf"))
PROJECTED, LINEAR, DUAL = "accelerated projected gradients", "linear programming", "the dual, by L-BFGS-B"
QUANTITIES = [[index, index + 10, index + 20] for index in range(10)]
STATISTICS = [list(range(start, start + 10)) for start in (0, 10, 20)]
PENALISED = (f"problem.groups={QUANTITIES}", "problem.penalty=0.02", "solver.beta0=50", "solver.scaling=none")


def latent(built: Template) -> float:
    return references.group_lasso(built, QUANTITIES + STATISTICS)


def penalised(built: Template) -> float:
    return references.group_lasso(built, QUANTITIES, 0.02)


def mixture(built: Template) -> float:
    return programs.smallest_eigenvalue_of_a_mixture(built.matrices)


def margin(built: Template) -> float:
    return programs.margin_optimum(built.points, built.labels, built.problem.domain.radius)


def completion(built: Template) -> float:
    ball, box = built.problem.domain.blocks
    fit = built.problem.loss
    places = np.flatnonzero(fit.map.inner.adjoint(np.ones(fit.target.shape)).dense())
    return programs.completion(places, fit.target, ball.shape, ball.radius, float(box.upper.max()))


CASES = [
    Case("minimax-ball", "paper/minimax-ball-hcgm.yaml", lambda built: float(built.solution.max()), "closed form"),
    # Smooth
    Case("sparse-regression", "sparse-regression.yaml", references.sparse_regression, PROJECTED, ("stop.gap=1e-9",)),
    Case(
        "sparse-regression",
        "sparse-regression.yaml",
        references.sparse_regression,
        PROJECTED,
        (SIMPLEX, "stop.gap=1e-9"),
    ),
    Case("sparse-regression", "sparse-logistic.yaml", references.sparse_regression, PROJECTED, ("stop.gap=1e-9",)),
    Case("matrix-completion", "matrix-completion.yaml", references.matrix_completion, PROJECTED),
    Case("matrix-completion", "one-bit-completion.yaml", references.matrix_completion, PROJECTED, ("stop.gap=1e-9",)),
    Case("group-lasso", "group-lasso.yaml", latent, PROJECTED),
    # Regularised
    Case("group-lasso", "group-lasso.yaml", penalised, "accelerated proximal gradients", PENALISED),
    Case("elastic-net", "elastic-net.yaml", lambda built: references.elastic_net(built, 0.1, 0.1), "scikit-learn"),
    Case("low-rank-denoising", "low-rank-denoising.yaml", lambda b: references.low_rank_denoising(b, 0.05), "ADMM"),
    # Non-smooth
    Case("least-absolute-deviations", "least-absolute-deviations.yaml", references.robust_fit, LINEAR),
    Case(
        "least-absolute-deviations",
        "least-absolute-deviations.yaml",
        references.robust_fit,
        DUAL,
        ("problem.domain=l2", "problem.radius=0.5"),
    ),
    Case("svm", "svm.yaml", references.robust_fit, DUAL),
    Case("svm", "svm.yaml", references.robust_fit, LINEAR, (L1, "problem.radius=2")),
    Case("max-affine", "max-affine.yaml", references.max_affine, "SLSQP"),
    Case("max-affine", "max-affine.yaml", references.max_affine, LINEAR, (L1,)),
    Case("max-affine", "max-affine.yaml", references.max_affine, LINEAR, (LINF, "problem.radius=0.2")),
    # Minimax
    Case("matrix-game", "matrix-game.yaml", lambda built: programs.game_value(built.payoff), LINEAR),
    Case("spectrahedron-game", "spectrahedron-game.yaml", mixture, "cutting planes"),
    Case("max-margin", "max-margin-iris.yaml", margin, "SLSQP", ("stop.gap=1e-9",)),
    # Affine constraints
    Case("standard-sdp", "petersen-sdp.yaml", lambda built: 4.0, "closed form"),
    Case("standard-sdp", "petersen-sdp.yaml", lambda built: 4.0, "closed form", ("problem.nonnegative=true",)),
    # Clarabel 0.11 finds 11.0000002, and the graph has an independent set of 11; ADMM is 2e-3 off after its steps.
    Case("lovasz-theta", "lovasz-theta.yaml", lambda built: 11.0, "Clarabel"),
    Case("lovasz-theta", "lovasz-theta.yaml", lambda built: 5**0.5, "closed form", ("problem.graph={cycle: 5}",)),
    Case("linear-program", "transport.yaml", programs.linear_optimum, LINEAR),
    # Splitting
    Case("composed", "completion-split.yaml", completion, "ADMM"),
]


class Trace:
    """Keeps (k, F) of every record."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.totals: list[float] = []

    def on_record(self, record: IterationRecord) -> None:
        self.steps.append(record.k)
        self.totals.append(record.total)


def slope(steps: np.ndarray, distances: np.ndarray) -> float:
    """Slope of log |distances| against log steps over the last half of the steps; nan where rounding has taken over."""
    last = (steps >= steps[-1] / 2) & (steps > 0)
    sizes = np.abs(distances[last])
    if sizes.size < 3 or sizes.min() < 1e-13:
        return float("nan")
    return float(np.polyfit(np.log(steps[last]), np.log(sizes), 1)[0])


def row(case: Case) -> tuple[str, ...]:
    """The cells of one case."""
    path = ROOT / "configs" / case.spec
    instance = build(load(path, ["log.every=1", "log.metrics_every=1000000", *case.overrides]))
    optimum, trace = case.optimum(instance.template), Trace()
    result = instance.solve(observers=[trace])
    record, scale = result.record, abs(optimum) or 1.0
    sign = 1.0 if result.sense == "minimise" else -1.0
    distance = (np.array(trace.totals) - optimum) / scale
    below = "none"
    if result.bound_is != "none":
        below = f"{sign * (optimum - record.bound) / scale:.1e}" + ("" if result.bound_is == "certified" else " (est.)")
    rate = slope(np.array(trace.steps), distance)
    return (
        f"`{case.template}`",
        f"[{case.spec}](../configs/{case.spec})" + "".join(f" `{_short(override)}`" for override in case.overrides),
        f"{optimum:.6g}",
        case.how,
        str(record.k),
        f"{sign * distance[-1]:.1e}",
        f"{record.infeasibility:.1e}" if record.infeasibility else "0",
        below,
        "rounding" if np.isnan(rate) else f"{rate:.2f}",
        f"{record.seconds:.2g}",
    )


def _short(override: str) -> str:
    return override if len(override) <= 40 else override[:37] + "..."


def main(names: list[str]) -> None:
    cases = [case for case in CASES if not names or case.template in names]
    lines = [COLUMNS, ("---",) * len(COLUMNS), *map(row, cases)]
    table = "".join("| " + " | ".join(cells) + " |\n" for cells in lines)
    if names:
        print(table, end="")
    else:
        PAGE.write_text(HEAD + table, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
