"""`cgm certify POINTS --clusters K`: how far a clustering, or a cut, is from the best possible one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cgm_cli.cli.options import Json
from cgm_cli.cli.streams import tell

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
Cut = Annotated[Path | None, typer.Option(help="A file with the side of each node of the graph, a line each.")]
Within = Annotated[str | None, typer.Option(help="How near the best is near enough: 2% or 0.02.")]
Time = Annotated[str, typer.Option(help="The time there is: 60s, 10m, 1h.")]
Failure = Annotated[float, typer.Option(help="The probability with which a proof by samples may fail.")]
Out = Annotated[Path | None, typer.Option(help="Write the cluster of each point to this file, a line each.")]


def certify(
    data: Data,
    clusters: Clusters = None,
    labels: Labels = None,
    cut: Cut = None,
    within: Within = None,
    time: Time = "60s",
    failure: Failure = 1e-3,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 0,
    out: Out = None,
    json: Json = False,
) -> None:
    """Prove how far a clustering, or a cut, is from the best.

    Up to 2000 points the proof is certified; of more, by random subsets, it holds but for the probability of --failure.

    Exit codes: 0 done, 2 usage, 3 data file, 130 interrupted: then, what was proven so far is told.
    """
    from cgm_cli.runs.signals import stop_on_signals

    share, seconds = _share(within), _seconds(time)
    if (cut is None) == (clusters is None and labels is None):
        raise typer.BadParameter("give --clusters or --labels for points, or --cut for a graph")
    with stop_on_signals() as request:
        try:
            from cgm_cli.certificates.cuts import certify_cut
            from cgm_cli.certificates.labels import read_labels, read_points, write_labels
            from cgm_cli.certificates.points import certify as certify_points

            def asked() -> bool:
                return request() is not None

            if cut is not None:
                found = certify_cut(data, cut, share, seconds, seed, asked)
            else:
                found = certify_points(
                    read_points(data),
                    None if labels is None else read_labels(labels),
                    clusters,
                    within=share,
                    time=seconds,
                    failure=failure,
                    seed=seed,
                    asked=asked,
                    tell=tell,
                )
            if out is not None:
                write_labels(out, found.labels)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
    _show(found, json)
    if found.interrupted:
        raise typer.Exit(130)


def _show(found: Certificate, json: bool) -> None:
    if json:
        from cgm_cli.runs.files import to_json

        typer.echo(to_json(found.as_dict()))
        return
    bound = "upper bound" if found.what == "cut" else "lower bound"
    drawn = f", by {found.samples} subsets of {found.size} points" if found.size else ""
    typer.echo(f"value: {found.value:.10g}\n{bound}: {found.bound:.10g}{drawn}")
    typer.echo(found.sentence)


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
