"""Quadratic assignment: the doubly nonnegative relaxation, facially reduced, and permutations near it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.congruence import Congruence
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ProblemError, located
from cgm_cli.methods.answers import Multiples
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.assignment import read_assignment
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, Size, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.assignments import spacing, tabu_search
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import AgainstBound, AssignmentBound, AssignmentValue, Claim
from cgm_cli.text import visible

ROUNDING = 1e-9
"""Part of |A| |B|, which no value is larger than, that is taken off a bound before it is rounded up: far more than the
cost is off by in coordinates of V.
"""

STEPS = 50
"""Times n: exchanges of a search. From 20 random permutations, the best is then within 1 % of the best known for 12 of
13 instances of QAPLIB of up to 36 objects, and within 5 % for chr20a; the relaxation takes far longer.
"""

SMALLEST = 3
"""Fewer objects have at most two permutations."""


class AssignmentFile(StrictModel):
    """Both matrices in a file of QAPLIB."""

    file: str = Field(min_length=1, description="a .dat file: n, then two n x n matrices")


class QuadraticAssignment(Template):
    """min over permutations p of sum_ij a_ij b_p(i)p(j), from below by a semidefinite program, and a permutation.

    With x the columns of the permutation matrix, one below the other, Y = (1; x)(1; x)^T has the objective <B x A, Y>
    (Kronecker product, its first row and column zero), entries in [0, 1], zeros where two objects would share a place,
    and rows in the span of V: its relaxation is Y = V R V^T with R >= 0 of order (n - 1)^2 + 1 and trace n + 1 (Zhao,
    Karisch, Rendl and Wolkowicz, 1998; Oliveira, Wolkowicz and Xu, "ADMM for the SDP relaxation of the QAP", 2018).

    With whole data no permutation lies between the bound and the next number that a value can be: the bound is rounded
    up to that, to an even one where A and B are symmetric and have zero diagonals, for every product then counts twice.
    A run whose gap is small enough goes on, to a hundredth of it and 1e-6 at the most, where that may round up further;
    and it ends as soon as a permutation meets the bound that is rounded up.
    Permutations are found by robust tabu search (Taillard, 1991), from the rounded Y and mixtures of its columns.
    """

    measures = (
        Metric("assignment", "value of the permutation, after a tabu search", "lower", comparable=False),
        Metric(
            "bound_of_permutations",
            "the certified bound, rounded up to what values of whole data can be",
            "higher",
            False,
        ),
        Metric("certified_gap", "how far the permutation may be from the best, relative to it", "lower", log=True),
    )

    class Spec(TemplateSpec):
        template: Literal["quadratic-assignment"]
        data: AssignmentFile | None = Field(None, description="both matrices in a file of QAPLIB")
        flow: ArrayField | None = Field(None, description="or A, n x n: what goes between two objects")
        distance: ArrayField | None = Field(None, description="and B, n x n: between two places")
        starts: Size = Field(20, description="permutations that a tabu search begins from, each")

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "template": "quadratic-assignment",
                "flow": [[0, 5, 2], [5, 0, 3], [2, 3, 0]],
                "distance": [[0, 8, 15], [8, 0, 13], [15, 13, 0]],
            },
            {
                "template": "quadratic-assignment",
                "flow": [[0, 3, 0, 2], [3, 0, 1, 0], [0, 1, 0, 4], [2, 0, 4, 0]],
                "distance": [[0, 22, 53, 53], [22, 0, 40, 62], [53, 40, 0, 55], [53, 62, 55, 0]],
                "starts": 5,
            },
        ]

        @model_validator(mode="after")
        def _file_or_inline(self):
            if (self.data is None) != (self.flow is not None and self.distance is not None):
                raise ValueError("give a `data` file, or `flow` and `distance`")
            return self

        def build(self, context: BuildContext) -> QuadraticAssignment:
            if self.data is not None:
                with located("data", "file"):
                    flow, distance = read_assignment(context.find(self.data.file), visible(self.data.file))
                    _square(flow)
            else:
                assert self.flow is not None and self.distance is not None
                with located("flow"):
                    flow = _square(context.array(self.flow))
                with located("distance"):
                    distance = _square(context.array(self.distance))
                    if distance.shape != flow.shape:
                        raise ProblemError(f"B is {named(distance.shape)}, but A is {named(flow.shape)}")
            # Of order n^2: the cost, its products with V, V, bounds on the entries of Y, and images.
            context.reserve("matrices", 8 * 8 * flow.shape[0] ** 4)
            return QuadraticAssignment(flow, distance, self.starts)

    def __init__(self, flow: np.ndarray, distance: np.ndarray, starts: int = 20):
        """flow, distance: A and B, (n, n) both."""
        self.flow, self.distance, self.starts = flow, distance, starts
        n = flow.shape[0]
        self.size, step = n, spacing(flow, distance)
        self.slack = ROUNDING * float(np.linalg.norm(flow) * np.linalg.norm(distance))
        self.multiples = Multiples("assignment", step, self.slack) if step else None
        self.basis = _basis(n)
        cost = np.kron(distance, flow)
        inner = self.basis[1:].T @ cost @ self.basis[1:]
        shape = inner.shape
        lower, upper = _allowed(n)
        self.problem = CompositeProblem(
            PSDTrace(shape[0], n + 1.0, fixed_trace=True),
            Linear(0.5 * (inner + inner.T), shape),
            (Term("entries", Congruence(self.basis, shape), BoxSet(lower.shape, lower, upper)),),
        )

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """The best of searches from permutations near Y, and near its columns in random mixtures; the last is the one
        that meets the bound.
        """
        # Imported here: `cgm list` looks at every template, and this library takes long to load.
        from scipy.optimize import linear_sum_assignment

        atom, n = iterate.atom(), self.size
        assert atom is not None
        y = self.problem.terms[0].map.forward_atom(atom)
        least = -np.inf if bound is None else self._rounded_up(bound)
        best, value = np.arange(n), np.inf
        for start in range(self.starts):
            column = y[0, 1:] if start == 0 else y[1:, 1:] @ rng.standard_normal(n * n)
            places = linear_sum_assignment(-column.reshape(n, n).T)[1]  # x as a matrix: object, place
            places, found = tabu_search(self.flow, self.distance, places, STEPS * n, rng, least, deadline)
            if found < value:
                best, value = places, found
            if value <= least or deadline.should_stop():
                break
        figures = {"assignment": value}
        if bound is not None:
            figures["bound_of_permutations"] = least
            figures["certified_gap"] = max(0.0, value - least) / (max(abs(value), abs(least)) or 1.0)
        return Rounding(figures, {"permutation": best})

    def claims(self) -> Sequence[Claim]:
        value = AssignmentValue(self.flow, self.distance, "permutation")
        bound = AssignmentBound(self.flow, self.distance, self.slack)
        return (
            Claim("assignment", value, limit=1.0),
            Claim("bound_of_permutations", bound),
            Claim("certified_gap", AgainstBound(value, "relative", bound=bound)),
        )

    def _rounded_up(self, bound: float) -> float:
        """The least that a permutation can come to, by a bound on all."""
        return bound if self.multiples is None else self.multiples.rounded(bound)


def _square(matrix: np.ndarray) -> np.ndarray:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < SMALLEST:
        raise ProblemError(
            f"a square matrix of order {SMALLEST} or more is needed, and this one is {named(matrix.shape)}"
        )
    return matrix


def _basis(n: int) -> sp.csr_array:
    """V (n^2 + 1, (n - 1)^2 + 1), orthonormal columns that span all (1; x) of permutation matrices x."""
    inner = _wavelets(n)
    first = np.append(1.0, np.full(n * n, 1.0 / n))
    rest = sp.vstack([sp.csr_array((1, (n - 1) ** 2)), sp.kron(inner, inner)])
    return sp.csr_array(sp.hstack([sp.csr_array(first[:, None] / np.linalg.norm(first)), rest]))


def _wavelets(n: int) -> sp.csr_array:
    """Orthonormal columns (n, n - 1) orthogonal to the ones: Haar's, each of which sets one half of a part of the rows
    against the other, the halves being parts in their turn. Of n^2 entries n log n are not zero.
    """
    columns, parts = list[np.ndarray](), [np.arange(n)]
    for part in parts:
        halves = np.array_split(part, 2)
        column = np.zeros(n)
        for half, sign in zip(halves, (1.0, -1.0), strict=True):
            column[half] = sign / half.size
        columns.append(column / np.linalg.norm(column))
        parts += [half for half in halves if half.size > 1]
    return sp.csr_array(np.column_stack(columns))


def _allowed(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the entries of Y: one in the corner, none where two objects share a place, or two places an object."""
    same = np.eye(n, dtype=bool)
    # Row i + n j stands for object i in place j.
    objects, places = np.kron(np.ones((n, n), dtype=bool), same), np.kron(same, np.ones((n, n), dtype=bool))
    zero = np.zeros((n * n + 1, n * n + 1), dtype=bool)
    zero[1:, 1:] = objects ^ places
    lower, upper = np.zeros(zero.shape), np.where(zero, 0.0, 1.0)
    lower[0, 0] = 1.0
    return lower, upper
