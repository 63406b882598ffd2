"""A problem composed by hand: the blocks of the spec put together."""

from __future__ import annotations

import math
from itertools import chain, count

import numpy as np

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.fitting import fit
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import Gathering, ProblemError, located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.model import ComposedProblem
from cgm_cli.templates.base import Composed


def compose(spec: ComposedProblem, context: BuildContext) -> Composed:
    """Build domain, loss and terms. Raises every fault found, each with its place in the spec."""
    with located("domain"):
        domain = spec.domain.build(context)
        if not domain.spectral:  # a vector is always written out; a matrix may do without
            context.reserve("start", domain.memory)
    context.domain = domain
    loss, terms, start, faults = None, [], None, Gathering()
    if spec.objective is not None:
        with faults.part("objective"):
            loss = spec.objective.build(context, domain.shape)
    for family in ("constraints", "penalties"):
        for index, term in enumerate(getattr(spec, family)):
            with faults.part(family, index):
                terms.append(_term(term, domain.shape, context, taken=[t.name for t in terms]))
    if spec.start is not None:
        with faults.part("start"):
            start = _start(context.array(spec.start), domain)
    faults.settle()
    return Composed(CompositeProblem(domain, loss, tuple(terms), start))


def _start(point: np.ndarray, domain: Domain) -> DenseAtom:
    point = fit(point, domain.shape, "the start", "the domain")
    if not domain.contains(point, 1e-6):
        raise ProblemError("the start lies outside the domain")
    return DenseAtom(np.array(point))


def _term(spec, in_shape: tuple[int, ...], context: BuildContext, taken: list[str]) -> Term:
    with located("map"):
        linear = spec.map.build(context, in_shape)
    context.reserve("images", 8 * math.prod(linear.out_shape))
    penalty = spec.build(context, linear.out_shape)
    if spec.offset is not None:
        with located("offset"):
            penalty = Shifted(penalty, context.array(spec.offset))
    if spec.name in taken:
        raise ProblemError(f"two terms are called `{spec.name}`", ("name",))
    numbered = (f"{spec.kind}-{number}" for number in count(2))
    name = spec.name or next(name for name in chain([spec.kind], numbered) if name not in taken)
    return Term(name, linear, penalty, spec.weight)
