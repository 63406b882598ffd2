"""The answer as a table with a line for each node, point or feature: which array of a solution that is, and what its
columns are called. `cgm export --table` writes it, with the names that the data have. That of a matrix is the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Listing:
    """array: (n,) or (n, m), called as in `Rounding.arrays`, or `x`. row: what a line is about; entry: what it says of
    that, of a matrix in each of its columns.
    """

    array: str
    row: str
    entry: str
