"""SDPA files: what they say, in several spellings, and what is wrong with damaged ones."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.errors import DataError
from cgm_cli.readers.sdpa import read_sdpa

# F_0 = [[1, 2], [2, 3]], F_1 = I with c_1 = 10, F_2 = offdiagonal 5 with c_2 = 20.
PLAIN = """\
"a comment
* another
2 = m
1 = nblocks
2
10 20
0 1 1 1 1
0 1 1 2 2
0 1 2 2 3
1 1 1 1 1
1 1 2 2 1
2 1 1 2 5
"""
SPELLINGS = [
    PLAIN,
    PLAIN.replace("\n", "\r\n"),
    PLAIN.replace("10 20", "{10.0, 2.0e1}").replace("\n2\n", "\n(2)\n"),
    PLAIN.replace("10 20", "10\n20"),
    PLAIN.replace("0 1 1 2 2", "0 1 2 1 2"),
    PLAIN + "\n\n",
]


def read(tmp_path, text):
    path = tmp_path / "p.dat-s"
    path.write_bytes(text.encode())
    return read_sdpa(path, "p.dat-s")


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_program(tmp_path, text):
    program = read(tmp_path, text)
    assert program.cost.toarray().tolist() == [[1, 2], [2, 3]]
    assert [m.toarray().tolist() for m in program.matrices] == [[[1, 0], [0, 1]], [[0, 5], [5, 0]]]
    assert program.lower.tolist() == program.upper.tolist() == [10, 20]


def test_a_matrix_without_entries_is_zero(tmp_path):
    program = read(tmp_path, PLAIN.replace("2 1 1 2 5\n", ""))
    assert program.matrices[1].shape == (2, 2)
    assert program.matrices[1].nnz == 0


@pytest.mark.parametrize("sizes", ["2 -2", "2, 1, 1", "-2 2"])
def test_slack_variables_are_inequalities(tmp_path, sizes):
    """+ slack: at most; - slack: at least."""
    first, blocks = ("1" if sizes[0] != "-" else "2"), len(sizes.replace(",", " ").split())
    entries = "".join(f"{m} {first} {rest}\n" for m, rest in [(0, "1 1 1"), (1, "1 1 1"), (2, "1 2 5"), (3, "2 2 1")])
    other = "2" if first == "1" else "1"
    slack = [(1, other, 1, 3.0), (2, other if blocks == 2 else "3", 2 if blocks == 2 else 1, -1.0)]
    entries += "".join(f"{m} {block} {i} {i} {value}\n" for m, block, i, value in slack)
    program = read(tmp_path, f"3\n{blocks}\n{sizes}\n10 20 30\n{entries}")
    np.testing.assert_array_equal(program.lower, [-np.inf, 20, 30])
    np.testing.assert_array_equal(program.upper, [10, np.inf, 30])
    assert program.matrices[1].toarray().tolist() == [[0, 5], [5, 0]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "ends before the number of constraints"),
        ("x\n", "line 1: expected the number of constraints, got 'x'"),
        ("0\n", "without constraints"),
        ("1\n0\n", "without blocks"),
        ("1\n2\n3\n", "line 3: expected the sizes"),
        ("1\n1\n0\n", "size 0"),
        ("2\n1\n2\n10\n", "is truncated"),
        ("2\n1\n2\n10 abc\n", "line 4"),
        ("2\n1\n2\n10 nan\n", "not all finite"),
        ("999999999\n1\n2\n1 2\n1 1 1 1 1\n", "is truncated"),
        (PLAIN.replace("2 1 1 2 5", "3 1 1 2 5"), "line 12: no such matrix"),
        (PLAIN.replace("2 1 1 2 5", "2 2 1 2 5"), "line 12: no such"),
        (PLAIN.replace("2 1 1 2 5", "2 1 1 3 5"), "line 12: no such"),
        (PLAIN.replace("2 1 1 2 5", "2 1 0 2 5"), "line 12: no such"),
        (PLAIN.replace("2 1 1 2 5", "2 1 1.5 2 5"), "line 12: no such"),
        (PLAIN.replace("2 1 1 2 5", "2 1 1 2 inf"), "line 12: the entry is not finite"),
        (PLAIN.replace("2 1 1 2 5", "1 1 2 2 5"), "line 12: the entry is given twice"),
        (PLAIN.replace("2 1 1 2 5", "2 1 1 2"), "not a readable table"),
        ("1\n1\n2\n1\n", "has no entries"),
        ("1\n2\n2 2\n1\n1 1 1 1 1\n", "2 matrix blocks; programs with one"),
        ("1\n1\n-2\n1\n1 1 1 1 1\n", "linear program"),
        ("1\n2\n2 -1\n1\n0 2 1 1 1\n", "takes part in the objective"),
        ("2\n2\n2 -1\n1 1\n1 2 1 1 1\n2 2 1 1 1\n", "stands in 2 constraints"),
        ("1\n2\n2 -2\n1\n1 2 1 2 1\n", "off its diagonal"),
    ],
)
def test_damaged_and_unsupported_files(tmp_path, text, words):
    with pytest.raises(DataError, match=words):
        read(tmp_path, text)


def test_a_size_beyond_memory_is_refused_before_anything_is_allocated(tmp_path, monkeypatch):
    monkeypatch.setattr("cgm_cli.readers.memory.available_memory", lambda: 10**6)
    with pytest.raises(DataError, match="memory"):
        read(tmp_path, "1\n1\n999999999\n1\n1 1 1 1 1\n")
