"""What one's own data may be made into: `cgm init TEMPLATE --from FILE`.

Tables, ratings, pictures and matrices do not say what problem they are; but of a template and a file, what the spec has
to name can be seen. A newcomer is one entry of USES.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers import edge_list, svmlight
from cgm_cli.readers.arrays import IMAGES
from cgm_cli.readers.assignment import read_assignment
from cgm_cli.readers.frames import FRAMES
from cgm_cli.readers.graphs import read_graph
from cgm_cli.readers.head import Head
from cgm_cli.readers.images import read_picture
from cgm_cli.readers.matpower import read_case
from cgm_cli.readers.programs import read_program
from cgm_cli.readers.ratings import RatingsFile, read_ratings
from cgm_cli.readers.table import MISSING, Table, are_headings, checked_rows, read_named, rows_in, rows_of, table_of
from cgm_cli.spec.fields import TableOptions
from cgm_cli.text import counted, visible

Data = Literal["table", "graph", "picture", "ratings", "program", "assignment", "case"]

IN_WORDS: dict[Data, str] = {
    "table": "a table: rows of numbers, perhaps with headings",
    "graph": "a graph: a list of edges, or a file of DIMACS, G-set, GML, ...",
    "picture": "a picture: .png, .jpg, .tif",
    "ratings": "ratings: a line for each, of a user, an item and a number",
    "program": "a semidefinite program: SDPA or CBF",
    "assignment": "a quadratic assignment problem: QAPLIB",
    "case": "a power network: a case of MATPOWER",
}

RATING_COLUMNS = (3, 4)
"""Of a table that is taken for ratings, though its headings do not say so."""

FEWEST = 2
"""Columns of numbers of what is taken for a table where nobody says so."""

_INDEX = {"", "id", "index", "unnamed: 0", "rownames"}
"""What the first column is called, in small letters, where it counts or names the rows: without a heading as pandas and
R write it.
"""

_APART = 0.9
"""Different values among the rows, of a column that has names and no labels: classes have several rows each."""

Given = dict[str, Any]
"""Parameters of a template."""


@dataclass(frozen=True)
class Use:
    """data: what the template takes. purpose: what it does with it. given: of the file, and of how the spec is to name
    it, the parameters, and sentences that stand above the spec.
    """

    data: Data
    purpose: str
    given: Callable[[Path, str], tuple[Given, tuple[str, ...]]]


def uses_of(path: Path, head: Head) -> dict[str, Use]:
    """The templates that take a file which says nothing of its problem, by what it looks like; none where it looks like
    nothing that is taken.
    """
    if head.suffix in IMAGES:
        return uses("picture")
    name = visible(str(path))
    if head.suffix in FRAMES:
        rows, _ = rows_in(path, None, name)
    elif head.binary:
        return {}
    else:
        try:
            rows = checked_rows(rows_of(head.lines, None, name), name)
        except DataError:
            return {}
    try:
        table = table_of(name, rows, are_headings(rows[0][1], ()), None)
    except DataError:
        return {}
    if _are_ratings(table):
        return uses("ratings")
    rows_of_numbers = uses("table") if len(_kinds(table)[1]) >= FEWEST else {}
    return rows_of_numbers | (uses("graph") if edge_list.looks_like(head) else {})


def uses(data: Data) -> dict[str, Use]:
    return {template: use for template, use in USES.items() if use.data == data}


def _named_file(key: str, read: Callable[[Path, str], object]) -> Callable[[Path, str], tuple[Given, tuple[str, ...]]]:
    """The file as it is, once it has been read as what it is to be."""

    def given(path: Path, name: str) -> tuple[Given, tuple[str, ...]]:
        read(path, visible(str(path)))
        return {key: {"file": name}}, ()

    return given


def _points(path: Path, name: str) -> tuple[Given, tuple[str, ...]]:
    """All columns of numbers; one of words has the names of the rows, where nearly each has its own, and another one
    the labels, which are only compared with.
    """
    table = _table(path)
    named, numeric, words = _kinds(table)
    if not numeric:
        raise DataError(f"{visible(str(path))}: no column has numbers")
    points: Given = {"file": name}
    if words or named or table.headings:
        points["columns"] = [_called(table, place) for place in numeric]
    if named:
        points["names"] = _called(table, named[0])
    dropped, told = _without_missing(table, [*numeric, *(words if len(words) == 1 else [])])
    points |= dropped
    if len(words) != 1:
        return {"clusters": 3, "points": points}, ("How many clusters there are is for you to say.", *told)
    labels = {row[1][words[0]] for row in table.rows if row[1][words[0]].casefold() not in MISSING}
    remark = f"Clusters: as many as there are different labels in column `{_called(table, words[0])}`."
    return {
        "clusters": len(labels),
        "points": points,
        "labels": {"file": name, "column": _called(table, words[0])},
    }, (remark, *told)


def _samples(path: Path, name: str) -> tuple[Given, tuple[str, ...]]:
    """The last column of numbers is the target, as in most tables, unless one is called so. Lines of LIBSVM have it."""
    return _with_target(path, name, 0, "features and a target are two columns of numbers, or more")


def _of_two_classes(path: Path, name: str) -> tuple[Given, tuple[str, ...]]:
    """The same of columns, of words or numbers, in which there are two different values."""
    return _with_target(path, name, 2, "features are columns of numbers, and a target one of two different values")


def _with_target(path: Path, name: str, classes: int, needed: str) -> tuple[Given, tuple[str, ...]]:
    """classes: how many different values the target has, which may be words then; 0 of one of numbers, of any."""
    if svmlight.looks_like(Head.of(path)):
        return {"data": {"file": name}, "test_fraction": 0.2}, ()
    table = _table(path)
    named, numeric, words = _kinds(table)
    values = {place: {row[1][place] for row in table.rows} for place in sorted(numeric + words)}
    goals = [
        place for place, found in values.items() if sum(each.casefold() not in MISSING for each in found) == classes
    ]
    goals = [place for place in (goals if classes else numeric) if set(numeric) - {place}]
    if not goals:
        raise DataError(f"{visible(str(path))}: {needed}")
    headings = [heading.casefold() for heading in table.headings or []]
    usual = [headings.index(word) for word in ("target", "y", "label", "class", "outcome") if word in headings]
    target = next((place for place in usual if place in goals), goals[-1])
    data: Given = {"file": name, "target": _called(table, target)}
    if named:
        data["names"] = _called(table, named[0])
    if left_out := [place for place in (*named[1:], *words) if place != target]:
        data["except"] = [_called(table, place) for place in sorted(left_out)]
    dropped, told = _without_missing(table, [*numeric, target])
    return {"data": data | dropped, "test_fraction": 0.2}, (
        f"The target is column `{_called(table, target)}`; another one is as good: it is for you to say.",
        *told,
    )


def _noisy(path: Path, name: str) -> tuple[Given, tuple[str, ...]]:
    read_picture(path, visible(str(path)))
    return {"observed": {"file": name}, "tv": 0.1}, ("The larger `tv`, the smoother the picture becomes.",)


def _with_holes(path: Path, name: str) -> tuple[Given, tuple[str, ...]]:
    read_picture(path, visible(str(path)))
    remarks = (
        "`missing: 0.2` takes a fifth of the pixels away, to see what comes back. In place of it",
        "`mask: {file: mask.png}` says which ones are missing: those where the mask is black.",
    )
    return {"observed": {"file": name}, "missing": 0.2}, remarks


def _ratings(path: Path, name: str) -> tuple[Given, tuple[str, ...]]:
    table = _table(path)
    if table.width not in RATING_COLUMNS and not _are_ratings(table):
        raise DataError(
            f"{visible(str(path))}: has {counted(table.width, 'column')}, and ratings "
            f"are three, a user, an item and a number, "
            "and perhaps a time"
        )
    user, item, value = (_called(table, place) for place in range(3))
    found, _ = read_ratings(path, RatingsFile(file=name, user=user, item=item, value=value), visible(str(path)))
    size = math.sqrt(float(np.square(found.values).mean())) * math.sqrt(math.prod(found.shape))
    given = {
        "ratings": {"file": name, "user": user, "item": item, "value": value},
        "held_out": 0.1,
        "radius": float(f"{size:.2g}") or 1.0,
    }
    return given, (
        "The radius goes with entries of this size and rank 1:",
        "try a few, and take the one with the least `held_out_rmse`.",
    )


def _table(path: Path) -> Table:
    return read_named(path, TableOptions.model_validate({}), (), visible(str(path)))


def _called(table: Table, place: int) -> str | int:
    """By its heading, where no other column has that; else by its number."""
    headings = table.headings
    if headings is not None and headings[place] and headings.count(headings[place]) == 1:
        return headings[place]
    return place + 1


def _kinds(table: Table) -> tuple[list[int], list[int], list[int]]:
    """Columns that name the rows, and the others: those of numbers, and those with words."""
    of_words = {place for place in range(table.width) if isinstance(table.classes(place), list)}
    index = {0} if table.headings and table.headings[0].casefold() in _INDEX else set[int]()
    named = [place for place in sorted(of_words | index) if _tells_rows_apart(table, place)]
    others = [place for place in range(table.width) if place not in named]
    return named, [place for place in others if place not in of_words], [place for place in others if place in of_words]


def _without_missing(table: Table, places: list[int]) -> tuple[Given, tuple[str, ...]]:
    """What leaves out the rows that miss a cell in these columns, and a sentence; nothing where none does."""
    count = sum(any(row[1][place].casefold() in MISSING for place in places) for row in table.rows)
    if not count:
        return {}, ()
    return {"missing": "drop"}, (f"Left out for a missing value: {count} of {counted(len(table.rows), 'row')}.",)


def _tells_rows_apart(table: Table, place: int) -> bool:
    """Whether a column names its rows: none is without a name, and few have one that another row has, too."""
    cells = [row[1][place] for row in table.rows]
    return all(cells) and len(set(cells)) > _APART * len(cells)


def _are_ratings(table: Table) -> bool:
    """Whether the headings say so."""
    headings = [heading.casefold() for heading in (table.headings or [])[:3]]
    return len(headings) == 3 and "user" in headings[0] and ("rating" in headings[2] or "item" in headings[1])


USES: dict[str, Use] = {
    "kmeans-sdp": Use("table", "put its rows into clusters", _points),
    "sparse-regression": Use("table", "tell one column by a few of the others", _samples),
    "elastic-net": Use("table", "the same, with a penalty", _samples),
    "least-absolute-deviations": Use("table", "the same, not minding outliers", _samples),
    "svm": Use("table", "tell two classes apart", _of_two_classes),
    "matrix-completion": Use("ratings", "fill in the ratings that are not there", _ratings),
    "low-rank-denoising": Use("picture", "take the noise off", _noisy),
    "robust-pca": Use("picture", "fill in pixels that are missing", _with_holes),
    "max-cut": Use("graph", "part its nodes in two", _named_file("graph", read_graph)),
    "lovasz-theta": Use("graph", "bound its largest independent set", _named_file("graph", read_graph)),
    "standard-sdp": Use("program", "solve it", _named_file("program", read_program)),
    "quadratic-assignment": Use("assignment", "solve it", _named_file("data", read_assignment)),
    "optimal-power-flow": Use("case", "find its cheapest dispatch", _named_file("case", read_case)),
}
"""In the order in which they are offered."""
