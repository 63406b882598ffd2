"""pydantic's validation errors -> faults in plain words, each at its place in the tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cgm_cli.errors import MOST_TOLD
from cgm_cli.spec import registry
from cgm_cli.spec.fields import FUNCTION, SHA256, SLUG, TERM_NAME
from cgm_cli.text import did_you_mean, quoted

TreePath = tuple[str | int, ...]

_EXPECTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "none_required": "null",
}
_COMPARED = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "multiple_of": ("a multiple of", "multiple_of"),
}
_LENGTHS = {
    "too_short": ("at least", "min_length", "entry", "entries"),
    "too_long": ("at most", "max_length", "entry", "entries"),
    "string_too_short": ("at least", "min_length", "character", "characters"),
    "string_too_long": ("at most", "max_length", "character", "characters"),
}
_PATTERNS = {
    SLUG: "letters, digits, `.`, `_` and `-`, at most 100, beginning with a letter, a digit or `_`",
    TERM_NAME: "letters, digits, `_` and `-`",
    FUNCTION: "`module:function`, such as `mymodule:make_map`",
    SHA256: "64 hexadecimal digits",
}
# What says by itself what is wrong: the value has the right type.
_TELLING = {*_COMPARED, *_LENGTHS, "finite_number", "ragged", "value_error"}
_FAMILY_NAME = {"set": "constraint set", "oracle": "accuracy", "duals": "dual update"}
_FAMILY_PLACE = {"set": "`constraints`", "penalty": "`penalties`", "loss": "`objective`", "domain": "`domain`"}


@dataclass(frozen=True)
class Complaint:
    """A fault without its line: `at_key` says that the key is wrong, not the value that it has."""

    path: TreePath
    message: str
    hint: str | None = None
    at_key: bool = False


_Finding = tuple[TreePath, Callable[[], Complaint]]


def explain(
    error: ValidationError, tree: Any, schemas: dict[int, type], place: Callable[[TreePath], tuple[int, int]]
) -> tuple[list[Complaint], int]:
    """Complaints about `tree`, the first MOST_TOLD of them in the order of their `place`, and how many more there are.

    schemas: the validation context, id of a mapping -> the model that validated it.
    """
    found: list[_Finding] = []
    unions: dict[TreePath, list[tuple[TreePath, ErrorDetails]]] = {}
    for entry in error.errors(include_url=False):
        path, branch = _locate(entry, tree)
        if branch is None:
            found.append((path, partial(_complaint, entry, path, tree, schemas)))
        else:
            unions.setdefault(branch, []).append((path, entry))
    for branch, members in unions.items():
        found += _union(branch, members, tree, schemas)
    # Words are found last, and only for those that are told: a likely name takes a while to find.
    found.sort(key=lambda finding: place(finding[0]))
    return [complaint() for _, complaint in found[:MOST_TOLD]], len(found[MOST_TOLD:])


def shown(value: Any) -> str:
    """A value as messages quote it: `text 'abc'`, `3.5`, `true`, `a list of 3`."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"text '{quoted(value)}'"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "a mapping"
    return str(value)


def _locate(entry: ErrorDetails, tree: Any) -> tuple[TreePath, TreePath | None]:
    """The path in the tree, and the place of the first union on the way: pydantic puts member names into `loc`."""
    path: list[str | int] = []
    branch: TreePath | None = None
    node = tree
    for index, step in enumerate(entry["loc"]):
        last = index == len(entry["loc"]) - 1
        if _has(node, step):
            node = node[step]
        elif isinstance(node, dict) and step == "[key]":
            continue
        elif not (last and entry["type"] == "missing"):
            branch = tuple(path) if branch is None else branch
            continue
        path.append(step)
    return tuple(path), branch


def _has(node: Any, step: str | int) -> bool:
    if isinstance(node, dict):
        return step in node
    return isinstance(node, list) and isinstance(step, int) and step < len(node)


def _union(
    branch: TreePath, members: Sequence[tuple[TreePath, ErrorDetails]], tree: Any, schemas: dict[int, type]
) -> list[_Finding]:
    """One complaint for a value that fits no member of a union; those of the member that went deepest if one did."""
    inside = [(path, entry) for path, entry in members if len(path) > len(branch)]
    if inside:
        return [(path, partial(_complaint, entry, path, tree, schemas)) for path, entry in inside]
    for _, entry in members:
        if entry["type"] in _TELLING:
            return [(branch, partial(_complaint, entry, branch, tree, schemas))]
    return [(branch, partial(_no_member, branch, [entry for _, entry in members], tree))]


def _no_member(branch: TreePath, entries: Sequence[ErrorDetails], tree: Any) -> Complaint:
    expected = list(dict.fromkeys(_expected(entry) for entry in entries))
    value = _node(tree, branch)
    names = [name.strip("'") for entry in entries if entry["type"] == "literal_error" for name in _choices(entry)]
    hint = (did_you_mean(value, names) if isinstance(value, str) else None) or _number_hint(value)
    return Complaint(branch, f"expected {' or '.join(expected)}, got {shown(value)}", hint)


def _complaint(entry: ErrorDetails, path: TreePath, tree: Any, schemas: dict[int, type]) -> Complaint:
    kind, context = entry["type"], entry.get("ctx") or {}
    value = entry["input"]
    if kind == "extra_forbidden":
        fields = _fields(schemas.get(id(_node(tree, path[:-1]))))
        hint = did_you_mean(str(path[-1]), list(fields))
        if hint is None and fields:
            hint = f"known here: {', '.join(fields)}"
        return Complaint(path, f"unknown key `{quoted(str(path[-1]))}`", hint, at_key=True)
    if kind == "missing":
        description = _fields(schemas.get(id(_node(tree, path[:-1])))).get(str(path[-1]))
        return Complaint(path[:-1], f"missing key `{path[-1]}`", description, at_key=True)
    if kind == "missing_key":
        return Complaint(path, entry["msg"], context["hint"], at_key=True)
    if kind == "missing_tag":
        names = ", ".join(registry.FAMILIES[context["family"]])
        return Complaint(path, f"missing key `{context['tag']}`", f"one of: {names}", at_key=True)
    if kind == "unknown_policy":
        return _unknown_name(path, context["family"], None, value)
    if kind == "unknown_name":
        return _unknown_name(path, context["family"], context["tag"], value[context["tag"]])
    if kind in ("form_type", "complex_type"):
        return Complaint(path, entry["msg"])
    if kind in ("block_type", "array_type", "ragged"):
        got = "" if kind == "ragged" else f", got {shown(value)}"
        return Complaint(path, entry["msg"] + got, _number_hint(value))
    if kind == "value_error":
        got = "" if isinstance(value, dict) else f", got {shown(value)}"
        return Complaint(path, f"{context['error']}{got}")
    if kind == "string_pattern_mismatch":
        expected = _PATTERNS.get(context["pattern"], f"text that matches {context['pattern']}")
        return Complaint(path, f"expected {expected}, got {shown(value)}")
    if kind == "literal_error":
        hint = did_you_mean(value, _choices(entry)) if isinstance(value, str) else None
        return Complaint(path, f"expected {_expected(entry)}, got {shown(value)}", hint)
    if kind == "finite_number":
        return Complaint(path, f"expected a finite number, got {shown(value)}")
    if kind in _EXPECTED or kind in _COMPARED:
        return Complaint(path, f"expected {_expected(entry)}, got {shown(value)}", _hint(kind, value))
    if kind in _LENGTHS:
        return Complaint(path, _length(kind, context, value))
    message = entry["msg"]
    return Complaint(path, message[:1].lower() + message[1:])


def _length(kind: str, context: dict[str, Any], value: Any) -> str:
    """What is wrong with the length of a list, mapping or text: "needs at least 2 entries, but has 1"."""
    bound, key, one, many = _LENGTHS[kind]
    limit, given = context[key], len(value)
    if kind == "string_too_short" and given == 0:
        return "expected some text, got none"
    verb = "needs" if bound == "at least" else "takes"
    return f"{verb} {bound} {limit} {one if limit == 1 else many}, but has {given or 'none'}"


def _unknown_name(path: TreePath, family: str, tag: str | None, name: Any) -> Complaint:
    path = path if tag is None else (*path, tag)
    if not isinstance(name, str):
        return Complaint(path, f"expected the name of a {_FAMILY_NAME.get(family, family)}, got {shown(name)}")
    hint = did_you_mean(name, list(registry.FAMILIES[family]))
    elsewhere = [place for other, place in _FAMILY_PLACE.items() if name in registry.FAMILIES[other]]
    if elsewhere:
        hint = f"`{name}` belongs under {' or '.join(elsewhere)}"
    elif hint is None:
        hint = f"one of: {', '.join(registry.FAMILIES[family])}"
    return Complaint(path, f"unknown {_FAMILY_NAME.get(family, family)} `{quoted(name)}`", hint)


def _expected(entry: ErrorDetails) -> str:
    kind, context = entry["type"], entry.get("ctx") or {}
    if kind == "literal_error":
        choices = _choices(entry)
        return f"`{choices[0]}`" if len(choices) == 1 else "one of " + ", ".join(f"`{choice}`" for choice in choices)
    if kind in _COMPARED:
        words, key = _COMPARED[kind]
        return f"{words} {context[key]:g}"
    return _EXPECTED.get(kind) or entry["msg"].removeprefix("expected ")


def _choices(entry: ErrorDetails) -> list[str]:
    """The members of a Literal, out of pydantic's "'a', 'b' or 'c'"."""
    return entry.get("ctx", {})["expected"].replace(" or ", ", ").replace("'", "").split(", ")


def _hint(kind: str, value: Any) -> str | None:
    if kind == "bool_type" and isinstance(value, str) and value.lower() in ("yes", "on", "no", "off", "y", "n"):
        return "write true or false"
    if kind == "string_type" and not isinstance(value, list | dict) and value is not None:
        return "put it into quotes"
    return _number_hint(value)


def _number_hint(value: Any) -> str | None:
    """Why a text that looks like a number is not one."""
    if not isinstance(value, str) or len(value) > 60:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    if value.lower().lstrip("+-").startswith(("inf", "nan")):
        return None
    return f"write {number:g}, without quotes" if "_" not in value else "write it without underscores"


def _fields(model: type | None) -> dict[str, str | None]:
    """Name in YAML -> description, of the fields of a model."""
    if model is None:
        return {}
    return {field.alias or name: field.description for name, field in model.model_fields.items()}


def _node(tree: Any, path: TreePath) -> Any:
    for step in path:
        tree = tree[step]
    return tree
