"""A report as one page that opens from disk: no network, everything in it, plotly's script once.

The page says what it has to say in plain HTML, and the script (page/page.js) adds the plots, from the data that stands
in the page as JSON. Every text from a run goes through `_text` or through `_json`: names are shown, never run.
"""

from __future__ import annotations

import base64
import html
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import resources
from typing import Any

import numpy as np

from cgm_cli import __version__
from cgm_cli.errors import CgmError
from cgm_cli.reports import names
from cgm_cli.reports.cells import Column, best_rows, cell, clipped, columns, figure, labels
from cgm_cli.reports.collect import Fault
from cgm_cli.reports.curves import POINTS, Curve, Quantity, column_names, curves, quantities
from cgm_cli.reports.entry import FIGURES, Entry, flatten
from cgm_cli.reports.images import png
from cgm_cli.reports.pictures import Image, Picture, pictures, plain
from cgm_cli.reports.query import as_number, as_text
from cgm_cli.reports.ranking import direction, marks
from cgm_cli.reports.sparkline import sparkline
from cgm_cli.runs.files import to_json
from cgm_cli.spec.faults import visible

FIRST = 8
"""Runs that are plotted when the page opens: more curves are hard to tell apart."""
_WITH_PICTURES = 12
_WITH_PROVENANCE = 12
_AXES = 10
_CURVE_BYTES = 4_000_000
_FEWEST_POINTS = 24
_BYTES_PER_VALUE = 16 / 3  # a float32 in base64


@dataclass
class _Read:
    """What is read of one run, once, so that its arrays are in memory only for that moment."""

    curves: dict[str, Curve] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    pictures: list[Picture] = field(default_factory=list)


def page(entries: Sequence[Entry], faults: Sequence[Fault]) -> str:
    """The page of these runs: of a single one all that is known, of many a comparison."""
    single = len(entries) == 1
    names_ = labels(entries)
    shown = columns(entries)
    reads, found = _read(entries)
    drawn = [picture for read in reads for picture in read.pictures if not isinstance(picture, Image)]
    title = names_[0] if single else f"{len(entries)} runs"
    sections: list[tuple[str, str, str]] = [("summary", "Summary", _summary(entries, faults, names_))]
    if len(entries) > 1:
        sections.append(("table", "Runs", _runs(entries, names_, shown)))
    if found:
        sections.append(("convergence", "Convergence", _convergence(found, entries, names_, reads)))
    axes = _axes(entries)
    if axes and len(entries) > 2:
        sections.append(("parameters", "Parameters and results", _parameters(entries, axes)))
    if any(read.pictures for read in reads):
        sections.append(("pictures", "Pictures", _pictures(names_, reads, drawn)))
    sections.append(("spec", "Spec" if single else "What the specs have in common", _spec(entries)))
    if entries:
        sections.append(("provenance", "Provenance", _provenance(names_, reads)))
    data = {
        "runs": [
            {
                "label": visible(label),
                "values": {column.key: _value(entry, column, label) for column in shown},
                "curves": _packed(read.curves),
                "plotted": index < FIRST,
            }
            for index, (entry, label, read) in enumerate(zip(entries, names_, reads, strict=True))
        ],
        "columns": [{"key": column.key, "heading": visible(column.heading)} for column in shown],
        "quantities": [vars(quantity) | {"beside": dict(quantity.beside)} for quantity in found],
        "axes": axes[:_AXES],
        "metrics": {name: direction(name, entries) for name in names.figures(entries)},
        "pictures": [plain(picture) for picture in drawn],
        "first": 4 * FIRST,
    }
    return _document(title, sections, _json(data))


def _read(entries: Sequence[Entry]) -> tuple[list[_Read], list[Quantity]]:
    """Curves, provenance and pictures of every run, and the quantities to plot.

    The more runs, the fewer points has a curve, so that the page stays small.
    """
    available: dict[str, None] = {}
    reads = []
    for index, entry in enumerate(entries):
        read = _Read()
        run = entry.open()
        _try(lambda run=run, read=read: read.provenance.update(run.provenance))
        trace = _try(lambda run=run: run.trace) or {}
        available |= dict.fromkeys(column_names([trace]))
        wanted = [name for each in quantities(column_names([trace]), len(entries)) for name in each.columns]
        points = _CURVE_BYTES / (max(1, len(entries)) * (len(wanted) + 2) * _BYTES_PER_VALUE)
        read.curves = curves(trace, wanted, int(min(POINTS, max(_FEWEST_POINTS, points))))
        if index < _WITH_PICTURES and entry.finished:
            read.pictures = pictures(run)
        reads.append(read)
    found = quantities(available, len(entries))
    return reads, [each for each in found if any(_says(read.curves, each) for read in reads)]


def _says(found: Mapping[str, Curve], quantity: Quantity) -> bool:
    """Whether there is something to see: a problem without constraints has an infeasibility of zero throughout."""
    curve = found.get(quantity.name)
    return any(name in found for name in quantity.columns) and (curve is None or bool(curve.values.any()))


def _try(act: Callable[[], Any]) -> Any:
    """What a run cannot give is left out; the table tells why."""
    try:
        return act()
    except CgmError:
        return None


def _packed(found: Mapping[str, Curve]) -> dict[str, Any]:
    """Curves for the page: columns that were logged in the same rows share their iterations and seconds."""
    grids: dict[bytes, int] = {}
    stored, packed = [], {}
    for name, curve in found.items():
        key = curve.k.tobytes()
        if key not in grids:
            grids[key] = len(stored)
            stored.append([_floats(curve.k), _floats(curve.seconds)])
        packed[name] = [grids[key], _floats(curve.values), curve.line]
    return {"grids": stored, "columns": packed}


def _floats(values: np.ndarray) -> str:
    with np.errstate(over="ignore"):
        return base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()


def _value(entry: Entry, column: Column, label: str) -> Any:
    """A cell as the page sorts and filters it: a number, text, or null."""
    if column.kind == "run":
        return visible(label)
    value = entry.value(column.key)
    number = as_number(value)
    if number is not None:
        return number if math.isfinite(number) else None
    missing = value is None and column.key not in entry.params
    return None if missing else visible(as_text(value))


def _axes(entries: Sequence[Entry]) -> list[str]:
    """The parameters worth an axis: those that vary, and not from run to run as names and files do."""
    found = []
    for key in names.varying(entries):
        # Of different templates, most keys are those of one of them alone.
        if not all(key in entry.params for entry in entries):
            continue
        values = [entry.params.get(key) for entry in entries]
        distinct = len({as_text(value) for value in values})
        if all(as_number(value) is not None for value in values) or distinct <= max(12, len(entries) // 4):
            found.append(key)
    return found


# ---------------------------------------------------------------------------------------------------- sections


def _summary(entries: Sequence[Entry], faults: Sequence[Fault], names_: Sequence[str]) -> str:
    if len(entries) == 1:
        return _single(entries[0]) + _faults(entries, faults, names_)
    states = Counter(entry.state for entry in entries)
    facts = {"runs": _text(len(entries))} | {_text(state): _text(count) for state, count in states.items()}
    row = {id(entry): index for index, entry in enumerate(entries)}
    for name, winners in marks(names.figures(entries), entries).items():
        if winners:
            more = f" and {len(winners) - 1} more" if len(winners) > 1 else ""
            who = _text(clipped(names_[row[id(winners[0])]], 60)) + more
            facts[f"best {_text(name)}"] = f"{_text(figure(name, winners[0]))}<br><small>{who}</small>"
    return _facts(facts) + _faults(entries, faults, names_)


def _single(entry: Entry) -> str:
    good = "good" if entry.finished else "bad"
    facts = {"status": f'<span class="status {good}">{_text(entry.state)}</span>'}
    for name in names.figures([entry]):
        text = _text(figure(name, entry))
        if name == "bound" and entry.bound_is != "none":
            text += f" <small>{_text(entry.bound_is)}</small>"
        facts[_text(name.removeprefix("metric_").replace("_", " "))] = text
    return f"<p>{_text(entry.path)}</p>" + _facts(facts)


def _faults(entries: Sequence[Entry], faults: Sequence[Fault], names_: Sequence[str]) -> str:
    """Runs without a result, and paths without a run."""
    told = [
        (label, f"{entry.state}. {entry.reason}") for entry, label in zip(entries, names_, strict=True) if entry.reason
    ]
    told += [(str(fault.path), fault.reason) for fault in faults]
    if not told:
        return ""
    items = "".join(f"<li><code>{_text(who)}</code>: {_text(why)}</li>" for who, why in told)
    return f'<h3>Without a result</h3><ul class="faults">{items}</ul>'


def _facts(facts: Mapping[str, str]) -> str:
    return '<dl class="facts">' + "".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in facts.items()) + "</dl>"


def _runs(entries: Sequence[Entry], names_: Sequence[str], shown: Sequence[Column]) -> str:
    marked = best_rows(shown, entries)
    head = "".join(
        f'<th scope="col" data-key="{_text(column.key)}" aria-sort="none" title="{_text(column.key)}">'
        f'<button type="button">{_text(column.heading)}</button></th>'
        for column in shown
    )
    body = []
    for row, (entry, label) in enumerate(zip(entries, names_, strict=True)):
        check = "checked" if row < FIRST else ""
        cells = [
            f'<td><input type="checkbox" value="{row}" {check} aria-label="plot {_text(label)}"></td>',
            *(_cell(entry, column, label, row in marked.get(column.key, ())) for column in shown),
            f'<td class="spark" aria-hidden="true">{_text(sparkline(entry.gaps))}</td>',
        ]
        body.append(f'<tr data-run="{row}">{"".join(cells)}</tr>')
    return (
        '<div class="controls"><label for="filter">Filter</label>'
        '<input type="search" id="filter" placeholder="beta0&lt;1 gap&lt;=1e-3" aria-describedby="filter-help">'
        f'<span id="count" role="status">{len(entries)} of {len(entries)} runs</span>'
        f'<button type="button" id="plot-first">Plot the first {min(4 * FIRST, len(entries))} shown</button>'
        '<button type="button" id="plot-none">Plot none</button></div>'
        '<p class="soft" id="filter-help">Conditions such as <code>beta0&lt;1</code> or '
        "<code>status=converged</code>, or words; all of them have to hold. A heading sorts; the best of a column is "
        "marked *.</p>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Table of runs"><table id="runs">'
        "<caption>One row per run; those that are ticked are plotted below.</caption>"
        f'<thead><tr><th scope="col">plot</th>{head}<th scope="col" aria-hidden="true">gap over k</th></tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(entry: Entry, column: Column, label: str, best: bool) -> str:
    text, full = cell(entry, column, label), cell(entry, column, label, None)
    title = f' title="{_text(full)}"' if text != full or column.kind == "run" else ""
    if column.kind == "run":
        return f'<th scope="row"{title}>{_text(text)}</th>'
    number = as_number(entry.value(column.key)) is not None
    kind = " ".join(filter(None, ("number" if number else "", "best" if best else "")))
    return f'<td class="{kind}"{title}>{_text(text)}{"*" if best else ""}</td>'


def _convergence(
    found: Sequence[Quantity], entries: Sequence[Entry], names_: Sequence[str], reads: Sequence[_Read]
) -> str:
    controls = (
        '<div class="controls">'
        + _choice("x", "Over", (("k", "iterations"), ("seconds", "seconds")))
        + _choice("logx", "Axis", (("log", "logarithmic"), ("linear", "linear")))
        + "<fieldset><legend>With</legend>"
        + "".join(
            f'<label><input type="checkbox" data-kind="{kind}" checked> {label}</label>'
            for kind, label in (
                ("bound", "bounds (dashed)"),
                ("theory", "theory (dotted)"),
                ("fit", "fitted slopes (dash-dot)"),
            )
        )
        + "</fieldset></div>"
    )
    few = min(len(entries), FIRST)
    figures = "".join(_figure(index, each, names_[:few], reads[:few]) for index, each in enumerate(found))
    return (
        controls
        + '<p class="soft">A button of the legend shows or hides a run. In a plot, the arrow keys walk along the '
        "curves, and a double click shows the whole range. Fitted slopes are drawn of up to 12 runs.</p>"
        f'<ul class="legend" id="legend" aria-label="Legend"></ul><div class="plots">{figures}</div>'
    )


def _choice(name: str, legend: str, options: Sequence[tuple[str, str]]) -> str:
    radios = "".join(
        f'<label><input type="radio" name="{name}" value="{value}"{" checked" if index == 0 else ""}> {label}</label>'
        for index, (value, label) in enumerate(options)
    )
    return f"<fieldset><legend>{legend}</legend>{radios}</fieldset>"


def _figure(index: int, quantity: Quantity, names_: Sequence[str], reads: Sequence[_Read]) -> str:
    told = []
    for label, read in zip(names_, reads, strict=True):
        curve = read.curves.get(quantity.name)
        if curve is not None:
            slope = f", slope {curve.line[0]:.2f}" if curve.line and quantity.fit else ""
            told.append(f"{clipped(label)} ends at {curve.values[-1]:.4g} after {curve.k[-1]:.0f} iterations{slope}")
    alt = f"{quantity.name}: {quantity.label}. " + "; ".join(told)
    log = str(quantity.log).lower()
    name = _text(quantity.name)
    return (
        f'<figure data-quantity="{index}" data-log="{log}"><div class="head"><div><h3><code>{name}</code></h3>'
        f'<p class="soft">{_text(quantity.label)}</p></div>'
        f'<button type="button" class="scale" aria-pressed="{log}" aria-label="logarithmic axis of {name}">log</button>'
        "</div>"
        # An application: a screen reader then leaves the arrow keys to the plot.
        '<div class="plot" tabindex="0" role="application" aria-roledescription="chart" '
        f'aria-label="{_text(alt)}"></div>'
        '<p class="note soft" role="status"></p>'
        f"<figcaption>{_text('; '.join(told[:3]))}</figcaption></figure>"
    )


def _pictures(names_: Sequence[str], reads: Sequence[_Read], drawn: Sequence[Picture]) -> str:
    place = {id(picture): index for index, picture in enumerate(drawn)}
    parts = []
    having = [(label, read) for label, read in zip(names_, reads, strict=True) if read.pictures]
    for position, (label, read) in enumerate(having):
        inner = "".join(_picture(each, place.get(id(each))) for each in read.pictures)
        block = f'<div class="pictures">{inner}</div>'
        if len(names_) == 1:
            return block
        opened = " open" if position < 3 else ""
        parts.append(f"<details{opened}><summary>{_text(label)}</summary>{block}</details>")
    if len(reads) > _WITH_PICTURES:
        parts.append(
            f'<p class="soft">Pictures of the first {_WITH_PICTURES} runs; a report of one run has its own.</p>'
        )
    return "".join(parts)


def _picture(picture: Picture, place: int | None) -> str:
    title, alt = _text(picture.title), _text(picture.alt)
    if isinstance(picture, Image):
        data = base64.b64encode(png(picture.array, picture.low, picture.high, picture.colours)).decode()
        holes = "" if np.isfinite(picture.array).all() else ' class="holes"'
        body = f'<img{holes} alt="{alt}" src="data:image/png;base64,{data}">'
    else:
        body = f'<div class="plot" data-picture="{place}" tabindex="0" role="img" aria-label="{alt}"></div>'
    return f"<figure><h3>{title}</h3>{body}<figcaption>{alt}</figcaption></figure>"


def _parameters(entries: Sequence[Entry], axes: Sequence[str]) -> str:
    metrics = [
        name for name in names.figures(entries) if not all(math.isnan(e.figures.get(name, math.nan)) for e in entries)
    ]
    preferred = next((name for name in ("gap", "infeasibility", "objective") if name in metrics), None)
    headings = names.short(axes, FIGURES)
    parts = [
        '<div class="plots"><figure><div class="head"><h3>Every run as a line</h3></div>'
        f'<div class="controls">{_select("parallel-metric", "coloured by", metrics, preferred)}</div>'
        '<div class="plot tall" id="parallel-plot" tabindex="0" role="img" aria-label="Parallel coordinates"></div>'
        "<figcaption>The runs that the table shows. A high value is blue, a low one orange.</figcaption></figure>"
    ]
    if len(axes) > 1:
        options = [(key, headings[key]) for key in axes]
        parts.append(
            '<figure><div class="head"><h3>Two parameters</h3></div><div class="controls">'
            + _select("heat-x", "across", options, axes[0])
            + _select("heat-y", "up", options, axes[1])
            + _select("heat-metric", "value", metrics, preferred)
            + '</div><div class="plot tall" id="heat-plot" tabindex="0" role="img" aria-label="Heat map"></div>'
            "<figcaption>Of several runs in a cell, the best. The runs that the table shows.</figcaption></figure>"
        )
    return "".join(parts) + "</div>"


def _select(name: str, label: str, options: Sequence[Any], chosen: str | None) -> str:
    pairs = [option if isinstance(option, tuple) else (option, option) for option in options]
    inner = "".join(
        f'<option value="{_text(value)}"{" selected" if value == chosen else ""}>{_text(text)}</option>'
        for value, text in pairs
    )
    return f'<label for="{name}">{label}</label><select id="{name}">{inner}</select>'


def _spec(entries: Sequence[Entry]) -> str:
    if not entries:
        return "<p>There is no run.</p>"
    varying = set(names.varying(entries))
    shared = {key: value for key, value in entries[0].params.items() if key not in varying}
    return _table("Parameters by their dotted keys", {key: as_text(value) for key, value in shared.items()})


def _provenance(names_: Sequence[str], reads: Sequence[_Read]) -> str:
    flat = [{k: as_text(v) for k, v in flatten(_without_spec(read.provenance)).items()} for read in reads]
    if len(reads) <= _WITH_PROVENANCE:
        tables = [_table("", each) for each in flat]
        if len(reads) == 1:
            return tables[0]
        return "".join(
            f"<details><summary>{_text(label)}</summary>{table}</details>"
            for label, table in zip(names_, tables, strict=True)
        )
    keys = dict.fromkeys(key for each in flat for key in each)
    told = {}
    for key in keys:
        values = Counter(each.get(key, "") for each in flat)
        text, count = values.most_common(1)[0]
        told[key] = text if count == len(flat) else f"{len(values)} different values"
    return _table("Of all runs together; each run.h5 has its own", told)


def _without_spec(provenance: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in provenance.items() if key not in ("resolved", "thread_pools", "resumed")}


def _table(caption: str, rows: Mapping[str, str]) -> str:
    body = "".join(f'<tr><th scope="row">{_text(key)}</th><td>{_text(value)}</td></tr>' for key, value in rows.items())
    head = f"<caption>{_text(caption)}</caption>" if caption else ""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(caption or "Provenance")}">' + (
        f'<table class="facts">{head}<tbody>{body}</tbody></table></div>'
    )


# ---------------------------------------------------------------------------------------------------- the document


def _document(title: str, sections: Sequence[tuple[str, str, str]], data: str) -> str:
    links = "".join(f'<li><a href="#{anchor}">{heading}</a></li>' for anchor, heading, _ in sections)
    body = "".join(
        f'<section id="{anchor}" aria-labelledby="h-{anchor}"><h2 id="h-{anchor}">{heading}</h2>{inner}</section>'
        for anchor, heading, inner in sections
    )
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    # Nothing may be fetched, whatever a name manages to say.
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(clipped(title, 80))} - cgm report</title><style>{_file('page.css')}</style></head><body>"
        '<a class="skip" href="#summary">Skip to the summary</a>'
        f'<header><h1>{_text(title)}</h1><p class="soft">cgm report, {when}</p>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></header><main>{body}</main>'
        f"<footer>Written by cgm {_text(__version__)}. This page holds all it shows and fetches nothing.</footer>"
        '<div id="announce" class="hidden-text" role="status" aria-live="polite"></div>'
        f'<script type="application/json" id="data">{data}</script>\n'
        f'<script type="text/plain" id="plotly">{_plotly()}</script>\n'
        f"<script>{_file('page.js')}</script></body></html>\n"
    )


def _plotly() -> str:
    # The file itself: importing the package takes longer than writing the page.
    text = (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    return text.replace("</script", "<\\/script")


def _file(name: str) -> str:
    return (resources.files("cgm_cli.reports") / "page" / name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    """JSON that may stand in a script element: no `<` that could end it, no line separators."""
    text = to_json(value)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _text(value: Any) -> str:
    """Any text from a run, as HTML shows it; also right within quotes."""
    return html.escape(visible(str(value)), quote=True)
