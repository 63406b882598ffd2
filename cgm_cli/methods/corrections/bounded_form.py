"""Linear objectives and least squares over polyhedra, with all that is asked of x in rows and bounds:

    min <c, z> + <z, Q z> / 2   subject to   A z = b,   l <= z <= u,        z = (x, one more for each row that is open)

with a diagonal Q. A row whose image may vary, l <= <a, x> <= u, is <a, x> - s = 0 with l <= s <= u, and least squares
|M x - t|^2 / 2 are M x - r = t with a free r, whose square is the objective. Rows are of length one in x; entries of x
that have one value are left out, and so are rows that the others imply. Bounds that a term asks of x itself are among l
and u, and no rows: their multipliers are what is left of the gradient c - A^T y where they are the closest. Of
equations that others nearly imply it is their rests that count: `cgm_cli.methods.corrections.rests`. Where these,
loosened, are asked for no more closely than b is known if it was rounded, their images may vary by that.
"""

from __future__ import annotations

import copy

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.corrections.bounded_program import BoundedProgram, Rows
from cgm_cli.methods.corrections.normal_equations import NormalEquations, SeminormalEquations
from cgm_cli.methods.corrections.rests import apart, are_rests, vagueness, within_reach

SPARSE = 0.2
"""Part of the entries of A up to which it is kept as a sparse matrix."""

DECOMPOSED = 1_000_000
"""Entries of D^(1/2) A^T up to which it is decomposed itself, where A D A^T is too far from well-conditioned."""

GATHERED = 20.0
"""How many times longer an operation of a sparse product takes than one of a dense product."""


class BoundedForm:
    """cost, curvature: c and the diagonal of Q. lower, upper: l and u; low, high: where they are finite; ends: all that
    are, the upper ones times -1. right: b. variables: of z, those of x. opened: the rows whose image may vary, in the
    order of what z has for them. contradiction: y, for all rows there were, with A^T y = 0 and b y > 0, of
    some that cannot hold at once; None where they can. Those that contradict the others are left out, too. has_rests:
    of equations.
    """

    def __init__(self, problem: CompositeProblem, is_loosened: bool = False):
        self._program, self._domain = BoundedProgram(problem), problem.domain
        lower, upper = self._program.lower, self._program.upper
        self._free = np.flatnonzero(lower < upper)
        self._fixed = np.where(lower < upper, 0.0, lower)
        self.variables = self._free.size
        own = lower[self._free], upper[self._free]
        self._assemble(self._program.parts, own, is_loosened)
        self._bound(*(np.concatenate(pair) for pair in zip(own, self._ranges, strict=True)))
        self.cost = np.zeros(self.lower.size)
        self.cost[: self.variables] = self._program.price[self._free]

    def _bound(self, lower: np.ndarray, upper: np.ndarray) -> None:
        self.lower, self.upper = lower, upper
        self.low, self.high = (np.flatnonzero(np.isfinite(end)) for end in (lower, upper))
        self.ends = np.concatenate([lower[self.low], -upper[self.high]])

    def within(self, centre: np.ndarray, reach: float) -> BoundedForm:
        """The same with x no farther from a centre, which is between its bounds, than this in any entry."""
        found, own = copy.copy(self), slice(self.variables)
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[own] = np.maximum(lower[own], centre - reach)
        upper[own] = np.minimum(upper[own], centre + reach)
        found._bound(lower, upper)
        return found

    @property
    def is_curved(self) -> bool:
        return bool(self.curvature.any())

    def _assemble(self, parts: list[Rows], box: tuple[np.ndarray, np.ndarray], is_loosened: bool) -> None:
        whole = sp.csr_array(sp.vstack([part.matrix for part in parts]))
        self._whole = whole
        offset = whole @ self._fixed
        rows = sp.csr_array(whole[:, self._free])
        lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)).reshape(-1))
        lengths[lengths == 0.0] = 1.0
        rows = sp.csr_array(sp.diags_array(1.0 / lengths) @ rows)
        lower = (np.concatenate([part.lower for part in parts]) - offset) / lengths
        upper = (np.concatenate([part.upper for part in parts]) - offset) / lengths
        curvature = np.concatenate([np.full(part.matrix.shape[0], part.curvature) for part in parts])
        equations = np.flatnonzero((lower == upper) & (curvature == 0.0))
        equal, right = sp.csr_array(rows[equations]), lower[equations]
        told = apart(equal, right)
        kept = within_reach(told.combined, equal, right, *box)
        is_open = (np.isfinite(lower) | np.isfinite(upper)) & (lower < upper) | (curvature > 0.0)
        opened = np.flatnonzero(is_open)
        rests = are_rests(kept)
        self.has_rests = bool(rests.any())
        loose = kept[np.flatnonzero(rests & is_loosened)]
        kept = kept[np.flatnonzero(~(rests & is_loosened))]
        centre, range_ = loose @ right, vagueness(loose, right)
        self._combined = _placed(sp.csr_array(sp.vstack([kept, loose])), equations, opened, lengths.size)
        self._lengths = lengths
        self._sizes = [(part.term, part.matrix.shape[0]) for part in parts]
        self.opened = np.arange(kept.shape[0], self._combined.shape[0])
        squares = curvature[opened] > 0.0
        self._ranges = (
            np.concatenate([centre - range_, np.where(squares, -np.inf, lower[opened])]),
            np.concatenate([centre + range_, np.where(squares, np.inf, upper[opened])]),
        )
        bends = curvature[opened] * lengths[opened] ** 2
        self.curvature = np.concatenate([np.zeros(self.variables + centre.size), bends])
        self.right = np.concatenate([kept @ right, np.zeros(centre.size), np.where(squares, lower[opened], 0.0)])
        self.contradiction = None
        if told.contradiction is not None:
            self.contradiction = np.zeros(lengths.size)
            self.contradiction[equations] = told.contradiction
            self.contradicted = float(told.contradiction @ right)
        self._rows = sp.csr_array(self._combined @ rows)
        self._columns = sp.csr_array(self._rows.T)
        is_dense = self._rows.nnz > SPARSE * self.right.size * self.variables
        self._dense = self._rows.toarray() if is_dense else None

    def forward(self, z: np.ndarray) -> np.ndarray:
        """A z."""
        x, rows = z[: self.variables], self._dense
        image = self._rows @ x if rows is None else rows @ x
        image[self.opened] -= z[self.variables :]
        return image

    def adjoint(self, y: np.ndarray) -> np.ndarray:
        """A^T y."""
        rows = self._dense
        return np.concatenate([self._columns @ y if rows is None else y @ rows, -y[self.opened]])

    def normal(self, weights: np.ndarray) -> np.ndarray:
        """A D A^T for a diagonal D."""
        own = weights[: self.variables]
        if self._dense is not None:
            scaled = self._dense * np.sqrt(own)
            found = scaled @ scaled.T
        else:
            scaled = self._rows.copy()
            scaled.data *= own[scaled.indices]
            found = (scaled @ self._columns).toarray()
        found[self.opened, self.opened] += weights[self.variables :]
        return found

    def system(self, weights: np.ndarray) -> NormalEquations | SeminormalEquations:
        """A D A^T y = r for a diagonal D, by as many digits as there are; raises LinAlgError where there are none."""
        found = NormalEquations(self.normal(weights))
        if found.is_sound or self.right.size * (self.right.size + self.variables) > DECOMPOSED:
            return found
        rows = self._rows.toarray() if self._dense is None else self._dense
        opened = np.zeros((self.opened.size, self.right.size))
        opened[np.arange(self.opened.size), self.opened] = -1.0
        return SeminormalEquations(np.sqrt(weights)[:, None] * np.vstack([rows.T, opened]))

    @property
    def work(self) -> float:
        """Operations of a step of Newton's method: those of A D A^T, and of its factorisation."""
        rows, counts = float(self.right.size), np.diff(self._columns.indptr).astype(float)
        sparse = self._dense is None
        return rows**3 / 3.0 + (GATHERED * float(counts @ counts) if sparse else rows**2 * self.variables)

    def gather(self, z: np.ndarray) -> np.ndarray:
        """By how much a move z takes each entry away from its finite bounds: the lower ones first."""
        return np.concatenate([z[self.low], -z[self.high]])

    def scatter(self, values: np.ndarray, sign: float = -1.0) -> np.ndarray:
        """The adjoint of `gather`; with the other sign, the sum for each entry."""
        found = np.zeros(self.cost.size)
        found[self.low] = values[: self.low.size]
        found[self.high] += sign * values[self.low.size :]
        return found

    def point(self, z: np.ndarray) -> np.ndarray:
        """x of z, brought into the domain."""
        x = self._fixed.copy()
        x[self._free] = z[: self.variables]
        return self._domain.project(x[: self._program.size].reshape(self._domain.shape))

    def duals(self, y: np.ndarray) -> list[np.ndarray]:
        """y_i of the terms: with c - A^T y for the direction grad f + sum A_i^T y_i, they are its opposites."""
        return self._of_terms(y @ self._combined, self._program.price)

    def proof(self, worth: float) -> list[np.ndarray]:
        """The same of a contradiction, by which the dual is worth so much."""
        assert self.contradiction is not None
        return self._of_terms(worth / self.contradicted * self.contradiction, np.zeros(self._program.price.size))

    def _of_terms(self, y: np.ndarray, price: np.ndarray) -> list[np.ndarray]:
        """Of y for all rows."""
        y = y / self._lengths
        of_rows: dict[int, np.ndarray] = {}
        first = 0
        for place, size in self._sizes:
            if place is not None:
                of_rows[place] = -y[first : first + size]
            first += size
        return self._program.duals(of_rows, price - y @ self._whole)


def _placed(combined: sp.csr_array, equations: np.ndarray, opened: np.ndarray, count: int) -> sp.csr_array:
    """Combinations of the equations, and behind them the opened rows as they are, as combinations of all rows."""
    spread = sp.csr_array((np.ones(equations.size), (np.arange(equations.size), equations)), (equations.size, count))
    plain = sp.csr_array((np.ones(opened.size), (np.arange(opened.size), opened)), (opened.size, count))
    return sp.csr_array(sp.vstack([combined @ spread, plain]))
