"""The atoms that a point is a convex combination of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cgm_cli.blocks.atoms import Atom, DenseAtom


@dataclass(frozen=True)
class ActiveSet:
    """x = sum_j weights_j atoms_j: atoms (n, m), each raveled, weights (m,) from the simplex."""

    atoms: np.ndarray
    weights: np.ndarray

    @classmethod
    def at(cls, atom: Atom) -> ActiveSet:
        """One atom, and all the weight on it."""
        return cls(atom.dense().reshape(-1, 1), np.ones(1))

    def joined_by(self, atom: Atom) -> ActiveSet:
        """The same point with one more atom, of no weight."""
        return ActiveSet(np.hstack([self.atoms, atom.dense().reshape(-1, 1)]), np.append(self.weights, 0.0))

    def with_atom(self, atom: Atom) -> tuple[ActiveSet, int]:
        """The same point with an atom among its own, where it is not yet; and the place of that."""
        flat = atom.dense().reshape(-1, 1)
        known = np.flatnonzero(np.all(self.atoms == flat, axis=0))
        return (self, int(known[0])) if known.size else (self.joined_by(atom), self.weights.size)

    def moved(self, source: int, target: int, weight: float) -> ActiveSet:
        """Weight goes from one atom to another."""
        weights = self.weights.copy()
        weights[source] -= weight
        weights[target] += weight
        return self.weighed(np.maximum(weights, 0.0))

    def towards(self, target: int, eta: float) -> ActiveSet:
        """(1 - eta) x + eta a, with a one of the atoms."""
        weights = (1.0 - eta) * self.weights
        weights[target] += eta
        return self.weighed(weights)

    def without(self, place: int) -> ActiveSet:
        """The same mixture of the others."""
        weights = self.weights / (1.0 - self.weights[place])
        weights[place] = 0.0
        return self.weighed(weights / weights.sum())

    def mixed(self, other: ActiveSet, share: float) -> ActiveSet:
        """(1 - share) x + share y, with y another combination of the same atoms."""
        return self.weighed((1.0 - share) * self.weights + share * other.weights)

    def weighed(self, weights: np.ndarray) -> ActiveSet:
        """Another combination of the same atoms."""
        return ActiveSet(self.atoms, weights)

    def pruned(self, most: int) -> ActiveSet:
        """The same point without atoms of no weight; the lightest beyond `most` become their mean."""
        order = np.argsort(-self.weights, kind="stable")
        order = order[self.weights[order] > 0.0]
        atoms, weights = self.atoms[:, order[:most]], self.weights[order[:most]]
        if order.size > most:
            light = self.weights[order[most - 1 :]]
            atoms[:, -1] = self.atoms[:, order[most - 1 :]] @ light / light.sum()
            weights[-1] = light.sum()
        return ActiveSet(atoms, weights)

    def point(self, shape: tuple[int, ...]) -> DenseAtom:
        """x."""
        return DenseAtom((self.atoms @ self.weights).reshape(shape))
