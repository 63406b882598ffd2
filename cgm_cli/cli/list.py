"""`cgm list`: what there is to build a spec of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cgm_cli.cli.options import Json

if TYPE_CHECKING:
    from cgm_cli.spec.catalogue import Entry


def list_blocks(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="FAMILY|NAME",
            help="templates, domains, losses, penalties, sets, maps or methods; or the name of one of their members.",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="With the parameters of each.")] = False,
    json: Json = False,
) -> None:
    """List what specs are built of. With a NAME, its parameters, and the figures that a template computes."""
    from cgm_cli.spec.catalogue import FAMILIES, entries
    from cgm_cli.text import did_you_mean

    found = [entry for family in FAMILIES if name in (None, family) for entry in entries(family)]
    if not found:
        every = [entry for family in FAMILIES for entry in entries(family)]
        found, verbose = [entry for entry in every if entry.name == name], True
        if not found:
            hint = did_you_mean(name or "", [*FAMILIES, *(entry.name for entry in every)])
            raise typer.BadParameter(f"nothing is called `{name}`" + (f"; {hint}" if hint else ""), param_hint="NAME")
    if json:
        import json as encoder

        typer.echo(encoder.dumps([entry.as_dict() for entry in found], indent=2))
        return
    width = max(14, *(len(entry.name) for entry in found))
    for number, entry in enumerate(found):
        if number == 0 or entry.family != found[number - 1].family:
            typer.echo(("\n" if number else "") + entry.family)
        typer.echo(f"  {entry.name:<{width}}  {entry.description}")
        if verbose:
            _print_parameters(entry)


def _print_parameters(entry: Entry) -> None:
    from cgm_cli.spec.load import one_line

    for parameter in entry.parameters:
        default = ""
        if parameter.required:
            default = ", required"
        elif parameter.default is not None:
            default = f", default {one_line(parameter.default)}"
        typer.echo(f"      {parameter.name}: {parameter.type}{default}")
        if parameter.description:
            typer.echo(f"          {parameter.description}")
    for metric in entry.metrics:
        typer.echo(f"      metric {metric.name}" + (f": {metric.better} is better" if metric.better else ""))
        typer.echo(f"          {metric.description}")
    if entry.examples:
        typer.echo(f"      for example {one_line(entry.examples[0])}")
