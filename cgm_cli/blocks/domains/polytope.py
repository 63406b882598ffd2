"""Polytopes given by inequalities and equations, whose linear programs HiGHS solves."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.atoms import Atom, DenseAtom, SparseAtom
from cgm_cli.blocks.bound_checks import check_bounds
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest, Polyhedron
from cgm_cli.blocks.fitting import fit, named
from cgm_cli.errors import ErrorCollector, ProblemError
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.numerics.linear_programs import Program, enclosed
from cgm_cli.numerics.projections import safe_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec
from cgm_cli.text import counted

ENCLOSED = 200
"""Largest number of entries whose bounds are found by two linear programs each."""

PROJECTED = 1000
"""Inequalities, bounds included, up to which a projection takes about as long as a linear program, 0.1 s."""

FAR = 1e5
"""Radii from the box up to which a point is projected itself."""


class Polytope(Domain):
    """{x in R^n : A x <= b, C x = d, l <= x <= u}, where equations may be left out, and bounds up to n = 200.

    Its oracle is a linear program; with y >= 0 and w of its dual solution, and v = g + A^T y + C^T w,

        <g, x> >= <v, x> - <b, y> - <d, w> >= sum_j min(v_j l_j, v_j u_j) - <b, y> - <d, w>

    for every x in X, whatever y and w are: their errors move the bound, and not its proof. Radius and diameter are
    those of the box from l to u. Bounds that are not given are proven from the duals of two linear programs each.
    """

    class Spec(BlockSpec):
        kind: Literal["polytope"]
        matrix: ArrayField = Field(..., description="A, one row per inequality, dense or sparse")
        at_most: ArrayField = Field(..., description="b, one number per inequality; a number: the same for all")
        equations: ArrayField | None = Field(None, description="C, one row per equation, dense or sparse")
        equals: ArrayField = Field(0.0, description="d, one number per equation; a number: the same for all")
        lower: ArrayField | None = Field(
            None, description="lower bound: a number, or one per entry; left out: found from A and b, up to 200 entries"
        )
        upper: ArrayField | None = Field(None, description="upper bound, in the same way")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "polytope", "matrix": [[1, -1], [-1, 1]], "at_most": 1.0, "lower": 0.0, "upper": 2.0},
            {
                "kind": "polytope",
                "matrix": [[1, 0], [0, 2], [-1, 0], [0, -2], [2, -1]],
                "at_most": [1.0, 6.0, 1.0, 2.0, 1.0],
            },
            {
                "kind": "polytope",
                "matrix": [[0, 1, -1]],
                "at_most": 0.5,
                "equations": [[1, -1, 0]],
                "lower": -1.0,
                "upper": 1.0,
            },
            {"kind": "polytope", "matrix": [[2]], "at_most": 4.0, "lower": -1.0},
        ]

        @model_validator(mode="after")
        def _bounds(self):
            check_bounds(self.lower, self.upper)
            return self

        def build(self, context: BuildContext) -> Polytope:
            faults, parts = ErrorCollector(), dict[str, Any]()
            for name in ("matrix", "at_most", "equations", "equals", "lower", "upper"):
                value = getattr(self, name)
                with faults.part(name):
                    read = context.matrix if name in ("matrix", "equations") else context.array
                    parts[name] = None if value is None else read(value)
            faults.raise_all()
            a, c = parts["matrix"], parts["equations"]
            if a.ndim == 2:
                rows = a.shape[0] + 2 * a.shape[1] + (0 if c is None else 2 * c.shape[0])
                context.reserve("rows of the polytope", 4 * 8 * rows * a.shape[1])  # for projections
            return Polytope(**parts)

    def __init__(
        self,
        matrix: Matrix,
        at_most: np.ndarray,
        equations: Matrix | None = None,
        equals: np.ndarray | float = 0.0,
        lower: np.ndarray | float | None = None,
        upper: np.ndarray | float | None = None,
    ):
        """matrix (m, n), at_most (m,) or a number, equations (k, n), equals, lower and upper alike. Raises ProblemError
        if these do not fit together, or the set is empty or not bounded.
        """
        if matrix.ndim != 2:
            raise ProblemError(f"A must be a matrix, not {named(matrix.shape)}", ("matrix",))
        m, n = matrix.shape
        if equations is not None and (equations.ndim != 2 or equations.shape[1] != n):
            raise ProblemError(
                f"the matrix of equations is {named(equations.shape)}, but A has {counted(n, 'column')}", ("equations",)
            )
        self.shape = (n,)
        a, c = sp.csr_array(matrix), sp.csr_array((0, n) if equations is None else equations)
        b, d = fit(at_most, (m,), "b", "a column of A"), fit(equals, (c.shape[0],), "d", "a column of C")
        ends = [
            np.full(n, end) if given is None else fit(given, (n,), f"the {called} bound", "a row of A")
            for given, end, called in ((lower, -np.inf, "lower"), (upper, np.inf, "upper"))
        ]
        if not np.isfinite(ends).all() and n > ENCLOSED:
            raise ProblemError(
                f"of more than {ENCLOSED} entries, here {n}, both bounds are needed: finding them takes two linear "
                "programs for each; give `lower` and `upper`"
            )
        if np.any(ends[0] > ends[1]):
            raise ProblemError("a lower bound exceeds its upper bound")
        # A projection takes no longer than a linear program or two.
        self.projects = m + 2 * c.shape[0] + 2 * n <= PROJECTED
        self.program = enclosed(Program(a, b, c, d, *ends))
        self.lower, self.upper = self.program.lower, self.program.upper
        if self.program.solve(np.zeros(n)) is None:
            raise ProblemError("no point meets all inequalities, equations and bounds: the polytope is empty")
        with np.errstate(over="ignore"):
            self.radius = float(np.linalg.norm(self.entry_limits))
            self.diameter = float(np.linalg.norm(self.upper - self.lower))

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        """A vertex by the dual simplex method, the same for the same direction; `lower` is what the dual proves."""
        g = direction.dense()
        if not g.any():
            return OracleAnswer(self.start(), 0.0, 0.0, exact=True)
        found = self.program.solve(g)
        if found is None:
            raise ProblemError("HiGHS has lost a point of the polytope: its numbers may differ too much in size")
        value = float(np.vdot(g, found.x))
        return OracleAnswer(DenseAtom(found.x), value, min(found.lower, value), exact=True)

    def rounding(self, direction: Direction) -> float:
        """Counted in `lower`."""
        return 0.0

    @cached_property
    def entry_limits(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    @property
    def polyhedron(self) -> Polyhedron:
        given = self.program
        rows = sp.csr_array(sp.vstack([given.a, given.c]))
        least = np.concatenate([np.full(given.b.size, -np.inf), given.d])
        return Polyhedron(self.lower, self.upper, rows, least, np.concatenate([given.b, given.d]))

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        return safe_norm(x - self.project(x)) <= tolerance * self.radius

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of any x not farther from the box than FAR radii; of others, that of the box's point."""
        if not np.isfinite(x).all():
            return np.full(x.shape, np.nan)
        near = np.clip(x, self.lower, self.upper)
        return self.program.nearest(x if safe_norm(x - near) <= FAR * self.radius else near)

    def start(self) -> Atom:
        """The point nearest to zero."""
        return SparseAtom.zero(self.shape) if self.contains(np.zeros(self.shape)) else DenseAtom(self._nearest)

    @cached_property
    def _nearest(self) -> np.ndarray:
        return self.project(np.zeros(self.shape))
