"""Where a few queries stand in a sorted array of distinct integers."""

from __future__ import annotations

import numpy as np


def positions(keys: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(found, place): the mask of the queries that occur in the sorted `keys`, and where those that do occur stand."""
    if keys.size == 0:
        return np.zeros(queries.shape, dtype=bool), np.empty(0, dtype=np.intp)
    place = np.minimum(np.searchsorted(keys, queries), keys.size - 1)
    found = keys[place] == queries
    return found, place[found]
