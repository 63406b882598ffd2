"""A partition of the entries of an array into groups, shared by the group norm and its ball."""

from __future__ import annotations

import numpy as np


def check_partition(groups: list[list[int]]) -> None:
    """Raise ValueError with a plain sentence unless no list is empty and all hold 0, ..., n - 1, each once."""
    seen: set[int] = set()
    for number, group in enumerate(groups):
        if not group:
            raise ValueError(f"group {number} is empty")
        for index in group:
            if index in seen:
                raise ValueError(f"entry {index} is in more than one group, or twice in one")
            seen.add(index)
    if not seen:
        raise ValueError("there are no groups")
    missing = set(range(max(seen) + 1)) - seen
    if missing:
        raise ValueError(f"entry {min(missing)} is in no group: every entry needs one")


class Groups:
    """`labels` (n,) says which of the `count` groups each flat entry belongs to."""

    def __init__(self, groups: list[list[int]]):
        check_partition(groups)
        self.count = len(groups)
        self.labels = np.empty(sum(map(len, groups)), dtype=np.intp)
        for number, group in enumerate(groups):
            self.labels[group] = number

    @property
    def size(self) -> int:
        return self.labels.size

    def norms(self, z: np.ndarray) -> np.ndarray:
        """|z_G|_2 for every group G, shape (count,). z is divided by its peak first, so that squares stay in range."""
        flat = z.reshape(-1)
        peak = float(np.max(np.abs(flat)))
        if peak == 0.0 or not np.isfinite(peak):
            return np.full(self.count, peak)
        return peak * np.sqrt(np.bincount(self.labels, (flat / peak) ** 2, minlength=self.count))

    def spread(self, factors: np.ndarray) -> np.ndarray:
        """The factor of its group for every entry, shape (n,)."""
        return factors[self.labels]
