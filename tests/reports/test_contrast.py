"""The colours of the page: text stands out from what it stands on (WCAG 2.1, success criterion 1.4.3: 4.5 to 1)."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

CSS = files("cgm_cli.reports").joinpath("page/page.css").read_text(encoding="utf-8")
COLOURS = re.findall(r"--(paper|panel|ink|soft|accent|good|spent|bad): (#[0-9a-f]{6})", CSS)
THEMES = [dict(COLOURS[start : start + 8]) for start in range(0, len(COLOURS), 8)]


def luminance(colour: str) -> float:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


def test_the_formula_at_its_ends():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("ground", ["paper", "panel"])
@pytest.mark.parametrize("text", ["ink", "soft", "accent", "good", "spent", "bad"])
def test_text_stands_out_in_every_theme(text, ground):
    assert len(THEMES) >= 2
    for theme in THEMES:
        assert contrast(theme[text], theme[ground]) >= 4.5
