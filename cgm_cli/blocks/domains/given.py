"""A domain that a user's Python function makes: what is known of it is its linear minimisation oracle."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from cgm_cli.blocks.atoms import Atom, DenseAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.projections import safe_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.functions import UserCode
from cgm_cli.spec.fields import PythonSpec

ENCLOSED = 200
"""Entries up to which a box around X is found by two calls of the oracle each, where no radius is given."""

TRIED = 8
"""Directions drawn at random that an oracle is tested on."""

ROUNDS = 200
"""Of the search for the nearest point, each of one call."""

_OFF = 1e-9
"""Relative: what rounding may make of an answer."""


class GivenDomain(Domain):
    """X with the oracle of a user's object: `lmo`, g -> a minimiser of <g, x> over X. The object has `shape`, too, and
    may have `radius` (at least max |x|), `diameter` and `project` (x -> the nearest point).

    The oracle is believed, so that every bound rests on it. What is tested, on directions drawn at random: no other
    atom that it gave is better than its answer, atoms are no longer than the radius and no further apart than the
    diameter, and p = project(x) is no farther along them than any atom, and meets <x - p, s - p> <= 0 for s the
    minimiser of <p - x, .>, which is what makes it the nearest point. Where there is no radius, a box around X is found
    of up to 200 entries, by the oracle at +e_j, -e_j.
    """

    class Spec(PythonSpec):
        """The function is called without arguments."""

        examples: ClassVar = []

        def build(self, context: BuildContext) -> GivenDomain:
            return GivenDomain(context.function(self.python, self.source))

    def __init__(self, code: UserCode):
        """Raises ProblemError for an object that is no domain, or contradicts itself."""
        self._code = code
        self.trusts = (code.called,)
        self._lmo, self._project = code.part("lmo"), code.part("project")
        if not callable(self._lmo):
            raise ProblemError(
                f"{code.called}: makes a {type(code.made).__name__}, and an object with `lmo` and `shape` is needed"
            )
        self.shape = code.shape()
        self.projects = callable(self._project)
        rng = np.random.default_rng(0)
        directions = [rng.standard_normal(self.shape) for _ in range(TRIED)]
        atoms = [self.atom(g) for g in directions]
        self._first = atoms[0]
        self.radius, self.diameter = self._sizes()
        self._refuse_contradictions(directions, atoms)
        if self.projects:
            self._refuse_what_is_no_projection(directions)

    def atom(self, g: np.ndarray) -> np.ndarray:
        """A minimiser of <g, x>, by the user's oracle, of the shape of g."""
        return self._code.array("`lmo(g)`", self._code.run(self._lmo, g.copy()), self.shape)

    def _sizes(self) -> tuple[float, float]:
        radius, diameter = (_positive(self._code, name) for name in ("radius", "diameter"))
        if radius is None:
            size = math.prod(self.shape)
            if size > ENCLOSED:
                raise ProblemError(
                    f"{self._code.called}: has no `radius`, at least the largest norm of a point: of more than "
                    f"{ENCLOSED} entries, here {size}, it is needed"
                )
            ends = [
                [self.atom(sign * e.reshape(self.shape)).flat[j] for j, e in enumerate(np.eye(size))]
                for sign in (1, -1)
            ]
            lower, upper = np.array(ends)
            radius = safe_norm(np.maximum(np.abs(lower), np.abs(upper)))
            across = safe_norm(upper - lower)
            diameter = across if diameter is None else diameter
        return radius, 2.0 * radius if diameter is None else diameter

    def _refuse_contradictions(self, directions: list[np.ndarray], atoms: list[np.ndarray]) -> None:
        called = self._code.called
        for g, own in zip(directions, atoms, strict=True):
            values = [float(np.vdot(g, atom)) for atom in atoms]
            allowed = _OFF * safe_norm(g) * self.radius
            if min(values) < float(np.vdot(g, own)) - allowed:
                raise ProblemError(
                    f"{called}: `lmo` is no oracle: for one direction it gave a point of value "
                    f"{float(np.vdot(g, own)):.6g}, and for another one a point whose value is {min(values):.6g}"
                )
        longest = max(map(safe_norm, atoms))
        apart = max(safe_norm(a - b) for a in atoms for b in atoms)
        for what, size, found in (("radius", self.radius, longest), ("diameter", self.diameter, apart)):
            if found > size * (1.0 + _OFF):
                told = "there is a point of norm" if what == "radius" else "two points have the distance"
                raise ProblemError(f"{called}: its {what} is {size:.6g}, but {told} {found:.6g}")

    def _refuse_what_is_no_projection(self, directions: list[np.ndarray]) -> None:
        for g in directions:
            x = self._first + g * (self.radius / safe_norm(g))
            p = self.project(x)
            outside = float(np.vdot(g, p - self.atom(-g)))
            if outside > 1e-6 * safe_norm(g) * self.radius:
                raise ProblemError(
                    f"{self._code.called}: `project` gives a point p outside of the domain: for one g, <g, p> is "
                    f"{outside:.3g} more than the oracle says is the most there"
                )
            beyond = float(np.vdot(x - p, self.atom(p - x) - p))
            if beyond > 1e-6 * self.radius**2:
                raise ProblemError(
                    f"{self._code.called}: `project` does not give the nearest point p: <x - p, s - p> is {beyond:.3g} "
                    "for a point s of the domain, and must not be more than 0"
                )

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        """The user's answer, which is believed; of equal ones whichever that is."""
        g = direction.dense()
        atom = self.atom(g)
        value = float(np.vdot(g, atom))
        return OracleAnswer(DenseAtom(atom), value, value, exact=True)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        return safe_norm(x - self.project(x)) <= tolerance * self.radius

    def project(self, x: np.ndarray) -> np.ndarray:
        """The user's own projection, or the nearest point as far as some calls of the oracle find it."""
        if not np.isfinite(x).all():
            return np.full(x.shape, np.nan)
        if self.projects:
            return self._code.array("`project(x)`", self._code.run(self._project, x.copy()), self.shape)
        return self._nearest(x)

    def _nearest(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of the hull of what the oracle answers, with one answer more in each round.

        With D the atoms less x, as columns, u >= 0 that minimises |D u|^2 + (1 - sum u)^2 is a multiple of the weights
        of the point of the hull that is nearest to x: at t w, t^2 |D w|^2 + (1 - t)^2 is least for the least |D w|.
        """
        from scipy.optimize import nnls

        atoms, weights, p = [self._first], np.ones(1), self._first
        for _ in range(ROUNDS):
            atom = self.atom(p - x)
            if float(np.vdot(p - x, p - atom)) <= (1e-12 * self.radius) ** 2:
                break
            atoms = [a for a, w in zip(atoms, weights, strict=True) if w > 0.0] + [atom]
            columns = np.array([(a - x).reshape(-1) for a in atoms]).T
            size = max(float(np.abs(columns).max()), 1e-300)
            found = nnls(np.vstack([columns / size, np.ones(len(atoms))]), np.append(np.zeros(x.size), 1.0))[0]
            weights = found / found.sum()
            former, p = p, sum((w * a for w, a in zip(weights, atoms, strict=True)), np.zeros(self.shape))
            if safe_norm(p - x) >= safe_norm(former - x):
                return former
        return p

    def start(self) -> Atom:
        """A point that the oracle gave."""
        return DenseAtom(self._first)


def _positive(code: UserCode, name: str) -> float | None:
    given: Any = code.part(name)
    if given is None:
        return None
    try:
        size = float(given)
    except (TypeError, ValueError):
        size = math.nan
    if not 0.0 < size < math.inf:
        raise ProblemError(f"{code.called}: its `{name}` is {given!r}, and not a number > 0")
    return size
