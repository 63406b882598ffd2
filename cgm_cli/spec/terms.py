"""Terms of a composed problem: a penalty or a set, the map before it, and its weight, in one YAML mapping."""

from __future__ import annotations

from functools import cache
from typing import Annotated, cast

from pydantic import Field, create_model

from cgm_cli.spec import registry
from cgm_cli.spec.fields import (
    TERM_NAME,
    ArrayField,
    BlockSpec,
    MapField,
    Positive,
    Registered,
    StrictModel,
    identity_map,
)


class TermFields(StrictModel):
    """What every term has besides the parameters of its block: the term is g(A x - offset)."""

    map: MapField = Field(default_factory=identity_map, description="the linear map A before the function")
    offset: ArrayField | None = Field(None, description="subtracted from A x; nothing when left out")
    weight: Positive = Field(1.0, description="the term is smoothed with beta / weight")
    name: str | None = Field(None, pattern=TERM_NAME, max_length=60, description="what tables and logs call the term")


@cache
def term_model(spec: type[BlockSpec]) -> type[BlockSpec]:
    """`spec` with the fields of a term added. It is a subclass: an instance has the `build` of the block."""
    model = create_model(f"{spec.__qualname__}.Term", __base__=(TermFields, spec), __module__=spec.__module__)
    return cast(type[BlockSpec], model)


class RegisteredTerm(Registered):
    """Like Registered, for a block that stands in a list of terms."""

    def schema(self, name: str) -> type[BlockSpec]:
        return term_model(registry.lookup(self.family, name).Spec)

    @property
    def definition(self) -> str:
        return f"{self.family}-term"


PenaltyField = Annotated[BlockSpec, RegisteredTerm("penalty")]
ConstraintField = Annotated[BlockSpec, RegisteredTerm("set")]
