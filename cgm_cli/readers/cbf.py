"""Conic programs in the Conic Benchmark Format (.cbf), with linear and semidefinite cones, as in CBLIB.

The file states, with numbers x_j and positive semidefinite matrices X_j,

    minimise (or maximise)  sum_j <F_j, X_j> + sum_j a_j x_j + b
    subject to              sum_j <F_ij, X_j> + sum_j a_ij x_j + b_i  >= 0, <= 0, = 0 or free

and the sign of every x_j. Of a symmetric matrix it has one triangle. What becomes of it is a `BlockProgram`, whose
numbers are all >= 0: a free x_j is the difference of two, one <= 0 the negative of one, an inequality gets a slack, and
b, where it is not 0, is the cost of a number that has to be 1.

https://cblib.zib.de/format.pdf
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.readers.block_program import BlockProgram
from cgm_cli.readers.head import Head
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_lines
from cgm_cli.text import counted, visible

_SIGNS = {"L+": (1,), "L-": (-1,), "F": (1, -1), "L=": ()}
"""Of the numbers >= 0 that a variable in each cone is made of, the sign; in L=, it is 0."""

_SLACKS = {"L+": -1.0, "L-": 1.0, "L=": 0.0, "F": None}
"""What a slack adds to a constraint in each cone to make an equation of it; there is none of a free one."""

_CONES = {
    "Q": "second-order",
    "QR": "rotated second-order",
    "EXP": "exponential",
    "EXP*": "dual exponential",
}
_REFUSED = {
    "INT": "asks for whole numbers",
    "PSDCON": "has matrix inequalities (PSDCON), which are not read",
    "POWCONES": "has power cones",
    "POW*CONES": "has dual power cones",
    "CHANGE": "holds several programs (CHANGE)",
}
_MOST = 3


def looks_like(head: Head) -> bool:
    """`VER`, behind comments alone."""
    return next((line.strip() for line in head.lines if not line.lstrip().startswith("#")), "") == "VER"


@dataclass
class _Parts:
    """What the sections of a file say. sense: of the objective; "" until it is said. entries: of each section that has
    places, the value at each.
    """

    sense: str = ""
    sizes: list[int] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    constant: float = 0.0
    entries: dict[str, dict[tuple[int, ...], float]] = field(default_factory=dict)

    def of(self, objective: str, constraints: str) -> Iterator[tuple[tuple[int, ...], float]]:
        """The entries of both sections, with the constraint first in their places: -1 stands for the objective."""
        yield from (((-1, *places), value) for places, value in self.entries.get(objective, {}).items())
        yield from self.entries.get(constraints, {}).items()


def read_cbf(path: Path, name: str | None = None) -> BlockProgram:
    """The program in a file. DataError with the line for what is damaged, and with its name for what is not read:
    other cones, whole numbers, matrix inequalities.
    """
    name = name or str(path)
    lines = _Lines(read_lines(path, name), name)
    parts = _Parts()
    check_fits(name, 400 * lines.left)
    while section := lines.section():
        _read_section(section, lines, parts)
    if not parts.sense:
        raise DataError(f"{name}: has no section OBJSENSE")
    return _program(parts, name)


def _read_section(section: str, lines: _Lines, parts: _Parts) -> None:
    if section in _REFUSED:
        raise lines.fault(f"the program {_REFUSED[section]}")
    if section == "VER":
        version = lines.integers(1)[0]
        if not 1 <= version <= _MOST:
            raise lines.fault(f"version {version} of the format; 1 to {_MOST} are known")
    elif section == "OBJSENSE":
        parts.sense = lines.words(1)[0]
        if parts.sense not in ("MIN", "MAX"):
            raise lines.fault(f"expected MIN or MAX, got '{visible(parts.sense[:40])}'")
    elif section == "PSDVAR":
        for _ in range(lines.count()):
            size = lines.integers(1)[0]
            if size < 1:
                raise lines.fault("a matrix of size 0")
            parts.sizes.append(size)
    elif section == "VAR":
        parts.variables += _cones(lines)
    elif section == "CON":
        parts.constraints += _cones(lines)
    elif section == "OBJBCOORD":
        parts.constant = lines.number(lines.words(1)[0])
    elif section in _PLACES:
        limits = _PLACES[section]
        found = parts.entries.setdefault(section, {})
        for _ in range(lines.count()):
            cells = lines.words(len(limits) + 1)
            place = _place(cells[:-1], limits, lines, parts)
            if place in found:
                raise lines.fault("the entry is given twice")
            found[place] = lines.number(cells[-1])
    else:
        raise lines.fault(f"a section `{visible(section[:40])}`, which is not known")


_PLACES = {
    "OBJFCOORD": ("matrix", "size", "size"),
    "OBJACOORD": ("variable",),
    "FCOORD": ("constraint", "matrix", "size", "size"),
    "ACOORD": ("constraint", "variable"),
    "BCOORD": ("constraint",),
}
"""What the places in a line of each section count, all from 0."""


def _place(cells: list[str], counted: tuple[str, ...], lines: _Lines, parts: _Parts) -> tuple[int, ...]:
    most = {"matrix": len(parts.sizes), "variable": len(parts.variables), "constraint": len(parts.constraints)}
    found = list[int]()
    for cell, what in zip(cells, counted, strict=True):
        place = lines.integer(cell)
        if what == "matrix":
            most["size"] = parts.sizes[place] if 0 <= place < len(parts.sizes) else 0
        if not 0 <= place < most[what]:
            raise lines.fault(f"no {'row or column' if what == 'size' else what} {place}: there are {most[what]}")
        found.append(place)
    if "size" in counted:  # either triangle
        found[-2:] = sorted(found[-2:])
    return tuple(found)


def _cones(lines: _Lines) -> list[str]:
    """The cone of every variable, or constraint, of a section."""
    count, groups = lines.integers(2)
    found = list[str]()
    for _ in range(groups):
        cone, size = lines.words(2)
        if cone not in _SIGNS:
            kind = _CONES.get(cone)
            raise lines.fault(
                f"the cone {visible(cone[:40])}{f' ({kind})' if kind else ''} is not read: only L+, L-, L= and F are"
            )
        size = lines.integer(size)
        if not 0 <= size <= count - len(found):
            raise lines.fault(f"the cones hold more than the {count} of the section")
        check_fits(lines.name, 100 * (len(found) + size))
        found += [cone] * size
    if len(found) != count:
        raise lines.fault(f"the cones hold {len(found)}, and the section has {count}")
    return found


def _program(parts: _Parts, name: str) -> BlockProgram:
    """The rows of the objective and of the constraints, and the numbers >= 0 behind the matrices."""
    sizes = [size if size > 1 else -1 for size in parts.sizes]
    starts = np.concatenate([[0], np.cumsum([size * size for size in parts.sizes])]).astype(np.int64)
    kept = [row for row, cone in enumerate(parts.constraints) if _SLACKS[cone] is not None]
    row_of = {-1: 0, **{row: place for place, row in enumerate(kept, start=1)}}
    table = list[tuple[int, int, float]]()
    for (row, matrix, i, j), value in parts.of("OBJFCOORD", "FCOORD"):
        if row in row_of:
            n, start = parts.sizes[matrix], int(starts[matrix])
            table += [(row_of[row], start + a * n + b, value) for a, b in {(i, j), (j, i)}]
    numbers = int(starts[-1])
    made = list[list[tuple[int, int]]]()
    for cone in parts.variables:
        made.append([(numbers + place, sign) for place, sign in enumerate(_SIGNS[cone])])
        numbers += len(_SIGNS[cone])
    for (row, variable), value in parts.of("OBJACOORD", "ACOORD"):
        if row in row_of:
            table += [(row_of[row], column, sign * value) for column, sign in made[variable]]
    right = np.zeros(len(kept))
    for (row,), value in parts.entries.get("BCOORD", {}).items():
        if row in row_of:
            right[row_of[row] - 1] = -value
    for row in kept:
        slack = _SLACKS[parts.constraints[row]]
        if slack:
            table.append((row_of[row], numbers, slack))
            numbers += 1
    if parts.constant:
        table += [(0, numbers, parts.constant), (len(kept) + 1, numbers, 1.0)]
        right = np.append(right, 1.0)
        numbers += 1
    if numbers == 0:
        raise DataError(f"{name}: a program without variables")
    if numbers > starts[-1]:
        sizes.append(int(starts[-1]) - numbers)
    check_fits(name, 16 * numbers + 40 * len(table))
    rows, columns, values = (np.array(part) for part in zip(*table, strict=True)) if table else ([], [], [])
    matrices = sp.coo_array((values, (rows, columns)), shape=(right.size + 1, numbers)).tocsr()
    if not (np.isfinite(matrices.data).all() and np.isfinite(right).all()):
        raise DataError(f"{name}: the sum of the entries at one place overflows")
    matrices.eliminate_zeros()
    numbers = np.array([*kept, len(parts.constraints)])[: right.size]  # the last is that of the constant
    return BlockProgram(tuple(sizes), sp.csr_array(matrices), right, parts.sense == "MAX", numbers)


class _Lines:
    """The lines of a file in turn, without comments, with messages that name the line."""

    def __init__(self, lines: list[str], name: str):
        self.name = name
        stripped = ((number, line.partition("#")[0].split()) for number, line in enumerate(lines, start=1))
        self._lines = [(number, cells) for number, cells in stripped if cells]
        self._read = 0

    @property
    def left(self) -> int:
        return len(self._lines) - self._read

    def section(self) -> str:
        """The name of the next section; "" at the end."""
        return self.words(1)[0] if self.left else ""

    def words(self, count: int) -> list[str]:
        if not self.left:
            raise DataError(f"{self.name}: is truncated: it ends in the middle of a section")
        cells = self._lines[self._read][1]
        self._read += 1
        if len(cells) != count:
            raise self.fault(f"expected {counted(count, 'cell')}, got '{visible(' '.join(cells)[:60])}'")
        return cells

    def integers(self, count: int) -> list[int]:
        return [self.integer(cell) for cell in self.words(count)]

    def count(self) -> int:
        """How many lines a section has, which is refused if the file has fewer."""
        count = self.integers(1)[0]
        if not 0 <= count <= self.left:
            raise self.fault(f"the section promises {counted(count, 'line')}, the file has {self.left} more")
        return count

    def integer(self, cell: str) -> int:
        if not (cell.isascii() and cell.isdigit() and len(cell) <= 15):
            raise self.fault(f"'{visible(cell[:40])}' is not a count or a place")
        return int(cell)

    def number(self, cell: str) -> float:
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.fault(f"'{visible(cell[:40])}' is not a finite number")
        return value

    def fault(self, message: str) -> DataError:
        """About the line read last."""
        return DataError(f"{self.name}: line {self._lines[self._read - 1][0]}: {message}")
