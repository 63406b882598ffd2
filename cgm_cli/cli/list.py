"""`cgm list`: what there is to build a spec of."""

from __future__ import annotations

from itertools import chain
from typing import Annotated

import typer

from cgm_cli.cli.options import Json
from cgm_cli.text import did_you_mean


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
    from cgm_cli.spec.summaries import FAMILIES, summaries

    known = {family: summaries(family) for family in FAMILIES}
    found = {family: lines for family, lines in known.items() if name in (None, family)}
    if not found:
        found = {family: {name: lines[name]} for family, lines in known.items() if name in lines}
        verbose = True
    if not found:
        hint = did_you_mean(name or "", [*FAMILIES, *chain(*known.values())])
        raise typer.BadParameter(f"nothing is called `{name}`" + (f"; {hint}" if hint else ""), param_hint="NAME")
    if json:
        _print_json(found)
        return
    width = max(14, *map(len, chain(*found.values())))
    for number, (family, lines) in enumerate(found.items()):
        typer.echo(("\n" if number else "") + family)
        for member, line in lines.items():
            typer.echo(f"  {member:<{width}}  {line}")
            if verbose:
                _print_parameters(family, member)


def _print_json(found: dict[str, dict[str, str]]) -> None:
    import json

    from cgm_cli.spec.catalogue import entry

    entries = [entry(family, member).as_dict() for family, lines in found.items() for member in lines]
    typer.echo(json.dumps(entries, indent=2))


def _print_parameters(family: str, name: str) -> None:
    from cgm_cli.spec import catalogue
    from cgm_cli.spec.load import one_line

    entry = catalogue.entry(family, name)
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
