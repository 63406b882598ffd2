"""How large a trace can be, where it takes the dual of the largest trace to say so: against Clarabel."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.templates.largest_trace import of_the_largest_trace
from cgm_cli.templates.trace_bounds import ROOM, trace_limit, trace_proof


def rows_of(matrices):
    return sp.csr_array(np.array([matrix.reshape(-1) for matrix in matrices]))


def definite_by_a_hair(n, m, seed):
    """Random symmetric matrices, of which one combination, far from that of least squares, is definite."""
    rng = np.random.default_rng(seed)
    matrices = [whole + whole.T for whole in rng.standard_normal((m, n, n))]
    left = rng.standard_normal((n, n))
    matrices[0] = left @ np.diag(10.0 ** np.linspace(-2, 1, n)) @ left.T - sum(matrices[1:])
    point = rng.standard_normal((n, n))
    point = point @ point.T
    return matrices, np.array([np.vdot(matrix, point) for matrix in matrices])


def largest_trace(matrices, lower, upper) -> float:
    n = len(matrices[0])
    x = cp.Variable((n, n), PSD=True)
    values = cp.hstack([cp.trace(matrix @ x) for matrix in matrices])
    finite = np.isfinite(lower), np.isfinite(upper)
    rows = [values[finite[0]] >= lower[finite[0]], values[finite[1]] <= upper[finite[1]]]
    return float(cp.Problem(cp.Maximize(cp.trace(x)), rows).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bounded", [False, True])
def test_the_largest_trace_is_found_where_least_squares_find_nothing(seed, bounded):
    n, m = 6, 4
    matrices, right = definite_by_a_hair(n, m, seed)
    lower, upper = right.copy(), right.copy()
    if bounded:
        lower[0], upper[-1] = -np.inf, np.inf
        matrices[-1] *= 1e-2  # less of a lower bound than is needed
    rows, blocks = rows_of(matrices), Blocks((n,))
    limit, proof = trace_limit(blocks, rows, lower, upper), trace_proof(blocks, rows, lower, upper)
    largest = largest_trace(matrices, lower, upper)
    if proof is None:
        assert not np.isfinite(largest) or largest > 1e4
        return
    assert not limit.exact and limit.expected is None
    assert limit.radius >= largest * (1.0 - 1e-6)
    assert np.linalg.eigvalsh((rows.T @ proof.y).reshape(n, n))[0] >= 1.0 - 1e-9
    assert (proof.y[~np.isfinite(upper)] <= 0.0).all() and (proof.y[~np.isfinite(lower)] >= 0.0).all()
    if proof.tight:
        assert limit.radius <= 1.01 * ROOM * largest


def test_some_of_them_do_take_it():
    found = []
    for seed in range(6):
        matrices, right = definite_by_a_hair(6, 4, seed)
        proof = trace_proof(Blocks((6,)), rows_of(matrices), right, right)
        found.append(proof is not None and proof.tight)
    assert sum(found) >= 3


@pytest.mark.parametrize(
    ("matrices", "right"),
    [
        # X_22 may be anything.
        ([np.diag([1.0, 0.0])], [1.0]),
        ([np.diag([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]])], [1.0, 2.0]),
        # No X at all.
        ([np.eye(2)], [-1.0]),
    ],
)
def test_nothing_is_said_where_there_is_no_end_to_the_trace_or_no_point(matrices, right):
    right = np.array(right)
    assert of_the_largest_trace(Blocks((2,)), rows_of(matrices), right, right, 1e6, 1.0) is None
    assert trace_proof(Blocks((2,)), rows_of(matrices), right, right) is None


def test_numbers_beside_matrices():
    """X_11 + z = 1 and X_22 - z = 0: the trace is 1 + z, which is 2 at the most, where least squares say 1.5 or no."""
    blocks = Blocks((2, -1))
    rows = sp.csr_array(np.array([[1.0, 0, 0, 0, 1.0], [0, 0, 0, 1.0, -1.0]]))
    limit = trace_limit(blocks, rows, np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    assert limit.expected is None and 2.0 <= limit.radius <= 2.0 * 1.2
