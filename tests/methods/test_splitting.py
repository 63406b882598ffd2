"""Splitting in one matrix of single precision: its steps are those of the splitting with everything written out, and no
bound is more than its multipliers prove.
"""

from dataclasses import replace

import numpy as np
import pytest

from cgm_cli.blocks.iterates import FactoredIterate
from cgm_cli.blocks.single_matrix import SingleMatrix
from cgm_cli.certificates.dual import dual_value, multipliers_of
from cgm_cli.certificates.splitting import nearest
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.splitting import RELAXED, Splitting, SplittingState, splits
from cgm_cli.methods.factored_box import FactoredBoxPoint, place_of_nonnegative
from cgm_cli.methods.fused_box import point_at
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.deadline import NEVER
from cgm_cli.numerics.folded import TILE, Folded, negative
from cgm_cli.solving.direct import solve_problem
from cgm_cli.templates.clustering import distances_in_factors, partition_matrix, squared_distances
from cgm_cli.templates.kmeans_sdp import relaxation, relaxation_in_factors
from tests.certificates.support import blobs
from tests.methods.problems import Keep

N, K = TILE + 44, 3
POINTS, LABELS = blobs(N, K, 2, 1.5, 0)
DISTANCES = squared_distances(POINTS)


@pytest.fixture(scope="module")
def problem():
    return relaxation_in_factors(POINTS, LABELS, K)


def begun(problem):
    correction = Splitting.Spec().build(problem, Setting(1.0))
    folded, start = correction._begun(problem.first)
    return correction, folded, SplittingState(start=start, count=3 * K)


def test_two_matrices_lie_in_one():
    rng = np.random.default_rng(0)
    wanted = rng.standard_normal((N, N)).astype(np.float32)
    wanted = np.tril(wanted) + np.tril(wanted, -1).T
    folded = Folded(N)
    folded.write(lambda rows, columns, old: old + wanted[rows, columns])
    np.testing.assert_array_equal(folded.matrix, wanted)
    block = rng.standard_normal((N, 3))
    np.testing.assert_allclose(folded.product(block), np.abs(wanted) @ block, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(folded.written(negative, -4.0), -4.0 * np.minimum(wanted.astype(float), 0))
    copy = Folded.copied(folded.matrix)
    copy.write(lambda rows, columns, old: 0.0 * old)
    np.testing.assert_array_equal(folded.matrix, wanted)


@pytest.mark.parametrize("away", [0.0, 1e4])
def test_distances_in_factors_are_the_distances(away):
    found = distances_in_factors(POINTS + away).dense()
    np.testing.assert_allclose(found, DISTANCES, atol=1e-12 * (1.0 + away) * DISTANCES.max())
    assert not distances_in_factors(np.ones((4, 2))).dense().any()


def test_it_begins_with_the_clustering_and_its_dual(problem):
    correction, folded, _ = begun(problem)
    same = LABELS[:, None] == LABELS
    np.testing.assert_allclose(np.maximum(folded.matrix, 0), same / np.bincount(LABELS)[LABELS], rtol=1e-6)
    wanted = multipliers_of(DISTANCES, LABELS)
    np.testing.assert_allclose(
        -correction.rho * np.minimum(folded.matrix, 0), wanted, rtol=1e-5, atol=1e-5 * wanted.max()
    )


def test_a_step_is_that_of_the_splitting_with_the_distances_formed(problem):
    correction, folded, memory = begun(problem)
    for _ in range(3):
        entries, dual = (np.maximum(sign * folded.matrix.astype(float), 0.0) for sign in (1.0, -1.0))
        x = nearest(entries + dual - DISTANCES / correction.rho, K)
        memory, atom = correction._step(folded, memory, np.random.default_rng(0), NEVER)
        np.testing.assert_allclose(atom.dense(), x, atol=2e-3 * x.max())
        np.testing.assert_allclose(atom.dense().sum(axis=1), 1.0, rtol=1e-9)
        moved = RELAXED * atom.dense() + (1.0 - RELAXED) * entries - dual
        np.testing.assert_allclose(folded.matrix, moved, atol=1e-6)


def test_a_point_in_factors_sees_what_one_written_out_sees(problem):
    rng = np.random.default_rng(0)
    iterate = FactoredIterate(problem.first, 40, symmetric=True)
    vectors = np.linalg.qr(np.column_stack([np.ones(N), rng.standard_normal((N, K - 1))]))[0]
    iterate.blend(replace(problem.first, left=vectors, right=vectors), 0.3)
    y = -np.maximum(rng.standard_normal((N, N)), 0.0).astype(np.float32)
    y = np.minimum(y, y.T)
    point = point_at(problem, iterate, centred=True)
    assert isinstance(point, FactoredBoxPoint)
    point._image_all(iterate.atom())
    place = place_of_nonnegative(problem)
    point.multipliers[place] = y
    found, x = point.evaluate(1e12), iterate.atom().dense()
    assert found.objective == pytest.approx(np.vdot(DISTANCES, x))
    assert found.pairing == pytest.approx(np.vdot(DISTANCES + y, x), rel=1e-5)
    missed, held = np.linalg.norm(np.minimum(x, 0)), np.linalg.norm(np.maximum(x, 0))
    assert found.infeasibilities["nonnegative"] == pytest.approx(missed / held, rel=1e-4) and missed > 0.0
    block = rng.standard_normal((N, 5))
    wanted = (DISTANCES + y) @ block
    size = np.abs(wanted).max()
    np.testing.assert_allclose(found.direction.matmat(block), wanted, atol=1e-9 * size)
    np.testing.assert_allclose(found.direction.over(2.0)(block), 0.5 * wanted, atol=1e-9 * size)
    single = found.direction.single_precision(2.0, 5)
    np.testing.assert_allclose(single(block), 0.5 * wanted, atol=1e-5 * size)
    dual = point.dual_point(found)
    np.testing.assert_allclose(dual.direction(problem).dense(), DISTANCES + y, atol=1e-9 * DISTANCES.max())
    assert point.lagrangian(dual) == pytest.approx(found.pairing + dual.constant, rel=1e-5)
    mean = point.dual_point(found, replace(dual, duals=(dual.duals[0], 3.0 * y)), 0.5)
    np.testing.assert_allclose(mean.duals[place], 2.0 * y)
    assert mean.duals[place].dtype == np.float32


def test_a_matrix_in_single_precision_is_a_direction():
    rng = np.random.default_rng(1)
    array = rng.standard_normal((40, 40)).astype(np.float32)
    array = np.tril(array) + np.tril(array, -1).T
    found = SingleMatrix(array).scaled(-3.0)
    np.testing.assert_array_equal(found.dense(), -3.0 * array.astype(float))
    assert found.peak() == pytest.approx(3.0 * np.abs(array).max()) and found.symmetrised() is found
    np.testing.assert_allclose(found.matmat(np.ones(40)), -3.0 * array.sum(axis=1, dtype=float))


def test_what_is_proven_is_what_the_multipliers_prove(problem):
    kept = Keep()
    result = solve_problem(problem, "auto", {"gap": 1e-2, "infeasibility": 5e-2}, observers=[kept])
    assert result.bound_is == "certified" and "left" in result.solution
    wide = solve_problem(relaxation(DISTANCES, K), "auto", {"gap": 1e-3})
    least = wide.record.total
    assert 0.985 * least <= result.record.bound <= wide.record.total * (1.0 + 1e-4)
    for record in kept.records:
        assert not record.certified or record.bound <= least * (1.0 + 1e-4)


def test_the_multipliers_prove_as_much_as_by_lapack(problem):
    correction, folded, memory = begun(problem)
    for _ in range(6):
        memory, _ = correction._step(folded, memory, np.random.default_rng(0), NEVER)
    y = folded.written(negative, correction.rho, np.float32)
    point = point_at(problem, FactoredIterate(problem.first, 40, symmetric=True), centred=True)
    point.multipliers[place_of_nonnegative(problem)] = y
    dual = point.dual_point(point.evaluate(1e12))
    found = dual.constant + problem.domain.certified_minimum(dual.direction(problem))
    assert found == pytest.approx(dual_value(DISTANCES, -y.astype(float), K), rel=1e-6)


def test_other_problems_are_refused():
    assert splits(relaxation(DISTANCES, K, "fantope")) is None
    assert splits(relaxation(DISTANCES, K, triangles=True)) is None
    assert splits(relaxation(DISTANCES, K)) is not None
    with pytest.raises(ProblemError, match="splitting"):
        Splitting.Spec().build(relaxation(DISTANCES, K, "trace"), Setting(1.0))
    assert partition_matrix(np.array([0, 1, 0]), 2).dense() == pytest.approx(
        np.array([[1, 0, 1], [0, 2, 0], [1, 0, 1]]) / 2
    )
