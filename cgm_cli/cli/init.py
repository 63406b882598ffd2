"""`cgm init TEMPLATE`: a commented spec to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cgm_cli.cli.streams import tell
from cgm_cli.errors import CgmError


class FileError(CgmError):
    """A file that the user named cannot be written."""

    exit_code = 2


def init(
    template: Annotated[str, typer.Argument(metavar="TEMPLATE", help="A template; `cgm list templates`.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write; - for standard output.", show_default="TEMPLATE.yaml"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")] = False,
) -> None:
    """Write a commented spec of a template. It runs as it stands."""
    from cgm_cli.blocks import registry
    from cgm_cli.spec.faults import did_you_mean
    from cgm_cli.spec.skeleton import skeleton

    known = list(registry.FAMILIES["template"])
    if template not in known:
        hint = did_you_mean(template, known) or f"one of: {', '.join(known)}"
        raise typer.BadParameter(f"unknown template `{template}`; {hint}", param_hint="TEMPLATE")
    text = skeleton(template)
    if out == Path("-"):
        typer.echo(text, nl=False)
        return
    path = out if out is not None else Path(f"{template}.yaml")
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise FileError(f"{path} exists; --force overwrites it") from None
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}") from None
    tell(f"wrote {path}; `cgm check {path}` checks it, `cgm solve {path}` solves it")
