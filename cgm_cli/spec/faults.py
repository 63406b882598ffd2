"""Faults of a spec: where each is, what is wrong, and what to do about it; many of them told at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from cgm_cli.errors import MOST_TOLD, CgmError, told
from cgm_cli.text import LINE_BREAK, visible

_WIDTH = 110


class Source(NamedTuple):
    """A text that a part of a spec was read from, and what messages call it."""

    name: str
    text: str


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a spec.

    path: where in the tree, for instance ("solver", "beta0"). line, column: where in the text, both from 1; None for a
    fault that has no line. hint: a sentence on what to do, or None. override: the `key=value` of the command line that
    it comes from; line and column are then those in it. source: the text that it is in, if not in that of the spec.
    """

    message: str
    path: tuple[str | int, ...] = ()
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    override: str | None = None
    source: Source | None = None

    @property
    def file(self) -> str | None:
        """The file that it is in, if that is not the one of the spec, which extends it."""
        return self.source.name if self.source is not None and self.override is None else None

    def render(self, name: str, text: str) -> str:
        """`name:line:column: message`, the line of `text` with a caret under the column, and the hint."""
        if self.source is not None:
            name, text = self.source
        where = name if self.line is None or self.override is not None else f"{name}:{self.line}:{self.column}"
        parts = [f"{where}: {self.message}"]
        if self.line is not None:
            parts += _excerpt(text, self.line, self.column or 1)
        if self.hint:
            parts.append(f"  {self.hint}")
        return "\n".join(parts)


class SpecError(CgmError):
    """The spec cannot be used as it stands.

    faults: the first MOST_TOLD that were found, in the order of the text. more: how many there are besides.
    """

    exit_code = 2

    def __init__(self, faults: Sequence[Fault], name: str = "spec", text: str = "", more: int = 0):
        # What an alias stands for may be at fault wherever it stands, and is told once.
        faults = list({replace(fault, path=()): fault for fault in reversed(faults)}.values())
        first = sorted(faults, key=_order)[:MOST_TOLD]
        more += len(faults) - len(first)
        super().__init__(told([fault.render(name, text) for fault in first], more), first[0].path)
        self.faults, self.more = first, more


def _order(fault: Fault) -> tuple[str, int, int]:
    """Those of overrides come first, as they were given; then those of the spec itself."""
    return ("", 0, 0) if fault.override is not None else (fault.file or " ", fault.line or 0, fault.column or 0)


def _excerpt(text: str, line: int, column: int) -> list[str]:
    lines = _lines(text)
    if not 1 <= line <= len(lines):
        return []
    source, start = lines[line - 1], 0
    if len(source) > _WIDTH:
        start = max(0, min(column - 1 - _WIDTH // 2, len(source) - _WIDTH))
        source = source[start : start + _WIDTH]
    return [f"  {visible(source)}", "  " + " " * (column - 1 - start) + "^"]


@lru_cache(maxsize=2)
def _lines(text: str) -> list[str]:
    # Kept: each of many faults in a long text asks for its line.
    return LINE_BREAK.split(text)
