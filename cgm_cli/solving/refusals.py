"""What policies cannot go together with: each other, and a problem. A message names what was written, and not what that
came to: nothing is smoothed by `smoothing: none`, or by `method: cgm`.
"""

from __future__ import annotations

from collections.abc import Mapping

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.spec.model import SolverSpec

SOLVERS = {
    "local-descent": "multipliers",
    **dict.fromkeys(
        (
            "primal-dual",
            "mixing",
            "splitting",
            "interior-point",
            "projection-newton",
            "universal",
            "composite-oracle",
            "mirror-prox",
        ),
        "adopted",
    ),
}
"""Corrections that nearly solve their problems, and what moves the multipliers by their solutions."""


def refuse(solver: SolverSpec, problem: CompositeProblem, kinds: Mapping[str, str]) -> None:
    """Raise ProblemError, with a path in the solver section, for policies that cannot be. kinds: family -> policy."""
    if kinds["smoothing"] == "none":
        _refuse_unsmoothed(solver, problem, kinds)
    if problem.loss is not None and not problem.loss.is_smooth:
        _refuse_unsearched(problem, kinds)
    correction, duals = kinds["correction"], kinds["duals"]
    if duals in SOLVERS.values() and SOLVERS.get(correction) != duals:
        solvers = " or ".join(f"`{name}`" for name, solved in SOLVERS.items() if solved == duals)
        raise ProblemError(f"`duals: {duals}` are those of the points of a correction: {solvers}", ("duals",))
    if problem.terms and SOLVERS.get(correction) == "adopted" and duals != "adopted":
        raise ProblemError(
            f"`correction: {correction}` moves the multipliers itself: `method: cgal`, and no other `duals`",
            ("correction",),
        )
    if problem.growing is not None and correction not in GROWING:
        raise ProblemError(
            f"`correction: {correction}` is built for the constraints that it begins with, and takes no inequalities "
            f"that join them: {', '.join(f'`{name}`' for name in GROWING)} do",
            ("correction",),
        )
    if solver.dual_bound is not None:
        _refuse_bound(solver, problem, kinds)


GROWING = ("local-descent", "fully-corrective", "none")
"""Corrections that look at the terms anew in every turn."""


def _refuse_unsmoothed(solver: SolverSpec, problem: CompositeProblem, kinds: Mapping[str, str]) -> None:
    """Where no term is smoothed: what builds on it."""
    cause, place = ("`method: cgm`", "method") if solver.method == "cgm" else ("`smoothing: none`", "smoothing")
    plain = (kinds["step"], kinds["correction"], kinds["oracle"] == "additive") == ("classic", "none", False)
    if problem.terms and not plain:
        raise ProblemError(
            f"{cause} does not smooth its terms, which line search, corrections and additive oracles build on: "
            f"{_instead(solver, 'hcgm')}",
            (place,),
        )
    if kinds["duals"] != "none":
        raise ProblemError(
            f"`duals: {kinds['duals']}` are multipliers, which need terms that are smoothed, and {cause} smooths none: "
            f"{_instead(solver, 'cgal')}",
            (place,),
        )
    sets = ", ".join(term.name for term in problem.terms if term.penalty.is_set)
    if sets:
        raise ProblemError(f"{cause} has no way to handle a constraint ({sets}): {_instead(solver, 'hcgm')}", (place,))


SEARCHED = ("none", "fully-corrective", "away-step", "blended", "pairwise")
"""Corrections that compare values of the objective, and need no constant of its gradient."""


def _refuse_unsearched(problem: CompositeProblem, kinds: Mapping[str, str]) -> None:
    """What needs a Lipschitz constant of the gradient, where the objective has none."""
    reason = "the gradient of this objective has no Lipschitz constant"
    idle = kinds["correction"] == "local-descent" and problem.domain.factors is None
    if kinds["correction"] not in SEARCHED and not idle:
        raise ProblemError(
            f"{reason}, which `correction: {kinds['correction']}` is built on: use {' or '.join(SEARCHED[:0:-1])}",
            ("correction",),
        )
    if kinds["oracle"] == "additive":
        raise ProblemError(f"{reason}, which the error of an additive oracle is measured by", ("oracle", "mode"))


def _instead(solver: SolverSpec, method: str) -> str:
    """What to write where something is to be smoothed."""
    changes = [f"use `method: {method}`"] if solver.method == "cgm" else []
    if solver.smoothing is not None:
        changes.append("leave out `smoothing: none`")
    return ", and ".join(changes)


def _refuse_bound(solver: SolverSpec, problem: CompositeProblem, kinds: Mapping[str, str]) -> None:
    """What a bound on the multipliers cannot stand beside; the truest reason first."""
    if not problem.terms:
        reason = "this problem has no penalty and no constraint, so no multipliers: leave out `dual_bound`"
    elif kinds["duals"] == "ascent":
        if solver.duals is None:
            return
        reason = "say the bound in one place, `duals: {kind: ascent, bound: ...}`"
    elif kinds["duals"] in SOLVERS.values():
        reason = (
            f"`dual_bound` is that of dual ascent, and `correction: {kinds['correction']}` moves the multipliers "
            "by its own points: leave one of the two out"
        )
    elif kinds["duals"] != "none":
        reason = f"`dual_bound` is that of dual ascent, and not of `duals: {kinds['duals']}`: leave it out"
    elif solver.duals is not None:
        reason = "`duals: none` leaves no multipliers that `dual_bound` could bound: leave one of the two out"
    elif solver.method == "cgal":
        reason = "multipliers need terms that are smoothed: leave out `smoothing: none`, or `dual_bound`"
    else:
        reason = f"`dual_bound` is for the multipliers of `method: cgal`, and `method: {solver.method}` has none"
    raise ProblemError(reason, ("dual_bound",))
