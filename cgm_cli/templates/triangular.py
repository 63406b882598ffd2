"""A symmetric matrix of which a file has one triangle, as correlations are often printed: above the diagonal, or below
it, there are blanks or zeros.
"""

from __future__ import annotations

import numpy as np

from cgm_cli.readers.context import BuildContext


def completed(context: BuildContext, matrix: np.ndarray, source: str) -> np.ndarray:
    """The matrix (n, n), in which nan is unknown; where one of its triangles holds nothing but nan and zeros, and the
    other one something else, with the mirror image of this in its place. A remark on `source` says so. What is no
    square matrix is handed on as it is.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        return matrix
    strict = {"below": np.tril(matrix, -1), "above": np.triu(matrix, 1)}
    empty = [side for side, part in strict.items() if not np.nan_to_num(part).any()]
    if len(empty) != 1:
        return matrix
    (side,) = empty
    other = "above" if side == "below" else "below"
    held = "blank" if np.isnan(strict[side]).any() else "zero"
    context.remarks.append(f"{source}: the entries {side} the diagonal are {held}, and taken to be those {other} it.")
    return strict[other] + strict[other].T + np.diag(matrix.diagonal())
