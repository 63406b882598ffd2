"""Runs to verify: short solves of problems composed from the blocks' own examples."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np

from cgm_cli.api import solve
from cgm_cli.runs.storage import CHECKSUM
from cgm_cli.verify.check import verify
from cgm_cli.verify.report import Report, Verdict

SHORT = ["solver.iterations=10"]


def composed(domain: dict, **parts) -> dict:
    """A spec composed of the domain and further parts of the problem, for all steps of the paper's method."""
    return {
        "name": "composed",
        "problem": {"domain": domain, **parts},
        "solver": {"method": "hcgm"},
        "stop": {"gap": None},
    }


def verified(spec: dict | Path, folder: Path, *overrides: str, short: list[str] = SHORT) -> Report:
    """The report on a fresh run of the spec."""
    solve(spec, [*short, *overrides], out=folder)
    return verify(folder)


def sure(report: Report, bound: Verdict = Verdict.HOLDS) -> None:
    """Nothing fails, and nothing about the point and the bound is left open."""
    core = [row for row in report.rows if not (row.note.startswith("a figure of the template") or row.beyond)]
    for each in core:
        expected = bound if "bound (" in each.quantity else Verdict.HOLDS
        if "(probable)" in each.quantity and each.verdict is Verdict.CONSISTENT:
            continue  # which nothing but a factorisation could prove
        assert each.verdict is expected, (each, report.sentence())
    assert report.holds


def row(report: Report, name: str):
    """The row whose quantity begins with the name."""
    return next(row for row in report.rows if row.quantity.startswith(name))


def copied(run: Path, to: Path) -> Path:
    """A copy of a run folder, to be altered."""
    shutil.copytree(run, to)
    return to


@contextmanager
def forged(run: Path) -> Iterator[h5py.File]:
    """run.h5, to be written to by somebody who brings the checksums of the trace up to date."""
    with h5py.File(run / "run.h5", "r+") as file:
        yield file
        for column in file["trace"].values():
            if CHECKSUM in column.attrs:
                column.attrs[CHECKSUM] = zlib.crc32(column[()].tobytes())


def altered(run: Path, place: str, change) -> None:
    """Replace the array at a place in run.h5 by change(array)."""
    with forged(run) as file:
        array = np.asarray(change(file[place][()]))
        del file[place]
        file[place] = array
