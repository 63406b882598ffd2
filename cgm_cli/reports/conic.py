"""The dual side of a run over a cone: the slack C + sum A_i^T y_i of its bound, and files that solvers of semidefinite
programs read.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cgm_cli.blocks.iterates import is_factored, written_out
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.methods.dual_point import DualPoint
from cgm_cli.numerics.blockwise import Blocks
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
    cone = _problem(run).domain.cone
    if cone is None:
        return []
    if np.iscomplexobj(found):
        return [float(np.linalg.eigvalsh(found)[0])]
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
    if "x" in run.solution:
        x = run.solution["x"]
    elif is_factored(run.solution):
        x = written_out(run.solution)
    else:
        raise DataError(f"{run.path} keeps samples of x, not x itself")
    y = [np.asarray(_named(run, term.name)).reshape(-1) for term in problem.terms]
    lines = [" ".join(repr(float(entry)) for part in y for entry in part)]
    for number, matrix in ((1, _dual(run, problem).dense()), (2, x)):
        lines += _entries(number, Blocks(cone.sizes), matrix.reshape(-1))
    return "\n".join(lines) + "\n"


def _entries(number: int, blocks: Blocks, flat: np.ndarray) -> Iterator[str]:
    """By the blocks of the file: every size one, numbers that follow each other included."""
    first = 0
    for block, size in enumerate(blocks.sizes, start=1):
        n = abs(size)
        part = flat[first : first + (n * n if size > 0 else n)]
        first += part.size
        matrix = part.reshape(n, n) if size > 0 else np.diag(part)
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
