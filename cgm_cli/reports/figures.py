"""Figures for a paper: one per quantity, as wide as a column, fonts embedded, told apart without colours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from cgm_cli.display.formatting import duration
from cgm_cli.errors import ProblemError, part
from cgm_cli.reports import names
from cgm_cli.reports.cells import clipped, labels
from cgm_cli.reports.curves import (
    LEVELS,
    Curve,
    Quantity,
    column_names,
    curves,
    logarithmic,
    quantities,
    seconds_to,
    with_accuracy,
)
from cgm_cli.reports.declared import metric
from cgm_cli.reports.draw import COLOURS, draw
from cgm_cli.reports.entry import Entry
from cgm_cli.reports.means import Means, means
from cgm_cli.reports.output import MARK, ready
from cgm_cli.reports.pictures import pictures
from cgm_cli.reports.query import as_number
from cgm_cli.runs.files import replacing, write_fault

FORMATS = ("pdf", "png", "svg")
_WIDTH = 3.35
"""Inches: a column of a two-column page."""
_LEGEND = 8
_HALF = 18
"""Characters of a name of which two stand beside each other in a legend."""
_RATE = 8
"""Characters that its rate takes beside it."""
_MARKED = 7
_POINTS = 600
_WITH_PICTURES = 12
_LONGEST_NAME = 120
"""Of a file, less its ending: a metric may be called anything."""
# Not dotted: that is what bounds are.
_STYLES = ("-", "--", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (7, 2)), (0, (7, 2, 1, 2)), (0, (3, 3)))
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
_NAMES = {
    "total": "objective $f(x)$ (dotted: bound)",
    "gap": "relative gap",
    "infeasibility": "infeasibility",
    "accuracy": "max(gap, infeasibility)",
    "theory_residual": r"$f(x_k) - f^\star$",
    "theory_smoothed_gap": r"$f_\beta(x_k) - f^\star$",
    "theory_distance": r"distance of $Ax$ from the set",
    "fw_gap": r"$\langle v, x - s \rangle$",
}
"""What stands at the axis of a column of the trace; f is the objective with its finite penalties."""
_SETTINGS: dict[Any, Any] = {
    # Type 42: text stays text, which journals ask for; type 3 fonts are refused by many.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    # In an SVG, outlines: it looks the same where the font is missing.
    "svg.fonttype": "path",
    "svg.hashsalt": "cgm",
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.1,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.4,
    "savefig.dpi": 300,
    "figure.constrained_layout.use": True,
}


def formats(text: str) -> list[str]:
    """The formats of a list with commas. Raises ProblemError for one there is not."""
    chosen = [each.strip().lower() for each in text.split(",") if each.strip()]
    wrong = [each for each in chosen if each not in FORMATS]
    if wrong or not chosen:
        raise ProblemError(f"--format {text}: write one or more of {', '.join(FORMATS)}, with commas between.")
    return list(dict.fromkeys(chosen))


def write_figures(entries: Sequence[Entry], folder: Path, kinds: Sequence[str], force: bool = False) -> list[Path]:
    """<column>.<format> for every quantity, seconds-to-accuracy.<format>, <picture>.<format> for what the solutions
    look like, and, of a sweep over one number, <metric>-by-<parameter>.<format>.

    Raises CgmError where they cannot be written.
    """
    traces = [_trace(entry) for entry in entries]
    found = quantities(column_names(traces), len(entries), lambda column: metric(column, entries))
    drawn = [curves(trace, (name for each in found for name in each.columns), _POINTS) for trace in traces]
    written: list[Path] = []
    with styled() as plt:
        for quantity in found:
            shown = [(index, each) for index, each in enumerate(drawn) if _says(each, quantity)]
            if shown:
                figure = _convergence(plt, quantity, shown, entries)
                _save(plt, figure, folder / quantity.name[:_LONGEST_NAME], kinds, written, force)
        names_ = labels(entries)
        if (race := _race(plt, [seconds_to(trace) for trace in traces[:_LEGEND]], names_)) is not None:
            _save(plt, race, folder / "seconds-to-accuracy", kinds, written, force)
        for each in means(entries):
            _save(plt, _mean(plt, each), folder / _file_name(each.name), kinds, written, force)
        for entry, label in list(zip(entries, names_, strict=True))[:_WITH_PICTURES]:
            for picture in pictures(entry.open()) if entry.finished else ():
                figure, axes = plt.subplots(figsize=(_WIDTH, _WIDTH))
                draw(picture, axes)
                own = f"-{_file_name(label)}" if len(entries) > 1 else ""
                stem = folder / f"picture-{_file_name(picture.title)}{own}"
                _save(plt, figure, stem, kinds, written, force)
    return written


def _trace(entry: Entry) -> Mapping[str, np.ndarray]:
    from cgm_cli.errors import CgmError

    try:
        return with_accuracy(entry.open().trace)
    except CgmError:
        return {}


def _says(found: dict[str, Curve], quantity: Quantity) -> bool:
    return quantity.name in found and bool(found[quantity.name].values.any())


@contextmanager
def styled() -> Iterator[Any]:
    """matplotlib without a screen, with the settings of a paper, for the time of the `with`."""
    with part("reports", "a figure"):
        import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(_SETTINGS):
        yield plt


def _convergence(
    plt: Any, quantity: Quantity, shown: Sequence[tuple[int, dict[str, Curve]]], entries: Sequence[Entry]
) -> Any:
    names_ = labels(entries)
    many = len(shown) > _LEGEND
    listed = not many and (len(entries) > 1 or quantity.fit)
    rates = quantity.fit and quantity.log
    across = 2 if max(map(len, names_)) + _RATE * rates <= _HALF else 1
    # The legend is below the axes, and takes nothing from them.
    lines = -(-len(shown) // across) if listed else 0
    figure, axes = plt.subplots(figsize=(_WIDTH, 0.72 * _WIDTH + 0.17 * lines))
    shades, bar = _shades(entries) if many else ([], None)
    log = quantity.log and any((found[quantity.name].values > 0).any() for _, found in shown)
    styles = list(islice(cycle(zip(cycle(COLOURS), _STYLES, _MARKS, strict=False)), _LEGEND))
    for order, (index, found) in enumerate(shown):
        curve = found[quantity.name]
        colour, style, mark = (shades[index], "-", "") if many else styles[order]
        extra = {} if many else {"marker": mark, "markersize": 3.5, "markevery": _marked(curve.k)}
        line = curve.line if quantity.fit and log and not many else None
        rate = "" if line is None else f" ($k^{{{line[0]:.2f}}}$)"
        label = None if many else _literal(clipped(names_[index], 32)) + rate
        axes.plot(curve.k, _drawable(curve.values, log), color=colour, linestyle=style, label=label, **extra)
        if many:
            continue
        for beside, kind in quantity.beside.items():
            if beside in found and kind != "floor":
                axes.plot(
                    found[beside].k, _drawable(found[beside].values, log), color=colour, linestyle=":", linewidth=0.9
                )
        if line is not None:
            axes.plot(curve.k, curve.fitted(), color=colour, linestyle="-", linewidth=0.5, alpha=0.7)
    axes.set_xscale("log")
    axes.set_xlabel("iteration k")
    axes.set_ylabel(_axis(quantity.name))
    if log:
        axes.set_yscale("log")
    low, high = _range(quantity, [found for _, found in shown], log)
    if low < high:
        axes.set_ylim(low, high)
    if bar is not None:
        figure.colorbar(bar[0], ax=axes, label=bar[1])
    elif listed:
        figure.legend(frameon=False, loc="outside lower center", ncols=across, handlelength=2.6, columnspacing=1.2)
    return figure


def _race(plt: Any, seconds: Sequence[Sequence[float]], names_: Sequence[str]) -> Any:
    """Bars of the seconds to each accuracy, a panel for each that any run came to; None where none came to any."""
    times = np.array(seconds, dtype=float).reshape(-1, len(LEVELS))
    reached = np.flatnonzero(np.isfinite(times).any(axis=0))
    if reached.size == 0:
        return None
    places = np.arange(len(times))
    size = (_WIDTH, 0.3 + reached.size * (0.24 + 0.17 * len(times)))
    figure, panels = plt.subplots(reached.size, 1, figsize=size, squeeze=False)
    for axes, level in zip(panels[:, 0], reached, strict=True):
        own = times[:, level]
        longest = max(float(np.nanmax(own)), 1e-3)
        axes.barh(places, np.nan_to_num(own), color=[COLOURS[place % len(COLOURS)] for place in places], height=0.65)
        for place, taken in zip(places, own, strict=True):
            # What a bar stands for is written at its end, so that the axis needs no numbers.
            told = "not reached" if np.isnan(taken) else duration(float(taken))
            end = (float(np.nan_to_num(taken)), place)
            axes.annotate(told, end, xytext=(3, 0), textcoords="offset points", va="center", size=7)
        axes.set_xlim(0.0, 1.3 * longest)
        axes.set_title(f"to $10^{{{round(math.log10(LEVELS[level]))}}}$", loc="left")
        axes.set_yticks(places, [_literal(clipped(name, 24)) for name in names_[: len(times)]], size=7)
        axes.tick_params(left=False, bottom=False, labelbottom=False)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        axes.grid(False)
        axes.invert_yaxis()
    figure.supxlabel("seconds to max(gap, infeasibility)", fontsize=8)
    return figure


def _mean(plt: Any, found: Means) -> Any:
    """The mean over runs, from the least to the most in a shade where they differ."""
    figure, axes = plt.subplots(figsize=(_WIDTH, 0.72 * _WIDTH))
    axes.fill_between(found.at, found.least, found.most, color=COLOURS[0], alpha=0.15, linewidth=0)
    axes.plot(found.at, found.mean, color=COLOURS[0], marker="o", markersize=3.5)
    if logarithmic(found.at):
        axes.set_xscale("log")
    axes.set(xlabel=_literal(clipped(found.parameter)), ylabel=f"{_axis(found.metric)}, mean of runs")
    return figure


def _axis(column: str) -> str:
    """What a column of the trace is, in words and symbols."""
    words = column.removeprefix("metric_").replace("infeasibility_", "infeasibility of ").replace("_", " ")
    return _NAMES.get(column) or _literal(clipped(words))


def _marked(k: np.ndarray) -> list[int]:
    """The points that get a mark, evenly over a logarithmic axis."""
    places = np.geomspace(max(1.0, k[0]), max(1.0, k[-1]), _MARKED)
    return np.unique(np.minimum(np.searchsorted(k, places), k.size - 1)).tolist()


def _literal(text: str) -> str:
    """Text in which matplotlib finds no formula."""
    return text.replace("$", r"\$")


def _drawable(values: np.ndarray, log: bool) -> np.ndarray:
    return np.where(values > 0, values, np.nan) if log else values


def _range(quantity: Quantity, shown: Sequence[dict[str, Curve]], log: bool) -> tuple[float, float]:
    """The ends of the vertical axis: of the measured values after the first, and of where bounds ended up."""
    values = []
    for found in shown:
        measured = found[quantity.name].values
        values.append(measured[min(3, measured.size - 1) :])
        # A bound comes from far away; where a logarithmic axis is in place, it may be seen all the way.
        values += [found[name].values[0 if log else -1 :] for name in quantity.beside if name in found]
    together = np.concatenate(values)
    together = together[together > 0] if log else together
    if together.size == 0:
        return 0.0, 0.0
    low, high = float(together.min()), float(together.max())
    return (low / 1.5, high * 1.5) if log else (low - 0.06 * (high - low), high + 0.06 * (high - low))


def _shades(entries: Sequence[Entry]) -> tuple[list[Any], tuple[Any, str] | None]:
    """A colour for each run, by the parameter that varies where it is the only one, else by order."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm, Normalize

    varying = names.varying(entries)
    given = [as_number(entry.params.get(varying[0])) for entry in entries] if len(varying) == 1 else []
    numbers = [float(value) for value in given if value is not None]
    known = bool(numbers) and len(numbers) == len(given)
    values = numbers if known else [float(i + 1) for i in range(len(entries))]
    norm = (LogNorm if known and logarithmic(values) else Normalize)(min(values), max(values))
    bar = ScalarMappable(norm, colormaps["cividis"])
    label = _literal(names.short(varying)[varying[0]]) if known else "run"
    return [bar.to_rgba(cast(Any, value)) for value in values], (bar, label)


def _save(plt: Any, figure: Any, stem: Path, kinds: Sequence[str], written: list[Path], force: bool) -> None:
    """Save it as <stem>.<kind>, and add that to `written`; with a number where this report has used the name."""
    base, number = stem, 1
    while stem.with_name(f"{stem.name}.{kinds[0]}") in written:
        number += 1
        stem = base.with_name(f"{base.name}-{number}")
    # No date, so that the same runs give the same file.
    about = {
        "pdf": {"CreationDate": None, "Creator": MARK},
        "svg": {"Date": None, "Creator": MARK},
        "png": {"Software": MARK},
    }
    try:
        for kind in kinds:
            path = ready(stem.with_name(f"{stem.name}.{kind}"), force)
            try:
                with replacing(path) as temporary:
                    figure.savefig(temporary, format=kind, metadata=about[kind])
            except OSError as error:
                raise write_fault(path, error) from error
            written.append(path)
    finally:
        plt.close(figure)


def _file_name(text: str) -> str:
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._") else "-" for c in text)
    return "-".join(filter(None, kept.split("-")))[:80] or "run"
