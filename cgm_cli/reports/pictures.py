"""What a solution looks like: the arrays of each template as images, points, signals and paths.

Pages, figures and the gallery draw what is described here, each in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgm_cli.blocks.iterates import written_out
from cgm_cli.errors import CgmError
from cgm_cli.reports.curves import thinned
from cgm_cli.reports.images import reduced
from cgm_cli.runs.load import Run

_PIXELS = 400
_POINTS = 1500
_WRITTEN_OUT = 3000
"""Matrices of an order up to this are written out from their factors only to be seen."""


@dataclass(frozen=True)
class Image:
    """A matrix, `low` at one end of the colours and `high` at the other. colours: of matplotlib, None for greys."""

    title: str
    alt: str
    array: np.ndarray
    low: float
    high: float
    colours: str | None = None


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
class Signal:
    """The entries of a vector; `numbers` says which entry each is."""

    title: str
    alt: str
    values: np.ndarray
    numbers: np.ndarray


@dataclass(frozen=True)
class Path:
    """A way through the plane inside a disc, and the point it should lead to; k: the iteration of each point."""

    title: str
    alt: str
    x: np.ndarray
    y: np.ndarray
    k: np.ndarray
    radius: float
    solution: tuple[float, float]


Picture = Image | Points | Signal | Path


def pictures(run: Run) -> list[Picture]:
    """The pictures of a run; none where it saved no arrays to make them of, or they cannot be read."""
    try:
        problem = run.resolved.get("problem", {})
        template = problem.get("template") if isinstance(problem, dict) else None
        maker = _MAKERS.get(str(template), _any)
        return maker(run)
    except (CgmError, KeyError, ValueError, TypeError, IndexError, np.linalg.LinAlgError):
        # A picture is an extra: arrays of a version that saved others, or a damaged one, cost no more than itself.
        return []


def _kmeans(run: Run) -> list[Picture]:
    x, clusters, denoised = (run.solution[name] for name in ("x", "clusters", "denoised"))
    order = np.argsort(clusters, kind="stable")
    n, k = clusters.size, np.unique(clusters).size
    high = float(np.quantile(x, 0.995))
    return [
        _matrix(x, "X, the points as they come", f"The {n} x {n} matrix X in the order of the data.", high),
        _matrix(
            x[np.ix_(order, order)],
            "X, ordered by cluster",
            f"The same matrix with the points ordered by cluster: {k} blocks where clusters are clear.",
            high,
        ),
        _planar(
            denoised,
            clusters,
            "the denoised points",
            f"{n} denoised points in their plane of largest spread, by cluster.",
        ),
    ]


def _images(run: Run) -> list[Picture]:
    solution = run.solution
    truth, recovered = solution["truth"], solution["recovered"]
    given = solution["observed"] if "observed" in solution else solution["noisy"]
    error = np.abs(recovered - truth)
    rows, columns = truth.shape
    worst = float(error.max())
    return [
        _grey(truth, "truth", f"The clean image, {rows} x {columns} pixels."),
        _grey(given, "input", "What was given: noisy pixels, those that are missing left transparent."),
        _grey(recovered, "recovered", f"The recovered image; its mean error is {float(error.mean()):.3g}."),
        Image(
            "error",
            f"The error of every pixel, white where it is largest: {worst:.3g}.",
            reduced(error, _PIXELS),
            0.0,
            max(worst, 1e-12),
            "inferno",
        ),
    ]


def _cut(run: Run) -> list[Picture]:
    sides = run.solution["partition"]
    one = int(np.count_nonzero(sides > 0))
    words = f"{sides.size} nodes, {one} on one side of the cut and {sides.size - one} on the other"
    return _grouped(run, np.where(sides > 0, 1, 0), "the cut", words, "side")


def _independent_set(run: Run) -> list[Picture]:
    inside = (run.solution["independent_set"] != 0).astype(int)
    words = f"{inside.size} nodes, {int(inside.sum())} of them in the independent set"
    return _grouped(run, 1 - inside, "the independent set", words, "set")


def _grouped(run: Run, group: np.ndarray, title: str, words: str, what: str) -> list[Picture]:
    """Nodes as points by the vectors of the relaxation, and X before and after they are ordered by group."""
    rows = _vectors(run.solution)
    found: list[Picture] = [_planar(rows, group, title, f"{words}, by their vectors in the relaxation.")]
    if group.size <= _WRITTEN_OUT:
        x = rows @ rows.T
        order = np.lexsort((found[0].x if found[0].x.size == group.size else group, group))
        high = float(np.abs(x).max())
        texts = (("X, the nodes as they come", "as they come"), (f"X, ordered by {what}", f"ordered by {what}"))
        for (name, way), array in zip(texts, (x, x[np.ix_(order, order)]), strict=True):
            alt = f"The {group.size} x {group.size} matrix X, its nodes {way}: blue below zero, red above."
            found.append(Image(name, alt, reduced(array, _PIXELS), -high, high, "RdBu_r"))
    return found


def _vectors(solution: Mapping[str, np.ndarray]) -> np.ndarray:
    """A row per node whose inner products are the entries of X."""
    if "left" in solution:
        return solution["left"] * np.sqrt(np.maximum(solution["weights"], 0.0))
    if "samples" in solution:
        return solution["samples"] / np.sqrt(solution["samples"].shape[1])
    values, vectors = np.linalg.eigh(solution["x"])
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _completed(run: Run) -> list[Picture]:
    completed = run.solution["completed"]
    return [_diverging(completed, "the completed matrix")]


def _ball(run: Run) -> list[Picture]:
    trace = run.trace
    if "metric_x_1" not in trace:
        return _any(run)
    rows = np.flatnonzero(np.isfinite(trace["metric_x_1"]))
    rows = rows[thinned(rows.size, 300)]
    x, y = trace["metric_x_1"][rows], trace["metric_x_2"][rows]
    radius = float(run.resolved["problem"]["radius"])
    end = -radius / np.sqrt(2.0)
    alt = f"From ({x[0]:.4f}, {y[0]:.4f}) to ({x[-1]:.4f}, {y[-1]:.4f}) in {int(trace['k'][rows[-1]])} iterations; "
    return [
        Path("the path", f"{alt}the solution is ({end:.4f}, {end:.4f}).", x, y, trace["k"][rows], radius, (end, end))
    ]


def _any(run: Run) -> list[Picture]:
    solution = run.solution
    x = solution.get("x")
    if x is None and "left" in solution:
        right = solution.get("right", solution["left"])
        x = written_out(solution) if max(right.shape[0], solution["left"].shape[0]) <= _WRITTEN_OUT else None
    if x is None or x.size < 2 or not np.isfinite(x).all():
        return []
    if x.ndim == 1:
        rows = np.arange(x.size)
        if x.size > _POINTS:
            # The largest entries are what there is to see of a sparse vector.
            rows = np.sort(np.argsort(-np.abs(x), kind="stable")[:_POINTS])
        count = int(np.count_nonzero(np.abs(x) > 1e-3 * np.abs(x).max(initial=0.0)))
        alt = f"The {x.size} entries of x, {count} of which are not negligible; the largest is {float(x.max()):.4g}."
        return [Signal("x, the recovered signal", alt, x[rows], rows + 1)]
    return [_diverging(x, "X")] if x.ndim == 2 else []


_MAKERS: dict[str, Callable[[Run], list[Picture]]] = {
    "kmeans-sdp": _kmeans,
    "robust-pca": _images,
    "low-rank-denoising": _images,
    "max-cut": _cut,
    "lovasz-theta": _independent_set,
    "matrix-completion": _completed,
    "minimax-ball": _ball,
}


def _matrix(x: np.ndarray, title: str, alt: str, high: float) -> Image:
    return Image(title, alt, reduced(x, _PIXELS), 0.0, high if high > 0 else 1.0, "viridis")


def _diverging(x: np.ndarray, title: str) -> Image:
    high = float(np.abs(x).max()) or 1.0
    alt = f"A {x.shape[0]} x {x.shape[1]} matrix with entries from {x.min():.4g} (blue) to {x.max():.4g} (red)."
    return Image(title, alt, reduced(x, _PIXELS), -high, high, "RdBu_r")


def _grey(array: np.ndarray, title: str, alt: str) -> Image:
    return Image(title, alt, reduced(array, _PIXELS), 0.0, 1.0)


def _planar(rows: np.ndarray, group: np.ndarray, title: str, alt: str) -> Points:
    """The rows in their plane of largest spread."""
    centred = rows - rows.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    plane = centred @ vectors[:, :-3:-1]
    if plane.shape[1] < 2:
        plane = np.column_stack([plane, np.zeros(len(plane))])
    kept = thinned(len(plane), _POINTS) if len(plane) > _POINTS else np.arange(len(plane))
    return Points(title, alt, plane[kept, 0], plane[kept, 1], np.asarray(group)[kept], kept + 1)


def plain(picture: Picture) -> dict[str, Any]:
    """Points, signals and paths for a page; images are files of their own."""
    kind = type(picture).__name__.lower()
    values = {name: value for name, value in vars(picture).items() if name != "alt"}
    return {"kind": kind, **{name: _short(value) for name, value in values.items()}}


def _short(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return [float(f"{item:.5g}") for item in value]
    return value
