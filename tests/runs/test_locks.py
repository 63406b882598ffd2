"""Who holds the lock of a file: owners, those who only ask, and processes that were started with it."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from cgm_cli.runs import locks


@contextmanager
def opened(path):
    """Another open file than every other of the same path, as another process has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def test_there_is_one_owner(tmp_path):
    path = tmp_path / "lock"
    with opened(path) as other:
        with opened(path) as owner:
            assert locks.is_owned(path) is False
            assert locks.try_lock(owner) is True
            assert locks.is_owned(path) is True
            assert locks.try_lock(other) is False
            assert locks.is_owned(path) is True
        assert locks.is_owned(path) is False
        assert locks.try_lock(other) is True


def test_who_only_asks_is_waited_for(tmp_path):
    path = tmp_path / "lock"
    with opened(path) as owner, opened(path) as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)
        assert locks.is_owned(path) is False
        leaves = threading.Timer(0.03, fcntl.flock, (reader, fcntl.LOCK_UN))
        leaves.start()
        assert locks.try_lock(owner) is True
        leaves.join()


def test_who_is_refused_holds_nothing(tmp_path):
    path = tmp_path / "lock"
    with opened(path) as refused, opened(path) as reader, opened(path) as owner:
        fcntl.flock(reader, fcntl.LOCK_SH)
        assert locks.try_lock(refused) is False
        fcntl.flock(reader, fcntl.LOCK_UN)
        assert locks.try_lock(owner) is True


def test_a_lock_goes_on_in_a_process_that_is_started_with_it(tmp_path):
    path = tmp_path / "lock"
    with opened(path) as descriptor:
        assert locks.try_lock(descriptor) is True
        heir = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(descriptor,))
    assert locks.is_owned(path) is True
    heir.communicate(b"\n")
    assert locks.is_owned(path) is False


def test_asking_neither_makes_a_file_nor_waits_for_a_pipe(tmp_path):
    with pytest.raises(FileNotFoundError):
        locks.is_owned(tmp_path / "lock")
    os.mkfifo(tmp_path / "pipe")
    locks.is_owned(tmp_path / "pipe")
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def flock(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    with opened(tmp_path / "lock") as descriptor:
        assert locks.try_lock(descriptor) is None
        assert locks.is_owned(tmp_path / "lock") is None
        locks.wait_for_lock(descriptor)


def test_the_file_at_a_path_may_be_another_one(tmp_path):
    path = tmp_path / "lock"
    with opened(path) as descriptor:
        assert locks.is_at(path, descriptor)
        path.unlink()
        assert not locks.is_at(path, descriptor)
        path.touch()
        assert not locks.is_at(path, descriptor)
