"""Ratings as people have them: a table with a line for each, of a user, an item and a value, with ids of any kind.

Ids are texts, and become positions in the order in which they first appear. Of a pair that is rated more than once the
last rating counts, as in the list of somebody who has changed their mind.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from pydantic import Field

from cgm_cli.errors import DataError
from cgm_cli.readers.entries import Entries
from cgm_cli.readers.frames import FRAMES, frame_rows, refuse_sheet
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.table import Row, Table, are_headings, check_width, commas_told, rows_of
from cgm_cli.readers.text import number_in, read_lines
from cgm_cli.spec.fields import ColumnName, EncodingField, SheetField, StrictModel
from cgm_cli.text import counted, quoted

_RATING_BYTES = 150
"""Of the arrays, and of ids no two of which are equal."""


class RatingsFile(StrictModel):
    """A table in a file, with a line for each rating; its other columns do not matter."""

    file: str = Field(min_length=1, description="path of the file")
    user: ColumnName = Field(1, description="heading or number of the column of users: the rows of the matrix")
    item: ColumnName = Field(2, description="of the items: its columns")
    value: ColumnName = Field(3, description="of the ratings: its known entries. Of a pair given twice, the last")
    encoding: EncodingField = None
    sheet: SheetField = None


def read_ratings(path: Path, wanted: RatingsFile, name: str) -> tuple[Entries, list[str]]:
    """The ratings in a file, and sentences on what was recognised. DataError with line and column for whatever is none:
    a user or an item without a name, a rating that is no finite number.
    """
    again, remarks = _rows(path, wanted, name)
    rows = again()
    first = next(rows, None)
    if first is None:
        raise DataError(f"{name}: is empty")
    asked = (wanted.user, wanted.item, wanted.value)
    headings = first[1] if are_headings(first[1], asked) else None
    table = Table(name, headings, [first], ".")
    places = [table.place(each) for each in asked]
    if len(set(places)) < len(places):
        raise DataError(f"{name}: user, item and value are three columns, but of these two are the same")
    user_at, item_at, value_at = places
    users, items, comma = dict[str, int](), dict[str, int](), ""
    pairs, values = (array("q"), array("q")), array("d")
    for row in rows if headings is not None else again():
        check_width(row, first, name)
        line, cells = row
        user, item, cell = cells[user_at], cells[item_at], cells[value_at]
        value = number_in(cell.replace(",", "."))
        if not user or not item or value is None or not math.isfinite(value):
            raise DataError(_fault(table, line, cells, places))
        pairs[0].append(users.setdefault(user, len(users)))
        pairs[1].append(items.setdefault(item, len(items)))
        values.append(value)
        comma = comma or (cell if "," in cell else "")
    if not values:
        raise DataError(f"{name}: has headings, and no rows")
    remarks += [commas_told(name, comma)] if comma else []
    indices = np.frombuffer(pairs[0], np.int64) * len(items) + np.frombuffer(pairs[1], np.int64)
    order = np.argsort(indices, kind="stable")
    ordered = indices[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    if not last.all():
        count = np.count_nonzero(~last)
        remarks.append(
            f"{name}: {count} of {counted(len(values), 'rating')} of a pair rated again below, which counts."
        )
    found = np.frombuffer(values)[order[last]]
    return Entries((len(users), len(items)), ordered[last], found, (list(users), list(items))), remarks


def _rows(path: Path, wanted: RatingsFile, name: str) -> tuple[Callable[[], Iterator[Row]], list[str]]:
    """What goes through the rows of a file, as often as it is called, and remarks on what was read."""
    if path.suffix.lower() in FRAMES:
        found, remarks = frame_rows(path, name, wanted.sheet)
        check_fits(name, _RATING_BYTES * len(found))
        return lambda: iter(found), list(remarks)
    refuse_sheet(path, name, wanted.sheet)
    lines = read_lines(path, name, wanted.encoding)
    check_fits(name, _RATING_BYTES * len(lines))
    return lambda: rows_of(lines, None, name), []


def _fault(table: Table, line: int, cells: list[str], places: list[int]) -> str:
    """What is wrong with a rating."""
    for what, place in zip(("user", "item", "rating"), places, strict=True):
        if not cells[place]:
            return f"{table.at(line, place)}: the {what} is missing"
    shown = quoted(cells[places[-1]])
    return f"{table.at(line, places[-1])}: the rating '{shown}' is not a finite number"
