"""Two runs side by side: their specs, their results, and where they were made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cgm_cli.errors import CgmError
from cgm_cli.reports.entry import Entry, flatten
from cgm_cli.reports.query import as_number, as_text

_ORIGIN = ("versions", "git", "data", "host", "cpu", "thread_pools")


@dataclass(frozen=True)
class Difference:
    """One line: section (spec, result or origin), key, and what stands there in each run; None where nothing does."""

    section: str
    key: str
    left: Any
    right: Any

    @property
    def differs(self) -> bool:
        """Whether the values are not the same; nan is the same as nan."""
        both_nan = all(isinstance(value, float) and math.isnan(value) for value in (self.left, self.right))
        return not both_nan and (self.left != self.right or type(self.left) is bool is not type(self.right))

    @property
    def change(self) -> str:
        """How much larger the right one is, for numbers."""
        left, right = as_number(self.left), as_number(self.right)
        if left is None or right is None or not math.isfinite(right - left) or left == right:
            return ""
        return f"{right - left:+.3g}" + (f" ({100 * (right - left) / abs(left):+.3g} %)" if left else "")


def differences(left: Entry, right: Entry) -> list[Difference]:
    """Every line, also those that are the same in both."""
    lines = _paired("spec", {"name": left.name, **left.params}, {"name": right.name, **right.params})
    results = [
        {"status": entry.state, **entry.figures, "bound_is": entry.bound_is, "sense": entry.sense}
        for entry in (left, right)
    ]
    return lines + _paired("result", *results) + _paired("origin", _origin(left), _origin(right))


def shown(value: Any) -> str:
    """A value as it stands in the table."""
    if value is None:
        return "-"
    number = as_number(value)
    return as_text(value) if number is None else "-" if math.isnan(number) else f"{number:.10g}"


def as_dict(lines: Sequence[Difference]) -> dict[str, list[dict[str, Any]]]:
    """The lines by section, for JSON."""
    sections: dict[str, list[dict[str, Any]]] = {"spec": [], "result": [], "origin": []}
    for line in lines:
        sections[line.section].append({"key": line.key, "left": line.left, "right": line.right})
    return sections


def _paired(section: str, left: dict[str, Any], right: dict[str, Any]) -> list[Difference]:
    return [Difference(section, key, left.get(key), right.get(key)) for key in dict.fromkeys([*left, *right])]


def _origin(entry: Entry) -> dict[str, Any]:
    try:
        provenance = entry.open().provenance
    except CgmError:
        return {}
    return flatten({key: provenance[key] for key in _ORIGIN if provenance.get(key) is not None})
