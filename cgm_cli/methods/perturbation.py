"""An exact oracle made to err by exactly what the theory allows, so that its theorems can be tested."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.directions import DenseDirection, Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.methods.policies import Allowance


def perturbed(
    domain: Domain, direction: Direction, answer: OracleAnswer, allowance: Allowance, rng: np.random.Generator
) -> OracleAnswer:
    """s~ = s + t (z - s) with z a vertex in a random direction and t such that s~ errs by all it may.

    With <v, s~> = m + t (<v, z> - m) and m the minimum, the error e = t (<v, z> - m) must satisfy e <= allowance(m +
    e); the allowance falls at most linearly in its argument, so one secant step finds the largest e. Where z is too
    good to err that much, the worst point of the domain takes its place. `lower` stays the true minimum.
    """
    minimum = answer.value
    noise = rng.standard_normal(domain.shape)
    wild = domain.lmo(DenseDirection(noise), OracleRequest(rng=rng)).atom
    spread = direction.inner(wild) - minimum
    error = _largest_error(allowance, minimum)
    if spread < error:
        worst = domain.lmo(direction.scaled(-1.0), OracleRequest(rng=rng))
        wild, spread = worst.atom, -worst.value - minimum
    if spread <= 0.0 or error <= 0.0:
        return answer
    t = min(1.0, error / spread)
    atom = DenseAtom((1.0 - t) * answer.atom.dense() + t * wild.dense())
    return replace(answer, atom=atom, value=minimum + t * spread)


def _largest_error(allowance: Allowance, minimum: float) -> float:
    """The e with e = allowance(minimum + e), for an allowance that is affine and does not grow."""
    at_minimum = allowance(minimum)
    fall = at_minimum - allowance(minimum + at_minimum)
    return at_minimum if at_minimum == 0.0 else at_minimum * at_minimum / (at_minimum + fall)
