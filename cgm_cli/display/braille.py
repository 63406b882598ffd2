"""Curves in a grid of characters: every Braille character is a block of two by four dots."""

from __future__ import annotations

import math
from collections.abc import Sequence

# The bits of the dots of a character, column by column, from the top.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_BLANK = 0x2800


class Canvas:
    """width x height characters, hence 2 width x 4 height dots; (0, 0) at the lower left, (1, 1) at the upper right.

    A character that several curves go through has the style of the last one.
    """

    def __init__(self, width: int, height: int):
        self.width, self.height = width, height
        self._bits = [[0] * width for _ in range(height)]
        self._styles = [[""] * width for _ in range(height)]

    def curve(self, points: Sequence[tuple[float, float]], style: str = "") -> None:
        """A line through the points; those that are no numbers or outside interrupt it."""
        former = None
        for x, y in points:
            inside = math.isfinite(x) and math.isfinite(y) and 0 <= x <= 1 and 0 <= y <= 1
            place = (x * (2 * self.width - 1), (1 - y) * (4 * self.height - 1)) if inside else None
            if place is not None:
                self._line(former or place, place, style)
            former = place

    def rows(self) -> list[list[tuple[str, str]]]:
        """The characters with their styles, from the top."""
        return [
            [(chr(_BLANK + bits) if bits else " ", style) for bits, style in zip(line, styles, strict=True)]
            for line, styles in zip(self._bits, self._styles, strict=True)
        ]

    def _line(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        steps = max(1, math.ceil(max(abs(end[0] - start[0]), abs(end[1] - start[1]))))
        for step in range(steps + 1):
            column, row = (round(a + (b - a) * step / steps) for a, b in zip(start, end, strict=True))
            self._bits[row // 4][column // 2] |= _DOTS[column % 2][row % 4]
            self._styles[row // 4][column // 2] = style
