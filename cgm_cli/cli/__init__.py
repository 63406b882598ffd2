"""The command line. A command imports what is heavy inside its function, so that `cgm --help` is instant."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cgm_cli import __version__
from cgm_cli.cli.certify import certify
from cgm_cli.cli.check import check
from cgm_cli.cli.diff import diff
from cgm_cli.cli.export import export
from cgm_cli.cli.init import init
from cgm_cli.cli.list import list_blocks
from cgm_cli.cli.report import report
from cgm_cli.cli.resume import resume
from cgm_cli.cli.schema import schema
from cgm_cli.cli.show import show
from cgm_cli.cli.solve import solve
from cgm_cli.cli.streams import OutputError, is_unwritable, open_closed, settle, tell
from cgm_cli.cli.sweep import app as sweep
from cgm_cli.cli.verify import verify
from cgm_cli.errors import CgmError, wrapped

if TYPE_CHECKING:
    from cgm_cli.spec.faults import Fault

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("solve")(solve)
app.command("resume")(resume)
app.command("check")(check)
app.command("show")(show)
app.command("list")(list_blocks)
app.command("init")(init)
app.command("schema")(schema)
app.command("verify")(verify)
app.command("certify")(certify)
app.add_typer(sweep, name="sweep")
app.command("report")(report)
app.command("diff")(diff)
app.command("export")(export)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"cgm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Composite convex optimisation with conditional-gradient methods."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process: 0, 2 for usage, or the exit code of the CgmError that was raised."""
    open_closed()
    try:
        code = _run(arguments)
    except OSError as error:
        if not is_unwritable(error):
            raise
        # A message that could not be written, about an error with an exit code of its own.
        code = getattr(error.__context__, "exit_code", 0) or _fail(OutputError(error))
    lost = settle(sys.stdout)
    if lost is not None and not code:
        code = _fail(OutputError(lost))
    settle(sys.stderr)
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int | str | None:
    asked = "--json" in (sys.argv[1:] if arguments is None else arguments)
    try:
        app(arguments, prog_name="cgm")
    except SystemExit as stop:
        # typer makes exit code 1 of a broken pipe.
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        # A fault of usage, which typer has told on standard error.
        if asked and stop.code and (message := getattr(stop.__context__, "format_message", None)) is not None:
            _print_object({"message": message(), "exit_code": stop.code})
        return stop.code
    except CgmError as error:
        # Standard output that could not be written takes no object either.
        if asked and not isinstance(error, OutputError):
            _print_error(error)
        return _fail(error)
    except MemoryError:
        tell("out of memory")
        return 4
    except KeyboardInterrupt:
        return 130
    except RuntimeError as error:
        if wrapped(error, KeyboardInterrupt) is None:
            raise
        return 130
    return 0


def _print_error(error: CgmError) -> None:
    """The object that a command with --json gives in place of its result."""
    told: dict[str, object] = {"message": error.message, "exit_code": error.exit_code}
    if error.faults:
        faults = [{"message": each.message, **_where(each), "hint": each.hint} for each in error.faults]
        told |= {"where": _where(error.faults[0]), "faults": faults, "more": error.more}
    _print_object(told)


def _where(fault: Fault) -> dict[str, object]:
    return {"path": [*fault.path], **{key: getattr(fault, key) for key in ("file", "line", "column", "override")}}


def _print_object(error: dict[str, object]) -> None:
    import json

    typer.echo(json.dumps({"error": error}))


def _fail(error: CgmError) -> int:
    if error.message:
        tell(error.message)
    return error.exit_code
