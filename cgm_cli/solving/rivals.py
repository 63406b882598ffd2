"""The methods that the paper names beside its own, as presets: what they choose of each family of policies, and what
their theorems ask of a problem.
"""

from __future__ import annotations

from collections.abc import Mapping

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.spec.model import SolverSpec

RIVALS: Mapping[str, Mapping[str, str]] = {
    "fw-al": {"smoothing": "constant", "step": "line-search", "duals": "diminishing"},
    "ial": {"smoothing": "constant", "step": "line-search", "duals": "inexact"},
    "saddle-fw": {"smoothing": "constant", "duals": "best-response"},
    "upd": {"smoothing": "constant", "correction": "universal", "duals": "adopted"},
    "mirror-prox": {"smoothing": "constant", "correction": "mirror-prox", "duals": "adopted"},
    "gcg": {"smoothing": "constant", "correction": "composite-oracle", "duals": "adopted"},
    "bcfw": {"correction": "block-coordinate"},
    "shcgm": {"smoothing": "stochastic-homotopy", "correction": "mini-batches"},
    "h-1sfw": {"smoothing": "sampled-homotopy", "correction": "constraint-batches"},
    "svrf": {"correction": "variance-reduced"},
}
"""Families that are left out are as in every spec that says nothing of them."""

DEFAULTS = {"step": "classic", "correction": "none"}
"""What a solver section comes to that says nothing of the families that are never left open."""

AFFINE = ("diminishing", "inexact")
"""Dual updates whose theorems are about equations, A x = b."""

UNSMOOTHED = ("composite-oracle", "mirror-prox")
"""Corrections that take penalties as they are."""


def chosen_by(solver: SolverSpec, family: str) -> str | None:
    """The policy of a family that the method chooses; None where the spec says it, or the method leaves it open. The
    default of a family says nothing, since a run that goes on has it written out.
    """
    given = getattr(solver, family)
    is_open = given is None or given.name == DEFAULTS.get(family)
    return RIVALS.get(solver.method, {}).get(family) if is_open else None


def refuse_rival(solver: SolverSpec, problem: CompositeProblem, kinds: Mapping[str, str]) -> None:
    """Raise ProblemError, with a path in the solver section, where the theorems of a policy do not hold."""
    duals = kinds["duals"]
    cause, place = _written(solver, "duals", duals)
    if duals in AFFINE:
        others = ", ".join(term.name for term in problem.terms if term.penalty.only_point is None)
        if others:
            raise ProblemError(f"{cause} is for equations A x = b, and these terms are none: {others}", place)
    correction = kinds["correction"]
    if correction in UNSMOOTHED and kinds["step"] != "classic":
        raise ProblemError(f"`correction: {correction}` smooths nothing to search along: `step: classic`", ("step",))
    if duals == "best-response":
        sets = ", ".join(term.name for term in problem.terms if term.penalty.is_set)
        if sets:
            raise ProblemError(
                f"{cause} moves y within a bounded set by linear minimisation, and the duals of a constraint are not "
                f"bounded ({sets})",
                place,
            )
        if (kinds["step"], kinds["correction"]) != ("classic", "none"):
            raise ProblemError(f"{cause} moves x and y by one step: `step: classic`, and no correction", place)


def _written(solver: SolverSpec, family: str, kind: str) -> tuple[str, tuple[str]]:
    """What the spec says that came to a policy, and where."""
    if chosen_by(solver, family) is not None:
        return f"`method: {solver.method}`", ("method",)
    return f"`{family}: {kind}`", (family,)
