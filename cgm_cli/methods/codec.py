"""Dataclasses of arrays and numbers as nested mappings, and back: how everything that a run remembers gets into a
checkpoint. The fields of a dataclass say what it holds, so what is added to one is in the next checkpoint.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def pack(value: Any) -> Any:
    """Of a dataclass its fields by name, but for those that are None; of a tuple its entries by their place; anything
    else, an array or a plain value, is itself, by reference.
    """
    if is_dataclass(value):
        held = {field.name: getattr(value, field.name) for field in fields(value)}
        return {name: pack(part) for name, part in held.items() if part is not None}
    if isinstance(value, tuple):
        return {str(place): pack(part) for place, part in enumerate(cast(tuple[Any, ...], value))}
    return value


def unpack(kind: type[T], tree: Any) -> T:
    """The value of this type that `pack` made the tree of. Raises KeyError, TypeError or ValueError if it fits none.

    `tuple[Any, ...]` is a tree: a tuple of arrays, plain values and such tuples.
    """
    return _unpacked(kind, tree)


def _unpacked(kind: Any, tree: Any) -> Any:
    if isinstance(kind, types.UnionType) or get_origin(kind) is Union:
        if tree is None:
            return None
        members = [member for member in get_args(kind) if member is not types.NoneType]
        kind = next((member for member in members if _is_nested(member) == isinstance(tree, Mapping)), members[0])
    if is_dataclass(kind):
        if not isinstance(tree, Mapping):
            raise TypeError(f"expected a mapping, got {type(tree).__name__}")
        made, held = cast(type[Any], kind), cast(Mapping[str, Any], tree)
        return made(**{name: _unpacked(hint, _field(held, name, hint)) for name, hint in _hints(kind).items()})
    if get_origin(kind) is tuple or (kind is Any and isinstance(tree, Mapping)):
        (member, *_) = get_args(kind) or (Any,)
        parts = cast(Mapping[str, Any], tree)
        return tuple(_unpacked(member, parts[key]) for key in sorted(parts, key=int))
    return kind(tree) if kind in (bool, int, float, str) else tree


def _is_nested(kind: Any) -> bool:
    """Whether `pack` makes a mapping of such a value."""
    return is_dataclass(kind) or get_origin(kind) is tuple


def _field(tree: Mapping[str, Any], name: str, hint: Any) -> Any:
    """A part of a mapping; None, which `pack` leaves out, where the hint admits it."""
    return tree.get(name) if types.NoneType in get_args(hint) else tree[name]


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
