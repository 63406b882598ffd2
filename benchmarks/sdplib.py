"""benchmarks/sdplib.md: semidefinite programs as they come: `python -m benchmarks.sdplib [NAME ...]`.

Every .dat-s file of $CGM_DATA/sdplib, by `cgm` at its defaults, without a radius, to a gap and an infeasibility of
1e-3, beside CSDP (Debian's coinor-csdp) and SCS at eps 1e-3, one after the other, by one thread. `--limit`: seconds of
each run, 60. With names, only those, and the table goes to standard output.

`solved`: the objective is within 1e-3 of the published optimum, the constraints are met to 1e-3, and the certified
bound is within 1e-3 of the optimum and not on the wrong side of it. Seconds are those of the whole, reading apart. What
is infeasible or unbounded is solved where that is proven; of a file without a published optimum here the certified gap
decides.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

from benchmarks.suite.machine import THREADS, code, described, machine

os.environ.update(THREADS)  # before any BLAS is loaded

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.readers.sdpa import BlockProgram, read_sdpa
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "sdplib.md"
ASKED = 1e-3

# SDPA-GMP, or SDPLIB's README.
OPTIMA = {
    "arch2": 0.671515,
    "control1": 17.7846267,
    "control3": 13.6332667,
    "gpp100": -44.9435508,
    "gpp250-2": -81.869,
    "gpp500-1": -25.3205439,
    "hinf1": 2.0326,
    "hinf2": 10.967,
    "hinf9": 236.25,
    "maxG11": 629.1647830,
    "mcp250-1": 317.2643403,
    "qap5": -436.0,
    "qap7": -424.8197,
    "qap9": -1410.0,
    "qpG11": 2448.6591320,
    "ss30": 20.2395,
    "theta2": 32.8791690,
    "theta4": 50.3212220,
    "theta6": 63.4770872,
    "thetaG11": 400.0,
    "truss1": -8.999996,
    "truss3": -9.109996,
    "truss5": -132.6357,
    "truss8": -133.1146,
}
PROVEN = {"infp1": "unbounded", "infp2": "unbounded", "infd1": "infeasible", "infd2": "infeasible"}
"""In the sense of what is maximised, which SDPLIB calls the dual."""


@dataclass
class Found:
    """seconds, objective, infeasibility and, of ours, the bound, and what it rests on or how the run ended."""

    seconds: float
    objective: float = math.nan
    infeasible: float = math.nan
    bound: float = math.nan
    note: str = ""

    def is_near(self, optimum: float) -> bool:
        near = abs(self.objective - optimum) <= ASKED * max(1.0, abs(optimum))
        return near and self.infeasible <= ASKED


def ours(file: Path, limit: float) -> Found:
    began = time.perf_counter()
    stop = {"gap": ASKED, "infeasibility": ASKED, "time": limit}
    spec = {"problem": {"template": "standard-sdp", "program": {"file": str(file)}}, "stop": stop}
    result = build(loads(dump(spec))).solve()
    seconds = time.perf_counter() - began
    record, status = result.record, result.status.value
    note = "" if status == "converged" else status
    if result.bound_is != "certified":
        note += f" {result.bound_is}"
    if result.bound_rests_on is not None:
        note += " trace bound"
    return Found(seconds, record.total, record.infeasibility, record.bound, note.strip())


def csdp(file: Path, limit: float) -> Found:
    """Its own tolerances, but for 1e-4."""
    where = which("csdp")
    if where is None:
        return Found(math.nan, note="not here")
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "param.csdp").write_text(PARAMETERS)
        try:
            done = subprocess.run([where, str(file)], cwd=folder, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return Found(limit, note="time")
    seconds = time.perf_counter() - began
    told = dict(line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    value = told.get("Primal objective value", "nan").split()[0]
    missed = told.get("Relative primal infeasibility", "nan").split()[0]
    note = "" if done.returncode == 0 else ENDS.get(done.returncode, f"failed ({done.returncode})")
    return Found(seconds, float(value), float(missed), note=note)


PARAMETERS = """axtol=1.0e-4
atytol=1.0e-4
objtol=1.0e-4
pinftol=1.0e8
dinftol=1.0e8
maxiter=100
minstepfrac=0.90
maxstepfrac=0.97
minstepp=1.0e-8
minstepd=1.0e-8
usexzgap=1
tweakgap=0
affine=0
printlevel=1
perturbobj=1
fastmode=0
"""
ENDS = {1: "primal infeasible", 2: "dual infeasible"}


def scs(file: Path, limit: float) -> Found:
    """min -b^T y, with F_0 and the F_i in its dual form: sum y_i F_i - F_0 >= 0, which is their own primal."""
    try:
        import scs as solver
    except ImportError:
        return Found(math.nan, note="not here")
    program = read_sdpa(file)
    rows, cone = _vectors(program)
    data = {"A": sp.csc_matrix(-rows[1:].T), "b": -rows[[0]].toarray().reshape(-1), "c": program.right}
    began = time.perf_counter()
    made = solver.SCS(data, cone, eps_abs=ASKED, eps_rel=ASKED, max_iters=10**7, time_limit_secs=limit, verbose=False)
    info = made.solve()["info"]
    seconds = time.perf_counter() - began
    size = 1.0 + float(np.linalg.norm(program.right))
    note = "" if info["status"] == "solved" else info["status"][:30]
    return Found(seconds, info["pobj"], info["res_dual"] / size, note=note)


def _vectors(program: BlockProgram) -> tuple[sp.csr_array, dict[str, Any]]:
    """F_0, ..., F_m as SCS wants them: numbers, then lower triangles by columns, off the diagonal times root 2."""
    blocks = Blocks(program.sizes)
    numbers, triangles, sizes = list[np.ndarray](), list[tuple[np.ndarray, np.ndarray]](), list[int]()
    for stack in blocks.stacks:
        if not stack.n:
            numbers.append(np.arange(stack.start, stack.stop))
            continue
        n = stack.n
        column, row = np.triu_indices(n)
        for place in range(stack.count):
            start = stack.start + place * n * n
            triangles.append((start + row * n + column, np.where(row == column, 1.0, math.sqrt(2.0))))
            sizes.append(n)
    places = np.concatenate([*numbers, *[at for at, _ in triangles]])
    factors = np.concatenate([*(np.ones(at.size) for at in numbers), *[factor for _, factor in triangles]])
    rows = sp.csr_array(sp.csc_array(program.matrices)[:, places]) @ sp.diags_array(factors)
    return sp.csr_array(rows), {"l": sum(at.size for at in numbers), "s": sizes}


def is_solved(name: str, found: Found) -> bool:
    if name in PROVEN:
        return found.note.startswith(PROVEN[name])
    optimum = OPTIMA.get(name, found.objective)
    close = abs(found.bound - optimum) <= 2.0 * ASKED * max(1.0, abs(optimum)) and "estimated" not in found.note
    return found.is_near(optimum) and close and not is_wrong(name, found)


def is_wrong(name: str, found: Found) -> bool:
    """Whether the bound, an upper one, lies below the optimum by more than its published digits."""
    optimum = OPTIMA.get(name)
    digits = FEW if name.startswith("hinf") else DIGITS
    return optimum is not None and found.bound < optimum - digits * max(1.0, abs(optimum))


DIGITS, FEW = 1e-5, 2e-4
"""Of the published optima, relative; those of hinf are ill-posed."""

HEAD = """# SDPLIB, as its files come

Written by `python -m benchmarks.sdplib`: `cgm` at its defaults, no radius given, to a gap and an infeasibility of
{asked:g}, {limit:g} s each; CSDP to 1e-4; SCS at eps {asked:g}. Seconds are of reading and solving, by one thread.
`(no)`: objective, infeasibility or the certified bound are not within what was asked of the published optimum. `note`:
how a run ended that did not converge, and `trace bound` where its bound holds for all X of a trace up to what was
assumed; else it holds whatever that is. The peers have no bound; of infeasible files they tell the problem that is.

Of {files} files cgm solves {solved}, and its bound is on the wrong side for {wrong}; CSDP has the optimum of {csdp},
SCS of {scs}."""

COLUMNS = ["file", "m", "blocks", "optimum", "cgm", "objective", "infeasible", "bound", "note", "CSDP", "", "SCS", ""]


def row(file: Path, limit: float) -> tuple[list[str], bool, bool, list[bool]]:
    name = file.name.removesuffix(".dat-s")
    program = read_sdpa(file)
    optimum = OPTIMA.get(name, math.nan)
    mine, peers = ours(file, limit), [csdp(file, limit), scs(file, limit)]
    solved, wrong = is_solved(name, mine), is_wrong(name, mine)
    near = [peer.note.split()[-1:] in (["infeasible"], ["unbounded"]) for peer in peers]
    if name not in PROVEN:
        near = [peer.is_near(optimum) for peer in peers]
    cells = [name, str(program.right.size), _blocks(program.sizes), PROVEN.get(name, f"{optimum:.7g}")]
    cells += [f"{mine.seconds:.2f}" + ("" if solved else " (no)"), f"{mine.objective:.7g}", f"{mine.infeasible:.0e}"]
    cells += [f"{mine.bound:.7g}", mine.note]
    for peer, is_near in zip(peers, near, strict=True):
        cells += [f"{peer.seconds:.2f}", peer.note or ("" if is_near else f"no: {peer.objective:.6g}")]
    print(" | ".join(cells), flush=True)
    return cells, solved, wrong, near


def _blocks(sizes: tuple[int, ...]) -> str:
    """34 blocks as `33 x 10, -1`."""
    told: list[str] = []
    for size in dict.fromkeys(sizes):
        count = sizes.count(size)
        told.append(str(size) if count == 1 else f"{count} x {size}")
    return ", ".join(told)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sdplib", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=float, default=60.0)
    given = parser.parse_args(arguments)
    folder = Path(os.environ.get("CGM_DATA", "data")) / "sdplib"
    files = sorted(folder.glob("*.dat-s"))
    if given.names:
        files = [file for file in files if file.name.removesuffix(".dat-s") in given.names]
    if not files:
        print(f"no .dat-s file in {folder}: set CGM_DATA", file=sys.stderr)
        return 1
    rows = [row(file, given.limit) for file in files]
    solved, wrong = sum(each[1] for each in rows), sum(each[2] for each in rows)
    near = [sum(each[3][peer] for each in rows) for peer in range(2)]
    lines = ["| " + " | ".join(COLUMNS) + " |", "| " + " | ".join("---" for _ in COLUMNS) + " |"]
    lines += ["| " + " | ".join(each[0]) + " |" for each in rows]
    head = HEAD.format(
        asked=ASKED, limit=given.limit, files=len(rows), solved=solved, wrong=wrong, csdp=near[0], scs=near[1]
    )
    head += f" {described(machine())}; source {code()}.\n\n"
    text = head + "\n".join(lines) + "\n"
    if given.names:
        print(text)
    else:
        PAGE.write_text(text)
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
