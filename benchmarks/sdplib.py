"""benchmarks/sdplib.md: semidefinite programs as they come: `python -m benchmarks.sdplib [NAME ...]`.

Every .dat-s file of $CGM_DATA/sdplib, by `cgm` at its defaults, without a radius, to a gap and an infeasibility of
1e-3, beside CSDP, SDPA, LoRADS and SCS, one after the other, by one thread. `--limit`: seconds of each run, 60. With
names, only those, and the table goes to standard output.

The peers are optional: CSDP and SDPA are Debian's packages coinor-csdp and sdpa, SCS is `pip install scs`, and LoRADS
is built from its source, github.com/COPT-Public/LoRADS; its program is found on the PATH as `lorads`.

`solved`: the objective is within 1e-3 of the published optimum, the constraints are met to 1e-3, and the certified
bound is within 1e-3 of the optimum and not on the wrong side of it. Seconds are those of the whole, reading apart. What
is infeasible or unbounded is solved where that is proven; of a file without a published optimum here the certified gap
decides.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path
from shutil import which

from benchmarks.suite.machine import THREADS, code, described, machine

os.environ.update(THREADS)  # before any BLAS is loaded

from benchmarks.suite.peers import linked_blas
from benchmarks.suite.sdp_peers import ASKED, LORADS_TOLERANCE, PEERS, PROGRAMS, Found
from cgm_cli.readers.sdpa import read_sdpa
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "sdplib.md"

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
{asked:g}, {limit:g} s each; CSDP (Debian's coinor-csdp) and SDPA (Debian's sdpa) to 1e-4; LoRADS (from its source,
github.com/COPT-Public/LoRADS) at phase2Tol {lorads:g}, else its defaults; SCS (`pip install scs`) at eps {asked:g}.
Seconds are of reading and solving, by one thread; of programs, those of the whole command.
`(no)`: objective, infeasibility or the certified bound are not within what was asked of the published optimum. `note`:
how a run ended that did not converge, and `trace bound` where its bound holds for all X of a trace up to what was
assumed; else it holds whatever that is. The peers have no bound, and their objective and infeasibility are what they
print. LoRADS proves nothing infeasible.

Of {files} files cgm solves {solved}, and its bound is on the wrong side for {wrong}. The optimum, or the proof
that there is none, is found by {peers}.{missing}
{blas}"""

COLUMNS = ["file", "m", "blocks", "optimum", "cgm", "objective", "infeasible", "bound", "note"]
COLUMNS += [column for peer in PEERS for column in (peer, "")]


def row(file: Path, limit: float) -> tuple[list[str], bool, bool, list[bool]]:
    name = file.name.removesuffix(".dat-s")
    program = read_sdpa(file)
    optimum = OPTIMA.get(name, math.nan)
    mine, peers = ours(file, limit), [peer(file, limit) for peer in PEERS.values()]
    solved, wrong = is_solved(name, mine), is_wrong(name, mine)
    near = [peer.note == PROVEN[name] if name in PROVEN else peer.is_near(optimum) for peer in peers]
    cells = [name, str(program.right.size), _blocks(program.sizes), PROVEN.get(name, f"{optimum:.7g}")]
    cells += [f"{mine.seconds:.2f}" + ("" if solved else " (no)"), f"{mine.objective:.7g}", f"{mine.infeasible:.0e}"]
    cells += [f"{mine.bound:.7g}", mine.note]
    for peer, is_near in zip(peers, near, strict=True):
        seconds = "" if math.isnan(peer.seconds) else f"{peer.seconds:.2f}"
        cells += [seconds, peer.note or ("" if is_near else _missed(peer, optimum))]
    print(" | ".join(cells), flush=True)
    return cells, solved, wrong, near


def _missed(peer: Found, optimum: float) -> str:
    """Why a peer is not near: its objective, or where that is no reason its infeasibility."""
    if abs(peer.objective - optimum) <= ASKED * max(1.0, abs(optimum)):
        return f"no: infeasible {peer.infeasible:.0e}"
    return f"no: {peer.objective:.6g}"


def _blas() -> str:
    """Whose BLAS the programs have that are here: the reference one is many times slower."""
    found = {peer: linked_blas(program) or "its own" for peer, program in PROGRAMS.items() if which(program)}
    return f"BLAS: {', '.join(f'{peer} {blas}' for peer, blas in found.items())}. " if found else ""


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
    near = {peer: sum(each[3][place] for each in rows) for place, peer in enumerate(PEERS)}
    missing = [peer for peer in PEERS if rows[0][0][COLUMNS.index(peer) + 1] == "not here"]
    lines = ["| " + " | ".join(COLUMNS) + " |", "| " + " | ".join("---" for _ in COLUMNS) + " |"]
    lines += ["| " + " | ".join(each[0]) + " |" for each in rows]
    head = HEAD.format(
        asked=ASKED,
        limit=given.limit,
        lorads=LORADS_TOLERANCE,
        files=len(rows),
        solved=solved,
        wrong=wrong,
        peers=", ".join(f"{peer} for {count}" for peer, count in near.items() if peer not in missing),
        missing=f" Not here: {', '.join(missing)}." if missing else "",
        blas=_blas(),
    )
    head += f"{described(machine())}; source {code()}.\n\n"
    text = head + "\n".join(lines) + "\n"
    if given.names:
        print(text)
    else:
        PAGE.write_text(text)
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
