"""The fantope with row sums of one, against eigenvalues in a basis of its own: Helmert's contrasts."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from pydantic import ValidationError

from cgm_cli.blocks.atoms import LowRankAtom
from cgm_cli.blocks.directions import (
    ComplementDirection,
    DenseDirection,
    DiagonalDirection,
    OuterSum,
    Reflection,
    SparseDirection,
    SumDirection,
)
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.domains.certificates import CertificateLimits
from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.numerics.bands import ONE_THREAD_ENTRIES
from cgm_cli.numerics.projections import project_hypersimplex
from tests.blocks.support import domain, random_point
from tests.blocks.test_directions import check_same

RNG = np.random.default_rng
SIZES = [(2, 2), (3, 2), (6, 2), (6, 5), (6, 6), (40, 5), (65, 3), (66, 20), (90, 3), (90, 89), (90, 90), (200, 11)]
"""Up to n = 65 the complement is decomposed in full; beyond, few eigenvectors are iterated for."""


def face(n, k):
    return domain(kind="fantope-face", size=n, rank=k)


def symmetric(rng, n):
    a = rng.standard_normal((n, n))
    return 0.5 * (a + a.T)


def minimum(v, k):
    """<u, V u> + the sum of the k - 1 smallest eigenvalues beside u, by LAPACK in Helmert's basis."""
    n = v.shape[0]
    basis = scipy.linalg.helmert(n).T
    return v.sum() / n + np.linalg.eigvalsh(basis.T @ v @ basis)[: k - 1].sum()


def minimiser(v, k):
    n = v.shape[0]
    basis = scipy.linalg.null_space(np.ones((1, n)))
    vectors = basis @ np.linalg.eigh(basis.T @ v @ basis)[1][:, : k - 1]
    return np.full((n, n), 1.0 / n) + vectors @ vectors.T


def implicit(rng, n):
    """A sum that is only known by its products, and the array that it is."""
    half = sp.random_array((n, n), density=0.1, rng=rng).tocsr()
    sparse = SparseDirection(sp.csr_array(half + half.T), symmetric=True)
    diagonal, rows = rng.standard_normal(n), rng.standard_normal(n)
    array = sparse.matrix.toarray() + np.diag(diagonal) + rows[:, None] + rows
    return SumDirection((sparse, DiagonalDirection(diagonal), OuterSum(rows, rows))), array


# ---- the oracle ----


@pytest.mark.parametrize(("n", "k"), SIZES)
@pytest.mark.parametrize("kind", ["dense", "implicit"])
def test_the_oracle_finds_the_minimum(n, k, kind):
    rng, x = RNG(n + k), face(n, k)
    array = symmetric(rng, n)
    direction = DenseDirection(array, symmetric=True)
    if kind == "implicit":
        direction, array = implicit(rng, n)
    truth, size = minimum(array, k), np.sqrt(k) * np.linalg.norm(array)
    for tolerance in (0.0, 1e-10):
        answer = x.lmo(direction, OracleRequest(tolerance=tolerance))
        assert answer.converged
        assert answer.value == pytest.approx(truth, abs=1e-12 * size)
        assert answer.lower <= truth + 1e-13 * size
        assert answer.lower == pytest.approx(truth, abs=1e-8 * size)
        assert direction.inner(answer.atom) == pytest.approx(answer.value, abs=1e-12 * size)
        assert answer.exact or tolerance > 0.0
        assert not answer.exact or tolerance == 0.0 or (n, k) not in [(90, 3), (200, 11)]
        found = answer.atom
        assert isinstance(found, LowRankAtom)
        np.testing.assert_array_equal(found.weights, np.ones(k))
        np.testing.assert_allclose(found.left.T @ found.left, np.eye(k), atol=1e-12)
        np.testing.assert_allclose(found.dense().sum(axis=1), 1.0, atol=1e-12)
        assert x.contains(found.dense(), 1e-12)
    assert x.contains(minimiser(array, k), 1e-12)
    np.testing.assert_allclose(found.dense(), minimiser(array, k), atol=1e-6)


@pytest.mark.parametrize(("n", "k"), [(6, 3), (90, 3)])
def test_a_loose_oracle_says_how_loose_it_is(n, k):
    rng, x = RNG(1), face(n, k)
    direction, array = implicit(rng, n)
    answer = x.lmo(direction, OracleRequest(tolerance=1e-2))
    truth = minimum(array, k)
    assert answer.lower <= truth + 1e-12 * abs(truth)
    assert answer.value >= truth - 1e-12 * abs(truth)
    again = x.lmo(direction, OracleRequest(tolerance=1e-10, warm=answer.warm))
    assert again.value == pytest.approx(truth, rel=1e-10)
    assert x.contains(answer.atom.dense(), 1e-12)


@pytest.mark.parametrize(("n", "k"), [(6, 3), (90, 4)])
@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_directions_of_any_size(n, k, unit):
    rng, x = RNG(2), face(n, k)
    array = symmetric(rng, n)
    half = unit * sp.csr_array(array * (np.abs(array) > 0.8))
    for direction, given in (
        (DenseDirection(unit * array, symmetric=True), array),
        (SumDirection((SparseDirection(half, symmetric=True), DiagonalDirection(unit * np.arange(n)))), None),
    ):
        given = half.toarray() / unit + np.diag(np.arange(n)) if given is None else given
        truth, size = minimum(given, k), np.linalg.norm(given)
        answer = x.lmo(direction, OracleRequest(tolerance=1e-10))
        assert answer.value / unit == pytest.approx(truth, abs=1e-12 * k * size)
        assert x.contains(answer.atom.dense())
        certified = x.certified_minimum(direction)
        assert truth - 1e-10 * k * size <= certified / unit <= truth
        probable = x.probable_minimum(direction, 1e-9, RNG(0))
        assert truth - 1e-4 * k * size <= probable / unit <= truth


def test_a_multiple_of_the_known_part_leaves_nothing_to_choose():
    for n, k in ((6, 2), (90, 3)):
        x = face(n, k)
        ones = OuterSum(np.ones(n), np.ones(n))
        answer = x.lmo(ones, OracleRequest(tolerance=1e-8))
        assert answer.value == pytest.approx(2.0 * n)
        assert x.contains(answer.atom.dense())
        assert x.certified_minimum(ones) <= 2.0 * n
        assert x.certified_minimum(ones) == pytest.approx(2.0 * n)


def test_rank_and_size_have_to_fit():
    for size, rank in ((4, 1), (4, 5), (1, 1)):
        with pytest.raises(ValidationError, match="a rank from 2 to the size"):
            face(size, rank)


# ---- certificates ----

N = 120
"""Not decomposed at once where `EIGENVALUES` and the like say so."""


def with_spectrum(values, rng):
    """A matrix whose part beside 1 has these eigenvalues, mixed with 1 by as much."""
    n = values.size + 1
    basis = scipy.linalg.helmert(n).T @ np.linalg.qr(rng.standard_normal((n - 1, n - 1)))[0]
    v, mixed = np.full(n, n**-0.5), basis @ rng.standard_normal(n - 1)
    return (basis * values) @ basis.T + np.outer(v, mixed) + np.outer(mixed, v) + 0.7 * np.outer(v, v)


SPECTRA = {
    "spread": np.linspace(-1.0, 1.0, N - 1),
    "equal": np.full(N - 1, -1.0),
    "of low rank": np.concatenate([[-3.0, -2.0], np.zeros(N - 3)]),
    "tied at the cut": np.concatenate([[-3.0, -1.0, -1.0, -1.0], np.linspace(-1.0, 2.0, N - 5)]),
}


@pytest.mark.parametrize("definite", [False, True], ids=["by eigenvalues", "by definiteness"])
@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("k", [2, 4, 30])
def test_certified_minima_are_below_the_truth_and_close(name, k, definite):
    x = face(N, k)
    if definite:
        x = x.within(CertificateLimits(eigenvalues=1, several_eigenvalues=1))
    array = with_spectrum(np.sort(SPECTRA[name]), RNG(k))
    truth = 0.7 + np.sort(SPECTRA[name])[: k - 1].sum()
    for direction in (
        DenseDirection(array, symmetric=True),
        SumDirection((DenseDirection(array - np.diag(np.arange(N))), DiagonalDirection(np.arange(float(N))))),
    ):
        size = np.sqrt(k) * np.linalg.norm(array) + N * (not isinstance(direction, DenseDirection))
        for found, loss in (
            (x.certified_minimum(direction), 1e-8 if definite else 1e-10),
            (x.probable_minimum(direction, 1e-9, RNG(0)), 1e-3),
        ):
            assert truth - loss * k * size <= found <= truth


@pytest.mark.parametrize("n", [5, 40, 200])
def test_the_allowance_for_rounding_is_more_than_rounding_makes(n):
    """At sizes where float and long double tell apart what the steps before LAPACK lose."""
    for seed in range(5):
        rng, x = RNG(seed), face(n, 3)
        array = symmetric(rng, n) * 10.0 ** rng.uniform(-3, 3, (n, 1))
        array = 0.5 * (array + array.T)
        direction = DenseDirection(array, symmetric=True)
        assert x.rounding(direction) == pytest.approx(8 * 3 * n * np.finfo(float).eps * np.linalg.norm(array))
        reflection = Reflection.onto_axis(np.full(n, n**-0.5))
        normal = np.full(n, np.longdouble(n) ** np.longdouble(-0.5))
        normal[0] += 1
        normal /= np.sqrt((normal**2).sum())
        exact = array.astype(np.longdouble)
        exact = exact - 2 * np.outer(normal, normal @ exact)
        exact = (exact - 2 * np.outer(exact @ normal, normal))[1:, 1:]
        apart = np.linalg.norm((ComplementDirection(direction, reflection).dense() - exact).astype(float))
        assert apart <= 0.25 * x.rounding(direction)
        # Of k v v^T as well, and the allowance of a sum is no smaller than that of its array.
        parts = SumDirection((DenseDirection(0.5 * array), DenseDirection(0.5 * array)))
        assert x.rounding(parts) >= x.rounding(direction)


# ---- the set itself ----


def test_membership():
    x, rng = face(8, 3), RNG(3)
    point = random_point(x, rng)
    assert x.contains(point)
    v = np.full((8, 1), 8**-0.5)
    rest = scipy.linalg.null_space(v.T)
    for spectrum, inside in (
        ([1.0, 1.0, 0, 0, 0, 0, 0], True),
        ([0.5, 0.5, 0.5, 0.5, 0, 0, 0], True),
        ([1.2, 0.8, 0, 0, 0, 0, 0], False),
        ([1.0, 0.9, 0.2, -0.1, 0, 0, 0], False),
        ([1.0, 0.9, 0, 0, 0, 0, 0], False),
    ):
        inner = (rest * np.array(spectrum)) @ rest.T
        assert x.contains(v @ v.T + inner) == inside
        # In the fantope, but not in its face.
        assert not x.contains(inner + np.outer(rest[:, -1], rest[:, -1]))
    assert not x.contains(point + 1e-6 * (np.outer(v, rest[:, 0]) + np.outer(rest[:, 0], v)))
    assert not x.contains(point + 1e-6 * (np.outer(rest[:, 1], rest[:, 0]) - np.outer(rest[:, 0], rest[:, 1])))
    assert not x.contains(np.full((8, 8), np.nan))


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_start_is_the_matrix_of_a_clustering(n, k):
    start = face(n, k).start().dense()
    assert face(n, k).contains(start, 1e-12)
    assert start.min() >= 0.0
    np.testing.assert_allclose(start @ start, start, atol=1e-14)


@pytest.mark.parametrize(("n", "k"), [(3, 2), (7, 3), (7, 6), (7, 7), (70, 4)])
def test_projections_are_those_of_eigenvalues_in_another_basis(n, k):
    rng, x = RNG(4), face(n, k)
    basis = scipy.linalg.helmert(n).T
    for scale in (0.1, 1.0, 30.0):
        y = scale * rng.standard_normal((n, n))
        inner = basis.T @ (0.5 * (y + y.T)) @ basis
        values, vectors = np.linalg.eigh(inner)
        nearest = (basis @ vectors * project_hypersimplex(values, k - 1.0)) @ (basis @ vectors).T + 1.0 / n
        np.testing.assert_allclose(x.project(y), nearest, atol=1e-12 * max(1.0, scale) * n)


def test_no_point_is_nearer_than_the_projection():
    """Brute force: Frank-Wolfe with exact steps from the projection's competitors finds nothing nearer."""
    for seed in range(4):
        rng, x = RNG(seed), face(6, 3)
        y = 2.0 * symmetric(rng, 6)
        nearest = x.project(y)
        point = x.start().dense()
        for _ in range(4000):
            atom = minimiser(point - y, 3)
            move = atom - point
            gap = -np.vdot(point - y, move)
            # A gap below zero is rounding: a step back would leave the domain.
            point = point + np.clip(gap / max(np.vdot(move, move), 1e-300), 0.0, 1.0) * move
        assert np.linalg.norm(nearest - y) <= np.linalg.norm(point - y) + 1e-12
        # |x - y|^2 / 2 is strongly convex: its gap is at least half the square of the distance to its minimiser.
        assert np.linalg.norm(nearest - point) ** 2 <= 2.0 * gap + 1e-12


def test_what_is_known_beside_what_is_not():
    x = face(9, 4)
    np.testing.assert_array_equal(x.known, np.full((9, 1), 1.0 / 3.0))
    assert isinstance(x.rest, Fantope)
    assert (x.rest.shape, x.rest.rank) == ((9, 9), 3)
    point = random_point(x, RNG(5))
    assert x.rest.contains(point - x.known @ x.known.T, 1e-8)


def test_columns_may_be_turned_and_too_few_are_refused():
    x, rng = face(9, 3), RNG(6)
    basis = np.linalg.qr(np.hstack([np.ones((9, 1)), rng.standard_normal((9, 3))]))[0]
    turned = basis @ np.linalg.qr(rng.standard_normal((4, 4)))[0]
    small = x.restricted(turned, turned)
    assert (small.shape, small.rank) == ((4, 4), 3)
    np.testing.assert_allclose(turned @ small.known, x.known, atol=1e-14)
    # The best point between the columns, against a search among all of them.
    array = symmetric(rng, 9)
    inner = turned.T @ array @ turned
    found = small.lmo(DenseDirection(inner, symmetric=True), OracleRequest())
    lifted = turned @ found.atom.dense() @ turned.T
    assert x.contains(lifted)
    rest = basis[:, 1:]
    truth = array.sum() / 9 + np.linalg.eigvalsh(rest.T @ array @ rest)[:2].sum()
    assert np.vdot(array, lifted) == pytest.approx(truth)
    assert found.value == pytest.approx(truth)
    assert x.restricted(basis[:, :2], basis[:, :2]) is None
    assert x.restricted(basis[:, 1:], basis[:, 1:]) is None


# ---- reflections, and directions beside what is known ----


@pytest.mark.parametrize("n", [2, 7, 100])
@pytest.mark.parametrize("kind", ["equal", "random", "first", "last"])
def test_a_reflection_takes_its_vector_to_the_axis(n, kind):
    vector = {
        "equal": np.full(n, -(n**-0.5)),
        "random": RNG(n).standard_normal(n),
        "first": np.eye(n)[0],
        "last": np.eye(n)[-1],
    }[kind]
    vector = vector / np.linalg.norm(vector)
    reflection = Reflection.onto_axis(vector)
    whole = reflection.times(np.eye(n))
    np.testing.assert_allclose(whole @ whole, np.eye(n), atol=1e-14)
    np.testing.assert_array_equal(whole, np.eye(n) - 2.0 * np.outer(reflection.normal, reflection.normal))
    np.testing.assert_allclose(np.abs(reflection.times(vector)), np.eye(n)[0], atol=1e-14)
    block, thin = RNG(0).standard_normal((n, 3)), RNG(1).standard_normal((n - 1, 3))
    np.testing.assert_allclose(reflection.times(block), whole @ block, atol=1e-13)
    np.testing.assert_allclose(reflection.times(block[:, 0]), whole @ block[:, 0], atol=1e-13)
    np.testing.assert_allclose(reflection.dropped(block), whole[1:] @ block, atol=1e-13)
    np.testing.assert_allclose(reflection.lifted(thin), whole[:, 1:] @ thin, atol=1e-13)
    np.testing.assert_allclose(reflection.lifted(thin[:, 0]), whole[:, 1:] @ thin[:, 0], atol=1e-13)
    np.testing.assert_allclose(vector @ reflection.lifted(thin), 0.0, atol=1e-14)


@pytest.mark.parametrize("kind", ["dense", "implicit"])
@pytest.mark.parametrize("n", [2, 7])
def test_the_complement_of_a_direction_equals_its_dense_form(kind, n):
    rng = RNG(7)
    direction, array = implicit(rng, n)
    if kind == "dense":
        array = symmetric(rng, n)
        direction = DenseDirection(array, symmetric=True)
    vector = rng.standard_normal(n)
    reflection = Reflection.onto_axis(vector / np.linalg.norm(vector))
    basis = reflection.times(np.eye(n))[:, 1:]
    complement, expected = ComplementDirection(direction, reflection), basis.T @ array @ basis
    check_same(complement, expected)
    check_same(complement.transposed(), expected)
    check_same(complement.scaled(-2.5), -2.5 * expected)
    check_same(complement.symmetrised(), expected)
    assert complement.sparse() is None
    assert complement.single_precision(complement.peak(), 4) is None
    for one in (direction, complement):
        assert one.size() >= np.linalg.norm(one.dense()) * (1 - 1e-14)


def test_rough_products_beside_what_is_known():
    n = int(np.sqrt(ONE_THREAD_ENTRIES)) + 1
    array = symmetric(RNG(8), n)
    direction = DenseDirection(array, symmetric=True)
    reflection = Reflection.onto_axis(np.full(n, n**-0.5))
    complement = ComplementDirection(direction, reflection)
    block = RNG(9).standard_normal((n - 1, 4))
    found = complement.single_precision(3.0, 4)(block)
    wanted = complement.dense() @ block / 3.0
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, atol=1e-5 * np.abs(wanted).max())
