"""Random graphs with communities planted in them, to see whether these are found again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import FromFloat, NonNegative, Size, StrictModel

SLAB = 1 << 22
"""Pairs of nodes that are drawn at once."""

Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class Planted:
    """adjacency: symmetric (n, n), zero on the diagonal. labels (n,): the community of each node, from 0."""

    adjacency: sp.csr_array
    labels: np.ndarray


class BlockModel(StrictModel):
    """The stochastic block model: communities of equal sizes, or nearly; edges of weight 1, each with the probability
    `inside` between two nodes of one community, `outside` between others. Node by node in random order.
    """

    nodes: Size = Field(description="number of nodes")
    communities: Annotated[int, Field(ge=2), FromFloat] = Field(2, description="how many are planted")
    inside: Share = Field(description="probability of an edge between two nodes of one community")
    outside: Share = Field(description="and between two nodes of different ones")

    @model_validator(mode="after")
    def _fits(self) -> BlockModel:
        if self.communities > self.nodes:
            raise ValueError(f"{self.communities} communities of {self.nodes} nodes: each needs a node")
        return self

    def draw(self, context: BuildContext) -> Planted:
        """Raises ProblemError if it does not fit into memory, before it is drawn."""
        n = self.nodes
        edges = n * n * (self.inside / self.communities + self.outside * (1.0 - 1.0 / self.communities))
        context.reserve("graph", int(64 * n + 40 * edges) + 9 * SLAB)
        rng = np.random.default_rng([context.seed, 2])
        labels = rng.permutation(np.arange(n) % self.communities)
        rows = max(1, SLAB // n)
        parts = [self._above(labels, slice(start, min(n, start + rows)), rng) for start in range(0, n, rows)]
        upper = sp.csr_array(sp.vstack(parts))
        return Planted(sp.csr_array(upper + upper.T), labels)

    def _above(self, labels: np.ndarray, rows: slice, rng: np.random.Generator) -> sp.csr_array:
        """Some rows of the adjacency matrix, above its diagonal."""
        same = labels[rows, None] == labels
        joined = rng.random(same.shape) < np.where(same, self.inside, self.outside)
        joined &= np.arange(labels.size) > np.arange(rows.start, rows.stop)[:, None]
        return sp.csr_array(joined).astype(float)


class Synchronisation(StrictModel):
    """Signs z of +-1 seen through noise: the weights are those of z z^T + noise W off the diagonal, W symmetric with
    entries from N(0, 1).
    """

    nodes: Annotated[int, Field(ge=2), FromFloat] = Field(description="number of signs")
    noise: NonNegative = Field(description="standard deviation of what is added to each product of two signs")

    def draw(self, context: BuildContext) -> Planted:
        """Raises ProblemError if it does not fit into memory, before it is drawn."""
        n = self.nodes
        context.reserve("graph", 50 * n * n)
        rng = np.random.default_rng([context.seed, 2])
        labels = rng.permutation(np.arange(n) % 2)
        signs = 2.0 * labels - 1.0
        upper = np.triu(np.outer(signs, signs) + self.noise * rng.standard_normal((n, n)), k=1)
        return Planted(sp.csr_array(upper + upper.T), labels)
