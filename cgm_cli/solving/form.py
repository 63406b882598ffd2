"""In which form x is kept: what the spec says or, for `iterate: auto`, what the problem and the memory suggest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cgm_cli.blocks.iterates import DenseIterate, FactoredIterate, Iterate, SampledIterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.blocks.sketch import SketchedIterate
from cgm_cli.errors import ProblemError
from cgm_cli.methods.method import Method
from cgm_cli.methods.oracles.base import accuracy_of
from cgm_cli.readers.memory import human
from cgm_cli.spec.model import SolverSpec
from cgm_cli.text import counted

SAMPLES = 100
"""Gaussian vectors of a sampled iterate: as many as hyperplanes are usually tried."""

FACTOR_BYTES = 2 * 10**8
"""What the columns of a factored iterate may take before they are compressed."""

BEGUN = "the run was begun with it"

REPLACED = 1000
"""The most steps whose columns are counted where points take the place of x: few of them in a row are plain ones."""

SKETCH_RANK = 50
"""Columns of a sketch where the spec names none: solutions with few constraints have small ranks."""


@dataclass(frozen=True)
class Form:
    """kind: dense, factored, sketch or samples. columns: of the last three; 0 of an array. nbytes: the memory it takes.
    reason: why this one, in words.
    """

    kind: str
    columns: int
    nbytes: int
    reason: str

    def begin(self, problem: CompositeProblem, seed: int) -> Iterate:
        """The iterate at the first point of the problem. Random forms have streams of their own."""
        first, factors = problem.first, problem.domain.factors
        if self.kind == "dense":
            return DenseIterate(first, halves=factors is not None and factors.symmetric)
        if self.kind == "samples":
            return SampledIterate(first, self.columns, np.random.default_rng([seed, 9]))
        if self.kind == "sketch":
            eigenvalues = problem.domain.eigenvalues
            assert eigenvalues is not None
            return SketchedIterate(first, self.columns, eigenvalues, np.random.default_rng([seed, 10]))
        return FactoredIterate(first, self.columns, problem.domain.symmetric)


class Needs(Protocol):
    """What a template's metrics and rounding ask of x. iterate: "dense" where every entry is looked at, or "auto".
    takes_samples: samples of x are enough.
    """

    iterate: str
    takes_samples: bool


def choose_form(
    solver: SolverSpec,
    method: Method,
    problem: CompositeProblem,
    needs: Needs,
    has_room_for: Callable[[int], bool],
    kept: str | None = None,
) -> Form:
    """The form of the spec; of `auto`, `kept` if it is given. method: what the spec came to. has_room_for: whether so
    many bytes can be had. Raises ProblemError where it cannot serve the problem.
    """
    kind, reason = solver.iterate, "the spec says so"
    if kind == "auto":
        suggested = kept is None
        kind, reason = _suggested(solver, method, problem, needs, has_room_for) if suggested else (kept, BEGUN)
    _refuse(kind, solver, method, problem, needs)
    columns = {"dense": lambda: 0, "samples": lambda: SAMPLES, "sketch": lambda: _rank(solver, problem)}
    width = columns.get(kind, lambda: _columns(problem, _steps(solver, method)))()
    return Form(kind, width, _bytes(kind, width, problem), reason)


def _suggested(
    solver: SolverSpec, method: Method, problem: CompositeProblem, needs: Needs, has_room_for: Callable[[int], bool]
) -> tuple[str, str]:
    if needs.iterate == "dense":
        return "dense", "every entry of x is looked at"
    if _written_out(solver, method, problem):
        return "dense", "a map, the start, the oracle or the correction needs every entry of x"
    if method.correction.replaces == "always":
        return "factored", "every step goes to a point of few columns"
    steps = _steps(solver, method)
    columns, exact = _columns(problem, steps), _exact_columns(problem, steps)
    nbytes = _bytes("factored", max(columns, exact), problem)
    if columns >= exact and has_room_for(nbytes):
        return "factored", f"{exact} columns hold every step, in {human(nbytes)}"
    if problem.domain.eigenvalues is None:
        return "factored", f"{exact} columns would hold every step, in {human(nbytes)}; of fewer, the largest are kept"
    return "sketch", f"the {exact} columns that hold every step would take {human(nbytes)}"


def _refuse(kind: str, solver: SolverSpec, method: Method, problem: CompositeProblem, needs: Needs) -> None:
    domain = problem.domain
    if kind != "dense" and _written_out(solver, method, problem):
        raise ProblemError(
            f"`iterate: {kind}` cannot serve this problem: a map, the start, the oracle or the correction needs every "
            "entry of x",
            ("iterate",),
        )
    if method.correction.replaces == "always" and kind != "factored":
        raise ProblemError(
            f"`correction: {solver.correction.name}` goes on from the factor of x: use `iterate: factored`",
            ("iterate",),
        )
    if kind == "samples" and not domain.symmetric:
        raise ProblemError("`iterate: samples` needs a domain of positive semidefinite matrices", ("iterate",))
    if kind == "samples" and not needs.takes_samples:
        raise ProblemError(
            "`iterate: samples` is enough for hyperplanes, but the template rounds x itself: use `iterate: factored`",
            ("iterate",),
        )
    if kind == "samples" and solver.correction.name != "none":
        raise ProblemError(
            f"`correction: {solver.correction.name}` starts from x itself, and `iterate: samples` does not know it",
            ("correction",),
        )
    if kind != "sketch":
        return
    if domain.eigenvalues is None:
        known = "of which no more is known than their eigenvalues" if domain.symmetric else "only"
        raise ProblemError(
            f"`iterate: sketch` recovers positive semidefinite matrices {known}; use `iterate: factored`", ("iterate",)
        )
    n, fewest = domain.shape[0], _rank_of_extreme_points(problem)
    if solver.rank is not None and not fewest <= solver.rank <= n:
        limit = (
            f"less than the rank of the domain's extreme points, {fewest}"
            if solver.rank < fewest
            else (f"more than the size of the matrices, {n}")
        )
        raise ProblemError(f"a sketch of {counted(solver.rank, 'column')} has {limit}", ("rank",))


def _written_out(solver: SolverSpec, method: Method, problem: CompositeProblem) -> bool:
    # Where points of factors take the place of x each time, there is more to the correction than maps of x.
    asked = problem.needs_array and method.correction.replaces != "always"
    dense = asked or method.correction.needs_array or problem.growing is not None
    return dense or (problem.start is not None and problem.start.is_dense) or accuracy_of(solver).perturb


def _rank(solver: SolverSpec, problem: CompositeProblem) -> int:
    return solver.rank or min(problem.domain.shape[0], max(SKETCH_RANK, 2 * _rank_of_extreme_points(problem) + 1))


def _rank_of_extreme_points(problem: CompositeProblem) -> int:
    factors = problem.domain.factors
    assert factors is not None
    return factors.count


def _bytes(kind: str, columns: int, problem: CompositeProblem) -> int:
    """Of factors with room to compress them; of a sketch with its basis, and the three arrays that recover x."""
    sides = problem.domain.shape
    per_column = {"factored": sum(sides), "sketch": 5 * sides[0], "samples": sides[0]}
    return problem.domain.memory if kind == "dense" else 8 * columns * per_column[kind]


def _steps(solver: SolverSpec, method: Method) -> int:
    """How many steps may add columns, one after the other."""
    most = {"never": solver.iterations, "mostly": REPLACED, "always": 1}
    return min(solver.iterations, most[method.correction.replaces])


def _columns(problem: CompositeProblem, iterations: int) -> int:
    """Columns of a factored iterate: as many as are exact, if they fit into FACTOR_BYTES, else what fits."""
    side = max(problem.domain.shape)
    return int(max(4 * _width(problem), 16, min(_exact_columns(problem, iterations), FACTOR_BYTES // (8 * side))))


def _exact_columns(problem: CompositeProblem, iterations: int) -> int:
    """Columns of which none is ever dropped: one block per step, or twice the size, half of which hold any matrix."""
    return min((iterations + 1) * _width(problem), 2 * max(problem.domain.shape))


def _width(problem: CompositeProblem) -> int:
    first = problem.first.low_rank
    return 1 if first is None else first.weights.size
