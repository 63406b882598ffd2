"""Columns that are each other's opposites."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.opposites import opposite_columns


def test_each_column_is_in_one_pair_at_the_most():
    a, b, zero = np.array([1.0, 0.0, -2.0]), np.array([0.0, 3.0, 0.0]), np.zeros(3)
    near = np.nextafter(a, 10.0)
    columns = [a, zero, -b, -a, zero, a, -near, b, b]
    pairs = opposite_columns(sp.csc_array(np.array(columns).T))
    assert {tuple(sorted(pair)) for pair in pairs.T.tolist()} in ({(0, 3), (2, 7)}, {(3, 5), (2, 7)})


def test_there_may_be_none():
    assert opposite_columns(sp.csc_array(np.eye(3))).shape == (2, 0)
    assert opposite_columns(sp.csc_array((3, 0))).shape == (2, 0)
