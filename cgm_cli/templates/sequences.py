"""Points with labels, in sequences: read, drawn, and some of them held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ORDER = 5, 80, 0.8
"""Of `digit-sequences`: digits in each, how many there are, and how likely a digit is the one after that before it."""


@dataclass(frozen=True)
class Sequences:
    """points (N, d) and labels (N,), 0 to K - 1, of sequences that follow each other, of these lengths (n,)."""

    points: np.ndarray
    labels: np.ndarray
    lengths: np.ndarray

    @property
    def count(self) -> int:
        return self.lengths.size

    @property
    def starts(self) -> np.ndarray:
        """Where each begins, (n,)."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def are_single(self) -> bool:
        """Whether no point has a neighbour."""
        return bool((self.lengths == 1).all())

    def at(self, chosen: np.ndarray) -> Sequences:
        """Some of them."""
        spans = [np.arange(start, start + length) for start, length in zip(self.starts, self.lengths, strict=True)]
        rows = np.concatenate([spans[place] for place in chosen]) if chosen.size else np.empty(0, dtype=int)
        return Sequences(self.points[rows], self.labels[rows], self.lengths[chosen])


def single(points: np.ndarray, labels: np.ndarray) -> Sequences:
    """Each point by itself."""
    return Sequences(points, labels, np.ones(labels.size, dtype=int))


def grouped(points: np.ndarray, labels: np.ndarray, groups: np.ndarray) -> Sequences:
    """Those of a group, a number for each point, (N,), in the order of the points."""
    order = np.argsort(groups, kind="stable")
    return Sequences(points[order], labels[order], np.unique(groups, return_counts=True)[1])


def digits() -> tuple[np.ndarray, np.ndarray]:
    """1797 pictures of 8 x 8 pixels, from 0 to 1, and their digits."""
    from sklearn.datasets import load_digits

    points, labels = load_digits(return_X_y=True)
    return points / 16.0, labels


def digit_sequences(rng: np.random.Generator) -> Sequences:
    """Pictures of digits, most of them one more than the one before."""
    length, count, likely = ORDER
    points, labels = digits()
    steps = np.where(rng.random((count, length)) < likely, 1, rng.integers(10, size=(count, length)))
    wanted = ((rng.integers(10, size=(count, 1)) + np.cumsum(steps, axis=1)) % 10).reshape(-1)
    pictures = [rng.choice(np.flatnonzero(labels == digit)) for digit in wanted]
    return Sequences(points[pictures], wanted, np.full(count, length))
