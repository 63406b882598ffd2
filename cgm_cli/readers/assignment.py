"""Quadratic assignment problems of QAPLIB (.dat): n, then two n x n matrices, in lines of any length."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.cells import is_number
from cgm_cli.readers.head import Head
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_text
from cgm_cli.text import visible


def looks_like(head: Head) -> bool:
    """One count n in the first line, and 2 n^2 numbers behind it."""
    cells = head.text.split()
    if not (head.whole and cells and cells[0].isascii() and cells[0].isdigit() and len(cells[0]) < 6):
        return False
    return len(head.cells[0]) == 1 and len(cells) == 1 + 2 * int(cells[0]) ** 2 and all(map(is_number, cells))


def read_assignment(path: Path, name: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Both matrices, (n, n). DataError where there are not as many finite numbers as n says."""
    name = name or str(path)
    cells = read_text(path, name).split()
    if not (cells and cells[0].isascii() and cells[0].isdigit() and 0 < len(cells[0]) < 6):
        raise DataError(f"{name}: does not begin with the order of its matrices")
    n = int(cells[0])
    check_fits(name, 16 * n * n)
    if len(cells) != 1 + 2 * n * n:
        raise DataError(f"{name}: two matrices of order {n} have {2 * n * n} numbers, and there are {len(cells) - 1}")
    wrong = next((cell for cell in cells[1:] if not is_number(cell)), None)
    if wrong is not None:
        raise DataError(f"{name}: '{visible(wrong[:40])}' is not a number")
    values = np.array(cells[1:], dtype=float).reshape(2, n, n)
    if not np.isfinite(values).all():
        raise DataError(f"{name}: an entry is not finite")
    return values[0], values[1]
