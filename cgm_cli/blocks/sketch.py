"""An iterate of which only a sketch is kept: O(n R) numbers for an n x n matrix, whatever its rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgm_cli.blocks.atoms import Atom, LowRankAtom, SparseAtom
from cgm_cli.blocks.domains.factorable import EigenvalueSet
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.nystrom import nystrom

RECOVERED = 1.25e8
"""Entries of a sketch times its columns that are recovered in a second: singular vectors of tall matrices are slow."""


@dataclass(frozen=True)
class _Recovered:
    atom: LowRankAtom
    truncation: float


class SketchedIterate(Iterate):
    """S = X W for a positive semidefinite X and a random orthonormal W (n, `rank`): a step for X is one for S.

    X itself is recovered where it is asked for, by Nystrom's method (`nystrom`), with the eigenvalues moved to the
    nearest that the domain allows: where it fixes the trace, the missing share of it is spread over all of them, as in
    "Scalable semidefinite programming" (SIMODS 2021, section 5.2). The trace of X is known without X, and with it what
    the recovered matrix misses: `truncation`, a bound on the nuclear norm of the difference. On average over W it
    misses at most 1 + r / (R - r - 1) times what the best approximation of rank r does, for every r < R - 1 (Tropp et
    al., NIPS 2017, Theorem 4.1).
    """

    exact = False

    def __init__(self, start: Atom, rank: int, eigenvalues: EigenvalueSet, rng: np.random.Generator):
        basis, _ = np.linalg.qr(rng.standard_normal((start.shape[0], rank)))
        self._basis = np.ascontiguousarray(basis)
        self._sketch: np.ndarray = np.zeros(basis.shape)
        self._eigenvalues = eigenvalues
        self._trace = 0.0
        self._recovered: _Recovered | None = None
        self.blend(start, 1.0)

    def blend(self, atom: Atom, eta: float) -> None:
        self._recovered = None
        self._trace *= 1.0 - eta
        if isinstance(atom, SparseAtom) and atom.values.size == 0:
            self._sketch *= 1.0 - eta
            return
        if not (isinstance(atom, LowRankAtom) and atom.is_symmetric):
            raise ProblemError("a sketch needs symmetric atoms of low rank; use `iterate: dense`")
        LowRankAtom(atom.left, atom.weights, self._basis.T @ atom.left).blend_into(self._sketch, eta)
        self._trace += eta * float(atom.weights @ np.einsum("ir,ir->r", atom.left, atom.left))

    @property
    def truncation(self) -> float:
        """A bound on |X - recovered|_*."""
        return self._recover().truncation

    @property
    def recovery(self) -> float:
        return self._sketch.size * self._sketch.shape[1] / RECOVERED

    def _recover(self) -> _Recovered:
        if self._recovered is None:
            found = nystrom(self._sketch, self._basis)
            values = self._eigenvalues.nearest_eigenvalues(found.values)
            truncation = found.missing(self._trace) + float(np.abs(values - found.values).sum())
            self._recovered = _Recovered(LowRankAtom.symmetric(found.vectors, values), truncation)
        return self._recovered

    def atom(self) -> LowRankAtom:
        return self._recover().atom

    def arrays(self) -> dict[str, np.ndarray]:
        found = self._recover()
        return {"left": found.atom.left, "weights": found.atom.weights, "truncation": np.array(found.truncation)}

    def pack(self) -> dict[str, Any]:
        return {"sketch": self._sketch, "basis": self._basis, "trace": self._trace}

    def unpack(self, tree: Mapping[str, Any]) -> None:
        self._sketch[...], self._basis[...], self._trace = tree["sketch"], tree["basis"], tree["trace"]
        self._recovered = None
