"""`a.b.0.c=value`: the value goes through the same YAML reader and the same schema as the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cgm_cli.spec.environment import expanded
from cgm_cli.spec.faults import Fault, Source, SpecError
from cgm_cli.spec.keys import dotted_keys, sections
from cgm_cli.spec.yaml_reader import Document, TreePath, parse_value
from cgm_cli.text import did_you_mean, quoted


@dataclass(frozen=True)
class Override:
    """One `key.key=value`, read. path: its keys. columns: where each of them stands in the text. value: what it sets.
    start: characters of the text before the value.
    """

    text: str
    path: tuple[str, ...]
    columns: tuple[int, ...]
    value: Document
    start: int

    def fault(self, message: str, path: TreePath, hint: str | None = None, at_key: bool = False) -> Fault:
        """A fault at `path` of the tree, which is that of the override, or leads to it or into it."""
        return _fault(self.text, message, self._place(path, at_key), path, hint)

    def _place(self, path: TreePath, at_key: bool) -> tuple[int, int]:
        inside = path[len(self.path) :]
        if not inside and (at_key or len(path) < len(self.path)):
            return 1, self.columns[max(len(path), 1) - 1]
        position = self.value.position(inside)
        return _moved(position.key if at_key else position.value, self.start)


def apply(tree: dict[str, Any], overrides: Sequence[str]) -> tuple[Override, ...]:
    """Write the overrides into `tree`, and return them as they were read. SpecError with all that cannot be applied.

    Mappings on the way are made where they are missing; a list must already have the index.
    """
    read: list[Override] = []
    faults: list[Fault] = []
    more = 0
    for text in overrides:
        try:
            override = _parse(text)
            _set(tree, override)
            read.append(override)
        except SpecError as error:
            faults += error.faults
            more += error.more
    if faults:
        raise SpecError(faults, more=more)
    return tuple(read)


def _parse(text: str) -> Override:
    """An override; SpecError for what is none."""
    dotted, equals, value = text.partition("=")
    names, columns, column = [], [], 1
    for step in dotted.split("."):
        names.append(step.strip())
        columns.append(column + len(step) - len(step.lstrip()))
        column += len(step) + 1
    for name, at in zip(names, columns, strict=True):
        if not name or not name.isprintable():
            raise SpecError([_fault(text, "expected `key.key=value`", (1, at))])
    if not equals:
        raise SpecError([_fault(text, "expected `key.key=value`", (1, column - 1))])
    start = len(dotted) + 1
    try:
        document = expanded(parse_value(value), tuple(names))
    except SpecError as error:
        faults = [
            _fault(text, fault.message, _moved((fault.line or 1, fault.column or 1), start), tuple(names), fault.hint)
            for fault in error.faults
        ]
        raise SpecError(faults, more=error.more) from None
    return Override(text, tuple(names), tuple(columns), document, start)


def _set(tree: dict[str, Any], override: Override) -> None:
    path, value = override.path, override.value.tree
    if path[0] not in sections():
        raise SpecError([override.fault(f"unknown key `{quoted(path[0])}`", path[:1], _whole(path, tree), True)])
    node: Any = tree
    for depth, name in enumerate(path):
        last = depth == len(path) - 1
        where, here = quoted(".".join(path[:depth])), path[: depth + 1]
        if isinstance(node, list):
            if not (name.isascii() and name.isdecimal() and len(name) < 9 and int(name) < len(node)):
                message = f"`{where}` is a list of {len(node)}, it has no `{quoted(name)}`"
                raise SpecError([override.fault(message, here, at_key=True)])
            if last:
                node[int(name)] = value
            else:
                node = node[int(name)]
        elif not isinstance(node, dict):
            message = f"`{where}` is a single value, it has nothing inside"
            raise SpecError([override.fault(message, here, at_key=True)])
        elif last:
            node[name] = value
        else:
            node = node.setdefault(name, {})


def _whole(path: tuple[str, ...], tree: Mapping[str, Any]) -> str | None:
    """The hint for the end of a dotted key, such as `beta0`, or for what is close to one."""
    given, known = ".".join(path), dict.fromkeys(dotted_keys(tree.get("problem")))
    ends = [f"`{key}`" for key in known if key.endswith(f".{given}")]
    if ends:
        return f"did you mean {', '.join(ends[:-1])} or {ends[-1]}?" if ends[1:] else f"did you mean {ends[0]}?"
    return did_you_mean(given, list(known)) or f"known here: {', '.join(sections())}"


def _moved(at: tuple[int, int], start: int) -> tuple[int, int]:
    """A line and column of the value as those of the override, which has `start` characters before it."""
    line, column = at
    return line, column + start if line == 1 else column


def _fault(text: str, message: str, at: tuple[int, int], path: TreePath = (), hint: str | None = None) -> Fault:
    source = Source(f"--set {quoted(text)}", text)
    return Fault(message, path, *at, hint, override=text, source=source)
