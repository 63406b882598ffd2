"""Quadratic assignment problems of QAPLIB (.dat): n, then two n x n matrices, in lines of any length."""

from __future__ import annotations

from cgm_cli.readers.head import Head


def looks_like(head: Head) -> bool:
    """One count n in the first line, and 2 n^2 numbers behind it."""
    cells = head.text.split()
    if not (head.whole and cells and cells[0].isascii() and cells[0].isdigit() and len(cells[0]) < 6):
        return False
    return len(head.cells[0]) == 1 and len(cells) == 1 + 2 * int(cells[0]) ** 2 and all(map(_is_number, cells))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
