"""Runs by what a person calls them: names, `latest`, beginnings, points of sweeps."""

import json

import pytest

from tests.reports.support import make_run, spec
from tests.sweeps.support import TINY

FIRST, SECOND = "20260101T000000Z-aaaaaaaa", "20260201T000000Z-bbbbbbbb"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def runs(tmp_path):
    """runs/cut with two runs, of which the newer is named so that it comes first; and runs/cot with one."""
    for name, identity, started in (("cut", SECOND, "2026-01-01"), ("cut", FIRST, "2026-02-01"), ("cot", "x1", "2025")):
        path = make_run(tmp_path / "runs" / name / identity, spec(name), iterations=2)
        state = json.loads((path / "status.json").read_text())
        (path / "status.json").write_text(json.dumps({**state, "started": started}))
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("latest", f"cut/{FIRST}"),
        ("cut", f"cut/{FIRST}"),
        ("cu", f"cut/{FIRST}"),
        ("runs/cu", f"cut/{FIRST}"),
        ("202602", f"cut/{SECOND}"),
        (SECOND, f"cut/{SECOND}"),
        ("cut/202602", f"cut/{SECOND}"),
        (f"runs/cut/{SECOND[:-2]}", f"cut/{SECOND}"),
        (f"runs/cut/{SECOND}", f"cut/{SECOND}"),
        ("co", "cot/x1"),
        ("runs/cot", "cot/x1"),
    ],
)
def test_a_run_is_found(cgm, runs, word, place):
    code, out, _ = cgm("show", word)
    assert code == 0 and place in out
    assert json.loads(cgm("report", word if word == "latest" else place, "--json")[1])["runs"][0]["run"].endswith(place)


@pytest.mark.parametrize("command", ["show", "verify", "resume", "diff", "export"])
def test_every_command_says_what_there_is_and_what_may_be_meant(cgm, runs, command):
    more = {"diff": ["cut"], "export": ["--solution", "x.npy"]}.get(command, [])
    code, out, err = cgm(command, "ctu", *more)
    assert (code, out) == (3, "")
    assert "there is no run `ctu`; did you mean `cut`?" in err and str(runs) in err and "Traceback" not in err
    code, _, err = cgm(command, "c", *more)
    assert code == 3 and "beginning of 2 runs" in err
    assert "runs/cot/x1" in err and "cut (2 runs)" in err
    code, _, err = cgm(command, "cut/20", *more)
    assert code == 3 and f"runs/cut/{FIRST}" in err and f"runs/cut/{SECOND}" in err


def test_without_runs_that_is_told(cgm):
    for word in ("latest", "cut"):
        code, _, err = cgm("verify", word)
        assert code == 3 and "which has none" in err


def test_export_alone_tells_what_there_is(cgm, runs):
    code, _, err = cgm("export", "cot")
    told = " ".join(err.replace("│", " ").split())
    assert code == 2 and "--table FILE.csv" in told and "--solution FILE" in told and told.endswith("has x")


def test_a_path_goes_before_a_name(cgm, runs, tmp_path):
    make_run(tmp_path / "cut", spec("elsewhere"), iterations=2)
    assert "elsewhere" in cgm("show", "cut")[1]


def test_a_spec_that_is_missing_is_no_run(cgm, runs):
    code, _, err = cgm("show", "cut.yaml")
    assert code == 2 and "cut.yaml: cannot be read" in err


def test_report_takes_all_runs_of_a_name_and_tells_what_it_does_not_know(cgm, runs):
    code, out, _ = cgm("report", "cut", "co", "ctu", "--json")
    found = json.loads(out)
    assert code == 0 and len(found["runs"]) == 3
    assert "did you mean `cut`" in json.dumps(found)


def test_the_points_of_a_sweep(cgm, tmp_path):
    grid = {"grid": {"solver.iterations": list(range(3, 14))}}
    (tmp_path / "sw.yaml").write_text(json.dumps({"base": TINY, "sweep": grid}))
    from cgm_cli.sweeps.load import load_sweep
    from cgm_cli.sweeps.manifest import write_manifest

    manifest = write_manifest(load_sweep(tmp_path / "sw.yaml"), tmp_path / "runs" / "sw")
    for row in manifest.rows[:2]:
        make_run(manifest.folder(row).run, spec(f"point-{row.number}"), iterations=2)
    for word in ("sw/2", "sw/02", "runs/sw/2", "runs/sw/points/2", "runs/sw/points/02", "sw/points/2"):
        assert "point-2" in cgm("show", word)[1], word
    (tmp_path / "runs" / "sw" / "points" / "02").unlink()  # not every file system has links
    assert "point-2" in cgm("show", "runs/sw/points/02")[1]
    code, _, err = cgm("show", "sw/3")
    assert code == 3 and "point 3 of runs/sw has no run yet (solver.iterations=5)" in err
    code, _, err = cgm("show", "sw/12")
    assert code == 3 and "its points are 1 to 11" in err
    code, _, err = cgm("verify", "sw")
    assert code == 3 and "is a sweep" in err and "sw/1" in err
    assert len(json.loads(cgm("report", "sw", "--json")[1])["runs"]) == 2


def test_a_status_that_is_damaged_is_the_oldest(cgm, runs):
    (runs / "cot" / "x1" / "status.json").write_text("[")
    assert FIRST in cgm("show", "latest")[1]
