"""Case files of MATPOWER (.m), format 2: matrices in MATLAB's notation, read without running anything.

R. D. Zimmerman, C. E. Murillo-Sanchez and R. J. Thomas, "MATPOWER: steady-state operations, planning and analysis tools
for power systems research and education", IEEE Trans. Power Systems 26, 2011; its manual, appendix B.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.head import Head
from cgm_cli.readers.text import read_text
from cgm_cli.text import quoted

_BEGINS = re.compile(r"^[ \t]*+(?:function[ \t]++mpc\b|mpc\.(?:baseMVA|bus|version)[ \t]*+=)", re.MULTILINE)
_STATEMENT = re.compile(r"mpc\.(\w+)\s*=\s*(.*)", re.DOTALL)
_HARMLESS = re.compile(r"function\b|end\b|return\b|\[[^\]]*\]\s*=\s*idx_\w+|$")

COLUMNS = {"bus": 13, "gen": 10, "branch": 11, "gencost": 5}
"""The matrices of a case, and the least that a row of each has."""


@dataclass(frozen=True)
class PowerCase:
    """base: MVA that are one unit of power. bus, gen, branch, gencost: (m, columns), as the manual numbers them from 1.
    others: names of matrices that were in the file, too.
    """

    base: float
    bus: np.ndarray
    gen: np.ndarray
    branch: np.ndarray
    gencost: np.ndarray
    others: tuple[str, ...] = ()


def looks_like(head: Head) -> bool:
    return bool(_BEGINS.search(head.text))


def read_case(path: Path, name: str | None = None) -> PowerCase:
    """Raises DataError, with the line, for what is no such file, and for one that computes: it is not run."""
    name = name or str(path)
    scalars, matrices, others = dict[str, str](), dict[str, np.ndarray](), list[str]()
    for line, statement in _statements(read_text(path, name)):
        match = _STATEMENT.fullmatch(statement)
        if match is None:
            if not _HARMLESS.match(statement):
                raise DataError(
                    f"{name}:{line}: `{quoted(statement, 60)}` computes something, and a case file is not run here: "
                    "save the case by `savecase` of MATPOWER, and take that"
                )
            continue
        key, value = match.groups()
        if key in COLUMNS:
            matrices[key] = _matrix(value, key, name, line)
        elif key in ("version", "baseMVA"):
            scalars[key] = value
        else:
            others.append(key)
    missing = [key for key in COLUMNS if key not in matrices]
    if missing:
        raise DataError(f"{name}: a case has `mpc.{missing[0]}`, and there is none")
    if scalars.get("version", "'2'").strip("'\"") != "2":
        raise DataError(f"{name}: the case is in format {quoted(scalars['version'], 20)}, and format 2 is read")
    return PowerCase(_base(scalars, name), **matrices, others=tuple(others))


def _statements(text: str) -> list[tuple[int, str]]:
    """Each with the line that it begins in, without comments; line ends inside of brackets are kept."""
    found, depth, part, first = list[tuple[int, str]](), 0, list[str](), 0
    for number, line in enumerate(text.splitlines(), 1):
        code = line.partition("%")[0].rstrip()
        if not part:
            first = number
        if code.strip():
            part.append(code)
        depth += sum(code.count(each) for each in "[{") - sum(code.count(each) for each in "]}")
        if depth <= 0 and part:
            found.append((first, "\n".join(part).strip().rstrip(";").rstrip()))
            depth, part = 0, []
    if part:
        found.append((first, "\n".join(part).strip()))
    return found


def _matrix(value: str, key: str, name: str, line: int) -> np.ndarray:
    """(m, columns). line: where the statement begins."""
    if not (value.startswith("[") and value.endswith("]")):
        raise DataError(f"{name}:{line}: `mpc.{key}` is no matrix in brackets, or its bracket is not closed")
    rows = list[list[float]]()
    for offset, text in enumerate(value[1:-1].split("\n")):
        for part in text.split(";"):
            cells = part.replace(",", " ").split()
            if cells:
                rows.append([_number(cell, f"{name}:{line + offset}") for cell in cells])
                if len(rows[-1]) != len(rows[0]):
                    raise DataError(
                        f"{name}:{line + offset}: a row of `mpc.{key}` has {len(rows[-1])} numbers, and the first has "
                        f"{len(rows[0])}"
                    )
    if not rows or len(rows[0]) < COLUMNS[key]:
        width = len(rows[0]) if rows else 0
        raise DataError(
            f"{name}:{line}: rows of `mpc.{key}` have {COLUMNS[key]} numbers or more, and here {width or 'none'}"
        )
    return np.array(rows)


def _number(cell: str, place: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = np.nan
    if np.isnan(value):
        raise DataError(f"{place}: '{quoted(cell, 40)}' is not a number")
    return value


def _base(scalars: dict[str, str], name: str) -> float:
    if "baseMVA" not in scalars:
        raise DataError(f"{name}: a case has `mpc.baseMVA`, and there is none")
    value = _number(scalars["baseMVA"], f"{name}: mpc.baseMVA")
    if not 0.0 < value < np.inf:
        raise DataError(f"{name}: `mpc.baseMVA` is {value:g}, and has to be positive")
    return value
