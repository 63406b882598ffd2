"""Field types and base classes shared by every schema of the spec. Imports no numerics.

A block that holds other blocks annotates them with `DomainField`, `MapField`, `LossField` or `SetField`; what stands
there in YAML is validated by the schema that its `kind` names in the registry, looked up only then.
"""

from __future__ import annotations

import codecs
from functools import cache
from itertools import islice
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    TypeAdapter,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from cgm_cli.errors import MOST_TOLD
from cgm_cli.spec import registry
from cgm_cli.text import COMPLEX_ARE, did_you_mean

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


def _whole(value: Any) -> Any:
    """1e3 is a whole number as well; 2**63 is where those of YAML end."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value


# Behind the bounds in an annotation: what is applied last comes first.
FromFloat = BeforeValidator(_whole)
Size = Annotated[int, Field(gt=0), FromFloat]
Count = Annotated[int, Field(ge=0), FromFloat]

# Patterns of text fields; cgm_cli.spec.explain says them in words.
SLUG = r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$"
TERM_NAME = r"^[A-Za-z0-9_-]+$"
FUNCTION = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$"
SHA256 = r"^[0-9a-fA-F]{64}$"

# Stands for a reference in a schema until cgm_cli.spec.json_schema knows all families and turns it into a $ref.
REF_PLACEHOLDER = "x-cgm-family"


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass

    @dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field, PrivateAttr))
    class _Frozen(ModelMetaclass):
        """Says to a type checker what `frozen=True` says to pydantic, of all models: fields may then be narrowed."""

else:
    _Frozen = type(BaseModel)


class StrictModel(BaseModel, metaclass=_Frozen):
    """Unknown keys are refused, types are not coerced, nan and inf are refused, instances do not change."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _note_schema(cls, value: Any, info: ValidationInfo) -> Any:
        # A validation error does not say which schema it comes from; "did you mean" needs the names that schema knows.
        if info.context is not None:
            info.context[id(value)] = cls
        return value


class BlockSpec(StrictModel):
    """The schema of one registered block. A subclass adds `kind: Literal["..."]`, its parameters, and `build`.

    `examples` are small valid parameter sets: `cgm list`, the JSON Schema and the property tests are made from them.
    """

    examples: ClassVar[list[dict[str, Any]]] = []
    kind: str

    def build(self, *given: Any, **named: Any) -> Any:
        """The block: of a context, and of the shape that it acts on where that is not its own to say."""
        raise NotImplementedError


class PythonSpec(BlockSpec):
    """A block that a Python function of the user's makes: in place of a registered one, `{python: "module:function"}`.

    It is run only where that is allowed (`cgm_cli.readers.functions`).
    """

    kind: Literal["python"] = "python"  # pyright: ignore[reportIncompatibleVariableOverride]
    python: str = Field(pattern=FUNCTION, description="`module:function`; what it returns is the block")
    file: str | None = Field(
        None, min_length=1, description="the file of the module, found as data files are; left out: that of its name"
    )

    @model_validator(mode="before")
    @classmethod
    def _named_file(cls, value: Any, info: ValidationInfo) -> Any:
        # The file is a data file like any other to whatever looks for these in a spec.
        if not isinstance(value, dict) or "file" in value or not isinstance(value.get("python"), str):
            return value
        if info.context is not None:
            info.context[id(value)] = cls
        return {**value, "file": value["python"].partition(":")[0].replace(".", "/") + ".py"}

    @property
    def source(self) -> str:
        """The name of its file."""
        assert self.file is not None  # the validator has seen to it
        return self.file


class TemplateSpec(StrictModel):
    """The schema of one registered template. A subclass adds `template: Literal["..."]`, its parameters, and `build`.

    `examples` as in BlockSpec; `cgm init` writes the first one.
    """

    examples: ClassVar[list[dict[str, Any]]] = []
    template: str

    def build(self, *given: Any, **named: Any) -> Any:
        """The template: of a context."""
        raise NotImplementedError


class PolicySpec(StrictModel):
    """The schema of one registered policy of the loop. A subclass adds `kind: Literal["..."] = "..."` (`mode` for the
    accuracies of oracles), its parameters, and `build(problem, setting)`. `examples` as in BlockSpec.
    """

    examples: ClassVar[list[dict[str, Any]]] = []

    @property
    def name(self) -> str:
        """The name it has in the registry."""
        return getattr(self, "kind", None) or getattr(self, "mode", "")

    def written(self) -> str | dict[str, Any]:
        """As a person would write it: the name, where nothing else is said, or a mapping without what is left out."""
        said = self.model_dump(exclude_defaults=True)
        tag = "kind" if hasattr(self, "kind") else "mode"
        return self.name if said.keys() <= {tag} else {tag: self.name, **said}


class Registered:
    """Marks a field as a block of one `family` of the registry: `Annotated[BlockSpec, Registered("map")]`.

    The value must be a mapping (or already a spec of the family) whose `tag` is a registered name. Errors inside it
    keep their own locations, because pydantic splices a nested ValidationError into the outer one.
    """

    def __init__(self, family: str, tag: str = "kind"):
        self.family = family
        self.tag = tag

    def schema(self, name: str) -> type[StrictModel]:
        """The model that validates a block of this family called `name`; KeyError for an unknown name."""
        return registry.lookup(self.family, name).Spec

    def names(self) -> list[str]:
        """The registered names, in the order of the registry."""
        return list(registry.FAMILIES[self.family])

    def validate(self, value: Any, info: ValidationInfo) -> StrictModel:
        """The validated spec of `value`."""
        if isinstance(value, StrictModel):
            return value
        if not isinstance(value, dict):
            raise PydanticCustomError("block_type", "expected a mapping with a `{tag}`", {"tag": self.tag})
        if self.family in registry.PYTHON and ("python" in value or value.get(self.tag) == "python"):
            return registry.python_spec(self.family).model_validate(value, context=info.context)
        if self.tag not in value:
            raise PydanticCustomError("missing_tag", "missing key `{tag}`", {"tag": self.tag, "family": self.family})
        name = value[self.tag]
        if not isinstance(name, str) or name not in self.names():
            raise PydanticCustomError("unknown_name", "unknown name", {"tag": self.tag, "family": self.family})
        return self.schema(name).model_validate(value, context=info.context)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {REF_PLACEHOLDER: self.definition}

    @property
    def definition(self) -> str:
        """The name of this family's union under `$defs` of the JSON Schema."""
        return self.family


class RegisteredPolicy(Registered):
    """Like Registered, for a policy: its name alone stands for it with its defaults; `usual`: the name of a mapping
    that has none. Written back as the name where that says everything.
    """

    def __init__(self, family: str, tag: str = "kind", usual: str | None = None):
        super().__init__(family, tag)
        self.usual = usual

    def validate(self, value: Any, info: ValidationInfo) -> StrictModel:
        if isinstance(value, str):
            if value not in self.names():
                raise PydanticCustomError("unknown_policy", "unknown name", {"family": self.family})
            return self.schema(value).model_validate({self.tag: value})
        if isinstance(value, dict) and self.tag not in value and self.usual is not None:
            whole = {self.tag: self.usual, **value}
            found = self.schema(self.usual)
            if info.context is not None:
                info.context[id(value)] = found
            return found.model_validate(whole, context=info.context)
        return super().validate(value, info)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        written = core_schema.plain_serializer_function_ser_schema(self._written)
        return core_schema.with_info_plain_validator_function(self.validate, serialization=written)

    def _written(self, policy: PolicySpec) -> Any:
        whole = policy.model_dump(by_alias=True)
        plain = self.usual is None and whole == self.schema(policy.name)().model_dump(by_alias=True)
        return policy.name if plain else whole


def policy(family: str, name: str) -> PolicySpec:
    """A policy with its defaults."""
    return registry.lookup(family, name).Spec()


def identity_map() -> BlockSpec:
    """The default of a `map` field: `map: MapField = Field(default_factory=identity_map)`."""
    return registry.lookup("map", "identity").Spec(kind="identity")


DomainField = Annotated[BlockSpec, Registered("domain")]
MapField = Annotated[BlockSpec, Registered("map")]
LossField = Annotated[BlockSpec, Registered("loss")]
SetField = Annotated[BlockSpec, Registered("set")]
SmoothingField = Annotated[PolicySpec, RegisteredPolicy("smoothing")]
StepField = Annotated[PolicySpec, RegisteredPolicy("step")]
OracleField = Annotated[PolicySpec, RegisteredPolicy("oracle", tag="mode", usual="fixed")]
CorrectionField = Annotated[PolicySpec, RegisteredPolicy("correction")]
DualsField = Annotated[PolicySpec, RegisteredPolicy("duals")]


class FileArray(StrictModel):
    """An array in a file: looked up beside the spec, in the folders of $CGM_DATA, then in the project's data/."""

    file: str = Field(min_length=1, description="path of the file")
    key: str | None = Field(None, description="name of the array inside a .mat, .npz or .h5 file")
    transpose: bool = Field(False, description="use the transpose of the stored matrix")
    scale: Positive = Field(1.0, description="what every entry is multiplied by, such as 1e-4 where that is their unit")


def _known_encoding(name: str) -> str:
    try:
        codecs.lookup(name)
        "".encode(name)
    except (LookupError, ValueError):
        raise ValueError("no text encoding that Python knows: utf-8, utf-16, latin-1, windows-1252 ...") from None
    return name


EncodingField = Annotated[
    Annotated[str, AfterValidator(_known_encoding)] | None,
    Field(description="of its text, such as windows-1252; left out: as its byte order mark says, else utf-8"),
]

SheetField = Annotated[
    str | Size | None,
    Field(description="of a workbook, .xlsx: name of the sheet, or its number from 1; left out: the first"),
]

ColumnName = str | Size
"""A heading, or a number from 1; of several columns also a range: `a..e`, `1..5`."""


class TableOptions(StrictModel):
    """Which columns of a table are wanted, and how its cells are read."""

    columns: str | list[ColumnName] | None = Field(
        None, description="headings, numbers from 1 or ranges (`a..e`) of the columns that are wanted"
    )
    without: list[ColumnName] | None = Field(None, alias="except", description="or of those that are not")
    decimal: Literal[".", ","] | None = Field(
        None, description="what stands before a fraction; left out: as it is seen"
    )
    names: ColumnName | None = Field(
        None, description="heading or number of a column that names the rows, and is none of those that are wanted"
    )
    missing: Literal["refuse", "drop"] = Field(
        "refuse", description="rows with an empty cell, NA, NaN or ? among these columns: an error, or left out"
    )
    encoding: EncodingField = None
    sheet: SheetField = None

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.columns is not None and self.without is not None:
            raise ValueError("give `columns` or `except`, not both")
        return self


class TableArray(FileArray, TableOptions):
    """Columns of a table in a file (.csv, .tsv, .txt, .parquet, .feather, .xlsx): a matrix; or one, a vector."""

    column: ColumnName | None = Field(None, description="heading or number of one column: a vector")

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        if self.column is not None and (self.columns is not None or self.without is not None):
            raise ValueError("give `column` for one column, or `columns` or `except` for several, not both")
        return self


class GraphFile(FileArray):
    """A graph in a file; of a list of edges in a table also which columns it is in, and what its weights are."""

    columns: Annotated[list[ColumnName], Field(min_length=2, max_length=2)] | None = Field(
        None,
        description="of a list of edges: headings or numbers of the two columns of nodes; left out: as they are seen",
    )
    weight: ColumnName | None = Field(
        None,
        description="and of that of the weights; left out beside `columns`: every edge weighs 1. In GML and GraphML: "
        "what the weights of edges are called; left out: `weight`, else `value`",
    )
    encoding: EncodingField = None
    sheet: SheetField = None


# Strings such as "nan" never get here: the YAML reader yields floats or strings, and strings are refused.
Vector = list[Finite]
Matrix = list[list[Finite]]


class _ArrayByForm:
    """Picks the member of the union that the value's form asks for: a fault is told once, not once per member."""

    def validate(self, value: Any, handler: Any, info: ValidationInfo) -> Any:
        if isinstance(value, dict):
            if value.keys() & ComplexArray.model_fields.keys():
                message = "expected real numbers, got complex ones ({which})"
                raise PydanticCustomError("complex_type", message, {"which": COMPLEX_ARE})
            return _by_keys([FileArray, TableArray], value).model_validate(value, context=info.context)
        if isinstance(value, list) and any(isinstance(row, list) for row in value):
            matrix = _adapter(Matrix).validate_python(value)
            for row in matrix:
                if len(row) != len(matrix[0]):
                    lengths = {"first": len(matrix[0]), "other": len(row), "row": matrix.index(row) + 1}
                    raise PydanticCustomError(
                        "ragged",
                        "row 1 has {first} entries, but row {row} has {other}: every row needs as many",
                        lengths,
                    )
            return matrix
        if isinstance(value, list):
            return _adapter(Vector).validate_python(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _adapter(Finite).validate_python(value)
        if isinstance(value, FileArray):
            return value
        raise PydanticCustomError("array_type", "expected a number, a list of numbers, a list of rows, or {file: ...}")

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.with_info_wrap_validator_function(self.validate, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {REF_PLACEHOLDER: "array"}


@cache
def _adapter(form: Any) -> TypeAdapter:
    return TypeAdapter(form, config=ConfigDict(strict=True, allow_inf_nan=False))


ArrayField = Annotated[Finite | Vector | Matrix | FileArray | TableArray, _ArrayByForm()]


class ComplexArray(StrictModel):
    """A complex array by its parts, each an array of real numbers."""

    real: ArrayField | None = Field(None, description="the real part; left out: zero")
    imaginary: ArrayField = Field(description="the imaginary part")


class ByKeys:
    """Marks a union of mappings: a mapping is validated by the member that knows most of its keys, and by no other.

    So its faults are told once. Other values go through the union as it is: `Annotated[FileArray | Random, ByKeys()]`.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        models = mappings(source)

        def validate(value: Any, inner: Any, info: ValidationInfo) -> Any:
            if isinstance(value, dict):
                return _by_keys(models, value).model_validate(value, context=info.context)
            return inner(value)

        return core_schema.with_info_wrap_validator_function(validate, handler(source))


GraphField = Annotated[GraphFile | ArrayField, ByKeys()]
"""A graph by its matrix, or in a file."""

ComplexField = Annotated[ArrayField | ComplexArray, ByKeys()]
"""An array of real or of complex numbers: these in a file, or by their parts."""


def mappings(annotation: Any) -> list[type[StrictModel]]:
    """The models among the members of a union, in its order."""
    if isinstance(annotation, type) and issubclass(annotation, StrictModel):
        return [annotation]
    members = get_args(annotation)
    if get_origin(annotation) is Annotated:
        members = members[:1]
    elif get_origin(annotation) not in (Union, UnionType):
        members = ()
    return [model for member in members for model in mappings(member)]


def _by_keys(models: list[type[StrictModel]], value: dict[str, Any]) -> type[StrictModel]:
    """The model that shares most keys with `value`; misspelt ones count where no other does, then what is missing."""

    def rank(model: type[StrictModel]) -> tuple[int, int, int]:
        names = _keys(model)
        exact = sum(key in names for key in value)
        # Names that are close take a while to find: the first keys tell.
        close = sum(did_you_mean(str(key), names) is not None for key in islice(value, MOST_TOLD))
        return exact, close, -sum(name not in value for name in _keys(model, required=True))

    best = max(models, key=rank)
    if rank(best)[:2] == (0, 0):
        forms = ["{" + ", ".join(_keys(model, required=True)) + "}" for model in models]
        told = " or ".join(dict.fromkeys(forms))
        raise PydanticCustomError("form_type", "expected a mapping with the keys {forms}", {"forms": told})
    if not value.keys() <= set(_keys(best)):
        # Who is told which keys there are is told all of them.
        best = max((model for model in models if issubclass(model, best)), key=lambda model: len(_keys(model)))
    return best


def _keys(model: type[StrictModel], required: bool = False) -> list[str]:
    fields = model.model_fields.items()
    return [field.alias or name for name, field in fields if field.is_required() or not required]
