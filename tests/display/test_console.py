"""What a person sees, in a terminal and elsewhere."""

import io
import math
from pathlib import Path

import pytest
from rich.console import Console

from cgm_cli.display import console as module
from cgm_cli.display.console import Progress, result_line, show_result
from cgm_cli.display.formatting import duration
from cgm_cli.display.meaning import colour, meaning
from cgm_cli.methods.best_bound import Certificate
from cgm_cli.methods.status import Status
from cgm_cli.runs.summary import summarise
from tests.runs.fake import Result, record


def plain_console():
    return Console(file=io.StringIO(), force_terminal=False, width=40)


def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=100, height=40, _environ={})


def shown(console):
    return console.file.getvalue()


def run(console, records, sense="minimise"):
    with Progress(sense, console) as progress:
        for item in records:
            progress.on_record(item)
    return shown(console)


def test_plain_lines_are_few_with_the_first_and_the_last_and_never_wrapped():
    lines = run(plain_console(), [record(k, seconds=0.1 * k) for k in range(202)]).splitlines()
    assert [line.split()[1] for line in lines] == ["0", "50", "100", "150", "200", "201"]
    assert lines[1] == (
        "iteration 50  time 5.00s  objective 1.01961  infeasible 2.0e-03  lower bound 0.980392  gap 3.9e-02  "
        "beta 0.14  matvecs 150"
    )


def test_plain_lines_get_rarer_in_a_long_run():
    lines = run(plain_console(), [record(k, seconds=float(k)) for k in range(10_000)]).splitlines()
    assert 100 < len(lines) < 400


def test_a_last_record_that_was_shown_is_not_repeated():
    assert len(run(plain_console(), [record(0)]).splitlines()) == 1


def test_no_record_at_all():
    assert run(plain_console(), []) == ""
    run(terminal(), [])


def test_an_estimated_bound_is_marked_and_a_certified_one_is_not():
    estimated, certified = run(plain_console(), [record(1), record(20)]).splitlines()
    assert "lower bound ~0.5 " in estimated
    assert "lower bound 0.952381 " in certified


def test_a_probable_bound_is_marked_and_named():
    likely = record(1, bound_failure=1e-9)
    assert "lower bound *0.5 " in run(plain_console(), [likely])
    console = plain_console()
    result = Result(likely, bound_is="probable", certificate=Certificate(0.75, 0.5))
    summary = summarise(result, Path("runs/a"))
    assert summary["bound_is"] == "probable"
    assert summary["certificate"] == {"estimate": 0.75, "cost": 0.25, "failure": 1e-9, "seconds": 0.5}
    show_result(console, result, summary)
    text = shown(console)
    assert "*0.5 (certified with probability 1 - 1e-09)" in text
    assert "0.25 short of the estimate 0.75; 0.50s" in text


def test_the_bound_of_a_maximisation_is_an_upper_bound():
    assert "upper bound" in run(plain_console(), [record(1)], sense="maximise")
    assert "upper bound" in run(terminal(), [record(1)], sense="maximise")


def test_unknown_numbers_are_dashes():
    line = run(plain_console(), [record(0, gap=math.nan)])
    assert "lower bound -  gap -" in line
    assert "nan" not in line


def test_the_terminal_shows_a_thinned_history_and_the_newest_line():
    text = run(terminal(), [record(k, seconds=0.01 * k) for k in range(3001)])
    last = text[text.rindex("iteration") :]
    numbers = [int(line.split()[0]) for line in last.splitlines()[1:] if line.strip()[:1].isdigit()]
    assert numbers == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 3000]


def test_eighty_columns_are_enough():
    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=40, _environ={})
    text = run(console, [record(99_999, seconds=123.0, total=-123456.789e5, bound=-123457.7e5, certified=False)])
    assert "…" not in text
    assert "~-1.23458e+10" in text


def test_nothing_is_drawn_between_two_refreshes(monkeypatch):
    tables = []
    monkeypatch.setattr(module, "Table", lambda *a, **k: tables.append(1) or REAL(*a, **k))
    run(terminal(), [record(k, seconds=1e-4 * k) for k in range(10_000)])
    assert len(tables) == 5


REAL = module.Table


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.00s"), (9.5, "9.50s"), (12.34, "12.3s"), (245.0, "4m05s"), (7620.0, "2h07m"), (59.99, "60.0s")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize("console", [plain_console(), terminal()])
def test_the_summary_tells_everything(console):
    result = Result(record(24), status=Status.TIME_LIMIT, message="Nearly there.")
    show_result(console, result, summarise(result, Path("runs/a/b")))
    text = shown(console)
    for part in (
        Status.TIME_LIMIT.sentence,
        "Nearly there.",
        "~0.96 (estimated)",
        "lower bound",
        "infeasibility of row sums",
        "error rate",
        "1, 2",
        "24 in 12.0s",
    ):
        assert part in text
    assert "runs/a/b" in text


def test_a_summary_without_a_bound_says_nothing_of_it():
    result = Result(record(0), bound_is="none")
    console = plain_console()
    show_result(console, result, summarise(result, "runs/a"))
    assert "bound" not in shown(console)
    assert "gap" not in shown(console)


def test_names_are_never_read_as_markup(tmp_path):
    result = Result(record(3), metrics={"[red]a": 1.0}, message="[bold]b")
    for console in (plain_console(), terminal()):
        show_result(console, result, summarise(result, tmp_path))
        assert "[red]a" in shown(console)
        assert "[bold]b" in shown(console)


@pytest.mark.parametrize(
    ("changes", "made", "parts"),
    [
        (
            {"infeasibility": 0.0},
            {"bound_is": "certified"},
            ["has an objective below 0.75: this is proven.", "lower bound"],
        ),
        ({}, {"bound_is": "certified", "sense": "maximise"}, ["objective above 0.75: this is proven.", "by 2.5e-02"]),
        ({}, {"bound_is": "estimated"}, ["an estimate, and not proven"]),
        ({}, {"bound_is": "certified", "bound_rests_on": "radius"}, ["proven, within the `radius` that was assumed."]),
        ({}, {"bound_is": "none"}, ["is not known. It misses"]),
    ],
)
def test_what_a_result_means(changes, made, parts):
    text = meaning(Result(record(3, **changes), **made))
    assert all(part in text for part in parts)
    assert ("misses" in text) == (changes == {})


def test_of_a_run_that_failed_nothing_is_said_of_the_optimum():
    assert meaning(Result(record(3), status=Status.INFEASIBLE)) == ""
    assert meaning(Result(record(3, total=math.nan))) == ""


@pytest.mark.parametrize("status", list(Status))
def test_colours_go_by_what_they_mean(status):
    reached = status in (Status.CONVERGED, Status.TARGET_REACHED)
    failed = status in (Status.FAILED, Status.INFEASIBLE, Status.UNBOUNDED)
    assert colour(status) == ("green" if reached else "red" if failed else "yellow")


def test_the_metrics_have_a_legend_where_there_is_room():
    for console, there in ((terminal(), True), (plain_console(), True), (Console(**NARROW), False)):
        result = Result(record(3))
        show_result(console, result, summarise(result, "runs/a"), {"error_rate": "how often it is wrong"})
        assert ("how often it is wrong" in shown(console)) is there


NARROW = {"file": io.StringIO(), "force_terminal": True, "width": 80, "height": 40, "_environ": {}}


def test_long_metrics_are_cut(tmp_path):
    result = Result(record(3), metrics={"sizes": [float(i) for i in range(100)]})
    console = plain_console()
    show_result(console, result, summarise(result, tmp_path))
    assert "7, ... (100 values)" in shown(console)


def test_the_line_of_a_quiet_run():
    result = Result(record(3, gap=math.nan))
    line = result_line(summarise(result, "runs/a/b"))
    assert line == "converged  objective 1.25  bound ~0.75  infeasibility 0.025  iterations 3  runs/a/b"


class Full(io.StringIO):
    """Takes so many writes, then none."""

    def __init__(self, writes):
        super().__init__()
        self.writes = writes

    def write(self, text):
        self.writes -= 1
        if self.writes < 0:
            raise OSError(28, "No space left on device")
        return super().write(text)


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("writes", [0, 1, 2, 5])
def test_a_console_that_cannot_be_written_to_is_let_alone(is_terminal, writes, tmp_path):
    console = Console(file=Full(writes), force_terminal=is_terminal, width=100, height=40, _environ={})
    run(console, [record(k, seconds=10.0 * k) for k in range(20)])
    show_result(console, Result(record(20)), summarise(Result(record(20)), tmp_path))


WIDTHS = {
    120: "iteration time objective infeasible lower bound gap beta matvecs",
    80: "iteration time objective infeasible lower bound gap beta matvecs",
    70: "iteration time objective infeasible lower bound gap beta",
    60: "iteration time objective infeasible lower bound gap",
    55: "iteration objective infeasible lower bound gap",
    40: "iter value infeas bound",
}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("sense", ["minimise", "maximise"])
def test_a_narrow_terminal_has_fewer_columns_and_no_number_is_cut(width, sense):
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=40, color_system=None, _environ={})
    numbers = {"total": -12345.6, "bound": -23456.7, "certified": False, "beta": 0.00123, "seconds": 754.0}
    text = run(console, [record(12345, **numbers)], sense)
    assert "…" not in text
    # Past the codes that take the former table away.
    heading, row = (line.rpartition("\x1b[2K")[2].split() for line in text.splitlines()[-3:-1])
    assert " ".join(heading) == WIDTHS[width].replace("lower", bound_word(sense))
    assert {"12345", "-12345.6", "~-23456.7", "8.1e-06"} <= set(row)
    assert len(row) == len(heading) - ("bound" in heading and bound_word(sense) in heading)


def bound_word(sense):
    return "upper" if sense == "maximise" else "lower"


@pytest.mark.parametrize("width", range(24, 121))
def test_the_longest_numbers_fit_at_every_width(width):
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=40, color_system=None, _environ={})
    numbers = {"total": -1.23456e-05, "bound": -1.23456e-05, "certified": False, "beta": 1.23e-05, "seconds": 7540.0}
    assert "…" not in run(console, [record(1234567, **numbers)])
