"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SpecPath = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a YAML file.")]
RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run: its folder, its name, `latest`, a beginning of its name or id, or SWEEP/NUMBER.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the spec, e.g. solver.beta0=0.5; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
