"""`cgm init TEMPLATE`: a commented spec to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from cgm_cli.cli.streams import tell


def init(
    template: Annotated[str, typer.Argument(metavar="TEMPLATE", help="A template; `cgm list templates`.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write; - for standard output.", show_default="TEMPLATE.yaml"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")] = False,
) -> None:
    """Write a commented spec of a template. It runs as it stands."""
    from cgm_cli.errors import ProblemError
    from cgm_cli.readers.files import FILE, NOTHING, file_kind
    from cgm_cli.runs.files import refusal, replacing
    from cgm_cli.spec import registry
    from cgm_cli.spec.skeleton import skeleton
    from cgm_cli.text import did_you_mean

    known = list(registry.FAMILIES["template"])
    if template not in known:
        hint = did_you_mean(template, known) or f"one of: {', '.join(known)}"
        raise typer.BadParameter(f"unknown template `{template}`; {hint}", param_hint="TEMPLATE")
    text = skeleton(template)
    if out == Path("-"):
        typer.echo(text, nl=False)
        return
    path = out if out is not None else Path(f"{template}.yaml")
    found = file_kind(path)
    if found not in (FILE, NOTHING):
        raise ProblemError(f"{path} cannot be written: it is {found}")
    if found == FILE and not force:
        raise ProblemError(f"{path} exists; --force overwrites it")
    try:
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise refusal(f"{path} cannot be written: {error.strerror}", error) from None
    named = shlex.quote(str(path))
    tell(f"wrote {path}; `cgm check {named}` checks it, `cgm solve {named}` solves it")
