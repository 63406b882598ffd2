"""docs/templates.md: every template by `auto` and by `hcgm`, beside other solvers and an independent optimum.

`python -m benchmarks.templates [NAME ...]`: a new row is one entry of CASES. With names of templates, only those are
run, and the tables go to standard output. It wants a machine that does nothing else; with `--cpu`, seconds are those of
the processor, which a machine that is shared disturbs less.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.machine import THREADS, described, machine

os.environ.update(THREADS)  # before any BLAS is loaded

import numpy as np

from benchmarks import cones
from benchmarks.auto import Posed, Row, measure, peers
from benchmarks.bodies import body
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.solving.direct import solve_problem
from cgm_cli.solving.result import Result
from cgm_cli.spec.load import load
from cgm_cli.templates.base import Template
from cgm_cli.templates.build import build
from tests.templates import programs, references

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "templates.md"
TOLERANCES = (1e-2, 1e-4, 1e-6)
METHODS = ("auto", "hcgm")

HEAD = """\
<!-- Written by `python -m benchmarks.templates`. Do not edit. -->
# The templates, measured

Every template on a spec of [configs/](../configs), by `method: auto`, by `method: hcgm` (the method of the paper, with
the defaults of everything else), and by another solver.

## Seconds

To a certified gap and an infeasibility of 1e-2, 1e-4 and 1e-6, by one thread, the fastest of three where it took less
than a second; a dash where it was not reached within {limit:g} s, with the gap (and the infeasibility, where that was
missed) at that time. The other solver is the fastest one whose optimum is right to 1e-4, of HiGHS and Clarabel (1e-8)
at their defaults and SCS (eps 1e-4, or less where that is not right); where there is none of them, it is what computed
F\\* below, as accurately as it does.
"""
SECONDS = (
    "template",
    "case",
    *(f"{method} 1e{math.log10(tolerance):.0f}" for method in METHODS for tolerance in TOLERANCES),
    "other",
    "s",
)
ACCURACY = """\

## Accuracy

F\\* is the optimum that another method finds. Of the run of `auto` to 1e-6:

- distance: (F - F\\*) / |F\\*|, F the objective with its penalties. Where there are constraints an infeasible point may
  have F below F\\*.
- infeasible: the largest relative infeasibility of a term; 0 if there are no constraints.
- bound: (F\\* - bound) / |F\\*|. A certified bound never exceeds F\\* by more than the error of F\\* itself.
- N: the iterations of the loop, each a call of the oracle.

"""
FIGURES = ("template", "case", "F\\*", "by", "N", "distance", "infeasible", "bound")


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
PENALISED = (f"problem.groups={QUANTITIES}", "problem.penalty=0.02")


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


def communities(built: Template) -> float:
    weights = -2.0 * built.problem.loss.map.adjoint(np.ones(())).dense()
    return programs.partition_relaxation(weights)


def halves(built: Template) -> float:
    adjacency = built.adjacency.toarray()
    return 0.5 * adjacency.sum() - programs.partition_relaxation(adjacency, 2, equal=True)


def permutations(built: Template) -> float:
    return programs.best_assignment(built.flow, built.distance)


CASES = [
    Case("minimax-ball", "paper/minimax-ball-hcgm.yaml", lambda built: float(built.solution.max()), "closed form"),
    # Smooth
    Case("sparse-regression", "sparse-regression.yaml", references.sparse_regression, PROJECTED),
    Case(
        "sparse-regression",
        "sparse-regression.yaml",
        references.sparse_regression,
        PROJECTED,
        (SIMPLEX,),
    ),
    Case("sparse-regression", "sparse-logistic.yaml", references.sparse_regression, PROJECTED),
    Case("matrix-completion", "matrix-completion.yaml", references.matrix_completion, PROJECTED),
    Case("multi-task-regression", "multi-task-regression.yaml", programs.tasks_together, "Clarabel"),
    Case("matrix-completion", "one-bit-completion.yaml", references.matrix_completion, PROJECTED),
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
    Case("max-margin", "max-margin-iris.yaml", margin, "SLSQP"),
    Case("kernel-learning", "kernel-learning.yaml", programs.kernel_margin, "Clarabel"),
    Case("structured-svm", "structured-svm.yaml", programs.labelled_sequences, "Clarabel"),
    # Affine constraints
    Case("standard-sdp", "petersen-sdp.yaml", lambda built: 4.0, "closed form"),
    Case("standard-sdp", "petersen-sdp.yaml", lambda built: 4.0, "closed form", ("problem.nonnegative=true",)),
    # Clarabel 0.11 finds 11.0000002, and the graph has an independent set of 11; ADMM is 2e-3 off after its steps.
    Case("lovasz-theta", "lovasz-theta.yaml", lambda built: 11.0, "Clarabel"),
    Case("lovasz-theta", "lovasz-theta.yaml", lambda built: 5**0.5, "closed form", ("problem.graph={cycle: 5}",)),
    Case("community-detection", "karate-communities.yaml", communities, "ADMM"),
    Case("minimum-bisection", "minimum-bisection.yaml", halves, "ADMM"),
    # The relaxation is tight: no permutation is better than it.
    Case("quadratic-assignment", "quadratic-assignment.yaml", permutations, "all permutations"),
    Case(
        "graph-matching",
        "graph-matching.yaml",
        lambda built: programs.matching_relaxation(built.first, built.second),
        "Clarabel",
    ),
    Case("transport", "optimal-transport.yaml", programs.transport_optimum, LINEAR),
    Case("linear-program", "transport.yaml", programs.linear_optimum, LINEAR),
    # What dispatches cost is known from MATPOWER's own solver, and the relaxation is tight here.
    Case("optimal-power-flow", "optimal-power-flow.yaml", lambda built: 5296.69, "MATPOWER"),
    Case("sparse-pca", "sparse-pca.yaml", lambda built: programs.largest_component(built.covariance, 5), "Clarabel"),
    # Where X has rank one, the optimum is |x|^2.
    Case("phase-retrieval", "phase-retrieval.yaml", programs.energy, "the true signal"),
    Case("blind-deconvolution", "blind-deconvolution.yaml", programs.product_of_lengths, "the true signals"),
    Case("nearest-correlation", "nearest-correlation.yaml", programs.correlation_optimum, "Clarabel"),
    Case("covariance-estimation", "covariance-estimation.yaml", programs.covariance_optimum, "Clarabel"),
    # Splitting
    Case("composed", "completion-split.yaml", completion, "ADMM"),
]


@dataclass(frozen=True)
class Reached:
    """What a method came to at a tolerance: seconds, or None."""

    seconds: float | None
    result: Result

    @property
    def cell(self) -> str:
        if self.seconds is not None:
            return f"{self.seconds:.2g}"
        record = self.result.record
        missed = f", {record.infeasibility:.0e}" if record.infeasibility > 1e-6 else ""
        return f"– ({record.gap:.0e}{missed})"


def reached(problem: CompositeProblem, method: str, tolerance: float, limit: float) -> Reached:
    best, result = math.inf, None
    for _ in range(3):
        began = cones.clock()
        time_is, should_stop = cones.limited(limit)
        stop = {"gap": tolerance, "infeasibility": tolerance, **time_is}
        result = solve_problem(problem, {"method": method, "iterations": 10**8}, stop, should_stop=should_stop)
        seconds = cones.clock() - began
        best = min(best, seconds)
        if seconds > 1.0:
            break
    assert result is not None
    done = result.status.value == "converged" and result.bound_is == "certified"
    return Reached(best if done else None, result)


def row(case: Case, limit: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The cells of one case in both tables."""
    spec = load(ROOT / "configs" / case.spec, list(case.overrides))
    template = build(spec).template
    began = cones.clock()
    optimum = case.optimum(template)
    own = cones.clock() - began
    times: list[str] = []
    last: Result | None = None
    for method in METHODS:
        short = False
        for tolerance in TOLERANCES:
            if short:
                times.append("–")
                continue
            found = reached(template.problem, method, tolerance, limit)
            times.append(found.cell)
            short = found.seconds is None
            last = found.result if method == "auto" else last
    other, seconds = case.how, "" if case.how == "closed form" else f"{own:.2g}"
    in_blocks = body(spec, template)
    if in_blocks is not None:
        posed = Posed(template.problem, *in_blocks)
        best = Row(case.spec, optimum=optimum, peers=peers(posed, optimum)[0]).best
        if best is not None:
            other, seconds = best[0], f"{best[1]:.2g}"
    assert last is not None
    record, scale = last.record, abs(optimum) or 1.0
    sign = 1.0 if last.sense == "minimise" else -1.0
    below = f"{sign * (optimum - record.bound) / scale:.1e}" + ("" if last.bound_is == "certified" else " (est.)")
    link = f"[{Path(case.spec).stem}](../configs/{case.spec})"
    names = (f"`{case.template}`", link + "".join(f" `{_short(override)}`" for override in case.overrides))
    figures = (f"{sign * (record.total - optimum) / scale:.1e}", f"{record.infeasibility:.1e}", below)
    return (*names, *times, other, seconds), (*names, f"{optimum:.6g}", case.how, str(record.k), *figures)


def _short(override: str) -> str:
    override = override.removeprefix("problem.")
    return override if len(override) <= 24 else override[:21] + "..."


def table(lines: list[tuple[str, ...]]) -> str:
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of each run")
    parser.add_argument("--cpu", action="store_true", help="seconds of the processor, where the machine is shared")
    options = parser.parse_args(arguments)
    names: list[str] = options.names
    if options.cpu:
        cones.clock = time.process_time
    cases = [case for case in CASES if not names or case.template in names]
    seconds: list[tuple[str, ...]] = [SECONDS, ("---",) * len(SECONDS)]
    figures: list[tuple[str, ...]] = [FIGURES, ("---",) * len(FIGURES)]
    for case in cases:
        for lines, cells in zip((seconds, figures), row(case, options.limit), strict=True):
            lines.append(cells)
        print(*seconds[-1], sep=" | ", flush=True)
    if names:
        print(table(seconds), table(figures), sep="\n")
    else:
        PAGE.write_text(
            f"{HEAD.format(limit=options.limit)}{measure()}{described(machine())}\n\n{table(seconds)}{ACCURACY}{table(figures)}",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main(sys.argv[1:])
