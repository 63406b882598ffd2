"""`cgm show SPEC`: the spec with every default filled in, and with --expanded the blocks it stands for."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cgm_cli.cli.options import Overrides, SpecPath


def show(
    spec: SpecPath,
    overrides: Overrides = None,
    expanded: Annotated[
        bool, typer.Option("--expanded", help="Build the problem and print the blocks it is composed of.")
    ] = False,
) -> None:
    """Print the spec with every default filled in. The output is a spec itself."""
    from cgm_cli.spec.load import described, dump, load, resolved

    loaded = load(spec, overrides or ())
    if not expanded:
        _print(resolved(loaded))
        return
    from cgm_cli.cli.plain import plain
    from cgm_cli.templates.build import build

    with described(loaded):
        _print(dump(plain(build(loaded).problem.describe())))


def _print(text: str) -> None:
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    from rich.console import Console
    from rich.syntax import Syntax

    Console().print(Syntax(text, "yaml", background_color="default", word_wrap=True))
