"""Local descent: never worse than the plain step, out of every wrong rank, and to the optimum with multipliers."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections import local_descent
from cgm_cli.methods.corrections.local_descent import LocalDescent
from cgm_cli.methods.policies import PlainStep
from cgm_cli.methods.status import Status
from cgm_cli.numerics.deadline import NEVER
from cgm_cli.numerics.projections import project_hypersimplex
from cgm_cli.numerics.threads import threads
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build
from cgm_cli.templates.clustering import squared_distances
from tests.methods.test_factors import PROBLEMS, started
from tests.methods.test_variants import PENALISED, instance

DESCENT = {"method": "cgal", "correction": "local-descent", "oracle": {"tolerance": 1e-3}}
"""What `auto` chooses where the points are matrices of low rank, and large."""


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_is_never_worse_than_the_plain_step(name):
    state, rng = started(name, 3, centred=True)
    point, correction = state.point, LocalDescent(columns=3, evaluations=5)
    domain, state.correction = point.problem.domain, correction.init(point.problem)
    for k in range(1, 15):
        beta, eta = 0.5 / np.sqrt(k + 1), 2.0 / (k + 1)
        direction = point.evaluate(beta).direction
        atom = domain.lmo(direction, OracleRequest(1e-6, None, rng)).atom
        plain = point.segment(atom, beta).value(eta)
        move = correction.choose(state, PlainStep(k, atom, eta, beta, direction), NEVER)
        assert point.segment(move.atom, beta).value(move.eta) <= plain
        point.step(move.atom, move.eta)
        state.correction = move.memory
        assert domain.contains(point.iterate.array, 1e-8)


def zero_cost(seed: int, folder: Path, n: int = 100) -> dict:
    """min <M M^T, X> with X_ii = 1, whose optimum is 0 at z z^T, z a vector of signs. The cost is in a file: as text it
    would take longer to read than to be solved.
    """
    rng = np.random.default_rng(seed)
    z = rng.choice([-1.0, 1.0], n)
    m = rng.standard_normal((n, n - 1))
    m -= np.outer(z, z @ m) / n
    np.save(folder / "cost.npy", (m @ m.T) / n)
    return {
        "domain": {"kind": "psd", "size": n, "radius": float(n), "trace": "equal"},
        "objective": {"kind": "linear", "cost": {"file": str(folder / "cost.npy")}},
        "constraints": [{"kind": "equals", "value": 1.0, "map": {"kind": "diagonal"}}],
    }


@pytest.mark.parametrize("seed", range(8))
def test_costs_of_a_rank_one_solution_are_solved_from_every_start(seed, tmp_path):
    """Descent at a fixed rank gets stuck on such costs; the oracle's atoms lead on."""
    spec = {"problem": zero_cost(seed, tmp_path), "seed": seed, "solver": {**DESCENT, "iterations": 200}}
    spec |= {"stop": {"infeasibility": 1e-4, "objective": 1e-4}}
    outcome = build(loads(dump(spec))).solve()
    assert outcome.record.infeasibility <= 1e-4
    assert abs(outcome.record.objective) <= 1e-4


def test_a_maximum_cut_relaxation_is_solved_to_a_certified_gap():
    """Against the dual bound, which a full factorisation proves."""
    spec = {
        "problem": {"template": "max-cut", "graph": {"nodes": 120, "edges": 900}},
        "solver": {**DESCENT, "iterations": 60},
        "stop": {"gap": 1e-5},
    }
    outcome = build(loads(dump(spec))).solve()
    assert outcome.status is Status.CONVERGED
    assert outcome.record.certified
    assert outcome.record.gap <= 1e-5
    assert outcome.record.infeasibility <= 1e-5


@pytest.mark.parametrize("seed", range(2))
def test_nodes_without_edges_do_not_hold_it_up(seed):
    """Each is an eigenvector of its own, of the weight of one node: of no use to anybody but its constraint."""
    spec = {
        "problem": {"template": "max-cut", "graph": {"nodes": 300, "edges": 450}},
        "solver": {**DESCENT, "iterations": 60},
        "stop": {"gap": 1e-4},
        "seed": seed,
    }
    outcome = build(loads(dump(spec))).solve()
    assert outcome.status is Status.CONVERGED
    assert outcome.record.infeasibility <= 1e-4


@pytest.mark.parametrize("nodes, edges", [(60, 300), (150, 600)])
def test_columns_grow_where_the_solution_needs_more_than_there_were(nodes, edges, monkeypatch):
    """Two at first, for a solution of a rank of six and more: those that the oracle brings have to be kept."""
    monkeypatch.setattr(local_descent, "SPARE", 0)
    spec = {
        "problem": {"template": "max-cut", "graph": {"nodes": nodes, "edges": edges}},
        "solver": {**DESCENT, "iterations": 60},
        "stop": {"gap": 1e-5},
    }
    made = build(loads(dump(spec)))
    method = dataclasses.replace(made.method, correction=LocalDescent(columns=2, guarded=False))
    outcome = dataclasses.replace(made.solve, method=method)()
    assert outcome.status is Status.CONVERGED
    assert outcome.record.certified
    assert outcome.record.infeasibility <= 1e-5


def test_descents_grow_longer_where_they_run_out_of_moves(monkeypatch):
    """Half as long again after each that did; no longer after one that was done."""
    budgets, done = [], iter([False, True, False, False, True, True])

    def descend(point, moves, reduction):
        budgets.append(moves)
        return next(done)

    monkeypatch.setattr(local_descent, "descend", descend)
    spec = {
        "problem": {"template": "max-cut", "graph": {"nodes": 20, "edges": 60}},
        "solver": {**DESCENT, "iterations": 6},
    }
    build(loads(dump(spec))).solve()
    assert budgets == [40, 60, 60, 90, 135, 135]


def test_the_rank_may_be_smaller_than_the_solution_needs():
    """Where the columns do not suffice, the plain steps go on."""
    n = 12
    spec = {
        "problem": {
            "domain": {"kind": "psd", "size": n, "radius": 1.0, "trace": "equal"},
            "objective": {"kind": "least-squares", "target": (np.eye(n) / n).tolist()},
        },
        "solver": {"iterations": 300, "correction": "local-descent"},
    }
    made = build(loads(dump(spec)))
    made.method.__dict__["correction"] = LocalDescent(columns=2, evaluations=5)
    outcome = made.solve()
    assert outcome.record.objective <= 1e-3


# ---- the k-means SDP, on the face of the fantope ----


def overlapping(seed, n=60, k=3):
    """Points around k centres that lie about as far apart as the points of one of them."""
    rng = np.random.default_rng(seed)
    return 1.5 * rng.standard_normal((k, 5))[np.arange(n) % k] + rng.standard_normal((n, 5))


def clusters(points, k=3, gap=None, **solver):
    problem = {"template": "kmeans-sdp", "clusters": k, "points": points.tolist(), "restarts": 1}
    solver = {**DESCENT, "iterations": 200, **solver}
    return build(loads(dump({"problem": problem, "solver": solver, "stop": {} if gap is None else {"gap": gap}})))


def by_splitting(distances, k, turns=1000):
    """The optimum of the k-means SDP from below, by what the multipliers of ADMM in Helmert's basis prove."""
    n = distances.shape[0]
    basis = scipy.linalg.helmert(n).T
    rho = 20.0 * float(np.linalg.norm(distances)) / n
    z, u = np.full((n, n), 1.0 / n), np.zeros((n, n))
    for _ in range(turns):
        values, vectors = np.linalg.eigh(basis.T @ (z - u - distances / rho) @ basis)
        vectors = basis @ vectors
        x = (vectors * project_hypersimplex(values, k - 1.0)) @ vectors.T + 1.0 / n
        over = 1.8 * x - 0.8 * z
        z = np.maximum(over + u, 0.0)
        u += over - z
    v = distances + np.minimum(rho * u, 0.0)
    bound = v.sum() / n + np.linalg.eigvalsh(basis.T @ v @ basis)[: k - 1].sum()
    value = float((distances * x).sum())
    assert np.linalg.norm(x - z) <= 1e-4
    assert bound == pytest.approx(value, rel=2e-5)
    return bound


@pytest.mark.parametrize("seed", range(2))
def test_the_k_means_problem_is_solved_on_the_face(seed):
    points = overlapping(seed)
    optimum = by_splitting(squared_distances(points), 3)
    built = clusters(points, gap=1e-4)
    records = []
    outcome = built.solve([type("Keep", (), {"on_record": lambda self, record: records.append(record)})()])
    assert outcome.status is Status.CONVERGED
    assert outcome.record.k <= 40
    assert outcome.record.infeasibility <= 1e-4
    assert outcome.record.objective == pytest.approx(optimum, rel=1e-3)
    assert outcome.record.certified
    assert outcome.record.gap <= 1e-4
    # What ADMM proves may fall short of the optimum, by as much as was asked of it.
    assert all(record.bound <= optimum * (1 + 2e-5) for record in records if record.certified)
    assert outcome.record.bound == pytest.approx(optimum, rel=1e-3)
    assert max(record.infeasibilities["rows"] for record in records) <= 1e-12


@pytest.mark.parametrize("gap", [1e-2, 1e-3])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
@pytest.mark.parametrize("n", [60, 80])
def test_a_run_that_has_converged_has_the_gap_that_was_asked_for(n, tolerance, gap):
    """With the certified bound of the end: n = 60 is decomposed in full, of n = 80 there are only estimates before."""
    for seed in range(2):
        built = clusters(overlapping(seed, n), gap=gap, oracle={"mode": "fixed", "tolerance": tolerance})
        outcome = built.solve()
        assert outcome.status is Status.CONVERGED
        assert outcome.record.certified
        assert outcome.record.gap <= gap
        assert outcome.record.infeasibility <= gap


def test_domains_of_the_k_means_problem_have_one_optimum():
    points = overlapping(7, 30)
    face = clusters(points, gap=1e-4).solve()
    problem = {"template": "kmeans-sdp", "clusters": 3, "points": points.tolist(), "domain": "fantope"}
    spec = {"problem": problem, "solver": {"method": "cgal", "iterations": 1500, "oracle": {"mode": "exact"}}}
    plain = build(loads(dump(spec))).solve()
    assert face.status is Status.CONVERGED
    assert plain.record.bound <= face.record.objective * (1 + 2e-4)
    assert plain.record.objective == pytest.approx(face.record.objective, rel=5e-3)


@pytest.mark.parametrize("taken_up", [1, 3, 6])
def test_a_run_taken_up_in_between_ends_the_same_to_the_last_bit(taken_up):
    """With multipliers, their momentum, the factor and the sharpness from the middle of the first run."""
    built = clusters(overlapping(4), iterations=9)
    packs, records = {}, {}

    def go(name, resume=None):
        observer = type("Keep", (), {"on_record": lambda self, r: records.setdefault((name, r.k), r)})()
        kept = {}

        def keep(pack, status):
            kept[pack()["state"]["k"]] = copy.deepcopy(pack())

        built.solve([observer], resume=resume, on_checkpoint=keep)
        return kept

    packs = go("whole")
    middle = packs[taken_up]["state"]
    assert set(middle["duals"]) >= {"momentum", "residual", "age", "former", "sharpness"}
    assert middle["correction"]["factor"].any() and middle["point"]["multipliers"]["1"].any()
    again = go("again", copy.deepcopy(packs[taken_up]))
    assert sorted(again) == list(range(taken_up, 10))
    for k, pack in again.items():
        one, two = pack["state"], packs[k]["state"]
        for name in ("point", "correction", "duals", "rng"):
            np.testing.assert_equal(one[name], two[name], err_msg=f"{name} at {k}")
        if k > taken_up:
            same = ("objective", "infeasibility", "bound", "lmo_value", "beta")
            for name in same:
                assert getattr(records["again", k], name) == getattr(records["whole", k], name), (k, name)


def test_one_thread_and_two_make_the_same_run():
    points, found = overlapping(5, 400), []
    for count in (1, 2):
        with threads(count):
            found.append(clusters(points, iterations=3).solve().record)
    for name in ("objective", "infeasibility", "lmo_value"):
        assert getattr(found[0], name) == getattr(found[1], name)


def test_it_is_refused_where_points_are_no_matrices():
    with pytest.raises(ProblemError, match="matrices of low rank"):
        instance(PENALISED, correction="local-descent")


def test_sparse_costs_and_iterates_in_factors_agree_with_dense_ones():
    rng = np.random.default_rng(5)
    half = sp.random_array((9, 9), density=0.3, rng=rng)
    cost = (half + half.T).toarray()
    problem = {
        "domain": {"kind": "psd", "size": 9, "radius": 9.0, "trace": "equal"},
        "objective": {"kind": "linear", "cost": cost.tolist()},
        "constraints": [{"kind": "equals", "value": 1.0, "map": {"kind": "diagonal"}}],
    }
    found = [
        instance(problem, method="auto", iterations=30, iterate=kind).solve().record for kind in ("dense", "factored")
    ]
    assert found[0].objective == pytest.approx(found[1].objective, abs=1e-6)
    assert found[0].infeasibility < 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_points_stay_on_the_face_however_long_the_descent_goes_on(seed):
    """Rounding along the vector 1, which every descent would multiply, is taken out."""
    rng = np.random.default_rng(seed)
    cost = rng.integers(-6, 7, (6, 6))
    problem = {
        "domain": {"kind": "fantope-face", "size": 6, "rank": 4},
        "objective": {"kind": "linear", "cost": (cost + cost.T).tolist()},
        "constraints": [{"kind": "box", "lower": 0.0}],
    }
    made = build(loads(dump({"problem": problem, "solver": {**DESCENT, "iterations": 60}, "stop": {"gap": None}})))
    outcome = made.solve()
    assert made.problem.domain.contains(outcome.solution["x"], 1e-12)
    assert outcome.record.certified
    assert outcome.record.infeasibility <= 1e-6
    assert outcome.record.bound == pytest.approx(outcome.record.objective, rel=1e-5)


@pytest.mark.parametrize("clusters", [25, 29])
def test_almost_as_many_clusters_as_points(clusters):
    """The factor keeps more columns than extreme points have."""
    points = np.random.default_rng(5).normal(size=(30, 2))
    spec = {"problem": {"template": "kmeans-sdp", "clusters": clusters, "points": points.tolist(), "restarts": 1}}
    made = build(loads(dump(spec | {"solver": {**DESCENT, "iterations": 300}, "stop": {"gap": 3e-4}})))
    outcome = made.solve()
    assert outcome.status is Status.CONVERGED
    assert made.problem.domain.contains(outcome.solution["x"], 1e-12)
    assert outcome.record.infeasibility <= 1e-5
    assert abs(outcome.record.total - outcome.record.bound) <= 1e-4


@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e18, 1e30])
@pytest.mark.parametrize("bounded", [False, True])
def test_the_units_of_the_cost_do_not_matter(scale, bounded):
    rng = np.random.default_rng(0)
    cost = rng.standard_normal((8, 8))
    constraints = [{"kind": "equals", "value": 0.25, "map": {"kind": "diagonal"}}]
    constraints += [{"kind": "nonnegative"}] if bounded else []
    found = []
    for unit in (1.0, scale):
        problem = {
            "domain": {"kind": "psd", "size": 8, "radius": 2.0, "trace": "equal"},
            "objective": {"kind": "linear", "cost": (unit * (cost + cost.T)).tolist()},
            "constraints": constraints,
        }
        record = build(loads(dump({"problem": problem, "solver": {**DESCENT, "iterations": 15}}))).solve().record
        found.append((record.objective / unit, record.bound / unit, record.infeasibility))
    assert found[1][:2] == pytest.approx(found[0][:2], rel=1e-3)
    assert found[1][2] <= 1e-3


@pytest.mark.parametrize("seed", range(2))
def test_a_tight_gap_is_reached(seed):
    """To the last digits: where steps change no digit of the objective, the multipliers still come nearer."""
    spec = {
        "problem": {"template": "max-cut", "graph": {"nodes": 80, "edges": 300, "signed": True}},
        "solver": {**DESCENT, "iterations": 60},
        "stop": {"gap": 1e-10, "infeasibility": 1e-10},
        "seed": seed,
    }
    outcome = build(loads(dump(spec))).solve()
    assert outcome.status is Status.CONVERGED
    assert outcome.record.certified


@pytest.mark.parametrize("penalty", [{"kind": "l1", "scale": 0.1}, {"kind": "l2", "scale": 0.1}, {"kind": "max"}])
@pytest.mark.parametrize("seed", range(2))
def test_a_descent_whose_points_have_to_be_cut_gives_way(penalty, seed):
    """Over a face of rank three the sphere is larger than the domain, and only constraints could keep x inside."""
    rng = np.random.default_rng(seed)
    cost = rng.standard_normal((5, 5))
    problem = {
        "domain": {"kind": "fantope-face", "size": 5, "rank": 3},
        "objective": {"kind": "linear", "cost": (cost + cost.T).tolist()},
        "penalties": [penalty],
    }
    stop = {"gap": 1e-3}
    result = build(loads(dump({"problem": problem, "solver": {**DESCENT, "iterations": 500}, "stop": stop}))).solve()
    plain = {"method": "cgal", "iterations": 5000}
    other = build(loads(dump({"problem": problem, "solver": plain, "stop": stop}))).solve()
    assert result.status is other.status is Status.CONVERGED
    assert result.record.total == pytest.approx(other.record.total, abs=2e-3 * max(1.0, abs(other.record.total)))


def test_on_k_means_it_never_does():
    rng = np.random.default_rng(1)
    points = 1.5 * rng.standard_normal((4, 3))[np.arange(40) % 4] + rng.standard_normal((40, 3))
    problem = {"template": "kmeans-sdp", "clusters": 4, "points": points.tolist(), "restarts": 1}
    seen = []
    solver = {**DESCENT}
    built = build(loads(dump({"problem": problem, "solver": solver, "stop": {"gap": 1e-4}})))
    result = built.solve(on_checkpoint=lambda pack, status: seen.append(pack()["state"]["correction"]["misses"]))
    assert result.status is Status.CONVERGED
    assert max(seen) < 8 and seen[-1] == 0


@pytest.mark.parametrize("method", ["hcgm", "cgal"])
@pytest.mark.parametrize("radius", [0.0, 1e-9, 1.0])
def test_zero_is_found_and_kept(method, radius):
    """Where zero is all there is, or the best: there is no factor to descend on."""
    tree = {
        "problem": {"template": "matrix-completion", "matrix": [[0.0, 0.0]], "missing": 0.0, "radius": radius or True},
        "solver": {"method": method, "correction": "local-descent", "iterations": 10},
    }
    record = build(loads(dump(tree))).solve().record
    assert (record.objective, record.infeasibility) == (0.0, 0.0) and record.bound <= 0.0


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_factor_that_has_vanished_may_come_back(unit):
    """tr X <= r with a cost that is positive at first leaves no column; a constraint calls for one."""
    problem = {
        "domain": {"kind": "psd", "size": 1, "radius": unit},
        "objective": {"kind": "linear", "cost": [[1.0]]},
        "constraints": [{"kind": "equals", "value": 0.25 * unit}],
    }
    record = build(loads(dump({"problem": problem, "solver": {**DESCENT, "iterations": 40}}))).solve().record
    assert record.objective == pytest.approx(0.25 * unit, rel=1e-6)
    assert 0.25 * unit * (1.0 - 1e-6) <= record.bound <= 0.25 * unit * (1.0 + 1e-12)
