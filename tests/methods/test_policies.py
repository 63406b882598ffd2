"""Every registered policy, on small problems whose optimum is known: true bounds, and runs that go on to the last
bit.
"""

import copy
import dataclasses

import numpy as np
import pytest

from cgm_cli.blocks.iterates import FactoredIterate
from cgm_cli.errors import ProblemError
from cgm_cli.methods import codec
from cgm_cli.methods.oracles.base import AccuracySpec
from cgm_cli.methods.policies import CorrectionSpec, DualsSpec, SmoothingSpec, StepSpec
from cgm_cli.methods.scaling import scaled
from cgm_cli.methods.stopping import StopRules
from cgm_cli.solving.direct import solve_problem
from cgm_cli.solving.presets import chosen
from cgm_cli.spec import registry
from cgm_cli.spec.model import SolverSpec
from cgm_cli.templates.clustering import partition_matrix
from tests.methods.problems import KNOWN, Keep, boundary, cycle, shrinkage, simplices, solve

FAMILIES = ("smoothing", "step", "oracle", "correction", "duals")
POLICIES = [
    pytest.param(family, example, id=f"{family}-{kind}-{number}")
    for family in FAMILIES
    for kind in registry.FAMILIES[family]
    for number, example in enumerate(registry.lookup(family, kind).Spec.examples)
]
ENDED = 12


def subject(family, example):
    """A problem that the policy is for, its optimum, and the rest of a solver."""
    name = example.get("kind", example.get("mode"))
    if (family, name) == ("smoothing", "none"):
        return *KNOWN["lasso"](), {"method": "hcgm"}
    if name in ("local-descent", "multipliers"):
        return *KNOWN["two-clusters-face"](), {"method": "cgal", "correction": "local-descent"}
    if name == "mixing":
        return *cycle(501), {"method": "cgal"}
    if name == "splitting":
        problem, optimum = KNOWN["two-clusters-face"]()
        start = partition_matrix(np.array([0, 1, 1, 0, 1, 0, 1, 0]), 2)  # of another clustering than the best
        return dataclasses.replace(problem, start=start), optimum, {"method": "cgal"}
    if name in ("primal-dual", "adopted"):
        return *KNOWN["linear-programme"](), {"method": "cgal", "correction": "primal-dual"}
    if name == "projection-newton":
        return *boundary(), {"method": "cgal"}
    if name == "composite-oracle":
        return *shrinkage(), {"method": "gcg"}
    if name == "mirror-prox":
        return *KNOWN["minimax"](), {"method": "mirror-prox"}
    if name == "universal":
        return *KNOWN["linear-programme"](), {"method": "upd"}
    if name == "block-coordinate":
        return *simplices(), {"method": "hcgm"}
    if name in ("constraint-batches", "sampled-homotopy"):
        return *KNOWN["linear-programme"](), {"method": "h-1sfw"}
    if name == "variance-reduced":
        return *KNOWN["lasso"](), {"method": "svrf"}
    if name == "mini-batches":
        return *KNOWN["lasso"](), {"method": "shcgm"}
    if name == "fixed-target":
        return *KNOWN["minimax"](), {"method": "hcgm"}
    if name == "best-response":
        return *KNOWN["minimax"](), {"method": "saddle-fw"}
    if name == "interior-point":
        return *cycle(71), {"method": "cgal"}
    if family == "duals":
        return *KNOWN["linear-programme"](), {"method": "cgal"}
    return *KNOWN["minimax" if name in ("pairwise", "away-step", "blended") else "linear-programme"](), {
        "method": "hcgm"
    }


SPECS = {
    "smoothing": SmoothingSpec,
    "step": StepSpec,
    "oracle": AccuracySpec,
    "correction": CorrectionSpec,
    "duals": DualsSpec,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_types_are_checked(family):
    """What a Spec builds is held against the protocol of its kind where it derives from the Spec of its kind."""
    for kind in registry.FAMILIES[family]:
        assert issubclass(registry.lookup(family, kind).Spec, SPECS[family]), kind


def method_of(family, example, problem, rest):
    solver = SolverSpec.model_validate({**rest, family: example}, context={})
    return chosen(solver, problem).method


@pytest.mark.parametrize(("family", "example"), POLICIES)
def test_no_certified_bound_passes_the_optimum(family, example):
    problem, optimum, rest = subject(family, example)
    kept = Keep()
    solver = {**rest, family: example, "iterations": 60}
    result = solve_problem(problem, solver, {"gap": 1e-6, "infeasibility": 1e-6}, observers=[kept])
    assert result.bound_is == "certified"
    sign = -1.0 if problem.sense == "maximise" else 1.0
    for record in kept.records:
        if record.certified:
            assert sign * record.bound <= sign * optimum + 1e-12 * max(1.0, abs(optimum))
    totals = kept.column("total")
    assert np.isfinite(totals).all() and len(totals) > 5


@pytest.mark.parametrize(("family", "example"), POLICIES)
def test_a_run_taken_up_ends_the_same_to_the_last_bit(family, example):
    problem, _, rest = subject(family, example)
    problem = scaled(problem)
    method = method_of(family, example, problem, rest)
    packs = {}

    def go(resume=None):
        in_factors = example.get("kind") == "splitting"
        return solve(
            problem,
            method=method,
            iterate=FactoredIterate(problem.first, 40, symmetric=True) if in_factors else None,
            stop=StopRules(ENDED),
            resume=resume,
            on_checkpoint=lambda state, ending: packs.setdefault(
                ("whole" if resume is None else "again", state.k), copy.deepcopy(state.pack())
            ),
        )

    go()
    go(copy.deepcopy(packs["whole", 5]))
    for k in range(5, ENDED + 1):
        one, two = packs["whole", k], packs["again", k]
        one.pop("seconds"), two.pop("seconds")
        np.testing.assert_equal(two, one)


@pytest.mark.parametrize(("family", "example"), POLICIES)
def test_a_policy_is_frozen_and_so_is_what_it_remembers(family, example):
    problem, _, rest = subject(family, example)
    method = method_of(family, example, scaled(problem), rest)
    policy = getattr(method, family)
    assert policy.__dataclass_params__.frozen
    if family in ("correction", "duals"):
        memory = policy.init(problem)
        if memory is not None:
            assert memory.__dataclass_params__.frozen
            assert codec.unpack(type(memory), codec.pack(memory)) == memory


def test_the_codec_keeps_every_bit_and_every_nothing():
    @dataclasses.dataclass(frozen=True)
    class Inner:
        array: np.ndarray | None = None
        number: float = np.nan

    tree = codec.pack(Inner(np.array([0.1, -0.0])))
    again = codec.unpack(Inner, tree)
    assert again.array.tobytes() == np.array([0.1, -0.0]).tobytes() and np.isnan(again.number)
    assert codec.unpack(Inner, codec.pack(Inner())).array is None
    with pytest.raises(KeyError):
        codec.unpack(Inner, {})


@pytest.mark.parametrize(
    ("solver", "reason"),
    [
        ({"method": "hcgm", "duals": "multipliers"}, "local-descent"),
        ({"method": "hcgm", "smoothing": "none", "duals": "ascent"}, "smoothed"),
        ({"method": "hcgm", "smoothing": "none", "step": "line-search"}, "does not smooth"),
        ({"method": "cgal", "duals": "ascent", "dual_bound": 2.0}, "one place"),
        ({"method": "hcgm", "dual_bound": 2.0}, "dual_bound"),
        ({"method": "hcgm", "correction": "local-descent"}, "matrices of low rank"),
        ({"method": "hcgm", "correction": "primal-dual"}, "moves the multipliers itself"),
        ({"method": "cgal", "correction": "primal-dual", "duals": "ascent"}, "moves the multipliers itself"),
        ({"method": "cgal", "duals": "adopted"}, "primal-dual"),
    ],
)
def test_policies_that_do_not_fit_each_other_are_refused(solver, reason):
    problem, _ = KNOWN["minimax"]()
    with pytest.raises(ProblemError, match=reason):
        chosen(SolverSpec.model_validate(solver, context={}), problem)


def test_what_the_spec_says_goes_before_what_the_method_would_choose():
    problem, _ = KNOWN["linear-programme"]()
    given = {"method": "cgal", "smoothing": "constant", "duals": {"kind": "ascent", "bound": 3.0}}
    choice = chosen(SolverSpec.model_validate(given, context={}), problem)
    assert choice.name == "cgal"
    assert {family: each.policy.name for family, each in choice.policies.items()} == {
        "smoothing": "constant",
        "step": "classic",
        "oracle": "fixed",
        "correction": "none",
        "duals": "ascent",
    }
    assert choice.method.duals.bound == 3.0
    assert choice.policies["smoothing"].why == "the spec says so" and choice.policies["step"].why == "by default"


@pytest.mark.parametrize("domain", ["simplex", "l1-ball"])
def test_pairwise_steps_need_a_tenth_of_the_calls(domain):
    """Least squares whose solution lies on a face: they converge linearly there, where the plain step zigzags."""
    from cgm_cli.blocks.domains.norm_balls import L1Ball
    from cgm_cli.blocks.domains.simplex import Simplex
    from cgm_cli.blocks.losses.least_squares import LeastSquares
    from cgm_cli.blocks.maps.matrix import MatrixMap
    from cgm_cli.blocks.problem import CompositeProblem

    rng = np.random.default_rng(0)
    matrix, x = rng.standard_normal((32, 20)), np.zeros(20)
    x[:6] = rng.dirichlet(np.ones(6))
    target = matrix @ x + 0.1 * rng.standard_normal(32)
    points = {"simplex": Simplex(20), "l1-ball": L1Ball((20,), 0.9)}[domain]
    problem = CompositeProblem(points, LeastSquares(MatrixMap(matrix, (20,)), target))
    found = solve_problem(problem, {"method": "hcgm", "correction": "pairwise", "iterations": 1000}, {"gap": 1e-5})
    assert found.status.value == "converged" and found.bound_is == "certified"
    for step in ("classic", "line-search"):
        plain = {"method": "hcgm", "step": step, "iterations": 10 * found.record.k}
        assert solve_problem(problem, plain, {"gap": 1e-5}).record.gap > 1e-5
