"""`cgm report PATH...`: compare runs, in the terminal, on a page, or in figures and tables for a paper."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cgm_cli.cli import completion
from cgm_cli.cli.options import Json
from cgm_cli.cli.streams import tell
from cgm_cli.text import counted

if TYPE_CHECKING:
    from cgm_cli.reports.collect import Collection, Unreadable

_TOLD = 6
_STDOUT = Path("-")


def report(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Runs, folders of them, sweeps, patterns; a name stands for all its runs.",
            autocompletion=completion.runs,
        ),
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
        str | None,
        typer.Option(
            "--format",
            metavar="LIST",
            help="Of the figures: pdf, png, svg, with commas between.",
            show_default="pdf",
        ),
    ] = None,
    latex: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a table for LaTeX (booktabs); - for standard output.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a table of all figures; - for standard output.")
    ] = None,
    json: Json = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Write the page again whenever the runs have changed, until all have ended.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files, too, that no report of cgm has written.")
    ] = False,
) -> None:
    """Compare runs. Shows what varies, what came of it, and who is missing.

    A key is a dotted parameter of the spec (solver.beta0), its last part where that is unambiguous (beta0), or a figure
    of the result (objective, bound, gap, infeasibility, iterations, seconds, status, a metric). Exit codes: 0 shown, 2
    usage, 3 there is no run to show, 4 a file cannot be written.
    """
    from cgm_cli.reports.query import filtered, ordered
    from cgm_cli.reports.ranking import asked_best, best_first

    # Before anything is read: a word that is wrong is told at once.
    if kinds is not None and figures is None:
        raise typer.BadParameter("--format is that of figures: write --figures DIR as well")
    chosen = _formats("pdf" if kinds is None else kinds) if figures is not None else []
    if watch and (html is None or html == _STDOUT or json or any((figures, latex, csv, best))):
        raise typer.BadParameter("--watch is that of a page in a file: write --html FILE, and no other output")
    files = [path for path in (html, latex, csv) if path is not None]
    _check(files, json, force)
    if watch and html is not None:
        from cgm_cli.reports.watch import follow

        shown = follow(lambda: _found(paths), filters or (), sort, html, force, tell)
        raise typer.Exit(0 if shown else 3)
    found = _found(paths)
    entries = ordered(filtered(found.entries, filters or ()), sort) if found.entries else []
    if best is not None and entries:
        entries = asked_best(best, entries)
    written: list[Path] = []
    # In a legend, and among the eight that have a style, the best come first, unless another order was asked for.
    ranked = best_first(entries) if sort is None else entries
    if html is not None:
        from cgm_cli.reports.html import page

        _write(html, page(ranked, found.faults), written, force)
    if figures is not None:
        from cgm_cli.reports.figures import write_figures

        written += write_figures(ranked, figures, chosen, force)
    if latex is not None:
        from cgm_cli.reports.latex import as_latex

        _write(latex, as_latex(entries), written, force)
    if csv is not None:
        from cgm_cli.reports.plain import as_csv

        _write(csv, as_csv(entries), written, force)
    if json:
        from cgm_cli.errors import DataError
        from cgm_cli.reports.plain import as_json

        if not entries:
            raise DataError(_nothing(found))
        typer.echo(as_json(entries, found.faults))
    elif _STDOUT not in files:
        from rich.console import Console

        from cgm_cli.reports.table import print_report

        print_report(entries, found.faults, Console(highlight=False))
    for path in written[:_TOLD]:
        tell(f"wrote {path}")
    if len(written) > _TOLD:
        tell(f"and {counted(len(written) - _TOLD, 'file')} more")
    if found.entries and not entries and not json:
        tell(_nothing(found))
    raise typer.Exit(0 if entries else 3)


def _nothing(found: Collection) -> str:
    """Why there is no run to show."""
    from cgm_cli.errors import MOST_TOLD, told

    if found.entries:
        return f"--filter leaves none of {counted(len(found.entries), 'run')}"
    faults = [f"{fault.path}: {fault.reason}" for fault in found.faults]
    return told(faults[:MOST_TOLD], len(faults[MOST_TOLD:])) or "there is no run"


def _found(paths: Sequence[str]) -> Collection:
    from cgm_cli.reports.collect import collect

    places, unknown = _places(paths)
    found = collect(places)
    found.faults.extend(unknown)
    return found


def _places(given: Sequence[str]) -> tuple[list[str], list[Unreadable]]:
    """Where the runs are: a path or pattern as it is, all runs of a name or sweep, else the one run meant; and the
    words that mean none.
    """
    from cgm_cli.cli.find import ROOT, find_run
    from cgm_cli.errors import CgmError
    from cgm_cli.reports.collect import Unreadable

    places: list[str] = []
    unknown: list[Unreadable] = []
    for word in given:
        named = ROOT / word
        if os.path.lexists(word) or glob.has_magic(word):
            places.append(word)
        elif named.is_dir():
            places.append(str(named))
        else:
            try:
                places.append(str(find_run(word)))
            except CgmError as error:
                unknown.append(Unreadable(Path(word), error.message))
    return places, unknown


def _check(files: Sequence[Path], json: bool, force: bool) -> None:
    """Every output has a place of its own, where nothing is lost. Raises ProblemError."""
    from cgm_cli.errors import ProblemError
    from cgm_cli.reports.output import ready

    places = [path if path == _STDOUT else ready(path, force).resolve() for path in files] + [_STDOUT] * json
    if len(set(places)) < len(places):
        twice = next(place for place in places if places.count(place) > 1)
        where = "standard output" if twice == _STDOUT else twice
        raise ProblemError(f"Two things are to be written to {where}: each needs a place of its own.")


def _formats(text: str) -> list[str]:
    from cgm_cli.reports.figures import formats

    return formats(text)


def _write(path: Path, text: str, written: list[Path], force: bool) -> None:
    if path == _STDOUT:
        typer.echo(text, nl=False)
        return
    from cgm_cli.reports.output import write_text

    write_text(path, text, force)
    written.append(path)
