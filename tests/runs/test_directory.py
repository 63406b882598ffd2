"""The run folder: never shared, never overwritten, honest about its end."""

import json
import logging
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cgm_cli.errors import CgmError, ProblemError
from cgm_cli.methods.status import Status
from cgm_cli.runs import files, locks
from cgm_cli.runs.directory import RUN_FILES, RunDirectory, is_being_written


def test_runs_started_together_get_folders_of_their_own(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: RunDirectory.create("a", root=tmp_path), range(40)))
    assert len({folder.path for folder in folders}) == 40
    assert {folder.path.parent for folder in folders} == {tmp_path / "a"}
    for folder in folders:
        folder.close()


def test_a_colliding_id_is_drawn_again(tmp_path, monkeypatch):
    drawn = iter(["aaaa", "aaaa", "bbbb"])
    monkeypatch.setattr("cgm_cli.runs.directory.secrets.token_hex", lambda size: next(drawn))
    monkeypatch.setattr("cgm_cli.runs.directory.datetime", _FrozenClock)
    first, second = RunDirectory.create("a", root=tmp_path), RunDirectory.create("a", root=tmp_path)
    assert (first.path.name[-4:], second.path.name[-4:]) == ("aaaa", "bbbb")


class _FrozenClock:
    @staticmethod
    def now(zone):
        from datetime import datetime

        return datetime(2026, 1, 2, 3, 4, 5, tzinfo=zone)


def test_out_is_used_as_it_is_and_made_if_missing(tmp_path):
    out = tmp_path / "new" / "folder"
    with RunDirectory.create("a", out) as folder:
        folder.begin("given: 1\n", "resolved: 1\n")
    assert folder.path == out
    assert (out / "spec.yaml").read_text() == "given: 1\n"
    assert (out / "resolved.yaml").read_text() == "resolved: 1\n"


@pytest.mark.parametrize("name", RUN_FILES)
def test_out_with_any_file_of_a_run_is_refused(tmp_path, name):
    (tmp_path / name).write_text("precious")
    with pytest.raises(ProblemError, match=f"already holds a run .{name}.") as caught:
        RunDirectory.create("a", tmp_path)
    assert caught.value.exit_code == 2
    assert (tmp_path / name).read_text() == "precious"
    assert not is_being_written(tmp_path)


def test_out_with_any_other_file_is_refused_and_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ProblemError, match="is not empty; a run needs a new or an empty folder") as caught:
        RunDirectory.create("a", tmp_path)
    assert caught.value.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_empty_name_of_out_is_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.yml").write_text("mine")
    with pytest.raises(ProblemError, match=f"^{tmp_path} is not empty"):
        RunDirectory.create("a", Path(""))


def test_an_empty_folder_or_one_with_the_lock_of_a_dead_writer_is_fine(tmp_path):
    RunDirectory.create("a", tmp_path).close()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".lock").write_text("")
    RunDirectory.create("a", tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_anew(tmp_path, monkeypatch):
    real, first = locks.fcntl.flock, []

    def flock(descriptor, operation):
        if not first:
            # The last owner ends between our opening the file and our locking it.
            first.append(descriptor)
            (tmp_path / ".lock").unlink()
        real(descriptor, operation)

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    with RunDirectory.create("a", tmp_path):
        assert is_being_written(tmp_path)
        with pytest.raises(ProblemError, match="being written by another process"):
            RunDirectory.create("a", tmp_path)


def test_two_writers_of_one_folder_are_refused(tmp_path):
    with RunDirectory.create("a", tmp_path):
        assert is_being_written(tmp_path)
        with pytest.raises(ProblemError, match="being written by another process"):
            RunDirectory.create("a", tmp_path)
    assert not is_being_written(tmp_path)


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_file_in_place_of_the_folder_is_a_usage_error(tmp_path, out):
    (tmp_path / "file").write_text("")
    with pytest.raises(ProblemError) as caught:
        RunDirectory.create("a", tmp_path / out)
    assert caught.value.exit_code == 2
    assert str(tmp_path / "file") in caught.value.message


def test_a_file_in_place_of_the_root_is_a_usage_error(tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(ProblemError):
        RunDirectory.create("a", root=tmp_path / "runs")


def test_status_goes_from_running_to_its_end(tmp_path):
    with RunDirectory.create("a", tmp_path) as folder:
        folder.begin("", "")
        running = json.loads((tmp_path / "status.json").read_text())
        folder.set_status(Status.CONVERGED, "Fine.", {"gap": float("nan")})
    ended = json.loads((tmp_path / "status.json").read_text())
    assert (running["status"], running["ended"], running["result"]) == ("running", None, None)
    assert (ended["status"], ended["sentence"], ended["message"]) == ("converged", Status.CONVERGED.sentence, "Fine.")
    assert ended["started"] == running["started"] <= ended["ended"]
    assert ended["result"] == {"gap": None}


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "status.json"
    files.write_atomically(path, "old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(CgmError, match="the disk is full") as caught:
        files.write_atomically(path, "new")
    assert caught.value.exit_code == 4
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_log_txt_takes_messages_and_warnings_of_its_run_only(tmp_path):
    logger = logging.getLogger("cgm_cli.somewhere")
    with RunDirectory.create("a", tmp_path) as folder, folder.logging():
        logger.info("inside")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            logging.captureWarnings(True)
            warnings.warn("odd numbers", stacklevel=1)
    logger.warning("outside")
    text = (tmp_path / "log.txt").read_text()
    assert "inside" in text
    assert "odd numbers" in text
    assert "outside" not in text
