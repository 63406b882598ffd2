"""Where a report finds its runs."""

import shutil

from typer.testing import CliRunner

from cgm_cli.cli import app
from cgm_cli.reports.collect import collect


def test_the_points_of_a_sweep_are_found_in_its_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(
        "base: {problem: {template: minimax-ball}, solver: {iterations: 5}}\n"
        "sweep: {grid: {solver.beta0: [0.5, 1.0, 2.0]}}\n"
    )
    done = CliRunner().invoke(app, ["sweep", "s.yaml"])
    assert done.exit_code == 0, done.output
    found = collect(["runs/s"])
    assert found.faults == []
    assert [entry.params["solver.beta0"] for entry in found.entries] == [0.5, 1.0, 2.0]
    shutil.rmtree(found.entries[1].path)
    found = collect(["runs/s"])
    assert len(found.entries) == 2
    assert [fault.reason for fault in found.faults] == ["point 2 of runs/s has no run yet (solver.beta0=1)."]
