"""Field types and base classes shared by every schema of the spec. Imports no numerics."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Size = Annotated[int, Field(gt=0)]
Count = Annotated[int, Field(ge=0)]


class StrictModel(BaseModel):
    """Unknown keys are refused, types are not coerced, nan and inf are refused, instances do not change."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class BlockSpec(StrictModel):
    """The schema of one registered block. A subclass adds `kind: Literal["..."]`, its parameters, and `build`.

    `examples` are small valid parameter sets: `cgm list`, the JSON Schema and the property tests are made from them.
    """

    examples: ClassVar[list[dict[str, Any]]] = []
    kind: str


class FileArray(StrictModel):
    """An array in a file: looked up beside the spec, in the folders of $CGM_DATA, then in the project's data/."""

    file: str = Field(min_length=1, description="path of the file")
    key: str | None = Field(None, description="name of the array inside a .mat, .npz or .h5 file")
    transpose: bool = Field(False, description="use the transpose of the stored matrix")


# Strings such as "nan" never get here: the YAML reader yields floats or strings, and strings are refused.
Vector = list[Finite]
Matrix = list[list[Finite]]
ArrayField = Finite | Vector | Matrix | FileArray
