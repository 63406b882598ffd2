"""`cgm sweep FILE`, and what can be asked about a sweep that was started: `status`, `cancel` and `collect`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from cgm_cli.cli.options import AllowPython, Json, Setting, Settings, overrides_of
from cgm_cli.cli.streams import tell, tell_if_slow
from cgm_cli.text import counted

if TYPE_CHECKING:
    from cgm_cli.sweeps.load import Sweep
    from cgm_cli.sweeps.manifest import Manifest
    from cgm_cli.sweeps.run import Options


class _Group(TyperGroup):
    """A group whose first argument, if it is no sub-command, is that of `run`: `cgm sweep FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Solve one spec at many points: `cgm sweep FILE`. It goes on where it was, skipping what is done. "
    "`cgm sweep run --help` has its options.",
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the sweep, runs/NAME.")]


@app.command("run")
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The sweep file, YAML.")],
    changes: Settings = None,
    overrides: Setting = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the points and start nothing.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the sweep.", show_default="runs/NAME")
    ] = None,
    executor: Annotated[
        str | None, typer.Option(metavar="local|dask|slurm", help="Where the points are computed; default: local.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs at the same time.", show_default="the cores, shared by the threads")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address of a running dask scheduler; implies dask.")
    ] = None,
    per_task: Annotated[int | None, typer.Option(min=1, help="Points in one task of a Slurm array.")] = None,
    only: Annotated[
        str | None, typer.Option(metavar="failed|waiting", help="Of what is not done, only these points.")
    ] = None,
    retries: Annotated[int | None, typer.Option(min=0, help="Further attempts at a run that failed.")] = None,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first run that failed.")] = False,
    max_failures: Annotated[int | None, typer.Option(min=1, help="Stop once so many runs have failed.")] = None,
    json: Json = False,
    allow_python: AllowPython = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Failures only.")] = False,
) -> None:
    """Solve a spec at every point of a sweep file. What is done already is skipped.

    Exit codes: 0 done, 2 sweep file or spec, 3 data file, 4 disk, 5 some runs failed, 75 preempted, 130 interrupted.
    """
    from cgm_cli.runs.signals import stop_on_signals

    with stop_on_signals() as should_stop:
        from cgm_cli.sweeps.load import load_sweep
        from cgm_cli.sweeps.manifest import default_folder, displaced, going_on, write_manifest

        _choice(executor, ("local", "dask", "slurm"), "--executor")
        _choice(only, ("failed", "waiting"), "--only")
        sweep = load_sweep(file, overrides_of(overrides, changes))
        folder = out if out is not None else default_folder(sweep.name)
        if dry_run:
            _print_points(sweep, folder, workers, json)
            return
        chosen = executor or ("dask" if scheduler is not None else sweep.spec.executor)
        _goes_with(scheduler, "--scheduler", "dask", chosen)
        _goes_with(per_task, "--per-task", "slurm", chosen)
        former = displaced(sweep, folder)
        if former is not None:
            tell(f"{folder} was that of {former}, and is now of {file}; both keep their runs. --out tells them apart")
        tell_if_slow()
        manifest = write_manifest(sweep, folder)
        given = {"executor": executor, "workers": workers, "scheduler": scheduler, "retries": retries}
        again = going_on(file, folder, sweep.name, _as_given(given), sweep.given)
        from cgm_cli.sweeps.run import Options, dask_executor, drive, local_executor

        options = Options(
            workers=workers or sweep.spec.workers or _workers(manifest),
            retries=sweep.spec.retries if retries is None else retries,
            most=1 if fail_fast else max_failures,
            only=only,
            quiet=quiet,
        )
        if chosen == "slurm":
            _submit(sweep, manifest, options, per_task, json)
            return
        if chosen == "dask":
            settings = sweep.spec.dask
            if scheduler is not None:
                settings = settings.model_copy(update={"scheduler": scheduler})
            compute = dask_executor(manifest, options, settings)
        else:
            compute = local_executor(manifest, options)
        try:
            code, progress = drive(manifest, options, compute, should_stop)
        except KeyboardInterrupt:
            tell(f"left at once; every run goes on from its last checkpoint: {again}")
            raise typer.Exit(130) from None
        if json:
            _print_json(
                {
                    "sweep": str(folder),
                    "done": progress.done,
                    "failed": progress.failed,
                    "waiting": progress.left,
                    "exit_code": code,
                }
            )
        elif not quiet:
            _print_end(progress, manifest, again)
    raise typer.Exit(code)


def _submit(sweep: Sweep, manifest: Manifest, options: Options, per_task: int | None, json: bool) -> None:
    from cgm_cli.sweeps.executors import slurm
    from cgm_cli.sweeps.run import remaining

    todo, done = remaining(manifest, options.only)
    there, submitted = list(slurm.jobs(manifest.path)), 0
    if there:
        tell(f"job {', '.join(there)} of this sweep is in the queue already, and does the rest; nothing was submitted")
    elif not todo:
        tell(f"{counted(len(done), 'run')}, done already; nothing was submitted")
    else:
        job = slurm.submit(manifest, todo, sweep.spec.slurm, per_task, options.retries, options.most)
        folder = shlex.quote(str(manifest.path))
        tell(
            f"submitted job {job.job}: {counted(len(todo), 'point')} in {counted(job.tasks, 'task')} "
            f"of {job.per_task}, {len(done)} done "
            f"already. `cgm sweep status {folder}` tells how it goes, `cgm sweep cancel {folder}` ends it"
        )
        there, submitted = [job.job], len(todo)
    if json:
        _print_json({"sweep": str(manifest.path), "jobs": there, "submitted": submitted, "done": len(done)})


@app.command("task", hidden=True)
def task(
    folder: Folder,
    batch: Annotated[str, typer.Argument(metavar="BATCH", help="Its file in DIR/slurm, without .json.")],
) -> None:
    """Compute the points of one task of a Slurm array: the script that `cgm sweep` submits runs this."""
    from cgm_cli.runs.signals import stop_on_signals

    with stop_on_signals() as should_stop:
        from cgm_cli.sweeps.executors.slurm import work

        code = work(folder, batch, should_stop)
    raise typer.Exit(code)


def _choice(value: str | None, known: tuple[str, ...], option: str) -> None:
    if value is not None and value not in known:
        raise typer.BadParameter(f"`{value}` is none of {', '.join(known)}", param_hint=option)


def _goes_with(value: Any, option: str, executor: str, chosen: str) -> None:
    if value is not None and chosen != executor:
        raise typer.BadParameter(f"it is for the executor {executor}, and this is {chosen}", param_hint=option)


def _workers(manifest: Manifest) -> int:
    import os

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // max(row.threads for row in manifest.rows))


def _as_given(options: Mapping[str, Any]) -> list[str]:
    """Options by their names, as they stand in a command; those that were not given are None."""
    return [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]


def _print_end(progress: Any, manifest: Manifest, again: str) -> None:
    import time

    from cgm_cli.display.formatting import duration

    tell(
        f"{progress.done} of {counted(progress.total, 'run')} done, {progress.failed} failed, {progress.left} waiting; "
        f"{progress.computed} computed in {duration(time.monotonic() - progress.began)}"
    )
    if progress.best is not None:
        tell(f"best: {progress.best_line()}")
    if progress.done < progress.total:
        tell(f"nothing that was computed is lost; go on with: {again}")
    tell(f"the table: cgm sweep collect {shlex.quote(str(manifest.path))}")


def _print_points(sweep: Sweep, folder: Path, workers: int | None, json: bool) -> None:
    from cgm_cli.sweeps.preview import preview

    facts = preview(sweep, folder, workers)
    if json:
        _print_json(facts.as_dict())
        return
    for line in facts.lines():
        sys.stdout.write(line + "\n")


def _print_json(value: Any) -> None:
    from cgm_cli.runs.files import to_json

    typer.echo(to_json(value, indent=2))


@app.command("status")
def status(
    folder: Folder,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it again and again, until nothing runs any more.")
    ] = False,
    json: Json = False,
) -> None:
    """Show how many runs are done, running, failed and waiting, and the time left. Reads files only."""
    import time

    from cgm_cli.sweeps.status import standing

    if not watch:
        now = standing(folder)
        if json:
            _print_json(now.as_dict())
        else:
            _print(now.lines())
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            now = standing(folder)
            lines = "\n".join(now.lines())
            if json:
                _print_json(now.as_dict())
            elif console.is_terminal:
                live.update(Text(lines), refresh=True)
            else:
                typer.echo(lines)
            if not now.drivers and not now.counts["running"]:
                return
            time.sleep(2.0)


@app.command("cancel")
def cancel(
    folder: Folder,
    wait: Annotated[float, typer.Option(min=0.0, help="Seconds to wait for the runs to leave.")] = 90.0,
) -> None:
    """Tell whoever works on a sweep to stop. Running runs write their checkpoints first; nothing is lost.

    Exit codes: 0 nothing runs any more, 4 something still does.
    """
    from cgm_cli.sweeps.cancel import cancel as ask

    result = ask(folder, wait)
    if not result.told and not result.orphans:
        tell("nobody works on this sweep")
    elif result.running:
        command = f"cgm sweep status {shlex.quote(str(folder))}"
        tell(f"told to stop; not left yet: {counted(result.running, 'run')}: `{command}`")
        raise typer.Exit(4)
    else:
        who = ", ".join(result.told) or "runs without a driver"
        tell(f"stopped: {who}; what was going on has its checkpoint")


@app.command("collect")
def collect(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option(metavar="STEM", help="Write STEM.csv and STEM.h5.", show_default="DIR/results")
    ] = None,
) -> None:
    """Write one table of what was varied and what came of it, as CSV and HDF5."""
    from cgm_cli.sweeps.collect import collect as gather
    from cgm_cli.sweeps.collect import save

    table = gather(folder)
    text, binary = save(table, out if out is not None else folder / "results")
    done = table.columns["state"].count("done")
    tell(f"wrote {text} and {binary}: {counted(len(table.rows), 'point')}, {done} of them with a result")


def _print(lines: list[str]) -> None:
    for line in lines:
        typer.echo(line)
