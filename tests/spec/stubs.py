"""A small registry of blocks that only have schemas, so that these tests do not depend on the real blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import pytest
from pydantic import Field

from cgm_cli.spec import registry
from cgm_cli.spec.fields import (
    ArrayField,
    BlockSpec,
    DomainField,
    FileArray,
    Finite,
    MapField,
    Positive,
    Size,
    TemplateSpec,
    identity_map,
)


class Box:
    """A box."""

    class Spec(BlockSpec):
        kind: Literal["box"]
        lower: ArrayField = 0.0
        upper: ArrayField = Field(description="the upper bound")
        size: Size | list[Size] | None = None


class Product:
    """A product."""

    class Spec(BlockSpec):
        kind: Literal["product"]
        blocks: list[DomainField] = Field(min_length=1)


class Identity:
    """x -> x."""

    class Spec(BlockSpec):
        kind: Literal["identity"]


class Stack:
    """Several maps."""

    class Spec(BlockSpec):
        kind: Literal["stack"]
        maps: list[MapField]


class LeastSquares:
    """Least squares."""

    class Spec(BlockSpec):
        kind: Literal["least-squares"]
        map: MapField = Field(default_factory=identity_map)
        target: ArrayField


class L1:
    """The l1 norm."""

    class Spec(BlockSpec):
        kind: Literal["l1"]
        scale: Positive = 1.0
        reduction: Literal["sum", "mean"] = "sum"


class BoxSet:
    """A box as a constraint."""

    class Spec(BlockSpec):
        kind: Literal["box"]
        lower: Finite | None = None
        upper: Finite | None = None


class MaxCut:
    """The max-cut relaxation."""

    class Spec(TemplateSpec):
        template: Literal["max-cut"]
        graph: FileArray = Field(description="the graph")
        rounds: Size = Field(100, description="random cuts tried")
        centred: bool = False
        examples: ClassVar[list[dict[str, Any]]] = [{"template": "max-cut", "graph": {"file": "graph.txt"}}]


STUBS: dict[str, dict[str, type]] = {
    "domain": {"box": Box, "product": Product},
    "loss": {"least-squares": LeastSquares},
    "penalty": {"l1": L1},
    "set": {"box": BoxSet},
    "map": {"identity": Identity, "stack": Stack},
    "template": {"max-cut": MaxCut},
}


@contextmanager
def installed() -> Iterator[None]:
    """The stubs in the place of the registry's blocks and templates."""
    targets = {f: {kind: f"{__name__}:{stub.__name__}" for kind, stub in kinds.items()} for f, kinds in STUBS.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "FAMILIES", registry.FAMILIES | targets)
        patch.setattr(registry, "lookup", registry.lookup.__wrapped__)  # what was found before is remembered
        yield
