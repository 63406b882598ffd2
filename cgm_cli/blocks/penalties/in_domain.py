"""The constraint that an image lies in a domain: a set without a projection, reached by linear minimisation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.fitting import fit, named
from cgm_cli.errors import ProblemError, located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, DomainField


@dataclass(frozen=True)
class InDomain:
    """A x - offset in a compact set S that is only minimised over: a slack variable psi in S, and A x - psi = offset.

    No ConvexSet: the composer turns it into a block of variables and an equation (paper, section 5.6).
    """

    domain: Domain
    offset: np.ndarray = field(default_factory=lambda: np.zeros(()))

    class Spec(BlockSpec):
        kind: Literal["in-domain"]
        domain: DomainField = Field(..., description="S, whose points have the shape of the image")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "in-domain", "domain": {"kind": "l1-ball", "size": 4, "radius": 2.0}},
            {"kind": "in-domain", "domain": {"kind": "nuclear-ball", "shape": [2, 2], "radius": 1.0}},
        ]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> InDomain:
            """Raises ProblemError if the image has not the shape of a point of S."""
            with located("domain"):
                domain: Domain = self.domain.build(context)
                if domain.shape != shape:
                    raise ProblemError(
                        f"a point of this domain is {named(domain.shape)}, but the image is {named(shape)}"
                    )
                context.reserve("slack variables", 2 * domain.memory)
            return InDomain(domain)

    def moved(self, offset: np.ndarray) -> InDomain:
        """The same set with an offset of shape () or of the shape of the image; ProblemError otherwise."""
        return replace(self, offset=fit(offset, self.domain.shape, "the offset", "the image"))
