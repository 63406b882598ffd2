"""Solutions of semidefinite programs in the form that CSDP writes and reads: y, the dual slack and X, by the blocks and
the constraints of the program as it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.iterates import is_factored, written_out
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.numerics.blockwise import Blocks, diagonal_blocks
from cgm_cli.readers.block_program import BlockProgram
from cgm_cli.reports.conic import instance_of, multipliers, slack_of, trace_multiplier
from cgm_cli.runs.load import Run
from cgm_cli.runs.resume import spec_of
from cgm_cli.templates.affine import Parts
from cgm_cli.templates.build import Instance
from cgm_cli.templates.standard_sdp import StandardSDP
from cgm_cli.templates.trace_bounds import trace_proof


@dataclass(frozen=True)
class Solution:
    """y (m,), and the blocks of the slack and of X: matrices (n, n), or vectors of numbers (n,)."""

    y: np.ndarray
    slack: Iterable[np.ndarray]
    x: Iterable[np.ndarray]


def solution_text(run: Run) -> str:
    """A line with y, then `1 block i j entry` of the slack sum y_i A_i - C (of a maximum; + C of a minimum) and
    `2 block i j entry` of X, upper triangles, counted from 1. Where it was no program that was given, the last of y is
    that of the trace.

    Raises ProblemError for a run over any other set, or with multipliers that such a file has no place for; DataError
    where it has no x.
    """
    instance, spec = instance_of(run), spec_of(run).problem
    problem = instance.template.problem
    if problem.domain.cone is None:
        raise ProblemError("a .sol file is for semidefinite programs: domains `psd` and `psd-blocks`")
    if problem.domain.is_complex:
        raise ProblemError(
            "a .sol file holds real matrices, and those of this program are complex: write `x`, `slack` and "
            "`duals/equalities` to .npy or .mat files of their own"
        )
    if any(term.map.is_identity for term in problem.terms):
        raise ProblemError(
            "a .sol file has no place for the multipliers of X >= 0, entry by entry: write `x`, `slack` and "
            "`duals/nonnegative` to .npy or .mat files of their own"
        )
    if isinstance(spec, StandardSDP.Spec):
        found = _of_program(run, instance, spec)
    else:
        y = [multipliers(run, term.name).reshape(-1) for term in problem.terms]
        y.append(np.array([0.0 - trace_multiplier(run, problem)]))
        slack = _parts_of(slack_of(run, problem), _sizes(problem))
        found = Solution(np.concatenate(y), slack, _blocks_of_x(run, problem))
    lines = [" ".join(repr(float(entry)) for entry in found.y), *_entries(1, found.slack), *_entries(2, found.x)]
    return "\n".join(lines) + "\n"


def _of_program(run: Run, instance: Instance, spec: StandardSDP.Spec) -> Solution:
    template, given = instance.template, spec.given(instance.context)
    assert isinstance(template, StandardSDP)
    parts, program = given.parts, given.file
    if parts.forms is not None:
        raise ProblemError(
            "a .sol file is for programs whose matrices are written out, and those of the `quadratic_forms` are too "
            "large for it: write `x`, `duals/forms` and `duals/trace` to .npy or .mat files of their own"
        )
    y, x = _all_multipliers(run, template, parts, spec.radius is None), list(_blocks_of_x(run, template.problem))
    sign = -1.0 if given.maximise else 1.0
    if program is None:
        cost = sp.csr_array(sp.coo_array(parts.cost).reshape((1, -1)))
        return Solution(y, _slack(parts.affine.rows, y, sign * cost, parts.sizes), x)
    whole = np.zeros(program.right.size)  # zero of a constraint that is none: a slack of either sign
    whole[np.isin(program.numbers, parts.affine.numbers)] = y
    rows, cost = sp.csr_array(program.matrices[1:]), sp.csr_array(program.matrices[[0]])
    slack = _slack(rows, whole, sign * cost, program.sizes)
    return Solution(whole, slack, x if program.sizes == parts.sizes else _with_slacks(program, x[0]))


def _all_multipliers(run: Run, template: StandardSDP, parts: Parts, is_open: bool) -> np.ndarray:
    """Of all constraints that were given, in their order. What the run keeps has none of those that say the trace, and
    a slack whose smallest eigenvalue is any number: a multiple of the y with A^*(y) >= I makes it zero, where the trace
    `is_open`, for the constraints to say what it is.
    """
    given, kept = parts.affine, template.affine
    places, y = np.flatnonzero(np.isin(given.numbers, kept.numbers)), np.zeros(given.numbers.size)
    for name, chosen in (("equalities", kept.equal), ("inequalities", ~kept.equal)):
        if chosen.any():
            y[places[chosen]] = multipliers(run, name)
    proof = trace_proof(Blocks(parts.sizes), given.rows, given.lower, given.upper) if is_open else None
    return y if proof is None else y - trace_multiplier(run, template.problem) * proof.y


def _slack(rows: sp.csr_array, y: np.ndarray, cost: sp.csr_array, sizes: tuple[int, ...]) -> Iterator[np.ndarray]:
    return _parts_of(rows.T @ y + cost.toarray().reshape(-1), sizes)


def _with_slacks(program: BlockProgram, x: np.ndarray) -> list[np.ndarray]:
    """The one matrix, and the numbers that are what its constraints leave of their right-hand sides."""
    whole, parts = sp.csc_array(program.matrices[1:]), list[np.ndarray]()
    matrix = next(place for place, size in enumerate(program.sizes) if size > 0)
    inside = slice(program.starts[matrix], program.starts[matrix + 1])
    left = program.right - whole[:, inside] @ x.reshape(-1)
    for place, size in enumerate(program.sizes):
        if place == matrix:
            parts.append(x)
            continue
        numbers = np.zeros(-size)
        columns = sp.coo_array(whole[:, program.starts[place] : program.starts[place + 1]])
        for row, column, value in zip(*columns.coords, columns.data, strict=True):
            if value * left[row] > 0.0:
                numbers[column] = left[row] / value
                left[row] = 0.0
        parts.append(numbers)
    return parts


def _sizes(problem: CompositeProblem) -> tuple[int, ...]:
    """Of the blocks, those along the diagonal of one matrix as well."""
    domain = problem.domain
    assert domain.cone is not None
    return domain.parts if isinstance(domain, PSDTrace) else domain.cone.sizes


def _blocks_of_x(run: Run, problem: CompositeProblem) -> Iterator[np.ndarray]:
    if "x" in run.solution:
        return _parts_of(run.solution["x"], _sizes(problem))
    if is_factored(run.solution):
        return _parts_of_factors(run.solution, _sizes(problem))
    raise DataError(f"{run.path} keeps samples of x, not x itself")


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
        if part.ndim == 1:
            for i in np.flatnonzero(part).tolist():
                yield f"{number} {block} {i + 1} {i + 1} {float(part[i])!r}"
            continue
        for i, j in zip(*np.nonzero(np.triu(part)), strict=True):
            yield f"{number} {block} {i + 1} {j + 1} {float(part[i, j])!r}"
