"""The probable lower bound on the smallest eigenvalue, beside eigenvalues that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.numerics import chebyshev
from cgm_cli.numerics.chebyshev import DEGREE, MISS, _shown, random_floor

RNG = np.random.default_rng
N = 400

SPECTRA = {
    "spread": np.linspace(-3.0, 5.0, N),
    "clustered": np.concatenate([-1.0 + 1e-10 * np.arange(20), np.linspace(0.0, 1.0, N - 20)]),
    "crowded at the end": np.linspace(0.0, 1.0, N) ** 4,
    "degenerate": np.repeat([-2.0, 0.0, 7.0, 8.0], N // 4),
    "a number": np.full(N, 2.5),
    "one far away": np.concatenate([[-1e8], np.linspace(0.0, 1.0, N - 1)]),
    "one far above": np.concatenate([np.linspace(0.0, 1.0, N - 1), [1e8]]),
}


def floor(values: np.ndarray, guess: float, failure: float, seed: int, steps: int = DEGREE) -> float:
    """Of a diagonal matrix, which is as good as any: what is drawn looks alike from all sides."""
    return random_floor(lambda b: (values * b.T).T, values.size, guess, failure, RNG(seed), steps)


def loss(low: float, high: float, length: float, failure: float, steps: int) -> float:
    """What a bound loses where the guess is right and the results are as long as said."""
    _, seen = _shown(failure)
    return 0.5 * (high - low) * (np.cosh(np.arccosh(max(1.0, length / seen)) / steps) - 1.0)


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("seed", range(3))
def test_below_the_smallest_eigenvalue_and_no_further_than_computed(name, seed):
    values = SPECTRA[name]
    low, high = values.min(), values.max()
    size = np.abs(values).max()
    found = floor(values, low, 1e-9, seed)
    # Not even the longest of the vectors drawn is twice as long as they are on average.
    least = low - loss(low, max(high, low + 1e-3 * size) + 0.02 * (high - low), 2.0 * np.sqrt(N), 1e-9, DEGREE)
    assert least - 1e-12 * size <= found <= low


@pytest.mark.parametrize("off", [-1.0, -1e-2, -1e-6, 1e-6, 1e-3])
def test_a_guess_that_is_off_costs_no_more_than_that(off):
    values = np.linspace(-3.0, 5.0, N)
    found = floor(values, -3.0 + off, 1e-9, 0)
    assert -3.0 - abs(off) - loss(-3.0, 5.5, 2.0 * np.sqrt(N), 1e-9, DEGREE) <= found <= -3.0


@pytest.mark.parametrize("guess", [-1e6, -1.0, 4.9, 5.0, 1e9])
def test_a_hopeless_guess_is_no_danger(guess):
    assert -1e3 - 3.0 * abs(guess) <= floor(np.linspace(-3.0, 5.0, N), guess, 1e-9, 0) <= -3.0


@pytest.mark.parametrize("steps", [3, 5, 8])
@pytest.mark.parametrize("failure", [0.5, 0.1, 1e-2])
def test_it_fails_as_rarely_as_it_says(steps, failure):
    """Far below the interval one eigenvalue is all there is to M = T_m(x) max |<u, b>|: the bound is above it exactly
    where max |<u, b>| < d, which happens with the probability P(|N| < d)^columns <= failure.
    """
    values = np.array([-1.0, 1.0])
    floors = np.array([floor(values, 0.0, failure, seed, steps) for seed in range(400)])
    columns, seen = _shown(failure)
    expected = math.erf(seen / math.sqrt(2.0)) ** columns
    share = np.mean(floors > -1.0)
    assert share <= expected + 4.0 * np.sqrt(expected / 400) <= failure + 4.0 * np.sqrt(failure / 400)
    # It does fail where there is enough to be seen of it.
    assert expected < 0.05 or share >= 0.5 * expected
    assert floors.min() > -100.0


@pytest.mark.parametrize("failure", [0.9, 0.5, 1e-1, 1e-2, 1e-3])
def test_all_vectors_miss_an_eigenvector_as_rarely_as_it_says(failure):
    """The quantile d of max |<u, b>|: P(max |<u, b>| <= d) <= failure."""
    columns, seen = _shown(failure)
    largest = np.abs(RNG(0).standard_normal((100_000, columns))).max(axis=1)
    share = np.mean(largest <= seen)
    assert 0.1 * failure <= share <= failure


@pytest.mark.parametrize("failure", [0.5, 1e-9, 1e-30, 1e-300, 5e-324])
def test_the_rarer_a_failure_the_more_vectors(failure):
    columns, _ = _shown(failure)
    assert failure ** (1.0 / columns) >= MISS
    assert columns == 1 or failure ** (1.0 / (columns - 1)) < MISS
    values = np.linspace(-3.0, 5.0, N)
    assert -3.0 - loss(-3.0, 5.5, 2.0 * np.sqrt(N), failure, DEGREE) <= floor(values, -3.0, failure, 0) <= -3.0


def test_a_matrix_known_by_its_products():
    circle = sp.csr_array(sp.diags_array([np.ones(1999), np.ones(1999)], offsets=[-1, 1]))
    least = -2.0 * np.cos(np.pi / 2001)
    found = random_floor(lambda b: circle @ b, 2000, least, 1e-9, RNG(0))
    assert least - 1e-3 <= found <= least


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_products_that_are_not_finite_prove_nothing(value, monkeypatch):
    monkeypatch.setattr(chebyshev, "_interval", lambda *_: (0.0, 1.0))
    assert random_floor(lambda b: value * b, N, 0.0, 1e-9, RNG(0)) is None


def test_more_rounding_than_there_is_to_be_seen_proves_nothing(monkeypatch):
    monkeypatch.setattr(chebyshev, "_EPS", 1e-3)
    assert floor(np.linspace(-3.0, 5.0, N), -3.0, 1e-9, 0) is None
