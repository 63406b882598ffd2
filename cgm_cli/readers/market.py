"""Matrix Market files (.mtx), sparse (`coordinate`) or full (`array`), real, integer, pattern or complex.

The numbers are read by SciPy (fast_matrix_market), behind two guards. What the header promises is held against the
file, since SciPy allocates it, and a wrong one can end the process. And every line must be what the format says, since
SciPy skips the rest of a line after the first number it can make out: `1d5` would be 1, `0x10` 0, a third number of a
pattern nothing. Integers are read as real numbers, so that none wraps around.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.readers.checks import reason
from cgm_cli.readers.head import Head
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_text
from cgm_cli.text import counted, visible

_FORMS = ("coordinate", "array")
_FIELDS = {"real": "real", "double": "real", "integer": "real", "pattern": "pattern", "complex": "complex"}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")

_COMMENT = re.compile(r"^[ \t]*%[^\n]*", re.MULTILINE)
_GAP = re.compile(r"\n(?:[ \t]*\n)+")
_PLACE = "[0-9]++[ \t]++[0-9]++"
_NUMBER = r"[+-]?+(?:(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:e[+-]?+[0-9]++)?+|nan|inf(?:inity)?+)"
_CONTENTS = {
    ("coordinate", "real"): (f"{_PLACE}[ \t]++{_NUMBER}", "a row, a column and a number"),
    ("coordinate", "pattern"): (_PLACE, "a row and a column"),
    ("coordinate", "complex"): (f"{_PLACE}[ \t]++{_NUMBER}[ \t]++{_NUMBER}", "a row, a column and two numbers"),
    ("array", "real"): (_NUMBER, "one number"),
    ("array", "complex"): (f"{_NUMBER}[ \t]++{_NUMBER}", "two numbers"),
}


def looks_like(head: Head) -> bool:
    """The banner."""
    return head.text.lower().startswith("%%matrixmarket")


def read_market(path: Path, name: str) -> np.ndarray | sp.coo_array:
    """The matrix of a .mtx file; of a sparse one as the file has it, with places that may be given more than once."""
    text = read_text(path, name).replace("\r\n", "\n").replace("\r", "\n")
    banner, _, rest = text.partition("\n")
    form, field, symmetry = _banner(banner, name)
    # Comments leave an empty line, so that the numbers of the lines stay. SciPy reads beyond a last line that ends in
    # a space.
    rest = _COMMENT.sub("", rest).rstrip() + "\n"
    start = len(rest) - len(rest.lstrip())
    end = rest.find("\n", start)
    sizes = _sizes(rest[start:end], 3 if form == "coordinate" else 2, name)
    rows, columns = sizes[:2]
    if symmetry != "general" and rows != columns:
        raise DataError(f"{name}: a {symmetry} matrix is square, not {rows} x {columns}")
    _check_count(rest[end:].rstrip(), sizes[2] if form == "coordinate" else _stored(rows, columns, symmetry), name)
    each = 16 if field == "complex" else 8
    check_fits(name, 8 * (rows + 1) + (64 + 2 * each) * sizes[2] if form == "coordinate" else 2 * each * rows * columns)
    _check_lines(rest, end, _CONTENTS[form, field], name)
    body = f"%%MatrixMarket matrix {form} {field} {symmetry}\n{rest}".replace("+", "")
    return _numbers(body, rows, columns, name)


def _banner(line: str, name: str) -> tuple[str, str, str]:
    """Form, field and symmetry, in the words that SciPy is told."""
    words = line.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise DataError(f"{name}: does not begin with `%%MatrixMarket matrix ...`")
    form, field, symmetry = words[2:]
    known = form in _FORMS and field in _FIELDS and symmetry in _SYMMETRIES
    if not known or (form == "array" and field == "pattern") or (symmetry == "hermitian" and field != "complex"):
        raise DataError(f"{name}: matrices of the kind `{visible(' '.join(words[2:])[:60])}` are not supported")
    return form, _FIELDS[field], symmetry


def _sizes(line: str, count: int, name: str) -> list[int]:
    cells = line.split()
    if len(cells) != count or not all(cell.isascii() and cell.isdigit() and len(cell) <= 15 for cell in cells):
        raise DataError(f"{name}: expected {count} sizes, got '{visible(line.strip()[:60])}'")
    sizes = [int(cell) for cell in cells]
    if 0 in sizes[:2]:
        raise DataError(f"{name}: is empty ({sizes[0]} x {sizes[1]})")
    return sizes


def _stored(rows: int, columns: int, symmetry: str) -> int:
    """Of a symmetric matrix only the triangle below the diagonal is stored, which a skew one leaves out."""
    if symmetry == "general":
        return rows * columns
    return rows * (rows - 1) // 2 if symmetry == "skew-symmetric" else rows * (rows + 1) // 2


def _check_count(entries: str, promised: int, name: str) -> None:
    """entries: what follows the sizes, without what is blank at its end."""
    found = entries.count("\n") - sum(gap[0].count("\n") - 1 for gap in _GAP.finditer(entries))
    if found != promised:
        word = "is truncated: " if found < promised else ""
        raise DataError(f"{name}: {word}the header promises {counted(promised, 'entry')}, the file has {found}")


def _check_lines(rest: str, start: int, contents: tuple[str, str], name: str) -> None:
    """rest: all after the banner; start: where in it the lines with entries begin, at the line end before them."""
    line, expected = contents
    found = re.compile(f"(?:\n[ \t]*+(?:{line}[ \t]*+)?+)*+", re.IGNORECASE).match(rest, start)
    good = start if found is None else found.end()
    if good < len(rest):
        number = rest.count("\n", 0, good) + 2
        shown = visible(rest.split("\n", number - 1)[number - 2].strip()[:60])
        raise DataError(f"{name}: line {number}: expected {expected}, got '{shown}'")


def _numbers(body: str, rows: int, columns: int, name: str) -> np.ndarray | sp.coo_array:
    from scipy.io import mmread

    try:
        return mmread(io.BytesIO(body.encode()), spmatrix=False)
    except (ValueError, OverflowError) as error:
        # All that is left to be wrong is a row or column that the matrix does not have.
        where = re.match(r"Line (\d+):", str(error))
        if where is None:
            raise DataError(f"{name}: not a readable Matrix Market file: {reason(error)}") from None
        number = int(where[1])
        text = visible(body.split("\n", number)[number - 1].strip()[:60])
        raise DataError(f"{name}: line {number}: '{text}' is not in a matrix of {rows} x {columns}") from None
