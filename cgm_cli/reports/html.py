"""A report as one page that opens from disk: no network, everything in it, plotly's script once.

The page says what it has to say in plain HTML (sections), and the script (page/page.js) adds the plots, from the data
that stands in the page as JSON (material).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import resources

from cgm_cli import __version__
from cgm_cli.reports import names
from cgm_cli.reports.cells import clipped, columns, labels
from cgm_cli.reports.collect import Fault
from cgm_cli.reports.entry import Entry
from cgm_cli.reports.markup import json_of, text_of
from cgm_cli.reports.material import axes_of, packed, read_runs, value_of
from cgm_cli.reports.output import MARK
from cgm_cli.reports.pictures import Image, plain
from cgm_cli.reports.ranking import direction
from cgm_cli.reports.sections import (
    FIRST,
    convergence,
    parameters,
    pictures_shown,
    provenance_shown,
    runs_table,
    spec_table,
    summary,
)
from cgm_cli.text import visible

_AXES = 10


def page(entries: Sequence[Entry], faults: Sequence[Fault]) -> str:
    """The page of these runs: of a single one all that is known, of many a comparison."""
    single = len(entries) == 1
    names_ = labels(entries)
    shown = columns(entries)
    reads, found = read_runs(entries)
    drawn = [picture for each in reads for picture in each.pictures if not isinstance(picture, Image)]
    title = names_[0] if single else f"{len(entries)} runs"
    sections: list[tuple[str, str, str]] = [("summary", "Summary", summary(entries, faults, names_))]
    if len(entries) > 1:
        sections.append(("table", "Runs", runs_table(entries, names_, shown)))
    if found:
        sections.append(("convergence", "Convergence", convergence(found, entries, names_, reads)))
    axes = axes_of(entries)
    if axes and len(entries) > 2:
        sections.append(("parameters", "Parameters and results", parameters(entries, axes)))
    if any(each.pictures for each in reads):
        sections.append(("pictures", "Pictures", pictures_shown(names_, reads, drawn)))
    sections.append(("spec", "Spec" if single else "What the specs have in common", spec_table(entries)))
    if entries:
        sections.append(("provenance", "Provenance", provenance_shown(names_, reads)))
    data = {
        "runs": [
            {
                "label": visible(label),
                "values": {column.key: value_of(entry, column, label) for column in shown},
                "curves": packed(each.curves),
                "plotted": index < FIRST,
            }
            for index, (entry, label, each) in enumerate(zip(entries, names_, reads, strict=True))
        ],
        "columns": [{"key": column.key, "heading": visible(column.heading)} for column in shown],
        "quantities": [vars(quantity) | {"beside": dict(quantity.beside)} for quantity in found],
        "axes": axes[:_AXES],
        "metrics": {name: direction(name, entries) for name in names.figures(entries)},
        "pictures": [plain(picture) for picture in drawn],
        "first": 4 * FIRST,
    }
    return _document(title, sections, json_of(data))


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
        f'<meta name="generator" content="{MARK}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text_of(clipped(title, 80))} - cgm report</title><style>{_file('page.css')}</style></head><body>"
        '<a class="skip" href="#summary">Skip to the summary</a>'
        f'<header><h1>{text_of(title)}</h1><p class="soft">cgm report, {when}</p>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></header><main>{body}</main>'
        f"<footer>Written by cgm {text_of(__version__)}. This page holds all it shows and fetches nothing.</footer>"
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
