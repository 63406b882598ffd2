"""Arguments and options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cgm_cli.cli import completion

SpecPath = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a YAML file; - for standard input.")]
RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run: its folder, its name, `latest`, a beginning of its name or id, or SWEEP/NUMBER.",
        autocompletion=completion.runs,
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a value of the spec, e.g. solver.beta0=0.5; repeatable.",
        autocompletion=completion.changes,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        help="Change values of the spec, e.g. solver.beta0=0.5.",
        show_default=False,
        autocompletion=completion.changes,
    ),
]


def _allow(given: bool) -> bool:
    if given:
        os.environ["CGM_ALLOW_PYTHON"] = "1"  # so that the runs of a sweep know
    return given


AllowPython = Annotated[
    bool,
    typer.Option(
        "--allow-python", callback=_allow, help="Run Python functions that the spec names; or CGM_ALLOW_PYTHON=1."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


def overrides_of(options: Sequence[str] | None, arguments: Sequence[str] | None) -> list[str]:
    """The overrides of a command line: those of `--set`, then those without. Raises BadParameter for another word."""
    for word in arguments or ():
        if "=" not in word:
            raise typer.BadParameter(f"`{word}` is no KEY=VALUE, which is all that may follow here")
    return [*(options or ()), *(arguments or ())]
