"""`--set a.b.0.c=value`: the value goes through the same YAML reader and the same schema as the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgm_cli.spec.faults import Fault, SpecError
from cgm_cli.spec.yaml_reader import TreePath, parse_value
from cgm_cli.text import quoted


def apply(tree: dict[str, Any], overrides: Sequence[str]) -> dict[TreePath, str]:
    """Write the overrides into `tree`, and return which path each one set. SpecError with all that cannot be applied.

    Mappings on the way are made where they are missing; a list must already have the index.
    """
    origins: dict[TreePath, str] = {}
    faults: list[Fault] = []
    more = 0
    for override in overrides:
        try:
            path, value = _parse(override)
            _set(tree, path, value, override)
            origins[path] = override
        except SpecError as error:
            faults += error.faults
            more += error.more
    if faults:
        raise SpecError(faults, more=more)
    return origins


def _parse(override: str) -> tuple[tuple[str, ...], Any]:
    dotted, equals, text = override.partition("=")
    steps = dotted.strip().split(".")
    if not equals or not all(steps) or not dotted.isprintable():
        raise _fault("expected `key.key=value`", override)
    try:
        value = parse_value(text).tree
    except SpecError as error:
        faults = [Fault(fault.message, hint=fault.hint, override=override) for fault in error.faults]
        raise SpecError(faults, more=error.more) from None
    return tuple(steps), value


def _set(tree: dict[str, Any], path: tuple[str, ...], value: Any, override: str) -> None:
    node: Any = tree
    for depth, name in enumerate(path):
        last = depth == len(path) - 1
        if isinstance(node, list):
            if not (name.isascii() and name.isdecimal() and len(name) < 9 and int(name) < len(node)):
                where = ".".join(path[:depth])
                raise _fault(f"`{quoted(where)}` is a list of {len(node)}, it has no `{quoted(name)}`", override)
            if last:
                node[int(name)] = value
            else:
                node = node[int(name)]
        elif not isinstance(node, dict):
            raise _fault(f"`{quoted('.'.join(path[:depth]))}` is a single value, it has nothing inside", override)
        elif last:
            node[name] = value
        else:
            node = node.setdefault(name, {})


def _fault(message: str, override: str) -> SpecError:
    return SpecError([Fault(message, override=override)])
