"""The point x_k that a run has come to, and all that is computed from it: images and iterate, owned in one place.

The loop sees images, not matrices: z_i = A_i x and the loss's own M x are kept, and follow a step by linearity. What a
map that keeps all of x sees is the iterate's own array, shared and not copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.iterates import DenseIterate, Iterate
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import NumericalError
from cgm_cli.methods.dual_point import DualPoint
from cgm_cli.methods.evaluation import Evaluation, Images, dual_of, evaluate, slope_of
from cgm_cli.methods.segment import ImageSegment


@dataclass(frozen=True)
class Offset:
    """Of a dual y and a multiplier c: square |y - c|^2, mixed <y - c, c>, size |c|^2; move y - c, if it was written
    out.
    """

    square: float
    mixed: float
    size: float
    move: np.ndarray | None = None

    def size_after(self, share: float) -> float:
        """|c + share (y - c)|^2."""
        return self.size + 2.0 * share * self.mixed + share**2 * self.square


class Point(Protocol):
    """x, its images, and the multipliers that the smoothing is centred at (None: at zero).

    Two implementations: `ImagePoint` for any problem, `FusedBoxPoint` where step, evaluation and the move of the
    multipliers can share their passes over a large dense x.
    """

    problem: CompositeProblem
    iterate: Iterate
    multipliers: list[np.ndarray] | None

    @property
    def box(self) -> Term | None:
        """The constraint on the entries of x whose dual is never written out."""
        ...

    @property
    def images(self) -> Images:
        """M x and the A_i x, to be read only. Asks for all of x."""
        ...

    @property
    def loss_image(self) -> np.ndarray | None:
        """M x alone, to be read only; None without a loss."""
        ...

    @property
    def length(self) -> float:
        """|x|, or of a matrix that is given by eigen- or singular values the most that it may be."""
        ...

    def warm_up(self) -> None:
        """Load the compiled code that evaluations and steps will use."""
        ...

    def evaluate(self, beta: float | None) -> Evaluation:
        """At x; beta None asks for plain subgradients."""
        ...

    def evaluate_at(self, images: Images, beta: float | None) -> Evaluation:
        """At some other point, of which the images are given."""
        ...

    def images_of(self, atom: Atom) -> Images:
        """M s and the A_i s of an atom, each an array of its own."""
        ...

    def segment(self, atom: Atom, beta: float | None) -> ImageSegment:
        """The smoothed objective from x to an atom."""
        ...

    def dual_point(self, evaluation: Evaluation, mean: DualPoint | None = None, share: float = 1.0) -> DualPoint:
        """The dual point of an evaluation of x, or (1 - share) mean + share of it, in arrays of its own."""
        ...

    def lagrangian(self, dual: DualPoint) -> float:
        """At x and a dual point: no less than the bound of that."""
        ...

    def duals_at(self, images: Images, beta: float | None) -> tuple[np.ndarray, ...]:
        """The y_i at these images, in arrays of their own."""
        ...

    def offsets(self, beta: float) -> list[Offset]:
        """How far the y_i at x lie from the multipliers, one per term."""
        ...

    def move_multipliers(self, offsets: list[Offset], share: float, beta: float) -> None:
        """c <- c + share (y - c), by what `offsets` found at this beta."""
        ...

    def step(self, atom: Atom, eta: float, upcoming: float | None = None) -> None:
        """x <- x + eta (atom - x), in the iterate and in every image. upcoming: the beta of the next `evaluate`, where
        it is known.

        Raises NumericalError, and changes nothing, if an image is no longer finite.
        """
        ...

    def refresh(self) -> None:
        """Compute every image anew from an exact iterate: rounding errors of many averagings drift apart otherwise."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of what `pack` gives."""
        ...

    def pack(self) -> dict[str, Any]:
        """All that changes, as nested mappings of arrays and plain values, by reference."""
        ...

    def unpack(self, tree: Mapping[str, Any]) -> None:
        """Become what `pack` made the tree of; problem and kind of iterate are the same."""
        ...


class ImagePoint:
    """Any x. centred: whether the smoothing is centred at multipliers, which begin at zero."""

    def __init__(self, problem: CompositeProblem, iterate: Iterate, centred: bool = False):
        self.problem, self.iterate = problem, iterate
        self.multipliers: list[np.ndarray] | None = None
        if centred:
            self.multipliers = [np.zeros(term.map.out_shape) for term in problem.terms]
        self._loss_image: np.ndarray | None = None
        self._images: list[np.ndarray | None] = []  # None: the iterate's own array
        self._buffer: np.ndarray | None = None
        self._image_all(problem.first)

    @property
    def box(self) -> Term | None:
        return None

    @property
    def images(self) -> Images:
        return Images(self.loss_image, [self._own(image) for image in self._images])

    @property
    def loss_image(self) -> np.ndarray | None:
        return None if self.problem.loss is None else self._own(self._loss_image)

    @property
    def length(self) -> float:
        domain = self.problem.domain
        return domain.radius if domain.spectral else float(np.linalg.norm(cast(DenseIterate, self.iterate).array))

    def warm_up(self) -> None:
        """Nothing is compiled for it."""

    def evaluate(self, beta: float | None) -> Evaluation:
        return evaluate(self.problem, self.images, beta, self.multipliers, self._room, self.length)

    def evaluate_at(self, images: Images, beta: float | None) -> Evaluation:
        return evaluate(self.problem, images, beta, self.multipliers, self._room, self.length)

    def images_of(self, atom: Atom) -> Images:
        loss = self.problem.loss
        image = None if loss is None else loss.map.forward_atom(atom)
        return Images(image, [term.map.forward_atom(atom) for term in self.problem.terms])

    def segment(self, atom: Atom, beta: float | None) -> ImageSegment:
        here, there = self.images, self.images_of(atom)
        return ImageSegment(self.problem, here.loss, here.terms, there.loss, there.terms, beta, self.multipliers)

    def dual_point(self, evaluation: Evaluation, mean: DualPoint | None = None, share: float = 1.0) -> DualPoint:
        images = self._images_for_duals()
        loss_image = None if images.loss is None else np.array(images.loss)
        means = None if mean is None else mean.duals
        duals = tuple(self._duals(images, evaluation.beta, means, share))
        found = DualPoint(loss_image, duals, evaluation.constant, evaluation.margin, evaluation.drift)
        return found if mean is None else mean.blended(found, share, self.problem.loss, duals)

    def lagrangian(self, dual: DualPoint) -> float:
        images = self.images
        return dual.lagrangian(self.problem, images.loss, images.terms)

    def duals_at(self, images: Images, beta: float | None) -> tuple[np.ndarray, ...]:
        return tuple(self._duals(images, beta))

    def offsets(self, beta: float) -> list[Offset]:
        return [self._offset(place, image, beta) for place, image in enumerate(self.images.terms)]

    def move_multipliers(self, offsets: list[Offset], share: float, beta: float) -> None:
        for c, offset in zip(self.multipliers or [], offsets, strict=True):
            if offset.move is not None:
                c += share * offset.move

    def step(self, atom: Atom, eta: float, upcoming: float | None = None) -> None:
        loss, loss_image, images = self.problem.loss, self._loss_image, list(self._images)
        cost = self._cost_beside(atom)
        if loss is not None and loss_image is not None and cost is None:
            loss_image = _blended(loss_image, loss.map.forward_atom(atom), eta)
            _require_finite("the objective", loss_image)
        for place, term in enumerate(self.problem.terms):
            image = images[place]
            if image is not None:
                images[place] = image = _blended(image, term.map.forward_atom(atom), eta)
                _require_finite(f"the term `{term.name}`", image)
        if cost is None:
            self.iterate.blend(atom, eta)
        else:
            # The pass over x finds <C, x> on its way; what is not finite in it is found by the next evaluation.
            loss_image = self._priced_step(atom, eta, cost, images, upcoming)
        self._loss_image, self._images = loss_image, images

    def refresh(self) -> None:
        if self.iterate.exact:
            atom = self.iterate.atom()
            assert atom is not None
            self._image_all(atom)

    @property
    def nbytes(self) -> int:
        arrays = [self._loss_image, *self._images, *(self.multipliers or [])]
        return self.iterate.nbytes + sum(array.nbytes for array in arrays if array is not None)

    def pack(self) -> dict[str, Any]:
        tree: dict[str, Any] = {
            "iterate": self.iterate.pack(),
            "images": {str(place): image for place, image in enumerate(self._images) if image is not None},
        }
        if self.multipliers is not None:
            tree["multipliers"] = {str(place): c for place, c in enumerate(self.multipliers)}
        return tree if self._loss_image is None else tree | {"loss_image": self._loss_image}

    def unpack(self, tree: Mapping[str, Any]) -> None:
        self.iterate.unpack(tree["iterate"])
        if self._loss_image is not None:
            self._loss_image = _same_shape(tree["loss_image"], self._loss_image)
        if self.multipliers is not None:
            kept = tree["multipliers"]
            self.multipliers = [_same_shape(kept[str(i)], old) for i, old in enumerate(self.multipliers)]
        kept = tree["images"]
        self._images = [
            old if old is None else _same_shape(kept[str(place)], old) for place, old in enumerate(self._images)
        ]

    # How duals and steps are computed: what a subclass may do in fewer passes.

    def _images_for_duals(self) -> Images:
        """Those of x, as `_duals` wants them."""
        return self.images

    def _duals(
        self, images: Images, beta: float | None, means: Sequence[np.ndarray] | None = None, share: float = 1.0
    ) -> list[np.ndarray]:
        """The y_i at these images, or (1 - share) mean_i + share y_i."""
        return [
            self._dual(place, image, beta, None if means is None else means[place], share)
            for place, image in enumerate(images.terms)
        ]

    def _dual(
        self, place: int, image: np.ndarray, beta: float | None, mean: np.ndarray | None, share: float
    ) -> np.ndarray:
        y = slope_of(self.problem.terms[place], image, beta, self._centre(place))
        return y if mean is None else (1.0 - share) * mean + share * y

    def _offset(self, place: int, image: np.ndarray, beta: float) -> Offset:
        c = self._centre(place)
        y = dual_of(self.problem.terms[place], image, beta, c).y
        assert c is not None and y is not None
        move = y - c
        return Offset(float(np.vdot(move, move)), float(np.vdot(move, c)), float(np.vdot(c, c)), move)

    def _priced_step(
        self, atom: Atom, eta: float, cost: DenseDirection, images: list[np.ndarray | None], upcoming: float | None
    ) -> np.ndarray:
        """The step of a dense x, and <C, x> after it. images: the A_i x after it, None for x itself."""
        low_rank = atom.low_rank
        assert low_rank is not None
        return np.array(cast(DenseIterate, self.iterate).blend_priced(low_rank, eta, cost))

    # What is kept.

    def _centre(self, place: int) -> np.ndarray | None:
        return None if self.multipliers is None else self.multipliers[place]

    def _own(self, image: np.ndarray | None) -> np.ndarray:
        return cast(DenseIterate, self.iterate).array if image is None else image

    def _cost_beside(self, atom: Atom) -> DenseDirection | None:
        """C, where f(x) = <C, x> and x are as dense as each other and the atom is of low rank."""
        cost = None if self.problem.loss is None else self.problem.loss.cost
        fits = cost is not None and cost.is_dense and self.iterate.is_dense and atom.low_rank is not None
        return cast(DenseDirection, cost) if fits else None

    def _image_all(self, atom: Atom) -> None:
        loss = self.problem.loss
        self._loss_image = None if loss is None else self._image(loss.map, atom)
        self._images = [self._image(term.map, atom) for term in self.problem.terms]

    def _image(self, linear: LinearMap, atom: Atom) -> np.ndarray | None:
        shared = linear.is_identity and self.iterate.is_dense
        return None if shared else np.array(linear.forward_atom(atom), dtype=float)

    def _room(self) -> np.ndarray:
        """The buffer that directions are written to."""
        if self._buffer is None:
            self._buffer = np.empty(self.problem.domain.shape)
        return self._buffer


def _blended(image: np.ndarray, atom_image: np.ndarray, eta: float) -> np.ndarray:
    return (1.0 - eta) * image + eta * atom_image


def _require_finite(name: str, image: np.ndarray) -> None:
    if not np.isfinite(image).all():
        raise NumericalError(f"{name} is not finite; the step that leads to it is not taken")


def _same_shape(image: np.ndarray, former: np.ndarray) -> np.ndarray:
    if np.shape(image) != np.shape(former):
        raise ValueError(f"an image has the shape {np.shape(image)} instead of {np.shape(former)}")
    return image
