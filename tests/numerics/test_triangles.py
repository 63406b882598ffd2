"""The separation of triangle inequalities against all of them, written out, and the nearest matrix that meets some."""

import numpy as np
import pytest

from cgm_cli.numerics.threads import threads
from cgm_cli.numerics.triangles import add_triangles, met, worst_at_apices
from cgm_cli.templates.triangles import ClusteringTriangles

pytestmark = pytest.mark.usefixtures("either")


@pytest.mark.parametrize("n", [1, 2, 3, 17, 40])
@pytest.mark.parametrize(("sign", "count"), [(1.0, 1), (1.0, 2), (-1.0, 1)])
def test_the_worst_of_all(n, sign, count):
    x = np.random.default_rng(n).standard_normal((n, n))
    x += x.T
    with threads(count):
        values, third = worst_at_apices(x, sign)
    for i in range(n):
        for j in range(n):
            pair = sign * x[i, j] - x[i, i]
            found = [pair + sign * x[i, k] - x[j, k] for k in range(j + 1) if k != i]
            assert values[i, j] == pytest.approx(max([pair, *found]))
            k = third[i, j]
            assert values[i, j] == pytest.approx(pair if k == i else pair + sign * x[i, k] - x[j, k])


def rows_at(places, n):
    return ClusteringTriangles(np.ones((n, n))).rows(places)[0]


def places_of(n, count, rng):
    """Some of each kind, all different."""
    triples = np.array([rng.permutation(n)[:3] for _ in range(count)])
    triples[::3, 2] = triples[::3, 0]
    return np.unique(triples, axis=0)


def test_what_is_added_is_the_adjoint_of_the_rows():
    n, rng = 6, np.random.default_rng(0)
    places = places_of(n, 20, rng)
    weights = rng.random(len(places))
    matrix = np.zeros((n, n))
    add_triangles(matrix, places, weights)
    np.testing.assert_allclose(matrix, rows_at(places, n).adjoint(weights).dense(), atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_matrix_by_its_optimality_conditions(seed):
    n, rng = 8, np.random.default_rng(seed)
    matrix = rng.standard_normal((n, n))
    matrix += matrix.T
    places = places_of(n, 40, rng)
    weights = rng.random(len(places))  # whatever it begins with
    found, floor = met(matrix, places, weights, 3000)
    room = rows_at(places, n).forward(found)
    assert min(found.min(), room.min(), weights.min(), floor.min()) >= -1e-8
    assert abs(np.vdot(found, floor)) + abs(room @ weights) <= 1e-7
    moved = matrix + floor
    add_triangles(moved, places, weights)
    np.testing.assert_allclose(found, moved, atol=1e-12)
