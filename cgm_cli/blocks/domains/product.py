"""The product of domains: one block of variables in each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, BlocksAtom
from cgm_cli.blocks.directions import DenseDirection, Direction
from cgm_cli.blocks.domains.base import Domain, Lift, OracleAnswer, OracleRequest, Polyhedron
from cgm_cli.errors import located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, DomainField


class Product(Domain):
    """X_1 x ... x X_m. A point is flat: its blocks raveled and concatenated, block i at [starts[i], starts[i + 1])."""

    class Spec(BlockSpec):
        kind: Literal["product"]
        blocks: list[DomainField] = Field(..., min_length=1, description="the domain of each block of variables")

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "kind": "product",
                "blocks": [
                    {"kind": "simplex", "size": 3},
                    {"kind": "l2-ball", "size": [2, 2], "radius": 2.0},
                    {"kind": "box", "lower": -1.0, "upper": 1.0, "size": 2},
                ],
            },
            {"kind": "product", "blocks": [{"kind": "l1-ball", "size": 2, "radius": 3.0}]},
        ]

        def build(self, context: BuildContext) -> Product:
            blocks: list[Domain] = []
            for number, block in enumerate(self.blocks):
                with located("blocks", number):
                    blocks.append(block.build(context))
            return Product(tuple(blocks))

    def __init__(self, blocks: tuple[Domain, ...]):
        self.blocks = blocks
        sizes = [math.prod(block.shape) for block in blocks]
        self.starts = list(accumulate(sizes, initial=0))
        self.shape = (self.starts[-1],)
        self.radius = float(np.linalg.norm([block.radius for block in blocks]))
        self.diameter = float(np.linalg.norm([block.diameter for block in blocks]))
        self.projects = all(block.projects for block in blocks)

    @property
    def product(self) -> tuple[Domain, ...]:
        return self.blocks

    @cached_property
    def lift(self) -> Lift | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Block by block; a block that has none stays as it is."""
        lifts = [block.lift for block in self.blocks]
        if not any(lifts):
            return None
        pairs = zip(self.blocks, lifts, strict=True)
        parts = [sp.eye_array(math.prod(block.shape)) if lift is None else lift.matrix for block, lift in pairs]
        return Lift(Product(tuple(block.projected for block in self.blocks)), sp.csr_array(sp.block_diag(parts)))

    @property
    def trusts(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(name for block in self.blocks for name in block.trusts)

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        """min <g, x> = sum_i min <g_i, x_i>: the blocks minimise independently, each from its part of the direction."""
        warms = (None,) * len(self.blocks) if request.warm is None else request.warm
        answers: list[OracleAnswer] = []
        for block, piece, warm in zip(self.blocks, self._pieces(direction), warms, strict=True):
            answers.append(block.lmo(piece, replace(request, warm=warm, allowance=None)))
        begun = tuple(answer.warm for answer in answers)
        return OracleAnswer(
            atom=BlocksAtom(tuple(answer.atom for answer in answers)),
            value=sum(answer.value for answer in answers),
            lower=sum(answer.lower for answer in answers),
            exact=all(answer.exact for answer in answers),
            products=sum(answer.products for answer in answers),
            residual=max(answer.residual for answer in answers),
            converged=all(answer.converged for answer in answers),
            warm=None if all(warm is None for warm in begun) else begun,
        )

    def certified_minimum(self, direction: Direction, slack: float = 0.0, deadline: Deadline = NEVER) -> float | None:
        pairs, share = zip(self.blocks, self._pieces(direction), strict=True), slack / len(self.blocks)
        return _total([block.certified_minimum(piece, share, deadline) for block, piece in pairs])

    def probable_minimum(
        self,
        direction: Direction,
        failure: float,
        rng: np.random.Generator,
        slack: float = 0.0,
        deadline: Deadline = NEVER,
    ) -> float | None:
        """Each block may fail with its share of the probability; those that can be proven are."""
        minima: list[float | None] = []
        share, part = failure / len(self.blocks), slack / len(self.blocks)
        for block, piece in zip(self.blocks, self._pieces(direction), strict=True):
            least = block.certified_minimum(piece, part, deadline)
            minima.append(block.probable_minimum(piece, share, rng, part, deadline) if least is None else least)
        return _total(minima)

    def certificate_seconds(self, direction: Direction, product: float) -> float:
        pairs = zip(self.blocks, self._pieces(direction), strict=True)
        return sum(block.certificate_seconds(piece, product) for block, piece in pairs)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        return all(block.contains(part, tolerance) for block, part in zip(self.blocks, self.parts(x), strict=True))

    @property
    def factorised(self) -> int:
        return max(block.factorised for block in self.blocks)

    def project(self, x: np.ndarray) -> np.ndarray:
        parts = zip(self.blocks, self.parts(x), strict=True)
        return np.concatenate([block.project(part).reshape(-1) for block, part in parts])

    def parallel(self, direction: np.ndarray) -> np.ndarray:
        parts = zip(self.blocks, self.parts(direction), strict=True)
        return np.concatenate([block.parallel(part).reshape(-1) for block, part in parts])

    def gains(self, direction: Direction) -> dict[str, float]:
        pieces = zip(self.blocks, self._pieces(direction), strict=True)
        found = [block.gains(piece) for block, piece in pieces]
        return {f"blocks[{place}].{name}": gain for place, each in enumerate(found) for name, gain in each.items()}

    @property
    def entry_limits(self) -> np.ndarray:
        own = ((block, block.entry_limits) for block in self.blocks)
        return np.concatenate([np.full(b.shape, b.radius).ravel() if e is None else e.ravel() for b, e in own])

    @property
    def units(self) -> np.ndarray:
        """A block whose entries share theirs counts as one."""
        found: list[np.ndarray] = []
        first = 0
        for block in self.blocks:
            own = np.zeros(block.shape, dtype=int) if block.units is None else block.units
            found.append(own.reshape(-1) + first)
            first += int(own.max()) + 1
        return np.concatenate(found)

    @property
    def polyhedron(self) -> Polyhedron | None:
        parts = [block.polyhedron for block in self.blocks]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        lower, upper, least, most = (
            np.concatenate([getattr(part, name).reshape(-1) for part in known])
            for name in ("lower", "upper", "least", "most")
        )
        return Polyhedron(lower, upper, sp.csr_array(sp.block_diag([part.rows for part in known])), least, most)

    def start(self) -> Atom:
        return BlocksAtom(tuple(block.start() for block in self.blocks))

    def parts(self, x: np.ndarray) -> list[np.ndarray]:
        """Views of a flat point, one per block, in the shape of the block."""
        return [
            x[start:stop].reshape(block.shape)
            for block, start, stop in zip(self.blocks, self.starts[:-1], self.starts[1:], strict=True)
        ]

    def _pieces(self, direction: Direction) -> Iterator[Direction]:
        for block, part in zip(self.blocks, self.parts(direction.dense()), strict=True):
            piece = DenseDirection(part)
            yield piece.symmetrised() if block.symmetric else piece


def _total(minima: list[float | None]) -> float | None:
    """Their sum; None if one is missing."""
    found = [minimum for minimum in minima if minimum is not None]
    return sum(found) if len(found) == len(minima) else None
