"""Run folders that the tests share, and `cgm` in this process."""

from __future__ import annotations

import os

import numpy as np
import pytest

from cgm_cli.methods.status import Status
from tests.reports.support import make_run, spec


@pytest.fixture(scope="session", autouse=True)
def _fast_disk():
    """Hundreds of folders need not survive a loss of power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def three(tmp_path_factory):
    """Three runs that differ in beta0 and their rates."""
    folder = tmp_path_factory.mktemp("three")
    for beta0, rate in ((0.1, 0.7), (1.0, 1.0), (10.0, 1.3)):
        make_run(folder / f"beta{beta0:g}", spec(f"beta{beta0:g}", beta0=beta0), iterations=400, rate=rate)
    return folder


@pytest.fixture(scope="session")
def mixed(tmp_path_factory):
    """A good run beside everything that is none, and names that are out to do harm."""
    import h5py

    folder = tmp_path_factory.mktemp("mixed")
    make_run(folder / "good", spec("good", beta0=2.0))
    make_run(folder / "killed", spec("killed"), status=Status.RUNNING)
    make_run(folder / "failed", spec("failed"), status=Status.FAILED, message="The oracle gave up.")
    broken = make_run(folder / "broken", spec("broken"))
    (broken / "run.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(50))
    (folder / "empty").mkdir()
    (folder / "bad-status").mkdir()
    (folder / "bad-status" / "status.json").write_text("[1, 2]")
    (folder / "foreign").mkdir()
    with h5py.File(folder / "foreign" / "data.h5", "w") as file:
        file["x"] = np.ones(3)
    return folder
