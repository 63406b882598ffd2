"""The dual side of a run over a cone: the multiplier y_t of its trace, the slack C + sum A_i^T y_i + y_t I of its bound
and its smallest eigenvalues.
"""

from __future__ import annotations

import numpy as np

from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.diagonal_blocks import DiagonalBlocks
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.methods.dual_point import DualPoint
from cgm_cli.numerics.blockwise import Blocks, diagonal_blocks
from cgm_cli.runs.load import Run
from cgm_cli.runs.resume import spec_of
from cgm_cli.templates.build import Instance, build


def slack(run: Run) -> np.ndarray:
    """Of the bound of a run, of the shape of x, in the sense of a minimisation: semidefinite, but for rounding, over a
    cone, where the constraint on the trace is one of the constraints.
    """
    problem = instance_of(run).template.problem
    return problem.domain.slack_in_users_terms(slack_of(run, problem))


def slack_of(run: Run, problem: CompositeProblem) -> np.ndarray:
    """The same, of the points that are worked on."""
    found, cone = dual_direction(run, problem).dense(), problem.domain.cone
    if cone is None:
        return found
    return found - trace_multiplier(run, problem) * Blocks(cone.sizes).identity().reshape(found.shape)


def trace_dual(run: Run) -> np.ndarray:
    """y_t, as those of other constraints are: not negative, where the trace is but bounded. Raises ProblemError where
    the domain is no cone.
    """
    problem = instance_of(run).template.problem
    if problem.domain.cone is None:
        raise ProblemError("The run is about no semidefinite program: nothing there has a trace.")
    return np.array(0.0 - trace_multiplier(run, problem))


def least_of_blocks(run: Run, found: np.ndarray) -> list[float]:
    """The smallest eigenvalue, or entry, of each block of a slack; of one matrix one."""
    domain = instance_of(run).template.problem.domain
    if domain.cone is None:
        return []
    if found.ndim == 2:
        if isinstance(domain, DiagonalBlocks):
            parts = list(diagonal_blocks(found, domain.layout.given))
        elif isinstance(domain, PSDTrace) and not domain.is_complex:
            parts = list(diagonal_blocks(found, domain.parts))
        else:
            parts = [found]
        return [float(np.linalg.eigvalsh(part)[0] if part.ndim == 2 else np.real(part).min()) for part in parts]
    blocks, flat, least = Blocks(domain.cone.sizes), found.reshape(-1), list[float]()
    for stack in blocks.stacks:
        part = stack.of(flat)
        least += np.linalg.eigvalsh(part)[:, 0].tolist() if stack.n else [float(part.min())]
    return least


def trace_multiplier(run: Run, problem: CompositeProblem) -> float:
    """-y_t: the smallest eigenvalue of the slack without it, or 0 where that is positive and the trace is but bounded.
    The bound is what the multipliers say of the right-hand sides, and the trace times that.
    """
    cone, summary = problem.domain.cone, run.summary
    if cone is None or summary is None or summary.get("bound") is None:
        return 0.0
    if any(term.penalty.intervals is None for term in problem.terms):
        found = Blocks(cone.sizes).bottom(dual_direction(run, problem).dense().reshape(-1)).value
        return found if cone.fixed else min(found, 0.0)
    constant = 0.0
    for term in problem.terms:
        intervals, y = term.penalty.intervals, multipliers(run, term.name)
        assert intervals is not None
        constant -= float(np.vdot(y, np.where(y > 0.0, intervals[1], np.where(y < 0.0, intervals[0], 0.0))))
    found = (problem.sense_sign * float(summary["bound"]) - constant) / cone.trace
    return found if cone.fixed else min(found, 0.0)


def instance_of(run: Run) -> Instance:
    """The problem of a run, built again. Raises what building it raises."""
    return build(spec_of(run), run.spec_file, run.form.get("kind"))


def multipliers(run: Run, name: str) -> np.ndarray:
    """Those of a term. DataError where a run has none."""
    found = run.duals.get(name.replace("/", "_"))
    if found is None:
        raise DataError(f"{run.path} has no duals: it did not come to its end (status {run.status.value}).")
    return found


def dual_direction(run: Run, problem: CompositeProblem) -> Direction:
    """The slack but for y_t I, as the oracle was given it."""
    duals = tuple(multipliers(run, term.name) for term in problem.terms)
    return DualPoint(run.loss_image, duals, 0.0, 0.0).direction(problem)
