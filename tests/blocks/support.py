"""What the harnesses share: building every registered kind from its examples, random directions and random points."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import settings

from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import Domain, OracleRequest
from cgm_cli.errors import ProblemError
from cgm_cli.spec.registry import FAMILIES, lookup

few = settings(max_examples=6, deadline=None)
"""For the tests of one block: seeds, of each of which arrays are drawn. Other ones are drawn in every run."""

few_of_many = settings(max_examples=4, deadline=None)
"""For tests that take a block in several shapes, plain or moved by two offsets: up to 40 random points."""

# Shapes tried in turn until an example's arrays fit one of them.
SHAPES = [(4,), (3,), (2,), (6,), (8,), (3, 3), (4, 3), (5, 5), (1,), (1, 1)]


@dataclass
class InlineContext:
    """A build context for specs whose arrays are all inline."""

    domain: object = None
    seed: int = 0

    def array(self, value, copies=1) -> np.ndarray:
        return np.array(value, dtype=float)

    def matrix(self, value, copies=1) -> np.ndarray:
        return self.array(value)

    def reserve(self, what: str, nbytes: int) -> None:
        pass


def spec(family: str, example: dict):
    """The validated spec of an example."""
    return lookup(family, example["kind"]).Spec.model_validate(example)


def domain(**example):
    """A domain built from its spec."""
    return spec("domain", example).build(InlineContext())


def product_domain():
    """The product that the examples of block maps refer to."""
    return spec("domain", lookup("domain", "product").Spec.examples[0]).build(InlineContext())


def examples(family: str) -> list:
    """(kind, example) of every registered kind whose module is there, as pytest parameters.

    `in-domain` is not among the sets: it has no projection, and is taken apart before a problem is solved.
    """
    out = []
    for kind, target in FAMILIES[family].items():
        if kind == "in-domain" or importlib.util.find_spec(target.split(":")[0]) is None:
            continue
        for number, example in enumerate(lookup(family, kind).Spec.examples):
            out.append(pytest.param(example, id=f"{kind}-{number}"))
    return out


def build_all(family: str, example: dict) -> list:
    """The block of an example on every shape of SHAPES (and the product domain) that it fits; at least one."""
    parsed = spec(family, example)
    product = product_domain()
    built = []
    for shape, context in [(s, InlineContext()) for s in SHAPES] + [(product.shape, InlineContext(domain=product))]:
        try:
            built.append(parsed.build(context, shape))
        except ProblemError:
            continue
    assert built, f"no shape fits {example}"
    return built


def random_direction(domain, rng: np.random.Generator, magnitude: float = 1.0) -> DenseDirection:
    """A Gaussian direction of the domain's shape, symmetric where the domain asks for it."""
    direction = DenseDirection(magnitude * rng.standard_normal(domain.shape))
    return direction.symmetrised() if domain.symmetric else direction


def random_vertex(domain, rng: np.random.Generator) -> np.ndarray:
    """The atom of a random direction, written out."""
    return domain.lmo(random_direction(domain, rng), OracleRequest()).atom.dense()


def random_point(domain, rng: np.random.Generator) -> np.ndarray:
    """A convex combination of three atoms and the start."""
    points = [random_vertex(domain, rng) for _ in range(3)] + [domain.start().dense()]
    return sum(weight * point for weight, point in zip(rng.dirichlet(np.ones(4)), points, strict=True))


class Behind(Domain):
    """A domain that has of another the constants and the abstract methods alone, but for `lmo`."""

    def __init__(self, inner):
        self.inner = inner
        self.shape, self.radius, self.diameter = inner.shape, inner.radius, inner.diameter

    def contains(self, x, tolerance=1e-9):
        return self.inner.contains(x, tolerance)

    def project(self, x):
        return self.inner.project(x)

    def start(self):
        return self.inner.start()
