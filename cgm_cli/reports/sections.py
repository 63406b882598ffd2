"""The sections of a page, in plain HTML that can be read without its script."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cgm_cli.reports import names
from cgm_cli.reports.cells import Column, best_rows, cell, clipped, figure
from cgm_cli.reports.collect import Fault
from cgm_cli.reports.curves import Quantity
from cgm_cli.reports.entry import FIGURES, Entry, flatten
from cgm_cli.reports.images import png
from cgm_cli.reports.markup import choice, facts_list, select, table, text_of
from cgm_cli.reports.material import WITH_PICTURES, Read
from cgm_cli.reports.pictures import Image, Picture
from cgm_cli.reports.query import as_number, as_text
from cgm_cli.reports.ranking import marks
from cgm_cli.reports.sparkline import sparkline

FIRST = 8
"""Runs that are plotted when the page opens: more curves are hard to tell apart."""
_WITH_PROVENANCE = 12


def summary(entries: Sequence[Entry], faults: Sequence[Fault], names_: Sequence[str]) -> str:
    """The figures of one run; of many how they ended, the best of each figure, and who is missing."""
    if len(entries) == 1:
        return _single(entries[0]) + _faults(entries, faults, names_)
    states = Counter(entry.state for entry in entries)
    facts = {"runs": text_of(len(entries))} | {text_of(state): text_of(count) for state, count in states.items()}
    row = {id(entry): index for index, entry in enumerate(entries)}
    for name, winners in marks(names.figures(entries), entries).items():
        if winners:
            more = f" and {len(winners) - 1} more" if len(winners) > 1 else ""
            who = text_of(clipped(names_[row[id(winners[0])]], 60)) + more
            facts[f"best {text_of(name)}"] = f"{text_of(figure(name, winners[0]))}<br><small>{who}</small>"
    return facts_list(facts) + _faults(entries, faults, names_)


def _single(entry: Entry) -> str:
    good = "good" if entry.finished else "bad"
    facts = {"status": f'<span class="status {good}">{text_of(entry.state)}</span>'}
    for name in names.figures([entry]):
        text = text_of(figure(name, entry))
        if name == "bound" and entry.bound_is != "none":
            text += f" <small>{text_of(entry.bound_is)}</small>"
        facts[text_of(name.removeprefix("metric_").replace("_", " "))] = text
    return f"<p>{text_of(entry.path)}</p>" + facts_list(facts)


def _faults(entries: Sequence[Entry], faults: Sequence[Fault], names_: Sequence[str]) -> str:
    """Runs that are not finished, and paths without a run."""
    told = [
        (label, f"{entry.state}. {entry.reason}") for entry, label in zip(entries, names_, strict=True) if entry.reason
    ]
    told += [(str(fault.path), fault.reason) for fault in faults]
    if not told:
        return ""
    items = "".join(f"<li><code>{text_of(who)}</code>: {text_of(why)}</li>" for who, why in told)
    return f'<h3>Not finished, or not to be read</h3><ul class="faults">{items}</ul>'


def runs_table(entries: Sequence[Entry], names_: Sequence[str], shown: Sequence[Column]) -> str:
    """The table to sort, to filter and to choose from."""
    marked = best_rows(shown, entries)
    head = "".join(
        f'<th scope="col" data-key="{text_of(column.key)}" aria-sort="none" title="{text_of(column.key)}">'
        f'<button type="button">{text_of(column.heading)}</button></th>'
        for column in shown
    )
    body = []
    for row, (entry, label) in enumerate(zip(entries, names_, strict=True)):
        check = "checked" if row < FIRST else ""
        cells = [
            f'<td><input type="checkbox" value="{row}" {check} aria-label="plot {text_of(label)}"></td>',
            *(_cell(entry, column, label, row in marked.get(column.key, ())) for column in shown),
            f'<td class="spark" aria-hidden="true">{text_of(sparkline(entry.gaps))}</td>',
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
    title = f' title="{text_of(full)}"' if text != full or column.kind == "run" else ""
    if column.kind == "run":
        return f'<th scope="row"{title}>{text_of(text)}</th>'
    number = as_number(entry.value(column.key)) is not None
    kind = " ".join(filter(None, ("number" if number else "", "best" if best else "")))
    return f'<td class="{kind}"{title}>{text_of(text)}{"*" if best else ""}</td>'


def convergence(
    found: Sequence[Quantity], entries: Sequence[Entry], names_: Sequence[str], reads: Sequence[Read]
) -> str:
    """A place for the plot of each quantity, with what it shows in words, and their controls."""
    controls = (
        '<div class="controls">'
        + choice("x", "Over", (("k", "iterations"), ("seconds", "seconds")))
        + choice("logx", "Axis", (("log", "logarithmic"), ("linear", "linear")))
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


def _figure(index: int, quantity: Quantity, names_: Sequence[str], reads: Sequence[Read]) -> str:
    told = []
    for label, read in zip(names_, reads, strict=True):
        curve = read.curves.get(quantity.name)
        if curve is not None:
            slope = f", slope {curve.line[0]:.2f}" if curve.line and quantity.fit else ""
            told.append(f"{clipped(label)} ends at {curve.values[-1]:.4g} after {curve.k[-1]:.0f} iterations{slope}")
    alt = f"{quantity.name}: {quantity.label}. " + "; ".join(told)
    log = str(quantity.log).lower()
    name = text_of(quantity.name)
    return (
        f'<figure data-quantity="{index}" data-log="{log}"><div class="head"><div><h3><code>{name}</code></h3>'
        f'<p class="soft">{text_of(quantity.label)}</p></div>'
        f'<button type="button" class="scale" aria-pressed="{log}" aria-label="logarithmic axis of {name}">log</button>'
        "</div>"
        # An application: a screen reader then leaves the arrow keys to the plot.
        '<div class="plot" tabindex="0" role="application" aria-roledescription="chart" '
        f'aria-label="{text_of(alt)}"></div>'
        '<p class="note soft" role="status"></p>'
        f"<figcaption>{text_of('; '.join(told[:3]))}</figcaption></figure>"
    )


def pictures_shown(names_: Sequence[str], reads: Sequence[Read], drawn: Sequence[Picture]) -> str:
    """The pictures of every run that has any."""
    place = {id(picture): index for index, picture in enumerate(drawn)}
    parts = []
    having = [(label, read) for label, read in zip(names_, reads, strict=True) if read.pictures]
    for position, (label, read) in enumerate(having):
        inner = "".join(_picture(each, place.get(id(each))) for each in read.pictures)
        block = f'<div class="pictures">{inner}</div>'
        if len(names_) == 1:
            return block
        opened = " open" if position < 3 else ""
        parts.append(f"<details{opened}><summary>{text_of(label)}</summary>{block}</details>")
    if len(reads) > WITH_PICTURES:
        parts.append(
            f'<p class="soft">Pictures of the first {WITH_PICTURES} runs; a report of one run has its own.</p>'
        )
    return "".join(parts)


def _picture(picture: Picture, place: int | None) -> str:
    title, alt = text_of(picture.title), text_of(picture.alt)
    if isinstance(picture, Image):
        data = base64.b64encode(png(picture.array, picture.low, picture.high, picture.colours)).decode()
        holes = "" if np.isfinite(picture.array).all() else ' class="holes"'
        body = f'<img{holes} alt="{alt}" src="data:image/png;base64,{data}">'
    else:
        body = f'<div class="plot" data-picture="{place}" tabindex="0" role="img" aria-label="{alt}"></div>'
    return f"<figure><h3>{title}</h3>{body}<figcaption>{alt}</figcaption></figure>"


def parameters(entries: Sequence[Entry], axes: Sequence[str]) -> str:
    """Places for the plots of parameters against results."""
    metrics = [
        name for name in names.figures(entries) if not all(math.isnan(e.figures.get(name, math.nan)) for e in entries)
    ]
    preferred = next((name for name in ("gap", "infeasibility", "objective") if name in metrics), None)
    headings = names.short(axes, FIGURES)
    parts = [
        '<div class="plots"><figure><div class="head"><h3>Every run as a line</h3></div>'
        f'<div class="controls">{select("parallel-metric", "coloured by", metrics, preferred)}</div>'
        '<div class="plot tall" id="parallel-plot" tabindex="0" role="img" aria-label="Parallel coordinates"></div>'
        "<figcaption>The runs that the table shows. A high value is blue, a low one orange.</figcaption></figure>"
    ]
    if len(axes) > 1:
        options = [(key, headings[key]) for key in axes]
        parts.append(
            '<figure><div class="head"><h3>Two parameters</h3></div><div class="controls">'
            + select("heat-x", "across", options, axes[0])
            + select("heat-y", "up", options, axes[1])
            + select("heat-metric", "value", metrics, preferred)
            + '</div><div class="plot tall" id="heat-plot" tabindex="0" role="img" aria-label="Heat map"></div>'
            "<figcaption>Of several runs in a cell, the best. The runs that the table shows.</figcaption></figure>"
        )
    return "".join(parts) + "</div>"


def spec_table(entries: Sequence[Entry]) -> str:
    """The parameters that are the same in every run."""
    if not entries:
        return "<p>There is no run.</p>"
    varying = set(names.varying(entries))
    shared = {key: value for key, value in entries[0].params.items() if key not in varying}
    return table("Parameters by their dotted keys", {key: as_text(value) for key, value in shared.items()})


def provenance_shown(names_: Sequence[str], reads: Sequence[Read]) -> str:
    """Where each run came from; of many, what they have in common."""
    flat = [{k: as_text(v) for k, v in flatten(_without_spec(read.provenance)).items()} for read in reads]
    if len(reads) <= _WITH_PROVENANCE:
        tables = [table("", each) for each in flat]
        if len(reads) == 1:
            return tables[0]
        return "".join(
            f"<details><summary>{text_of(label)}</summary>{table}</details>"
            for label, table in zip(names_, tables, strict=True)
        )
    keys = dict.fromkeys(key for each in flat for key in each)
    told = {}
    for key in keys:
        values = Counter(each.get(key, "") for each in flat)
        text, count = values.most_common(1)[0]
        told[key] = text if count == len(flat) else f"{len(values)} different values"
    return table("Of all runs together; each run.h5 has its own", told)


def _without_spec(provenance: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in provenance.items() if key not in ("resolved", "thread_pools", "resumed")}
