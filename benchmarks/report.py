"""How large the page of `cgm report --html` is, and how soon it can be read: `python -m benchmarks.report`.

Writes benchmarks/report.md. Needs Chromium and its driver (Debian: chromium, chromium-driver) and selenium.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cgm_cli.reports.collect import collect
from cgm_cli.reports.html import page
from tests.reports.browser import chromium, errors, missing, open_page, wait
from tests.reports.support import make_sweep

ROOT = Path(__file__).resolve().parents[1]
COUNTS = (1, 10, 200, 1000)
ITERATIONS = 1000
REPEATS = 3
HEAD = """# The page of many runs

Written by `python -m benchmarks.report`. Each folder holds runs of {iterations} logged iterations and {columns} columns
over at most three varying parameters. Times are those of a headless Chromium that opens the page from disk, in a new
profile, the median of {repeats}: *first paint* is when the summary and the table can be read, *plots* when a plot has
been drawn as well, both from the start of the navigation. All on {machine}.

| runs | written in (s) | page (MB) | without plotly (MB) | first paint (s) | plots (s) |
|---:|---:|---:|---:|---:|---:|
"""


def main() -> None:
    """Measure, print and save the table."""
    if missing():
        sys.exit(missing())
    os.fsync = lambda descriptor: None  # these runs need not survive a loss of power
    lines, columns = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in COUNTS:
            runs = make_sweep(folder / str(count), count, ITERATIONS)
            start = time.perf_counter()
            found = collect([runs])
            text = page(found.entries, found.faults)
            written = time.perf_counter() - start
            columns = len(found.entries[0].open().trace)
            path = folder / f"{count}.html"
            path.write_text(text, encoding="utf-8")
            size = path.stat().st_size / 1e6
            paints, plots = zip(*(opened(path, folder / f"profile-{count}-{i}") for i in range(REPEATS)), strict=True)
            row = (count, written, size, size - plotly(), sorted(paints)[REPEATS // 2], sorted(plots)[REPEATS // 2])
            lines.append("| {} | {:.1f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |".format(*row))
            print(lines[-1], flush=True)
            shutil.rmtree(runs)
    load = f"load average {os.getloadavg()[2]:.1f} over the last quarter of an hour"
    machine = f"{os.cpu_count()} cores of {platform.machine()}, {platform.system()}, {load}"
    head = HEAD.format(iterations=ITERATIONS, columns=columns, repeats=REPEATS, machine=machine)
    (ROOT / "benchmarks" / "report.md").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def opened(path: Path, profile: Path) -> tuple[float, float]:
    """Seconds to the first contentful paint, and to the first plot."""
    with chromium(profile) as driver:
        open_page(driver, path)
        driver.execute_script("document.querySelector('figure[data-quantity]').scrollIntoView()")
        wait(driver, "return document.querySelector('figure[data-quantity][data-drawn]')", 60.0)
        drawn: Any = driver.execute_script("return performance.getEntriesByName('cgm-plots')[0].startTime")
        paint = driver.execute_script("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
        assert not errors(driver)
    return paint / 1000, drawn / 1000


def plotly() -> float:
    """The size of its script in MB."""
    return (ROOT / "cgm_cli" / "reports" / "page" / "plotly" / "plotly-basic.min.js").stat().st_size / 1e6


if __name__ == "__main__":
    main()
