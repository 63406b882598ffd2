"""What a solution looks like, as a template says it: which of the saved arrays are drawn, and how. Reports draw them.

An array is called as in `Rounding.arrays`; X and VECTORS stand for the iterate, however it is kept. Each view is one
picture with a title and a text for who does not see it. A view whose arrays a run did not save is left out; a template
all of whose views are has x itself drawn, entry by entry, as has one without any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

X = "x"
"""The iterate, written out where it is kept as factors, or estimated from its samples."""

VECTORS = "vectors of x"
"""Of a semidefinite iterate: a row for each index, whose inner products are the entries of X."""

DRAWN_NODES, DRAWN_EDGES = 100, 400
"""Of a graph up to which its edges can be told apart in a picture."""


@dataclass(frozen=True)
class Heatmap:
    """A matrix in colours: "nonnegative" `values` from 0 to nearly the largest, "signed" ones blue below 0, red above.

    order: what rows and columns of a symmetric matrix are sorted by, the first first: by the entries of a vector
    (`-clusters`: the largest first), or by where the rows of a matrix lie in the direction of their largest spread. alt
    may have {rows}, {columns}, {least}, {largest}, and {groups}, the number of different entries that `order` begins
    with.
    """

    title: str
    array: str
    alt: str = "A {rows} x {columns} matrix with entries from {least:.4g} (blue) to {largest:.4g} (red)."
    values: Literal["nonnegative", "signed"] = "signed"
    order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Photograph:
    """Grey levels from 0, black, to 1; what is no number is left transparent.

    alt may have {rows}, {columns}, and, with the array called `truth`, {mean_error}.
    """

    title: str
    array: str
    alt: str
    truth: str | None = None


@dataclass(frozen=True)
class ErrorMap:
    """|array - truth|, entry by entry. alt may have {largest}."""

    title: str
    array: str
    truth: str
    alt: str


@dataclass(frozen=True)
class Scatter:
    """The rows of a matrix as points in their plane of largest spread, coloured by group.

    groups: an array with an entry for each row; equal entries are a group (`-groups`: the largest first). alt may have
    {rows}, {groups}, and {sizes[0]}, {sizes[1]}, ...: how many are in the first group, in the second.
    """

    title: str
    array: str
    groups: str
    alt: str


@dataclass(frozen=True)
class CutGraph:
    """A graph in groups, each on an arc of a circle, two of them left and right; the edges between them in a colour.

    groups: an array with an entry for each node; equal entries are a group. edges: an array (edges, 2) of nodes, from
    0. alt may have {rows}, {groups}, {sizes[0]}, {sizes[1]}, {edges}, and {cut}, the number of edges between groups.
    """

    title: str
    groups: str
    edges: str
    alt: str


@dataclass(frozen=True)
class Trajectory:
    """The way of an iterate through a disc, by two metrics that are its coordinates, among the level lines of the
    objective.

    radius: the parameter of the problem that is the radius of the disc. end: the solution, in units of it. alt may have
    {first}, {last}, {end}, and {iterations}.
    """

    title: str
    coordinates: tuple[str, str]
    radius: str
    end: tuple[float, float]
    objective: Callable[[np.ndarray, np.ndarray], np.ndarray]
    alt: str


View = Heatmap | Photograph | ErrorMap | Scatter | CutGraph | Trajectory


def nodes_in_groups(title: str, groups: str, told: str, ordered: str) -> tuple[View, ...]:
    """A semidefinite relaxation over the nodes of a graph, which it was rounded to groups of: the vectors of the nodes,
    and X in either order. told: the sizes of the groups in words, with fields as in Scatter. ordered: what X is then
    ordered by, in a word.
    """
    alt = "The {rows} x {columns} matrix X, its nodes %s: blue below zero, red above."
    return (
        Scatter(title, VECTORS, groups, f"{told}, by their vectors in the relaxation."),
        Heatmap("X, the nodes as they come", X, alt % "as they come"),
        Heatmap(f"X, ordered by {ordered}", X, alt % f"ordered by {ordered}", order=(groups, VECTORS)),
    )


def restored_image(given: str) -> tuple[View, ...]:
    """The arrays `truth` and `recovered` of an image, and what it was recovered from, the array called `given`."""
    return (
        Photograph("truth", "truth", "The clean image, {rows} x {columns} pixels."),
        Photograph("input", given, "What was given: noisy pixels, those that are missing left transparent."),
        Photograph("recovered", "recovered", "The recovered image; its mean error is {mean_error:.3g}.", "truth"),
        ErrorMap("error", "recovered", "truth", "The error of every pixel, white where it is largest: {largest:.3g}."),
    )


def few_edges(adjacency: sp.csr_array) -> dict[str, np.ndarray]:
    """The edges (m, 2) of a graph that is small enough to be drawn."""
    if adjacency.shape[0] > DRAWN_NODES or adjacency.nnz > 2 * DRAWN_EDGES + DRAWN_NODES:
        return {}
    above = sp.coo_array(sp.triu(adjacency, k=1))
    return {"edges": np.column_stack(above.coords).astype(np.int32)}
