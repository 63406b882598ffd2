"""A problem composed by hand: the blocks of the spec put together."""

from __future__ import annotations

import math
from itertools import chain, count
from typing import Any, cast

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.fitting import named, starting_point
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.penalties.base import Penalty
from cgm_cli.blocks.penalties.in_domain import InDomain
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ErrorCollector, ProblemError, located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec
from cgm_cli.spec.model import ComposedProblem
from cgm_cli.templates.base import Composed, Template
from cgm_cli.templates.splitting import Split, needs_splitting


def compose(spec: ComposedProblem, context: BuildContext) -> Template:
    """Build domains, loss and terms. Raises every fault found, each with its place in the spec."""
    domains = _domains(spec, context)
    shape = domains[0].shape
    context.domain = domains[0]  # of x: what is a slack variable is nobody's business but the splitting's
    loss: Loss | None = None
    terms: list[Term] = []
    starts: list[Atom] | None = None
    faults = ErrorCollector()
    if spec.objective is not None:
        with faults.part("objective"):
            maximised = {"negated": True} if spec.sense == "maximise" else {}
            loss = spec.objective.build(context, shape, **maximised)
    for family in ("constraints", "penalties"):
        for index, term in enumerate(getattr(spec, family)):
            with faults.part(family, index):
                terms.append(_term(term, shape, context, taken=[t.name for t in terms]))
    if spec.start is not None:
        with faults.part("start"):
            point, given = context.array(spec.start), [spec.domain] if spec.domain is not None else spec.domains or []
            starts = [starting_point(point, *pair) for pair in zip(domains, (d.kind for d in given), strict=True)]
    faults.raise_all()
    if not needs_splitting(domains, terms):
        start = None if starts is None else starts[0]
        return Composed(CompositeProblem(domains[0], loss, tuple(terms), start, spec.sense))
    names = [term.name for term in terms]
    for domain in (spec.domains or [])[1:]:
        names.append(_free(f"in-{domain.kind}", names))
    return Split(domains, names[len(terms) :], loss, terms, starts, spec.sense)


def _domains(spec: ComposedProblem, context: BuildContext) -> list[Domain]:
    """The domain, or those whose intersection it is. Raises ProblemError unless their points have one shape."""
    if spec.domain is not None:
        with located("domain"):
            return [_domain(spec.domain, context)]
    domains: list[Domain] = []
    faults = ErrorCollector()
    for number, given in enumerate(spec.domains or []):
        with faults.part("domains", number):
            domains.append(_domain(given, context))
            if domains[-1].shape != domains[0].shape:
                shapes = named(domains[-1].shape), named(domains[0].shape)
                raise ProblemError(
                    f"x lies in every one of the domains, but this one is {shapes[0]}, the first {shapes[1]}"
                )
    faults.raise_all()
    return domains


def _domain(spec: BlockSpec, context: BuildContext) -> Domain:
    domain: Domain = spec.build(context)
    if domain.spectral:  # a matrix may do without being written out, but not without a few vectors of either side
        context.reserve("vectors", 8 * 8 * sum(domain.shape))
    else:
        context.reserve("start", domain.memory)
    return domain


def _term(spec: Any, in_shape: tuple[int, ...], context: BuildContext, taken: list[str]) -> Term:
    with located("map"):
        linear: LinearMap = spec.map.build(context, in_shape)
    context.reserve("images", 8 * math.prod(linear.out_shape))
    penalty: Penalty | InDomain = spec.build(context, linear.out_shape)
    if spec.offset is not None:
        with located("offset"):
            offset = context.array(spec.offset)
            penalty = penalty.moved(offset) if isinstance(penalty, InDomain) else Shifted(penalty, offset)
    if spec.name in taken:
        raise ProblemError(f"two terms are called `{spec.name}`", ("name",))
    # A set that has no projection is none of a term: `needs_splitting` sees to it.
    return Term(spec.name or _free(spec.kind, taken), linear, cast(Penalty, penalty), spec.weight)


def _free(name: str, taken: list[str]) -> str:
    """The name, with a number behind it if it is taken."""
    return next(each for each in chain([name], (f"{name}-{number}" for number in count(2))) if each not in taken)
