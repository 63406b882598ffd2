"""Look-ups in sorted keys."""

import numpy as np

from cgm_cli.numerics.lookup import positions


def test_positions():
    found, place = positions(np.array([2, 5, 9]), np.array([9, 1, 5, 10]))
    np.testing.assert_array_equal(found, [True, False, True, False])
    np.testing.assert_array_equal(place, [2, 1])


def test_no_keys_and_no_queries():
    found, place = positions(np.empty(0, dtype=np.intp), np.array([3]))
    assert not found.any()
    assert place.size == 0
    found, place = positions(np.array([1]), np.empty(0, dtype=np.intp))
    assert found.size == place.size == 0
