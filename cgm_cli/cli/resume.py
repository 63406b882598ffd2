"""`cgm resume RUN`: go on with a run that was stopped or killed, or whose budget is raised."""

from __future__ import annotations

from cgm_cli.cli.options import AllowPython, RunName, Setting, Settings, overrides_of
from cgm_cli.cli.solve import Json, Live, Quiet, run_command


def resume(
    run: RunName,
    changes: Settings = None,
    overrides: Setting = None,
    json: Json = False,
    quiet: Quiet = False,
    live: Live = False,
    allow_python: AllowPython = False,
) -> None:
    """Go on with a run that was stopped or killed.

    It goes on from its last checkpoint, and ends where it would have ended if nothing had happened. Only budgets may be
    raised: solver.iterations=5000, stop.time=2h. Exit codes as for `solve`; a run that has nothing left to
    do shows its result again.
    """
    from cgm_cli.cli.find import find_run

    run_command(None, overrides_of(overrides, changes), None, json, quiet, find_run(run), live)
