"""Rows that others imply: against ranks and least squares."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.methods.corrections.dependence import MOST, dependence


def of_length_one(rows, right):
    lengths = np.linalg.norm(rows, axis=1)
    lengths[lengths == 0.0] = 1.0
    return sp.csr_array(rows / lengths[:, None]), right / lengths


@pytest.mark.parametrize(("rank", "more", "seed"), [(1, 3, 0), (4, 0, 1), (5, 4, 2), (12, 30, 3), (3, MOST + 20, 4)])
def test_what_is_implied_is_so_and_nothing_else(rank, more, seed):
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((rank, 40))
    rows = np.vstack([basis, rng.integers(-2, 3, (more, rank)) @ basis])[rng.permutation(rank + more)]
    right = rows @ rng.standard_normal(40)
    found = dependence(*of_length_one(rows, right))
    implied = [each.row for each in found.implied]
    assert found.contradiction is None
    assert implied == sorted(set(implied))
    assert len(implied) == more
    others = np.setdiff1d(np.arange(rank + more), implied)
    assert np.linalg.matrix_rank(rows[others]) == others.size == rank
    for each in found.implied:
        if each.by is not None:
            by = rows[list(each.by)]
            weights = np.linalg.lstsq(by.T, rows[each.row], rcond=None)[0] if each.by else np.zeros(0)
            np.testing.assert_allclose(weights @ by, rows[each.row], atol=1e-9)
            assert weights @ right[list(each.by)] == pytest.approx(right[each.row], abs=1e-9)
            assert not set(each.by) & set(implied[:MOST])
            assert np.linalg.matrix_rank(by) == len(each.by)
    assert sum(each.by is None for each in found.implied) == max(0, more - MOST)


def test_the_last_ones_are_named():
    """The twin goes over the rows in turn, and names those that do not raise the rank."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        rows = rng.integers(-1, 2, (8, 4)).astype(float)
        ranks = [np.linalg.matrix_rank(rows[: count + 1]) for count in range(8)]
        wanted = np.flatnonzero(np.diff([0, *ranks]) == 0).tolist()
        found = dependence(*of_length_one(rows, rows @ rng.standard_normal(4)))
        assert [each.row for each in found.implied] == wanted


def test_rows_that_contradict_others_are_not_implied():
    rows = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [2, 0, 0], [0, 0, 0], [0, 0, 0]])
    found = dependence(*of_length_one(rows, np.array([1.0, 2, 4, 2, 0, 3])))
    assert [(each.row, each.by) for each in found.implied] == [(3, (0,)), (4, ())]
    assert found.kept.tolist() == [0, 1, 2, 5]
    assert found.contradiction @ of_length_one(rows, np.array([1.0, 2, 4, 2, 0, 3]))[1] > 0.0
