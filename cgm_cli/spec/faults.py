"""Faults of a spec: where each is, what is wrong, and what to do about it; many of them told at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from cgm_cli.errors import MOST_TOLD, CgmError, told
from cgm_cli.text import LINE_BREAK, quoted, visible

_WIDTH = 110


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a spec.

    path: where in the tree, for instance ("solver", "beta0"). line, column: where in the text, both from 1; None for a
    fault that has no line, such as one from the command line. hint: a sentence on what to do, or None. override: the
    `--set` argument that it comes from, without `--set`.
    """

    message: str
    path: tuple[str | int, ...] = ()
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    override: str | None = None

    def render(self, name: str, text: str) -> str:
        """`name:line:column: message`, the line of `text` with a caret under the column, and the hint."""
        if self.override is not None:
            where = f"--set {quoted(self.override)}"
        elif self.line is not None:
            where = f"{name}:{self.line}:{self.column}"
        else:
            where = name
        parts = [f"{where}: {self.message}"]
        if self.override is None and self.line is not None:
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
        self.faults = sorted(faults, key=lambda fault: (fault.line or 0, fault.column or 0))[:MOST_TOLD]
        self.more = more + len(faults) - len(self.faults)
        rendered = [fault.render(name, text) for fault in self.faults]
        super().__init__(told(rendered, self.more), self.faults[0].path)


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
