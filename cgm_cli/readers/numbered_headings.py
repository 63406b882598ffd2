"""A heading of numbers, such as 2019, 2020, 2021, above a matrix: it cannot be told from a row, and is pointed out."""

from __future__ import annotations

import numpy as np

_YEARS = 1900, 2100
_LISTED = 4


def told_numbered_heading(name: str, matrix: np.ndarray) -> tuple[str, ...]:
    """The remark on the first row of a matrix (rows, columns) that was taken for numbers, and looks like a heading:
    years one after another, above numbers that are no years; or 0, 1, 2, ... or 1, 2, 3, ..., above columns each of
    which has fractions.
    """
    if matrix.ndim != 2 or matrix.shape[0] < 2 or matrix.shape[1] < 2:
        return ()
    first, below = matrix[0], matrix[1:]
    if not float(first[0]).is_integer() or (np.diff(first) != 1.0).any():
        return ()
    are_years = first[0] >= _YEARS[0] and first[-1] <= _YEARS[1]
    if are_years:
        alike = ((below >= _YEARS[0]) & (below <= _YEARS[1])).any()
    else:
        alike = first[0] not in (0.0, 1.0) or (below == np.rint(below)).all(axis=0).any()
    if alike:
        return ()
    cells = [f"{value:.0f}" for value in first]
    listed = ", ".join(cells[:_LISTED]) + (", ..." if len(cells) > _LISTED else "")
    # `1..3` are columns by their numbers, whatever they are called.
    quotes = ", ".join(f"'{cell}'" for cell in cells[:_LISTED]) + (", ..." if len(cells) > _LISTED else "")
    wanted = f"[{quotes}]" if first[0] == 1.0 else f"'{cells[0]}..{cells[-1]}'"
    return (
        f"{name}: the first row, {listed}, was taken for numbers; if it is a heading, `columns: {wanted}` says so.",
    )
