"""Semidefinite programs in standard form (paper, section 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrices import Matrices
from cgm_cli.blocks.penalties.box import BoxSet, Nonnegative
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ErrorCollector, ProblemError, located
from cgm_cli.numerics.arrays import Matrix, is_sparse
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.sdpa import read_sdpa
from cgm_cli.spec.fields import ArrayField, Finite, Positive, StrictModel, TemplateSpec
from cgm_cli.templates.base import Template
from cgm_cli.templates.spectrahedron_game import symmetric
from cgm_cli.text import visible


class AffineConstraint(StrictModel):
    """<matrix, X> = equals, or lower <= <matrix, X> <= upper, one side of which may be left out."""

    matrix: ArrayField = Field(description="A, symmetric, dense or sparse")
    equals: Finite | None = Field(None, description="the value of <A, X>")
    lower: Finite | None = Field(None, description="or a lower bound on it")
    upper: Finite | None = Field(None, description="or an upper bound on it")

    @model_validator(mode="after")
    def _one_form(self):
        if (self.equals is None) == (self.lower is None and self.upper is None):
            raise ValueError("a constraint needs `equals`, or bounds (`lower`, `upper`), and not both")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise ValueError(f"the lower bound {self.lower:g} exceeds the upper bound {self.upper:g}")
        return self


class ProgramFile(StrictModel):
    """A program in a file of the SDPA sparse format."""

    file: str = Field(min_length=1, description="a .dat-s file with one matrix block; it maximises")


class TermWeights(StrictModel):
    """How strongly each kind of constraint is smoothed: with beta / weight."""

    equalities: Positive = Field(default=1.0, description="weight of the equalities")
    inequalities: Positive = Field(default=1.0, description="weight of the inequalities")
    nonnegative: Positive = Field(default=1.0, description="weight of X >= 0")


EVEN = TermWeights()


@dataclass(frozen=True)
class Affine:
    """lower_i <= <matrices_i, X> <= upper_i: symmetric matrices (n, n), bounds (m,), equal for an equality."""

    matrices: Sequence[Matrix]
    lower: np.ndarray
    upper: np.ndarray

    def __getitem__(self, chosen: np.ndarray) -> Affine:
        """Those constraints of a mask (m,)."""
        return Affine(
            [self.matrices[i] for i in np.flatnonzero(chosen).tolist()], self.lower[chosen], self.upper[chosen]
        )


class StandardSDP(Template):
    """min <C, X> subject to <A_i, X> = b_i, or between bounds, X positive semidefinite of trace r, or at most r.

    With `nonnegative`, also X >= 0 entry by entry: a doubly nonnegative program. The bound needs a bounded set: where
    no constraint fixes the trace, `radius` must say how large it can be.
    """

    takes_samples = True

    class Spec(TemplateSpec):
        template: Literal["standard-sdp"]
        program: ProgramFile | None = Field(None, description="all of it in a file; or `cost` and `constraints`")
        cost: ArrayField | None = Field(None, description="C, symmetric, dense or sparse")
        constraints: list[AffineConstraint] = Field(default_factory=list, description="the affine constraints")
        sense: Literal["minimise", "maximise"] = Field("minimise", description="of <C, X>; a file always maximises")
        radius: Positive | None = Field(
            None, description="r; left out: the value of a constraint with a multiple of the identity"
        )
        trace: Literal["at-most", "equal"] = Field("at-most", description="with `radius`: tr X <= r, or tr X = r")
        nonnegative: bool = Field(False, description="X >= 0, entry by entry")
        weights: TermWeights = Field(default_factory=TermWeights)

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "template": "standard-sdp",
                "cost": [[2, 1, 0], [1, -1, 1], [0, 1, 0]],
                "constraints": [
                    {"matrix": [[1, 0, 0], [0, 0, 0], [0, 0, 0]], "equals": 0.5},
                    {"matrix": [[0, 1, 1], [1, 0, 1], [1, 1, 0]], "upper": 0.2},
                ],
                "radius": 2.0,
            },
            {
                "template": "standard-sdp",
                "cost": [[0, 1], [1, 0]],
                "constraints": [{"matrix": [[2, 0], [0, 2]], "equals": 4.0}],
                "nonnegative": True,
                "sense": "maximise",
            },
        ]

        @model_validator(mode="after")
        def _file_or_inline(self):
            if (self.program is None) == (self.cost is None):
                raise ValueError("a program is given by a `program` file, or by its `cost` and `constraints`")
            if self.program is not None and self.constraints:
                raise ValueError("the `program` file has its own constraints: leave `constraints` out")
            return self

        def build(self, context: BuildContext) -> StandardSDP:
            if self.program is not None:
                with located("program", "file"):
                    read = read_sdpa(context.find(self.program.file), visible(self.program.file))
                cost, affine = read.cost, Affine(read.matrices, read.lower, read.upper)
            else:
                cost, affine = self._inline(context)
            maximise = self.program is not None or self.sense == "maximise"
            context.reserve("matrices", 32 * sum(_entries(matrix) for matrix in [cost, *affine.matrices]))
            if self.radius is not None:
                domain = PSDTrace(cost.shape[0], self.radius, self.trace == "equal")
            else:
                domain, affine = _with_trace(affine, cost.shape[0])
            return StandardSDP(cost, affine, domain, self.nonnegative, self.weights, maximise)

        def _inline(self, context: BuildContext) -> tuple[Matrix, Affine]:
            with located("cost"):
                assert self.cost is not None
                cost = symmetric(context.matrix(self.cost))
            matrices, faults = [], ErrorCollector()
            for number, constraint in enumerate(self.constraints):
                with faults.part("constraints", number, "matrix"):
                    matrices.append(symmetric(context.matrix(constraint.matrix)))
                    if matrices[-1].shape != cost.shape:
                        raise ProblemError(f"the matrix is {named(matrices[-1].shape)}, but C is {named(cost.shape)}")
            faults.raise_all()
            sides = [(c.equals, c.equals) if c.equals is not None else (c.lower, c.upper) for c in self.constraints]
            lower = np.array([-np.inf if low is None else low for low, _ in sides])
            upper = np.array([np.inf if high is None else high for _, high in sides])
            return cost, Affine(matrices, lower, upper)

    def __init__(
        self,
        cost: Matrix,
        affine: Affine,
        domain: PSDTrace,
        nonnegative: bool = False,
        weights: TermWeights = EVEN,
        maximise: bool = False,
    ):
        """cost: C (n, n), of which `maximise` says the sense."""
        shape, terms = domain.shape, []
        self.cost, self.affine = cost, affine
        equal = affine.lower == affine.upper
        if equal.any():
            chosen = affine[equal]
            target = Equals(chosen.lower.shape, chosen.lower)
            terms.append(Term("equalities", Matrices(chosen.matrices, shape), target, weights.equalities))
        if not equal.all():
            chosen = affine[~equal]
            box = BoxSet(chosen.lower.shape, chosen.lower, chosen.upper)
            terms.append(Term("inequalities", Matrices(chosen.matrices, shape), box, weights.inequalities))
        if nonnegative:
            terms.append(Term("nonnegative", Identity(shape), Nonnegative(shape), weights.nonnegative))
        self.problem = CompositeProblem(
            domain,
            Linear(-cost if maximise else cost, shape),
            tuple(terms),
            sense="maximise" if maximise else "minimise",
        )


def _entries(matrix: Matrix) -> int:
    return matrix.nnz if is_sparse(matrix) else matrix.size


def _with_trace(affine: Affine, n: int) -> tuple[PSDTrace, Affine]:
    """The domain that a constraint a I = b makes, and the other constraints. Raises ProblemError without one."""
    for place, (matrix, low, high) in enumerate(zip(affine.matrices, affine.lower, affine.upper, strict=True)):
        diagonal = matrix.diagonal()
        factor = float(diagonal[0])
        multiple = factor != 0.0 and np.all(diagonal == factor) and np.count_nonzero(_off_diagonal(matrix)) == 0
        if multiple and low == high and low / factor > 0.0:
            return PSDTrace(n, low / factor, fixed_trace=True), affine[np.arange(len(affine.matrices)) != place]
    raise ProblemError(
        "no constraint fixes the trace: `radius` must say how large tr X can be at most (any r that a solution meets "
        "will do, the smaller the better)",
        ("radius",),
    )


def _off_diagonal(matrix: Matrix) -> np.ndarray:
    entries = sp.coo_array(matrix)
    return entries.data[entries.coords[0] != entries.coords[1]]
