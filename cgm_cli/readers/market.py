"""Matrix Market files (.mtx), sparse or full."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from cgm_cli.errors import CgmError, DataError
from cgm_cli.readers.memory import check_fits
from cgm_cli.spec.faults import visible


def read_market(path: Path, name: str) -> np.ndarray | sp.csr_array:
    """The matrix of a .mtx file; what the header promises is held against the file's size before it is allocated."""
    try:
        _check_header(path, name)
        matrix = scipy.io.mmread(path)
        return sp.csr_array(matrix) if sp.issparse(matrix) else matrix
    except CgmError:
        raise
    except Exception as error:  # The parser's own exceptions differ between versions of SciPy.
        raise DataError(f"{name}: not a readable Matrix Market file: {error}") from None


def _check_header(path: Path, name: str) -> None:
    with path.open(encoding="latin-1") as file:
        words = file.readline(1000).lower().split()
        if len(words) != 5 or words[0] != "%%matrixmarket" or words[1] != "matrix":
            raise DataError(f"{name}: does not begin with `%%MatrixMarket matrix ...`")
        if words[3] == "complex":
            raise DataError(f"{name}: holds complex numbers; real numbers are needed")
        line = file.readline(10_000)
        while line.startswith("%") or line.isspace():
            line = file.readline(10_000)
    sizes = line.split()
    sparse = words[2] == "coordinate"
    if len(sizes) != (3 if sparse else 2) or not all(size.isascii() and size.isdigit() for size in sizes):
        raise DataError(f"{name}: expected the sizes, got '{visible(line.strip()[:60])}'")
    rows, columns, *entries = (int(size) for size in sizes)
    # The shortest entry is "1 1" or "0" with a line break; a symmetric full matrix stores half.
    least = 4 * entries[0] - 1 if sparse else rows * columns
    if least > path.stat().st_size:
        raise DataError(f"{name}: is truncated: the header promises {' x '.join(sizes)} entries, the file is too short")
    check_fits(name, 8 * (rows + 1) + 40 * entries[0] if sparse else 8 * rows * columns)
