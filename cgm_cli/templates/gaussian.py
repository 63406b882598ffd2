"""Gaussian vectors whose covariance is a semidefinite iterate: what random hyperplanes look at the signs of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cgm_cli.blocks.atoms import LowRankAtom
from cgm_cli.blocks.iterates import DenseIterate, Iterate, SampledIterate

AT_ONCE = 2**19
"""Numbers that are drawn at once: 4 MB, and some tenths of a second of work for the widest factors."""


def gaussian_samples(iterate: Iterate, count: int, rng: np.random.Generator, together: int = 1) -> Iterator[np.ndarray]:
    """Columns z ~ N(0, X), up to a factor, some at a time, `together` of them or a multiple of that; of an iterate that
    is kept as samples, these.
    """
    if isinstance(iterate, SampledIterate):
        yield iterate.arrays()["samples"]
        return
    if isinstance(iterate, DenseIterate):
        values, vectors = np.linalg.eigh(iterate.array)
        factor = vectors * np.sqrt(np.maximum(values, 0.0))
    else:
        atom = iterate.point
        assert isinstance(atom, LowRankAtom)
        factor = atom.left * np.sqrt(np.maximum(atom.weights, 0.0))
    noise, width = rng.standard_normal((factor.shape[1], count)), max(1, AT_ONCE // factor.shape[0])
    width = max(together, width - width % together)
    for first in range(0, count, width):
        yield factor @ noise[:, first : first + width]
