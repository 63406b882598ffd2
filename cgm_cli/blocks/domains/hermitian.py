"""Complex Hermitian matrices, positive semidefinite and of bounded or fixed trace."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.numerics.hermitian import folded, folded_factor


class HermitianTrace(PSDTrace):
    """{X complex Hermitian n x n, X >= 0 (semidefinite), tr X <= r} or, with a fixed trace, tr X = r.

    What is worked on are the real Z of order 2n that stand for X = W Z W^* (`cgm_cli.numerics.hermitian`), of the same
    trace; what is shown is X.
    """

    is_complex = True

    def __init__(
        self,
        order: int,
        radius: float,
        fixed_trace: bool,
        expected: float | None = None,
        trace_called: tuple[str, ...] = (),
    ):
        """order: n. The others: as of PSDTrace."""
        super().__init__(2 * order, radius, fixed_trace, expected, trace_called)
        self.order = order

    @property
    def users_shape(self) -> tuple[int, ...]:
        return (self.order, self.order)

    def in_users_terms(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        fold = {"x": folded, "ray": folded, "left": folded_factor, "samples": folded_factor}
        return {name: fold[name](array) if name in fold else array for name, array in arrays.items()}

    def slack_in_users_terms(self, slack: np.ndarray) -> np.ndarray:
        return 0.5 * folded(slack)
