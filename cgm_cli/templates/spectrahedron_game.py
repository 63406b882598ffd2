"""The semidefinite program of Garber and Hazan: a game between a density matrix and a simplex (paper, section 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, cast

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.maps.matrices import Matrices
from cgm_cli.blocks.penalties.simplex import SimplexSet
from cgm_cli.blocks.penalties.support_of_set import SupportOfSet
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ProblemError, located
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, Size, StrictModel, TemplateSpec
from cgm_cli.templates.base import Template


class RandomMatrices(StrictModel):
    """Symmetric sparse matrices drawn from the seed of the spec: Gaussian entries at random places."""

    size: Size = Field(description="n: the matrices are n x n")
    count: Size = Field(description="how many matrices")
    entries: Size = Field(10, description="non-zeros drawn for each, mirrored at the diagonal")


class SpectrahedronGame(Template):
    """min over X, max over i of <A_i, X>, with X positive semidefinite and tr X = 1.

    The value is max over p of lambda_min(sum p_i A_i); p, in the simplex, is the dual of the term `payoff`.
    """

    takes_samples = True

    class Spec(TemplateSpec):
        template: Literal["spectrahedron-game"]
        matrices: RandomMatrices | list[ArrayField] = Field(
            description="A_1, ..., A_k, symmetric, dense or sparse; or the sizes of random ones"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "spectrahedron-game", "matrices": {"size": 50, "count": 10}},
            {"template": "spectrahedron-game", "matrices": [[[1, 0], [0, -1]], [[0, 1], [1, 0]]]},
        ]

        def build(self, context: BuildContext) -> SpectrahedronGame:
            if isinstance(self.matrices, RandomMatrices):
                with located("matrices"):
                    # Each with its rows' beginnings, and two more of them while it is made symmetric.
                    rows, entries, count = self.matrices.size, self.matrices.entries, self.matrices.count
                    context.reserve("matrices", (8 * rows + 64 * entries) * count + 16 * rows)
                    return SpectrahedronGame(random_matrices(self.matrices, context.seed))
            matrices = []
            for number, value in enumerate(self.matrices):
                with located("matrices", number):
                    matrices.append(symmetric(context.matrix(value)))
                    if matrices[-1].shape != matrices[0].shape:
                        raise ProblemError(
                            f"this matrix is {named(matrices[-1].shape)}, but the first is {named(matrices[0].shape)}"
                        )
            if not matrices:
                raise ProblemError("a game needs at least one matrix", ("matrices",))
            return SpectrahedronGame(matrices)

    def __init__(self, matrices: Sequence[Matrix]):
        """matrices: at least one, all symmetric (n, n)."""
        shape = matrices[0].shape
        self.matrices = matrices
        self.problem = CompositeProblem(
            PSDTrace(shape[0], 1.0, fixed_trace=True),
            terms=(Term("payoff", Matrices(matrices, shape), SupportOfSet(SimplexSet((len(matrices),)))),),
        )


ROUNDING = 1e-12
"""How far a matrix may be from its transpose, relative to its largest entry."""


def symmetric(matrix: Matrix) -> Matrix:
    """The matrix, freed of what rounding errors have made its conjugate transpose differ by. Raises ProblemError unless
    it is square and, but for those, equal to that: symmetric or, of complex numbers, Hermitian.
    """
    kind = "Hermitian" if matrix.dtype.kind == "c" else "symmetric"
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ProblemError(f"a {kind} matrix is needed, and this one is {named(matrix.shape)}")
    mirrored = matrix.T.conj()
    gaps = abs(matrix - mirrored)
    worst = float(gaps.max()) if min(matrix.shape) else 0.0
    if worst > ROUNDING * float(abs(matrix).max()):
        # In either case not written out: a sparse matrix may be as large as no full one can be.
        row, column = next(zip(*cast(np.ndarray, gaps == worst).nonzero(), strict=True))
        raise ProblemError(f"a {kind} matrix is needed, but {_asymmetry(kind, int(row), int(column), worst)}")
    return matrix if worst == 0.0 else 0.5 * (matrix + mirrored)


def _asymmetry(kind: str, row: int, column: int, gap: float) -> str:
    """What is wrong with an entry that differs by `gap` from the conjugate of its mirror image."""
    if row == column:
        return f"entry ({row}, {column}) of this one, counted from 0, has an imaginary part, {0.5 * gap:.2g}"
    entries = f"entries ({row}, {column}) and ({column}, {row}) of this one, counted from 0,"
    return f"{entries} differ by {gap:.2g}" if kind == "symmetric" else f"{entries} are no conjugates, by {gap:.2g}"


def random_matrices(spec: RandomMatrices, seed: int) -> list[sp.coo_array]:
    """`count` symmetric matrices; entries drawn at the same place add up."""
    rng, shape, matrices = np.random.default_rng([seed, 4]), (spec.size, spec.size), []
    for _ in range(spec.count):
        places = rng.integers(0, spec.size, (2, spec.entries))
        half = rng.standard_normal(spec.entries)
        both = np.concatenate([places, places[::-1]], axis=1)
        matrices.append(sp.coo_array((np.concatenate([half, half]), tuple(both)), shape=shape))
    return matrices
