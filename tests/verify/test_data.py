"""The data files of a run: recorded sums, and entries that are added up by a route of their own."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.readers.context import BuildContext
from cgm_cli.verify import data
from cgm_cli.verify.data import _raw, _sum_row
from cgm_cli.verify.report import Verdict
from tests.verify.support import composed, row, verified


def small(form: str, dtype=np.int8) -> sp.sparray:
    """(0, 1) = 100 + 100 by two entries, (2, 3) = 7."""
    entries = np.array([100, 100, 7], dtype=dtype), (np.array([0, 0, 2]), np.array([1, 1, 3]))
    matrix = sp.coo_array(entries, shape=(4, 4))
    return matrix if form == "coo" else sp.coo_array(matrix, dtype=np.int16).asformat(form).astype(np.int16)


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_a_sparse_file_by_numpy_alone(form, tmp_path):
    sp.save_npz(tmp_path / "a.npz", small(form))
    raw = _raw(tmp_path / "a.npz", None)
    u, w = np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 20.0, 30.0, 40.0])
    assert raw.shape == (4, 4) and raw.values.sum() == 207.0
    assert raw.weighted(u, w) == 200.0 * 1.0 * 20.0 + 7.0 * 3.0 * 40.0


def test_sums_of_small_integers_do_not_wrap(tmp_path, monkeypatch):
    """Of a reader that adds up duplicate entries of one byte, 100 + 100 would be -56."""
    sp.save_npz(tmp_path / "a.npz", small("coo"))
    context = BuildContext((tmp_path,))
    monkeypatch.setattr(
        data, "read_array", lambda path, key, takes_complex: sp.csr_array(small("coo", np.int64), dtype=float)
    )
    assert _sum_row(context, "a.npz", None).verdict is Verdict.HOLDS
    wrapped = sp.csr_array(np.array([[0, -56.0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 7], [0, 0, 0, 0]]))
    monkeypatch.setattr(data, "read_array", lambda path, key, takes_complex: wrapped)
    found = _sum_row(context, "a.npz", None)
    assert found.verdict is Verdict.FAILS and (found.claimed, found.recomputed) == (-49.0, 207.0)


def test_an_entry_at_another_place(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    context = BuildContext((tmp_path,))
    assert _sum_row(context, "a.npy", None).verdict is Verdict.HOLDS
    monkeypatch.setattr(data, "read_array", lambda path, key, takes_complex: np.arange(6.0)[::-1].reshape(2, 3))
    found = _sum_row(context, "a.npy", None)
    assert found.verdict is Verdict.FAILS and found.claimed == found.recomputed


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float32, np.bool_])
def test_a_run_on_a_file_of_its_own_type(dtype, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "a.npz", features=np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype), other=np.ones(3))
    features = {"kind": "matrix", "matrix": {"file": "a.npz", "key": "features"}}
    loss = {"kind": "least-squares", "target": [1.0, 2.0], "map": features}
    report = verified(composed({"kind": "simplex", "size": 3}, objective=loss), tmp_path / "run")
    assert report.holds
    assert row(report, "data").note == "SHA-256 of a.npz"
    found = row(report, "sum of a.npz")
    assert found.verdict is Verdict.HOLDS and found.claimed == found.recomputed == 4.0
