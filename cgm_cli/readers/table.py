"""Tables with headings (.csv, .tsv, .txt; Parquet, Feather, Excel): the columns that a spec asks for, by heading, by
number or by range.

Cells are separated by `;`, `,`, tabs, `|`, `::` or blanks, and may stand in quotes; `#` at the beginning of a line
makes a comment of it. The first line is one of headings if a column that is asked for is called so there, or if it has
no number.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.checks import reason
from cgm_cli.readers.frames import FRAMES, frame_rows, refuse_sheet
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import left_out, number_in, read_lines, unclosed
from cgm_cli.spec.fields import ColumnName, TableOptions
from cgm_cli.text import counted, did_you_mean, quoted, visible

SUFFIXES = (".csv", ".tsv", ".txt", *FRAMES)
MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")
_COLONS = "::"  # of MovieLens; csv.reader knows separators of one character only, and such tables have no quotes
_CELL_BYTES = 80

Row = tuple[int, list[str]]
"""The number of a line, from 1, and its cells."""


@dataclass(frozen=True)
class Table:
    """rows: line in the file and cells, of which each has as many. headings: one a column, or None. decimal: what
    stands before the fraction of a number. remarks: what was recognised, in sentences. heading_line: of the file.
    named_by: the column that names the rows, or None.
    """

    name: str
    headings: list[str] | None
    rows: list[Row]
    decimal: str
    remarks: tuple[str, ...] = ()
    heading_line: int = 1
    named_by: int | None = None

    @property
    def width(self) -> int:
        return len(self.rows[0][1])

    def place(self, column: ColumnName) -> int:
        """Where a column is, from 0. DataError if there is none of that heading or number."""
        if isinstance(column, int):
            if not 1 <= column <= self.width:
                raise DataError(f"{self.name}: no column {column}: they are numbered 1 to {self.width}")
            return column - 1
        known = self.headings or []
        if known.count(column) > 1:
            numbers = " or ".join(str(place + 1) for place, each in enumerate(known) if each == column)
            raise DataError(
                f"{self.name}: line {self.heading_line}: {known.count(column)} columns are called `{quoted(column)}`: "
                f"say its number, {numbers}"
            )
        if column not in known:
            listed = ", ".join(f"`{quoted(each)}`" for each in known[:20]) or "none, its columns have numbers"
            hint = did_you_mean(column, known)
            raise DataError(
                f"{self.name}: no column `{quoted(column)}`{f'; {hint}' if hint else ''} (headings: {listed})"
            )
        return known.index(column)

    def places(self, options: TableOptions, besides: tuple[int, ...] = ()) -> list[int]:
        """Of the columns that are asked for; all but those left out, and those `besides`, where none are named."""
        if options.columns is not None:
            wanted = [options.columns] if isinstance(options.columns, str) else options.columns
            return [place for each in wanted for place in self._range(each)]
        left_out = {place for each in options.without or [] for place in self._range(each)} | set(besides)
        if self.named_by is not None:
            left_out.add(self.named_by)
        found = [place for place in range(self.width) if place not in left_out]
        if not found:
            raise DataError(f"{self.name}: no column is left")
        return found

    def known(self, places: list[int], drop: bool) -> tuple[Table, tuple[str, ...]]:
        """The table without the rows that miss a cell in these columns, and a remark on them. DataError with the first
        of these cells unless rows may be dropped, or if no row is left.
        """
        kept = [row for row in self.rows if not any(row[1][place].casefold() in MISSING for place in places)]
        dropped = len(self.rows) - len(kept)
        if not dropped:
            return self, ()
        empty = next((place for place in places if all(row[1][place].casefold() in MISSING for row in self.rows)), None)
        if empty is not None:
            raise DataError(
                f"{self.name}: every row has a missing value: column {empty + 1} has no other; "
                f"`except: [{self._called(empty)}]` leaves it out"
            )
        if not drop:
            line, place = next(
                (line, place) for line, cells in self.rows for place in places if cells[place].casefold() in MISSING
            )
            raise DataError(
                f"{self.at(line, place)}: the value is missing; `missing: drop` leaves such rows out "
                f"({dropped} of {len(self.rows)})"
            )
        if not kept:
            raise DataError(f"{self.name}: every row has a missing value")
        remark = f"{self.name}: dropped for a missing value: {dropped} of {counted(len(self.rows), 'row')}."
        return replace(self, rows=kept, remarks=()), (remark,)

    @property
    def row_names(self) -> list[str] | None:
        """The cells of the column that names the rows; None where there is none. DataError where one is empty."""
        if (place := self.named_by) is None:
            return None
        empty = next((line for line, cells in self.rows if not cells[place]), None)
        if empty is not None:
            raise DataError(f"{self.at(empty, place)}: the row has no name")
        return [visible(cells[place]) for _, cells in self.rows]

    def titles(self, places: list[int]) -> list[str] | None:
        """What columns are called, in one line each; a number where one has no heading, None where none has."""
        if self.headings is None:
            return None
        return [visible(self.headings[place]) or str(place + 1) for place in places]

    def numbers(self, places: list[int]) -> np.ndarray:
        """The entries of these columns (rows, columns), nan where one is missing. DataError with the cell for what is
        no number.
        """
        check_fits(self.name, 8 * len(self.rows) * len(places))
        found = np.empty((len(self.rows), len(places)))
        for row, (line, cells) in enumerate(self.rows):
            for column, place in enumerate(places):
                value = self._number(cells[place])
                if value is None and self.decimal == "," and number_in(cells[place]) is not None:
                    raise DataError(
                        f"{self.at(line, place)}: '{quoted(cells[place])}' has a point, but numbers of this table have "
                        'decimal commas; `decimal: "."` says otherwise'
                    )
                if value is None:
                    hint = f" {left_out(self._called(place))}" if len(places) > 1 else ""
                    raise DataError(f"{self.at(line, place)}: '{quoted(cells[place])}' is not a number{hint}")
                found[row, column] = value
        return found

    def classes(self, place: int) -> np.ndarray | list[str]:
        """A column as numbers, or as words where one of its cells is none."""
        cells = [row[1][place] for row in self.rows]
        if any(self._number(cell) is None for cell in cells):
            return cells
        return self.numbers([place])[:, 0]

    def _number(self, cell: str) -> float | None:
        if cell.casefold() in MISSING:
            return math.nan
        if self.decimal == ",":
            # A point may be one between thousands.
            return None if "." in cell else number_in(cell.replace(",", "."))
        return number_in(cell)

    def _called(self, place: int) -> str | int:
        """How a spec names a column: by its heading, or by its number where it has none of its own."""
        heading = self.headings[place] if self.headings else ""
        return quoted(heading) if heading and self.headings and self.headings.count(heading) == 1 else place + 1

    def _range(self, wanted: ColumnName) -> list[int]:
        if isinstance(wanted, str) and ".." in wanted and wanted not in (self.headings or []):
            first, last = (self.place(each) for each in _ends(wanted, self.width))
            if first > last:
                raise DataError(f"{self.name}: the range `{quoted(wanted)}` runs backwards")
            return list(range(first, last + 1))
        return [self.place(wanted)]

    def at(self, line: int, place: int) -> str:
        """The file, a line of it and a column, as messages name them."""
        heading = f" (`{quoted(self.headings[place])}`)" if self.headings else ""
        named = next((c[self.named_by] for n, c in self.rows if n == line), "") if self.named_by is not None else ""
        row = f" (`{quoted(named)}`)" if named else ""
        return f"{self.name}: line {line}{row}, column {place + 1}{heading}"


def read_named(path: Path, options: TableOptions, asked: tuple[ColumnName, ...], name: str) -> Table:
    """The table in a file. asked: single columns that are wanted of it. DataError for what is none: it is empty, or
    its rows are of different lengths.
    """
    rows, remarks = rows_in(path, options.decimal, name, options.encoding, options.sheet)
    first = rows[0][1]
    several = [options.columns] if isinstance(options.columns, str) else options.columns or options.without or []
    ends = [end for each in several if isinstance(each, str) for end in _ends(each, len(first))]
    named = [] if options.names is None else [options.names]
    found = table_of(name, rows, are_headings(first, (*asked, *several, *ends, *named)), options.decimal)
    named_by = None if options.names is None else found.place(options.names)
    return replace(found, named_by=named_by, remarks=(*remarks, *found.remarks))


def _ends(wanted: str, width: int) -> list[ColumnName]:
    """The columns at the ends of a range, or the one that is no range: numbers are those of columns, unless one of both
    is beyond the last column, as of `2019..2024`: then they are headings.
    """
    ends = [end.strip() for end in wanted.split("..", 1)]
    if len(ends) == 1:
        return [wanted]
    numbers = [int(end) if end.isdecimal() else 0 for end in ends]
    if all(end.isdecimal() for end in ends) and not all(1 <= number <= width for number in numbers):
        return list(ends)
    return [number if end.isdecimal() else end for end, number in zip(ends, numbers, strict=True)]


def rows_in(
    path: Path, decimal: str | None, name: str, encoding: str | None = None, sheet: str | int | None = None
) -> tuple[list[Row], tuple[str, ...]]:
    """All rows of a file, as `checked_rows`, and remarks on what was read."""
    if path.suffix.lower() in FRAMES:
        rows, remarks = frame_rows(path, name, sheet)
        return checked_rows(rows, name), remarks
    refuse_sheet(path, name, sheet)
    return checked_rows(rows_of(read_lines(path, name, encoding), decimal, name), name), ()


def misses_cells(path: Path, name: str) -> bool:
    """Whether a value is missing in a table that is a text."""
    rows = rows_of(read_lines(path, name), None, name)
    return any(cell.casefold() in MISSING for _, cells in rows for cell in cells)


def checked_rows(found: Iterable[Row], name: str) -> list[Row]:
    """All rows, that of headings included. DataError for a table that is empty, or has rows of different lengths."""
    rows = list(found)
    if not rows:
        raise DataError(f"{name}: the file is empty")
    for row in rows:
        check_width(row, rows[0], name)
    check_fits(name, _CELL_BYTES * len(rows) * len(rows[0][1]))
    return rows


def table_of(name: str, rows: list[Row], headed: bool, decimal: str | None) -> Table:
    """The table of these rows, the first of which has headings or not. DataError if there is no other."""
    headings, heading_line = (rows[0][1] if headed else None), rows[0][0]
    rows = rows[headed:]
    if not rows:
        raise DataError(f"{name}: has headings, and no rows")
    if decimal is None:
        commas = [cell for _, cells in rows for cell in cells if _COMMA.fullmatch(cell) or _THOUSANDS.fullmatch(cell)]
        if commas and all(map(_THOUSANDS.fullmatch, commas)):
            raise DataError(
                f"{name}: '{commas[0]}' may be {commas[0].replace(',', '')} or {commas[0].replace(',', '.', 1)}: "
                '`decimal: ","` says the latter; commas between thousands are to be left out of the file'
            )
        if commas:
            return Table(name, headings, rows, ",", (commas_told(name, commas[0]),), heading_line)
    return Table(name, headings, rows, decimal or ".", heading_line=heading_line)


def are_headings(first: list[str], asked: Collection[ColumnName]) -> bool:
    """Whether the cells of a first line are headings: one is a column that is asked for, or none is a number, and
    some are not missing.
    """
    if any(each in first for each in asked):
        return True
    words = [cell for cell in first if cell.casefold() not in MISSING]
    return bool(words) and all(number_in(cell.replace(",", ".")) is None for cell in words)


def check_width(row: Row, first: Row, name: str) -> None:
    """DataError unless a row has as many cells as the first one."""
    if len(row[1]) != len(first[1]):
        cells = counted(len(row[1]), "cell")
        ends = len(row[1]) > len(first[1]) and not row[1][-1]
        hint = " (it ends with a separator: leave that out of the file)" if ends else ""
        raise DataError(f"{name}: line {row[0]} has {cells}, but line {first[0]} has {len(first[1])}{hint}")


def commas_told(name: str, sample: str) -> str:
    """The remark on decimal commas, with one of the cells that has one."""
    return f"{name}: read with decimal commas: {sample} as {sample.replace(',', '.')}."


def rows_of(lines: list[str], decimal: str | None, name: str) -> Iterator[Row]:
    """Line and cells of whatever is neither blank nor a comment; DataError at a line whose quotes do not match."""
    content = ((number, line) for number, line in enumerate(lines, start=1) if line.strip() and line.lstrip()[0] != "#")
    mark: str | None = None
    for count, (number, line) in enumerate(content):
        if count == 0:
            mark = separator(line, decimal)
        if '"' not in line or mark == _COLONS:  # the former because csv.reader takes much longer
            yield number, [cell.strip() for cell in line.split(mark)]
        elif mark is None:
            yield number, [cell.strip('"') for cell in re.findall(r'"[^"]*"|\S+', line)]
        else:
            try:
                cells = next(csv.reader([line], delimiter=mark, strict=True, skipinitialspace=True))
            except csv.Error as error:
                raise DataError(f"{name}: line {number}: {unclosed(line) or reason(error)}") from None
            yield number, [cell.strip() for cell in cells]


def separator(first: str, decimal: str | None) -> str | None:
    """What stands between the cells of a first line; None for blanks."""
    bare = re.sub(r'"[^"]*"', '""', first)
    marks = (";", "\t", "|") if decimal == "," and '"' not in first else (";", ",", "\t", "|")
    return next((mark for mark in (*marks, _COLONS) if mark in bare), None)
