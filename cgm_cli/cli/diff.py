"""`cgm diff RUN RUN`: what two runs have not in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cgm_cli.cli.options import Json, RunName

if TYPE_CHECKING:
    from cgm_cli.reports.difference import Difference

_WIDEST = 44


def diff(
    left: RunName,
    right: RunName,
    everything: Annotated[bool, typer.Option("--all", help="Also what is the same in both.")] = False,
    json: Json = False,
) -> None:
    """Show what two runs differ in: specs, results, versions.

    Exit codes: 0 shown, whether they differ or not; 3 a run cannot be read.
    """
    from cgm_cli.cli.find import find_run
    from cgm_cli.reports.difference import as_dict, differences
    from cgm_cli.reports.entry import read_entry

    lines = differences(read_entry(find_run(left)), read_entry(find_run(right)))
    lines = [line for line in lines if everything or line.differs]
    if json:
        from cgm_cli.runs.files import to_json

        typer.echo(to_json(as_dict(lines), indent=2))
    elif lines:
        _print(lines)
    else:
        typer.echo("The runs do not differ in anything that is compared; --all shows it.")


def _print(lines: list[Difference]) -> None:
    from rich.console import Console
    from rich.text import Text

    from cgm_cli.reports.cells import clipped
    from cgm_cli.reports.difference import shown

    console = Console(highlight=False)
    cells = [
        (clipped(line.key), clipped(shown(line.left), _WIDEST), clipped(shown(line.right), _WIDEST)) for line in lines
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    section = ""
    for line, (key, one, other) in zip(lines, cells, strict=True):
        if line.section != section:
            section = line.section
            console.print(Text(section, "bold"))
        text = f"  {key:<{widths[0]}}  {one:<{widths[1]}}  {other:<{widths[2]}}  {line.change}".rstrip()
        console.print(Text(text, "" if line.differs else "dim"), soft_wrap=True)
