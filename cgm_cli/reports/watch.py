"""`cgm report --html FILE --watch`: the page is written again while runs go on, and loads itself again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cgm_cli.errors import ProblemError
from cgm_cli.reports.collect import Collection
from cgm_cli.reports.html import page
from cgm_cli.reports.output import write_text
from cgm_cli.reports.query import filtered, ordered
from cgm_cli.reports.ranking import best_first
from cgm_cli.text import counted

PAUSE = 5
"""Seconds between two looks at the runs, and after which an open page loads itself again."""


def follow(
    look: Callable[[], Collection],
    filters: Sequence[str],
    sort: str | None,
    path: Path,
    force: bool,
    tell: Callable[[str], object],
    pause: Callable[[float], object] = time.sleep,
) -> int:
    """Write the page of what `look` finds until no run is running and no point is waiting.

    -> How many runs it shows. The last page does not load itself again. A key that no run has yet is waited for. Raises
    CgmError where the page cannot be written.
    """
    former: object = None
    while True:
        found = look()
        entries = []
        try:
            entries = ordered(filtered(found.entries, filters), sort) if found.entries else []
        except ProblemError:
            if not _goes_on(found):
                raise
        entries = best_first(entries) if sort is None else entries
        on = _goes_on(found)
        now = [(entry.path, entry.state, entry.figures["iterations"]) for entry in entries], on
        if now != former:
            write_text(path, page(entries, found.faults, PAUSE if on else None), force)
            done = sum(entry.finished for entry in entries)
            tell(f"wrote {path}: {done} of {counted(len(entries), 'run')} finished" + ("" if on else ", none goes on"))
            former = now
        if not on:
            return len(entries)
        pause(PAUSE)


def _goes_on(found: Collection) -> bool:
    waiting = any(fault.is_waiting for fault in found.faults)
    return waiting or any(entry.state == "running" for entry in found.entries)
