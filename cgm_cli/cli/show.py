"""`cgm show SPEC`: the spec with every default filled in, and with --expanded the blocks it stands for.

`cgm show RUN`: what was run and how it ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cgm_cli.cli import completion
from cgm_cli.cli.options import AllowPython, Json, Setting, Settings, overrides_of

if TYPE_CHECKING:
    from cgm_cli.solving.presets import Chosen
    from cgm_cli.spec.model import Spec


def show(
    spec: Annotated[
        Path,
        typer.Argument(
            metavar="SPEC|RUN",
            help="A spec, a YAML file, or - for standard input; or a run, by folder, name, `latest` or beginning.",
            autocompletion=completion.specs_and_runs,
        ),
    ],
    changes: Settings = None,
    overrides: Setting = None,
    allow_python: AllowPython = False,
    expanded: Annotated[
        bool, typer.Option("--expanded", help="Build the problem and print the blocks it is composed of.")
    ] = False,
    lines: Annotated[
        int, typer.Option(min=0, metavar="N", help="Of a run: the last N rows, and lines of its log.")
    ] = 5,
    json: Json = False,
) -> None:
    """Show a spec with every default, or a run.

    Of a SPEC the output is a spec itself, and says in comments which policies its method comes to, and why. Of a RUN:
    what was run, how it ended, and its last rows.
    """
    given = overrides_of(overrides, changes)
    if not _is_spec(spec):
        if given or expanded:
            raise typer.BadParameter("KEY=VALUE and --expanded are for specs; a run is shown as it is")
        from cgm_cli.cli.find import find_run

        _show_run(find_run(spec), lines, json)
        return
    from cgm_cli.readers.kinds import recognise
    from cgm_cli.spec.load import described, dump, load, loads, resolved

    made = recognise(spec)
    loaded = load(spec, given) if made is None else loads(made.text, given)
    if expanded:
        from cgm_cli.cli.plain import plain
        from cgm_cli.templates.build import build

        with described(loaded):
            blocks = plain(build(loaded).problem.describe())
        if json:
            _print_object(blocks)
        else:
            _print(dump(blocks))
        return
    choice, why_not = _chosen(loaded)
    if json:
        _print_object({"spec": loaded.model_dump(by_alias=True), "method": _as_object(choice)})
    else:
        _print(resolved(loaded) + "\n" + _policies(loaded, choice, why_not))


def _is_spec(path: Path) -> bool:
    """Whether the word names a spec, be it there or not, rather than a run."""
    if path.suffix in (".h5", ".hdf5") or path.is_dir():
        return False
    return path.suffix.lower() in (".yaml", ".yml") or path == Path("-") or os.path.lexists(path)


def _chosen(spec: Spec) -> tuple[Chosen | None, str]:
    """The policies that the method of a spec comes to; None where its data cannot be had, and why."""
    from cgm_cli.errors import CgmError
    from cgm_cli.templates.build import build

    try:
        return build(spec).choice, ""
    except CgmError as error:
        return None, error.message.partition("\n")[0]


def _as_object(choice: Chosen | None) -> dict[str, Any] | None:
    if choice is None:
        return None
    policies = {
        family: {"policy": each.policy.written(), "because": each.why} for family, each in choice.policies.items()
    }
    return {"name": choice.name, "beta0": choice.beta0, "policies": policies}


def _policies(spec: Spec, choice: Chosen | None, why_not: str) -> str:
    """The policies of a spec as comments, one a line."""
    from cgm_cli.spec.load import one_line

    if choice is None:
        return f"# The policies of `method: {spec.solver.method}` are chosen with the problem at hand: {why_not}\n"
    lines = [f"# `method: {spec.solver.method}` comes to {choice.name}, with beta0 = {choice.beta0:g} and"]
    for family, each in choice.policies.items():
        lines.append(f"#   {family + ':':<12}{one_line(each.policy.written())}  ({each.why})")
    return "\n".join([*lines, ""])


def _show_run(path: Path, lines: int, json: bool) -> None:
    from cgm_cli.reports.overview import as_object, print_overview
    from cgm_cli.runs.load import load_run

    run = load_run(path)
    if json:
        _print_object(as_object(run, lines))
        return
    from rich.console import Console

    print_overview(run, Console(highlight=False), lines)


def _print_object(value: Any) -> None:
    from cgm_cli.runs.files import to_json

    typer.echo(to_json(value, indent=2))


def _print(text: str) -> None:
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    from rich.console import Console
    from rich.syntax import Syntax

    Console().print(Syntax(text, "yaml", background_color="default", word_wrap=True))
