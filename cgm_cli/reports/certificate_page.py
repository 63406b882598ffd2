"""The page of a certificate: what is proven, the clustering or the cut, what the proof leaves open, and its way there.

It holds all it shows: pictures are images, and there is no script.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from cgm_cli.certificates.certificate import Certificate, rounded_up
from cgm_cli.certificates.clustering import Clustering
from cgm_cli.display.formatting import duration, number
from cgm_cli.reports.draw import COLOURS, draw
from cgm_cli.reports.figures import styled
from cgm_cli.reports.html import Section, rendered
from cgm_cli.reports.pictures import Picture, PictureSource, Points, made
from cgm_cli.reports.sections import Fact, Summary
from cgm_cli.templates.views import CutGraph, Scatter, View, few_edges

DRAWN = 20_000
"""Points, of more, that the plane of the picture is made of; the picture itself thins them out further."""

MOST_ROWS = 100
"""Clusters in the table: those of which most is open."""

_SIDE = 3.6
"""Inches of a picture: as wide as it stands in the page, so that its words are as large as those beside it."""


_FEW_DECADES = 1.0
"""Below which an axis has more numbers than powers of ten."""


@dataclass(frozen=True)
class Drawn:
    """A picture as the base64 of a PNG, and what it says in words."""

    title: str
    alt: str
    png: str


@dataclass(frozen=True)
class Open:
    """told: in a sentence. rows: of the table under the headings."""

    told: str
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def certificate_page(found: Certificate, subject: np.ndarray | sp.csr_array, title: str) -> str:
    """subject: the points (n, d) that were clustered, or the adjacency matrix (n, n) of the graph that was cut."""
    sections = [Section("summary", "What is proven", _summary(found))]
    pictured = _clustering(found, subject) if isinstance(subject, np.ndarray) else _cut(found, subject)
    if images := [*pictured, *_progress(found)]:
        sections.append(Section("images", f"The {found.what}, and the proof", images))
    if isinstance(subject, np.ndarray):
        sections.append(Section("open", "What the proof leaves open", _open(found, subject)))
    return rendered("frame.html", title, "cgm certify", sections)


def _summary(found: Certificate) -> Summary:
    within = found.within_percent
    ways = {
        "structure": "closed form",
        "whole": "relaxation of all points" if found.what == "clustering" else "relaxation",
        "samples": f"{found.samples} subsets of {found.size} points",
    }
    facts = [
        Fact("value", number(found.value, 8)),
        Fact("upper bound" if found.what == "cut" else "lower bound", number(found.bound, 8)),
        Fact("within", "open", "bad") if math.isinf(within) else Fact("within", f"{rounded_up(within)} %", "good"),
        Fact("failure", "none: certified" if found.failure == 0.0 else f"{found.failure:g}"),
        Fact("by", ways[found.how]),
        Fact("time", duration(found.seconds)),
    ]
    return Summary(facts, [], found.sentence)


def _clustering(found: Certificate, points: np.ndarray) -> list[Drawn]:
    n = points.shape[0]
    some = np.arange(n) if n <= DRAWN else np.sort(np.random.default_rng(0).choice(n, DRAWN, replace=False))
    arrays = {"points": np.asarray(points, dtype=float)[some], "labels": found.labels[some]}
    of_all = "" if n <= DRAWN else f"{DRAWN} of {n} points: "
    view = Scatter(
        "in the plane of largest spread",
        "points",
        "labels",
        of_all + "{rows} points in {groups} clusters, by their first two principal components.",
    )
    left_out = None if found.left_out is None else found.left_out[some]

    def mark(picture: Picture, axes: Any) -> None:
        if isinstance(picture, Points) and left_out is not None:
            marked = left_out[picture.numbers - 1]
            where = picture.x[marked], picture.y[marked]
            axes.scatter(*where, s=26, facecolors="none", edgecolors="#A32020", linewidths=0.7, zorder=4)

    rings = "" if left_out is None or not left_out.any() else " Those in a ring are left open by the closed form."
    return _drawn(view, arrays, rings, mark)


def _cut(found: Certificate, adjacency: sp.csr_array) -> list[Drawn]:
    """Of a graph that is small enough."""
    arrays = {"side": found.labels, **few_edges(adjacency)}
    alt = "{rows} nodes, {sizes[0]} on the left and {sizes[1]} on the right; {cut} of {edges} edges are cut."
    return _drawn(CutGraph("the edges that are cut", "side", "edges", alt), arrays) if "edges" in arrays else []


def _drawn(
    view: View,
    arrays: dict[str, np.ndarray],
    besides: str = "",
    mark: Callable[[Picture, Any], None] = lambda picture, axes: None,
) -> list[Drawn]:
    found = list[Drawn]()
    for picture in made((view,), PictureSource(arrays, {}, {})):

        def paint(axes: Any, picture: Picture = picture) -> None:
            draw(picture, axes)
            axes.set_title("")
            mark(picture, axes)

        found.append(Drawn(picture.title, picture.alt + besides, _png(paint)))
    return found


def _progress(found: Certificate) -> list[Drawn]:
    """How far the bound was from the value, over the seconds; nothing where there is but one bound."""
    told = [(seconds, found.percent_to(bound)) for seconds, bound in found.history]
    told = [(seconds, percent) for seconds, percent in told if math.isfinite(percent)]
    if len(told) < 2:
        return []
    seconds, percents = np.array(told).T

    def paint(axes: Any) -> None:
        axes.step(seconds, percents, where="post", color=COLOURS[0], marker="o", markersize=2.5)
        if (percents > 0.0).all():
            axes.set_yscale("log")
            least, most = np.log10(percents.min()), np.log10(percents.max())
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("{x:g}" if most - least < _FEW_DECADES else "")
        axes.set(xlabel="seconds", ylabel="percent between value and bound")

    alt = (
        f"The bound came within {percents[0]:.3g} % of the value after {seconds[0]:.2g} s, and within "
        f"{percents[-1]:.3g} % after {seconds[-1]:.2g} s."
    )
    return [Drawn("gap over time", alt, _png(paint))]


def _open(found: Certificate, points: np.ndarray) -> Open:
    if found.left_out is None:
        told = (
            "No single points are told apart here: the closed form, which would name those that are near two clusters, "
            "proves nothing of this clustering, and the bound is one on all clusters together."
        )
        return Open(told if found.bound > 0.0 else "Everything: nothing is proven.")
    if not found.left_out.any():
        return Open("Nothing: every point is in the cluster where the best clustering has it.")
    k = int(found.labels.max()) + 1
    costs = Clustering(np.asarray(points, dtype=float), found.labels, k).costs
    sizes = np.bincount(found.labels, minlength=k)
    left = np.bincount(found.labels, weights=found.left_out, minlength=k)
    total = np.bincount(found.labels, weights=costs, minlength=k)
    open_costs = np.bincount(found.labels, weights=costs * found.left_out, minlength=k)
    value = float(total.sum()) or 1.0
    order = np.argsort(-open_costs, kind="stable")[:MOST_ROWS]
    rows = tuple(
        (
            str(label + 1),
            str(int(sizes[label])),
            f"{100.0 * total[label] / value:.3g} %",
            str(int(left[label])),
            f"{100.0 * open_costs[label] / value:.3g} %",
        )
        for label in order
    )
    told = (
        f"{int(left.sum())} of {sizes.sum()} points lie so near another cluster that the closed form leaves them out. "
        f"What they cost, {100.0 * open_costs.sum() / value:.3g} % of the value, is what it leaves open."
    )
    return Open(told, ("cluster", "points", "part of the value", "left open", "part that is open"), rows)


def _png(paint: Callable[[Any], None]) -> str:
    with styled() as plt:
        figure, axes = plt.subplots(figsize=(_SIDE, _SIDE))
        try:
            paint(axes)
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", dpi=200, metadata={"Software": None})
        finally:
            plt.close(figure)
    return base64.b64encode(buffer.getvalue()).decode()
