"""Named methods: presets of policies. What a spec says of a policy itself goes before what its method would choose.

Names here are those of the registry; `PolicyChoice.why` is what `cgm show` prints behind them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.block_coordinate import takes as takes_blocks
from cgm_cli.methods.corrections.bounded_interior import BoundedInteriorPoint, least_seconds
from cgm_cli.methods.corrections.conic_form import ENTRIES, ROWS, contradicts_itself, is_conic, is_on_diagonal
from cgm_cli.methods.corrections.interior_point import InteriorPoint, steps_for
from cgm_cli.methods.corrections.mixing import mixes
from cgm_cli.methods.corrections.projection_newton import takes as is_projection
from cgm_cli.methods.corrections.splitting import splits
from cgm_cli.methods.method import Method
from cgm_cli.methods.oracles.base import accuracy_of
from cgm_cli.methods.policies import Correction, CorrectionSpec, DualsSpec, SmoothingSpec, StepSpec
from cgm_cli.methods.scaling import automatic_beta0, optimal_beta0
from cgm_cli.methods.setting import Setting
from cgm_cli.solving.refusals import SOLVERS, refuse
from cgm_cli.solving.rivals import chosen_by, refuse_rival
from cgm_cli.spec import registry
from cgm_cli.spec.fields import PolicySpec
from cgm_cli.spec.model import SolverSpec

S = TypeVar("S")

OWN = "the spec says so"
"""Why a policy was chosen that the spec names."""

DESCENT_TOLERANCE = 1e-3
"""The oracle's, where `auto` chooses descent: it makes up for an atom that is not the best, and the bound is certified
in the end.
"""

MIXING_TOLERANCE = 0.1
"""The same for the mixing method: its factor has the eigenvectors of the slack matrix that are near zero, and to tell
them apart takes the oracle long. (A grid of 10,000 nodes to 1e-4: 2.5 s at 1e-2, 1.4 s at 0.1, by the same turns.)
"""

MIXED_FROM = 700
"""The order from which `auto` chooses the mixing method: code that is compiled takes half a second to be loaded."""

WAIT, WAIT_VECTORS = 60.0, 10.0
"""The seconds that `auto` lets interior-point steps take; and those of vectors, whose projections cost little. (Linear
programs to 1e-4 by these steps, by projections: dense, 300 x 1000, 0.36 s, 0.76 s; sparse, 1500 x 4000, 1.4 s, 0.5 s;
transport of 100 x 100 0.05 s, 3 s. Least squares beside a sum, 400 x 500: 0.10 s, 0.18 s.)
"""

FURTHER = 6500
"""The most constraints for such steps where they are about more than single entries, each: descent on factors is slow
there. (A theta of order 1001 under 5986, most of them of three rows, to 1e-3: 35 s; by descent it is 3 % off after a
minute.)
"""

TALL = 1000
"""The most rows of finite penalties for such steps, where there are more than twice as many as entries of x: the system
that is solved has their order. (Matrix games to 1e-4 and 1e-6 by these steps, by projections: 700 x 700 0.4 s and
0.4 s, 1.7 s and 3.4 s; 1000 x 100 0.4 s and 0.5 s, 0.3 s and 0.3 s; 2000 x 300 2.6 s and 2.7 s, 0.8 s and 1.8 s.)
"""

ALL_ROWS = 1500
"""The same beside bounds on every entry of a matrix, and where the trace is but assumed: projections take long to say
how far solutions are, or that there are none.
"""

FACTORISED, WRITTEN_OUT, ELSEWHERE = 60, 300, 1500
"""The largest order of the matrices that a projection factorises up to which `auto` projects: in general; where a term
asks for every entry of an x that need not be of low rank; and where one asks for them in other coordinates. (Descent on
factors against projections: max-cut with 100 nodes to 1e-3: 0.04 s, 0.15 s; k-means of 60 points to 1e-4: 0.10 s,
0.10 s, of 300: 0.35 s, 15 s; a photograph of 256 x 256 to 1e-3: none after 20 s, 2.0 s; the bound of ste36a of QAPLIB,
order 1226, after ten minutes: 28 % below the optimum, 3.5 %.)
"""


MANY_ENTRIES, PER_ENTRY, OF_ENTRIES, EQUATIONS = 1500, 7000, 1000, 2
"""Of single entries of a matrix of order n that equations or bounds are about, under a linear objective, how many there
are to be for projections: so many, and n^3 / PER_ENTRY, for orders up to OF_ENTRIES. (Theta of random graphs to 1e-3 by
projections, by descent on factors: 300 nodes with 2200 edges 4.7 s, 0.9 s; with 9000 3.4 s, 2.0 s; with 22,000 3.6 s,
7.6 s; 600 nodes with 18,000 edges 13 s, 1.8 s; with 90,000 12 s, 27 s. With X >= 0 300 nodes and 9000 edges 4 s, 7 s.)
Beside bounds on all entries there are to be EQUATIONS per row: bounds alone leave the rank low (300 rows: 25 s, 1 s).
"""


BLOCKS = 20
"""The blocks of a product from which `auto` steps on one at a time, where a smooth objective is alone; of one that does
not project, any number. (Multiclass SVMs
and SVMs of sequences to 1e-4: 112 points 0.5 s, by accelerated projected gradients 1 s; 60 sequences 1.3 s, by full
corrections none after a minute.)
"""


@dataclass(frozen=True)
class PolicyChoice:
    """A policy, as a spec would have it, and why it was chosen."""

    policy: PolicySpec
    why: str


@dataclass(frozen=True)
class Chosen:
    """A method and how it was come to. name: of the preset, `auto` resolved. policies: by family, in the order of the
    solver's keys. beta0: the smoothing of the first iteration.
    """

    name: str
    method: Method
    policies: Mapping[str, PolicyChoice]
    beta0: float

    @property
    def in_words(self) -> str:
        """The method and its correction and, where `auto` has chosen, why."""
        correction = self.policies["correction"]
        parts = [self.name] + ([] if correction.policy.name == "none" else [f"correction {correction.policy.name}"])
        return ", ".join(parts) + (f" ({correction.why})" if correction.why.startswith("auto") else "")


@dataclass(frozen=True)
class _Resolved:
    """The solver of a spec; of `method: auto`, one that suits the problem. because: by family, why it has the policies
    it has. correction: built already, where how long it takes was asked of it.
    """

    solver: SolverSpec
    because: Mapping[str, str] = field(default_factory=dict[str, str])
    correction: Correction | None = None


def chosen(solver: SolverSpec, problem: CompositeProblem) -> Chosen:
    """The policies that a solver section comes to for a (scaled) problem. Raises ProblemError, with a path in the
    section, for what cannot be.
    """
    resolved = _resolved(solver, problem)
    solver, because = resolved.solver, resolved.because
    named = {
        "smoothing": _choice(solver.smoothing),
        "step": _default(solver, "step", because),
        "oracle": _default(solver, "oracle", because),
        "correction": _default(solver, "correction", because),
        "duals": _choice(solver.duals),
    }
    policies = {family: choice or _preset(family, solver, problem) for family, choice in named.items()}
    kinds = {family: choice.policy.name for family, choice in policies.items()}
    refuse(solver, problem, kinds)
    refuse_rival(solver, problem, kinds)
    beta0 = _beta0(solver, problem, policies)
    return Chosen(solver.method, _built(resolved, problem, policies, beta0), policies, beta0)


def _built(
    resolved: _Resolved, problem: CompositeProblem, policies: Mapping[str, PolicyChoice], beta0: float
) -> Method:
    solver = resolved.solver
    accuracy = accuracy_of(solver)
    share = accuracy.delta if accuracy.mode == "multiplicative" else None
    correction = _spec(CorrectionSpec, policies["correction"])
    setting = Setting(beta0, 1.0 if share is None else share, pace=correction.pace)
    # What the correction is told of the duals; they need not be told of it.
    duals = _spec(DualsSpec, policies["duals"]).build(problem, setting)
    setting = replace(setting, follows=duals.follows)
    return Method(
        solver.method,
        smoothing=_spec(SmoothingSpec, policies["smoothing"]).build(problem, setting),
        step=_spec(StepSpec, policies["step"]).build(problem, setting),
        oracle=accuracy.build(problem, setting),
        correction=resolved.correction or correction.build(problem, setting),
        duals=duals,
    )


def _spec(kind: type[S], choice: PolicyChoice) -> S:
    assert isinstance(choice.policy, kind)
    return choice.policy


def _resolved(solver: SolverSpec, problem: CompositeProblem) -> _Resolved:
    if not (problem.loss is None or problem.loss.is_smooth):
        return _searched(solver, problem)
    if solver.method != "auto":
        return _Resolved(solver)
    factors, corrected = problem.domain.factors, solver.correction.name != "none"
    update: dict[str, Any]
    open_to_all = solver.step.name == "classic" and not corrected and solver.iterate != "samples"
    as_it_is = open_to_all and problem.growing is None  # what is built for the rows of now does not take others
    if as_it_is and _is_full_of_entries(solver, problem):
        update = {"method": "cgal", "correction": _policy("correction", "primal-dual")}
        return _Resolved(
            solver.model_copy(update=update), {"correction": "auto: so many entries are given that the rank is high"}
        )
    if as_it_is and (inside := _inside(solver, problem)) is not None:
        update = {"method": "cgal", "correction": _policy("correction", "interior-point")}
        what = "linear program over a cone" if isinstance(inside, InteriorPoint) else "program of bounds and rows"
        why = f"auto: a {what}, small enough for Newton's method ({_about(inside.seconds)})"
        return _Resolved(solver.model_copy(update=update), {"correction": why}, inside)
    if as_it_is and _may_project(solver, problem) and is_projection(problem):
        update = {"method": "cgal", "correction": _policy("correction", "projection-newton")}
        why = "auto: the nearest matrix to a given one, under equations"
        return _Resolved(solver.model_copy(update=update), {"correction": why})
    if (
        as_it_is
        and solver.iterate in ("auto", "dense")
        and takes_blocks(problem, BLOCKS if problem.domain.projected.projects else 1)
    ):
        update = {"method": "bcfw", "correction": _policy("correction", "block-coordinate", corrective=True)}
        return _Resolved(solver.model_copy(update=update), {"correction": "auto: a smooth objective over many blocks"})
    if as_it_is and _projects_cheaply(solver, problem):
        method, correction = ("cgal", "primal-dual") if problem.terms else ("hcgm", "accelerated")
        update = {"method": method, "correction": _policy("correction", correction)}
        return _Resolved(
            solver.model_copy(update=update), {"correction": "auto: projections onto the domain are cheap"}
        )
    if as_it_is and _mixes(solver, problem):
        why = "auto: a sparse cost, and rows of the factor whose lengths the diagonal gives"
        update = {"method": "cgal", "correction": _policy("correction", "mixing")}
        accuracy = accuracy_of(solver)
        if accuracy.tolerance is None:
            update["oracle"] = accuracy.model_copy(update={"tolerance": MIXING_TOLERANCE})
        return _Resolved(solver.model_copy(update=update), dict.fromkeys(update.keys() - {"method"}, why))
    if as_it_is and _splits(solver, problem):
        why = "auto: the cost is known by its factors, and with X >= 0 one matrix in single precision is enough"
        update = {"method": "cgal", "correction": _policy("correction", "splitting")}
        accuracy = accuracy_of(solver)
        if accuracy.tolerance is None:
            update["oracle"] = accuracy.model_copy(update={"tolerance": DESCENT_TOLERANCE})
        return _Resolved(solver.model_copy(update=update), dict.fromkeys(update.keys() - {"method"}, why))
    if open_to_all and factors is not None and factors.on_whole_sphere:
        why = "auto: points of the domain are matrices of low rank"
        few = {} if factors.likely_rank is None else {"columns": factors.likely_rank}
        update = {"method": "cgal", "correction": _policy("correction", "local-descent", **few)}
        accuracy = accuracy_of(solver)
        if accuracy.tolerance is None:
            update["oracle"] = accuracy.model_copy(update={"tolerance": DESCENT_TOLERANCE})
        return _Resolved(solver.model_copy(update=update), dict.fromkeys(update.keys() - {"method"}, why))
    method = "cgal" if problem.terms else "hcgm"
    if not open_to_all:
        return _Resolved(solver.model_copy(update={"method": method}))
    why = "auto: projections are not cheap, and there is no descent"
    update = {"method": method, "correction": _policy("correction", "fully-corrective")}
    return _Resolved(solver.model_copy(update=update), {"correction": why})


def _searched(solver: SolverSpec, problem: CompositeProblem) -> _Resolved:
    """For an objective that is not smooth, where a step has to be searched, lest it lead to where that is infinite; and
    weight that goes from one atom of x to another is ahead.
    """
    update: dict[str, Any] = {}
    because: dict[str, str] = {}
    if solver.step.name == "classic":
        update["step"] = _policy("step", "line-search")
        because["step"] = "the objective is not smooth: the classic step may lead to where it is infinite"
    if solver.method == "auto":
        update["method"] = "cgal" if problem.terms else "hcgm"
        if solver.correction.name == "none" and not problem.domain.spectral:
            update["correction"] = _policy("correction", "pairwise")
            because["correction"] = "auto: the objective is not smooth, and pairwise steps are searched"
    return _Resolved(solver.model_copy(update=update), because)


def _inside(solver: SolverSpec, problem: CompositeProblem) -> InteriorPoint | BoundedInteriorPoint | None:
    """Interior-point steps where they are the best way: for vectors, and for linear problems over cones where a
    constraint is not just an equation about the diagonal, which descent on factors is made for.
    """
    is_open = solver.smoothing is None and solver.duals is None and solver.dual_bound is None
    if not (is_open and solver.iterate in ("auto", "dense") and problem.terms):
        return None
    # Bounds on the entries of a vector are no rows.
    counted = (term for term in problem.terms if problem.domain.cone is not None or not term.map.is_identity)
    rows, size = sum(math.prod(term.map.out_shape) for term in counted), math.prod(problem.domain.shape)
    # Residuals of least squares are rows, too, and gradients are ahead where there are more of them than entries of x.
    if problem.loss is not None and problem.loss.squares is not None and math.prod(problem.loss.map.out_shape) > size:
        return None
    priced = sum(math.prod(t.map.out_shape) for t in problem.terms if not (t.penalty.is_set or t.map.is_identity))
    if priced > max(TALL, 2 * size):
        return None
    # Rows of a matrix that sum to zero leave it singular: it has no interior, and descent has no need of one.
    if problem.domain.symmetric and any(term.map.sums_rows for term in problem.terms):
        return None
    asks_for_all = any(term.map.is_identity for term in problem.terms) and problem.domain.cone is not None
    if asks_for_all and not (problem.domain.assumes_radius and rows <= ALL_ROWS):
        return None
    if rows > FURTHER or size > ENTRIES or (rows > ROWS and _descends_well(problem)):
        return None
    if problem.domain.cone is None and least_seconds(problem) > WAIT_VECTORS:
        return None
    if (steps := steps_for(problem)) is None:
        return None
    if isinstance(steps, InteriorPoint) and all(term.penalty.only_point is not None for term in problem.terms):
        descends = is_on_diagonal(problem) and not problem.domain.assumes_radius
        if descends and not contradicts_itself(problem):
            return None
    return steps if steps.seconds <= (WAIT if isinstance(steps, InteriorPoint) else WAIT_VECTORS) else None


def _descends_well(problem: CompositeProblem) -> bool:
    """Whether projected gradients or descent on a factor are no slower where there are many constraints: on vectors,
    and on one matrix of which every constraint is about a single entry, or all are about the diagonal.
    """
    if not is_conic(problem):
        return True
    if len(problem.domain.shape) != 2:
        return False
    return all(_entries_asked_for(term.map) for term in problem.terms) or is_on_diagonal(problem)


def _is_full_of_entries(solver: SolverSpec, problem: CompositeProblem) -> bool:
    """Whether constraints ask for so many entries of a matrix, one at a time, that what a linear objective is least at
    has no low rank: steps by projections are few there, since the rows of the constraints are orthogonal.
    """
    domain, loss = problem.domain, problem.loss
    n, is_linear = min(domain.shape), loss is None or loss.is_linear
    if domain.cone is None or not domain.symmetric or n > OF_ENTRIES or not is_linear:
        return False
    if not _may_project(solver, problem) or any(term.penalty.intervals is None for term in problem.terms):
        return False
    counts = {term.name: _entries_asked_for(term.map) for term in problem.terms}
    equations = sum(counts[term.name] for term in problem.terms if not term.map.is_identity)
    enough = equations >= EQUATIONS * n and sum(counts.values()) >= max(MANY_ENTRIES, n**3 / PER_ENTRY)
    return enough and all(counts.values())


def _entries_asked_for(linear: LinearMap) -> int:
    """How many entries the image consists of, both triangles counted once; 0 where it is not of such, or only of those
    on the diagonal.
    """
    if linear.is_identity:
        return math.prod(linear.in_shape) // 2
    rows = None if linear.needs_array else linear.rows()
    if rows is None or rows.nnz > 2 * rows.shape[0] or (rows @ rows.T).nnz > rows.shape[0]:
        return 0
    return rows.shape[0] if (rows.indices % (linear.in_shape[1] + 1)).any() else 0


def _about(seconds: float) -> str:
    return f"about {seconds:.0f} s" if seconds >= 1.0 else "less than a second"


def _mixes(solver: SolverSpec, problem: CompositeProblem) -> bool:
    """Whether the problem is one for the mixing method, and its size, and no policy is named that it has no use for."""
    is_open = solver.smoothing is None and solver.duals is None and solver.dual_bound is None
    sparse = problem.start is None or not problem.start.is_dense
    as_factor = solver.iterate in ("auto", "factored") and sparse and not accuracy_of(solver).perturb
    return is_open and as_factor and problem.domain.shape[0] >= MIXED_FROM and mixes(problem)


def _splits(solver: SolverSpec, problem: CompositeProblem) -> bool:
    """Whether steps of the splitting apply, the cost is no array, and no policy is named that they have no use for."""
    is_open = solver.smoothing is None and solver.duals is None and solver.dual_bound is None
    as_factor = solver.iterate in ("auto", "factored") and not accuracy_of(solver).perturb
    cost = splits(problem)
    return is_open and as_factor and cost is not None and not cost.is_dense and cost.sparse() is None


def _projects_cheaply(solver: SolverSpec, problem: CompositeProblem) -> bool:
    """Whether a projection costs so little that primal-dual steps are ahead of whatever the oracle alone can do."""
    domain = problem.domain
    if not _may_project(solver, problem):
        return False
    # What a linear objective is least at has low rank, or nearly so, and descent on factors is far ahead there.
    linear = problem.loss is not None and problem.loss.is_linear
    # What asks for all entries in other coordinates leaves little of that.
    elsewhere = any(term.map.needs_array and not term.map.is_identity for term in problem.terms)
    high_rank = problem.needs_array and (domain.factors is None or not linear or elsewhere)
    most = ELSEWHERE if elsewhere else WRITTEN_OUT if high_rank else FACTORISED
    return domain.projected.factorised <= most


def _may_project(solver: SolverSpec, problem: CompositeProblem) -> bool:
    """Whether there is a projection, and the spec leaves room for it."""
    is_open = solver.smoothing is None and solver.duals is None and solver.dual_bound is None
    return is_open and problem.domain.projected.projects and solver.iterate in ("auto", "dense")


def _choice(policy: PolicySpec | None) -> PolicyChoice | None:
    return None if policy is None else PolicyChoice(policy, OWN)


def _default(solver: SolverSpec, family: str, because: Mapping[str, str]) -> PolicyChoice | None:
    """A policy that every spec has, unless the method has one of its own."""
    if chosen_by(solver, family) is not None:
        return None
    why = OWN if family in solver.model_fields_set else "by default"
    return PolicyChoice(getattr(solver, family), because.get(family, why))


def _preset(family: str, solver: SolverSpec, problem: CompositeProblem) -> PolicyChoice:
    """What a named method chooses, where the spec leaves it open."""
    if (kind := chosen_by(solver, family)) is not None:
        return PolicyChoice(_policy(family, kind), f"of `{solver.method}`")
    if family == "duals":
        if solver.method != "cgal" or (solver.smoothing is not None and solver.smoothing.name == "none"):
            return PolicyChoice(_policy("duals", "none"), f"of `{solver.method}`")
        if solver.correction.name in SOLVERS and problem.terms:
            return PolicyChoice(
                _policy("duals", SOLVERS[solver.correction.name]), f"of `cgal` with `{solver.correction.name}`"
            )
        bound = {} if solver.dual_bound is None else {"bound": solver.dual_bound}
        return PolicyChoice(_policy("duals", "ascent", **bound), "of `cgal`")
    if solver.method == "cgm":
        return PolicyChoice(_policy("smoothing", "none"), "of `cgm`")
    duals = solver.duals or _preset("duals", solver, problem).policy
    if duals.name in SOLVERS.values():
        return PolicyChoice(_policy("smoothing", "constant"), "multipliers meet the constraints however wide it is")
    return PolicyChoice(_policy("smoothing", "homotopy"), f"of `{solver.method}`")


def _beta0(solver: SolverSpec, problem: CompositeProblem, policies: Mapping[str, PolicyChoice]) -> float:
    if policies["smoothing"].policy.name == "none":
        return 1.0
    if isinstance(solver.beta0, float):
        return solver.beta0
    if solver.beta0 == "optimal":
        best = optimal_beta0(problem)
        if best is None:
            raise ProblemError(
                "there is no optimal beta0: Theorem 2 asks for finite penalties, and for no constraint", ("beta0",)
            )
        return best
    centred = policies["duals"].policy.name != "none"
    descends = policies["correction"].policy.name == "local-descent"
    return automatic_beta0(problem, solver.scaling == "auto", ascent=centred, descent=descends)


def _policy(family: str, kind: str, **parameters: Any) -> PolicySpec:
    return registry.lookup(family, kind).Spec(**parameters)
