"""The dual side of a run over a cone: the slack C + sum A_i^T y_i of its bound, and files that solvers of semidefinite
programs read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.iterates import is_factored, written_out
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.methods.dual_point import DualPoint
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.numerics.blockwise import Blocks, diagonal_blocks
from cgm_cli.runs.load import Run
from cgm_cli.runs.resume import spec_of
from cgm_cli.templates.build import build


def slack(run: Run) -> np.ndarray:
    """Of the bound of a run, of the shape of x: positive semidefinite where the bound needs no radius. In the sense of
    a minimisation.
    """
    problem = _problem(run)
    return problem.domain.slack_in_users_terms(_dual(run, problem).dense())


def least_of_blocks(run: Run, found: np.ndarray) -> list[float]:
    """The smallest eigenvalue, or entry, of each block of a slack; of one matrix one."""
    problem = _problem(run)
    cone = problem.domain.cone
    if cone is None:
        return []
    if found.ndim == 2:
        parts = [found] if np.iscomplexobj(found) else diagonal_blocks(found, _sizes(problem))
        return [float(np.linalg.eigvalsh(part)[0] if part.ndim == 2 else part.min()) for part in parts]
    blocks, flat, least = Blocks(cone.sizes), found.reshape(-1), list[float]()
    for stack in blocks.stacks:
        part = stack.of(flat)
        least += np.linalg.eigvalsh(part)[:, 0].tolist() if stack.n else [float(part.min())]
    return least


def solution_text(run: Run) -> str:
    """y, the slack and X in the form that CSDP writes: a line with y, then `1 block i j entry` of the slack and
    `2 block i j entry` of X, upper triangles, counted from 1.

    Raises ProblemError for a run over any other set, DataError where it has no x.
    """
    problem = _problem(run)
    cone = problem.domain.cone
    if cone is None:
        raise ProblemError("a .sol file is for semidefinite programs: domains `psd` and `psd-blocks`")
    if problem.domain.is_complex:
        raise ProblemError(
            "a .sol file holds real matrices, and those of this program are complex: write `x`, `slack` and "
            "`duals/equalities` to .npy or .mat files of their own"
        )
    sizes, saved = _sizes(problem), run.solution
    if "x" in saved:
        x = _parts_of(saved["x"], sizes)
    elif is_factored(saved):
        x = _parts_of_factors(saved, sizes)
    else:
        raise DataError(f"{run.path} keeps samples of x, not x itself")
    y = [np.asarray(_named(run, term.name)).reshape(-1) for term in problem.terms]
    lines = [" ".join(repr(float(entry)) for part in y for entry in part)]
    found = _dual(run, problem)
    several = found.sparse() if len(sizes) > 1 and len(found.shape) == 2 else None
    lines += _entries(1, _parts_of(found.dense() if several is None else several, sizes))
    lines += _entries(2, x)
    return "\n".join(lines) + "\n"


def _sizes(problem: CompositeProblem) -> tuple[int, ...]:
    """Of the blocks, as the file has them."""
    domain = problem.domain
    assert domain.cone is not None
    return domain.parts if isinstance(domain, PSDTrace) else domain.cone.sizes


def _parts_of(matrix: Matrix, sizes: tuple[int, ...]) -> Iterator[np.ndarray]:
    """The blocks of a matrix, or of one that is flat."""
    if matrix.ndim == 2:
        yield from diagonal_blocks(matrix, sizes)
        return
    first = 0
    for size in sizes:
        count = size * size if size > 0 else -size
        part = np.asarray(matrix[first : first + count])
        first += count
        yield part.reshape(size, size) if size > 0 else part


def _parts_of_factors(saved: Mapping[str, np.ndarray], sizes: tuple[int, ...]) -> Iterator[np.ndarray]:
    """The blocks along the diagonal of left diag(weights) left^T, of which the others are never made."""
    first = 0
    for size in sizes:
        rows = slice(first, first + abs(size))
        first += abs(size)
        part = {"left": saved["left"][rows], "weights": saved["weights"]}
        yield written_out(part) if size > 0 else np.square(part["left"]) @ part["weights"]


def _entries(number: int, parts: Iterable[np.ndarray]) -> Iterator[str]:
    """By the blocks of the file: every size one, numbers that follow each other included."""
    for block, part in enumerate(parts, start=1):
        matrix = part if part.ndim == 2 else np.diag(part)
        for i, j in zip(*np.nonzero(np.triu(matrix)), strict=True):
            yield f"{number} {block} {i + 1} {j + 1} {float(matrix[i, j])!r}"


def _problem(run: Run) -> CompositeProblem:
    return build(spec_of(run), run.spec_file, run.form.get("kind")).template.problem


def _named(run: Run, name: str) -> np.ndarray:
    found = run.duals.get(name.replace("/", "_"))
    if found is None:
        raise DataError(f"{run.path} has no duals: it did not come to its end (status {run.status.value}).")
    return found


def _dual(run: Run, problem: CompositeProblem):
    duals = tuple(_named(run, term.name) for term in problem.terms)
    return DualPoint(run.loss_image, duals, 0.0, 0.0).direction(problem)
