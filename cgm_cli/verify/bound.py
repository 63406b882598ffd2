"""The lower bound of the saved duals, by the identity of docs/bounds.md.

    F* >= h(z) - <h'(z), z> - sum_i g_i*(y_i) + min over X of <v, .>,   v = M^T h'(z) + sum_i A_i^T y_i

It holds for every z and y_i, so whatever is saved there proves the number that comes out; less what a quadratic h that
is convex only but for rounding takes off (cgm_cli.verify.convexity).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.verify.convexity import loss_of_convexity
from cgm_cli.verify.definite import Factor, by_inverse_iteration, by_lanczos, factorised
from cgm_cli.verify.losses import view_loss
from cgm_cli.verify.matrices import WRITTEN_OUT, matrix_of
from cgm_cli.verify.minimum import ORDER, minimum_over
from cgm_cli.verify.penalties import conjugate
from cgm_cli.verify.precision import EPS, ZERO, Congruent, Missing, Total, Unchecked, extended, is_finite, norm, product

MOVED = 1e-8
"""How far a dual may lie beside the set where its conjugate is finite, relative to its size."""


RESIDUAL = 1e-9
"""How far, relative to a matrix, the product of a factor may be from it to prove anything."""

MARGIN = 1e-6
"""How far below an eigenvalue, relative to the matrix, a factor is sought that would find it."""

SETTLED = 1e-6
"""How large, relative to the matrix, the residual of a Ritz value may be for it to speak for a claim."""


Piece = tuple[sp.csr_array | Congruent, np.ndarray]
"""A matrix and the y that its transpose is multiplied by."""


@dataclass(frozen=True)
class Recomputed:
    """value: the bound of the minimisation. error: of rounding and of the decomposition. proof: whether the minimum is
    one, and not an estimate. faults: why the saved duals are none; remarks: what a reader may want to know.
    """

    value: float
    error: float
    proof: bool
    faults: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def recompute_bound(
    problem: CompositeProblem,
    duals: Mapping[str, np.ndarray],
    loss_image: np.ndarray | None,
    claimed: float | None = None,
) -> Recomputed:
    """The bound that the duals, by term, and the image of the loss prove. Raises Missing where these are not there, and
    Unchecked where the minimum is out of reach. claimed: a bound of the minimisation: where the minimum itself is out
    of reach, that one is proven or refuted.
    """
    faults, remarks = [], []
    constant, pieces, slack = ZERO, [], 0.0
    if problem.loss is not None:
        if loss_image is None:
            raise Missing("the image of the objective at the bound's point is not there")
        shape = problem.loss.map.out_shape
        if loss_image.shape != shape or not is_finite(loss_image):
            return Recomputed(np.nan, 0.0, False, ("the image of the objective is no finite array of its shape",))
        view = view_loss(problem.loss, loss_image)
        lost, slack = loss_of_convexity(problem.loss, problem.domain, loss_image)
        constant = view.constant + Total(-lost, lost)
        if lost > 0.0:
            remarks.append(f"the objective is convex only but for rounding, which takes {lost:.3g} off")
        pieces.append((matrix_of(problem.loss.map), view.gradient))
    for term in problem.terms:
        y = duals.get(term.name.replace("/", "_"))
        if y is None:
            raise Missing(f"the dual of {term.name} is not there")
        if y.shape != term.penalty.shape or not is_finite(y):
            return Recomputed(np.nan, 0.0, False, (f"the dual of {term.name} is no finite array of its shape",))
        moved, value = conjugate(term.penalty, y)
        distance, size = float(norm(moved - extended(y))), float(norm(y))
        if distance > MOVED * size:
            faults.append(f"the conjugate of {term.name} is infinite at its dual, which is off by {distance:.3g}")
        constant = constant + -value
        pieces.append((matrix_of(term.map), moved))
    if claimed is not None:  # of the minimum, but for the rounding of the sum
        claimed -= float(constant.value) + slack + 16 * EPS * (float(constant.size) + abs(claimed))
    least = minimum_of(problem.domain, pieces, claimed)
    whole = constant + least.value
    rounding = 16 * EPS * float(whole.size) + least.error + slack
    remarks += [least.remark] if least.remark else []
    return Recomputed(whole.value, rounding, least.proof, tuple(faults), tuple(remarks))


@dataclass(frozen=True)
class Least:
    """The minimum of <v, .>, the error in it, whether it is proven, and a remark."""

    value: Total
    error: float
    proof: bool = True
    remark: str = ""


def minimum_of(domain: Domain, pieces: Sequence[Piece], claimed: float | None = None) -> Least:
    """The minimum over the domain of <v, .> with v the sum of matrix^T y. Raises Unchecked where it is out of reach.

    claimed: what it is said not to be below: where it is no more than proven or refuted.
    """
    if math.prod(domain.shape) <= WRITTEN_OUT and (not domain.spectral or min(domain.shape) <= ORDER):
        v = np.zeros(math.prod(domain.shape), dtype=np.longdouble)
        for matrix, y in pieces:
            v += product(matrix.T, y.reshape(-1))
        believed = f"by `{'`, `'.join(domain.trusts)}` itself, which is believed" if domain.trusts else ""
        return Least(*minimum_over(domain, v.reshape(domain.shape)), proof=not believed, remark=believed)
    if not isinstance(domain, PSDTrace):
        raise Unchecked(f"{' x '.join(map(str, domain.shape))} is too large for a full decomposition")
    return _of_large(domain, pieces, claimed)


def _of_large(domain: PSDTrace, pieces: Sequence[Piece], claimed: float | None) -> Least:
    """That v - t I is semidefinite is proven, for a claim r t, by a factor of it; or the claim is refuted by a vector.

    Raises Unchecked where neither is within reach, or, without a claim, where no number is proven.
    """
    n, r = domain.shape[0], domain.radius
    v, error = _sum_of(pieces, n)
    size = float(abs(v).sum(axis=1).max())
    error = r * (error + n * EPS * float(norm(v.data)))

    def least(value: float, more: float, proof: bool, remark: str) -> Least:
        factor = value if domain.fixed_trace else min(value, 0.0)
        return Least(Total(r * factor, r * abs(value)), error + r * more, proof, f"n = {n}: {remark}")

    def proof_of(t: float) -> Factor | None:
        found = factorised(sp.csr_array(v - sp.diags_array(np.full(n, t))))
        return None if found is None or found.distance > RESIDUAL * max(size, abs(t)) else found

    if claimed is None:
        t = by_lanczos(v).value - MARGIN * size
        factor = proof_of(t)
        if factor is None:
            raise Unchecked(f"n = {n} is too large for a full decomposition, and no factor proves what Lanczos found")
        nearer = by_inverse_iteration(v, factor, rounds=50) - 16.0 * (error / r + factor.distance)
        if (proof := proof_of(nearer)) is not None:
            t, factor = nearer, proof
        return least(t, factor.distance, True, "the smallest eigenvalue is no smaller, by a factor")
    # What rounding may have done to v is allowed for: a claim that it decides is none that fails.
    t = (claimed if domain.fixed_trace else min(claimed, 0.0)) / r - error / r
    beyond, remark = "", "the claim is proven by a factor, to {:.1e}; what is recomputed is a Rayleigh quotient"
    try:
        factor = proof_of(t)
        if factor is not None:
            return least(by_inverse_iteration(v, factor), factor.distance, True, remark.format(r * factor.distance))
    except Unchecked as reason:
        beyond = f"; {reason}"
    ritz = by_lanczos(v, t)
    if ritz.value < t:
        return least(ritz.value, 0.0, False, "a vector shows that the duals prove no more than that")
    if not beyond and (factor := proof_of(t - MARGIN * size)) is not None:
        value = by_inverse_iteration(v, factor, rounds=100)
        if value < t:
            return least(value, 0.0, False, "a vector shows that the duals prove no more than that")
    if ritz.residual > SETTLED * size or not beyond:
        raise Unchecked(f"neither proven nor refuted by {ritz.products} products{beyond}")
    return least(ritz.value, ritz.residual, False, f"the eigenvalue is by Lanczos: a check, no proof{beyond}")


def _sum_of(pieces: Sequence[Piece], n: int) -> tuple[sp.csr_array, float]:
    """The symmetric part of the sum of matrix^T y, (n, n), and how far rounding may move an eigenvalue of it."""
    sparse = [matrix for matrix, _ in pieces if not isinstance(matrix, Congruent)]
    if len(sparse) < len(pieces) or sum(matrix.nnz for matrix in sparse) > WRITTEN_OUT:
        raise Unchecked(f"n = {n} is too large for a full decomposition, and v is not sparse")
    # Entry by entry: a product with these matrices, of n^2 columns, would write one row of them out.
    entries = [sp.coo_array(matrix) for matrix in sparse]
    values = [part.data * y.reshape(-1)[part.coords[0]] for part, (_, y) in zip(entries, pieces, strict=True)]
    places = np.divmod(np.concatenate([part.coords[1] for part in entries]), n)
    values = np.concatenate(values).astype(float)
    v, sizes = (sp.csr_array((each, places), shape=(n, n)) for each in (values, np.abs(values)))
    largest = max(float(sizes.sum(axis=axis).max()) for axis in (0, 1))
    return sp.csr_array(0.5 * (v + v.T)), (len(pieces) + 2) * EPS * largest
