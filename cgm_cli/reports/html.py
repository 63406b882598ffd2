"""A report as one page that opens from disk: no network, everything in it, plotly's script once.

The page says what it has to say in plain HTML (`sections`, by the templates page/*.html), and the script (page/page.js)
adds the plots, from the data that stands in the page as JSON (`material`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from cgm_cli import __version__
from cgm_cli.errors import part
from cgm_cli.reports import names
from cgm_cli.reports.cells import clipped, columns, labels
from cgm_cli.reports.collect import Unreadable
from cgm_cli.reports.curves import logarithmic
from cgm_cli.reports.entry import Entry
from cgm_cli.reports.material import axes_of, packed, read_runs, value_of
from cgm_cli.reports.output import MARK
from cgm_cli.reports.pictures import Image, plain
from cgm_cli.reports.query import as_number
from cgm_cli.reports.ranking import direction
from cgm_cli.reports.sections import (
    FIRST,
    PLOTTABLE,
    convergence,
    parameters,
    pictures_shown,
    provenance_shown,
    race,
    runs_table,
    spec_table,
    summary,
)
from cgm_cli.runs.files import to_json
from cgm_cli.text import visible

with part("reports", "a page"):
    from jinja2 import Environment, PackageLoader, StrictUndefined, Template
    from markupsafe import Markup

_AXES = 10


@dataclass(frozen=True)
class Section:
    """anchor: where links lead, and the name of its template. shown: what that is given."""

    anchor: str
    heading: str
    shown: Any


def page(entries: Sequence[Entry], faults: Sequence[Unreadable], again: int | None = None) -> str:
    """The page of these runs: of a single one all that is known, of many a comparison. again: seconds after which it
    loads itself again, because runs go on.
    """
    single = len(entries) == 1
    names_ = labels(entries)
    shown = columns(entries)
    reads, found = read_runs(entries)
    damaged = [
        Unreadable(entry.path, each.fault)
        for entry, each in zip(entries, reads, strict=True)
        if each.fault and not entry.reason
    ]
    faults = [*faults, *damaged]
    drawn = [picture for each in reads for picture in each.pictures if not isinstance(picture, Image)]
    title = names_[0] if single else f"{len(entries)} runs"
    sections = [Section("summary", "Summary", summary(entries, faults, names_))]
    if len(entries) > 1:
        sections.append(Section("table", "Runs", runs_table(entries, names_, shown)))
    if found:
        sections.append(Section("convergence", "Convergence", convergence(found, entries, names_, reads)))
    times = race(names_, reads)
    if times:
        sections.append(Section("race", "Seconds to accuracy", times))
    axes = axes_of(entries)
    if axes and len(entries) > 2:
        sections.append(Section("parameters", "Parameters and results", parameters(entries, axes)))
    if any(each.pictures for each in reads):
        sections.append(Section("pictures", "Pictures", pictures_shown(names_, reads, drawn)))
    sections.append(Section("spec", "Spec" if single else "What the specs have in common", spec_table(entries)))
    if entries:
        sections.append(Section("provenance", "Provenance", provenance_shown(names_, reads)))
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
        "logarithmic": [column.key for column in shown if _logarithmic(entries, column.key)],
        "metrics": {name: direction(name, entries) for name in names.figures(entries)},
        "pictures": [plain(picture) for picture in drawn],
        "first": PLOTTABLE,
        "again": again,
    }
    scripts = {"js": Markup(_file("page.js")), "plotly": Markup(_plotly())}
    return rendered("page.html", title, "cgm report", sections, data=data, again=again, **scripts)


def rendered(template: str, title: str, command: str, sections: Sequence[Section], **shown: Any) -> str:
    """A page by one of the templates page/*.html that are whole. command: who writes it. shown: what the template asks
    for beside that.
    """
    return _template(template).render(
        title=title,
        command=command,
        sections=sections,
        mark=MARK,
        version=__version__,
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        css=Markup(_file("page.css")),
        **shown,
    )


def _logarithmic(entries: Sequence[Entry], key: str) -> bool:
    values = [as_number(entry.value(key)) for entry in entries]
    return logarithmic(value for value in values if value is not None)


def _template(name: str) -> Template:
    """Of a page. Every text is shown, never run: what could not be seen is made visible, then HTML's characters are
    escaped.
    """
    environment = Environment(
        loader=PackageLoader("cgm_cli.reports", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else visible(str(value)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["clipped"] = clipped
    # Without nan, which JSON lacks.
    environment.policies["json.dumps_function"] = to_json
    environment.policies["json.dumps_kwargs"] = {}
    return environment.get_template(name)


def _plotly() -> str:
    return _file("plotly/plotly-basic.min.js").replace("</script", "<\\/script")


def _file(name: str) -> str:
    return (resources.files("cgm_cli.reports") / "page" / name).read_text(encoding="utf-8")
