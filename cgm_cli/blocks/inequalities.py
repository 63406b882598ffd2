"""Valid inequalities that are too many to be written down: a term has a few of them, and a run adds those that its x
violates (cgm_cli.solving.rounds).

Each is known by its place, a few indices, so that a run saves places and not rows; and every place is one of an
inequality that is valid, whatever x may be and whoever has chosen it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.penalties.base import Penalty


class Inequalities(Protocol):
    """A family of them, about the entries of x."""

    @property
    def first(self) -> np.ndarray:
        """The places (m, w), integers, of those that a run begins with, and keeps, one at the least. They are to be met
        with room to spare, since what the others are missed by is relative to the size of the whole image.
        """
        ...

    def rows(self, places: np.ndarray) -> tuple[LinearMap, Penalty]:
        """A and K of the inequalities A x in K at these places. Raises ProblemError where they are no places."""
        ...

    def violated(self, x: np.ndarray) -> np.ndarray:
        """The places (m, w) of the most violated, worst first; as many as one round is to add, at the most."""
        ...
