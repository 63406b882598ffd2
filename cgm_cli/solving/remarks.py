"""What a result tells beside its figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from cgm_cli.blocks.directions import SumDirection
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.best_bound import Bound
from cgm_cli.methods.corrections.conic_form import Redundant
from cgm_cli.methods.corrections.interior_point import InteriorPoint
from cgm_cli.methods.dual_point import dual_of_minima
from cgm_cli.methods.method import Method
from cgm_cli.methods.outcome import Outcome
from cgm_cli.methods.repair import AMPLIFIED, NOTICED
from cgm_cli.methods.status import Status
from cgm_cli.methods.unboundedness import grown_to, rests_on
from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.numerics.deadline import Deadline, OutOfTime
from cgm_cli.numerics.threads import looking

TOLD, WEIGHTLESS = 8, 0.02
"""The most entries of a combination that are told, and the part of the largest below which one counts for nothing."""

UNDECIDED = (Status.STAGNATED, Status.ITERATION_LIMIT, Status.TIME_LIMIT)

TOLD_OF_EACH = 3
"""The most constraints that are told of those that imply another."""

ROUNDING = 1e-12

NOTICEABLE = 1e-3
"""Part of the objective that a bound of twice the size would change it by, at the least, to be called active."""


def figures_of_the_saved(problem: CompositeProblem, outcome: Outcome, method: Method) -> dict[str, float]:
    """Objective and infeasibilities of the x that is saved, in the user's sense, where it was recovered from a sketch,
    or cut: the images of the records are those of the whole x. truncation: see `Iterate`.
    """
    state = outcome.state
    iterate, atom = state.point.iterate, state.point.iterate.atom()
    if atom is None or (iterate.exact and iterate.truncation == 0.0):
        return {}
    found = state.point.evaluate_at(state.point.images_of(atom), method.smoothing.beta(state.k + 1))
    figures = {"saved_objective": problem.sense_sign * found.total}
    if problem.has_constraints:
        figures["saved_infeasibility"] = max(found.infeasibilities.values())
    if len(found.infeasibilities) > 1:
        figures |= {f"saved_infeasibility_{name}": value for name, value in found.infeasibilities.items()}
    return figures | {"truncation": iterate.truncation}


def active_bounds(problem: CompositeProblem, outcome: Outcome) -> dict[str, float]:
    """The parameters of the domain that stop the objective, and what F* would fall by, were one of them twice what it
    is, at the rate at which it falls: with X = r B, that is -min <v, s> / r per unit of r, v the direction of the
    bound; at most down to where f and the g_i are smallest anywhere. Where it is within what gap and rounding leave
    open, nothing is said.
    """
    domain, record, bound = problem.domain, outcome.record, outcome.bound
    if domain.sizing is not None:
        found = {domain.sizing: -record.lmo_value}
    elif bound is None or domain.spectral:  # which has no other, and whose directions may take long to write out
        found = {}
    else:
        found = domain.gains(bound.dual.direction(problem))
    size = max(problem.unit, abs(record.total), abs(record.bound))
    least = max(NOTICEABLE, 10.0 * record.gap)
    return {name: gain for name, gain in found.items() if min(gain, _room(problem, record.total)) / size > least}


def _room(problem: CompositeProblem, total: float) -> float:
    """How far F can fall, whatever the domain; infinite where nothing is known. total: F, in the user's sense."""
    least = dual_of_minima(problem)
    return math.inf if least is None else problem.sense_sign * total - least.constant


def remarks(
    problem: CompositeProblem,
    outcome: Outcome,
    active: Mapping[str, float],
    implied: Sequence[tuple[str, str]],
    tolerance: float | None,
) -> list[str]:
    """What a reader of the summary might stumble over. active: see `active_bounds`; implied: see `redundant`;
    tolerance: the infeasibility that was asked for.
    """
    record, unconverged = outcome.record, outcome.state.oracle.unconverged
    found = _left_open(problem, outcome, tolerance)
    if outcome.status is Status.INFEASIBLE and outcome.bound is not None:
        found.append(_contradiction(problem, outcome.bound))
    if outcome.status is Status.UNBOUNDED:
        found.append("The ray is saved with the solution; the objective shown is that of where the run was stopped.")
        if tolerance is not None and record.infeasibility > tolerance:
            found.append(
                "Not proven: that any X meets the constraints, which that X misses. If none does, the ray proves that "
                "the dual program has no point either."
            )
    elif outcome.status is not Status.INFEASIBLE and rests_on(problem, outcome.bound) is not None:
        size = problem.domain.cone
        assert size is not None
        found.append(
            f"The bound holds for all X of a trace up to {size.trace:.3g}: nothing says that they are no larger "
            "(`radius`), and its dual slack is not proven to be semidefinite."
        )
    if implied and outcome.status is not Status.INFEASIBLE:
        found.append(told_redundant(implied))
    if unconverged:
        found.append(f"{unconverged} oracle calls ended short of their tolerance; their best vectors were used.")
    if _stays_constant(problem, problem.sense_sign * record.objective, outcome.deadline):
        every = "every point of it that meets the constraints" if problem.has_constraints else "every point of it"
        found.append(f"The objective is constant on the domain: {every} is optimal.")
    mending = outcome.repair
    if (
        mending is not None
        and outcome.status is not Status.INFEASIBLE
        and mending.amplification > AMPLIFIED
        and record.owed > NOTICED
    ):
        found.append(
            f"The constraints are nearly dependent: x misses them by {record.infeasibility:.1e}, but to meet them it "
            f"has to move by {mending.length:.2g}, which may change the objective by {mending.cost:.2g}. Ask for "
            "a smaller `stop.infeasibility`, or leave out what the other constraints nearly say."
        )
    if mending is not None and mending.unmet > 0.0 and outcome.status is not Status.INFEASIBLE:
        found.append(
            f"No point of the domain meets the constraints: each misses them by {mending.unmet:.1e} at least, as those "
            f"of data that were rounded may. x misses them by {record.infeasibility:.1e}, and is held against those "
            "that do no better."
        )
    for name, gain in active.items() if outcome.status is not Status.UNBOUNDED else ():
        better = "lower" if problem.sense_sign > 0.0 else "higher"  # at most: other constraints may be as tight
        further = "larger" if name.endswith("radius") else "further out"
        found.append(
            f"The `{name}` of the domain stops the objective: were it a hundredth {further}, that could be {better} by "
            f"up to {min(0.01 * gain, _room(problem, record.total)):.2g}."
        )
    beyond = outcome.bound is not None and problem.sense_sign * (record.total - record.bound) < 0.0
    if beyond and record.infeasibility > 0.0 and outcome.status is not Status.INFEASIBLE:
        found.append("The objective lies beyond the bound, as it may: x misses its constraints.")
    return found


def _left_open(problem: CompositeProblem, outcome: Outcome, tolerance: float | None) -> list[str]:
    """What a run has not decided: of constraints that are met in the limit alone, and of
    objectives that have no least value, nothing is proven.
    """
    status, record = outcome.status, outcome.record
    if status not in UNDECIDED or tolerance is None or not problem.has_constraints:
        return []
    if status is Status.STAGNATED and record.infeasibility > tolerance:
        return ["Not proven: that some x meets the constraints, or that none does. They may be met in the limit alone."]
    trace = grown_to(problem, outcome.state.point.iterate.atom())
    if trace is None:
        return []
    return [
        f"X has grown to a trace of {trace:.2g}, near the largest that is looked at. Not proven: that any X meets the "
        "constraints, and attains the best value. They may be met, or it attained, in the limit alone, or there may be "
        "no best value."
    ]


def _contradiction(problem: CompositeProblem, bound: Bound) -> str:
    """The combination of constraints that no point of the domain meets (Farkas): by the duals of the bound."""
    weights: list[tuple[float, str]] = []
    for term, y in zip(problem.terms, bound.dual.duals, strict=True):
        if term.penalty.is_set:
            flat = y.reshape(-1)
            for place in np.argsort(-np.abs(flat), kind="stable")[: TOLD + 1]:
                weights.append((float(flat[place]), _called(term, int(place))))
    weights.sort(key=lambda weight: -abs(weight[0]))
    peak = abs(weights[0][0])
    counted = [(weight / peak, name) for weight, name in weights if abs(weight) > WEIGHTLESS * peak]
    said = " ".join(f"{weight:+.3g} {name}" for weight, name in counted[:TOLD]).removeprefix("+")
    more = " + ..." if len(counted) > TOLD else ""
    whatever, cone = "", problem.domain.cone
    if cone is not None and problem.domain.assumes_radius:
        farkas = _is_farkas(problem, bound)
        limit = f"for every X of a trace up to {cone.trace:.3g}, which was assumed (`radius`)"
        whatever = f" It does {'whatever the trace of X is' if farkas else limit}."
    counted_from = "entries count from 0; " if any(name.endswith("]") for _, name in counted[:TOLD]) else ""
    told = f"What contradicts itself, with the domain, is {said}{more} ({counted_from}the duals have all weights)."
    return told + whatever


def redundant(problem: CompositeProblem, method: Method) -> list[tuple[str, str]]:
    """The equations that others imply, as the user calls them, and what says so: those that say the trace once more,
    and where the method finds out about others anyway, these, of problems whose constraints the user has a name for.
    """
    cone, correction = problem.domain.cone, method.correction
    if cone is None:
        return []
    found = list[tuple[str, str]]()
    for each in correction.redundant if isinstance(correction, InteriorPoint) else ():
        name = next(iter(cone.called), None)
        if each.equation is not None:
            term, entry = each.equation
            called = problem.terms[term].called
            name = None if called is None else called(entry)
        if name is not None:
            found.append((name, _because(problem, each)))
    return found + [(name, f"by `{cone.called[0]}`") for name in cone.called[1:]]


def _because(problem: CompositeProblem, equation: Redundant) -> str:
    if equation.by is None:
        return ""
    names = [_called(problem.terms[term], entry) for term, entry in equation.by[:TOLD_OF_EACH]]
    if len(equation.by) > TOLD_OF_EACH:
        names.append(f"{len(equation.by) - TOLD_OF_EACH} more")
    return "by " + ", ".join(names) if names else "it says 0 = 0"


def told_redundant(found: Sequence[tuple[str, str]]) -> str:
    """What `redundant` has found, in a sentence."""
    said = ", ".join(f"`{name}`" + (f" ({why})" if why else "") for name, why in found[:TOLD])
    more = f", and {len(found) - TOLD} more" if len(found) > TOLD else ""
    if len(found) == 1:
        return f"One constraint is implied by others and changes nothing: {said}."
    return f"{len(found)} constraints are implied by others and change nothing: {said}{more}."


def _called(term: Term, place: int) -> str:
    if term.called is not None:
        return f"`{term.called(place)}`"
    return f"`{term.name}`" + (f"[{place}]" if math.prod(term.map.out_shape) > 1 else "")


def _is_farkas(problem: CompositeProblem, bound: Bound) -> bool:
    """Whether the duals prove it without the radius that was assumed: the sum of A_i^T y_i is semidefinite, and what
    they say of the constraints lies beyond it.
    """
    cone, dual = problem.domain.cone, bound.dual
    if cone is None:
        return False
    pairs = list(zip(problem.terms, dual.duals, strict=True))
    total = SumDirection(tuple(term.map.adjoint(y) for term, y in pairs))
    bottom = Blocks(cone.sizes).bottom(total.dense().reshape(-1))
    size = sum(term.map.norm * float(np.linalg.norm(y)) for term, y in pairs)
    return dual.constant - dual.margin > 0.0 and bottom.value >= -ROUNDING * size


def _stays_constant(problem: CompositeProblem, objective: float, deadline: Deadline) -> bool:
    """Whether f is seen to be constant; False where there is no time to look."""
    try:
        with looking(deadline.check):
            deadline.check()
            return _unmoved(problem, objective) and problem.is_constant(deadline.should_stop) and not deadline.missed
    except OutOfTime:
        return False


def _unmoved(problem: CompositeProblem, objective: float) -> bool:
    """Whether f at the end is what it was at the start: only then is it worth asking whether it is constant."""
    start = 0.0 if problem.loss is None else problem.loss.value(problem.loss.map.forward_atom(problem.first))
    return abs(objective - start) <= 1e-9 * max(abs(objective), abs(start))
