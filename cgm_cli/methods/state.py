"""Everything the loop carries from one iteration to the next, in one object."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.iterates import DenseIterate, Iterate
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.segment import ImageSegment


@dataclass
class State:
    """k: steps taken. iterate: x. loss_image: M x (None without a loss). images: A_i x, one per term. rng: the run's
    only source of randomness. warm: what the oracle wants back. matvecs: products spent so far. memory: of the
    correction, by name.

    The image of an identity map is the iterate's own array, shared and not copied.
    """

    problem: CompositeProblem
    iterate: Iterate
    rng: np.random.Generator
    k: int = 0
    warm: np.ndarray | None = None
    matvecs: int = 0
    loss_image: np.ndarray | None = None
    images: list[np.ndarray] | None = None
    memory: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self):
        if self.images is None:
            self._image_all(self.problem.first)

    def images_of(self, atom: Atom) -> tuple[np.ndarray | None, list[np.ndarray]]:
        """M s and the A_i s of an atom, each an array of its own."""
        loss = self.problem.loss
        loss_image = None if loss is None else loss.map.forward_atom(atom)
        return loss_image, [term.map.forward_atom(atom) for term in self.problem.terms]

    def segment(self, atom: Atom, beta: float) -> ImageSegment:
        """The smoothed objective from x to an atom."""
        return ImageSegment(self.problem, self.loss_image, self.images, *self.images_of(atom), beta)

    def advance(self, atom: Atom, eta: float) -> None:
        """x <- x + eta (atom - x), in the iterate and, by linearity, in every image: A x + eta (A atom - A x)."""
        if self.problem.loss is not None and not self._shares(self.problem.loss.map):
            self.loss_image = _blend(self.loss_image, self.problem.loss.map.forward_atom(atom), eta)
        for i, term in enumerate(self.problem.terms):
            if not self._shares(term.map):
                self.images[i] = _blend(self.images[i], term.map.forward_atom(atom), eta)
        self.iterate.blend(atom, eta)
        self.k += 1

    def refresh(self) -> None:
        """Compute every image anew from the iterate: rounding errors of many averagings drift apart otherwise."""
        atom = self.iterate.atom()
        if atom is not None:
            self._image_all(atom)

    def _image_all(self, atom: Atom) -> None:
        loss = self.problem.loss
        self.loss_image = None if loss is None else self._image(loss.map, atom)
        self.images = [self._image(term.map, atom) for term in self.problem.terms]

    def _image(self, linear: LinearMap, atom: Atom) -> np.ndarray:
        return self.iterate.array if self._shares(linear) else np.array(linear.forward_atom(atom), dtype=float)

    def _shares(self, linear: LinearMap) -> bool:
        return isinstance(linear, Identity) and isinstance(self.iterate, DenseIterate)


def _blend(image: np.ndarray, atom_image: np.ndarray, eta: float) -> np.ndarray:
    return (1.0 - eta) * image + eta * atom_image
