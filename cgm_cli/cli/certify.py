"""`cgm certify POINTS --clusters K`: how far a clustering, or a cut, is from the best possible one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cgm_cli.cli.options import Json
from cgm_cli.cli.streams import tell, tell_if_slow
from cgm_cli.text import counted

if TYPE_CHECKING:
    from cgm_cli.certificates.certificate import Certificate

Data = Annotated[
    Path,
    typer.Argument(metavar="POINTS", help="A table or matrix with a point per row; with --cut, a graph."),
]
Clusters = Annotated[int | None, typer.Option("-k", "--clusters", help="How many clusters there may be.")]
Labels = Annotated[
    Path | None,
    typer.Option(help="A file with the cluster of each point, a line each; without it, a clustering is looked for."),
]
Cut = Annotated[
    Path | None,
    typer.Option(help="A file with the side of each node of the graph: a line each, or two columns, node and side."),
]
Within = Annotated[str | None, typer.Option(help="How near the best is near enough: 2% or 0.02.")]
Time = Annotated[str, typer.Option(help="The time there is: 60s, 10m, 1h.")]
Failure = Annotated[float, typer.Option(help="The probability with which a proof by samples may fail.")]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Columns of a table: headings, numbers or ranges, `x,y` or `1..2`; of a list of edges, those of the nodes."
    ),
]
Except = Annotated[str | None, typer.Option("--except", help="Or those that are left out: `name,id`.")]
Decimal = Annotated[str | None, typer.Option(help="What stands before a fraction in a table, `.` or `,`.")]
Names = Annotated[
    str | None,
    typer.Option(
        help="A column of a table that names the points; --labels may then be of two columns, name and cluster."
    ),
]
Missing = Annotated[str | None, typer.Option(help="`drop` leaves out the rows of a table with a missing value.")]
Encoding = Annotated[str | None, typer.Option(help="Of the text of all files, such as windows-1252.")]
Sheet = Annotated[str | None, typer.Option(help="Of a workbook, .xlsx: name of the sheet, or its number from 1.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Write the cluster of each point to this file, a line each; behind its name, if it has one."),
]
Page = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write a page with the clustering or the cut, what is open, and the gap over time."
    ),
]


OF_GRAPHS = {"columns", "encoding", "sheet"}
"""Options of tables that lists of edges have as well."""


def certify(
    data: Data,
    clusters: Clusters = None,
    labels: Labels = None,
    cut: Cut = None,
    within: Within = None,
    time: Time = "60s",
    failure: Failure = 1e-3,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 0,
    columns: Columns = None,
    without: Except = None,
    decimal: Decimal = None,
    names: Names = None,
    missing: Missing = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    out: Out = None,
    page: Page = None,
    json: Json = False,
) -> None:
    """Prove how far a clustering, or a cut, is from the best.

    Up to 2000 points, and to 20,000 where time and memory allow, the proof is certified; of more, by random subsets, it
    holds but for the probability of --failure.

    Exit codes: 0 done, 2 usage, 3 data file, 4 the disk, 130 interrupted: then, what was proven so far is told.
    """
    from cgm_cli.runs.signals import stop_on_signals

    share, seconds = _share(within), _seconds(time)
    if (cut is None) == (clusters is None and labels is None):
        raise typer.BadParameter("give --clusters or --labels for points, or --cut for a graph")
    table = _table(
        {
            "columns": _listed(columns, "columns"),
            "except": _listed(without, "except"),
            "decimal": decimal,
            "names": _numbered(names),
            "missing": missing,
            "encoding": encoding,
            "sheet": _numbered(sheet),
        }
    )
    if labels is not None and missing == "drop":
        raise typer.BadParameter("--missing drop would leave out rows of the points, and none of --labels")
    if cut is not None and (others := table.keys() - OF_GRAPHS):
        raise typer.BadParameter(f"--{min(others)} is of points, and not of a graph")
    if cut is not None and len(table.get("columns", "of")) != 2:
        raise typer.BadParameter("--columns: a list of edges has two columns of nodes")
    with stop_on_signals() as request:
        try:
            from cgm_cli.certificates.cuts import certify_cut
            from cgm_cli.certificates.labels import check_writable, read_labels, read_points, write_labels
            from cgm_cli.certificates.points import certify as certify_points

            def asked() -> bool:
                return request() is not None

            tell_if_slow()
            if out is not None:
                check_writable(out, [path for path in (data, labels, cut) if path is not None])
            called: list[str] | None = None
            write_page = None if page is None else _page_writer(page, data.name)
            if cut is not None:
                found, subject = certify_cut(data, cut, share, seconds, seed, asked, table)
            else:
                subject, called = read_points(data, table, tell)
                found = certify_points(
                    subject,
                    None if labels is None else read_labels(labels, called, encoding),
                    clusters,
                    within=share,
                    time=seconds,
                    failure=failure,
                    seed=seed,
                    asked=asked,
                    tell=tell,
                )
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
    _show(found, share, json)
    if out is not None:
        write_labels(out, found.labels, called)
    if write_page is not None:
        write_page(found, subject)
    if found.interrupted:
        raise typer.Exit(130)


def _page_writer(path: Path, title: str) -> Callable[[Certificate, Any], None]:
    """What writes the page: refused at once where that cannot be done, or what draws it is not installed."""
    from cgm_cli.reports.certificate_page import certificate_page
    from cgm_cli.reports.output import ready, write_text

    ready(path)
    return lambda found, subject: write_text(path, certificate_page(found, subject, title))


def _show(found: Certificate, share: float | None, json: bool) -> None:
    if json:
        from cgm_cli.runs.files import to_json

        typer.echo(to_json(found.as_dict()))
        return
    bound = "upper bound" if found.what == "cut" else "lower bound"
    drawn = f", by {counted(found.samples, 'subset')} of {counted(found.size, 'point')}" if found.size else ""
    typer.echo(f"value: {found.value:.10g}\n{bound}: {found.bound:.10g}{drawn}")
    typer.echo(found.sentence)
    if share is not None and found.within_percent > 100.0 * share:
        typer.echo(f"The {100.0 * share:g} % asked for are not proven.")


def _table(given: Mapping[str, Any]) -> dict[str, Any]:
    """How a table is to be read, as in a spec, whose words say what cannot be."""
    from pydantic import ValidationError

    from cgm_cli.spec.fields import TableOptions

    found = {key: value for key, value in given.items() if value is not None}
    try:
        TableOptions.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        option = "".join(f"--{part}: " for part in first["loc"][:1])
        raise typer.BadParameter(option + first["msg"].removeprefix("Value error, ")) from None
    return found


def _listed(text: str | None, option: str) -> list[str | int] | None:
    """Headings, and numbers from 1."""
    if text is None:
        return None
    found = [_numbered(part) for part in map(str.strip, text.split(",")) if part]
    if not found or 0 in found:
        raise typer.BadParameter(f"--{option}: expected headings, or numbers from 1, with commas between, got `{text}`")
    return [part for part in found if part is not None]


def _numbered(text: str | None) -> str | int | None:
    """A name, or a number."""
    return int(text) if text is not None and text.isdecimal() else text


def _share(text: str | None) -> float | None:
    """A relative distance from `2%` or `0.02`."""
    if text is None:
        return None
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        share = float(number) / (100.0 if percent else 1.0)
    except ValueError:
        share = -1.0
    if not 0.0 < share < float("inf"):
        raise typer.BadParameter(f"--within: expected a positive share such as 2% or 0.02, got `{text}`")
    return share


def _seconds(text: str) -> float:
    from pydantic import TypeAdapter, ValidationError

    from cgm_cli.spec.model import Duration

    try:
        return TypeAdapter(Duration).validate_python(float(text) if text.replace(".", "", 1).isdigit() else text)
    except ValidationError:
        raise typer.BadParameter(
            f"--time: expected seconds or a duration such as 90s, 10m or 1h30m, got `{text}`"
        ) from None
