"""Matrix Market files (.mtx), sparse (`coordinate`) or full (`array`), real, integer or pattern.

SciPy's parser trusts the header: a damaged one can end the process. Here nothing is allocated before what the header
promises has been held against the lines of the file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.readers.checks import reason
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_lines
from cgm_cli.text import visible

_FORMS = ("coordinate", "array")
_FIELDS = {"real": 3, "double": 3, "integer": 3, "pattern": 2}
_SYMMETRIES = {"general": 0.0, "symmetric": 1.0, "skew-symmetric": -1.0}


def read_market(path: Path, name: str) -> np.ndarray | sp.csr_array:
    """The matrix of a .mtx file; entries given more than once are summed."""
    lines = read_lines(path, name)
    form, field, symmetry = _banner(lines[0] if lines else "", name)
    body = [line for line in lines[1:] if line.strip() and not line.lstrip().startswith("%")]
    sizes = _sizes(body.pop(0) if body else "", 3 if form == "coordinate" else 2, name)
    if form == "coordinate":
        return _sparse(body, sizes, _FIELDS[field], _SYMMETRIES[symmetry], name)
    return _full(body, sizes, _SYMMETRIES[symmetry], name)


def _banner(line: str, name: str) -> tuple[str, str, str]:
    words = line.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise DataError(f"{name}: does not begin with `%%MatrixMarket matrix ...`")
    form, field, symmetry = words[2:]
    if field == "complex":
        raise DataError(f"{name}: holds complex numbers; real numbers are needed")
    known = form in _FORMS and field in _FIELDS and symmetry in _SYMMETRIES
    if not known or (form == "array" and field == "pattern"):
        raise DataError(f"{name}: matrices of the kind `{visible(' '.join(words[2:])[:60])}` are not supported")
    return form, field, symmetry


def _sizes(line: str, count: int, name: str) -> list[int]:
    cells = line.split()
    if len(cells) != count or not all(cell.isascii() and cell.isdigit() and len(cell) <= 15 for cell in cells):
        raise DataError(f"{name}: expected {count} sizes, got '{visible(line.strip()[:60])}'")
    if "0" in cells[:2]:
        raise DataError(f"{name}: is empty ({cells[0]} x {cells[1]})")
    return [int(cell) for cell in cells]


def _sparse(body: list[str], sizes: list[int], width: int, mirrored: float, name: str) -> sp.csr_array:
    rows, columns, entries = sizes
    _check_count(len(body), entries, name)
    check_fits(name, 8 * (rows + 1) + 80 * entries)
    if not entries:
        return sp.csr_array((rows, columns))
    table = _table(body, width, name)
    where = table[:, :2]
    bad = np.flatnonzero(((where < 1) | (where > (rows, columns)) | (where % 1 != 0)).any(axis=1))
    if bad.size:
        raise DataError(f"{name}: entry {bad[0] + 1} is not in a matrix of {rows} x {columns}")
    i, j = where.astype(np.int64).T - 1
    values = table[:, 2] if width == 3 else np.ones(entries)
    if mirrored:
        _check_square(rows, columns, name)
        below = i != j
        i, j, values = (
            np.concatenate([i, j[below]]),
            np.concatenate([j, i[below]]),
            np.concatenate([values, mirrored * values[below]]),
        )
    return sp.coo_array((values, (i, j)), shape=(rows, columns)).tocsr()


def _full(body: list[str], sizes: list[int], mirrored: float, name: str) -> np.ndarray:
    rows, columns = sizes
    if mirrored:
        _check_square(rows, columns, name)
    # By columns; of a symmetric matrix the triangle below the diagonal, which a skew one leaves out.
    strict = int(mirrored < 0)
    _check_count(len(body), rows * (rows + 1 - 2 * strict) // 2 if mirrored else rows * columns, name)
    check_fits(name, 16 * rows * columns)
    values = _table(body, 1, name)[:, 0] if body else np.empty(0)
    if not mirrored:
        return values.reshape((rows, columns), order="F")
    matrix = np.zeros((rows, columns))
    above = np.triu_indices(rows, strict)
    matrix[above] = mirrored * values
    matrix[above[1], above[0]] = values
    return matrix


def _table(body: list[str], width: int, name: str) -> np.ndarray:
    try:
        table = np.loadtxt(body, ndmin=2, comments=None)
    except ValueError as error:
        raise DataError(f"{name}: not a readable Matrix Market file: {reason(error)}") from None
    if table.shape != (len(body), width):
        raise DataError(f"{name}: has lines of {table.shape[1]} numbers where {width} are expected")
    return table


def _check_count(found: int, promised: int, name: str) -> None:
    if found != promised:
        word = "is truncated: " if found < promised else ""
        raise DataError(f"{name}: {word}the header promises {promised} entries, the file has {found}")


def _check_square(rows: int, columns: int, name: str) -> None:
    if rows != columns:
        raise DataError(f"{name}: a symmetric matrix is square, not {rows} x {columns}")
