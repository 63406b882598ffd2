"""Interior-point steps for vectors: linear objectives and least squares over polyhedra, in the form of
`cgm_cli.methods.corrections.bounded_form`.

With w the distances of z to its bounds, v their multipliers, and s_i = 1 at a lower and -1 at an upper bound, every
turn is one step of Newton's method towards w_i v_i = mu,

    A dz = b - A z,   Q dz - A^T dy - G^T dv = -r,   v dw + w dv = t,   dw = G dz,      r = c + Q z - A^T y - G^T v,

for G = diag(s) on the bounded entries, so that with D = (Q + G^T (v / w) G)^-1 and h = G^T (t / w) - r

    A D A^T dy = b - A z - A D h,   dz = D (A^T dy + h),   dv = (t - v dw) / w;

t = -w v predicts, and t = sigma mu - w v - dw dv corrects that (Mehrotra, "On the implementation of a primal-dual
interior point method", SIAM J. Optim. 2, 1992). Where all entries have bounds on both sides, r is zero from the start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cgm_cli.methods.corrections.bounded_form import BoundedForm
from cgm_cli.numerics.deadline import Deadline

INSIDE = 0.995
"""The part of the way to the nearest bound that is gone at the most."""

SHORT = 0.03
"""A step that goes less far is held against one that only brings the products w_i v_i to their mean. (With 0.1, steps
towards degenerate optima are given up that do well.)
"""

SMALLEST_STEP = 1e-8
"""Where neither z nor y moves by so much, it has come as far as rounding lets it."""

ROOM = 10.0
"""How many times larger than the step to `_nearest` the entries of x are taken to be at the most."""

MENDINGS, CLOSE = 2, 1e-5
"""How often the last point is mended; and the part of the reach of x that an entry has for it at the least."""


@dataclass(frozen=True)
class Inner:
    """z, y, and of the finite bounds, the lower ones first, w and v, which are positive."""

    z: np.ndarray
    y: np.ndarray
    distances: np.ndarray
    multipliers: np.ndarray

    def moved(self, move: Inner, along: float, up: float) -> Inner:
        """z by one part of a move, and y by another."""
        return Inner(
            self.z + along * move.z,
            self.y + up * move.y,
            self.distances + along * move.distances,
            self.multipliers + up * move.multipliers,
        )


@dataclass(frozen=True)
class BoundedNewton:
    """The steps for one form. unit: of the objective, by which a gap is measured where the objective is zero."""

    form: BoundedForm
    unit: float

    @cached_property
    def centre(self) -> np.ndarray:
        """x as near to zero as its bounds let it be."""
        own = slice(self.form.variables)
        return np.clip(0.0, self.form.lower[own], self.form.upper[own])

    @cached_property
    def _nearest(self) -> np.ndarray:
        """x from `centre` as near to A z = b as the shortest step takes it: the bounds may be so wide that they do not
        say how large a solution is.
        """
        form = self.form
        z = np.clip(np.zeros(form.cost.size), form.lower, form.upper)
        try:
            system = form.system(np.ones(form.cost.size))
        except np.linalg.LinAlgError:
            return self.centre
        return self.centre + form.adjoint(system.solve(form.right - form.forward(z)))[: form.variables]

    @cached_property
    def reach(self) -> float:
        """What an entry of x varies by, on average, as much as images by rows of length one do; where the bounds are
        wider than solutions are likely to be, that.
        """
        widths = (self.form.upper - self.form.lower)[: self.form.variables]
        size = ROOM * float(np.abs(self._nearest - self.centre).max())
        return min(float(np.linalg.norm(widths)) / math.sqrt(widths.size), size or np.inf)

    def start(self, inside: float) -> Inner:
        """x in the middle of its bounds, or where they are wider so far inside of them, near zero; images that are
        open where they are then, or inside of their bounds; and multipliers that make up for the slope.
        """
        form, own = self.form, slice(self.form.variables)
        z, y = np.zeros(form.cost.size), np.zeros(form.right.size)
        lower, upper = form.lower[own], form.upper[own]
        own_inside = np.minimum(0.5 * (upper - lower), inside)
        z[own] = np.clip(self._nearest, lower + own_inside, upper - own_inside)
        lower, upper = form.lower[form.variables :], form.upper[form.variables :]
        image_inside = np.minimum(0.5 * self.reach, 0.25 * (upper - lower))
        image = (form.forward(z) - form.right)[form.opened]
        z[form.variables :] = np.clip(image, lower + image_inside, upper - image_inside)
        y[form.opened] = -(form.curvature * z)[form.variables :]
        distances = form.gather(z) - form.ends
        slope = form.cost + form.curvature * z - form.adjoint(y)
        # Of two bounds the farther one has the smaller part, so that the products are about as large.
        mean = float(np.abs(form.gather(slope)).mean()) or 1.0
        multipliers = mean * np.minimum(1.0, inside / distances)
        multipliers += np.maximum(form.gather(slope - form.scatter(multipliers)), 0.0)
        return Inner(z, y, distances, multipliers)

    def mended(self, z: np.ndarray) -> np.ndarray:
        """z moved to where A z = b is missed by rounding alone, by entries that have room for it: the last steps, from
        entries next to their bounds, lose digits. The z given where that is no nearer.
        """
        form, best = self.form, z
        missed = least = form.right - form.forward(z)
        for _ in range(MENDINGS):
            room = np.minimum(np.minimum(z - form.lower, form.upper - z), self.reach)
            free = np.maximum(room, CLOSE * self.reach) ** 2
            try:
                step = free * form.adjoint(form.system(free).solve(missed))
            except np.linalg.LinAlgError:
                break
            z = np.clip(z + step, form.lower, form.upper)
            missed = form.right - form.forward(z)
            if np.linalg.norm(missed) < np.linalg.norm(least):
                best, least = z, missed
        return best

    def missed(self, z: np.ndarray) -> float:
        """|A z - b|, relative."""
        form = self.form
        return float(np.linalg.norm(form.right - form.forward(z))) / (float(np.linalg.norm(form.right)) + self.reach)

    def errors(self, at: Inner) -> tuple[float, float, float, float]:
        """|A z - b|, the product of distances and multipliers, the largest of what the optimum is missed by, all of
        them relative, and the value of the dual.
        """
        form = self.form
        curved = 0.5 * float(at.z @ (form.curvature * at.z))
        price = float(form.cost @ at.z) + curved
        primal = self.missed(at.z)
        slope = self._slope(at)
        dual = float(np.linalg.norm(slope)) / (float(np.linalg.norm(form.cost + form.curvature * at.z)) or 1.0)
        # What the slopes are worth that y leaves, rounding included, which counts where bounds are wide.
        left = np.maximum(form.gather(slope + form.scatter(at.multipliers)), 0.0)
        worth = float(form.right @ at.y) + float(form.ends @ left) - curved
        product = max(float(at.distances @ at.multipliers), float(at.distances @ left))
        gap = product / max(abs(price), abs(worth), self.unit)
        return primal, gap, max(primal, dual, gap), worth

    def seen(self, at: Inner) -> Inner:
        """What was found within closer bounds, within these."""
        return replace(at, distances=self.form.gather(at.z) - self.form.ends)

    def _slope(self, at: Inner) -> np.ndarray:
        """r, which is zero where the dual holds."""
        form = self.form
        return form.cost + form.curvature * at.z - form.adjoint(at.y) - form.scatter(at.multipliers)

    def next(self, at: Inner, deadline: Deadline) -> Inner:
        """The next iterate. Raises LinAlgError where rounding is too large for one."""
        form, w, v = self.form, at.distances, at.multipliers
        primal, slope = form.right - form.forward(at.z), self._slope(at)
        products = w * v
        mu = float(products.mean())
        free = 1.0 / (form.curvature + form.scatter(v / w, 1.0))
        deadline.check()
        system = form.system(free)
        deadline.check()

        def towards(target: np.ndarray) -> Inner:
            """The move that changes w v by the target, to first order."""
            h = form.scatter(target / w) - slope
            dy = system.solve(primal - form.forward(free * h))
            dz = free * (form.adjoint(dy) + h)
            # Large entries of D cancel there: what A dz is off by for that is made up for.
            more = system.solve(primal - form.forward(dz))
            dy, dz = dy + more, dz + free * form.adjoint(more)
            dw = form.gather(dz)
            return Inner(dz, dy, dw, (target - v * dw) / w)

        first = towards(-products)
        along, up = self._lengths(at, first, 1.0)
        left = at.moved(first, along, up)
        centring = min(1.0, float(left.distances @ left.multipliers) / (mu * w.size)) ** 3
        move = towards(centring * mu - products - first.distances * first.multipliers)
        along, up = self._lengths(at, move, INSIDE)
        if min(along, up) < SHORT:
            # Some products are far from the others: they are brought together first.
            other = towards(mu - products)
            lengths = self._lengths(at, other, INSIDE)
            if min(lengths) > min(along, up):
                move, (along, up) = other, lengths
        if max(along, up) < SMALLEST_STEP:
            raise np.linalg.LinAlgError
        return at.moved(move, along, up)

    def _lengths(self, at: Inner, move: Inner, most: float) -> tuple[float, float]:
        """How far z, and y, may go along a move: so far of the way to the first bound. Where the objective is curved,
        the slope changes with z, and both go as far.
        """
        along = min(1.0, most * _longest(at.distances, move.distances))
        up = min(1.0, most * _longest(at.multipliers, move.multipliers))
        both = min(along, up)
        return (both, both) if self.form.is_curved else (along, up)


def _longest(values: np.ndarray, by: np.ndarray) -> float:
    """The largest t with values + t by >= 0, values being positive."""
    steepest = float((by / values).min())
    return -1.0 / steepest if steepest < 0.0 else math.inf
