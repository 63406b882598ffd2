"""What a person sees of a sweep: a live table on a terminal, a line per run elsewhere, failures at once on both."""

from __future__ import annotations

import math
from contextlib import suppress

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cgm_cli.display.formatting import duration, number
from cgm_cli.sweeps.manifest import Manifest, ManifestRow
from cgm_cli.sweeps.tally import Tally, figure
from cgm_cli.sweeps.task import AttemptEnding, Kind

_REFRESH = 0.5


class SweepProgress(Tally):
    """A tally that shows itself on standard error. Use as a context."""

    def __init__(self, manifest: Manifest, total: int, quiet: bool = False):
        super().__init__(manifest, total)
        self._console = Console(stderr=True, highlight=False)
        self._quiet = quiet
        self._live = (
            Live(get_renderable=self._table, console=self._console, refresh_per_second=1 / _REFRESH, transient=True)
            if self._console.is_terminal and not quiet
            else None
        )

    def __enter__(self) -> SweepProgress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            with suppress(OSError):
                self._live.stop()

    def ended(self, row: ManifestRow, ending: AttemptEnding, final: bool) -> None:
        super().ended(row, ending, final)
        if ending.kind in (Kind.FAILED, Kind.LEFT):
            again = "" if final else "; it is tried again"
            output = self.manifest.folder(row).output
            self.say(f"point {row.number} failed ({row.label}): {ending.message.rstrip('.')}{again}. Its log: {output}")
        elif self._live is None and not self._quiet and ending.kind is Kind.DONE:
            summary = self.manifest.folder(row).summary() or {}
            name = next(iter(self.manifest.best.values()))
            told = f"{name} {number(figure(summary, name), 4)}"
            self.say(
                f"{self.done + self.failed}/{self.total}  point {row.number} {summary.get('status')} in "
                f"{duration(ending.seconds)}  {row.label}  {told}"
            )

    def say(self, message: str) -> None:
        """One line, whatever else is shown. A console that cannot be written to is let alone."""
        with suppress(OSError):
            self._console.print(Text(message), soft_wrap=True)

    def _table(self) -> Group:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        rate = self.rate
        left = duration(self.left / rate) if rate and not math.isnan(rate) else "-"
        cells = {
            "done": f"{self.done}/{self.total}",
            "running": str(self.running),
            "failed": str(self.failed),
            "waiting": str(max(0, self.left - self.running)),
            "per minute": number(60 * rate, 3),
            "time left": left,
        }
        for heading in cells:
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_row(*cells.values())
        best = self.best_line()
        # Below, and not in a column: it may be long, and the numbers must not be cut.
        return Group(table, Text(f"best: {best}", no_wrap=True, overflow="ellipsis")) if best else Group(table)

    def best_line(self) -> str:
        """The best run so far, in a few words; empty before there is one."""
        if self.best is None:
            return ""
        return f"{next(iter(self.manifest.best.values()))} {number(self.best.value, 4)} {self.best.label}"
