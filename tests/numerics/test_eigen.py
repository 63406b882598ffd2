"""The eigen-solver against LAPACK, on the inputs that break eigen-solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.numerics.eigen import DENSE_BELOW, rounding_error, smallest_eigenpairs

EPS = np.finfo(float).eps


def symmetric(rng, n, values=None):
    """A random symmetric matrix, or one of these eigenvalues."""
    if values is None:
        a = rng.standard_normal((n, n))
        a = a + a.T
        return a / np.abs(a).max()
    basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
    a = (basis * values) @ basis.T
    return 0.5 * (a + a.T)


def solve(a, count=1, tolerance=1e-9, seed=0, **options):
    return smallest_eigenpairs(
        lambda block: a @ block, a.shape[0], count, tolerance=tolerance, rng=np.random.default_rng(seed), **options
    )


def check_honest(a, pairs):
    """What the answer says of itself holds: orthonormal vectors, true residuals, an eigenvalue within each residual."""
    spectrum = np.linalg.eigvalsh(a)
    slack = 64 * a.shape[0] * EPS * max(np.abs(spectrum).max(), 1e-300)
    count = pairs.values.size
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(count), atol=1e-12 * a.shape[0])
    residuals = np.linalg.norm(a @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    assert np.all(residuals <= pairs.residuals + slack)
    distance = np.abs(spectrum[:, None] - pairs.values).min(axis=0)
    assert np.all(distance <= pairs.residuals + slack)
    assert np.all(np.diff(pairs.values) >= 0)
    # Ritz values lie above the eigenvalues they stand for (Cauchy interlacing).
    assert np.all(pairs.values >= spectrum[:count] - slack)


def check_tolerance(pairs, tolerance, size):
    allowed = np.maximum(tolerance * np.maximum(np.abs(pairs.values), 1e-3 * size), 4 * EPS * size)
    assert pairs.converged
    assert np.all(pairs.residuals <= allowed * (1 + 1e-12))


@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 65, 66, 100])
@pytest.mark.parametrize("tolerance", [0.0, 1e-2, 1e-9])
def test_every_size_around_the_switch_to_lapack(n, tolerance):
    a = symmetric(np.random.default_rng(n), n)
    pairs = solve(a, tolerance=tolerance)
    check_honest(a, pairs)
    assert pairs.exact == (n <= DENSE_BELOW or tolerance == 0.0)
    size = np.abs(np.linalg.eigvalsh(a)).max()
    if pairs.exact:
        assert pairs.converged
        assert abs(pairs.values[0] - np.linalg.eigvalsh(a)[0]) <= pairs.residuals[0]
    else:
        check_tolerance(pairs, tolerance, size)
        assert abs(pairs.values[0] - np.linalg.eigvalsh(a)[0]) <= max(tolerance, 1e-12) * size


@pytest.mark.parametrize(
    ("n", "count"),
    [(65, 2), (65, 10), (65, 11), (65, 16), (65, 21), (66, 20), (100, 16), (100, 17), (100, 30), (100, 33), (200, 40)],
)
def test_wide_blocks_of_small_matrices(n, count):
    # The basis and the next block together may be wider than the space has dimensions.
    a = symmetric(np.random.default_rng(count), n)
    pairs = solve(a, count, tolerance=1e-8)
    check_honest(a, pairs)
    assert pairs.converged
    np.testing.assert_allclose(pairs.values, np.linalg.eigvalsh(a)[:count], atol=1e-7)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(65, 140),
    st.integers(1, 45),
    st.sampled_from([1e-1, 1e-3, 1e-8]),
    st.sampled_from(["gaussian", "low-rank", "clustered", "psd", "decaying"]),
    st.integers(0, 100),
)
def test_any_shape_and_spectrum(n, count, tolerance, kind, seed):
    rng = np.random.default_rng(seed)
    values = {
        "gaussian": None,
        "low-rank": np.where(np.arange(n) < 12, -rng.random(n), 0.0),
        "clustered": np.where(np.arange(n) < n // 2, -1.0, 1.0) + 1e-10 * rng.standard_normal(n),
        "psd": rng.random(n),
        "decaying": -(0.5 ** np.arange(n)),
    }[kind]
    a = symmetric(rng, n, values)
    pairs = solve(a, count, tolerance=tolerance, seed=seed, max_products=3000)
    check_honest(a, pairs)
    if pairs.converged and not pairs.exact:
        check_tolerance(pairs, tolerance, np.abs(np.linalg.eigvalsh(a)).max() * (1 + 1e-9))


@pytest.mark.parametrize("kind", ["an eigenvector", "any vector"])
def test_a_warm_start_orthogonal_to_the_answer_still_finds_it(kind):
    rng = np.random.default_rng(0)
    a = np.zeros((200, 200))
    a[:100, :100] = symmetric(rng, 100)
    a[100:, 100:] = 3.0 * symmetric(rng, 100)
    values, vectors = np.linalg.eigh(a[:100, :100])
    start = np.zeros((200, 1))
    # Of an eigenvector no Krylov space grows; of any other vector one does, and never leaves the first block.
    start[:100, 0] = vectors[:, 0] if kind == "an eigenvector" else vectors[:, :50].sum(axis=1) / np.sqrt(50)
    truth = np.linalg.eigvalsh(a)[0]
    assert truth < 1.5 * values[0]
    pairs = solve(a, tolerance=1e-6, start=start)
    assert pairs.values[0] == pytest.approx(truth, rel=1e-6)


def test_a_warm_start_of_eigenvectors_costs_little():
    a = symmetric(np.random.default_rng(1), 300, np.linspace(-1, 1, 300))
    cold = solve(a, 4, tolerance=1e-3)
    warm = solve(a, 4, tolerance=1e-3, start=np.linalg.eigh(a)[1][:, :4])
    assert warm.products < cold.products
    np.testing.assert_allclose(warm.values, np.linalg.eigvalsh(a)[:4], atol=1e-3)


@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_a_warm_start_of_any_width_is_taken(width):
    a = symmetric(np.random.default_rng(2), 90)
    pairs = solve(a, 3, start=np.linalg.eigh(a)[1][:, :width])
    np.testing.assert_allclose(pairs.values, np.linalg.eigvalsh(a)[:3], atol=1e-9)


@pytest.mark.parametrize("n", [1, 5, 65, 300])
@pytest.mark.parametrize("count", [1, 4])
def test_zero_and_identity(n, count):
    count = min(n, count)
    for a, value in [(np.zeros((n, n)), 0.0), (np.eye(n), 1.0), (-np.eye(n), -1.0)]:
        pairs = solve(a, count)
        check_honest(a, pairs)
        assert pairs.converged
        np.testing.assert_allclose(pairs.values, value, atol=1e-13)


def test_low_rank_and_a_block_wider_than_what_is_left_of_it():
    rng = np.random.default_rng(3)
    a = symmetric(rng, 400, np.concatenate([-np.linspace(1, 2, 12), np.zeros(388)]))
    pairs = solve(a, 10, tolerance=1e-9)
    check_honest(a, pairs)
    assert pairs.converged
    np.testing.assert_allclose(pairs.values, -np.linspace(1, 2, 12)[::-1][:10], atol=1e-9)
    # Fewer negative eigenvalues than pairs asked for: the rest are zeros.
    wide = solve(a, 14, tolerance=1e-9)
    check_honest(a, wide)
    np.testing.assert_allclose(wide.values, np.linalg.eigvalsh(a)[:14], atol=1e-8)


def test_clustered_smallest_eigenvalues_are_all_found():
    rng = np.random.default_rng(4)
    values = np.concatenate([-1 - 1e-9 * np.arange(6), np.linspace(-0.5, 1, 194)])
    a = symmetric(rng, 200, values)
    pairs = solve(a, 6, tolerance=1e-7)
    check_honest(a, pairs)
    np.testing.assert_allclose(pairs.values, -1.0, atol=1e-7)


def test_a_multiple_smallest_eigenvalue_gives_its_value_and_a_member_of_its_space():
    rng = np.random.default_rng(5)
    basis = np.linalg.qr(rng.standard_normal((150, 150)))[0]
    values = np.concatenate([[-2.0] * 3, rng.uniform(-1, 1, 147)])
    a = (basis * values) @ basis.T
    pairs = solve(0.5 * (a + a.T), 1, tolerance=1e-10)
    assert pairs.values[0] == pytest.approx(-2.0, abs=1e-9)
    assert np.linalg.norm(basis[:, :3].T @ pairs.vectors[:, 0]) == pytest.approx(1.0, abs=1e-8)


def test_out_of_products_gives_the_best_found_and_says_so():
    # The Laplacian of a path: lambda_min = 0, the next 4e-7 and so on: no Krylov space of this size separates them.
    n = 5000

    def multiply(block):
        image = 2.0 * block
        image[1:] -= block[:-1]
        image[:-1] -= block[1:]
        image[0] -= block[0]
        image[-1] -= block[-1]
        return image

    pairs = smallest_eigenpairs(multiply, n, 1, tolerance=1e-9, rng=np.random.default_rng(0), max_products=400)
    assert not pairs.converged
    assert pairs.products == 400
    vector = pairs.vectors[:, 0]
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-10)
    residual = np.linalg.norm(multiply(vector[:, None])[:, 0] - pairs.values[0] * vector)
    assert residual == pytest.approx(pairs.residuals[0], rel=1e-6)
    assert 0.0 <= pairs.values[0] < 1e-2


@pytest.mark.parametrize("budget", [1, 2, 5, 24])
@pytest.mark.parametrize("count", [1, 3])
def test_even_the_smallest_budget_gives_an_answer(budget, count):
    a = symmetric(np.random.default_rng(6), 120)
    pairs = solve(a, count, tolerance=1e-12, max_products=budget)
    check_honest(a, pairs)
    assert pairs.vectors.shape == (120, count)
    assert pairs.products <= budget + pairs.start.shape[1]


@pytest.mark.parametrize("count", [1, 5])
def test_same_seed_same_answer_to_the_last_bit(count):
    a = symmetric(np.random.default_rng(7), 150)
    first, second, other = (solve(a, count, tolerance=1e-4, seed=seed) for seed in (11, 11, 12))
    assert first.values.tobytes() == second.values.tobytes()
    assert first.vectors.tobytes() == second.vectors.tobytes()
    assert first.products == second.products
    assert first.vectors.tobytes() != other.vectors.tobytes()


def test_the_start_is_not_changed():
    a = symmetric(np.random.default_rng(8), 100)
    start = np.random.default_rng(9).standard_normal((100, 2))
    kept = start.copy()
    solve(a, 2, start=start)
    np.testing.assert_array_equal(start, kept)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
def test_a_looser_tolerance_costs_no_more(tolerance):
    a = symmetric(np.random.default_rng(10), 300)
    assert solve(a, tolerance=tolerance).products <= solve(a, tolerance=1e-10).products


@pytest.mark.parametrize("magnitude", [0.0, 1e-170, 1e-3, 1.0, 1e170])
@pytest.mark.parametrize("n", [3, 80])
def test_rounding_error_covers_what_lapack_makes_at_any_magnitude(n, magnitude):
    rng = np.random.default_rng(n)
    values = np.round(rng.uniform(-8, 8, n))
    # A block matrix of 2 x 2 rotations by 45 degrees has entries, and eigenvalues, that are known to the last bit.
    a = np.zeros((n, n))
    for i in range(0, n - 1, 2):
        mean, half = (values[i] + values[i + 1]) / 2, (values[i] - values[i + 1]) / 2
        a[i : i + 2, i : i + 2] = [[mean, half], [half, mean]]
    if n % 2:
        a[-1, -1] = values[-1]
    found = np.linalg.eigvalsh(a * magnitude)
    error = rounding_error(a * magnitude)
    assert np.isfinite(error)
    assert (error > 0) == (magnitude > 0)
    assert np.abs(found - np.sort(values) * magnitude).max() <= error


# What the domains make of it: the branches between zero and an atom, and the magnitudes.


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 66])
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("magnitude", [1e-170, 1.0, 1e170])
def test_psd_oracle_at_any_size_and_magnitude(n, fixed, magnitude):
    a = symmetric(np.random.default_rng(n), n) - 0.1 * np.eye(n)
    domain = PSDTrace(n, 2.5, fixed)
    answer = domain.lmo(DenseDirection(magnitude * a, symmetric=True), OracleRequest(tolerance=1e-9))
    smallest = np.linalg.eigvalsh(a)[0]
    expected = 2.5 * (smallest if fixed else min(0.0, smallest))
    assert answer.value / magnitude == pytest.approx(expected, rel=1e-9, abs=1e-13)
    assert domain.contains(answer.atom.dense())
    assert answer.lower <= answer.value


@pytest.mark.parametrize("n", [1, 40, 90])
def test_psd_oracle_of_a_semidefinite_direction(n):
    values = np.linspace(0.5, 2.0, n)
    direction = DenseDirection(symmetric(np.random.default_rng(n), n, values), symmetric=True)
    at_most = PSDTrace(n, 3.0, False).lmo(direction, OracleRequest(tolerance=1e-6))
    assert not at_most.atom.dense().any()
    assert at_most.value == 0.0
    fixed = PSDTrace(n, 3.0, True).lmo(direction, OracleRequest(tolerance=1e-6))
    assert fixed.value == pytest.approx(1.5, rel=1e-5)
    assert np.trace(fixed.atom.dense()) == pytest.approx(3.0)


@pytest.mark.parametrize("n", [1, 40, 90])
def test_zero_directions(n):
    zero = DenseDirection(np.zeros((n, n)), symmetric=True)
    assert not PSDTrace(n, 2.0, False).lmo(zero, OracleRequest()).atom.dense().any()
    for domain in (PSDTrace(n, 2.0, True), Fantope(n, min(n, 3))):
        answer = domain.lmo(zero, OracleRequest())
        assert answer.value == answer.lower == 0.0
        assert domain.contains(answer.atom.dense())


@pytest.mark.parametrize("smallest", [-1e-9, -1e-4, 1e-9])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-6])
def test_a_nearly_semidefinite_direction_at_a_loose_tolerance(smallest, tolerance):
    # Whatever branch a Ritz value near zero takes, it costs no more than tolerance * |A| / 1000, and is said to.
    values = np.concatenate([[smallest], np.linspace(0.1, 1.0, 199)])
    direction = DenseDirection(symmetric(np.random.default_rng(0), 200, values), symmetric=True)
    answer = PSDTrace(200, 1.0, False).lmo(direction, OracleRequest(tolerance=tolerance))
    truth = min(0.0, smallest)
    assert truth - 1e-14 <= answer.value <= truth + 1.01e-3 * tolerance
    assert answer.lower <= truth + 1e-14
    assert answer.converged


def test_a_direction_that_is_not_symmetric_is_symmetrised_first():
    rng = np.random.default_rng(1)
    a = rng.standard_normal((90, 90))
    direction = DenseDirection(a).symmetrised()
    for tolerance in (0.0, 1e-10):
        answer = PSDTrace(90, 1.0, True).lmo(direction, OracleRequest(tolerance=tolerance))
        assert answer.value == pytest.approx(np.linalg.eigvalsh(0.5 * (a + a.T))[0], rel=1e-9)
        assert answer.value == pytest.approx(float(np.vdot(a, answer.atom.dense())), rel=1e-9)


@pytest.mark.parametrize(("n", "rank"), [(66, 20), (90, 3), (90, 25), (90, 30), (90, 89), (90, 90), (1, 1), (64, 7)])
def test_fantope_atoms_are_in_the_fantope(n, rank):
    a = symmetric(np.random.default_rng(rank), n)
    domain = Fantope(n, rank)
    answer = domain.lmo(DenseDirection(a, symmetric=True), OracleRequest(tolerance=1e-8))
    assert domain.contains(answer.atom.dense(), 1e-8)
    assert answer.value == pytest.approx(np.linalg.eigvalsh(a)[:rank].sum(), rel=1e-6, abs=1e-10)
    certified = domain.certified_minimum(DenseDirection(a, symmetric=True))
    assert certified <= np.linalg.eigvalsh(a)[:rank].sum() + 1e-12
    assert certified == pytest.approx(np.linalg.eigvalsh(a)[:rank].sum(), abs=1e-9)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-9])
@pytest.mark.parametrize("count", [1, 2, 5, 10])
def test_products_in_single_precision_are_left_where_they_do_not_do(tolerance, count):
    """The first solve may go by single precision, and its residuals hold; what asks for more is gone on with."""
    a = symmetric(np.random.default_rng(count), 200)
    single = a.astype(np.float32)
    asked = {"single": 0, "double": 0}

    def in_single(block):
        asked["single"] += 1
        return (single @ block.astype(np.float32)).astype(float)

    def multiply(block):
        asked["double"] += 1
        return a @ block

    pairs = smallest_eigenpairs(
        multiply,
        200,
        count,
        tolerance=tolerance,
        rng=np.random.default_rng(0),
        single_precision=in_single,
        max_products=100_000,
    )
    assert pairs.converged
    assert asked["single"] > 0
    assert (asked["double"] > 0) == (tolerance < 1e-6)
    exact = np.linalg.eigvalsh(a)
    assert np.all(np.abs(pairs.values - exact[:count]) <= pairs.residuals + 1e-12)
    assert np.all(np.linalg.norm(a @ pairs.vectors - pairs.vectors * pairs.values, axis=0) <= pairs.residuals + 1e-12)
    gram = pairs.vectors.T @ pairs.vectors
    np.testing.assert_allclose(gram, np.eye(count), atol=1e-13)


def test_a_warm_block_that_misses_a_pair_finds_it():
    """The start is invariant, and orthogonal to the smallest pair: the noise in its columns leads out."""
    n = 150
    a = np.diag(np.arange(n, dtype=float) - 75.0)
    start = np.eye(n)[:, 1:9]  # rank 5 with its guards
    pairs = solve(a, 5, tolerance=1e-8, start=start)
    np.testing.assert_allclose(pairs.values, np.diag(a)[:5], atol=1e-5)
    assert pairs.start.shape == (n, 8)
