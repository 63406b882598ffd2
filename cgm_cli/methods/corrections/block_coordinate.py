"""Steps on one block of a product at a time: BCFW.

Lacoste-Julien, Jaggi, Schmidt and Pletscher, "Block-coordinate Frank-Wolfe optimization for structural SVMs", ICML
2013, Algorithm 3. For f(x) = h(M x) smooth over X = X_1 x ... x X_n, one i drawn anew for every step,

    s_i = argmin over X_i of <M_i^T h'(z), s_i>,    x_i <- x_i + gamma (s_i - x_i),    z <- z + gamma M_i (s_i - x_i)

with gamma the minimiser along the segment or 2 n / (k + 2 n), E f(x_k) - f* <= 2 n / (k + 2 n) (C + f(x_0) - f*), where
C is the sum of the curvatures of f along the blocks, at most sum_i |M_i|^2 L_h D_i^2 (their Theorem 2). A step costs
what the block is, and n of them about what a turn's own look at all blocks costs, whose oracle bounds and takes no
step. For the dual of a structural SVM that bound is its primal objective.

With `corrective` the atoms of every block are kept: weight goes to s_i from the worst of them (Osokin, Alayrac,
Lukasewitz, Dokania and Lacoste-Julien, "Minding the gaps for block Frank-Wolfe optimization of structured SVMs", ICML
2016, Algorithm 3) and, at the end of a turn, f is minimised over the weights of all atoms of all blocks, which asks no
oracle. It is ahead by far where digits are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, DenseAtom
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import Domain, OracleRequest
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.active_set import ActiveSet
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.steps.line_search import minimiser
from cgm_cli.numerics.arrays import Matrix, is_sparse
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.numerics.projections import project_simplex_rows
from cgm_cli.numerics.spg import spectral_projected_gradient
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


ROUNDING = 1e-9
"""Part of the first slope along a segment up to which a slope is taken for zero."""


EVALUATIONS = 50
"""Of the objective, over the weights of all atoms, at the end of a turn."""

KEPT = 100
"""Atoms of a block that are kept at the most; of more, the lightest become their mean."""


@dataclass(frozen=True)
class Part:
    """One block: its entries of a point, its domain, and the columns M_i (p, n_i), with their transpose."""

    places: slice
    domain: Domain
    columns: Matrix
    rows: Matrix


def takes(problem: CompositeProblem, least: int) -> bool:
    """Whether the problem is one for these steps, and has so many blocks."""
    loss, product = problem.loss, problem.domain.product
    if loss is None or not loss.is_smooth or loss.is_linear or problem.terms or product is None:
        return False
    return len(product) >= least and (loss.map.is_identity or loss.map.explicit is not None)


def parts_of(problem: CompositeProblem) -> list[Part]:
    """Raises ProblemError where the problem is not that of a smooth f over a product, or M is not known."""
    if problem.loss is None or not problem.loss.is_smooth:
        raise _refusal("beside a smooth objective, and there is none")
    if problem.terms:
        raise _refusal(f"and this problem has terms: {', '.join(term.name for term in problem.terms)}")
    factors = problem.domain.product
    if factors is None:
        raise _refusal("and the domain is no product: `kind: product`")
    matrix: Matrix | None = problem.loss.map.explicit
    if problem.loss.map.is_identity:
        matrix = sp.csc_array(sp.eye_array(problem.domain.shape[0]))
    if matrix is None:
        raise _refusal("and the matrix of the objective's map is not known")
    columns = sp.csc_array(matrix) if is_sparse(matrix) else matrix
    found, start = list[Part](), 0
    for domain in factors:
        places = slice(start, start + math.prod(domain.shape))
        block = columns[:, places]
        found.append(Part(places, domain, block, sp.csr_array(block.T) if is_sparse(block) else block.T))
        start = places.stop
    return found


def _refusal(reason: str) -> ProblemError:
    return ProblemError(
        f"`correction: block-coordinate` steps from block to block of a product, {reason}", ("correction",)
    )


@dataclass(frozen=True)
class BlockState:
    """active: of every block its atoms and their weights, with `corrective`; None at the start, where each has one."""

    active: tuple[ActiveSet, ...] | None = None


@dataclass(frozen=True)
class BlockCoordinate:
    """Steps on one block of a product at a time, each with an oracle call of that block alone; the turn bounds."""

    class Spec(CorrectionSpec):
        kind: Literal["block-coordinate"] = "block-coordinate"
        passes: Size = Field(1, description="steps of a turn, for each block: so many on the average")
        corrective: bool = Field(
            False, description="keep the atoms of every block, and move weight between all that are kept"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "block-coordinate"},
            {"kind": "block-coordinate", "passes": 3},
            {"kind": "block-coordinate", "corrective": True},
        ]

        def build(self, problem: CompositeProblem, setting: Setting) -> BlockCoordinate:
            """Raises ProblemError where the domain is no product, or the objective is not smooth and alone."""
            parts = parts_of(problem)
            assert problem.loss is not None
            return BlockCoordinate(problem.loss, parts, self.passes, self.corrective)

    loss: Loss
    parts: Sequence[Part]
    passes: int = 1
    corrective: bool = False
    needs_array: ClassVar[bool] = True
    replaces: ClassVar[Replacing] = "mostly"
    keeps_theory: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> BlockState:
        return BlockState()

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """x, and M once more, by its rows; of atoms ten a block."""
        work = 0 if problem.loss is None else problem.loss.map.work
        return (11 if self.corrective else 1) * problem.domain.memory + 12 * work

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory = state.correction
        assert isinstance(memory, BlockState)
        x = np.array(cast(DenseIterate, state.point.iterate).array)
        image = np.array(state.point.loss_image)
        active = list(memory.active or [ActiveSet.at(DenseAtom(x[part.places])) for part in self.parts])
        count = len(self.parts)
        for place in map(int, state.rng.integers(count, size=self.passes * count)):
            deadline.check()
            part = self.parts[place]
            atom = self._answer(part, image, state.rng)
            if self.corrective:
                active[place], image = self._exchanged(part, active[place], atom, image)
                x[part.places] = active[place].atoms @ active[place].weights
            else:
                image = self._stepped(part, x[part.places], atom.dense().reshape(-1), image)
        if not self.corrective:
            return Move(DenseAtom(x), 1.0, BlockState())
        found = tuple(self._corrected(active, deadline))
        x = np.concatenate([each.atoms @ each.weights for each in found])
        return Move(DenseAtom(x), 1.0, BlockState(found))

    def _slopes(self, part: Part, image: np.ndarray) -> np.ndarray:
        """M_i^T h'(z), flat."""
        return part.rows @ self.loss.gradient(image).reshape(-1)

    def _answer(self, part: Part, image: np.ndarray, rng: np.random.Generator) -> Atom:
        """s_i."""
        direction = DenseDirection(self._slopes(part, image).reshape(part.domain.shape))
        direction = direction.symmetrised() if part.domain.symmetric else direction
        return part.domain.lmo(direction, OracleRequest(rng=rng)).atom

    def _stepped(self, part: Part, block: np.ndarray, atom: np.ndarray, image: np.ndarray) -> np.ndarray:
        """z after the step of x_i, which `block` takes in place."""
        move = atom - block
        along = (part.columns @ move).reshape(image.shape)
        gamma = _best_step(self.loss, image, along)
        block += gamma * move
        return image + gamma * along

    def _exchanged(self, part: Part, active: ActiveSet, atom: Atom, image: np.ndarray) -> tuple[ActiveSet, np.ndarray]:
        """The atoms of x_i after weight has gone from the worst of them to s_i, and z."""
        active, new = active.with_atom(atom)
        worst = int(np.argmax(active.atoms.T @ self._slopes(part, image)))
        weight = float(active.weights[worst])
        move = active.atoms[:, new] - active.atoms[:, worst]
        along = (weight * (part.columns @ move)).reshape(image.shape)
        gamma = _best_step(self.loss, image, along)
        return active.moved(worst, new, gamma * weight).pruned(KEPT), image + gamma * along

    def _corrected(self, active: Sequence[ActiveSet], deadline: Deadline) -> list[ActiveSet]:
        """The best weights of all atoms, a row for each block, by a few projected gradients."""
        images = [part.columns @ each.atoms for part, each in zip(self.parts, active, strict=True)]
        columns, counts = np.hstack(images), np.array([each.weights.size for each in active])
        known: np.ndarray = np.arange(int(counts.max())) < counts[:, None]
        start = np.zeros(known.shape)
        start[known] = np.concatenate([each.weights for each in active])
        shape = self.loss.map.out_shape

        def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
            image = (columns @ weights[known]).reshape(shape)
            slopes = np.zeros(known.shape)
            slopes[known] = columns.T @ self.loss.gradient(image).reshape(-1)
            return self.loss.value(image), slopes

        def project(weights: np.ndarray) -> np.ndarray:
            # What is one or more below the largest of a row becomes zero.
            peaks = np.where(known, weights, -np.inf).max(axis=1, keepdims=True)
            return project_simplex_rows(np.where(known, weights, peaks - 2.0))

        longest = max(float(np.linalg.norm(each.atoms)) for each in active)
        curvature = self.loss.lipschitz * longest**2
        first_step = 1.0 / curvature if curvature > 0.0 else np.inf
        diameter = math.sqrt(2.0 * len(active))
        found, _ = spectral_projected_gradient(
            deadline.checked(evaluate), project, start, EVALUATIONS, first_step, diameter
        )
        rows = [row[: each.weights.size] for row, each in zip(found, active, strict=True)]
        return [each.weighed(row).pruned(KEPT) for row, each in zip(rows, active, strict=True)]


def _best_step(loss: Loss, z: np.ndarray, dz: np.ndarray) -> float:
    """The t in [0, 1] for which h(z + t dz) is least: at once where h is quadratic along the segment."""

    def slope(t: float) -> float:
        return loss.slope(z + t * dz, dz)

    descent = -slope(0.0)
    if descent <= 0.0:
        return 0.0
    curvature = loss.curvature(z, dz)
    if curvature <= descent:
        return 1.0 if slope(1.0) <= 0.0 else minimiser(slope)
    newton = descent / curvature
    return newton if abs(slope(newton)) <= ROUNDING * descent else minimiser(slope)
