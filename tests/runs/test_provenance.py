"""Where a result came from."""

import json
import subprocess

import numpy as np

from cgm_cli.runs import provenance
from cgm_cli.runs.files import to_json


def test_the_record_is_complete_and_strict_json():
    found = provenance.collect("name: a\n", 7, "2026-01-01T00:00:00.000Z", {"a.csv": "0" * 64})
    assert json.loads(to_json(found)) == found
    assert found["seed"] == 7
    assert found["versions"]["numpy"] == np.__version__
    assert found["cpu"]
    assert found["cores"] >= 1
    assert any(pool["user_api"] == "blas" for pool in found["thread_pools"])


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_commit_and_dirty_flag(tmp_path):
    git(tmp_path, "init")
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-m", "one")
    clean = provenance.git_state(tmp_path)
    (tmp_path / "untracked").write_text("")
    assert provenance.git_state(tmp_path) == clean
    assert len(clean["commit"]) == 40
    assert clean["dirty"] is False
    (tmp_path / "a").write_text("2")
    assert provenance.git_state(tmp_path) == {**clean, "dirty": True}


def test_a_folder_inside_somebody_elses_checkout_is_none(tmp_path):
    git(tmp_path, "init")
    (tmp_path / "site-packages").mkdir()
    assert provenance.git_state(tmp_path / "site-packages") is None


def test_a_checkout_without_commits_or_without_git(tmp_path, monkeypatch):
    git(tmp_path, "init")
    assert provenance.git_state(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert provenance.git_state(tmp_path) is None
