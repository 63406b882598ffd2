"""Environment variables in specs: what they become, where they are missed, and that a run keeps their values."""

import numpy as np
import pytest

from cgm_cli.runs.load import load_run
from cgm_cli.spec.faults import SpecError
from cgm_cli.spec.load import load, loads
from cgm_cli.sweeps.load import load_sweep

SPEC = """\
name: run-${oc.env:JOB,0}
problem:
  domain: {kind: simplex, size: 3}
  objective:
    kind: least-squares
    target: {file: $DATA_HERE/target.npy}
solver: {method: hcgm, iterations: "${oc.env:ITERATIONS}"}
stop: {gap: null}
seed: ${oc.env:SEED, 7}
"""


@pytest.fixture
def cgm(cgm, tmp_path, monkeypatch):
    """The command in tmp_path, where data/target.npy is."""
    monkeypatch.chdir(tmp_path)
    for name in ("JOB", "SEED", "ITERATIONS", "DATA_HERE", "CGM_DATA"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "target.npy", [0.5, 0.25, 0.25])
    (tmp_path / "s.yaml").write_text(SPEC)
    return cgm


def test_a_run_keeps_the_values(cgm, tmp_path, monkeypatch):
    monkeypatch.setenv("ITERATIONS", "2e1")
    monkeypatch.setenv("DATA_HERE", str(tmp_path / "data"))
    assert cgm("solve", "s.yaml", "log.every=${oc.env:EVERY,2}", "--quiet", "--out", "run")[0] == 0
    run = load_run(tmp_path / "run")
    assert run.spec_text == SPEC
    resolved = run.resolved
    assert (resolved["name"], resolved["seed"], resolved["solver"]["iterations"]) == ("run-0", 7, 20)
    assert resolved["log"]["every"] == 2
    assert resolved["problem"]["objective"]["target"]["file"] == f"{tmp_path}/data/target.npy"
    # Other values later on, or none, change nothing.
    monkeypatch.setenv("ITERATIONS", "7")
    monkeypatch.delenv("DATA_HERE")
    assert cgm("verify", "run")[0] == 0
    assert cgm("resume", "run", "solver.iterations=30", "--quiet")[0] == 0
    assert load_run(tmp_path / "run").summary["iterations"] == 30


def test_unset_variables_are_refused_with_their_places(cgm):
    code, out, errors = cgm("check", "s.yaml", "log.every=${oc.env:EVERY}")
    assert (code, out) == (2, "")
    assert errors.startswith("s.yaml:6:20: the environment variable `DATA_HERE` is not set\n")
    assert "\ns.yaml:7:36: the environment variable `ITERATIONS` is not set\n" in errors
    assert "give a default: `${oc.env:ITERATIONS,default}`" in errors


def test_unset_variables_of_overrides(cgm, monkeypatch):
    monkeypatch.setenv("ITERATIONS", "20")
    monkeypatch.setenv("DATA_HERE", "data")
    code, _, errors = cgm("check", "s.yaml", "log.every=${oc.env:EVERY}", "problem.objective.target.file=$NO/x")
    assert code == 2
    assert "is not set\n  log.every=${oc.env:EVERY}\n            ^\n" in errors
    assert "is not set\n  problem.objective.target.file=$NO/x\n                                ^\n" in errors


@pytest.mark.parametrize(
    ("written", "file"),
    [
        ("$A/x.npy", "/a/x.npy"),
        ("'${A}/x.npy'", "/a/x.npy"),
        ("'${oc.env:A}/x.npy'", "/a/x.npy"),
        ("'${oc.env:B,$A}/x.npy'", "$A/x.npy"),
        ("~/x.npy", "/home/me/x.npy"),
        ("'${oc.env:B,~}/x.npy'", "/home/me/x.npy"),
        ("cash$$.npy", "cash$.npy"),
        ("a$.npy", "a$.npy"),
        ("a~/x.npy", "a~/x.npy"),
        ("'${oc.env:N}'", "12"),
    ],
)
def test_names_of_files(monkeypatch, written, file):
    monkeypatch.setenv("A", "/a")
    monkeypatch.setenv("N", "12")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("B", raising=False)
    text = f"problem: {{template: max-cut, graph: {{file: {written}}}}}\nsource: {{{written}: {{from: $A}}}}\n"
    spec = loads(text)
    assert spec.problem.graph.file == file
    assert list(spec.source) == [file] and spec.source[file].from_ == "$A"


@pytest.mark.parametrize(
    ("value", "column", "message"),
    [
        ("${oc.env:}", 7, "expected `${oc.env:VAR}`"),
        ("${oc.env:A", 7, "expected `${oc.env:VAR}`"),
        ("${oc.env:1A}", 7, "expected `${oc.env:VAR}`"),
        ("${oc.env:ODD}", 7, "`ODD` is no text on one line"),
        ("${oc.env:HUGE}", 7, "this whole number is too large"),
        ("${oc.env:WORD}", 7, "expected a whole number, got text 'five'"),
    ],
)
def test_what_is_none(monkeypatch, value, column, message):
    monkeypatch.setenv("ODD", "a\nb")
    monkeypatch.setenv("HUGE", "9" * 30)
    monkeypatch.setenv("WORD", "five")
    with pytest.raises(SpecError) as caught:
        loads(f"problem: {{template: max-cut, graph: {{file: g}}}}\nseed: {value}\n", path="x.yaml")
    (fault,) = caught.value.faults
    assert message in fault.message and (fault.line, fault.column) == (2, column)


def test_braces_within_braces_need_quotes():
    with pytest.raises(SpecError, match=r"x\.yaml:1:9: .*\n.*\n {10}\^\n  `\$\{\.\.\.\}` needs quotes here"):
        loads("a: {b: [${oc.env:A}, 1]}", path="x.yaml")


def test_sweeps_have_them_in_base_set_and_axes(cgm, tmp_path, monkeypatch):
    monkeypatch.setenv("ITERATIONS", "20")
    monkeypatch.setenv("DATA_HERE", str(tmp_path / "data"))
    (tmp_path / "money$").mkdir()
    np.save(tmp_path / "money$" / "other.npy", [0.5, 0.25, 0.25])
    (tmp_path / "sweep.yaml").write_text(
        "base: ${HERE}.yaml\nset: {log.every: '${oc.env:EVERY}'}\nsweep: {grid: {problem.objective.target.file: "
        "[$DATA_HERE/target.npy, money$$/other.npy]}}\n"
    )
    monkeypatch.setenv("HERE", "s")
    monkeypatch.setenv("EVERY", "4")
    sweep = load_sweep("sweep.yaml")
    specs = [loads(sweep.spec_text(point)) for point in sweep.points]
    assert [spec.log.every for spec in specs] == [4, 4]
    files = [spec.problem.objective.target.file for spec in specs]
    assert files == [f"{tmp_path}/data/target.npy", f"{tmp_path}/money$/other.npy"]
    monkeypatch.delenv("EVERY")
    with pytest.raises(SpecError, match=r"^sweep\.yaml:2:18: the environment variable `EVERY` is not set"):
        load_sweep("sweep.yaml")


def test_a_data_file_with_a_dollar_in_its_name_is_itself(cgm, tmp_path):
    (tmp_path / "c$5.col").write_text("p edge 5 5\ne 1 2\ne 2 3\ne 3 4\ne 4 5\ne 5 1\n")
    assert cgm("solve", "c$5.col", "--quiet")[0] == 0
    assert cgm("init", "--from", "c$5.col")[0] == 0
    assert load(tmp_path / "c-5.yaml").problem.graph.file == "c$5.col"
