"""What a file that is nothing known looks like, in words."""

from __future__ import annotations

import re

from cgm_cli.readers.cells import is_number
from cgm_cli.readers.head import Head
from cgm_cli.text import visible

_BETWEEN = re.compile(r"[\s,;]+")

SHOWN = 40
"""Characters of a text that are shown."""


def appearance(head: Head) -> str:
    """A table of numbers, other numbers, a text or binary data: by the first lines."""
    if head.binary:
        return "binary data"
    rows = [_BETWEEN.split(line.strip()) for line in head.lines]
    if not rows or not all(is_number(cell) for row in rows for cell in row):
        return f"a text that begins with '{visible(head.text.strip().splitlines()[0][:SHOWN])}'"
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        return f"numbers, {min(widths)} to {max(widths)} of them in a line"
    return f"a table of numbers, {widths.pop()} in a line"
