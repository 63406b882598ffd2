"""`cgm export RUN`: an array of the solution in a file that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cgm_cli.cli.options import Json, RunName
from cgm_cli.cli.streams import tell

if TYPE_CHECKING:
    from cgm_cli.runs.load import Run

SHOWN = 20
"""The most blocks whose eigenvalues are told."""


def export(
    run: RunName,
    solution: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to: a .npy, .mat or .csv file, an image, .png, or .sol.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which array; left out: x. A name that does not exist lists them."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            "--predict",
            metavar="FILE",
            help="A table with a row and a column of x a line, by the ids of ratings, else by their numbers from 1: "
            "only these entries are written, into a .csv file.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The answer as a .csv table, a line for each node, point or feature, by the name that it has in the "
            "data: the side of a cut, the cluster, whether it is in the independent set, the coefficient.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")] = False,
    json: Json = False,
) -> None:
    """Write an array of a solution to a file, or the answer as a table.

    A matrix that the run keeps in factors is written out where that fits into memory. A recovered image is written to
    .png or .tif as the one that was given, colours of 16 bits to .tif alone; of any other array the smallest entry is
    black and the largest white, and what is unknown transparent. `duals/TERM` are the multipliers of the bound,
    `duals/trace` is that of the trace, y_t, and `slack` the matrix C + sum A_i^T y_i + y_t I that they make, which is
    semidefinite; a .sol file has them, and X, as CSDP writes them. Of `--predict` x is not written out, and what a run
    does not know is left blank.
    """
    from cgm_cli.cli.find import find_run
    from cgm_cli.reports.arrays import available
    from cgm_cli.runs.load import load_run

    if table is None and solution is None and not (name or pairs):
        found = load_run(find_run(run))
        raise typer.BadParameter(
            f"say where to: --table FILE.csv for the answer, or --solution FILE for an array; {found.path} has "
            f"{', '.join(available(found.solution, found.duals)) or 'none'}",
            param_hint="--solution",
        )
    if (table is None) == (solution is None) or (table is not None and (name or pairs)):
        raise typer.BadParameter("say where to, by --table alone or by --solution", param_hint="--solution")
    found = load_run(find_run(run))
    wrote = {"run": str(found.path), **_written(found, solution, name, pairs, table, force)}
    if json:
        from cgm_cli.runs.files import to_json

        typer.echo(to_json(wrote))
        return
    tell(f"wrote {wrote['file']}: {wrote['holds']}")
    if least := wrote.get("least_eigenvalues"):
        shown = ", ".join(f"{value:.3g}" for value in least[:SHOWN]) + (", ..." if len(least) > SHOWN else "")
        tell(f"smallest eigenvalue of each block: {shown}")


def _written(
    run: Run, solution: Path | None, name: str | None, pairs: Path | None, table: Path | None, force: bool
) -> dict[str, Any]:
    """Write the file, and say what it holds: in words, and an array by its name and shape."""
    from cgm_cli.errors import ProblemError
    from cgm_cli.reports.arrays import SOLUTION, chosen, write_array, write_photo, write_solution
    from cgm_cli.reports.conic import least_of_blocks
    from cgm_cli.reports.images import FORMATS, TIFF
    from cgm_cli.reports.listing import write_listing
    from cgm_cli.reports.predictions import predict, write_predictions

    if table is not None:
        return {"file": table, "holds": write_listing(table, run, force)}
    assert solution is not None
    ending = solution.suffix.lower()
    if pairs is not None:
        if name is not None:
            raise ProblemError("--predict is about x: leave --name out.")
        predictions = predict(run, pairs)
        write_predictions(solution, predictions, force)
        return {"file": solution, "holds": predictions.sentence}
    if name is None and ending == SOLUTION:
        write_solution(solution, run, force)
        return {"file": solution, "holds": "the duals, their slack, and X"}
    if name in (None, "recovered") and ending in (*FORMATS, *TIFF) and (size := write_photo(solution, run, force)):
        return {"file": solution, "holds": f"the recovered image, {size}"}
    label, array = chosen(run, name)
    write_array(solution, label, array, force)
    size = " x ".join(map(str, array.shape)) or "one number"
    wrote = {"file": solution, "holds": f"{label}, {size}", "array": label, "shape": array.shape}
    least = least_of_blocks(run, array) if label == "slack" else None
    return {**wrote, "least_eigenvalues": least} if least else wrote
