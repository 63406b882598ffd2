"""Quadratic assignment problems of QAPLIB (.dat): n, then two n x n matrices, in lines of any length."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.cells import is_count, is_number
from cgm_cli.readers.head import Head
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_text
from cgm_cli.text import visible

NEAR = 0.1
"""Part of its numbers that a damaged file may lack, or have too many, and still be known by how many there are."""


def looks_like(head: Head) -> bool:
    """A count n in a line of its own, or all in one line, and 2 n^2 numbers behind it."""
    n, numbers = _parts(head)
    return n > 0 and numbers == 2 * n * n


def resembles(head: Head) -> bool:
    """The same with another number of numbers: about as many, or n of them in the next line, or in a .dat file. A
    damaged one, which its reader tells.
    """
    n, numbers = _parts(head)
    if n < 2 or numbers == 0:
        return False
    is_near = abs(numbers - 2 * n * n) <= NEAR * 2 * n * n
    return is_near or head.suffix == ".dat" or any(len(row) == n for row in head.cells[1:2])


def looks_like_solution(head: Head) -> bool:
    """n and a value, and behind them a permutation of 1 to n, in any lines."""
    cells = head.text.replace(",", " ").split()
    if not (head.whole and len(cells) > 2 and is_count(cells[0]) and is_number(cells[1])):
        return False
    places = cells[2:]
    return all(map(is_count, places)) and sorted(map(int, places)) == list(range(1, int(cells[0]) + 1))


def _parts(head: Head) -> tuple[int, int]:
    """n, and how many numbers stand behind it; no n, 0, in what is laid out as no such file: the second line of an SDPA
    file is a number alone, as no line is here unless all are.
    """
    rows = [line.split() for line in head.text.splitlines() if line.strip()]
    if not (head.whole and rows and rows[0][0].isascii() and rows[0][0].isdigit() and len(rows[0][0]) < 6):
        return 0, 0
    is_apart = len(rows[0]) == 1 and (len(rows) < 2 or len(rows[1]) > 1 or all(len(row) == 1 for row in rows))
    if not (is_apart or len(rows) == 1) or not all(is_number(cell) for row in rows for cell in row):
        return 0, 0
    return int(rows[0][0]), sum(map(len, rows)) - 1


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
