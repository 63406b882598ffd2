"""`cgm verify RUN`: recompute what a run claims from what it saved."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from cgm_cli.cli.options import AllowPython, Json, RunName

if TYPE_CHECKING:
    from cgm_cli.verify.report import CheckedClaim, Report


def verify(
    run: RunName,
    json: Json = False,
    allow_python: AllowPython = False,
) -> None:
    """Recompute what a run claims. The figures come from its solution and duals, by formulas of their own.

    Exit codes: 0 no claim fails, 3 the run or its data cannot be read, 4 a claim fails.
    """
    from cgm_cli.cli.find import find_run
    from cgm_cli.verify.check import verify as check

    report = check(find_run(run))
    if json:
        from cgm_cli.runs.files import to_json

        typer.echo(to_json(report.as_dict(), indent=2))
    elif sys.stdout.isatty():
        _print_table(report)
    else:
        for row in report.rows:
            typer.echo(_line(row))
        for message in [*report.messages, report.sentence()]:
            typer.echo(message)
    raise typer.Exit(0 if report.holds else 4)


def _cells(row: CheckedClaim) -> tuple[str, str, str]:
    claimed, recomputed = ("-" if value is None else f"{value:.10g}" for value in (row.claimed, row.recomputed))
    return claimed, recomputed, "-" if row.difference is None else f"{row.difference:.1e}"


def _line(row: CheckedClaim) -> str:
    claimed, recomputed, difference = _cells(row)
    numbers = "" if claimed == recomputed == "-" else f"claimed {claimed}  recomputed {recomputed}  "
    numbers += "" if difference == "-" else f"difference {difference}  "
    return f"{row.quantity}: {numbers}{row.verdict.value}" + (f" ({row.note})" if row.note else "")


def _print_table(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from cgm_cli.verify.report import Verdict

    styles = {Verdict.HOLDS: "green", Verdict.FAILS: "bold red", Verdict.UNCHECKED: "dim"}
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("quantity", overflow="fold")
    for heading in ("claimed", "recomputed", "difference"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    for row in report.rows:
        verdict = row.verdict.value + (f": {row.note}" if row.note and row.verdict is not Verdict.HOLDS else "")
        # Text, because a term may have brackets in its name.
        table.add_row(Text(row.quantity), *_cells(row), Text(verdict, style=styles.get(row.verdict, "yellow")))
    console = Console(highlight=False)
    console.print(table)
    for message in [*report.messages, report.sentence()]:
        console.print(Text(message))
