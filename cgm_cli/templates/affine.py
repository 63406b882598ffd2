"""The affine constraints of a semidefinite program in blocks, and the forms that a program from a file may take."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from cgm_cli.methods.corrections.conic_form import ENTRIES, ROWS
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.numerics.layout import Layout
from cgm_cli.readers.block_program import BlockProgram

SAME = 1e-12
"""Part of a trace that rounding makes of it."""

LARGE = 60
"""The order of a block above which it is not projected."""


@dataclass(frozen=True)
class Affine:
    """lower_i <= <A_i, X> <= upper_i: the entries of A_i in row i of `rows` (m, N), bounds (m,), equal for an
    equality. numbers: (m,), by which the user knows them: in a file, with `in_file`, or in `constraints`, from 0, or in
    `quadratic_forms`, from -1 on, downwards.
    """

    rows: sp.csr_array
    lower: np.ndarray
    upper: np.ndarray
    numbers: np.ndarray
    in_file: bool = False

    def __getitem__(self, chosen: np.ndarray) -> Affine:
        """Those constraints of a mask (m,)."""
        rows, numbers = self.rows[np.flatnonzero(chosen)], self.numbers[chosen]
        return Affine(rows, self.lower[chosen], self.upper[chosen], numbers, self.in_file)

    def called(self, place: int) -> str:
        """What the user calls a constraint."""
        number = int(self.numbers[place])
        if number < 0:
            return f"quadratic_forms[{-1 - number}]"
        return f"constraint {number}" if self.in_file else f"constraints[{number}]"

    @property
    def equal(self) -> np.ndarray:
        """Which are equations: a mask (m,)."""
        return self.lower == self.upper


@dataclass(frozen=True)
class Forms:
    """lower_i <= v_i^T X v_i <= upper_i for the rows v_i of `vectors` (m, n), bounds (m,), equal for an equality."""

    vectors: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    numbers: np.ndarray

    @property
    def equal(self) -> np.ndarray:
        """Which are equations: a mask (m,)."""
        return self.lower == self.upper

    def __getitem__(self, chosen: np.ndarray) -> Forms:
        """Those of a mask (m,)."""
        return Forms(self.vectors[chosen], self.lower[chosen], self.upper[chosen], self.numbers[chosen])

    def called(self, place: int) -> str:
        """What the user calls one."""
        return f"quadratic_forms[{int(self.numbers[place])}]"


@dataclass(frozen=True)
class Parts:
    """Sizes of the blocks, as `cgm_cli.numerics.blockwise` has them; C, (n, n) of one matrix, or flat (1, N) of several
    blocks; and the constraints. within: where several blocks lie along the diagonal of one matrix, their sizes. forms:
    further constraints, whose matrices are not written out. layout: of the blocks, where they were given as those along
    the diagonal of one matrix.
    """

    sizes: tuple[int, ...]
    cost: Matrix
    affine: Affine
    within: tuple[int, ...] = ()
    forms: Forms | None = None
    layout: Layout | None = None


def parts_of_program(program: BlockProgram) -> Parts:
    """One matrix, where numbers are but the slacks of its constraints; else the blocks as they are."""
    return _as_one_matrix(program) or _as_it_is(program)


def _as_it_is(program: BlockProgram) -> Parts:
    rows = sp.csr_array(program.matrices[1:])
    cost = sp.csr_array(program.matrices[[0]])
    affine = Affine(rows, program.right, program.right, program.numbers, in_file=True)
    return Parts(program.sizes, cost, affine)


def _as_one_matrix(program: BlockProgram) -> Parts | None:
    """Where there is one matrix, and every number is the slack of one constraint and has no cost: then that is an
    inequality. None of any other program.
    """
    matrices = [place for place, size in enumerate(program.sizes) if size > 0]
    if len(matrices) != 1:
        return None
    n, start = program.sizes[matrices[0]], program.starts[matrices[0]]
    whole = sp.csc_array(program.matrices)
    numbers = sp.coo_array(sp.hstack([whole[:, :start], whole[:, start + n * n :]]))
    used = numbers.data != 0.0
    owners, which, values = numbers.coords[0][used], numbers.coords[1][used], numbers.data[used]
    if (owners == 0).any() or np.unique(which).size < which.size:
        return None
    lower, upper = program.right.copy(), program.right.copy()
    lower[owners[values > 0.0] - 1] = -np.inf
    upper[owners[values < 0.0] - 1] = np.inf
    inside = sp.csr_array(whole[:, start : start + n * n])
    cost = sp.coo_array(inside[[0]]).reshape((n, n))
    free = np.isinf(lower) & np.isinf(upper)  # a slack of either sign: no constraint at all
    affine = Affine(sp.csr_array(inside[1:]), lower, upper, program.numbers, in_file=True)
    return Parts((n,), cost, affine[~free])


def is_for_factors(parts: Parts) -> bool:
    """Whether a program in several blocks is so large that only descent on factors, which takes one matrix, is left."""
    blocks, count = Blocks(parts.sizes), parts.affine.rows.shape[0]
    return len(parts.sizes) > 1 and blocks.largest > LARGE and (blocks.entries > ENTRIES or count > ROWS)


def along_diagonal(parts: Parts) -> Parts:
    """The same program for one matrix with the blocks along its diagonal.

    Entries off the blocks have no cost and are in no constraint, and the blocks of a semidefinite matrix are so, with
    the same trace: the optimum is the same. Of a factor R, block b is R_b R_b^T for its rows R_b, a number |r_i|^2, so
    that the rank is that of the block whose rank is the largest, not their sum.
    """
    blocks = Blocks(parts.sizes)
    n = blocks.order

    def moved(matrix: sp.csr_array) -> sp.csr_array:
        places = blocks.along_diagonal(matrix.indices)
        return sp.csr_array((matrix.data, places, matrix.indptr.astype(places.dtype)), shape=(matrix.shape[0], n * n))

    cost = sp.coo_array(moved(sp.csr_array(parts.cost))).reshape((n, n))
    return Parts((n,), cost, replace(parts.affine, rows=moved(parts.affine.rows)), within=parts.sizes)


def on_trace(sizes: tuple[int, ...], affine: Affine, trace: float) -> np.ndarray:
    """Which constraints are a I = b with b / a the trace, as the domain is where that is fixed: a mask (m,)."""
    identity, rows = sp.csr_array(Blocks(sizes).identity()[None]), affine.rows
    same = np.diff(rows.indptr) == identity.nnz
    for place in np.flatnonzero(same).tolist():
        row = rows[[place]]
        multiple = np.array_equal(row.indices, identity.indices) and np.ptp(row.data) == 0.0
        same[place] = multiple and abs(affine.lower[place] / row.data[0] - trace) <= SAME * trace
    return same & affine.equal
