"""benchmarks/qaplib.md: quadratic assignment problems as they come: `python -m benchmarks.qaplib [NAME ...]`.

Every .dat file of $CGM_DATA/qaplib, by `cgm solve FILE` at its defaults, one after the other, by one thread. `--limit`:
seconds of each run; 60 where it is left out, and 600 beyond 20 objects. With names, only those, and the table goes to
standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.machine import THREADS, code, described, machine
from cgm_cli.readers.assignment import read_assignment

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "qaplib.md"
LIMIT, LARGE, LONGER = 60.0, 20, 600.0
"""Seconds, and those of more objects than LARGE."""
NEAR = 0.01
"""How far above the best known value a permutation may be."""

BEST = {
    "chr12a": 9552,
    "chr15c": 9504,
    "chr20a": 2192,
    "esc16b": 292,
    "esc32g": 6,
    "had12": 1652,
    "had20": 6922,
    "nug12": 578,
    "nug15": 1150,
    "nug20": 2570,
    "nug30": 6124,
    "ste36a": 9526,
    "tai15a": 388214,
}
"""What QAPLIB has as the optimum."""
PUBLISHED = {"nug12": 568, "nug15": 1141, "nug20": 2506, "tai15a": 377098}
"""Bounds of the same relaxation, rounded up: by the ADMM of Oliveira, Wolkowicz and Xu, 2018."""


@dataclass(frozen=True)
class Found:
    """seconds: of the whole command. ended: its status."""

    seconds: float
    bound: float | None
    permutation: float
    ended: str


def solved(file: Path, limit: float) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cgm_cli", "solve", str(file), "--set", f"stop.time={limit}", "--json"]
        environment = {**os.environ, **THREADS, "PYTHONPATH": str(ROOT)}
        began = time.perf_counter()
        done = subprocess.run(
            [*command, "--out", str(Path(folder) / "run")], env=environment, capture_output=True, text=True
        )
        seconds = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"{file.name}: {done.stderr}")
    told = json.loads(done.stdout)
    figures = told["metrics"]
    return Found(seconds, figures.get("bound_of_permutations"), figures["assignment"], told["status"])


def row(file: Path, limit: float | None) -> tuple[list[str], list[str]]:
    """The cells, and what is missed."""
    name, n = file.stem, len(read_assignment(file)[0])
    found = solved(file, limit or (LIMIT if n <= LARGE else LONGER))
    best, wanted, missed = BEST.get(name), PUBLISHED.get(name), list[str]()
    final = found.ended == "converged" or found.bound == found.permutation
    if not final or found.bound is None or (wanted is not None and found.bound < wanted):
        missed.append(f"the bound of {name}")
    if best is not None and found.permutation > (1.0 + NEAR) * best:
        missed.append(f"the permutation of {name}")
    if best is not None and found.bound is not None and found.bound > best:
        missed.append(f"{name}, {WRONG}")
    ended = found.ended + (", optimal" if found.permutation == found.bound else "")
    cells = [name, str(n), f"{found.seconds:.1f}", _whole(found.bound), _whole(wanted), _whole(found.permutation)]
    cells += [_whole(best), _apart(found.bound, best), _apart(found.permutation, best), ended]
    print(" | ".join(cells), flush=True)
    return cells, missed


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _apart(value: float | None, best: float | None) -> str:
    return "" if value is None or best is None else f"{100.0 * abs(value - best) / best:.2f}"


WRONG = "whose bound is above the optimum"

HEAD = """# QAPLIB, as its files come

Missed: {missed}.

Written by `python -m benchmarks.qaplib`: `cgm solve FILE` at its defaults, {limits}.
Seconds are those of the whole command, by one thread. Missed are permutations more than 1 % above the optimum, bounds
below the published ones, and bounds that neither converged nor met the permutation in that time.

`bound`: certified, and rounded up to what a value can be, an even number wherever A and B are symmetric with zero
diagonals. `published`: what the ADMM of Oliveira, Wolkowicz and Xu (2018) has for the same
relaxation, rounded up to a whole number. `best`: the optimum that QAPLIB has; `%`: how far the bound is below it, and
the permutation above. `optimal`: the permutation meets the bound, which proves it.

"""
COLUMNS = ["file", "n", "s", "bound", "published", "permutation", "best", "bound, %", "permutation, %", "ended"]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.qaplib", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=float)
    given = parser.parse_args(arguments)
    folder = Path(os.environ.get("CGM_DATA", "data")) / "qaplib"
    files = [file for file in sorted(folder.glob("*.dat")) if not given.names or file.stem in given.names]
    if not files:
        print(f"no .dat file in {folder}: set CGM_DATA", file=sys.stderr)
        return 1
    rows = [row(file, given.limit) for file in files]
    limits = f"{given.limit or LIMIT:g} s each" + ("" if given.limit else f", {LONGER:g} s beyond {LARGE} objects")
    missed = [each for _, found in rows for each in found]
    lines = ["| " + " | ".join(COLUMNS) + " |", "| " + " | ".join("---" for _ in COLUMNS) + " |"]
    lines += ["| " + " | ".join(cells) + " |" for cells, _ in rows]
    text = HEAD.format(missed="; ".join(missed) or "nothing", limits=limits)
    text += "\n".join(lines) + f"\n\n{described(machine())} source {code()}.\n"
    if given.names:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if not any(WRONG in each for each in missed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
