"""Specs that extend others: what they come to, in which file a fault is, and that a run stands on its own."""

import json
import shutil

import numpy as np
import pytest

from cgm_cli.cli import main
from cgm_cli.runs.load import load_run
from cgm_cli.spec.load import load

BASE = """\
problem:
  domain: {kind: simplex, size: 3}
  objective: {kind: least-squares, target: {file: target.npy}}
solver:
  method: hcgm
  iterations: 20
stop: {gap: null}
source: {target.npy: {from: the attic}}
"""


@pytest.fixture
def cgm(tmp_path, monkeypatch, capsys):
    """The command in tmp_path, where common/base.yaml has its data -> (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CGM_DATA", raising=False)
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "base.yaml").write_text(BASE)
    np.save(tmp_path / "common" / "target.npy", [0.5, 0.25, 0.25])

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        return stop.value.code or 0, *capsys.readouterr()

    return run


def test_mappings_are_merged_and_all_else_is_replaced(cgm, tmp_path):
    (tmp_path / "middle.yaml").write_text(
        "extends: common/base.yaml\nsolver: {iterations: 30, oracle: {tolerance: 1e-3}}\n"
        "problem: {penalties: [{kind: l1}, {kind: l2}]}\nseed: 1\n"
    )
    (tmp_path / "top.yaml").write_text("extends: middle.yaml\nproblem: {penalties: [{kind: linf}]}\nseed: 2\n")
    spec = load("top.yaml")
    assert (spec.name, spec.seed, spec.stop.gap) == ("top", 2, None)
    assert (spec.solver.method, spec.solver.iterations, spec.solver.oracle.tolerance) == ("hcgm", 30, 1e-3)
    assert [term.kind for term in spec.problem.penalties] == ["linf"]
    assert spec.problem.domain.size == 3
    assert spec.problem.objective.target.file == "common/target.npy"
    assert spec.source["common/target.npy"].from_ == "the attic"


def test_a_run_stands_on_its_own(cgm, tmp_path):
    (tmp_path / "top.yaml").write_text("extends: common/base.yaml\nseed: 3\n")
    assert cgm("solve", "top.yaml", "log.every=2", "--quiet", "--out", "run")[0] == 0
    run = load_run(tmp_path / "run")
    assert run.resolved["seed"] == 3 and run.resolved["log"]["every"] == 2
    assert run.spec_text.startswith("# Merged of top.yaml, common/base.yaml.\n") and "extends" not in run.resolved
    (tmp_path / "common" / "base.yaml").unlink()
    (tmp_path / "top.yaml").unlink()
    assert cgm("verify", "run")[0] == 0
    assert cgm("resume", "run", "solver.iterations=30", "--quiet")[0] == 0
    # Its spec is that of the run, wherever the data are found.
    shutil.copy(tmp_path / "run" / "spec.yaml", tmp_path / "again.yaml")
    assert cgm("solve", "again.yaml", "log.every=2", "solver.iterations=30", "--quiet", "--out", "again")[0] == 0
    first, again = (dict(load_run(tmp_path / name).resolved) for name in ("run", "again"))
    assert again == {**first, "name": "again"}


def test_a_fault_is_in_the_file_where_it_was_written(cgm, tmp_path):
    (tmp_path / "common" / "base.yaml").write_text(BASE.replace("method: hcgm", "metod: hcgm") + "log: {every: 0}\n")
    (tmp_path / "top.yaml").write_text("extends: common/base.yaml\nsolver: {beta0: -1}\nlog: {evry: 1}\n")
    code, out, errors = cgm("check", "top.yaml", "seed=-1")
    assert (code, out) == (2, "")
    assert [line.partition(": ")[0] for line in errors.splitlines() if ": " in line and line[0] not in " "] == [
        "--set seed=-1",
        "top.yaml:2:17",
        "top.yaml:3:7",
        "common/base.yaml:5:3",
        "common/base.yaml:9:14",
    ]
    assert "unknown key `metod`\n    metod: hcgm\n    ^\n" in errors
    faults = json.loads(cgm("check", "top.yaml", "--json")[1])["error"]["faults"]
    assert [fault["file"] for fault in faults] == [None, None, "common/base.yaml", "common/base.yaml"]


def test_later_faults_are_in_the_file_where_they_were_written(cgm, tmp_path):
    (tmp_path / "common" / "target.npy").unlink()
    (tmp_path / "top.yaml").write_text("extends: common/base.yaml\n")
    code, _, errors = cgm("check", "top.yaml")
    assert code == 3
    assert errors.startswith("common/base.yaml:3:14: no data file `target.npy`") and "Get it from the attic" in errors


def test_what_replaces_a_mapping_leaves_nothing_of_it(cgm, tmp_path):
    (tmp_path / "top.yaml").write_text("extends: common/base.yaml\nproblem:\n  objective: 3\n")
    code, _, errors = cgm("check", "top.yaml")
    assert code == 2 and errors.startswith("top.yaml:3:14: expected a mapping with a `kind`, got 3\n")


@pytest.mark.parametrize(
    ("extends", "told"),
    [
        ("top.yaml", "a spec cannot extend itself: top.yaml -> top.yaml"),
        ("common/nope.yaml", "there is no file common/nope.yaml"),
        ("common", "there is no file common"),
        ('"a\\0b"', "there is no file a"),
        ("a" * 5000, "there is no file aaa"),
        ("[a, b]", "expected the path of a spec"),
        ("$NO_SUCH/b.yaml", "the environment variable `NO_SUCH` is not set"),
        ("sweep.yaml", "sweep.yaml is a sweep, and a spec is needed"),
    ],
)
def test_what_cannot_be_extended(cgm, tmp_path, extends, told):
    (tmp_path / "sweep.yaml").write_text("base: top.yaml\nsweep: {repeat: 2}\n")
    (tmp_path / "top.yaml").write_text(f"seed: 1\nextends: {extends}\n")
    code, _, errors = cgm("check", "top.yaml")
    assert code == 2 and errors.startswith(f"top.yaml:2:10: {told}")


def test_circles_are_told_with_all_of_their_files(cgm, tmp_path):
    (tmp_path / "a.yaml").write_text("extends: common/b.yaml\n")
    (tmp_path / "common" / "b.yaml").write_text("extends: ../c.yaml\n")
    (tmp_path / "c.yaml").write_text("seed: 1\nextends: a.yaml\n")
    code, _, errors = cgm("solve", "a.yaml")
    assert code == 2
    chain = "a.yaml -> common/b.yaml -> common/../c.yaml -> common/../a.yaml"
    assert errors.startswith(f"common/../c.yaml:2:10: a spec cannot extend itself: {chain}\n")


def test_the_base_of_a_sweep_may_extend_another_spec(cgm, tmp_path):
    (tmp_path / "top.yaml").write_text("extends: common/base.yaml\nsolver: {iterations: 0x5}\n")
    (tmp_path / "s.yaml").write_text("base: top.yaml\nsweep: {grid: {seed: [1, 2]}}\nworkers: 1\n")
    code, _, errors = cgm("sweep", "s.yaml")
    assert code == 0, errors
    assert load_run(tmp_path / "runs" / "s" / "points" / "1" / "run").resolved["solver"]["iterations"] == 5
    (tmp_path / "common" / "base.yaml").write_text(BASE.replace("20", "-20"))
    (tmp_path / "top.yaml").write_text("extends: common/base.yaml\n")
    code, _, errors = cgm("sweep", "s.yaml", "--dry-run")
    assert code == 2 and errors.startswith("common/base.yaml:6:15: expected at least 0, got -20\n")


def test_standard_input_may_extend_a_file(cgm, tmp_path, monkeypatch):
    import io

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"extends: common/base.yaml\nseed: 9\n")))
    code, out, errors = cgm("show", "-")
    assert code == 0 and "\nseed: 9\n" in out, errors
