"""`cgm solve --live`: curves in a terminal, lines elsewhere."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from cgm_cli.display.braille import Canvas
from cgm_cli.display.console import Progress
from cgm_cli.display.live import PlotView
from tests.runs.fake import record


def console(width=90, height=40, terminal=True, encoding="utf-8"):
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    return Console(file=file, force_terminal=terminal, width=width, height=height, _environ={"TERM": "xterm"})


def shown(target, records):
    with Progress("minimise", target, plot=True) as progress:
        for each in records:
            progress.on_record(each)
    target.file.flush()
    return target.file.buffer.getvalue().decode()


def test_curves_in_a_terminal():
    text = shown(console(), [record(k, seconds=float(k)) for k in range(100)])
    assert "━ objective" in text and "━ infeasible" in text and "99 iterations, logarithmic" in text
    assert any(0x2800 < ord(character) <= 0x28FF for character in text)


@pytest.mark.parametrize("target", [{"terminal": False}, {"encoding": "ascii"}, {"width": 30}, {"height": 8}])
def test_where_there_is_no_room_or_no_terminal_there_are_numbers(target):
    text = shown(console(**target), [record(k, seconds=float(k)) for k in range(20)])
    assert "1.05" in text
    assert not any(ord(character) >= 0x2800 for character in text)


@pytest.mark.parametrize("width", [40, 60, 200])
def test_no_line_is_too_long(width):
    view = PlotView("maximise", console(width))
    records = [record(k, gap=math.nan, infeasibility=0.0) for k in range(50)]
    for each in records:
        view.take(each)
    plain = Console(file=io.StringIO(), width=width, no_color=True)
    plain.print(view.picture(records[-1], width, 40))
    assert max(map(len, plain.file.getvalue().splitlines())) <= width


def test_a_long_run_keeps_few_records():
    view = PlotView("minimise", console())
    for k in range(0, 200_000, 7):
        view.take(record(k))
    assert len(view._kept) <= 1000


def test_dots():
    canvas = Canvas(2, 1)
    canvas.curve([(0.0, 0.0), (1.0, 0.0)], "red")
    assert canvas.rows() == [[("⣀", "red"), ("⣀", "red")]]
    canvas.curve([(0.0, 1.0), (math.nan, 0.5), (1.0, 2.0)])
    assert canvas.rows()[0][0] == ("⣁", "")
