"""Everything the loop carries from one iteration to the next, in one object: so a checkpoint of it is complete."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.iterates import DenseIterate, HalfStep, Iterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import NumericalError
from cgm_cli.methods.bounds import BestBound
from cgm_cli.methods.evaluation import indexed
from cgm_cli.methods.segment import ImageSegment

Ahead = Callable[[HalfStep, list[np.ndarray | None]], np.ndarray | None]
"""Takes a step of x, given the images after it (None for x itself), and returns M x; None if it does not."""


@dataclass
class Tally:
    """What one turn of the loop changes before the step is taken. warm: what the oracle wants back. bounds: the best
    ones. unconverged: oracle calls that fell short of their tolerance.

    failed_certificate, failed_hope, failed_proof: the estimates, and the values without allowance, whose
    certificates last fell short of the tolerance, and the estimates that last proved nothing about feasibility;
    failed_at: the k of the last certificate that fell short; overtaken_at: of the last that put the bound beyond the
    objective of a run about to end, or None; doubted_at: of the last look at whether x proves the best estimate wrong,
    or None.
    ceiling: at least the maximum of the objective over the domain, once it was needed. attained: what the ceiling is
    no less than, which costs no certificate. spent, spending: the estimate that was certified last, and the seconds it
    took. progress, progress_at: the smallest max(gap, infeasibility) that counted as progress, and the k it was reached
    at.
    """

    warm: np.ndarray | None = None
    bounds: BestBound = field(default_factory=BestBound)
    unconverged: int = 0
    failed_certificate: float = -np.inf
    failed_hope: float = -np.inf
    failed_proof: float = -np.inf
    failed_at: int = 0
    doubted_at: int | None = None
    overtaken_at: int | None = None
    ceiling: float | None = None
    attained: float | None = None
    spent: float | None = None
    spending: float = 0.0
    progress: float = np.inf
    progress_at: int = 0

    def pack(self) -> dict[str, Any]:
        """All of it as nested mappings of arrays and plain values."""
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"bounds": self.bounds.pack()}

    @classmethod
    def unpacked(cls, tree: Mapping[str, Any]) -> Tally:
        """What `pack` made the tree of."""
        return cls(**{**tree, "bounds": BestBound.unpacked(tree["bounds"])})


@dataclass(frozen=True)
class Mark:
    """What a state was at some time. The arrays of the centres and of the memory are those of the state: a correction
    puts others in their place, and what is done to them in place, as by the ascent that an evaluation makes up for,
    stands.
    """

    tally: Tally
    rng: dict[str, Any]
    centres: list[np.ndarray] | None
    memory: dict[str, np.ndarray]
    sharpness: float


@dataclass
class State:
    """k: steps taken. iterate: x. loss_image: M x (None without a loss). images: A_i x, one per term. rng: the run's
    only source of randomness. tally: what a turn of the loop keeps. centres: the dual variables that the smoothing is
    centred at, one per term; None: at zero. ascent: what one of them still has to move (`Evaluator.ascend`).
    sharpness: how many times smaller the smoothing is than its schedule says. memory: of correction and ascent, by
    name. seconds: wall time spent so far.

    The image of an identity map is the iterate's own array, shared and not copied: None in _images and _loss_image.
    """

    problem: CompositeProblem
    iterate: Iterate
    rng: np.random.Generator
    k: int = 0
    tally: Tally = field(default_factory=Tally)
    centres: list[np.ndarray] | None = None
    ascent: tuple[float, float] | None = None
    sharpness: float = 1.0
    memory: dict[str, np.ndarray] = field(default_factory=dict)
    seconds: float = 0.0
    _loss_image: np.ndarray | None = field(default=None, init=False)
    _images: list[np.ndarray | None] = field(default_factory=list, init=False)

    def __post_init__(self):
        self._image_all(self.problem.first)

    @property
    def loss_image(self) -> np.ndarray | None:
        if self.problem.loss is None:
            return None
        return self.iterate.array if self._loss_image is None else self._loss_image

    @property
    def images(self) -> list[np.ndarray]:
        return [self.iterate.array if image is None else image for image in self._images]

    def images_with_half(self, term: Term | None) -> list[np.ndarray]:
        """The images, of which that of `term`, if it is x itself, may be right on and below the diagonal alone."""
        pairs = zip(self.problem.terms, self._images, strict=True)
        return [self._shared(half=one is term) if image is None else image for one, image in pairs]

    def _shared(self, half: bool) -> np.ndarray:
        return self.iterate.lower if half else self.iterate.array

    def mark(self) -> Mark:
        """What a turn may change before its step is taken; for `revert`."""
        tally = copy.copy(self.tally)
        tally.bounds = copy.copy(tally.bounds)
        return Mark(tally, self.rng.bit_generator.state, self.centres, dict(self.memory), self.sharpness)

    def revert(self, mark: Mark) -> None:
        """Take a turn back whose step was not taken. A run that goes on from here does it again, to the last bit."""
        self.tally, self.rng.bit_generator.state, self.sharpness = mark.tally, mark.rng, mark.sharpness
        self.centres, self.memory = mark.centres, dict(mark.memory)

    @property
    def nbytes(self) -> int:
        """About how much `pack` holds."""
        parts = {"images": indexed(self._images), "centres": indexed(self.centres or []), "memory": self.memory}
        return self.iterate.nbytes + nested_bytes(parts | {"tally": self.tally.pack(), "loss": self._loss_image})

    def pack(self) -> dict[str, Any]:
        """All that changes, as nested mappings of arrays and plain values, by reference."""
        tree: dict[str, Any] = {
            "k": self.k,
            "iterate": self.iterate.pack(),
            "rng": self.rng.bit_generator.state,
            "tally": self.tally.pack(),
            "images": {key: image for key, image in indexed(self._images).items() if image is not None},
            "memory": self.memory,
            "sharpness": self.sharpness,
            "seconds": self.seconds,
        }
        if self.centres is not None:
            tree["centres"] = indexed(self.centres)
        if self.ascent is not None:
            tree["ascent"] = np.array(self.ascent)
        return tree if self._loss_image is None else tree | {"loss_image": self._loss_image}

    def unpack(self, tree: Mapping[str, Any]) -> None:
        """Go back to what `pack` made the tree of; the problem, and the kind of iterate, are the same."""
        self.k, self.seconds = int(tree["k"]), float(tree["seconds"])
        self.iterate.unpack(tree["iterate"])
        self.rng.bit_generator.state = tree["rng"]
        self.tally = Tally.unpacked(tree["tally"])
        self.memory, self.sharpness = dict(tree["memory"]), float(tree["sharpness"])
        if self._loss_image is not None:
            self._loss_image = _same_shape(tree["loss_image"], self._loss_image)
        if self.centres is not None:
            self.centres = [_same_shape(tree["centres"][key], old) for key, old in indexed(self.centres).items()]
        self.ascent = tuple(map(float, tree["ascent"])) if "ascent" in tree else None
        kept = tree["images"]
        self._images = [
            old if old is None else _same_shape(kept[key], old) for key, old in indexed(self._images).items()
        ]

    def images_of(self, atom: Atom) -> tuple[np.ndarray | None, list[np.ndarray]]:
        """M s and the A_i s of an atom, each an array of its own."""
        loss = self.problem.loss
        loss_image = None if loss is None else loss.map.forward_atom(atom)
        return loss_image, [term.map.forward_atom(atom) for term in self.problem.terms]

    def segment(self, atom: Atom, beta: float) -> ImageSegment:
        """The smoothed objective from x to an atom."""
        return ImageSegment(self.problem, self.loss_image, self.images, *self.images_of(atom), beta, self.centres)

    def advance(self, atom: Atom, eta: float, ahead: Ahead | None = None) -> None:
        """x <- x + eta (atom - x), in the iterate and, by linearity, in every image: A x + eta (A atom - A x).

        ahead(step, images) may take the step of a large iterate, given the images after it, and return M x after it.

        Raises NumericalError, and changes nothing, if an image is no longer finite.
        """
        loss_image, images = self._loss_image, list(self._images)
        cost = self._cost_beside(atom)
        if loss_image is not None and cost is None:
            loss_image = _blend(loss_image, self.problem.loss.map.forward_atom(atom), eta)
            self._require_finite("the objective", loss_image)
        for i, term in enumerate(self.problem.terms):
            if images[i] is not None:
                images[i] = _blend(images[i], term.map.forward_atom(atom), eta)
                self._require_finite(f"the term `{term.name}`", images[i])
        if cost is None:
            self.iterate.blend(atom, eta)
        else:
            # The pass over x finds <C, x> on its way; what is not finite in it is found by the next evaluation.
            step = self.iterate.begin(atom, eta) if ahead is not None and cost.symmetric else None
            loss_image = None if step is None else ahead(step, images)
            if loss_image is None:
                loss_image = np.array(self.iterate.blend_priced(atom, eta, cost))
        self._loss_image, self._images = loss_image, images
        self.k += 1

    def _cost_beside(self, atom: Atom) -> DenseDirection | None:
        """C, where f(x) = <C, x> and x are as dense as each other and the atom is of low rank."""
        loss = self.problem.loss
        fits = isinstance(loss, Linear) and isinstance(self.iterate, DenseIterate) and isinstance(atom, LowRankAtom)
        return loss.map.direction if fits and not loss.is_sparse else None

    def _require_finite(self, name: str, image: np.ndarray) -> None:
        if not np.isfinite(image).all():
            raise NumericalError(
                f"iteration {self.k + 1}: {name} is not finite; the step that leads to it is not taken"
            )

    def refresh(self) -> None:
        """Compute every image anew from an exact iterate: rounding errors of many averagings drift apart otherwise."""
        if self.iterate.exact:
            self._image_all(self.iterate.atom())

    def _image_all(self, atom: Atom) -> None:
        loss = self.problem.loss
        self._loss_image = None if loss is None else self._image(loss.map, atom)
        self._images = [self._image(term.map, atom) for term in self.problem.terms]

    def _image(self, linear: LinearMap, atom: Atom) -> np.ndarray | None:
        shared = isinstance(linear, Identity) and isinstance(self.iterate, DenseIterate)
        return None if shared else np.array(linear.forward_atom(atom), dtype=float)


def nested_bytes(tree: Mapping[str, Any]) -> int:
    """Of all arrays in nested mappings."""
    return sum(
        nested_bytes(part) if isinstance(part, Mapping) else getattr(part, "nbytes", 0) for part in tree.values()
    )


def _blend(image: np.ndarray, atom_image: np.ndarray, eta: float) -> np.ndarray:
    return (1.0 - eta) * image + eta * atom_image


def _same_shape(image: np.ndarray, former: np.ndarray) -> np.ndarray:
    if np.shape(image) != np.shape(former):
        raise ValueError(f"an image has the shape {np.shape(image)} instead of {np.shape(former)}")
    return image
