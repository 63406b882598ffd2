"""The marginal polytope of a chain: what labellings of a sequence are on the average."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, DenseAtom, SparseAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.numerics.projections import safe_norm
from cgm_cli.numerics.viterbi import cheapest_path
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Size


class ChainMarginals(Domain):
    """Probabilities of the labels of T places in a row, (T, K), and of pairs of neighbours, (T - 1, K, K), raveled.

    They are those of a distribution of labellings if and only if all are at least 0, sum to one at every place, and
    those of pairs sum to those of either place, since a chain is a tree (Wainwright and Jordan 2008, proposition 4.1).
    The vertices are the K^T labellings, so a linear function is minimised by Viterbi's dynamic program. Each has
    2 T - 1 entries of one, and two that agree nowhere share none.
    """

    class Spec(BlockSpec):
        kind: Literal["chain-marginals"]
        length: Size = Field(..., description="T, the places of the sequence")
        labels: Size = Field(..., description="K, the labels that each may have")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "chain-marginals", "length": 3, "labels": 2},
            {"kind": "chain-marginals", "length": 1, "labels": 4},
            {"kind": "chain-marginals", "length": 2, "labels": 1},
            {"kind": "chain-marginals", "length": 4, "labels": 3},
        ]

        def build(self, context: BuildContext) -> ChainMarginals:
            return ChainMarginals(self.length, self.labels)

    def __init__(self, length: int, labels: int):
        self.length, self.labels = length, labels
        self.shape = (length * labels + (length - 1) * labels**2,)
        self.radius = math.sqrt(2.0 * length - 1.0)
        self.diameter = math.sqrt(2.0) * self.radius if labels > 1 else 0.0

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Views of a flat point: places (T, K) and pairs (T - 1, K, K)."""
        t, k = self.length, self.labels
        return x[: t * k].reshape(t, k), x[t * k :].reshape(t - 1, k, k)

    def vertex(self, labelling: np.ndarray) -> SparseAtom:
        """That of a labelling (T,)."""
        t, k = np.arange(self.length), self.labels
        pairs = (t[:-1] * k + labelling[:-1]) * k + labelling[1:]
        places = np.concatenate([t * k + labelling, self.length * k + pairs])
        return SparseAtom(self.shape, places, np.ones(places.size))

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        """The cheapest labelling: a sum of 2 T - 1 entries, whose rounding is no more than that of an inner product."""
        labelling, value = cheapest_path(*self.split(direction.dense()))
        return OracleAnswer(self.vertex(labelling), value, value, exact=True)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        return safe_norm(x - self.project(x)) <= tolerance * self.radius

    def project(self, x: np.ndarray) -> np.ndarray:
        """A point of X, x itself where that is one: the marginals of the Markov chain whose steps are in proportion to
        the pairs, without those below zero.
        """
        if not np.isfinite(x).all():
            return np.full(x.shape, np.nan)
        found = np.empty(self.shape)
        places, pairs = self.split(found)
        given, steps = self.split(np.maximum(x, 0.0))
        places[0] = _shares(given[:1])[0]
        for t in range(1, self.length):
            pairs[t - 1] = places[t - 1][:, None] * _shares(steps[t - 1])
            places[t] = pairs[t - 1].sum(axis=0)
        return found

    def start(self) -> Atom:
        """Every labelling as likely as any."""
        found = np.empty(self.shape)
        places, pairs = self.split(found)
        places[...], pairs[...] = 1.0 / self.labels, 1.0 / self.labels**2
        return DenseAtom(found)


def _shares(rows: np.ndarray) -> np.ndarray:
    """Rows of numbers at least 0, over their sums; equal ones where all are zero."""
    sums = rows.sum(axis=1, keepdims=True)
    return np.divide(rows, sums, out=np.full(rows.shape, 1.0 / rows.shape[1]), where=sums > 0.0)
