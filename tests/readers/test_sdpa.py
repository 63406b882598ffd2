"""SDPA files: what they say, in several spellings, and what is wrong with damaged ones."""

from __future__ import annotations

import gzip

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
    PLAIN.replace("0 1 1 2 2", "0 1 1 2 2\n0 1 2 1 +2.0D+00"),
]


def read(tmp_path, text):
    path = tmp_path / "p.dat-s"
    path.write_bytes(text.encode())
    return read_sdpa(path, "p.dat-s")


def matrix(program, number):
    """F_i of a program of one matrix."""
    n = program.sizes[0]
    return program.matrices[[number]].toarray().reshape(n, n).tolist()


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_program(tmp_path, text):
    program = read(tmp_path, text)
    assert program.sizes == (2,)
    assert matrix(program, 0) == [[1, 2], [2, 3]]
    assert [matrix(program, 1), matrix(program, 2)] == [[[1, 0], [0, 1]], [[0, 5], [5, 0]]]
    assert program.right.tolist() == [10, 20]


def test_a_matrix_without_entries_is_zero(tmp_path):
    program = read(tmp_path, PLAIN.replace("2 1 1 2 5\n", ""))
    assert matrix(program, 2) == [[0, 0], [0, 0]]


def test_blocks_follow_each_other_and_diagonal_ones_are_vectors(tmp_path):
    text = "2\n4\n{-3, 2,\n 1, 2}\n10 20\n0 1 2 2 7\n0 4 2 1 8\n1 2 1 1 1\n1 2 1 2 2\n2 3 1 1 3\n2 1 3 3 4\n"
    program = read(tmp_path, text)
    assert program.sizes == (-3, 2, -1, 2)
    assert program.starts == [0, 3, 7, 8, 12]
    assert program.matrices.toarray().tolist() == [
        [0, 7, 0, 0, 0, 0, 0, 0, 0, 8, 8, 0],
        [0, 0, 0, 1, 2, 2, 0, 0, 0, 0, 0, 0],
        [0, 0, 4, 0, 0, 0, 0, 3, 0, 0, 0, 0],
    ]


def test_no_constraints(tmp_path):
    program = read(tmp_path, "0\n1\n-2\n\n0 1 1 1 -1.0\n0 1 2 2 -1.0\n")
    assert program.right.size == 0
    assert program.matrices.toarray().tolist() == [[-1, -1]]


def test_packed_and_dense_files_hold_the_same(tmp_path):
    (tmp_path / "p.dat-s.gz").write_bytes(gzip.compress(PLAIN.encode()))
    packed = read_sdpa(tmp_path / "p.dat-s.gz")
    (tmp_path / "p.dat").write_text(
        "2 = m\n1\n2\n{10, 20}\n{ {1, +2.0e+00}, {2, 3} }\n{{1,0},{0,1}}\n{{0, 5.0D0}, {5, 0}}\n"
    )
    dense = read_sdpa(tmp_path / "p.dat")
    for program in (packed, dense):
        assert [matrix(program, i) for i in range(3)] == [[[1, 2], [2, 3]], [[1, 0], [0, 1]], [[0, 5], [5, 0]]]
    (tmp_path / "b.dat").write_text("1\n2\n-2 2\n3\n1 2 3 4 4 5\n6 0\n0 0\n0 7\n")
    assert read_sdpa(tmp_path / "b.dat").matrices.toarray().tolist() == [[1, 2, 3, 4, 4, 5], [6, 0, 0, 0, 0, 7]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "ends before the number of constraints"),
        ("x\n", "line 1: expected the number of constraints, got 'x'"),
        ("-1\n", "negative number of constraints"),
        ("1\n0\n", "without blocks"),
        ("1\n2\n3\n", "ends before the sizes"),
        ("1\n2\n3 x\n", "line 3: expected the sizes"),
        ("1\n1\n0\n", "size 0"),
        ("2\n1\n2\n10\n", "is truncated"),
        ("2\n1\n2\n10 abc\n", "line 4"),
        ("2\n1\n2\n10 nan\n", "not all finite"),
        ("2\n1\n2\n10 20 30\n0 1 1 1 1\n", "line 4: more numbers than the right-hand sides, of which there are 2"),
        ("999999999\n1\n2\n1 2\n1 1 1 1 1\n", "is truncated"),
        (PLAIN.replace("2 1 1 2 5", "3 1 1 2 5"), "line 12: no such matrix"),
        (PLAIN.replace("2 1 1 2 5", "2 2 1 2 5"), "line 12: no such"),
        (PLAIN.replace("2 1 1 2 5", "2 1 1 3 5"), "line 12: no such"),
        (PLAIN.replace("2 1 1 2 5", "2 1 0 2 5"), "line 12: no such"),
        (PLAIN.replace("2 1 1 2 5", "2 1 1.5 2 5"), "line 12: no such"),
        (PLAIN.replace("2 1 1 2 5", "2 1 1 2 inf"), "line 12: the entry is not finite"),
        (PLAIN.replace("2 1 1 2 5", "1 1 2 2 5"), "line 12: the entry is given twice"),
        (PLAIN.replace("2 1 1 2 5", "2 1 1 2"), "line 12: entries have 5 numbers .*, not 4"),
        (PLAIN.replace("2 1 1 2 5", "2 1 1 2 x"), "line 12: 'x' is not a number"),
        (PLAIN.replace("2 1 1 2 5", "2 nan 1 2 5"), "line 12: no such"),
        ("1\n1\n2\n1\n", "has no entries"),
        (PLAIN + "0 1 2 1 3\n", "line 13: the entry differs from that on the other side"),
        ("1\n2\n2 -2\n1\n1 2 1 2 1\n", "line 5: a diagonal block has an entry off its diagonal"),
    ],
)
def test_damaged_and_unsupported_files(tmp_path, text, words):
    with pytest.raises(DataError, match=words):
        read(tmp_path, text)


def test_a_size_beyond_memory_is_refused_before_anything_is_allocated(tmp_path, monkeypatch):
    monkeypatch.setattr("cgm_cli.readers.memory.available_memory", lambda: 10**6)
    with pytest.raises(DataError, match="memory"):
        read(tmp_path, "1\n1\n999999999\n1\n1 1 1 1 1\n")


def test_dense_and_packed_files_that_are_damaged(tmp_path):
    (tmp_path / "p.dat").write_text("1\n1\n2\n1\n1 2 3 4\n1 0 0 1\n")
    with pytest.raises(DataError, match="line 5: block 1 of matrix 0 is not symmetric"):
        read_sdpa(tmp_path / "p.dat")
    (tmp_path / "q.dat").write_text("1\n1\n2\n1\n1 2 2 4\n1 0\n")
    with pytest.raises(DataError, match="ends before block 1 of matrix 1"):
        read_sdpa(tmp_path / "q.dat")
    (tmp_path / "p.dat-s.gz").write_bytes(gzip.compress(PLAIN.encode())[:-12])
    with pytest.raises(DataError, match="gzip"):
        read_sdpa(tmp_path / "p.dat-s.gz")
