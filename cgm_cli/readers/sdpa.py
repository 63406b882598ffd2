"""Semidefinite programs in the SDPA formats, sparse (.dat-s) and dense (.dat), as in SDPLIB.

The file states, with symmetric F_0, ..., F_m of common block structure (the format's dual form),

    maximise <F_0, Y>   subject to   <F_i, Y> = c_i,  Y positive semidefinite, block by block.

A diagonal block (a size below zero, or of one) is a vector of numbers >= 0.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.readers.block_program import BlockProgram
from cgm_cli.readers.cells import is_number
from cgm_cli.readers.checks import reason
from cgm_cli.readers.head import Head
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_lines
from cgm_cli.text import counted, visible


def looks_like(head: Head) -> bool:
    """Two counts, in lines of their own, and behind the sizes and the right-hand sides entries of five numbers, or in a
    .dat file as many numbers as there have to be; of one that is damaged, the name alone tells.
    """
    rows = [_cells(line).split() for line in head.lines if line.lstrip()[0] not in _COMMENTS]
    if len(rows) < 4 or not all(row and _is_integer(row[0]) and not any(map(_is_integer, row[1:])) for row in rows[:2]):
        return False
    return any(len(row) == 5 and all(map(_is_integer, row[:4])) for row in rows[3:]) or _is_dense(head)


def resembles(head: Head) -> bool:
    """Whether it is called as one, and the second line is a number alone, as that of the blocks is."""
    return head.suffix in (".dat-s", ".dat") and [len(row) for row in head.cells[:2]] == [1, 1]


def _is_dense(head: Head) -> bool:
    """Whether a .dat file of nothing but numbers has as many as its counts and sizes say."""
    cells = _cells(head.text).split()
    if head.suffix != ".dat" or not head.whole or not all(map(is_number, cells)):
        return False
    count, blocks = int(cells[0]), int(cells[1])
    sizes = cells[2 : 2 + blocks]
    if count < 0 or blocks < 1 or not all(map(_is_integer, sizes)):
        return False
    entries = sum(int(size) ** 2 if int(size) > 0 else -int(size) for size in sizes)
    return len(cells) == 2 + blocks + count + (count + 1) * entries


def read_sdpa(path: Path, name: str | None = None) -> BlockProgram:
    """The program in a file, which is a sparse one unless its name ends with .dat (or .dat.gz). DataError, with the
    line where there is one, for what is damaged.
    """
    name = name or str(path)
    lines = _Lines(read_lines(path, name), name)
    count = lines.integers("the number of constraints", 1)[0]
    if count < 0:
        raise lines.fault("a negative number of constraints")
    blocks = lines.integers("the number of blocks", 1)[0]
    if blocks < 1:
        raise lines.fault("a program without blocks")
    sizes = np.array(lines.integers("the sizes of the blocks", blocks), dtype=np.int64)
    if np.any(sizes == 0):
        raise lines.fault("a block of size 0")
    sizes[sizes == 1] = -1
    entries = int(np.where(sizes > 0, sizes * sizes, -sizes).sum())
    right = lines.numbers("the right-hand sides", count, alone=True)
    check_fits(name, 16 * entries + 200 * lines.left + 400 * count)
    dense = path.suffixes[-1:] == [".dat"] or path.suffixes[-2:] == [".dat", ".gz"]
    table = _dense(lines, sizes, count) if dense else _sparse(lines, sizes, count)
    return BlockProgram(tuple(sizes.tolist()), _matrices(sizes, count, *table), right)


Table = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Of each entry the number of its matrix, its block, row and column from 0, and its value; the upper triangle alone."""


def _sparse(lines: _Lines, sizes: np.ndarray, count: int) -> Table:
    table = lines.table(may_be_empty=count == 0)
    where, blocks = table[:, :4], sizes.size
    with np.errstate(invalid="ignore"):  # of what is infinite the remainder is nan, and no whole number either
        wrong = (where % 1 != 0).any(axis=1) | (where[:, 0] < 0) | (where[:, 0] > count)
    wrong |= (where[:, 1] < 1) | (where[:, 1] > blocks)
    reach = sizes[np.clip(np.nan_to_num(where[:, 1], nan=1.0), 1, blocks).astype(np.int64) - 1]
    wrong |= (where[:, 2:] < 1).any(axis=1) | (where[:, 2:] > np.abs(reach)[:, None]).any(axis=1)
    if wrong.any():
        raise lines.fault("no such matrix, block or place", int(np.argmax(wrong)))
    infinite = ~np.isfinite(table[:, 4])
    if infinite.any():
        raise lines.fault("the entry is not finite", int(np.argmax(infinite)))
    beside = (reach < 0) & (where[:, 2] != where[:, 3])
    if beside.any():
        raise lines.fault("a diagonal block has an entry off its diagonal", int(np.argmax(beside)))
    number, block, first, second = where.astype(np.int64).T
    kept = _without_mirrored(np.stack([number, block, first, second]), table[:, 4], lines)
    i, j = np.minimum(first, second) - 1, np.maximum(first, second) - 1
    return number[kept], block[kept] - 1, i[kept], j[kept], table[kept, 4]


def _without_mirrored(where: np.ndarray, values: np.ndarray, lines: _Lines) -> np.ndarray:
    """The places in the table of those entries that are not given before, on the other side of the diagonal."""
    number, block, first, second = where
    place = np.stack([number, block, np.minimum(first, second), np.maximum(first, second)])
    order = np.lexsort(place)
    same = (place[:, order[1:]] == place[:, order[:-1]]).all(axis=0)
    twice, before = order[1:][same], order[:-1][same]  # lexsort is stable: the former comes first
    wrong = (where[:, twice] == where[:, before]).all(axis=0)
    if wrong.any():
        raise lines.fault("the entry is given twice", int(twice[wrong].min()))
    other = values[twice] != values[before]
    if other.any():
        raise lines.fault("the entry differs from that on the other side of the diagonal", int(twice[other].min()))
    kept = np.ones(values.size, dtype=bool)
    kept[twice] = False
    return np.flatnonzero(kept)


def _dense(lines: _Lines, sizes: np.ndarray, count: int) -> Table:
    """Matrix by matrix, block by block, row by row; of a diagonal block, its diagonal."""
    parts: list[tuple[np.ndarray, ...]] = []
    for number in range(count + 1):
        for block, size in enumerate(sizes.tolist()):
            what = f"block {block + 1} of matrix {number}"
            values = lines.numbers(what, size * size if size > 0 else -size, whole=False)
            if size > 0:
                matrix = values.reshape(size, size)
                if not np.array_equal(matrix, matrix.T):
                    raise lines.fault(f"{what} is not symmetric")
                i, j = np.nonzero(np.triu(matrix))
                values = matrix[i, j]
            else:
                i = j = np.flatnonzero(values)
                values = values[i]
            parts.append((np.full(i.size, number), np.full(i.size, block), i, j, values))
    number, block, i, j, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return number, block, i, j, values


def _matrices(sizes: np.ndarray, count: int, number, block, i, j, values) -> sp.csr_array:
    """F_0, ..., F_m with both triangles, one in a row."""
    width = np.where(sizes > 0, sizes, 1)  # of a row of the block; entries of a vector come one after the other
    starts = np.concatenate([[0], np.cumsum(np.abs(sizes) * width)])
    stride = np.where(sizes > 0, sizes, 0)
    off = i != j
    at = starts[block] + i * stride[block] + j
    mirrored = starts[block] + j * stride[block] + i
    places, owners = np.concatenate([at, mirrored[off]]), np.concatenate([number, number[off]])
    entries = np.concatenate([values, values[off]])
    found = sp.coo_array((entries, (owners, places)), shape=(count + 1, int(starts[-1]))).tocsr()
    found.eliminate_zeros()
    return found


class _Lines:
    """The lines of a file in turn, with messages that name the line."""

    def __init__(self, lines: list[str], name: str):
        self.name = name
        numbered = enumerate(lines, start=1)
        self._lines = [
            (number, line) for number, line in numbered if line.strip() and line.lstrip()[0] not in _COMMENTS
        ]
        self._read = 0
        self._rest: list[str] = []

    def integers(self, what: str, count: int) -> list[int]:
        """`count` whole numbers, from as many lines as they take; what follows them in the last is a comment."""
        found: list[str] = []
        while len(found) < count:
            cells = self._next(what)[: count - len(found)]
            if not all(_is_integer(cell) for cell in cells):
                raise self.fault(f"expected {what}, got '{visible(' '.join(cells)[:60])}'")
            found += cells
        return [int(cell) for cell in found]

    def numbers(self, what: str, count: int, whole: bool = True, alone: bool = False) -> np.ndarray:
        """`count` finite numbers, from as many lines as they take. whole: what follows them in a line is dropped.
        alone: unless it is one number more.
        """
        found = self._rest
        while len(found) < count:
            found = found + self._next(f"{what} ({counted(count, 'number')}, of which {len(found)} are there)")
        if alone and found[count:] and is_number(found[count].translate(_FORTRAN)):
            raise self.fault(f"more numbers than {what}, of which there are {count}")
        found, self._rest = found[:count], [] if whole else found[count:]
        try:
            values = np.array([float(cell.translate(_FORTRAN)) for cell in found])
        except ValueError as error:
            raise self.fault(f"expected {what}: {reason(error)}") from None
        if not np.isfinite(values).all():
            raise self.fault(f"{what} are not all finite")
        return values

    def table(self, may_be_empty: bool = False) -> np.ndarray:
        """The remaining lines: matrix, block, row, column, value."""
        rest = self._lines[self._read :]
        if not rest:
            if may_be_empty:
                return np.empty((0, 5))
            raise DataError(f"{self.name}: has no entries")
        try:
            table = np.loadtxt([_cells(line).translate(_FORTRAN) for _, line in rest], ndmin=2, comments=None)
        except ValueError as error:
            raise self._damaged(rest) or DataError(
                f"{self.name}: not a readable table of entries: {reason(error)}"
            ) from None
        if table.shape != (len(rest), 5):
            raise self._damaged(rest) or DataError(f"{self.name}: {ENTRY}, not {table.shape[1]}")
        return table

    def _damaged(self, rest: list[tuple[int, str]]) -> DataError | None:
        """About the first line that is no entry; None where each is one."""
        for number, line in rest:
            cells = _cells(line).translate(_FORTRAN).split()
            if len(cells) != 5:
                return DataError(f"{self.name}: line {number}: {ENTRY}, not {len(cells)}")
            wrong = next((cell for cell in cells if not is_number(cell)), None)
            if wrong is not None:
                return DataError(f"{self.name}: line {number}: '{visible(wrong[:40])}' is not a number")
        return None

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


_COMMENTS = '"*'
_PUNCTUATION = str.maketrans(",(){}", "     ")
ENTRY = "entries have 5 numbers (matrix, block, row, column, value)"
_FORTRAN = str.maketrans("Dd", "Ee")


def _cells(line: str) -> str:
    """The line without the punctuation that the format allows between numbers."""
    return line.translate(_PUNCTUATION)


def _is_integer(cell: str) -> bool:
    digits = cell.lstrip("+-")
    return digits.isascii() and digits.isdigit() and len(digits) <= 9 and len(cell) - len(digits) <= 1
