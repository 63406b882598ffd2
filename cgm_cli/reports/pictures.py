"""What a solution looks like: the views that a template asks for, as images, points, signals and paths.

Pages, figures and the gallery draw what is described here, each in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cgm_cli.blocks.iterates import written_out
from cgm_cli.errors import CgmError, part
from cgm_cli.readers.entries import LABELS, unpacked
from cgm_cli.readers.images import FORM
from cgm_cli.reports.curves import thinned
from cgm_cli.reports.declared import PREFIX, template_called
from cgm_cli.reports.images import in_channels, reduced
from cgm_cli.runs.load import Run
from cgm_cli.templates.views import VECTORS, CutGraph, ErrorMap, Heatmap, Photograph, Scatter, Trajectory, View, X

_PIXELS = 400
_POINTS = 1500
_STEPS = 300
_LEVELS = 14
_GRID = 41
"""Lines of the grid that the level lines of an objective are drawn from."""
_NAMED = 24
"""Rows of a matrix up to which their names can be read beside it."""
_WRITTEN_OUT = 3000
"""Matrices of an order up to this are written out from their factors only to be seen."""


@dataclass(frozen=True)
class Image:
    """A matrix, `low` at one end of the colours and `high` at the other. colours: of matplotlib, None for greys. names:
    of its rows, and of its columns as well; none where they have none, or are too many.
    """

    title: str
    alt: str
    array: np.ndarray
    low: float
    high: float
    colours: str | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Points:
    """Points in the plane by groups; `numbers` says which point each is."""

    title: str
    alt: str
    x: np.ndarray
    y: np.ndarray
    group: np.ndarray
    numbers: np.ndarray


@dataclass(frozen=True)
class Network(Points):
    """Points with lines between them: within: (2, m) those inside a group, across: those between groups, each as one
    way, nan where the pen is lifted.
    """

    within: np.ndarray
    across: np.ndarray


@dataclass(frozen=True)
class Signal:
    """The entries of a vector; `numbers` says which entry each is."""

    title: str
    alt: str
    values: np.ndarray
    numbers: np.ndarray


@dataclass(frozen=True)
class Path:
    """A way through the plane inside a disc, and the point it should lead to; k: the iteration of each point. levels:
    the objective at the points (axis[j], axis[i]).
    """

    title: str
    alt: str
    x: np.ndarray
    y: np.ndarray
    k: np.ndarray
    radius: float
    solution: tuple[float, float]
    axis: np.ndarray
    levels: np.ndarray


Picture = Image | Points | Network | Signal | Path


def pictures(run: Run) -> list[Picture]:
    """The pictures of a run; none where it saved no arrays to make them of, or they cannot be read."""
    try:
        problem = run.resolved.get("problem", {})
        problem = problem if isinstance(problem, dict) else {}
        template = template_called(problem.get("template"))
        return made(template.views if template else (), PictureSource(run.solution, run.trace, problem))
    except CgmError:
        return []


def made(views: tuple[View, ...], saved: PictureSource) -> list[Picture]:
    """The views as pictures, as far as what was saved allows; of x itself, where it allows none."""
    found = [picture for view in views if (picture := _attempted(lambda view=view: _MAKERS[type(view)](view, saved)))]
    entries = None if found else _attempted(lambda: _entries(saved))
    return found if entries is None else [entries]


def _attempted(make: Callable[[], Picture | None]) -> Picture | None:
    try:
        return make()
    except (CgmError, KeyError, ValueError, TypeError, IndexError, np.linalg.LinAlgError):
        # A picture is an extra: arrays of a version that saved others, or a damaged one, cost no more than itself.
        return None


@dataclass(frozen=True)
class PictureSource:
    """What pictures are made of: arrays of the solution, columns of the trace, parameters of the problem."""

    solution: Mapping[str, np.ndarray]
    trace: Mapping[str, np.ndarray]
    problem: Mapping[str, Any]

    def array(self, name: str) -> np.ndarray:
        """The array of a view. Raises KeyError where the run saved none."""
        if name == VECTORS:
            return self.vectors
        if name != X or X in self.solution:
            return self.solution[name]
        if "samples" in self.solution:
            _see(len(self.vectors))
            return self.vectors @ self.vectors.conj().T
        _see(max(len(self.solution[side]) for side in ("left", "right") if side in self.solution))
        return written_out(self.solution)

    @cached_property
    def vectors(self) -> np.ndarray:
        """A row per index whose inner products are the entries of X."""
        solution = self.solution
        if "left" in solution:
            return solution["left"] * np.sqrt(np.maximum(solution["weights"], 0.0))
        if "samples" in solution:
            return solution["samples"] / np.sqrt(solution["samples"].shape[1])
        values, vectors = np.linalg.eigh(solution[X])
        return vectors * np.sqrt(np.maximum(values, 0.0))

    def names(self, shape: tuple[int, ...]) -> tuple[str, ...]:
        """Of the rows and columns of a small square matrix, where the data have some for as many."""
        if LABELS not in self.solution or max(shape) > _NAMED:
            return ()
        found = tuple(unpacked(self.solution[LABELS]))
        return found if shape == (len(found), len(found)) else ()

    def key(self, name: str) -> np.ndarray:
        """What an order by `name` sorts by, smallest first: an entry per row."""
        array = self.array(name.removeprefix("-"))
        if array.ndim == 2:
            return _plane(array)[:, 0]
        return -array if name.startswith("-") else array

    def groups(self, name: str) -> np.ndarray:
        """The number of the group of each row, counted from 0."""
        return np.unique(self.key(name), return_inverse=True)[1].reshape(-1)


def _see(rows: int) -> None:
    """Raises ValueError for a matrix that is too large to be written out only to be seen."""
    if rows > _WRITTEN_OUT:
        raise ValueError(rows)


def _heatmap(view: Heatmap, saved: PictureSource) -> Image:
    x, groups = saved.array(view.array), 0
    x, names = np.abs(x) if np.iscomplexobj(x) else x, saved.names(x.shape)
    if view.order:
        keys = [saved.key(name) for name in view.order]
        order, groups = np.lexsort(keys[::-1]), np.unique(keys[0]).size
        x, names = x[np.ix_(order, order)], tuple(names[row] for row in order if names)
    rows, columns = x.shape
    alt = view.alt.format(rows=rows, columns=columns, least=x.min(), largest=x.max(), groups=groups)
    if view.values == "signed":
        high = float(np.abs(x).max()) or 1.0
        return Image(view.title, alt, reduced(x, _PIXELS), -high, high, "RdBu_r", names)
    high = float(np.quantile(x, 0.995))
    return Image(view.title, alt, reduced(x, _PIXELS), 0.0, high if high > 0 else 1.0, "viridis", names)


def _photograph(view: Photograph, saved: PictureSource) -> Image:
    array = _in_channels(saved, view.array)
    rows, columns = array.shape[:2]
    if view.truth and view.truth in saved.solution:
        error = float(np.abs(array - _in_channels(saved, view.truth)).mean())
        alt = view.alt.format(rows=rows, columns=columns, mean_error=error)
    else:
        alt = view.alt.partition(";")[0].format(rows=rows, columns=columns)
    return Image(view.title, alt, reduced(array, _PIXELS), 0.0, 1.0)


def _error_map(view: ErrorMap, saved: PictureSource) -> Image:
    error = np.abs(_in_channels(saved, view.array) - _in_channels(saved, view.truth))
    error = error.mean(axis=2) if error.ndim == 3 else error
    worst = float(error.max())
    alt = view.alt.format(largest=worst)
    return Image(view.title, alt, reduced(error, _PIXELS), 0.0, max(worst, 1e-12), "inferno")


def _in_channels(saved: PictureSource, name: str) -> np.ndarray:
    form = saved.solution.get(FORM)
    return in_channels(saved.array(name), 1 if form is None else int(form[0]))


def _scatter(view: Scatter, saved: PictureSource) -> Points:
    rows, group = saved.array(view.array), saved.groups(view.groups)
    sizes = np.bincount(group)
    # A group that nobody is in has the size 0.
    alt = view.alt.format(rows=len(rows), groups=sizes.size, sizes=[*sizes, 0, 0])
    plane, kept = _plane(rows), thinned(len(rows), _POINTS)
    return Points(view.title, alt, plane[kept, 0], plane[kept, 1], group[kept], kept + 1)


def _cut_graph(view: CutGraph, saved: PictureSource) -> Network:
    group, edges = saved.groups(view.groups), saved.array(view.edges)
    sizes = np.bincount(group, minlength=2)
    # Each group on an arc of its own, with gaps between them; on either side the nodes go down.
    places, half = np.empty(group.size), 0.84 * np.pi / sizes.size
    for number in range(sizes.size):
        inside = np.flatnonzero(group == number)
        middle = np.pi - 2.0 * np.pi * number / sizes.size
        turn = half * np.linspace(-1.0, 1.0, inside.size) if inside.size > 1 else np.zeros(inside.size)
        places[inside] = middle + (turn if np.cos(middle) > 0.0 else -turn)
    x, y = np.cos(places), np.sin(places)
    cut = group[edges[:, 0]] != group[edges[:, 1]]
    alt = view.alt.format(rows=group.size, groups=sizes.size, sizes=sizes, edges=len(edges), cut=int(cut.sum()))
    ways = [_ways(x, y, edges[chosen]) for chosen in (~cut, cut)]
    return Network(view.title, alt, x, y, group, np.arange(group.size) + 1, *ways)


def _ways(x: np.ndarray, y: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Straight lines, one after the other (2, 3 m)."""
    lifted = np.full(len(edges), np.nan)
    return np.array([np.column_stack([*(axis[edges.T]), lifted]).reshape(-1) for axis in (x, y)])


def _trajectory(view: Trajectory, saved: PictureSource) -> Path:
    x, y = (saved.trace[PREFIX + name] for name in view.coordinates)
    rows = np.flatnonzero(np.isfinite(x))
    rows = rows[thinned(rows.size, _STEPS)]
    x, y, k = x[rows], y[rows], saved.trace["k"][rows]
    radius = float(saved.problem[view.radius])
    end = radius * view.end[0], radius * view.end[1]
    alt = view.alt.format(first=(x[0], y[0]), last=(x[-1], y[-1]), end=end, iterations=int(k[-1]))
    axis = np.linspace(-1.05 * radius, 1.05 * radius, _GRID)
    levels = view.objective(axis[None, :], axis[:, None])
    return Path(view.title, alt, x, y, k, radius, end, axis, levels)


def _entries(saved: PictureSource) -> Picture | None:
    """x itself, as it is known where it is not only sampled."""
    x = None if "samples" in saved.solution else saved.array(X)
    if x is None or x.size < 2 or not np.isfinite(x).all():
        return None
    if x.ndim == 2 and np.iscomplexobj(x):
        alt = "The absolute values of a complex {rows} x {columns} matrix, from {least:.4g} to {largest:.4g} (bright)."
        return _heatmap(Heatmap("|X|", X, alt, "nonnegative"), saved)
    if x.ndim == 2:
        return _heatmap(Heatmap("X", X), saved)
    if x.ndim != 1:
        return None
    rows = np.arange(x.size)
    if x.size > _POINTS:
        # The largest entries are what there is to see of a sparse vector.
        rows = np.sort(np.argsort(-np.abs(x), kind="stable")[:_POINTS])
    count = int(np.count_nonzero(np.abs(x) > 1e-3 * np.abs(x).max(initial=0.0)))
    alt = f"The {x.size} entries of x, {count} of which are not negligible; the largest is {float(x.max()):.4g}."
    return Signal("x, the recovered signal", alt, x[rows], rows + 1)


_MAKERS: dict[type, Callable[[Any, PictureSource], Picture]] = {
    Heatmap: _heatmap,
    Photograph: _photograph,
    ErrorMap: _error_map,
    Scatter: _scatter,
    CutGraph: _cut_graph,
    Trajectory: _trajectory,
}
"""By the kind of the view."""


def _plane(rows: np.ndarray) -> np.ndarray:
    """The rows in their plane of largest spread (n, 2)."""
    centred = rows - rows.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    plane = centred @ vectors[:, :-3:-1]
    return plane if plane.shape[1] == 2 else np.column_stack([plane, np.zeros(len(plane))])


def plain(picture: Picture) -> dict[str, Any]:
    """Points, signals and paths for a page; images are files of their own."""
    kind = type(picture).__name__.lower()
    values = {name: value for name, value in vars(picture).items() if name != "alt"}
    if isinstance(picture, Path):
        del values["axis"], values["levels"]
        values["contours"] = contours(picture)
    return {"kind": kind, **{name: _short(value) for name, value in values.items()}}


def contours(picture: Path) -> list[list[float | None]]:
    """The level lines of the objective as one way: its two coordinates, with None where the pen is lifted."""
    with part("reports", "a picture of level lines"):
        from contourpy import contour_generator
        from matplotlib.ticker import MaxNLocator

    lines = contour_generator(picture.axis, picture.axis, picture.levels)
    x: list[float | None] = []
    y: list[float | None] = []
    for level in MaxNLocator(_LEVELS).tick_values(picture.levels.min(), picture.levels.max()):
        for line in lines.lines(level):
            points = np.asarray(line)
            x += [*(float(f"{value:.4g}") for value in points[:, 0]), None]
            y += [*(float(f"{value:.4g}") for value in points[:, 1]), None]
    return [x, y]


def _short(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return [_short(item) if value.ndim > 1 else float(f"{item:.5g}") for item in value]
    return value
