"""Which runs, and in which order: `--filter "beta0<1"`, `--sort gap`. An expression is read here, never evaluated."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from cgm_cli.errors import ProblemError
from cgm_cli.reports.entry import Entry
from cgm_cli.reports.names import resolve
from cgm_cli.spec.load import one_line
from cgm_cli.text import quoted

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"<=": le, ">=": ge, "!=": ne, "==": eq, "=": eq, "<": lt, ">": gt}
_EXPRESSION = re.compile(r"\s*([^<>=!\s]+)\s*(<=|>=|!=|==|=|<|>)\s*(.*?)\s*", re.DOTALL)


def filtered(entries: Sequence[Entry], expressions: Sequence[str]) -> list[Entry]:
    """The entries for which every expression KEY OP VALUE holds. Raises ProblemError for one that is none.

    Numbers compare as numbers, everything else as the text that YAML writes for it. A run that lacks the key is left
    out, unless it is asked for by `!=`.
    """
    kept = list(entries)
    for expression in expressions:
        holds = _condition(expression, entries)
        kept = [entry for entry in kept if holds(entry)]
    return kept


def ordered(entries: Sequence[Entry], key: str | None) -> list[Entry]:
    """Sorted by the key, descending with a leading minus; text after numbers, and runs without it last."""
    if key is None:
        return list(entries)
    descending = key.startswith("-")
    name = resolve(key.removeprefix("-"), entries)
    known = [entry for entry in entries if not _missing(entry.value(name))]
    known.sort(key=lambda entry: _rank(entry.value(name)), reverse=descending)
    return known + [entry for entry in entries if _missing(entry.value(name))]


def as_number(value: Any) -> float | None:
    """A number, or None for what is none; true and false are text here."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def as_text(value: Any) -> str:
    """A value of a spec as YAML writes it."""
    return value if isinstance(value, str) else one_line(value)


def _condition(expression: str, entries: Sequence[Entry]) -> Callable[[Entry], bool]:
    match = _EXPRESSION.fullmatch(expression)
    if match is None or not match[3] or match[3][0] in "<>=!~":
        raise ProblemError(f'`{quoted(expression)}` is no filter; one is KEY OP VALUE, for instance "beta0<1".')
    name, compare, wanted = resolve(match[1], entries), _OPERATORS[match[2]], match[3].strip("\"'")
    number = _read_number(wanted)
    if (number is None or math.isnan(number)) and compare not in (eq, ne):
        raise ProblemError(f"`{quoted(expression)}`: `{match[2]}` needs a number, and `{quoted(wanted)}` is none.")

    def holds(entry: Entry) -> bool:
        value = entry.value(name)
        if _missing(value) and wanted.lower() not in ("null", "nan"):
            return compare is ne
        if number is not None and as_number(value) is not None:
            return compare(as_number(value), number)
        return compare in (eq, ne) and compare(as_text(value), wanted)

    return holds


def _read_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _rank(value: Any) -> tuple[int, float, str]:
    number = as_number(value)
    return (1, 0.0, as_text(value)) if number is None else (0, number, "")
