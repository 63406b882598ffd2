"""The composite problem: min over x in X of f(x) + sum_i g_i(A_i x), as the blocks that make it up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.describe import describe
from cgm_cli.blocks.domains.base import Domain, OracleRequest
from cgm_cli.blocks.fitting import positive, starting_point, wrong_size
from cgm_cli.blocks.inequalities import Inequalities
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.base import LinearMap, rows_of
from cgm_cli.blocks.penalties.base import Penalty
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.projections import safe_norm
from cgm_cli.text import did_you_mean, quoted

SMALLEST, LARGEST = 1e-70, 1e70
"""Constants outside this range are refused: products of four of them, as squares of images are, stay in range."""

SENSES = ("minimise", "maximise")

NOUGHT = 1e-12
"""Part of the largest image that is zero, but for rounding."""

OBJECTIVE_UNIT = 1e-8
"""Part of what the objective may change by over X that gaps are relative to where it is smaller: a small one, since the
domain may be much larger than what a run meets of it.
"""


BEYOND = 1e3
"""How many times longer than a point of equal entries that the constants of the problem come to x is taken to be at the
most: a bound that nobody means to be met may be as large as one likes.
"""


@dataclass(frozen=True)
class Term:
    """g(A x), a penalty or a constraint; `weight` w > 0 means that it is smoothed with beta / w. called: what the user
    calls an entry of A x, where that is not its place. family: what the rows of A were taken from, where others may
    join.
    """

    name: str
    map: LinearMap
    penalty: Penalty
    weight: float = 1.0
    called: Callable[[int], str] | None = None
    family: Inequalities | None = None

    @classmethod
    def of_family(cls, name: str, family: Inequalities, places: np.ndarray, weight: float = 1.0) -> Term:
        """The inequalities at these places."""
        return cls(name, *family.rows(places), weight, family=family)

    def at(self, places: np.ndarray) -> Term:
        """Other inequalities of its family, smoothed as much: what its weight is relative to, |A|^2, is another now
        (cgm_cli.methods.scaling).
        """
        assert self.family is not None
        made = self.of_family(self.name, self.family, places)
        return replace(made, weight=self.weight * (self.map.norm / made.map.norm) ** 2)

    def rows(self) -> sp.csr_array | None:
        """The matrix of the map, sparse, that of the identity among them; None where there is none."""
        return rows_of(self.map)


@dataclass(frozen=True)
class CompositeProblem:
    """domain X, loss f (None: zero), terms g_i(A_i x), and where a run starts (None: the domain's own start).

    start: an atom, or an array that lies in the domain up to rounding. sense: "minimise", or "maximise" when f stands
    for the negative of what the user asked for; only reports turn the sign. Raises ProblemError if there is nothing to
    minimise, two terms have one name, shapes do not fit, or constants are extreme.
    """

    domain: Domain
    loss: Loss | None = None
    terms: tuple[Term, ...] = ()
    start: Atom | None = None
    sense: str = "minimise"

    def __post_init__(self) -> None:
        self._take_terms(self.terms)
        self._refuse_kinds()
        if self.loss is None and not self.terms:
            raise ProblemError("the problem has neither an objective nor a penalty nor a constraint: nothing to solve")
        if self.sense not in SENSES:
            hint = did_you_mean(str(self.sense), SENSES) or f"it is one of {', '.join(SENSES)}"
            raise ProblemError(f"unknown sense `{quoted(str(self.sense))}`: {hint}")
        self._refuse_shapes()
        self._take_start(self.start)
        if self.start is not None and self.start.shape != self.domain.shape:
            raise ProblemError(
                f"the start has shape {self.start.shape}, but the domain's points are {self.domain.shape}"
            )
        self._refuse_extremes()

    def _take_terms(self, given: Any) -> None:
        """In any sequence, or a single one."""
        if not isinstance(given, Iterable | Term):
            raise ProblemError(f"the terms are of type {type(given).__name__}, and not a tuple of Terms")
        terms = (given,) if isinstance(given, Term) else tuple(cast(Iterable[Any], given))
        object.__setattr__(self, "terms", terms)  # before anybody sees the frozen fields

    def _take_start(self, given: Any) -> None:
        if given is not None and not isinstance(given, Atom):
            object.__setattr__(self, "start", starting_point(given, self.domain, "domain"))

    def _refuse_kinds(self) -> None:
        """Blocks in the place of others."""
        blocks: list[tuple[str, Any, Any]] = [("the domain", self.domain, Domain), ("the loss", self.loss, Loss | None)]
        for index, term in enumerate(cast(tuple[Any, ...], self.terms)):
            blocks.append((f"entry {index} of the terms", term, Term))
            if isinstance(term, Term):
                blocks.append((f"the map of `{term.name}`", term.map, LinearMap))
                blocks.append((f"the penalty of `{term.name}`", term.penalty, Penalty))
        for what, block, kind in blocks:
            if not isinstance(block, kind):
                expected = getattr(kind, "__name__", "Loss")
                raise ProblemError(f"{what} is of type {type(block).__name__}, and not a {expected}")

    def _refuse_shapes(self) -> None:
        """What terms are called, and that maps and penalties fit onto each other."""
        names = [term.name for term in self.terms]
        for name in names:
            if names.count(name) > 1:
                raise ProblemError(f"two terms are called `{name}`: their duals are told apart by their names")
        for what, linear in [("objective", self.loss and self.loss.map), *((t.name, t.map) for t in self.terms)]:
            if linear is not None and linear.in_shape != self.domain.shape:
                raise ProblemError(
                    f"{what}: its map takes {linear.in_shape}, but the domain's points are {self.domain.shape}"
                )
        for term in self.terms:
            if term.penalty.shape != term.map.out_shape:
                raise ProblemError(
                    f"{term.name}: its map gives {term.map.out_shape}, but its penalty takes {term.penalty.shape}"
                )

    def _refuse_extremes(self) -> None:
        """Products of two squares of these numbers must neither overflow nor vanish."""
        sizes = {"the radius of the domain": self.domain.radius}
        if self.loss is not None:
            sizes["the norm of the objective's map"] = self.loss.map.norm
            if self.loss.is_smooth:
                sizes["the Lipschitz constant of the objective's gradient"] = self.loss.lipschitz
        for term in self.terms:
            sizes[f"the norm of the map of `{term.name}`"] = term.map.norm
            sizes[f"the weight of `{term.name}`"] = term.weight
            if not term.penalty.is_set:
                sizes[f"the Lipschitz constant of `{term.name}`"] = term.penalty.lipschitz
        for what, size in sizes.items():
            if not size >= 0.0:
                raise ProblemError(f"{what} {wrong_size(size)}")
            if size != 0.0 and not SMALLEST <= size <= LARGEST:
                raise ProblemError(
                    f"{what} is {size:.3g}; between {SMALLEST:g} and {LARGEST:g} it can be computed with: "
                    "choose other units"
                )
        for term in self.terms:
            positive(term.weight, f"the weight of `{term.name}`")
        # What is added to images: that it may be small beside them is no matter.
        added = {f"the size of the numbers in `{term.name}`": term.penalty.away for term in self.terms}
        if self.loss is not None:
            where, image = "at zero", np.zeros(self.loss.map.out_shape)
            if not self.loss.is_smooth:
                where, image = "at the start", self.loss.map.forward_atom(self.first)
                if not math.isfinite(self.loss.value(image)):
                    whose = "the domain" if self.start is None else "the start"
                    raise ProblemError(f"the objective is infinite on {whose}: a run starts where it is finite")
            added[f"the norm of the objective's gradient {where}"] = safe_norm(self.loss.gradient(image))
        for what, size in added.items():
            if np.isnan(size):
                raise ProblemError(f"{what} is not a number")
            if not size <= LARGEST:
                raise ProblemError(
                    f"{what} is {size:.3g}; up to {LARGEST:g} it can be computed with: choose other units"
                )

    @property
    def sense_sign(self) -> float:
        """What turns a value of f into the user's sense: 1, or -1 for a maximisation."""
        return -1.0 if self.sense == "maximise" else 1.0

    @cached_property
    def first(self) -> Atom:
        """The point x_1 a run starts from."""
        if self.start is not None:
            return self.start
        return (None if self.loss is None else self.loss.start(self.domain)) or self.domain.start()

    @property
    def trusts(self) -> tuple[str, ...]:
        """Functions of the user's that every bound rests on."""
        maps = [term.map for term in self.terms] + ([self.loss.map] if self.loss else [])
        return tuple(dict.fromkeys([*self.domain.trusts, *(name for linear in maps for name in linear.trusts)]))

    @property
    def has_constraints(self) -> bool:
        """Whether some g_i is the indicator of a set, so that f(x) is no upper bound on the optimum."""
        return any(term.penalty.is_set for term in self.terms)

    @property
    def growing(self) -> int | None:
        """The place of the term that has a family of inequalities, which others may join; None where there is none."""
        return next((place for place, term in enumerate(self.terms) if term.family is not None), None)

    def with_rows(self, places: np.ndarray) -> CompositeProblem:
        """The same problem with other inequalities in the term that grows."""
        grown = self.growing
        assert grown is not None
        return replace(self, terms=tuple(t.at(places) if i == grown else t for i, t in enumerate(self.terms)))

    @property
    def needs_array(self) -> bool:
        """Whether x must be written out: no product with a matrix makes its oracle, or a map needs every entry."""
        maps = [term.map for term in self.terms] + ([self.loss.map] if self.loss else [])
        return not self.domain.spectral or any(linear.needs_array for linear in maps)

    @cached_property
    def length(self) -> float:
        """What |x| is to be expected to be at the most: the radius of X, or 1000 sqrt(N), N the entries of x, times the
        largest |p_i| / |A_i| and |grad f(0)| |M| / L_f, if that is less. p_i are the numbers in g_i: an offset, the
        ends of intervals, the point of a set that is nearest to zero.
        """
        lengths = [term.penalty.size / term.map.norm for term in self.terms if term.map.norm > 0.0]
        if self.loss is not None and self.loss.is_smooth and self.loss.lipschitz > 0.0:
            steepness = safe_norm(self.loss.gradient(np.zeros(self.loss.map.out_shape)))
            lengths.append(steepness * self.loss.map.norm / self.loss.lipschitz)
        told = BEYOND * math.sqrt(math.prod(self.domain.shape)) * max(lengths, default=0.0)
        return min(self.domain.usual, told or np.inf)

    @cached_property
    def unit(self) -> float:
        """What gaps are relative to at the least, so that an optimum of zero can be reached: 1e-8 of
        |grad f(x_1)| r + sum of L_i |A_i| r over the finite g_i, r the `length`, or of L_f r^2 / 2 where that is zero;
        1 where that is zero, too. In other units of objective or data it is as many times larger as F is.
        """
        r, size, curved = self.length, 0.0, 0.0
        if self.loss is not None:
            gradient = self.loss.gradient(self.loss.map.forward_atom(self.first))
            size = safe_norm(gradient) * self.loss.map.norm * r
            curved = 0.5 * self.loss.lipschitz * r**2 if self.loss.is_smooth else 0.0
        size += sum(t.penalty.lipschitz * t.map.norm * r for t in self.terms if not t.penalty.is_set)
        return OBJECTIVE_UNIT * (size or curved) or 1.0

    def image_scale(self, term: Term, size: float, length: float) -> float:
        """What the infeasibility of a constraint is relative to. size: |p|, p the nearest point of the set, which it is
        unless that is zero, but for rounding: then |A| |x| / sqrt(m), m the entries of A x, which is the size of an
        image whose entries are as large as one may be; 1 where that is zero, too. length: |x|, or the radius of X,
        which is near it for matrices of bounded trace or nuclear norm. An x that is zero but for rounding, as where no
        other meets the constraints, counts for this part of `length`, which is that of the unit of objectives.
        """
        largest = term.map.norm * max(length, OBJECTIVE_UNIT * self.length)
        return size if size > NOUGHT * largest else largest / math.sqrt(math.prod(term.map.out_shape)) or 1.0

    @cached_property
    def image_limits(self) -> dict[str, np.ndarray]:
        """At least the largest |(A_i x)_k| over X, entry by entry, by the name of the term, where the matrix of A_i and
        the limits of the entries of x are known.
        """
        limits = self.domain.entry_limits
        matrices = {term.name: term.map.explicit for term in self.terms}
        if limits is None:
            return {}
        return {name: abs(matrix) @ limits.reshape(-1) for name, matrix in matrices.items() if matrix is not None}

    def reach(self, term: Term, y: np.ndarray) -> float:
        """At least the sum of |y_k| |(A x)_k| for every x in X."""
        limits = self.image_limits.get(term.name)
        whole = safe_norm(y) * term.map.norm * self.domain.radius
        return whole if limits is None else min(whole, float(np.vdot(np.abs(y), limits)))

    def relative(self, difference: float, *values: float) -> float:
        """A difference of objectives, relative to the largest of these values and the unit."""
        return difference / max(self.unit, *map(abs, values))

    @property
    def tangent_excess(self) -> float:
        """How far a tangent of f may lie above f on X: mu (|M| D)^2 / 2 (`Loss.weak_convexity`), 0 for a convex f."""
        if self.loss is None or self.loss.weak_convexity == 0.0:
            return 0.0
        # An image that is kept up to date step by step, and a diameter, may err by a few digits of rounding.
        reach = self.loss.map.norm_bound * self.domain.diameter * (1.0 + 1e-9)
        return 0.5 * self.loss.weak_convexity * reach**2

    @property
    def is_provable(self) -> bool:
        """Whether bounds may be proven: `tangent_excess` is, and every prox, from which conjugates come, is exact."""
        convex = self.loss is None or self.loss.convexity_proven
        return convex and all(term.penalty.prox_is_exact for term in self.terms)

    def total(self, atom: Atom) -> float:
        """F at an atom; infinite outside a constraint set."""
        value = 0.0 if self.loss is None else self.loss.value(self.loss.map.forward_atom(atom))
        return value + sum(term.penalty.value(term.map.forward_atom(atom)) for term in self.terms)

    def smoothed(self, loss_image: np.ndarray | None, images: list[np.ndarray], beta: float) -> float:
        """F_beta(x) = f(x) + sum_i (g_i)_{beta / w_i}(A_i x), from the images M x (None without a loss) and A_i x."""
        value = 0.0
        if self.loss is not None:
            assert loss_image is not None
            value = self.loss.value(loss_image)
        for term, image in zip(self.terms, images, strict=True):
            value += term.penalty.envelope(image, beta / term.weight)
        return value

    def constants(self) -> dict[str, float]:
        """L_f, |A| of the weighted stacked map, L_g and D_X of the paper's theorems.

        |A x|^2 is at most the sum of w_i |A_i|^2 |x_i|^2, x_i the entries that A_i reads: so |A|^2 is at most the
        largest sum of w_i |A_i|^2 over the terms that read one entry, which are all where each reads all of x.

        L_g is that of the stacked g of images scaled by sqrt(w_i): sqrt(sum L_i^2 / w_i); infinite with a constraint.
        """
        return {
            "L_f": self.loss.lipschitz if self.loss else 0.0,
            "|A|": float(np.sqrt(max((self._read_at(t.map.reads.start) for t in self.terms), default=0.0))),
            "L_g": float(np.sqrt(sum(t.penalty.lipschitz**2 / t.weight for t in self.terms))),
            "D_X": self.domain.diameter,
        }

    def _read_at(self, entry: int) -> float:
        """The sum of w_i |A_i|^2 over the terms that read an entry of x."""
        reading = (t for t in self.terms if t.map.reads.start <= entry < t.map.reads.stop)
        return sum(t.weight * t.map.norm**2 for t in reading)

    def reweighted(self, weights: dict[str, float]) -> CompositeProblem:
        """The same problem with other smoothing weights, by the name of the term."""
        return replace(self, terms=tuple(replace(t, weight=weights[t.name]) for t in self.terms))

    def is_constant(self, should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Whether f plus the finite penalties is one number on the whole domain, as far as a linear f without penalties
        can tell: by one linear minimisation and one maximisation, to nine digits.
        """
        if any(not term.penalty.is_set for term in self.terms) or (self.loss is not None and not self.loss.is_linear):
            return False
        if self.loss is None:
            return True
        direction = self.loss.map.adjoint(self.loss.gradient(self.loss.map.forward_atom(self.first)))
        direction = direction.symmetrised() if self.domain.symmetric else direction
        request = OracleRequest(should_stop=should_stop)
        least = self.domain.lmo(direction, request).value
        largest = -self.domain.lmo(direction.scaled(-1.0), request).value
        return largest - least <= 1e-9 * max(abs(least), abs(largest))

    def describe(self) -> dict[str, object]:
        """The blocks and their constants, as plain data: what `cgm show --expanded` prints."""
        return {
            "sense": self.sense,
            "domain": describe(self.domain),
            "objective": describe(self.loss),
            "terms": [
                {"name": t.name, "weight": t.weight, "map": describe(t.map), "penalty": describe(t.penalty)}
                for t in self.terms
            ],
            "constants": self.constants(),
        }
