"""k-means and maximum cut as plain semidefinite programs, for the peers; and a peer's X judged by formulas of our own.

minimise <C, X>   subject to   <A_i, X> = b_i,   X positive semidefinite,   X >= 0 entrywise (k-means only)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from cgm_cli.templates.base import Template
from cgm_cli.templates.kmeans_sdp import KMeansSDP


@dataclass(frozen=True)
class Program:
    """cost (n, n), dense or sparse. constraints: row i holds the upper triangle of A_i, off-diagonal entries once, at
    column `place(row, column)`. sides: b. sign: the user's objective is sign * <C, X>.
    """

    cost: np.ndarray | sp.csr_array
    constraints: sp.csr_array
    sides: np.ndarray
    nonnegative: bool
    sign: float

    @property
    def size(self) -> int:
        return self.cost.shape[0]

    def upper_cost(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, columns and values of the non-zeros of C on and above the diagonal."""
        upper = sp.coo_array(sp.triu(sp.coo_array(self.cost)))
        return upper.row, upper.col, upper.data

    def values(self, x: np.ndarray) -> tuple[float, float]:
        """The user's objective at X (n, n), and by how much X misses its constraints, relative as in the runs:

        the largest of |A X - b| / max(1, |b|) per kind of constraint, the distance to the non-negative matrices and
        that to the semidefinite ones, both relative to max(1, |X|).
        """
        x = 0.5 * (x + x.T)
        objective = float((self.cost * x).sum())
        size = max(1.0, float(np.linalg.norm(x)))
        negative = np.minimum(scipy.linalg.eigvalsh(x), 0.0)
        missed = [float(np.linalg.norm(negative)) / size]
        if self.nonnegative:
            missed.append(float(np.linalg.norm(np.minimum(x, 0.0))) / size)
            missed.append(relative(x.sum(axis=1), np.ones(self.size)))
            missed.append(relative(np.trace(x), self.sides[-1]))
        else:
            missed.append(relative(np.diagonal(x), np.ones(self.size)))
        return self.sign * objective, max(missed)


def relative(found: np.ndarray | float, wanted: np.ndarray | float) -> float:
    """|found - wanted| / max(1, |wanted|)."""
    return float(np.linalg.norm(found - wanted) / max(1.0, np.linalg.norm(wanted)))


def place(row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The number of entry (row, column), row <= column, of the upper triangle, column by column."""
    return column * (column + 1) // 2 + row


def program(template: Template) -> Program:
    """The program of a k-means or max-cut template."""
    if isinstance(template, KMeansSDP):
        n, k = template.points.shape[0], template.spec.clusters
        column, row = np.tril_indices(n)
        # A_i = (e_i 1^T + 1 e_i^T) / 2, as X is symmetric; entry (r, c) of the triangle counts twice when paired.
        number, off = place(row, column), row != column
        rows = np.concatenate([row[off], column[off], row[~off]])
        columns = np.concatenate([number[off], number[off], number[~off]])
        entries = np.concatenate([np.full(2 * off.sum(), 0.5), np.ones(n)])
        diagonal = place(np.arange(n), np.arange(n))
        rows, columns = np.concatenate([rows, np.full(n, n)]), np.concatenate([columns, diagonal])
        constraints = sp.csr_array((np.concatenate([entries, np.ones(n)]), (rows, columns)))
        distances = cdist(template.points, template.points, "sqeuclidean")
        return Program(distances, constraints, np.append(np.ones(n), float(k)), True, 1.0)
    n = template.laplacian.shape[0]
    diagonal = place(np.arange(n), np.arange(n))
    constraints = sp.csr_array((np.ones(n), (np.arange(n), diagonal)), shape=(n, n * (n + 1) // 2))
    return Program(sp.csr_array(template.laplacian * -0.25), constraints, np.ones(n), False, -1.0)


def _entries(matrix: int, block: int, i: np.ndarray, j: np.ndarray, values: np.ndarray) -> Iterator[str]:
    for row, column, value in zip(i.tolist(), j.tolist(), values.tolist(), strict=True):
        yield f"{matrix} {block} {row + 1} {column + 1} {value!r}\n"


def write_sdpa(program: Program, path: Path) -> None:
    """The program in SDPA's sparse format, as the dual pair that csdp and dsdp5 read: max <-C, X>, A X = b.

    X >= 0 takes a slack for each entry above the diagonal, in a second, diagonal block: X_ij - s_ij = 0.
    """
    n, m = program.size, program.sides.size
    pairs = n * (n - 1) // 2 if program.nonnegative else 0
    number = np.arange(program.constraints.shape[1])
    column = np.floor((np.sqrt(8.0 * number + 1.0) - 1.0) / 2.0).astype(int)
    row = number - column * (column + 1) // 2
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{m + pairs}\n{2 if pairs else 1}\n{n}{f' -{pairs}' if pairs else ''}\n")
        file.write(" ".join(map(repr, program.sides.tolist())) + " 0" * pairs + "\n")
        i, j, values = program.upper_cost()
        file.writelines(_entries(0, 1, i, j, -values))
        for index in range(m):
            span = slice(program.constraints.indptr[index], program.constraints.indptr[index + 1])
            at = program.constraints.indices[span]
            file.writelines(_entries(index + 1, 1, row[at], column[at], program.constraints.data[span]))
        if pairs:
            i, j = np.triu_indices(n, 1)
            for index, (r, c) in enumerate(zip(i.tolist(), j.tolist(), strict=True), start=1):
                file.write(f"{m + index} 1 {r + 1} {c + 1} 0.5\n{m + index} 2 {index} {index} -1.0\n")


def read_solution(path: Path, size: int) -> np.ndarray:
    """X (n, n) from a solution file in SDPA's format: the first line is y, then `matrix block i j value`, X being 2."""
    table = np.loadtxt(path, skiprows=1, ndmin=2)
    kept = table[(table[:, 0] == 2) & (table[:, 1] == 1)]
    i, j = kept[:, 2].astype(int) - 1, kept[:, 3].astype(int) - 1
    x = np.zeros((size, size))
    x[i, j] = x[j, i] = kept[:, 4]
    return x
