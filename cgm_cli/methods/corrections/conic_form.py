"""Linear problems over a cone under a trace bound, with all inequalities turned into equations by slacks:

    min <c, z> + <d, u>   subject to   A z + B u = b,   z = (x, slacks) in the cone,
    max b^T y             subject to   c - A^T y = s in the cone,   B^T y = d.

The rows of A are of length one. The last slack is that of the trace bound, unless the trace is fixed; its row is left
out where the others say the same.

u are the free numbers. A program that knows none of them, as those of the SDPA format, has each as a difference of two
numbers >= 0, which are in all rows, and in the cost, with opposite signs. Both could grow without end, and no s is
inside of the cone; so where the trace is but assumed, their difference is taken for what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.corrections.dependence import dependence
from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.numerics.opposites import opposite_columns

ROWS, ENTRIES = 4000, 4_000_000
"""Up to which interior-point steps are looked at: constraints, and the entries of x."""


@dataclass(frozen=True)
class Side:
    """The rows of A that say A_i x = b_i, or one side of an inequality, of some entries of a term. term: its place.
    entries: which; lengths: of their rows before they were scaled.
    """

    term: int
    entries: np.ndarray
    lengths: np.ndarray


Place = tuple[int, int]
"""Of an equation: that of its term, and of the entry in it."""


@dataclass(frozen=True)
class Redundant:
    """An equation, None for the one that fixes the trace, that others imply; by: which, None where that is unknown."""

    equation: Place | None
    by: tuple[Place, ...] | None


class ConicForm:
    """blocks: of z; inner: those of x but for free numbers, its first entries, as many as `variables`. rows, right,
    cost: A, b and c; free, free_cost: B (m, k) and d. kept: of all rows, those that are not left out; has_trace_row:
    whether the last of these is that of the trace. contradiction: y with A^T y = 0, B^T y = 0 and b y > 0, of rows that
    cannot hold at once; None where they can.
    """

    def __init__(self, problem: CompositeProblem):
        cone = problem.domain.cone
        assert cone is not None
        self._problem, self.cone = problem, cone
        self._whole = Blocks(cone.sizes)
        self._sides: list[Side] = []
        parts: list[sp.csr_array] = []
        right: list[np.ndarray] = []
        slacks: list[np.ndarray] = []  # of every row: 0 for an equation, or the sign of its slack
        for place, term in enumerate(problem.terms):
            matrix = self._whole.symmetric_rows(rows_of(term))
            for entries, values, sign in _sides(term):
                rows, lengths = _of_length_one(matrix[entries])
                self._sides.append(Side(place, entries, lengths))
                parts.append(rows)
                right.append(values / lengths)
                slacks.append(np.full(entries.size, sign))
        loss, price = problem.loss, np.zeros(self._whole.entries)
        if loss is not None and loss.cost is not None:
            price = self._whole.symmetric(loss.cost.dense().reshape(-1))
        asked = sp.csr_array(sp.vstack(parts)) if parts else sp.csr_array((0, self._whole.entries))
        self._pairs = self._free_pairs(asked, price)
        self._own = np.setdiff1d(np.arange(self._whole.entries), self._pairs)
        self.inner = self._whole.without_numbers(self._pairs.reshape(-1))
        self.variables = self.inner.entries
        first = self._pairs[0]
        length = np.sqrt(self.inner.order)
        trace = sp.csr_array(self.inner.identity()[None] / length)
        right.append(np.array([cone.trace / length]))
        slacks.append(np.array([0.0 if cone.fixed else 1.0]))
        free = sp.csr_array(sp.vstack([asked[:, first], sp.csr_array((1, first.size))]))
        self.free_cost = price[first]
        rows = sp.csr_array(sp.vstack([asked[:, self._own], trace]))
        self._assemble(rows, free, np.concatenate(right), np.concatenate(slacks))
        self.cost = np.zeros(self.blocks.entries)
        self.cost[: self.variables] = price[self._own]

    def _free_pairs(self, rows: sp.csr_array, price: np.ndarray) -> np.ndarray:
        """Places in x (2, k) of numbers whose differences are free."""
        if self.cone.fixed or not self._problem.domain.assumes_radius:
            return np.zeros((2, 0), dtype=np.int64)
        numbers = self._whole.numbers()
        whole = sp.csc_array(sp.vstack([rows[:, numbers], sp.csr_array(price[numbers][None])]))
        pairs = numbers[opposite_columns(whole)]
        return pairs if pairs.size < self._whole.entries else pairs[:, :0]

    def _assemble(self, rows: sp.csr_array, free: sp.csr_array, right: np.ndarray, slacks: np.ndarray) -> None:
        places = np.flatnonzero(slacks)
        sizes = (*self.inner.sizes, -places.size) if places.size else self.inner.sizes
        self.blocks = Blocks(sizes)
        extra = sp.coo_array((slacks[places], (places, np.arange(places.size))), shape=(slacks.size, places.size))
        whole = sp.csr_array(sp.hstack([rows, extra])) if places.size else rows
        self._count = slacks.size
        self._dependence = dependence(sp.csr_array(sp.hstack([whole, free])), right)
        self.kept, contradiction = self._dependence.kept, self._dependence.contradiction
        self.rows, self.free, self.right = whole[self.kept], free[self.kept], right[self.kept]
        self.contradiction = None if contradiction is None else contradiction[self.kept]
        self.has_trace_row = bool(self.kept[-1] == slacks.size - 1) if self.kept.size else False

    @property
    def redundant(self) -> list[Redundant]:
        """The equations that others imply. That of the trace, whose row is the last, takes part in no other way: where
        it depends on the others, it is it that they imply.
        """
        places = [(side.term, int(entry)) for side in self._sides for entry in side.entries]
        return [
            Redundant(
                places[each.row] if each.row < len(places) else None,
                None if each.by is None else tuple(places[row] for row in each.by),
            )
            for each in self._dependence.implied
        ]

    def point(self, z: np.ndarray, u: np.ndarray) -> np.ndarray:
        """x of z and u, of the shape of a point of the domain, and brought to its trace, which rows that contradict it,
        or say it only at the end, let it miss.
        """
        x = np.zeros(self._whole.entries)
        x[self._own] = self.inner.symmetric(z[: self.variables])
        x[self._pairs] = np.maximum(u, 0.0), np.maximum(-u, 0.0)
        trace = float(np.vdot(self._whole.identity(), x))
        if self.cone.fixed or trace > self.cone.trace:
            x *= self.cone.trace / trace
        return x.reshape(self._problem.domain.shape)

    def duals(self, y: np.ndarray) -> list[np.ndarray]:
        """y_i of the terms: with c - A^T y for the direction grad f + sum A_i^T y_i, they are its opposites."""
        whole = np.zeros(self._count)
        whole[self.kept] = y
        found = [np.zeros(term.map.out_shape) for term in self._problem.terms]
        first = 0
        for side in self._sides:
            part = whole[first : first + side.entries.size] / side.lengths
            first += side.entries.size
            found[side.term].reshape(-1)[side.entries] -= part
        for place, term in enumerate(self._problem.terms):
            if term.map.is_identity:  # of both entries of a pair, which are the same of X
                found[place] = self._whole.symmetric(found[place].reshape(-1)).reshape(term.map.out_shape)
        return found


def is_conic(problem: CompositeProblem) -> bool:
    """Whether a problem has such a form: it is linear, and its constraints are equations and bounds on entries of maps
    whose matrices are known.
    """
    linear = problem.loss is None or problem.loss.cost is not None
    return problem.domain.cone is not None and linear and all(_fits(term) for term in problem.terms)


def is_on_diagonal(problem: CompositeProblem) -> bool:
    """Whether the constraints on one matrix are about its diagonal alone."""
    shape = problem.domain.shape
    if len(shape) != 2:
        return False
    return all((rows_of(term).indices % (shape[1] + 1) == 0).all() for term in problem.terms)


def contradicts_itself(problem: CompositeProblem) -> bool:
    """Whether some equations cannot hold at once, whatever x is: descent would never say so."""
    sides = [(rows_of(term), *side) for term in problem.terms for side in _sides(term)]
    parts = [(rows[entries], values) for rows, entries, values, sign in sides if sign == 0.0]
    if not parts:
        return False
    rows, lengths = _of_length_one(sp.csr_array(sp.vstack([each for each, _ in parts])))
    return dependence(rows, np.concatenate([values for _, values in parts]) / lengths).contradiction is not None


def _of_length_one(rows: sp.csr_array) -> tuple[sp.csr_array, np.ndarray]:
    """Rows over their lengths, and those; of a row of zeros it is one."""
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)).reshape(-1))
    lengths[lengths == 0.0] = 1.0
    return sp.csr_array(sp.diags_array(1.0 / lengths) @ rows), lengths


def rows_of(term: Term) -> sp.csr_array:
    rows = term.rows()
    assert rows is not None
    return rows


def _fits(term: Term) -> bool:
    return term.penalty.intervals is not None and (term.map.is_identity or term.map.rows() is not None)


def _sides(term: Term) -> Sequence[tuple[np.ndarray, np.ndarray, float]]:
    """(entries, values, sign): A x + sign * slack = value, with slack >= 0, for these entries of a term."""
    intervals = term.penalty.intervals
    assert intervals is not None
    lower, upper = (side.reshape(-1) for side in intervals)
    every, equal = np.arange(lower.size), lower == upper
    below, above = np.isfinite(lower) & ~equal, np.isfinite(upper) & ~equal
    found = [(every[equal], lower[equal], 0.0), (every[below], lower[below], -1.0), (every[above], upper[above], 1.0)]
    return [each for each in found if each[0].size]
