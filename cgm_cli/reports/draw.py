"""The pictures of a solution on axes of matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from cgm_cli.reports.pictures import Image, Network, Path, Picture, Points, Signal

_MARKS = "osD^vPX*<>"
# Okabe and Ito, "Color universal design"; without their yellow, which is hard to see on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")


def draw(picture: Picture, axes: Any) -> None:
    """Draw it, with its title."""
    drawers = {Image: _image, Points: _points, Network: _network, Signal: _signal, Path: _path}
    axes.set_title(picture.title)
    drawers[type(picture)](picture, axes)


def _image(picture: Image, axes: Any) -> None:
    shown = axes.imshow(
        np.ma.masked_invalid(picture.array),
        cmap=picture.colours or "gray",
        vmin=picture.low,
        vmax=picture.high,
        interpolation="nearest",
    )
    axes.set_facecolor("#9fb4c8")
    places, names = range(len(picture.names)), [name.replace("$", r"\$") for name in picture.names]  # no formulas
    axes.set_xticks(places, names, rotation=90, size=6)
    axes.set_yticks(places, names, size=6)
    axes.grid(False)
    if picture.colours is not None:
        # Values that a colour stands for; a photograph needs none.
        axes.figure.colorbar(shown, ax=axes, shrink=0.8, aspect=25, pad=0.02)


def _points(picture: Points, axes: Any) -> None:
    _groups(picture, axes)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xticks=[], yticks=[])


def _groups(picture: Points, axes: Any) -> None:
    groups = np.unique(picture.group)
    colours = _colours(groups.size)
    for order, group in enumerate(groups):
        inside = picture.group == group
        mark = _MARKS[order % len(_MARKS)]
        where = picture.x[inside], picture.y[inside]
        axes.scatter(*where, s=9, marker=mark, color=colours[order], linewidths=0, zorder=3)


def _network(picture: Network, axes: Any) -> None:
    axes.plot(*picture.within, color="#b8c2cc", linewidth=0.5)
    axes.plot(*picture.across, color="#E69F00", linewidth=0.4, alpha=0.7)
    _groups(picture, axes)
    axes.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal")
    axes.axis("off")


def _signal(picture: Signal, axes: Any) -> None:
    axes.vlines(picture.numbers, 0.0, picture.values, color="#0072B2", linewidth=1.0)
    axes.plot(picture.numbers, picture.values, "o", color="#0072B2", markersize=2.5)
    axes.axhline(0.0, color="black", linewidth=0.5)
    axes.set_xlabel("entry")


def _path(picture: Path, axes: Any) -> None:
    radius = picture.radius
    axes.contour(picture.axis, picture.axis, picture.levels, 14, colors="#b8c2cc", linewidths=0.5, linestyles="-")
    angles = np.linspace(0, 2 * np.pi, 200)
    axes.plot(radius * np.cos(angles), radius * np.sin(angles), color="black", linewidth=0.8)
    axes.plot(picture.x, picture.y, "o-", color="#0072B2", markersize=2, linewidth=0.8)
    axes.plot(*picture.solution, "*", color="#D55E00", markersize=9)
    axes.set_aspect("equal")
    axes.set(xlabel="$x_1$", ylabel="$x_2$")
    axes.grid(False)


def _colours(count: int) -> list[Any]:
    from matplotlib import colormaps

    if count <= len(COLOURS):
        return list(COLOURS[:count])
    return list(colormaps["viridis"](np.linspace(0, 1, count)))
