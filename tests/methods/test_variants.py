"""Line search and fully-corrective steps: exact, and never worse than the plain step."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.methods.corrections.fully_corrective import FullyCorrective
from cgm_cli.methods.fused_box import point_at
from cgm_cli.methods.policies import PlainStep
from cgm_cli.methods.state import State
from cgm_cli.methods.steps.line_search import LineSearch, minimiser
from cgm_cli.numerics.deadline import NEVER
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

PENALISED = {
    "domain": {"kind": "simplex", "size": 5},
    "objective": {"kind": "least-squares", "target": [0.4, -0.3, 0.9, 0.0, 0.2]},
    "penalties": [{"kind": "max"}, {"kind": "l2", "offset": [0.5, 0.0, 0.0, 0.0, 0.0], "name": "far"}],
    "constraints": [
        {"kind": "box", "upper": 0.4},
        {"kind": "equals", "value": 0.3, "map": {"kind": "sampling", "indices": [1]}},
    ],
}
SPECTRAL = {
    "domain": {"kind": "psd", "size": 6, "trace": "equal", "radius": 2.0},
    "objective": {"kind": "linear", "cost": np.diag([1.0, -1.0, 2.0, 0.0, 0.5, 3.0]).tolist()},
    "constraints": [{"kind": "nonnegative"}, {"kind": "equals", "value": 0.2, "map": {"kind": "row-sums"}}],
}
LOW_RANK = {
    "domain": {"kind": "nuclear-ball", "shape": [5, 7], "radius": 3.0},
    "objective": {"kind": "least-squares", "target": np.outer(np.arange(5.0), np.ones(7)).tolist()},
    "constraints": [{"kind": "box", "lower": 0.0, "upper": 1.0}],
}
FANTOPE = {
    "domain": {"kind": "fantope", "size": 7, "rank": 2},
    "objective": {"kind": "linear", "cost": np.diag(np.arange(7.0)).tolist()},
    "constraints": [{"kind": "equals", "value": 2.0 / 7.0, "map": {"kind": "diagonal"}}],
}
COST = np.add.outer(np.arange(7.0), np.arange(7.0) ** 2) % 5.0
FACE = {
    "domain": {"kind": "fantope-face", "size": 7, "rank": 3},
    "objective": {"kind": "linear", "cost": (COST + COST.T).tolist()},
    "constraints": [{"kind": "nonnegative"}],
}
PROBLEMS = {"penalised": PENALISED, "spectral": SPECTRAL, "low rank": LOW_RANK, "fantope": FANTOPE, "face": FACE}


def instance(problem, **solver):
    return build(
        loads(
            dump(
                {
                    "problem": problem,
                    "solver": {"method": "hcgm", "iterations": 60, "beta0": 0.5, **solver},
                    "stop": {"gap": None},
                }
            )
        )
    )


def records(problem, **solver):
    kept = []
    observer = type("Keep", (), {"on_record": lambda self, record: kept.append(record)})()
    instance(problem, **solver).solve([observer])
    return kept


@pytest.mark.parametrize("seed", range(10))
def test_line_search_finds_the_minimiser_along_the_segment(seed):
    problem = instance(PENALISED).problem
    rng = np.random.default_rng(seed)
    start, end = rng.dirichlet(np.ones(5), size=2)
    point = point_at(problem, DenseIterate(DenseAtom(start)))
    point.refresh()
    segment = point.segment(DenseAtom(end), 0.05)
    reference = minimize_scalar(segment.value, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-12})
    found = LineSearch().size(1, lambda: segment)
    assert segment.value(found) <= min(reference.fun, segment.value(0.0), segment.value(1.0)) + 1e-12
    step = 1e-6
    for t in (0.2, 0.7):
        numeric = (segment.value(t + step) - segment.value(t - step)) / (2 * step)
        assert segment.slope(t) == pytest.approx(numeric, rel=1e-5, abs=1e-6)


def test_minimiser_at_the_ends():
    assert minimiser(lambda t: t + 1.0) == 0.0
    assert minimiser(lambda t: t - 2.0) == 1.0
    assert minimiser(lambda t: t - 0.25) == pytest.approx(0.25)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_corrective_step_is_never_worse_than_the_plain_one(name):
    problem = instance(PROBLEMS[name]).problem
    rng = np.random.default_rng(1)
    correction, point = FullyCorrective(atoms=6), point_at(problem, DenseIterate(problem.first))
    state = State(point, rng, correction.init(problem))
    for k in range(1, 30):
        beta, eta = 0.3 / np.sqrt(k + 1), 2.0 / (k + 1)
        direction = point.evaluate(beta).direction
        atom = problem.domain.lmo(direction, _request(rng)).atom
        plain = point.segment(atom, beta).value(eta)
        move = correction.choose(state, PlainStep(k, atom, eta, beta, direction), NEVER)
        assert point.segment(move.atom, beta).value(move.eta) <= plain + 1e-9 * max(1.0, abs(plain))
        point.step(move.atom, move.eta)
        state.correction = move.memory
        assert problem.domain.contains(point.iterate.array, 1e-8)


@pytest.mark.parametrize("name", PROBLEMS)
def test_variants_close_the_smoothed_gap_faster(name):
    last = {
        label: min(record.fw_gap for record in records(PROBLEMS[name], **solver)[-10:])
        for label, solver in {
            "classic": {},
            "line search": {"step": "line-search"},
            "corrective": {"correction": "fully-corrective"},
        }.items()
    }
    assert last["corrective"] < 0.5 * last["classic"]
    assert last["line search"] < 1.1 * last["classic"]


def test_factored_iterates_take_corrective_steps_too():
    dense, factored = (records(FANTOPE, correction="fully-corrective", iterate=kind) for kind in ("dense", "factored"))
    for one, other in zip(dense[:20], factored[:20], strict=True):
        assert one.objective == pytest.approx(other.objective, abs=1e-6)
        assert one.infeasibility == pytest.approx(other.infeasibility, abs=1e-6)


@pytest.mark.parametrize("key, value", [("step", "line-search"), ("correction", "fully-corrective")])
def test_the_classical_method_refuses_what_builds_on_smoothing(key, value):
    from cgm_cli.errors import ProblemError

    with pytest.raises(ProblemError, match="does not smooth"):
        instance(
            {"domain": {"kind": "l2-ball", "size": 2}, "penalties": [{"kind": "max"}]}, method="cgm", **{key: value}
        )


@pytest.mark.parametrize(
    "oracle, reason",
    [
        ({"mode": "additive"}, "needs a `delta`"),
        ({"mode": "multiplicative", "delta": 1.5}, r"\(0, 1\]"),
        ({"mode": "additive", "delta": -1.0}, "delta"),
        ({"mode": "fixed", "delta": 0.5}, "is not"),
    ],
)
def test_wrong_constants_are_refused_with_the_reason(oracle, reason):
    from cgm_cli.spec.faults import SpecError

    with pytest.raises(SpecError, match=reason):
        instance(PENALISED, oracle=oracle)


def _request(rng):
    from cgm_cli.blocks.domains.base import OracleRequest

    return OracleRequest(1e-10, None, rng)


@pytest.mark.parametrize("problem", ["psd", "nuclear-ball"])
def test_a_correction_stays_at_a_solution_where_zero_is_the_atom(problem):
    """At a gradient of zero the oracle answers with the zero matrix; the plain step would go there."""
    target = np.outer([1.0, 2.0, -2.0], [1.0, 2.0, -2.0]) / 9.0
    domain = {"psd": {"kind": "psd", "size": 3}, "nuclear-ball": {"kind": "nuclear-ball", "shape": [3, 3]}}[problem]
    spec = {"domain": domain, "objective": {"kind": "least-squares", "target": target.tolist()}}
    found = [record.objective for record in records(spec, correction="fully-corrective")]
    assert max(found[3:]) <= 1e-20
