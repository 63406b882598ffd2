"""`cgm init`: a commented spec to begin with, of a template, of a data file, or of a template and a data file.

Without either, somebody at a terminal is asked what there is, and what is wanted.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cgm_cli.cli import completion
from cgm_cli.cli.streams import tell

if TYPE_CHECKING:
    from rich.console import Console

COMPOSED = "composed"
"""What stands in place of a template for a problem that is made of blocks."""


def init(
    template: Annotated[
        str | None,
        typer.Argument(
            metavar="TEMPLATE",
            help="A template (`cgm list templates`), or `composed` for a problem of one's own blocks.",
            autocompletion=completion.templates,
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FILE", help="The data file that the spec is to name; alone, it says what it is."
        ),
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
    """Write a commented spec of a template, of a data file, or of both. It runs as it stands."""
    from cgm_cli.errors import ProblemError
    from cgm_cli.readers.files import FILE, NOTHING, file_kind
    from cgm_cli.readers.kinds import spec_name
    from cgm_cli.runs.files import refusal, replacing

    if template is None and source is None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise typer.BadParameter("give a template, or a data file with --from, or both", param_hint="TEMPLATE")
        try:
            template, source = _asked()
        except EOFError:
            raise ProblemError("nothing was answered, and nothing is written") from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
    path = out
    if source is not None:
        path = path or Path(f"{spec_name(source)}.yaml")
        text = _of_file(source, template, Path() if path == Path("-") else path.parent)
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
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise refusal(f"{path} cannot be written: {error.strerror}", error) from None
    named = shlex.quote(str(path))
    tell(f"wrote {path}; `cgm check {named}` checks it, `cgm solve {named}` solves it")


def _asked() -> tuple[str, Path | None]:
    """A template and a file, by two or three questions on standard error."""
    from rich.prompt import Prompt

    from cgm_cli.readers.own_data import IN_WORDS, uses

    kinds = list(IN_WORDS)
    data = _chosen("What do you have?", [*IN_WORDS.values(), "nothing yet: an example to change"])
    if data == len(kinds):
        return COMPOSED, None
    found = uses(kinds[data])
    template = list(found)[_chosen("What is wanted?", [f"{use.purpose} ({name})" for name, use in found.items()])]
    return template, Path(Prompt.ask("The file", console=_console()).strip())


def _chosen(question: str, answers: list[str]) -> int:
    """Which of the answers somebody takes, from 0. There is no question where there is one answer."""
    from rich.prompt import IntPrompt

    if len(answers) == 1:
        return 0
    tell(question)
    for number, answer in enumerate(answers, start=1):
        tell(f"  {number}  {answer}")
    numbers = [str(number) for number in range(1, len(answers) + 1)]
    return IntPrompt.ask("Number", choices=numbers, show_choices=False, console=_console()) - 1


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True)


def _of_template(template: str) -> str:
    if template == COMPOSED:
        from cgm_cli.spec.composed import COMPOSED_SPEC

        return COMPOSED_SPEC
    from cgm_cli.spec.skeleton import skeleton

    return skeleton(_known(template))


def _known(template: str) -> str:
    """The template, if it is one. BadParameter with the nearest."""
    from cgm_cli.spec import registry
    from cgm_cli.text import did_you_mean

    known = [*registry.FAMILIES["template"], COMPOSED]
    if template not in known:
        hint = did_you_mean(template, known) or f"one of: {', '.join(known)}"
        raise typer.BadParameter(f"unknown template `{template}`; {hint}", param_hint="TEMPLATE")
    return template


def _of_file(source: Path, template: str | None, folder: Path) -> str:
    """The spec of a data file, for a spec in that folder."""
    from cgm_cli.errors import DataError
    from cgm_cli.readers.context import data_folders
    from cgm_cli.readers.files import FILE, NOTHING, file_kind
    from cgm_cli.readers.kinds import data_file, made_for, recognise

    template = None if template is None else _known(template)
    source = data_file(source)
    found = file_kind(source)
    if found != FILE:
        nowhere = found == NOTHING and not source.is_absolute()
        looked = f"; looked in {', '.join(map(str, (Path(), *data_folders(None))))}" if nowhere else ""
        raise DataError(f"{source}: there is {found}, and a data file is needed{looked}")
    made = recognise(source, folder) if template is None else made_for(template, source, folder)
    if made is None:
        raise DataError(f"{source}: is a spec, or empty; a data file is needed")
    tell(made.sentence)
    return made.text
