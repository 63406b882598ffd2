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


def _parse(override: str) -> tuple[TreePath, Any]:
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


def _set(tree: dict[str, Any], path: TreePath, value: Any, override: str) -> None:
    node: Any = tree
    for depth, step in enumerate(path):
        last = depth == len(path) - 1
        if isinstance(node, list):
            if not (step.isascii() and step.isdecimal() and len(step) < 9 and int(step) < len(node)):
                where = ".".join(path[:depth])
                raise _fault(f"`{quoted(where)}` is a list of {len(node)}, it has no `{quoted(step)}`", override)
            step = int(step)
        elif not isinstance(node, dict):
            raise _fault(f"`{quoted('.'.join(path[:depth]))}` is a single value, it has nothing inside", override)
        if last:
            node[step] = value
        elif isinstance(node, dict):
            node = node.setdefault(step, {})
        else:
            node = node[step]


def _fault(message: str, override: str) -> SpecError:
    return SpecError([Fault(message, override=override)])
