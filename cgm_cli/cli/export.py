"""`cgm export RUN`: an array of the solution in a file that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cgm_cli.cli.streams import tell


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    solution: Annotated[
        Path, typer.Option(metavar="FILE", help="Where to: a .npy, .mat or .csv file, or an image, .png.")
    ],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which array; left out: x. A name that does not exist lists them."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")] = False,
) -> None:
    """Write an array of a solution to a file.

    A matrix that the run keeps in factors is written out where that fits into memory. In an image the smallest entry is
    black and the largest white; what is unknown is transparent.
    """
    from cgm_cli.reports.arrays import chosen, write_array
    from cgm_cli.runs.load import load_run

    label, array = chosen(load_run(run), name)
    write_array(solution, label, array, force)
    size = " x ".join(map(str, array.shape)) or "one number"
    tell(f"wrote {solution}: {label}, {size}")
