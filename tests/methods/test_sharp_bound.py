"""Bounds of large multipliers against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.dual_point import DualPoint
from cgm_cli.methods.sharp_bound import sharp_bound

N = 9
DOMAINS = [Box(-np.ones(N), np.linspace(0.0, 4.0, N)), Simplex(N, 2.5), Simplex((3, 3), 2.5, at_most=True)]


def fractions(array):
    return [Fraction(value) for value in np.asarray(array, dtype=float).reshape(-1).tolist()]


def minimum(domain, v):
    if isinstance(domain, Box):
        pairs = zip(fractions(domain.lower), fractions(domain.upper), strict=True)
        return sum(min(low * each, high * each) for (low, high), each in zip(pairs, v, strict=True))
    least = min(v)
    return Fraction(domain.radius) * (min(least, Fraction(0)) if domain.at_most else least)


def exact_bound(domain, cost, rows, values, duals):
    v, total = fractions(cost), Fraction(0)
    for row, b, y in zip(rows, fractions(values), fractions(duals), strict=True):
        v = [each + y * entry for each, entry in zip(v, fractions(row), strict=True)]
        total += y * b
    return minimum(domain, v) - total


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("size", [1.0, 1e5, 1e10])
@pytest.mark.parametrize("domain", DOMAINS)
def test_it_is_below_the_exact_bound_and_near_it(domain, size, sparse):
    """Of duals of this size, that nearly cancel."""
    rng = np.random.default_rng(0)
    basis = rng.standard_normal((2, N))
    rows = np.vstack([basis, rng.standard_normal((2, 2)) @ basis + rng.standard_normal((2, N)) / size])
    combined = np.linalg.lstsq(basis.T, rows[2:].T, rcond=None)[0].T
    y = np.array([0.3, 0.7])
    duals = np.concatenate([-size * (y @ combined), size * y])
    values = rows @ np.full(N, 0.2)
    # The same numbers as multipliers of equations and, where they are positive, of upper bounds on the same images.
    parts = np.minimum(duals, 0.0), np.maximum(duals, 0.0)
    cost = rng.standard_normal(N)
    linear = MatrixMap(sp.csr_array(rows) if sparse else rows, domain.shape)
    terms = Term("exact", linear, Equals((4,), values)), Term("above", linear, BoxSet((4,), np.array(-np.inf), values))
    problem = CompositeProblem(domain, Linear(cost.reshape(domain.shape), domain.shape), terms)
    exact = exact_bound(domain, cost, rows, values, duals)
    sharp = sharp_bound(problem, DualPoint(np.zeros(()), parts, 0.0, 0.0))
    if sharp is not None:  # this machine has more digits than double precision
        assert Fraction(sharp) <= exact
        assert float(exact - Fraction(sharp)) <= 1e-12 + 1e-16 * size


def test_it_is_none_where_more_digits_help_nobody():
    shape, target = (N,), np.ones(2)
    linear = MatrixMap(np.ones((2, N)), shape)
    curved = CompositeProblem(DOMAINS[0], LeastSquares(linear, target), (Term("a", linear, Equals((2,), target)),))
    bent = CompositeProblem(DOMAINS[0], Linear(np.ones(N), shape), (Term("a", linear, L1Norm((2,))),))
    for problem in (curved, bent):
        assert sharp_bound(problem, DualPoint(np.zeros(2), (np.ones(2),), 0.0, 0.0)) is None
