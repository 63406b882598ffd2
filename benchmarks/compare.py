"""docs/compare.md: fifteen problems of one's own in cgm and in another library: lines, seconds, what is proven.

`python -m benchmarks.compare --own FOLDER`, FOLDER with the raw files. Both sides stand in benchmarks/own: a spec (or a
program, where a spec cannot say it), and in `peers` a program that prints its value last. Each is a process, timed from
its start to its end, the faster of two; lines are those that are neither empty nor a comment.
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

from benchmarks.suite.machine import THREADS, described, machine

ROOT = Path(__file__).resolve().parents[1]
OWN = ROOT / "benchmarks" / "own"
PAGE = ROOT / "docs" / "compare.md"
LIMIT = 120.0
"""Seconds for each side."""

CLARABEL = ("CVXPY, Clarabel", "optimal to 1e-8, as the solver says")
HEAD = """\
<!-- Written by `python -m benchmarks.compare --own FOLDER`. Do not edit. -->
# Fifteen problems, side by side

Fifteen problems as a new user brings them: a table, a graph, a photograph, ratings, a program. Each is solved from the
raw file, once in cgm and once in a library that people would take otherwise. The files are not in the repository; both
sides of every problem are in [benchmarks/own](../benchmarks/own).

- *Lines* are those of the spec or program, without empty ones and comments.
- *Seconds* are those of the whole process, from its start to its end: that is what one waits for. Most of them go into
  imports. Ours are to a gap of 1e-4, as a spec has it by itself.
- *Proven* is what is known of the answer afterwards. A **certified** bound was checked, rounding included
  ([bounds.md](bounds.md#estimated-and-certified)). "As the solver says" is the solver's own test, in its own rounding.

Measured on {machine}
"""
EFFORT = ("", "problem", "cgm", "lines", "s", "other", "lines", "s")
ANSWERS = ("", "problem", "cgm", "proven", "other", "proven")


@dataclass(frozen=True)
class Case:
    """ours, peer: files in benchmarks/own; ours may be one of FOLDER, which a command solves as it is.

    metric: what is compared, where it is not the objective.
    """

    number: str
    title: str
    ours: str
    library: tuple[str, str] = CLARABEL
    metric: str = ""
    same: bool = True
    """Whether both sides minimise the same function."""


NOTHING = "nothing"
CASES = (
    Case("1", "4 clusters of a table", "01-clusters.yaml", ("scikit-learn", NOTHING), "kmeans_value"),
    Case("2", "largest cut, named nodes", "02-cut.yaml", ("networkx", NOTHING), "cut"),
    Case("3", "theta of a graph", "03-theta.yaml"),
    Case("4", "portfolio", "04-portfolio.yaml"),
    Case("4b", "the same, / 10000", "04b-portfolio.yaml"),
    Case("5", "nearest correlation matrix", "05-correlation.yaml"),
    Case("6a", "least squares, weights that sum to 1", "06a-shares.yaml"),
    Case("6b", "l1 logistic regression", "06b-logistic.yaml", ("scikit-learn", "converged, as the solver says")),
    Case("6c", "Huber regression", "06c-huber.yaml"),
    Case("7a", "a photograph, denoised", "07a-denoising.yaml", same=False),
    Case("7b", "a fifth of its pixels filled in", "07b-inpainting.yaml", same=False),
    Case("8", "ratings completed", "08-ratings.yaml", metric="held_out_rmse"),
    Case("9", "support vector machine", "09-svm.yaml"),
    Case("10", "sparse components", "10-components.yaml"),
    Case("11", "quadratic assignment", "11-assignment.yaml", ("SciPy", NOTHING), "assignment"),
    Case("12", "optimal transport", "12-transport.py"),
    Case("13", "a program in two blocks", "two.dat-s"),
    Case("14", "D-optimal design", "14-design.yaml"),
    Case("15", "CVXPY: a cut with one more equation", "15-equation.py"),
)  # fmt: skip


SHARES = {
    "kmeans_value": "certified: at most {certified_percent:.0e} % above the best clustering",
    "cut": "certified: at least {certified_ratio:.1%} of the largest cut",
    "assignment": "certified: at most {certified_gap:.1%} above the best",
}
"""What a metric is by the certified bound, by the other metrics of its template."""


@dataclass(frozen=True)
class Side:
    """What one side came to. fault: the last words of one that failed."""

    lines: int
    seconds: float
    value: float | None
    proven: str
    fault: str = ""


def ours(case: Case, folder: Path) -> Side:
    file = OWN / case.ours
    command, lines = ["-m", "cgm_cli", "solve", case.ours, "--json"], 1
    if file.exists():
        command, lines = ["-m", "cgm_cli", "solve", str(file), "--json"], count(file)
        if file.suffix == ".py":
            command = [str(file)]
    seconds, out, fault = run(command, folder)
    if fault:
        return Side(lines, seconds, None, "", fault)
    if file.suffix == ".py":
        value, bound, how = out.split("\n")[-1].split()
        gap = abs(float(value) - float(bound)) / abs(float(value))
        return Side(lines, seconds, float(value), f"{how}, gap {gap:.0e}")
    result = json.loads(out)
    proven = f"{result['bound_is']}, gap {result['gap']:.0e}"
    if not case.metric:
        return Side(lines, seconds, result["objective"], proven)
    metrics = result["metrics"]
    told = SHARES.get(case.metric, "of the fit: " + proven)
    return Side(lines, seconds, metrics[case.metric], told.format(**metrics))


def theirs(case: Case, folder: Path) -> Side:
    file = OWN / "peers" / peer_file(case)
    seconds, out, fault = run([str(file)], folder)
    return Side(count(file), seconds, None if fault else float(out.split("\n")[-1]), case.library[1], fault)


def peer_file(case: Case) -> str:
    return f"{case.number.zfill(3 if case.number[-1].isalpha() else 2)}.py"


def run(command: list[str], folder: Path) -> tuple[float, str, str]:
    """Seconds of the faster of two, standard output, and the fault of a process that fails."""
    environment = os.environ | THREADS | {"PYTHONPATH": str(ROOT), "CGM_DATA": str(folder), "PYTHONWARNINGS": "ignore"}
    times: list[float] = []
    for _ in range(2):
        begin = time.perf_counter()
        try:
            done = subprocess.run(
                [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT
            )
        except subprocess.TimeoutExpired:
            return LIMIT, "", f"not within {LIMIT:g} s"
        times.append(time.perf_counter() - begin)
        if done.returncode:
            return times[0], "", _fault(done)
    return min(times), done.stdout.strip(), ""


def _fault(done: subprocess.CompletedProcess[str]) -> str:
    """What the command says in its object, or the last line of a program."""
    if done.stdout.startswith("{"):
        told = json.loads(done.stdout)["error"]["message"].split("\n")[0]
        return told.replace(f"{OWN}/", "")
    return (done.stderr.strip() or f"exit code {done.returncode}").split("\n")[-1]


def count(file: Path) -> int:
    texts = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return sum(1 for text in texts if text and not text.startswith("#"))


def page(rows: list[tuple[Case, Side, Side]]) -> str:
    parts = [HEAD.format(machine=described(machine())), "## Misses first\n", *misses(rows)]
    parts += ["\n## Lines and seconds\n", *_table(EFFORT, [_effort(*row) for row in rows])]
    parts += ["\n## Values, and what is proven of them\n"]
    apart = ", ".join(case.number for case, _, _ in rows if not case.same)
    if apart:
        parts.append(f"Models differ between the two sides of {apart}: their values are not to be compared.\n")
    parts.append("Each side of 8 holds out ratings of its own, on which its error depends.\n")
    parts += [*_table(ANSWERS, [_answers(*row) for row in rows])]
    return "\n".join(parts) + "\n"


def misses(rows: list[tuple[Case, Side, Side]]) -> list[str]:
    """What cgm cannot do, does in part, or does worse than the other side."""
    told: list[str] = []
    for case, mine, _ in rows:
        name = f"**{case.number}, {case.title}**"
        if mine.fault:
            told.append(f"- {name}: not yet. {mine.fault}")
        if not mine.fault and case.ours.endswith(".py") and case.number != "15":
            told.append(f"- {name}: a program of {mine.lines} lines, since its data are computed, and in no file.")
        elif mine.lines > 10:
            told.append(f"- {name}: {mine.lines} lines are more than ten.")
    done = [(case, mine, other) for case, mine, other in rows if not mine.fault and not other.fault]
    slower = [case.number for case, mine, other in done if mine.seconds > 1.1 * other.seconds]
    longer = [case.number for case, mine, other in done if mine.lines > other.lines]
    told += [f"- Slower than the other side by more than a tenth: {', '.join(slower)}."] if slower else []
    told += [f"- More lines than the other side: {', '.join(longer)}."] if longer else []
    apart = [
        case.number
        for case, mine, other in done
        if case.same and not case.metric and abs(mine.value - other.value) > 1e-3 * max(abs(mine.value), 1e-6)
    ]
    return told + ([f"- Values that differ by more than 1e-3: {', '.join(apart)}."] if apart else [])


def _effort(case: Case, mine: Side, other: Side) -> list[str]:
    folder = "../benchmarks/own/"
    link = f"[{Path(case.ours).suffix[1:]}]({folder}{case.ours})" if (OWN / case.ours).exists() else f"`{case.ours}`"
    peer = f"[{case.library[0]}]({folder}peers/{peer_file(case)})"
    sides = ([name, str(side.lines), f"{side.seconds:.1f}"] for name, side in ((link, mine), (peer, other)))
    return [case.number, case.title, *(cell for side in sides for cell in side)]


def _answers(case: Case, mine: Side, other: Side) -> list[str]:
    sides = (["—", "fails"] if side.fault else [f"{side.value:.6g}", side.proven] for side in (mine, other))
    return [case.number, case.title, *(cell for side in sides for cell in side)]


def _table(columns: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    return [
        "| " + " | ".join(columns) + " |",
        "|---" * len(columns) + "|",
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("--own", required=True, type=Path, metavar="FOLDER", help="the raw files")
    parser.add_argument("--only", nargs="+", default=[], metavar="NUMBER", help="to standard output, these alone")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for file in given.own.resolve().iterdir():
            (folder / file.name).symlink_to(file)
        rows = []
        for case in CASES:
            if not given.only or case.number in given.only:
                print(case.number, case.title, file=sys.stderr)
                rows.append((case, ours(case, folder), theirs(case, folder)))
    if given.only:
        print(page(rows))
    else:
        PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
