"""docs/table.svg: what `cgm solve configs/digits-kmeans.yaml` shows in a terminal. `python docs/make_table.py`."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

from rich.console import Console

from cgm_cli.display.console import progress_table, show_result
from cgm_cli.runs.execute import execute

_DOCS = Path(__file__).resolve().parent
_SPEC = _DOCS.parent / "configs" / "digits-kmeans.yaml"
_ROWS = (0, 1, 2, 3, 5, 8, 12)


def main() -> None:
    records = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the run folder goes to runs/ below the working directory
        outcome = execute(_SPEC, observers=lambda sense, rules: [SimpleNamespace(on_record=records.append)])
        os.chdir(_DOCS)
    result = outcome.result
    console = Console(record=True, force_terminal=True, width=92, file=io.StringIO(), highlight=False)
    console.print(f"$ cgm solve configs/{_SPEC.name}", style="bold")
    console.print(
        progress_table(
            result.sense,
            [*(r for r in records if r.k in _ROWS and r.k < result.record.k), result.record],
            console.width,
        )
    )
    show_result(console, result, outcome.summary, outcome.legend)
    console.save_svg(str(_DOCS / "table.svg"), title="cgm", unique_id="cgm")


if __name__ == "__main__":
    main()
