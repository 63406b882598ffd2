"""Positive semidefinite matrices, real or complex, with blocks along their diagonal, under one trace bound."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cgm_cli.blocks.domains.psd_blocks import PSDBlocks
from cgm_cli.numerics.layout import Layout


class DiagonalBlocks(PSDBlocks):
    """The matrices X >= 0 (semidefinite) that are zero outside their blocks, with tr X <= r or tr X = r.

    What is worked on are the real blocks that stand for those of X (`cgm_cli.numerics.layout`), of the same trace in
    all; what is shown is X.
    """

    def __init__(
        self,
        layout: Layout,
        radius: float,
        fixed_trace: bool,
        expected: float | None = None,
        trace_called: tuple[str, ...] = (),
    ):
        """The others: as of PSDBlocks."""
        super().__init__(layout.sizes, radius, fixed_trace, expected, trace_called)
        self.layout, self.is_complex = layout, any(layout.is_complex)

    @property
    def users_shape(self) -> tuple[int, ...]:
        return (self.layout.order, self.layout.order)

    def in_users_terms(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: self.layout.whole(array) if name in ("x", "ray") else array for name, array in arrays.items()}

    def slack_in_users_terms(self, slack: np.ndarray) -> np.ndarray:
        return self.layout.whole(slack, scale=0.5)
