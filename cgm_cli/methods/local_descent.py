"""Local descent on the factor of X = R R^T, or X = U W^T: oracle steps give the certificate and the way out of a wrong
rank, descent on the factor gives the speed.

The factor is that of Burer and Monteiro ("A nonlinear programming algorithm for solving semidefinite programs via
low-rank factorization", Math. Program. 95, 2003); to alternate it with oracle calls is the idea of Boyd, Schiebinger
and Recht ("The alternating descent conditional gradient method for sparse inverse problems", SIAM J. Optim. 27, 2017).

Stack Z = R, or Z = [U; W]. The nuclear norm of X is the least |Z|_F^2 over its factors R, or half of it over (U, W), so
that the set of X whose nuclear norm is at most r (or whose trace is r) is the image of a ball (a sphere) of Z. Both are
spheres once a ball has one more coordinate, its slack, and the sphere is gone round by Z = rho S / |S|. With
G = dF/dZ, the derivative by S is rho / |S| (G - Z <Z, G> / rho^2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.spectral import SpectralDomain
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.methods.evaluation import Evaluator
from cgm_cli.methods.policies import minimiser
from cgm_cli.methods.state import State
from cgm_cli.numerics.lbfgs import lbfgs


@dataclass(frozen=True)
class LocalDescent:
    """A few L-BFGS steps on the factor, from the last one and the oracle's atom; columns: the most that are kept beside
    the atom's.

    evaluations: of F_beta and its gradient, per step. The point found is brought back into the domain (the fantope is
    smaller than its sphere) and taken if it is no worse than the plain step, whose guarantees it so inherits.
    """

    columns: int = 20
    evaluations: int = 30

    def choose(
        self, state: State, evaluator: Evaluator, atom: Atom, eta: float, beta: float | None
    ) -> tuple[Atom, float]:
        domain = state.problem.domain
        chart = _Chart(domain)
        start = self._start(state, chart, atom, beta)

        def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
            factor, shrink = chart.on_sphere(flat)
            value, gradient = self._value_and_gradient(state, evaluator, chart, factor, beta)
            return value, chart.tangent(flat, shrink, gradient)

        found = lbfgs(evaluate, start, self.evaluations)
        corrected = chart.settled(chart.on_sphere(found)[0])
        if corrected is None or not self._is_better(state, corrected, atom, eta, beta):
            return atom, eta
        state.memory["factor"] = chart.factor(corrected)
        return corrected, 1.0

    @staticmethod
    def _value_and_gradient(
        state: State, evaluator: Evaluator, chart: _Chart, factor: np.ndarray, beta: float | None
    ) -> tuple[float, np.ndarray]:
        """F_beta at a factor, and its derivative by the factor.

        A linear objective costs no product of its own: <C, X> = <V, X> - sum <y_i, A_i X>, and <V, X> = <G, Z> / 2.
        """
        atom, linear = chart.lift(factor), isinstance(state.problem.loss, Linear)
        images = [term.map.forward_atom(atom) for term in state.problem.terms]
        loss = state.problem.loss
        loss_image = None if loss is None else np.zeros(()) if linear else loss.map.forward_atom(atom)
        point = evaluator.evaluate(loss_image, images, beta, state.centres)
        gradient = chart.pull(point.direction, factor)
        value = point.smoothed
        if linear:
            value += 0.5 * float(np.vdot(gradient, factor)) - point.pairing
        return value, gradient

    def _start(self, state: State, chart: _Chart, atom: Atom, beta: float | None) -> np.ndarray:
        """The last factor, at first noise, and the oracle's atom in new columns, as heavy as a line search makes it."""
        known = state.memory.get("factor")
        if known is None:
            known = chart.noise(state.rng, min(self.columns, *chart.domain.shape))
        # The weakest go before the descent, which makes up for them; after it a constraint would miss them.
        known = known[:, : self.columns]
        if isinstance(atom, LowRankAtom):
            share = minimiser(state.segment(atom, beta).slope)
            if share > 0.0:
                known = np.hstack([np.sqrt(1.0 - share) * known, np.sqrt(share) * chart.factor(atom)])
        return chart.flat(known)

    @staticmethod
    def _is_better(state: State, corrected: Atom, atom: Atom, eta: float, beta: float | None) -> bool:
        return state.segment(corrected, beta).value(1.0) <= state.segment(atom, beta).value(eta)


class _Chart:
    """The sphere of radius rho that the factors of a spectral domain's points lie on, slack included."""

    def __init__(self, domain: SpectralDomain):
        self.domain = domain
        self._rows = domain.shape[0]
        self._height = self._rows if domain.symmetric else sum(domain.shape)
        self._rho = float(np.sqrt(domain.trace if domain.symmetric else 2.0 * domain.trace))

    def noise(self, rng: np.random.Generator, columns: int) -> np.ndarray:
        """A random factor; where there is slack, half of rho^2 is left to it."""
        factor = rng.standard_normal((self._height, columns))
        share = 1.0 if self.domain.fixed_trace else np.sqrt(0.5)
        return factor * (share * self._rho / np.linalg.norm(factor))

    def flat(self, factor: np.ndarray) -> np.ndarray:
        """A point of the sphere, as one vector: the factor, and the slack after it."""
        if self.domain.fixed_trace:
            return factor.reshape(-1)
        # A slack of zero stays zero under descent.
        left = max(self._rho**2 - float(np.vdot(factor, factor)), 1e-6 * self._rho**2)
        return np.append(factor.reshape(-1), np.sqrt(left))

    def on_sphere(self, flat: np.ndarray) -> tuple[np.ndarray, float]:
        """The factor at a vector of any length, and rho / length."""
        shrink = self._rho / float(np.linalg.norm(flat))
        return (shrink * self._factor_of(flat)).reshape(self._height, -1), shrink

    def tangent(self, flat: np.ndarray, shrink: float, gradient: np.ndarray) -> np.ndarray:
        """The derivative by the vector, from that by the factor."""
        radial = shrink * float(np.vdot(self._factor_of(flat), gradient)) / self._rho**2
        out = -radial * shrink * flat
        self._factor_of(out)[:] += gradient.reshape(-1)
        return shrink * out

    def _factor_of(self, flat: np.ndarray) -> np.ndarray:
        return flat if self.domain.fixed_trace else flat[:-1]

    def lift(self, factor: np.ndarray) -> LowRankAtom:
        """X of a factor."""
        ones = np.ones(factor.shape[1])
        if self.domain.symmetric:
            return LowRankAtom.symmetric(factor, ones)
        return LowRankAtom(factor[: self._rows], ones, factor[self._rows :])

    def pull(self, direction: Direction, factor: np.ndarray) -> np.ndarray:
        """d<V, X> / dZ: 2 V R, or [V W; V^T U]."""
        if self.domain.symmetric:
            return 2.0 * direction.matmat(factor)
        left, right = factor[: self._rows], factor[self._rows :]
        return np.vstack([direction.matmat(right), direction.transposed().matmat(left)])

    def factor(self, atom: LowRankAtom) -> np.ndarray:
        """A factor of an atom of orthonormal columns: each gets the root of its weight."""
        root = np.sqrt(np.abs(atom.weights))
        if self.domain.symmetric:
            return atom.left * root
        return np.vstack([atom.left * root * np.sign(atom.weights), atom.right * root])

    def settled(self, factor: np.ndarray) -> LowRankAtom | None:
        """The nearest point of the domain with these singular vectors, strongest first; None if there is none."""
        left, left_triangle = scipy.linalg.qr(factor[: self._rows], mode="economic")
        if self.domain.symmetric:
            right = left
            values, rows = scipy.linalg.eigh(left_triangle @ left_triangle.T)
            values, rows = values[::-1], rows[:, ::-1]
            cols = rows
        else:
            right, right_triangle = scipy.linalg.qr(factor[self._rows :], mode="economic")
            rows, values, cols = np.linalg.svd(left_triangle @ right_triangle.T)
            cols = cols.T
        kept = int(np.sum(values > 1e-10 * values[0]))
        small = self.domain.restricted(kept, kept)
        if small is None:
            return None
        weights = np.diag(small.project(np.diag(values[:kept]))).copy()
        vectors = np.asfortranarray(left @ rows[:, :kept])
        if self.domain.symmetric:
            return LowRankAtom.symmetric(vectors, weights)
        return LowRankAtom(vectors, weights, np.asfortranarray(right @ cols[:, :kept]))
