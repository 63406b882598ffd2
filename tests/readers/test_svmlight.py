"""Samples in the format of LIBSVM: what they say, and the line that is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.errors import DataError
from cgm_cli.readers.svmlight import read_svmlight


def read(tmp_path, text):
    (tmp_path / "d.svm").write_text(text)
    return read_svmlight(tmp_path / "d.svm", "d.svm")


def test_samples(tmp_path):
    features, labels = read(tmp_path, "# two\n+1 1:0.5 3:-2e0 # a sample\n\n-1 qid:3 2:.25\n0.5\n")
    np.testing.assert_array_equal(features, [[0.5, 0, -2], [0, 0.25, 0], [0, 0, 0]])
    assert labels.tolist() == [1, -1, 0.5]


def test_indices_from_zero(tmp_path):
    np.testing.assert_array_equal(read(tmp_path, "1 0:1 1:2\n2 1:3\n")[0], [[1, 2], [0, 3]])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "is empty"),
        ("1\n2\n", "no sample has a feature"),
        ("a 1:2\n", "line 1: 'a' is not a label"),
        ("nan 1:2\n", "line 1: 'nan' is not a label"),
        ("1 1:2\n1 1:x\n", "line 2: expected `index:value`, got '1:x'"),
        ("1 -1:2\n", "line 1: expected `index:value`"),
        ("1 1:1e999\n", "line 1: '1e999' is not a value"),
        ("1 2:1 2:1\n", "line 1: index 2 follows 2: they have to grow"),
        ("1 1:1\n1 999999999:1\n" * 10**4, "would take"),
    ],
)
def test_refusals(tmp_path, text, match):
    with pytest.raises(DataError, match=match) as caught:
        read(tmp_path, text)
    assert caught.value.message.startswith("d.svm: ")
