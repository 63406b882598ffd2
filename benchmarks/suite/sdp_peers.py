"""Other solvers on a file of SDPLIB. Each is a function of the file and of the seconds it may take; a new peer is one
function and one entry of PEERS.

Objectives are those of max <F_0, Y> subject to <F_i, Y> = c_i, and infeasibility is that of these constraints,
relative: what a program prints is taken for true. `infeasible` and `unbounded` are said of what is maximised, which
each calls as it likes: unbounded, where the other of the two programs is proven to be infeasible.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.suite.machine import THREADS
from benchmarks.suite.peers import NoResult, read_lorads
from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.readers.sdpa import BlockProgram, read_sdpa

ASKED = 1e-3
"""Of objective and infeasibility, relative."""

PROGRAMS = {"CSDP": "csdp", "SDPA": "sdpa", "LoRADS": "lorads"}
"""The peers that are programs, and how they are called."""


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


Peer = Callable[[Path, float], Found]
Read = Callable[[Path, str, int], Found]
"""What a program found: from the file, what it printed, and the code it returned; seconds are filled in."""


def _program(name: str, options: list[str], read: Read, parameters: tuple[str, str] | None = None) -> Peer:
    """A program, on a file: its seconds are of the whole command. `{file}` in an option is that file, and parameters
    are a file's name and text, in the folder in which it is run.
    """

    def peer(file: Path, limit: float) -> Found:
        where = which(PROGRAMS[name])
        if where is None:
            return Found(math.nan, note="not here")
        command = [where, *(option.format(file=file.resolve()) for option in options)]
        with tempfile.TemporaryDirectory() as folder:
            if parameters is not None:
                (Path(folder) / parameters[0]).write_text(parameters[1])
            began = time.perf_counter()
            try:
                done = subprocess.run(
                    command, cwd=folder, env=os.environ | THREADS, capture_output=True, text=True, timeout=limit
                )
            except subprocess.TimeoutExpired:
                return Found(limit, note="time")
            seconds = time.perf_counter() - began
        found = read(file, done.stdout, done.returncode)
        found.seconds = seconds
        return found

    return peer


def read_csdp(file: Path, text: str, code: int) -> Found:
    told = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    value = told.get("Primal objective value", "nan").split()[0]
    missed = told.get("Relative primal infeasibility", "nan").split()[0]
    ends = {0: "", 1: "infeasible", 2: "unbounded"}
    return Found(math.nan, float(value), float(missed), note=ends.get(code, f"failed ({code})"))


CSDP_PARAMETERS = """axtol=1.0e-4
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
"""Its own, but for 1e-4."""


def read_sdpa_program(file: Path, text: str, code: int) -> Found:
    """SDPA's dual is what is maximised; its infeasibility is the largest one, absolute."""
    names = ("phase.value", "objValDual", "d.feas.error")
    told = [re.findall(rf"^{re.escape(name)} *= *(\S+)", text, re.MULTILINE) for name in names]
    if not all(told):
        return Found(math.nan, note=f"failed ({code})")
    phase, value, missed = (each[-1] for each in told)
    size = 1.0 + float(np.abs(read_sdpa(file).right).max(initial=0.0))
    return Found(math.nan, float(value), float(missed) / size, note=PHASES.get(phase, phase))


PHASES = {
    "pdOPT": "",
    "pdFEAS": "",
    "pINF_dFEAS": "unbounded",
    "dUNBD": "unbounded",
    "pFEAS_dINF": "infeasible",
    "pUNBD": "infeasible",
}
"""How SDPA ends. pdFEAS: it has stopped short of the gap asked for, feasible; the objective says how far."""

SDPA_PARAMETERS = """100 unsigned int maxIteration;
1.0E-4 double 0.0 < epsilonStar;
1.0E2 double 0.0 < lambdaStar;
2.0 double 1.0 < omegaStar;
-1.0E5 double lowerBound;
1.0E5 double upperBound;
0.1 double 0.0 <= betaStar < 1.0;
0.2 double 0.0 <= betaBar < 1.0, betaStar <= betaBar;
0.9 double 0.0 < gammaStar < 1.0;
1.0E-4 double 0.0 < epsilonDash;
NOPRINT char* xPrint
NOPRINT char* XPrint
NOPRINT char* YPrint
%+10.16e char* infPrint
"""
"""Its own, but for 1e-4, and no solution is written."""


def read_lorads_program(file: Path, text: str, code: int) -> Found:
    """It minimises -<F_0, Y>, and divides by 1 + |c|_1, where CSDP does by 1 + |c|_2."""
    try:
        printed = read_lorads(text)
    except NoResult:
        return Found(math.nan, note=f"failed ({code})")
    right = read_sdpa(file).right
    scale = (1.0 + np.abs(right).sum()) / (1.0 + np.linalg.norm(right))
    return Found(math.nan, -printed.objective, float(printed.violation * scale))


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
    ends = {"solved": "", "infeasible": "unbounded", "unbounded": "infeasible"}
    note = ends.get(info["status"], info["status"][:30])
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


LORADS_TOLERANCE = 1e-4
"""Its phase2Tol. At 1e-3 it ends with objectives that are off by more than that (theta2, qap5, qap7, truss1, truss3).
No tolerance suits all files: control1, control3 and ss30 it solves at 1e-3, and goes on to diverge at 1e-4.
"""

PEERS: dict[str, Peer] = {
    "CSDP": _program("CSDP", ["{file}"], read_csdp, ("param.csdp", CSDP_PARAMETERS)),
    "SDPA": _program(
        "SDPA",
        ["-ds", "{file}", "-o", "out", "-p", "param.sdpa", "-numThreads", "1"],
        read_sdpa_program,
        ("param.sdpa", SDPA_PARAMETERS),
    ),
    "LoRADS": _program("LoRADS", ["{file}", "--phase2Tol", f"{LORADS_TOLERANCE:g}"], read_lorads_program),
    "SCS": scs,
}
