"""The y that says how large a trace can be, where least squares do not find it: by the dual of the largest there is,

    max { tr X : A(X) = b, X >= 0 }  =  min { b^T y : A^*(y) >= I }.

Interior-point steps solve it, in as much time as the program itself takes; where the left side is infinite they end at
once with a ray. Nothing rests on how exact y is: whoever asks scales it until A^*(y) >= I is proven.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.domains.psd_blocks import PSDBlocks
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import CgmError
from cgm_cli.methods.corrections.conic_form import ENTRIES, ROWS
from cgm_cli.methods.corrections.interior_point import InteriorPoint
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.solving.direct import solve_problem

SECONDS = 0.1
"""The most that these steps may take, roughly."""

ENDLESS = 0.1
"""Part of the trace that is assumed in the search, at which that has gone so far that it is not worth an end."""

TURNS = 60
"""The most of them: beside no limit of time, so that the same data always say the same."""


def of_the_largest_trace(
    blocks: Blocks, rows: sp.csr_array, lower: np.ndarray, upper: np.ndarray, assumed: float, expected: float
) -> np.ndarray | None:
    """y (m,), for constraints lower <= rows X <= upper, rows (m, N), bounds (m,). assumed, expected: of the trace, in
    the search. None where it would take long, or there is no end to the trace, or no X at all.
    """
    if not 0 < rows.shape[0] <= ROWS or blocks.entries > ENTRIES:
        return None
    domain = PSDBlocks(blocks.sizes, assumed, fixed_trace=False, expected=expected)
    term = Term("constraints", MatrixMap(rows, domain.shape), BoxSet(lower.shape, lower, upper))
    problem = CompositeProblem(domain, Linear(-blocks.identity(), domain.shape), (term,))
    if InteriorPoint(problem).seconds > SECONDS:
        return None
    solver = {"method": "cgal", "correction": "interior-point"}
    stop = StopRules(TURNS, gap=1e-3, infeasibility=1e-3, objective=-ENDLESS * assumed)
    try:
        result = solve_problem(problem, solver, stop)
    except CgmError:  # numbers out of range, which the program itself is going to tell of
        return None
    found = result.status is not Status.INFEASIBLE and result.bound_rests_on is None
    return result.duals["constraints"] if found else None
