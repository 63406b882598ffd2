"""Splitting: x in several domains at once, and images in domains, by slack variables (paper, section 5.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import count
from typing import cast

import numpy as np

from cgm_cli.blocks.atoms import Atom, BlocksAtom
from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.maps.block import Block
from cgm_cli.blocks.maps.block_difference import BlockDifference
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.penalties.base import Penalty
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.in_domain import InDomain
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.solving.rounding import Rounding
from cgm_cli.templates.base import Template


class Split(Template):
    """min f(x) + sum g_i(A_i x) over x in X_1, ..., X_m, with C_j x - c_j in S_j for the terms that are `InDomain`.

    The variable is (x, xi_2, ..., xi_m, psi_1, ...) in X_1 x ... x X_m x S_1 x ...; f and every other term act on x,
    and x = xi_i, C_j x - psi_j = c_j are constraints. So a bound on this problem is one on the original.
    """

    iterate = "dense"

    def __init__(
        self,
        domains: Sequence[Domain],
        names: Sequence[str],
        loss: Loss | None,
        terms: Sequence[Term],
        starts: Sequence[Atom] | None,
        sense: str,
    ):
        """names: of the constraints x = xi_2, ... starts: of x and its copies; None for each block's own."""
        slack = [term.penalty.domain for term in terms if isinstance(term.penalty, InDomain)]
        product = Product((*domains, *slack))
        self.shape = domains[0].shape
        lifted = [
            _tied(Term(name, Identity(self.shape), cast(Penalty, InDomain(domains[i]))), product, i)
            for i, name in enumerate(names, 1)
        ]
        blocks = count(len(domains))
        for term in terms:
            if isinstance(term.penalty, InDomain):
                lifted.append(_tied(term, product, next(blocks)))
            else:
                lifted.append(replace(term, map=_of_x(term.map, product)))
        start = None
        if starts is not None:
            start = BlocksAtom((*starts, *(domain.start() for domain in slack)))
        if loss is not None:
            loss = copy(loss)
            loss.map = _of_x(loss.map, product)
        self.problem = CompositeProblem(product, loss, tuple(lifted), start, sense)

    def round(
        self, iterate: DenseIterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """x: the block that the objective acts on, in its own shape. variables: every block, raveled, one after the
        other.
        """
        size = math.prod(self.shape)
        x = iterate.array[:size].reshape(self.shape).copy()
        return Rounding(arrays={"x": x, "variables": iterate.array})


def needs_splitting(domains: Sequence[Domain], terms: Sequence[Term]) -> bool:
    """Whether a problem is only posed with slack variables."""
    return len(domains) > 1 or any(isinstance(term.penalty, InDomain) for term in terms)


def _of_x(inner: LinearMap, product: Product) -> Block:
    return Block(inner, 0, 0, product.shape[0])


def _tied(term: Term, product: Product, block: int) -> Term:
    """The equation C x - psi = c that stands for C x - c in S, with psi the block of that number."""
    shape = product.blocks[block].shape
    assert isinstance(term.penalty, InDomain)
    target = Equals(shape, term.penalty.offset)
    return replace(term, map=BlockDifference(product, 0, block, term.map), penalty=target)
