"""Semidefinite programs in the SDPA sparse format (.dat-s), as in SDPLIB.

The file states, with symmetric F_0, ..., F_m of common block structure (the format's dual form),

    maximise <F_0, Y>   subject to   <F_i, Y> = c_i,  Y positive semidefinite, block by block.

Read are files with one matrix block. A variable of a diagonal block is a number >= 0; one that stands in a single
constraint, and not in F_0, is the slack of an inequality, and becomes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.readers.checks import reason
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_lines
from cgm_cli.text import visible


@dataclass(frozen=True)
class SemidefiniteProgram:
    """maximise <cost, Y> subject to lower_i <= <matrices_i, Y> <= upper_i, Y positive semidefinite.

    cost, matrices: symmetric (n, n). lower, upper: (m,), equal for an equality, one of them infinite for an inequality.
    """

    cost: sp.coo_array
    matrices: tuple[sp.coo_array, ...]
    lower: np.ndarray
    upper: np.ndarray


def read_sdpa(path: Path, name: str | None = None) -> SemidefiniteProgram:
    """The program in a file. DataError, with the line where there is one, for what is damaged or not supported."""
    name = name or str(path)
    lines = _Lines(read_lines(path, name), name)
    count = lines.integers("the number of constraints", 1)[0]
    if count < 1:
        raise lines.fault("a program without constraints")
    blocks = lines.integers("the number of blocks", 1)[0]
    if blocks < 1:
        raise lines.fault("a program without blocks")
    sizes = np.array(lines.integers("the sizes of the blocks", blocks))
    matrix_block = _matrix_block(sizes, lines)
    n = int(sizes[matrix_block])
    right = lines.numbers("the right-hand sides", count)
    check_fits(name, 16 * (n + 1) + 200 * lines.left + 400 * count)
    table = lines.table()
    where = table[:, :4]
    reach = np.abs(sizes)[np.clip(where[:, 1], 1, blocks).astype(np.int64) - 1]
    wrong = (where % 1 != 0).any(axis=1) | (where[:, 0] < 0) | (where[:, 0] > count)
    wrong |= (where[:, 1] < 1) | (where[:, 1] > blocks)
    wrong |= (where[:, 2:] < 1).any(axis=1) | (where[:, 2:] > reach[:, None]).any(axis=1)
    if wrong.any():
        raise lines.fault("no such matrix, block or place", int(np.argmax(wrong)))
    infinite = ~np.isfinite(table[:, 4])
    if infinite.any():
        raise lines.fault("the entry is not finite", int(np.argmax(infinite)))
    number, block, i, j = where.astype(np.int64).T
    i, j = np.minimum(i, j) - 1, np.maximum(i, j) - 1
    _refuse_repeated(np.stack([number, block, i, j]), lines)
    inside = block - 1 == matrix_block
    lower, upper = _inequalities(
        right, number[~inside], block[~inside], i[~inside], j[~inside], table[~inside, 4], lines
    )
    matrices = _matrices(count, n, number[inside], i[inside], j[inside], table[inside, 4])
    return SemidefiniteProgram(matrices[0], tuple(matrices[1:]), lower, upper)


def _matrix_block(sizes: np.ndarray, lines: _Lines) -> int:
    """Which block is the matrix; every other one must be diagonal (a size below 0, or 1)."""
    if np.any(sizes == 0):
        raise lines.fault("a block of size 0")
    large = np.flatnonzero(sizes > 1)
    if large.size > 1:
        raise lines.fault(f"{large.size} matrix blocks; programs with one are supported")
    if large.size == 1:
        return int(large[0])
    if sizes.size == 1 and sizes[0] == 1:
        return 0
    raise lines.fault("no matrix block: this is a linear program")


def _inequalities(right, number, block, i, j, values, lines: _Lines) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on <F_i, Y> that the slack variables stand for: `value * slack` with slack >= 0 is what is missing."""
    lower, upper = right.copy(), right.copy()
    used = values != 0.0
    number, block, i, j, values = number[used], block[used], i[used], j[used], values[used]
    if np.any(i != j):
        raise DataError(f"{lines.name}: a diagonal block has an entry off its diagonal")
    if np.any(number == 0):
        raise DataError(
            f"{lines.name}: a diagonal block takes part in the objective: only slack variables are supported"
        )
    _, uses = np.unique(np.stack([block, i]), axis=1, return_counts=True)
    if np.any(uses > 1):
        raise DataError(
            f"{lines.name}: a variable of a diagonal block stands in {uses.max()} constraints: only slack variables, "
            "which stand in one, are supported"
        )
    lower[number[values > 0.0] - 1] = -np.inf
    upper[number[values < 0.0] - 1] = np.inf
    return lower, upper


def _matrices(count: int, n: int, number, i, j, values) -> list[sp.coo_array]:
    """F_0, ..., F_m in the matrix block, with both triangles."""
    off = i != j
    order = np.argsort(np.concatenate([number, number[off]]), kind="stable")
    rows, columns = np.concatenate([i, j[off]])[order], np.concatenate([j, i[off]])[order]
    entries, owner = np.concatenate([values, values[off]])[order], np.concatenate([number, number[off]])[order]
    ends = np.searchsorted(owner, np.arange(count + 2))
    return [sp.coo_array((entries[a:b], (rows[a:b], columns[a:b])), shape=(n, n)) for a, b in pairwise(ends)]


def _refuse_repeated(where: np.ndarray, lines: _Lines) -> None:
    order = np.lexsort(where)
    same = (where[:, order[1:]] == where[:, order[:-1]]).all(axis=0)
    if same.any():
        raise lines.fault("the entry is given twice", int(order[1:][same][0]))


class _Lines:
    """The lines of a file in turn, with messages that name the line."""

    def __init__(self, lines: list[str], name: str):
        self.name = name
        numbered = enumerate(lines, start=1)
        self._lines = [(number, line) for number, line in numbered if line.strip() and line.lstrip()[0] not in '"*']
        self._read = 0

    def integers(self, what: str, count: int) -> list[int]:
        """The first `count` cells of the next line; what follows them is a comment."""
        cells = self._next(what)[:count]
        if len(cells) < count or not all(_is_integer(cell) for cell in cells):
            raise self.fault(f"expected {what}, got '{visible(' '.join(cells)[:60])}'")
        return [int(cell) for cell in cells]

    def numbers(self, what: str, count: int) -> np.ndarray:
        """`count` finite numbers, from as many lines as they take."""
        found: list[str] = []
        while len(found) < count:
            found += self._next(f"{what} ({count} numbers, of which {len(found)} are there)")
        try:
            values = np.array([float(cell) for cell in found[:count]])
        except ValueError as error:
            raise self.fault(f"expected {what}: {reason(error)}") from None
        if not np.isfinite(values).all():
            raise self.fault(f"{what} are not all finite")
        return values

    def table(self) -> np.ndarray:
        """The remaining lines: matrix, block, row, column, value."""
        rest = self._lines[self._read :]
        if not rest:
            raise DataError(f"{self.name}: has no entries")
        try:
            table = np.loadtxt([_cells(line) for _, line in rest], ndmin=2, comments=None)
        except ValueError as error:
            raise DataError(f"{self.name}: not a readable table of entries: {reason(error)}") from None
        if table.shape != (len(rest), 5):
            raise DataError(
                f"{self.name}: entries have 5 numbers (matrix, block, row, column, value), not {table.shape[1]}"
            )
        return table

    def fault(self, message: str, entry: int | None = None) -> DataError:
        """About the line read last, or about an entry of the table."""
        number = self._lines[self._read + (-1 if entry is None else entry)][0]
        return DataError(f"{self.name}: line {number}: {message}")

    def _next(self, what: str) -> list[str]:
        if self._read == len(self._lines):
            raise DataError(f"{self.name}: is truncated: it ends before {what}")
        self._read += 1
        return _cells(self._lines[self._read - 1][1]).split()

    @property
    def left(self) -> int:
        """How many lines have not been read."""
        return len(self._lines) - self._read


def _cells(line: str) -> str:
    """The line without the punctuation that the format allows between numbers."""
    return line.translate(str.maketrans(",(){}", "     "))


def _is_integer(cell: str) -> bool:
    digits = cell.lstrip("+-")
    return digits.isascii() and digits.isdigit() and len(digits) <= 9 and len(cell) - len(digits) <= 1
