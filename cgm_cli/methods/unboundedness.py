"""A proof that the objective has no end, where the radius of the domain is but a guess: a ray.

Where D >= 0 (semidefinite) meets A(D) = 0, and lower bounds by A(D) >= 0 and upper ones by A(D) <= 0, every feasible X
stays feasible as X + t D, and <C, D> < 0 makes its objective fall for ever. Beside a feasible X, the program is
unbounded; without one, its dual is infeasible.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsmr

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.best_bound import Bound
from cgm_cli.numerics.blockwise import Blocks

ACCURACY, ROUNDING = 1e-15, 1e-11
"""Of the least squares that make A(D) zero, and what may be left of it beside |A| |D|."""

EDGE = 1e-12
"""Part of |D| that an eigenvalue may lie below zero by, as rounding leaves those that are zero."""

FALLS = 1e-9
"""Part of |C| |D| by which the objective has to fall along D, to fall by more than rounding."""

LARGE = 1e-2
"""Part of the assumed radius that the trace of x has to have come to for a look."""

SMALL, FACE, FACTORISED = 1e-3, 100, 500
"""Part of the largest eigenvalue of D below which one is what X began with; the most dimensions of a face; and the
largest order of a matrix in which one is looked for.
"""

GROWN = 0.01
"""Part of a trace that was assumed, which is far larger than any solution should have, that says that there is none."""

ROUNDED = 1e-12
"""Part of a bound that rounding may take off it."""


def grown_to(problem: CompositeProblem, x: Atom | None) -> float | None:
    """The trace of x, where that has come near the largest that is looked at, and nothing but a guess keeps it from
    going further; else None.
    """
    cone = problem.domain.cone
    if cone is None or x is None or not problem.domain.assumes_radius:
        return None
    trace = x.inner(Blocks(cone.sizes).identity().reshape(x.shape))
    return trace if trace >= GROWN * cone.trace else None


def rests_on(problem: CompositeProblem, bound: Bound | None) -> str | None:
    """The parameter of the domain that was assumed, and without which the bound is none: where its direction is not
    proven to be at least zero at all points of the cone, so that the minimum over it takes something off.
    """
    if bound is None or not problem.domain.assumes_radius:
        return None
    dual = bound.dual
    whole = dual.constant - 2.0 * dual.margin
    return None if bound.value >= whole - ROUNDED * abs(whole) else problem.domain.sizing


def ray_of(problem: CompositeProblem, x: np.ndarray) -> np.ndarray | None:
    """D of trace one, of the shape of x, near the direction of x; None where x shows none."""
    cone, loss = problem.domain.cone, problem.loss
    if cone is None or not problem.domain.assumes_radius or loss is None or loss.cost is None:
        return None
    blocks = Blocks(cone.sizes)
    flat = blocks.symmetric(x.reshape(-1))
    trace = float(np.vdot(blocks.identity(), flat))
    if not trace >= LARGE * cone.trace:
        return None
    along = flat / trace
    parts: list[tuple[sp.csr_array, np.ndarray, np.ndarray]] = []
    for term in problem.terms:
        rows, intervals = term.rows(), term.penalty.intervals
        if rows is None or intervals is None:
            return None
        lower, upper = (side.reshape(-1) for side in intervals)
        parts.append((blocks.symmetric_rows(rows), lower, upper))
    fixed = [rows[np.flatnonzero(lower == upper)] for rows, lower, upper in parts]
    equations = sp.csr_array(sp.vstack(fixed)) if fixed else sp.csr_array((0, flat.size))
    cost = loss.cost.dense().reshape(-1)
    for face in _faces(blocks, along):
        found = blocks.symmetric(_solving(equations, along, face))
        if is_ray(blocks, cost, parts, found):
            return found.reshape(x.shape)
    return None


def _faces(blocks: Blocks, along: np.ndarray) -> Iterator[sp.csc_array | None]:
    """Where a ray is looked for: anywhere, where its diagonal is large, and where its eigenvalues are."""
    yield None
    yield _entries(blocks, along)
    face = _face(blocks, along)
    if face is not None:
        yield face


def _entries(blocks: Blocks, along: np.ndarray) -> sp.csc_array:
    """Unit vectors of the entries of D but for rows whose diagonal entries are small beside others, as those are that
    equations make zero, and the rest of the row with them.
    """
    identity = blocks.identity()
    least, kept = SMALL * float((identity * along).max()), np.zeros(blocks.entries, dtype=bool)
    for stack in blocks.stacks:
        part, view = stack.of(along), stack.of(kept)
        if stack.n:
            large = np.diagonal(part, axis1=1, axis2=2) > least
            view[:] = large[:, :, None] & large[:, None, :]
        else:
            view[:] = part > least
    return sp.csc_array(sp.eye_array(blocks.entries, format="csc")[:, np.flatnonzero(kept)])


def _face(blocks: Blocks, along: np.ndarray) -> sp.csc_array | None:
    """Orthonormal columns that span U M U^T for the eigenvectors U of D whose eigenvalues are not small beside others:
    what is left of the X that a ray begins at is small. None where they would be many, or take long.
    """
    if blocks.largest > FACTORISED:
        return None
    values = blocks.eigenvalues(along)
    least = SMALL * max(float(each.max()) for each, _ in values)
    places, data = list[np.ndarray](), list[np.ndarray]()
    for stack, (each, vectors) in zip(blocks.stacks, values, strict=True):
        if vectors is None:
            kept = stack.start + np.flatnonzero(each > least)[: FACE + 1]
            places += list(kept[:, None])
            data += [np.ones(1)] * kept.size
            continue
        for place in np.flatnonzero((each > least).any(axis=1)).tolist():
            basis, start = vectors[place][:, each[place] > least], stack.start + place * stack.n**2
            if basis.shape[1] ** 2 > FACE:
                return None
            pairs = basis.T[:, None, :, None] * basis.T[None, :, None, :]
            data += list(pairs.reshape(-1, stack.n**2))
            places += [np.arange(start, start + stack.n**2)] * basis.shape[1] ** 2
    sizes = [each.size for each in places]
    if len(sizes) > FACE:
        return None
    columns = np.repeat(np.arange(len(sizes)), sizes)
    entries = np.concatenate(data), (np.concatenate(places), columns)
    return sp.csc_array(entries, shape=(blocks.entries, len(sizes)))


def _solving(equations: sp.csr_array, along: np.ndarray, face: sp.csc_array | None) -> np.ndarray:
    """The D nearest to one, in the span of a face if there is one, that the equations make zero."""
    if face is not None:
        equations, along = sp.csr_array(equations @ face), face.T @ along
    if equations.shape[0]:
        for _ in range(2):
            image, steps = np.asarray(equations @ along), 10 * along.size
            missed = lsmr(equations, image, atol=ACCURACY, btol=ACCURACY, maxiter=steps)[0]
            along = along - missed
    return along if face is None else face @ along


def is_ray(
    blocks: Blocks, cost: np.ndarray, parts: list[tuple[sp.csr_array, np.ndarray, np.ndarray]], along: np.ndarray
) -> bool:
    """Whether a flat D is one: rows, lower and upper bounds of every constraint."""
    size = float(np.linalg.norm(along))
    if blocks.bottom(along).value < -EDGE * size:
        return False
    for rows, lower, upper in parts:
        lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)).reshape(-1))
        image, room = rows @ along, ROUNDING * lengths * size
        if (np.isfinite(lower) & (image < -room)).any() or (np.isfinite(upper) & (image > room)).any():
            return False
    return float(cost @ along) < -FALLS * float(np.linalg.norm(cost)) * size
