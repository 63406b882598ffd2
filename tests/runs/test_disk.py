"""A full disk, a read-only folder and a folder that is lost during a run: all real."""

import json
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from cgm_cli.runs.load import load_run
from cgm_cli.runs.log import RunLog
from tests.forked import cgm, without_privileges

# An n x n iterate of 0.7 MB, and checkpoints that take a little more.
SPEC = """
name: disk
problem:
  template: max-cut
  graph: {nodes: 300, edges: 3000}
solver: {method: hcgm, iterations: 100, iterate: dense}
stop: {gap: null}
checkpoint: {every: 0.1s}
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC)
    return path


@contextmanager
def small_disk(folder, size):
    """A file system of its own, of so many bytes. Skips where that needs rights that we do not have."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("kilobytes", [300, 600, 1100])
def test_a_disk_that_fills_up_costs_the_folder_and_not_the_result(spec, tmp_path, kilobytes):
    """The log alone fits; most of the solution; a checkpoint, too, but not the one that is to replace it."""
    with small_disk(tmp_path / "small", 1024 * kilobytes) as disk:
        done = cgm("solve", spec, "--out", disk / "run", "--json")
        assert done.returncode == 4, done.stderr
        assert '"status": "iteration-limit"' in done.stdout
        assert "the disk is full" in done.stderr
        assert "Traceback" not in done.stderr
        # What got there before is whole.
        assert load_run(disk / "run").trace["k"].tolist() == list(range(101))
        assert not list((disk / "run").glob(".*.tmp"))


def test_a_disk_that_is_full_at_the_start_is_told_before_anything_is_computed(spec, tmp_path):
    with small_disk(tmp_path / "small", 64 * 1024) as disk:
        (disk / "ballast").write_bytes(bytes(56 * 1024))
        done = cgm("solve", spec, "--out", disk / "run", "--json")
        assert (done.returncode, json.loads(done.stdout)["error"]["exit_code"]) == (4, 4)
        assert "the disk is full" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_resumed_run_on_a_full_disk_keeps_what_there_was(spec, tmp_path):
    with small_disk(tmp_path / "small", 24 * 2**20) as disk:
        cgm("solve", spec, "--out", disk / "run", "--quiet")
        before = load_run(disk / "run").trace["objective"].tolist()
        free = shutil.disk_usage(disk).free
        (disk / "ballast").write_bytes(bytes(free - 8192))
        done = cgm("resume", disk / "run", "--set", "solver.iterations=150")
        assert done.returncode == 4
        assert "the disk is full" in done.stderr
        assert load_run(disk / "run").trace["objective"].tolist()[:101] == before
        (disk / "ballast").unlink()
        assert cgm("resume", disk / "run", "--set", "solver.iterations=150", "--quiet").returncode == 0
        assert load_run(disk / "run").trace["k"].tolist() == list(range(151))


def test_a_folder_that_is_lost_during_the_run(spec, tmp_path, monkeypatch):
    out, on_record = tmp_path / "run", RunLog.on_record

    def lost(self, record):
        on_record(self, record)
        if record.k == 50:
            shutil.rmtree(out)

    monkeypatch.setattr(RunLog, "on_record", lost)
    done = cgm("solve", spec, "--out", out, "--json")
    assert done.returncode == 4, done.stderr
    assert '"status": "iteration-limit"' in done.stdout
    assert "could not be written: No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


def test_a_folder_without_permission(spec, tmp_path):
    out = tmp_path / "locked"
    out.mkdir(mode=0o555)
    done = cgm("solve", spec, "--out", out, before=without_privileges)
    assert done.returncode == 4
    assert f"{out / '.lock'} cannot be made or written to: Permission denied" in done.stderr
    assert list(out.iterdir()) == []


def test_a_read_only_disk(spec, tmp_path):
    with small_disk(tmp_path / "small", 2**20) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        done = cgm("solve", spec, "--out", disk / "run")
        assert done.returncode == 4
        assert "Read-only file system" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_finished_run_that_may_not_be_written_is_refused_and_untouched(spec, tmp_path):
    out = tmp_path / "run"
    cgm("solve", spec, "--out", out, "--quiet", "--set", "solver.iterations=20")
    out.chmod(0o555)
    done = cgm("resume", out, "--set", "solver.iterations=40", before=without_privileges)
    assert done.returncode == 4
    assert f"{out} cannot be written to: Permission denied" in done.stderr
    assert load_run(out).trace["k"].tolist() == list(range(21))


def test_a_log_that_could_not_be_written_holds_the_checkpoint_back(tmp_path):
    """Otherwise the run that goes on from it would have a hole in its trace."""
    spec = tmp_path / "lp.yaml"
    spec.write_text(
        "problem: {domain: {kind: simplex, size: 4}, objective: {kind: linear, cost: [1, 2, 3, 4]},\n"
        "  constraints: [{kind: box, upper: 0.4}]}\n"
        "solver: {method: hcgm, iterations: 2000}\nstop: {gap: null}\ncheckpoint: {every: 0.05s}\n"
    )
    for kilobytes in (300, 420):
        with small_disk(tmp_path / f"small{kilobytes}", 1024 * kilobytes) as disk:
            assert cgm("solve", spec, "--out", disk / "run", "--quiet").returncode == 4
            subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
            assert load_run(disk / "run").summary is None
            assert cgm("resume", disk / "run", "--quiet").returncode == 0
            assert load_run(disk / "run").trace["k"].tolist() == list(range(2001))
