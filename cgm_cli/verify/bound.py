"""The lower bound of the saved duals, by the identity of docs/bounds.md.

    F* >= h(z) - <h'(z), z> - sum_i g_i*(y_i) + min over X of <v, .>,   v = M^T h'(z) + sum_i A_i^T y_i

It holds for every z and y_i, so whatever is saved there proves the number that comes out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.verify.definite import indefiniteness
from cgm_cli.verify.losses import view_loss
from cgm_cli.verify.matrices import WRITTEN_OUT, matrix_of
from cgm_cli.verify.minimum import ORDER, minimum_over
from cgm_cli.verify.penalties import conjugate
from cgm_cli.verify.precision import EPS, ZERO, Total, Unchecked, extended, is_finite, norm, product

MOVED = 1e-8
"""How far a dual may lie beside the set where its conjugate is finite, relative to its size."""


RESIDUAL = 1e-9
"""How far, relative to a matrix, the product of its factors may be from it to prove anything."""


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
    """The bound that the duals, by term, and the image of the loss prove. Raises Unchecked where they are missing or
    the minimum is out of reach. claimed: a bound of the minimisation said to be certified: where the minimum itself
    cannot be proven, that one is, or not.
    """
    faults: list[str] = []
    constant, pieces = ZERO, []
    if problem.loss is not None:
        if loss_image is None:
            raise Unchecked("the image of the objective at the bound's point was not saved")
        shape = problem.loss.map.out_shape
        if loss_image.shape != shape or not is_finite(loss_image):
            return Recomputed(np.nan, 0.0, False, ("the image of the objective is no finite array of its shape",))
        view = view_loss(problem.loss, loss_image)
        constant = view.constant
        pieces.append((matrix_of(problem.loss.map), view.gradient))
    for term in problem.terms:
        y = duals.get(term.name.replace("/", "_"))
        if y is None:
            raise Unchecked(f"the dual of {term.name} was not saved")
        if y.shape != term.penalty.shape or not is_finite(y):
            return Recomputed(np.nan, 0.0, False, (f"the dual of {term.name} is no finite array of its shape",))
        moved, value = conjugate(term.penalty, y)
        distance, size = float(norm(moved - extended(y))), float(norm(y))
        if distance > MOVED * size:
            faults.append(f"the conjugate of {term.name} is infinite at its dual, which is off by {distance:.3g}")
        constant = constant + -value
        pieces.append((matrix_of(term.map), moved))
    least = minimum_of(problem.domain, pieces, None if claimed is None else claimed - float(constant.value))
    whole = constant + least.value
    rounding = 16 * EPS * float(whole.size) + least.error
    remarks = (least.remark,) if least.remark else ()
    return Recomputed(whole.value, rounding, least.proof, tuple(faults), remarks)


@dataclass(frozen=True)
class Least:
    """The minimum of <v, .>, the error in it, whether it is proven, and a remark."""

    value: Total
    error: float
    proof: bool = True
    remark: str = ""


def minimum_of(
    domain: Domain, pieces: Sequence[tuple[sp.csr_array, np.ndarray]], claimed: float | None = None
) -> Least:
    """The minimum over the domain of <v, .> with v the sum of matrix^T y. Raises Unchecked where it is out of reach.

    claimed: what it is said not to be below.
    """
    if math.prod(domain.shape) <= WRITTEN_OUT and (not domain.spectral or min(domain.shape) <= ORDER):
        v = np.zeros(math.prod(domain.shape), dtype=np.longdouble)
        for matrix, y in pieces:
            v += product(matrix.T.tocsr(), y.reshape(-1))
        return Least(*minimum_over(domain, v.reshape(domain.shape)))
    if not isinstance(domain, PSDTrace):
        raise Unchecked(f"{' x '.join(map(str, domain.shape))} is too large for a full decomposition")
    return _by_arpack(domain, pieces, claimed)


def _by_arpack(domain: PSDTrace, pieces: Sequence[tuple[sp.csr_array, np.ndarray]], claimed: float | None) -> Least:
    """By ARPACK, whose value lies above the smallest eigenvalue: a check that a claim may fail, and no proof. The proof
    of a claim t r is that v - t I is semidefinite, by the residual of its factors.
    """
    n = domain.shape[0]
    if sum(matrix.nnz for matrix, _ in pieces) > WRITTEN_OUT:
        raise Unchecked(f"n = {n} is too large for a full decomposition, and v is not sparse")
    # Entry by entry: a product with these matrices, of n^2 columns, would write one row of them out.
    entries = [sp.coo_array(matrix) for matrix, _ in pieces]
    values = [part.data * y.reshape(-1)[part.coords[0]] for part, (_, y) in zip(entries, pieces, strict=True)]
    places = np.concatenate([part.coords[1] for part in entries])
    v = sp.csr_array((np.concatenate(values).astype(float), np.divmod(places, n)), shape=(n, n))
    v = 0.5 * (v + v.T)
    try:
        start = np.random.default_rng(0).standard_normal(n)
        smallest = float(spla.eigsh(v, k=1, which="SA", v0=start, tol=1e-10, return_eigenvectors=False)[0])
    except spla.ArpackNoConvergence:
        raise Unchecked(f"n = {n} is too large for a full decomposition, and ARPACK did not converge") from None
    factor = smallest if domain.fixed_trace else min(smallest, 0.0)
    value = Total(domain.radius * factor, domain.radius * abs(smallest))
    error = domain.radius * n * EPS * float(norm(v.data))
    if claimed is not None and claimed <= float(value.value) + error:
        size = float(abs(v).sum(axis=1).max())
        distance = indefiniteness(sp.csr_array(v - sp.diags_array(np.full(n, claimed / domain.radius))))
        if distance is not None and distance <= RESIDUAL * size:
            remark = f"the eigenvalue is by ARPACK; the claim is proven by factors whose residual is {distance:.1e}"
            return Least(value, error + domain.radius * distance, True, remark)
    remark = f"n = {n} is too large for a full decomposition; the eigenvalue is by ARPACK: a check, no proof"
    return Least(value, error, False, remark)
