"""`cgm init TEMPLATE`, `cgm init --from FILE`: a commented spec to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from cgm_cli.cli import completion
from cgm_cli.cli.streams import tell


def init(
    template: Annotated[
        str | None,
        typer.Argument(
            metavar="TEMPLATE", help="A template; `cgm list templates`.", autocompletion=completion.templates
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Instead, the data file that `cgm solve` would make the spec of."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write; - for standard output.",
            show_default="TEMPLATE.yaml, or as the data file is called",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")] = False,
) -> None:
    """Write a commented spec of a template, or of a data file. It runs as it stands."""
    from cgm_cli.errors import ProblemError
    from cgm_cli.readers.files import FILE, NOTHING, file_kind
    from cgm_cli.readers.kinds import spec_name
    from cgm_cli.runs.files import refusal, replacing

    if (template is None) == (source is None):
        raise typer.BadParameter("give either a template, or a data file with --from", param_hint="TEMPLATE")
    path = out
    if source is not None:
        path = path or Path(f"{spec_name(source)}.yaml")
        text = _of_file(source, Path() if path == Path("-") else path.parent)
    else:
        assert template is not None
        path = path or Path(f"{template}.yaml")
        text = _of_template(template)
    if path == Path("-"):
        typer.echo(text, nl=False)
        return
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


def _of_template(template: str) -> str:
    from cgm_cli.spec import registry
    from cgm_cli.spec.skeleton import skeleton
    from cgm_cli.text import did_you_mean

    known = list(registry.FAMILIES["template"])
    if template not in known:
        hint = did_you_mean(template, known) or f"one of: {', '.join(known)}"
        raise typer.BadParameter(f"unknown template `{template}`; {hint}", param_hint="TEMPLATE")
    return skeleton(template)


def _of_file(source: Path, folder: Path) -> str:
    """The spec of a data file, for a spec in that folder."""
    from cgm_cli.errors import DataError
    from cgm_cli.readers.files import FILE, file_kind
    from cgm_cli.readers.kinds import recognise

    found = file_kind(source)
    if found != FILE:
        raise DataError(f"{source}: there is {found}, and a data file is needed")
    made = recognise(source, folder)
    if made is None:
        raise DataError(f"{source}: is a spec, or empty; a data file is needed")
    tell(made.sentence)
    return made.text
