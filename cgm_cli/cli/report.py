"""`cgm report PATH...`: compare runs, in the terminal, on a page, or in figures and tables for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cgm_cli.cli.options import Json
from cgm_cli.cli.streams import tell

_TOLD = 6


def report(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Run folders, folders of runs, or patterns of them.")
    ],
    sort: Annotated[
        str | None, typer.Option(metavar="KEY", help="Order by a parameter or figure; -KEY: descending.")
    ] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="EXPRESSION", help='KEY OP VALUE, e.g. "beta0<1"; repeatable.'),
    ] = None,
    best: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Only the best by this figure; min:METRIC, max:METRIC.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one page with everything in it; opens from disk.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write figures for a paper into this folder.")
    ] = None,
    kinds: Annotated[
        str, typer.Option("--format", metavar="LIST", help="Of the figures: pdf, png, svg, with commas between.")
    ] = "pdf",
    latex: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a table for LaTeX (booktabs); - for standard output.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a table of all figures; - for standard output.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare runs. Shows what varies, what came of it, and who is missing.

    A key is a dotted parameter of the spec (solver.beta0), its last part where that is unambiguous (beta0), or a figure
    of the result (objective, bound, gap, infeasibility, iterations, seconds, status, a metric). Exit codes: 0 shown, 2
    usage, 3 there is no run to show.
    """
    from cgm_cli.reports.collect import collect
    from cgm_cli.reports.query import filtered, ordered
    from cgm_cli.reports.ranking import asked_best

    # Before anything is read: a word that is wrong is told at once.
    chosen = _formats(kinds) if figures is not None else []
    found = collect(paths)
    entries = ordered(filtered(found.entries, filters or ()), sort) if found.entries else []
    if best is not None and entries:
        entries = asked_best(best, entries)
    written: list[Path] = []
    if html is not None:
        from cgm_cli.reports.html import page

        _write(html, page(entries, found.faults), written)
    if figures is not None:
        from cgm_cli.reports.figures import write_figures

        written += write_figures(entries, figures, chosen)
    if latex is not None:
        from cgm_cli.reports.latex import as_latex

        _write(latex, as_latex(entries), written)
    if csv is not None:
        from cgm_cli.reports.plain import as_csv

        _write(csv, as_csv(entries), written)
    if json:
        from cgm_cli.reports.plain import as_json

        typer.echo(as_json(entries, found.faults))
    elif Path("-") not in (csv, latex):
        from rich.console import Console

        from cgm_cli.reports.table import print_report

        print_report(entries, found.faults, Console(highlight=False))
    for path in written[:_TOLD]:
        tell(f"wrote {path}")
    if len(written) > _TOLD:
        tell(f"and {len(written) - _TOLD} files more")
    raise typer.Exit(0 if found.entries else 3)


def _formats(text: str) -> list[str]:
    from cgm_cli.reports.figures import formats

    return formats(text)


def _write(path: Path, text: str, written: list[Path]) -> None:
    if path == Path("-"):
        typer.echo(text, nl=False)
        return
    from cgm_cli.reports.output import write_text

    write_text(path, text)
    written.append(path)
