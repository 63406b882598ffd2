"""What there is to build a spec of: every block, template and method with its parameters, read off the schemas."""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass, field
from typing import Any

from cgm_cli.spec import registry
from cgm_cli.spec.fields import REF_PLACEHOLDER, PolicySpec, StrictModel
from cgm_cli.spec.json_schema import model_properties
from cgm_cli.spec.metrics import Metric
from cgm_cli.spec.registry import METHODS
from cgm_cli.spec.summaries import FAMILIES

_WORDS = {"number": "number", "integer": "whole number", "boolean": "true or false", "string": "text"}


@dataclass(frozen=True)
class Parameter:
    """One field of a block. type: in words. default: its value; not meant when `required`."""

    name: str
    type: str
    required: bool
    default: Any
    description: str


@dataclass(frozen=True)
class CatalogueEntry:
    """One block, template or method. metrics: the figures that a template computes."""

    family: str
    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    examples: tuple[dict[str, Any], ...] = field(default=())
    metrics: tuple[Metric, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def entry(family: str, name: str) -> CatalogueEntry:
    """The member `name` of a family (a key of FAMILIES)."""
    kind = FAMILIES[family]
    if kind is None:
        return CatalogueEntry(family, name, METHODS[name])
    block = registry.lookup(kind, name)
    metrics = getattr(block, "measures", ())  # only templates have any
    return CatalogueEntry(family, name, first_line(block), parameters(block.Spec), tuple(block.Spec.examples), metrics)


def entries(family: str) -> list[CatalogueEntry]:
    """All of one family."""
    kind = FAMILIES[family]
    return [entry(family, name) for name in (METHODS if kind is None else registry.FAMILIES[kind])]


def parameters(model: type[StrictModel]) -> tuple[Parameter, ...]:
    """The fields of a schema, without the one that names it."""
    found = []
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    for name, schema, required in model_properties(model):
        if name not in ("kind", "mode", "template"):
            default = None if required else fields[name].get_default(call_default_factory=True)
            if isinstance(default, PolicySpec):
                default = default.name
            elif isinstance(default, StrictModel):
                default = default.model_dump(by_alias=True)
            found.append(Parameter(name, in_words(schema), required, default, schema.get("description", "")))
    return tuple(found)


def first_line(documented: type) -> str:
    """The first line of the docstring of a class."""
    return (inspect.getdoc(documented) or documented.__name__).partition("\n")[0]


def in_words(schema: dict[str, Any]) -> str:
    """The type that a JSON Schema stands for: `whole number > 0`, `list of numbers`, `one of a, b`."""
    if REF_PLACEHOLDER in schema:
        return schema[REF_PLACEHOLDER].removesuffix("-term")
    if "anyOf" in schema:
        members = [in_words(member) for member in schema["anyOf"] if member.get("type") != "null"]
        return " or ".join(dict.fromkeys(members))
    if "const" in schema:
        return _word(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(map(_word, schema["enum"]))
    kind = schema.get("type", "")
    if kind == "array":
        return f"list of {in_words(schema.get('items', {}))}"
    if kind == "object":
        keys = ", ".join(schema.get("properties", ()))
        return f"mapping ({keys})" if keys else "mapping"
    signs = {"exclusiveMinimum": ">", "minimum": ">=", "exclusiveMaximum": "<", "maximum": "<="}
    limits = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
    return " ".join([_WORDS.get(kind, "value"), " and ".join(limits)]).rstrip()


def _word(value: Any) -> str:
    """A constant as YAML has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
