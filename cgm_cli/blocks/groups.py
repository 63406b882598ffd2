"""Groups of the entries of an array: partitions, as of the group norm and its ball, and covers, which may overlap."""

from __future__ import annotations

import numpy as np

from cgm_cli.text import counted


def check_cover(groups: list[list[int]], overlapping: bool = True) -> None:
    """Raise ValueError with a plain sentence unless no list is empty or repeats itself, and all hold 0, ..., n - 1.

    overlapping: whether an entry may be in more than one list.
    """
    seen: set[int] = set()
    for number, group in enumerate(groups):
        if not group:
            raise ValueError(f"group {number} is empty")
        own: set[int] = set()
        for index in group:
            if index in own or (index in seen and not overlapping):
                raise ValueError(f"entry {index} is in more than one group, or twice in one")
            own.add(index)
        seen |= own
    if not seen:
        raise ValueError("there are no groups")
    # As many numbers as there are entries hold 0, 1, ... or lack one of them: how large the largest is does not matter.
    missing = next((index for index in range(len(seen)) if index not in seen), None)
    if missing is not None:
        raise ValueError(f"entry {missing} is in no group: every entry needs one")


def check_partition(groups: list[list[int]]) -> None:
    """check_cover, with every entry in one group only."""
    check_cover(groups, overlapping=False)


def apart(groups: list[list[int]]) -> tuple[np.ndarray, list[list[int]]]:
    """Groups side by side: the entry that each place stands for, shape (sum of sizes,), and the places of each group.

    An entry gets one place in each of its groups, so that those of the places are a partition.
    """
    places = iter(range(sum(map(len, groups))))
    entries = np.concatenate([np.array(group, dtype=np.intp) for group in groups])
    return entries, [[next(places) for _ in group] for group in groups]


class Groups:
    """`labels` (n,) says which of the `count` groups each flat entry belongs to."""

    def __init__(self, groups: list[list[int]]):
        check_partition(groups)
        self.count = len(groups)
        self.labels = np.empty(sum(map(len, groups)), dtype=np.intp)
        for number, group in enumerate(groups):
            self.labels[group] = number

    def __str__(self) -> str:
        return f"{counted(self.count, 'group')} of {counted(self.size, 'entry')}"

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
