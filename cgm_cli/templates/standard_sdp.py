"""Semidefinite programs in standard form (paper, section 5.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.domains.diagonal_blocks import DiagonalBlocks
from cgm_cli.blocks.domains.hermitian import HermitianTrace
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.domains.psd_blocks import PSDBlocks
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrices import Matrices
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.maps.quadratic_forms import WRITTEN_OUT, QuadraticForms
from cgm_cli.blocks.penalties.box import BoxSet, Nonnegative
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ErrorCollector, ProblemError, located
from cgm_cli.numerics.arrays import Matrix, is_sparse, parts_of
from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.numerics.hermitian import embedded
from cgm_cli.numerics.layout import Layout
from cgm_cli.readers.block_program import BlockProgram
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.programs import read_program
from cgm_cli.spec.fields import ArrayField, ByKeys, ComplexField, Finite, FromFloat, Positive, StrictModel, TemplateSpec
from cgm_cli.templates.affine import Affine, Forms, Parts, along_diagonal, is_for_factors, on_trace, parts_of_program
from cgm_cli.templates.base import Template
from cgm_cli.templates.spectrahedron_game import symmetric
from cgm_cli.templates.trace_bounds import TraceLimit, limit_of_forms, trace_limit
from cgm_cli.text import visible


class AffineConstraint(StrictModel):
    """<matrix, X> = equals, or lower <= <matrix, X> <= upper, one side of which may be left out."""

    matrix: ComplexField = Field(description="A, symmetric or complex Hermitian, dense or sparse")
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


class FormsField(StrictModel):
    """v^T X v = equals for every row v of a matrix, or lower <= v^T X v <= upper: phase retrieval has such."""

    vectors: ComplexField = Field(description="the v, one in a row; of complex ones, v^* X v")
    equals: ArrayField | None = Field(None, description="the values, one for each row, or one for all")
    lower: ArrayField | None = Field(None, description="or lower bounds on them")
    upper: ArrayField | None = Field(None, description="or upper bounds on them")

    @model_validator(mode="after")
    def _one_form(self):
        if (self.equals is None) == (self.lower is None and self.upper is None):
            raise ValueError("`quadratic_forms` need `equals`, or bounds (`lower`, `upper`), and not both")
        return self


class ProgramFile(StrictModel):
    """A program in a file of an SDPA format, which maximises, or in the Conic Benchmark Format."""

    file: str = Field(min_length=1, description="a .dat-s, .dat or .cbf file, packed by gzip or not")


class TermWeights(StrictModel):
    """How strongly each kind of constraint is smoothed: with beta / weight."""

    equalities: Positive = Field(default=1.0, description="weight of the equalities")
    inequalities: Positive = Field(default=1.0, description="weight of the inequalities")
    nonnegative: Positive = Field(default=1.0, description="weight of X >= 0")


EVEN = TermWeights()


@dataclass(frozen=True)
class Given:
    """A program as a user gives it. is_complex: whether its one matrix, cost and constraints are real forms
    (`cgm_cli.numerics.hermitian`) of Hermitian ones. file: what was read, where it is in a file.
    """

    parts: Parts
    maximise: bool
    is_complex: bool = False
    file: BlockProgram | None = None


class StandardSDP(Template):
    """min <C, X> subject to <A_i, X> = b_i, or between bounds, X positive semidefinite of trace r, or at most r.

    X may consist of blocks, and of numbers >= 0, where it comes from a file. With `nonnegative`, also X >= 0 entry by
    entry: a doubly nonnegative program. Where no `radius` is given, the constraints say how large the trace can be, or
    else a large one is assumed; a bound whose dual slack is positive semidefinite holds whatever the trace is.

    Where C or some A_i has an imaginary part, X is complex Hermitian, and <A, X> is Re tr(A^* X).
    """

    takes_samples = True

    class Spec(TemplateSpec):
        template: Literal["standard-sdp"]
        program: ProgramFile | None = Field(None, description="all of it in a file; or `cost` and `constraints`")
        cost: Annotated[ComplexField | None, ByKeys()] = Field(
            None, description="C, symmetric or complex Hermitian, dense or sparse"
        )
        constraints: list[AffineConstraint] = Field(default_factory=list, description="the affine constraints")
        quadratic_forms: FormsField | None = Field(
            None, description="and constraints on v^T X v for many v, whose v v^T need never be made"
        )
        blocks: list[Annotated[int, FromFloat]] | None = Field(
            None,
            min_length=1,
            description="X consists of blocks along its diagonal, n for a matrix n x n, -n for n numbers >= 0; left "
            "out: of one; a file says so itself",
        )
        sense: Literal["minimise", "maximise"] = Field("minimise", description="of <C, X>; a file says so itself")
        radius: Positive | None = Field(
            None, description="r; left out: what the constraints imply or, where they imply nothing, a large one"
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
            {
                "template": "standard-sdp",
                "cost": [[1, 0], [0, 1]],
                "constraints": [{"matrix": [[0, 1], [1, 0]], "equals": 2.0}],
            },
            {
                "template": "standard-sdp",
                "cost": [[1, 0], [0, 1]],
                "quadratic_forms": {"vectors": [[1, 0], [1, 1], [1, -2]], "equals": [1.0, 4.0, 1.0]},
            },
            {
                "template": "standard-sdp",
                "cost": [[2, 1, 0], [1, -1, 0], [0, 0, 1]],
                "blocks": [2, -1],
                "constraints": [{"matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 3]], "equals": 2.0}],
            },
            {
                "template": "standard-sdp",
                "cost": {"real": [[1, 0], [0, -1]], "imaginary": [[0, -1], [1, 0]]},
                "constraints": [{"matrix": [[1, 0], [0, 1]], "equals": 1.0}],
            },
        ]

        @model_validator(mode="after")
        def _file_or_inline(self):
            if (self.program is None) == (self.cost is None):
                raise ValueError("a program is given by a `program` file, or by its `cost` and `constraints`")
            if self.blocks is not None and (self.program is not None or self.quadratic_forms is not None):
                raise ValueError("`blocks` are for a `cost` and `constraints`, and not for a `program` or forms")
            if self.program is not None and (self.constraints or self.quadratic_forms is not None):
                raise ValueError("the `program` file has its own constraints: leave those of the spec out")
            return self

        def given(self, context: BuildContext) -> Given:
            """The program with all its constraints, those that say the trace included, and its blocks apart."""
            if self.program is None:
                parts, is_complex = self._inline(context)
                return Given(parts, self.sense == "maximise", is_complex)
            with located("program", "file"):
                read = read_program(context.find(self.program.file), visible(self.program.file))
            return Given(parts_of_program(read), read.maximise, file=read)

        def build(self, context: BuildContext) -> StandardSDP:
            given = self.given(context)
            parts = given.parts
            sizes, affine = parts.sizes, parts.affine
            context.reserve("matrices", 32 * (affine.rows.nnz + _entries(parts.cost)))
            if parts.forms is not None:
                context.reserve("forms", 8 * QuadraticForms.numbers_held(*parts.forms.vectors.shape))
            if self.nonnegative and len(sizes) > 1:
                raise ProblemError("`nonnegative` is for programs with one matrix", ("nonnegative",))
            if self.nonnegative and given.is_complex:
                raise ProblemError(
                    "`nonnegative` is about real numbers, and the entries of X are complex here: C or some A_i has an "
                    "imaginary part",
                    ("nonnegative",),
                )
            trace = self._trace(parts)
            if trace.exact:
                stated = on_trace(sizes, affine, trace.radius)
                names = map(affine.called, np.flatnonzero(stated).tolist())
                trace = replace(trace, called=(*trace.called, *names))
                parts = replace(parts, affine=affine[~stated])
            if is_for_factors(parts):
                parts = along_diagonal(parts)
            return StandardSDP(parts, trace, self.nonnegative, self.weights, given.maximise, given.is_complex)

        def _trace(self, parts: Parts) -> TraceLimit:
            affine, forms = parts.affine, parts.forms
            if self.radius is not None:
                return TraceLimit(self.radius, exact=self.trace == "equal", called=("radius",))
            found = trace_limit(Blocks(parts.sizes), affine.rows, affine.lower, affine.upper)
            if forms is None or found.expected is None:
                return found
            return limit_of_forms(forms.vectors, forms.lower, forms.upper)

        def _forms(self, context: BuildContext, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
            """Vectors (m, n), real or complex, and the bounds on their forms (m,)."""
            given = self.quadratic_forms
            if given is None:
                return None
            with located("quadratic_forms", "vectors"):
                vectors = context.complex_matrix(given.vectors)
                vectors = vectors.toarray() if is_sparse(vectors) else vectors
                if vectors.ndim != 2 or vectors.shape[1] != n:
                    raise ProblemError(f"the matrix of vectors is {named(vectors.shape)}, but C is {n} x {n}")
            sides = list[np.ndarray]()
            for key, otherwise in (("lower", -np.inf), ("upper", np.inf)):
                value = given.equals if given.equals is not None else getattr(given, key)
                with located("quadratic_forms", key if given.equals is None else "equals"):
                    side = np.array(otherwise) if value is None else context.array(value)
                    if side.ndim > 1 or side.size not in (1, len(vectors)):
                        raise ProblemError(f"there are {len(vectors)} vectors, but this is {named(side.shape)}")
                    sides.append(np.array(np.broadcast_to(side.reshape(-1), len(vectors))))
            if (sides[0] > sides[1]).any():
                at = int(np.argmax(sides[0] > sides[1]))
                raise ProblemError(
                    f"the lower bound {sides[0][at]:g} of form {at} exceeds the upper bound {sides[1][at]:g}",
                    ("quadratic_forms",),
                )
            return vectors, sides[0], sides[1]

        def _inline(self, context: BuildContext) -> tuple[Parts, bool]:
            """C and the constraints, and whether these are the real forms (`embedded`) of complex matrices."""
            with located("cost"):
                assert self.cost is not None
                cost = _self_adjoint(context, self.cost)
            matrices, faults = [], ErrorCollector()
            for number, constraint in enumerate(self.constraints):
                with faults.part("constraints", number, "matrix"):
                    matrix = _self_adjoint(context, constraint.matrix)
                    if matrix.shape != cost.shape:
                        raise ProblemError(f"the matrix is {named(matrix.shape)}, but C is {named(cost.shape)}")
                    matrices.append(matrix)
            faults.raise_all()
            forms = self._forms(context, cost.shape[0])
            squares, kept = _squares(forms)
            matrices += squares
            found = None if self.blocks is None else self._in_blocks(cost, matrices)
            if found is not None:
                return found, False
            is_complex = any(np.iscomplexobj(matrix) for matrix in (cost, *matrices))
            if is_complex and kept is not None:
                raise ProblemError(
                    f"{len(kept.vectors)} forms of order {cost.shape[0]} are too many for a program in complex numbers",
                    ("quadratic_forms",),
                )
            if is_complex:
                cost, matrices = embedded(cost), [embedded(matrix) for matrix in matrices]
            rows = [sp.coo_array(matrix).reshape((1, -1)) for matrix in matrices]
            affine = self._affine(rows, cost.shape[0] ** 2, forms if squares else None)
            within = tuple(self.blocks or ()) if not is_complex else ()
            return Parts((cost.shape[0],), cost, affine, within, forms=kept), is_complex

        def _in_blocks(self, cost: Matrix, matrices: list[Matrix]) -> Parts | None:
            """The blocks apart; None where they are so large that one matrix is the better form, or it is one."""
            assert self.blocks is not None
            layout = Layout.of(self.blocks, (cost, *matrices)) if _adds_up(self.blocks, cost.shape[0]) else None
            if layout is None:
                raise ProblemError(
                    f"the blocks are to be of other sizes than 0, {cost.shape[0]} rows of C in all", ("blocks",)
                )
            faults = ErrorCollector()
            with located("cost"):
                flat = sp.csr_array(layout.flat(cost))
            rows = list[sp.coo_array]()
            for number, matrix in enumerate(matrices):
                with faults.part("constraints", number, "matrix"):
                    rows.append(layout.flat(matrix))
            faults.raise_all()
            parts = Parts(layout.sizes, flat, self._affine(rows, flat.shape[1], None), layout=layout)
            return None if layout.given == (cost.shape[0],) or is_for_factors(parts) else parts

        def _affine(self, rows: list[sp.coo_array], entries: int, forms: tuple[np.ndarray, ...] | None) -> Affine:
            """The constraints, and the forms, (vectors, lower, upper), that are among the rows (1, N) as matrices."""
            sides = [(c.equals, c.equals) if c.equals is not None else (c.lower, c.upper) for c in self.constraints]
            count = len(sides)
            if forms is not None:
                sides += zip(forms[1].tolist(), forms[2].tolist(), strict=True)
            lower = np.array([-np.inf if low is None else low for low, _ in sides], dtype=float)
            upper = np.array([np.inf if high is None else high for _, high in sides], dtype=float)
            stacked = sp.csr_array(sp.vstack(rows)) if rows else sp.csr_array((0, entries))
            numbers = np.concatenate([np.arange(count), -1 - np.arange(len(sides) - count)])
            return Affine(stacked, lower, upper, numbers)

    def __init__(
        self,
        parts: Parts,
        trace: TraceLimit,
        nonnegative: bool = False,
        weights: TermWeights = EVEN,
        maximise: bool = False,
        is_complex: bool = False,
    ):
        """is_complex: whether the one matrix, cost and constraints are real forms (`cgm_cli.numerics.hermitian`) of
        Hermitian ones.
        """
        self.cost, self.affine, self.trace = parts.cost, parts.affine, trace
        sizes, affine, cost = parts.sizes, parts.affine, parts.cost
        self._is_one = len(sizes) == 1 and sizes[0] > 0
        limit = trace.radius, trace.exact, trace.expected, trace.called
        if is_complex:
            domain = HermitianTrace(sizes[0] // 2, *limit)
        elif self._is_one:
            domain = PSDTrace(sizes[0], *limit, parts=parts.within)
        else:
            domain = PSDBlocks(sizes, *limit) if parts.layout is None else DiagonalBlocks(parts.layout, *limit)
            cost = sp.csr_array(cost).toarray().reshape(-1)
        terms: list[Term] = []
        if affine.equal.any():
            chosen = affine[affine.equal]
            target = Equals(chosen.lower.shape, chosen.lower)
            mapped = self._map(chosen, domain.shape)
            terms.append(Term("equalities", mapped, target, weights.equalities, chosen.called))
        if not affine.equal.all():
            chosen = affine[~affine.equal]
            box = BoxSet(chosen.lower.shape, chosen.lower, chosen.upper)
            mapped = self._map(chosen, domain.shape)
            terms.append(Term("inequalities", mapped, box, weights.inequalities, chosen.called))
        terms += _terms_of_forms(parts.forms, domain.shape, weights)
        if nonnegative:
            terms.append(Term("nonnegative", Identity(domain.shape), Nonnegative(domain.shape), weights.nonnegative))
        self.problem = CompositeProblem(
            domain,
            Linear(-cost if maximise else cost, domain.shape),
            tuple(terms),
            sense="maximise" if maximise else "minimise",
        )

    def _map(self, affine: Affine, shape: tuple[int, ...]) -> LinearMap:
        return Matrices.of_rows(affine.rows, shape) if self._is_one else MatrixMap(affine.rows, shape)


def _terms_of_forms(forms: Forms | None, shape: tuple[int, ...], weights: TermWeights) -> list[Term]:
    """The constraints whose matrices are not written out."""
    terms = list[Term]()
    if forms is not None and forms.equal.any():
        chosen = forms[forms.equal]
        target = Equals(chosen.lower.shape, chosen.lower)
        mapped = QuadraticForms(chosen.vectors, shape)
        terms.append(Term("forms", mapped, target, weights.equalities, chosen.called))
    if forms is not None and not forms.equal.all():
        chosen = forms[~forms.equal]
        box = BoxSet(chosen.lower.shape, chosen.lower, chosen.upper)
        mapped = QuadraticForms(chosen.vectors, shape)
        terms.append(Term("bounded-forms", mapped, box, weights.inequalities, chosen.called))
    return terms


def _squares(
    forms: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
) -> tuple[list[np.ndarray], Forms | None]:
    """The matrices v v^* of vectors, or, where these are too large, the vectors as they are."""
    if forms is None:
        return [], None
    vectors, lower, upper = forms
    if vectors.shape[0] * vectors.shape[1] ** 2 <= WRITTEN_OUT:
        return [np.outer(v, v.conj()) for v in vectors], None
    if np.iscomplexobj(vectors):
        raise ProblemError(
            f"{len(vectors)} forms of order {vectors.shape[1]} are too many in complex numbers", ("quadratic_forms",)
        )
    return [], Forms(vectors, lower, upper, np.arange(len(vectors)))


def _adds_up(sizes: list[int], order: int) -> bool:
    return 0 not in sizes and sum(map(abs, sizes)) == order


def _self_adjoint(context: BuildContext, value: ComplexField) -> Matrix:
    """The matrix of a field, which has to be symmetric or Hermitian; real, if all its imaginary parts are zero."""
    matrix = symmetric(context.complex_matrix(value))
    real, imaginary = parts_of(matrix)
    return matrix if abs(imaginary).max() > 0.0 else real


def _entries(matrix: Matrix) -> int:
    return matrix.nnz if is_sparse(matrix) else matrix.size
