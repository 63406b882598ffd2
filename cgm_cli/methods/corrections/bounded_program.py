"""What problems over polyhedra are to linear programming, before any choice of how to solve that:

    min <price, v> + sum curvature (M x - target)^2 / 2,   least <= rows v <= most,   lower <= v <= upper,   v = (x, t)

with the t of the penalties whose graphs have finitely many faces (`cgm_cli.blocks.penalties.epigraph`). Bounds that a
term asks of x itself are among those of v, and no rows. The t have bounds that no solution is kept from anything by:
what they are to make up for is known within the box of x; and they are in units in which these are as wide as that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.domains.base import Polyhedron
from cgm_cli.blocks.penalties.epigraph import Epigraph
from cgm_cli.blocks.problem import CompositeProblem, Term

ROOM = 0.1
"""Part of what a t may vary by that its bounds, but for that of its own, are farther away than any value it takes."""


@dataclass(frozen=True)
class Rows:
    """Rows over (x, t), with the ends of their images. term: the place of what they come from; None for those of the
    domain and of least squares. curvature: of the objective by the image, 0 but for least squares.
    """

    matrix: sp.csr_array
    lower: np.ndarray
    upper: np.ndarray
    term: int | None = None
    curvature: float = 0.0


@dataclass(frozen=True)
class _Ends:
    """lower, upper: the closest bounds on the entries of x, flat; below, above: the places of the terms that they come
    from, -1 for those of the domain.
    """

    lower: np.ndarray
    upper: np.ndarray
    below: np.ndarray
    above: np.ndarray

    @classmethod
    def of(cls, problem: CompositeProblem) -> _Ends:
        polyhedron = problem.domain.polyhedron
        assert polyhedron is not None
        lower, upper = (np.array(end, dtype=float).reshape(-1) for end in (polyhedron.lower, polyhedron.upper))
        below, above = np.full(lower.size, -1), np.full(upper.size, -1)
        for place, term in enumerate(problem.terms):
            intervals = term.penalty.intervals if term.map.is_identity else None
            if intervals is not None:
                least, most = (end.reshape(-1) for end in intervals)
                below[least > lower], above[most < upper] = place, place
                lower, upper = np.maximum(lower, least), np.minimum(upper, most)
        return cls(lower, upper, below, above)

    def duals(self, place: int, gradient: np.ndarray) -> np.ndarray:
        """The multipliers of a term: what makes the gradient zero where it pushes x against the bounds of the term."""
        pushed = (gradient > 0.0) & (self.below == place) | (gradient < 0.0) & (self.above == place)
        return np.where(pushed, -gradient, 0.0)


@dataclass(frozen=True)
class _Added:
    """The t of a term: columns (m, k) of what they take from its rows, price, and least <= t <= most."""

    columns: sp.csr_array
    price: np.ndarray
    least: np.ndarray
    most: np.ndarray

    @classmethod
    def of(cls, epigraph: Epigraph, images: tuple[np.ndarray, np.ndarray], width: float) -> _Added:
        """For rows with images between these ends; in units in which its bounds are so wide."""
        columns, price = epigraph.columns, epigraph.price
        if not price.size:
            return cls(columns, price, price, price)
        middle, half = 0.5 * (images[0] + images[1]), 0.5 * (images[1] - images[0])
        entries = columns.tocoo()
        row, column = entries.coords
        # Each entry e asks for t >= (z - upper) / e, or (lower - z) / |e| where it is negative.
        ends = np.where(entries.data > 0.0, epigraph.upper[row], epigraph.lower[row])
        asked, varies = (middle[row] - ends) / entries.data, half[row] / np.abs(entries.data)
        least = np.full(price.size, -np.inf if epigraph.is_free else 0.0)
        most = least.copy()
        np.maximum.at(most, column, asked + varies)
        if epigraph.is_free:
            np.maximum.at(least, column, asked - varies)
        spare = ROOM * (most - least)
        least, most = least - spare * epigraph.is_free, most + spare
        unit = (most - least) / width
        unit[unit == 0.0] = 1.0
        return cls(sp.csr_array(columns @ sp.diags_array(unit)), price * unit, least / unit, most / unit)


class BoundedProgram:
    """size: of x; lower, upper, price: of (x, t), flat; parts: the rows over these."""

    def __init__(self, problem: CompositeProblem):
        """For a problem that `is_bounded`."""
        self._problem, self._ends = problem, _Ends.of(problem)
        lower, upper = self._ends.lower, self._ends.upper
        self.size, cost = lower.size, None if problem.loss is None else problem.loss.cost
        own = [(place, term) for place, term in enumerate(problem.terms) if not _is_box(term)]
        free = upper > lower
        width = float(np.sqrt(np.mean((upper - lower)[free] ** 2)))
        plain: list[Rows] = []
        added: list[_Added] = []
        for place, term in own:
            rows, epigraph = term.rows(), term.penalty.epigraph
            assert rows is not None and epigraph is not None
            plain.append(Rows(rows, epigraph.lower, epigraph.upper, place))
            added.append(_Added.of(epigraph, _images(rows, problem.domain.polyhedron, lower, upper), width))
        price = np.zeros(self.size) if cost is None else cost.dense().reshape(-1)
        self.price = np.concatenate([price, *(each.price for each in added)])
        self.lower = np.concatenate([lower, *(each.least for each in added)])
        self.upper = np.concatenate([upper, *(each.most for each in added)])
        self.parts: list[Rows] = []
        first = self.size
        for rows, each in zip(plain, added, strict=True):
            self.parts.append(self._widened(rows, each.columns, first))
            first += each.price.size
        self.parts += [self._widened(rows) for rows in _others(problem)]

    def duals(self, of_rows: dict[int, np.ndarray], gradient: np.ndarray) -> list[np.ndarray]:
        """y_i of the terms: those that are known by the place of a term, and of the others what the gradient by (x, t),
        that these leave, says.
        """
        left = gradient[: self.size]
        return [
            (of_rows[place] if place in of_rows else self._ends.duals(place, left)).reshape(term.map.out_shape)
            for place, term in enumerate(self._problem.terms)
        ]

    def _widened(self, rows: Rows, columns: sp.csr_array | None = None, first: int = 0) -> Rows:
        """Rows over x as rows over (x, t), the columns being those of their own t, from this one on."""
        added = self.lower.size - self.size
        if not added:
            return rows
        more = sp.csr_array((rows.matrix.shape[0], added))
        if columns is not None and columns.shape[1]:
            before = sp.csr_array((columns.shape[0], first - self.size))
            after = sp.csr_array((columns.shape[0], added - before.shape[1] - columns.shape[1]))
            more = sp.hstack([before, -columns, after])
        return replace(rows, matrix=sp.csr_array(sp.hstack([rows.matrix, more])))


def is_bounded(problem: CompositeProblem) -> bool:
    """Whether a problem is such a program, and bounds are not all there is."""
    loss = problem.loss
    if problem.domain.polyhedron is None:
        return False
    ends = _Ends.of(problem)
    if (ends.lower > ends.upper).any() or not (ends.lower < ends.upper).any():
        return False
    if not problem.domain.polyhedron.rows.shape[0] and all(term.map.is_identity for term in problem.terms):
        return False
    objective = loss is None or loss.cost is not None or (loss.squares is not None and loss.map.rows() is not None)
    return objective and all(t.penalty.epigraph is not None and t.rows() is not None for t in problem.terms)


def _is_box(term: Term) -> bool:
    """Whether a term bounds the entries of x, and no more."""
    return term.map.is_identity and term.penalty.intervals is not None


def _images(
    rows: sp.csr_array, polyhedron: Polyhedron | None, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of <a, x> for each row a over X, or beyond: by the box; and by sums of entries that are not negative, of
    which <a, x> takes r max a at the most where they sum to r, or zero where they may be zero.
    """
    assert polyhedron is not None
    middle, half = rows @ (0.5 * (lower + upper)), abs(rows) @ (0.5 * (upper - lower))
    sums, alone = sp.csr_array(polyhedron.rows), np.ones(lower.size, dtype=bool)
    columns = sp.csc_array(rows)
    least, most = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    for row in range(sums.shape[0]):
        own = sums.indices[sums.indptr[row] : sums.indptr[row + 1]]
        is_sum = (sums.data[sums.indptr[row] : sums.indptr[row + 1]] == 1.0).all() and (lower[own] >= 0.0).all()
        if not (is_sum and alone[own].all() and np.isfinite(polyhedron.most[row])):
            continue
        alone[own] = False
        part = columns[:, own]
        total, is_fixed = polyhedron.most[row], polyhedron.least[row] == polyhedron.most[row]
        high, low = (np.asarray(end.todense()).reshape(-1) for end in (part.max(axis=1), part.min(axis=1)))
        most += total * (high if is_fixed else np.maximum(high, 0.0))
        least += total * (low if is_fixed else np.minimum(low, 0.0))
    others = columns[:, alone]
    centre, reach = others @ (0.5 * (lower + upper))[alone], abs(others) @ (0.5 * (upper - lower))[alone]
    return np.maximum(middle - half, least + centre - reach), np.minimum(middle + half, most + centre + reach)


def _others(problem: CompositeProblem) -> list[Rows]:
    """The rows of the domain, and of least squares."""
    polyhedron, loss = problem.domain.polyhedron, problem.loss
    assert polyhedron is not None
    found = [Rows(polyhedron.rows, polyhedron.least, polyhedron.most)]
    if loss is not None and loss.squares is not None:
        rows, target = loss.map.rows(), loss.squares.reshape(-1)
        assert rows is not None
        found.append(Rows(rows, target, target, curvature=1.0))
    return found
