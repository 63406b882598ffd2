"""JSON Schema (draft 2020-12) of the whole spec, one definition per block: `domain` is any of `domain.box` ..."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter

from cgm_cli.spec import registry
from cgm_cli.spec.fields import (
    REF_PLACEHOLDER,
    FileArray,
    Finite,
    Matrix,
    Registered,
    RegisteredPolicy,
    TableArray,
    Vector,
)
from cgm_cli.spec.model import Spec
from cgm_cli.spec.terms import RegisteredTerm

DIALECT = "https://json-schema.org/draft/2020-12/schema"

FIELDS = (
    Registered("domain"),
    Registered("loss"),
    Registered("map"),
    Registered("set"),
    RegisteredTerm("penalty"),
    RegisteredTerm("set"),
    Registered("template", tag="template"),
)
POLICIES = (
    RegisteredPolicy("smoothing"),
    RegisteredPolicy("step"),
    RegisteredPolicy("oracle", tag="mode", usual="fixed"),
    RegisteredPolicy("correction"),
    RegisteredPolicy("duals"),
)


def spec_schema() -> dict[str, Any]:
    """The schema of a spec file."""
    definitions: dict[str, Any] = {}
    root = _own(TypeAdapter(Spec).json_schema(), "spec", definitions)
    # A spec without a name has that of its file, and one that extends another may have everything from there.
    del root["required"]
    root["anyOf"] = [{"required": ["problem"]}, {"required": ["extends"]}]
    root["properties"]["extends"] = {"type": "string", "description": "path of the spec that this one changes"}
    definitions["array"] = _own(
        TypeAdapter(Finite | Vector | Matrix | FileArray | TableArray).json_schema(), "array", definitions
    )
    for field in (*FIELDS, *POLICIES):
        members = [f"{field.definition}.{name}" for name in field.names()]
        if isinstance(field, Registered) and field.family in registry.PYTHON:
            members.append(f"{field.definition}.python")
            definitions[members[-1]] = _own(
                registry.python_spec(field.family).model_json_schema(), members[-1], definitions
            )
        definitions[field.definition] = {"oneOf": [{"$ref": f"#/$defs/{member}"} for member in members]}
        for name, member in zip(field.names(), members, strict=False):
            definitions[member] = _own(field.schema(name).model_json_schema(), member, definitions)
    for field in POLICIES:
        # Its name alone is enough.
        definitions[field.definition]["oneOf"].insert(0, {"enum": field.names()})
    return {"$schema": DIALECT, **root, "title": "cgm spec", "$defs": definitions}


def model_properties(model: type) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Name, schema and whether it is required, of each field of a model; references are resolved inside it only."""
    schema = TypeAdapter(model).json_schema()
    for name, value in schema["properties"].items():
        yield name, _inlined(value, schema.get("$defs", {})), name in schema.get("required", ())


def _own(schema: dict[str, Any], owner: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """`schema` with its own `$defs` moved into `definitions`, under names that begin with the owner's."""
    local = schema.pop("$defs", {})
    renamed = {f"#/$defs/{name}": f"#/$defs/{owner}.{name}" for name in local}
    for name, value in local.items():
        definitions[f"{owner}.{name}"] = _linked(value, renamed)
    return _linked(schema, renamed)


def _linked(node: Any, renamed: dict[str, str]) -> Any:
    """`node` with references renamed and placeholders turned into references."""
    if isinstance(node, list):
        return [_linked(item, renamed) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: _linked(value, renamed) for key, value in node.items()}
    if REF_PLACEHOLDER in out:
        out["$ref"] = f"#/$defs/{out.pop(REF_PLACEHOLDER)}"
    elif isinstance(out.get("$ref"), str):
        out["$ref"] = renamed.get(out["$ref"], out["$ref"])
    return out


def _inlined(node: Any, local: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(item, local) for item in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("$ref"), str):
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _inlined({**local[node["$ref"].removeprefix("#/$defs/")], **beside}, local)
    return {key: _inlined(value, local) for key, value in node.items()}
