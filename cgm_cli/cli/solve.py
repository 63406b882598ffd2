"""`cgm solve SPEC`: solve a problem and write its run folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cgm_cli.cli.options import AllowPython, Setting, Settings, overrides_of
from cgm_cli.cli.streams import OutputError, tell, tell_if_slow

if TYPE_CHECKING:
    from cgm_cli.methods.status import Status

SHORT = 1000
"""The longest solution vector that stands in the JSON output; run.h5 holds every one."""


Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object on standard output.")]
Live = Annotated[
    bool, typer.Option("--live", help="Curves in place of the table while it runs, in a terminal that can show them.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary: one line with the result.")]


def solve(
    spec: Annotated[
        Path,
        typer.Argument(
            metavar="SPEC",
            help="The spec, a YAML file, or - for standard input; or a data file that a spec is made of: a program "
            "(SDPA, CBF), a graph (G-set, DIMACS, graph6, GML, GraphML, Matrix Market, a list of edges), samples "
            "(LIBSVM).",
        ),
    ],
    changes: Settings = None,
    overrides: Setting = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the run into exactly this folder, new or empty.", show_default="runs/NAME/ID"),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Go on with the run in this folder; begin it there if it is new or empty."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    live: Live = False,
    allow_python: AllowPython = False,
) -> None:
    """Solve a problem and write its run folder. Progress goes to standard error.

    `cgm init --from FILE` shows the spec that is made of a data file.

    Exit codes: 0 done, 2 spec, 3 data file, 4 numerical failure, infeasible or disk, 75 preempted, 130 interrupted.
    """
    if out is not None and resume is not None:
        raise typer.BadParameter("a run goes on in its own folder: give either --out or --resume")
    run_command(spec, overrides_of(overrides, changes), out, json, quiet, resume, live)


def run_command(
    spec: Path | None,
    overrides: Sequence[str],
    out: Path | None,
    json: bool,
    quiet: bool,
    resume: Path | None,
    live: bool = False,
) -> None:
    """Solve or go on, and leave with the exit code of how it ended."""
    from cgm_cli.runs.signals import stop_on_signals

    # Before anything heavy is imported: a run that is told to leave in its first second leaves like any other.
    with stop_on_signals() as should_stop:
        try:
            _solve(spec, overrides, out, json, quiet, should_stop, resume, live)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


def _solve(
    spec: Path | None,
    overrides: Sequence[str],
    out: Path | None,
    json: bool,
    quiet: bool,
    should_stop: Callable[[], Status | None],
    resume: Path | None,
    live: bool,
) -> None:
    from contextlib import ExitStack

    from cgm_cli.display.console import Progress, error_console, result_line, show_result
    from cgm_cli.readers.kinds import recognise
    from cgm_cli.runs.execute import execute
    from cgm_cli.runs.files import to_json

    made = None if spec is None else recognise(spec)
    if made is not None and not quiet:
        tell(made.sentence)
    if not quiet:
        tell_if_slow()
    console = error_console()
    with ExitStack() as stack:
        outcome = execute(
            made or spec,
            overrides,
            out,
            lambda sense, rules: () if quiet else (stack.enter_context(Progress(sense, console, live, rules)),),
            should_stop,
            resume,
        )
    if quiet:
        pass
    elif outcome.result is None:
        left = "was left before its first step" if outcome.status.resumable else "has ended and has nothing left to do"
        tell(f"{outcome.run} {left}: {outcome.status.sentence}")
    else:
        show_result(console, outcome.result, outcome.summary, outcome.legend)
    code = outcome.status.exit_code
    text = ""
    if json:
        x = None if outcome.result is None else outcome.result.solution.get("x")
        short = {"x": x} if x is not None and x.ndim == 1 and x.size <= SHORT else {}
        text = to_json({**outcome.summary, **short}) + "\n"
    elif quiet:
        text = result_line(outcome.summary) + "\n"
    if text:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError as error:
            # Of a run that was told to leave, that is what the exit code tells.
            raise OutputError(error, code) from None
    if outcome.fault is not None:
        # The result above holds, so that this is not the error of one that there is none of.
        tell(outcome.fault.message)
        raise typer.Exit(outcome.fault.exit_code)
    raise typer.Exit(code)
