"""Conic Benchmark files: what they say, as a program in blocks, and what is wrong with others."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from scipy.optimize import linprog

from cgm_cli.errors import DataError
from cgm_cli.readers.cbf import read_cbf
from cgm_cli.readers.programs import read_program

# minimise <[[2, 1], [1, 3]], X> + 5 x_0 - x_1 + 7 over x_0 >= 0, x_1 free, x_2 <= 0, x_3 = 0, subject to
# X_00 + X_01 + X_10 + x_1 = 1, x_0 + x_2 >= 2, x_1 <= 3, and a constraint that is free.
WHOLE = """\
# a comment
VER
3

OBJSENSE
MIN

PSDVAR
1
2

VAR
4 4
L+ 1
F 1
L- 1
L= 1

CON
4 4
L= 1
L+ 1
L- 1
F 1

OBJFCOORD
3
0 0 0 2.0
0 1 0 1.0
0 1 1 3.0

OBJACOORD
2
0 5
1 -1

OBJBCOORD
7

FCOORD
3
0 0 0 0 1.0
0 0 0 1 1.0
3 0 0 0 1.0

ACOORD
5
0 1 1.0
1 0 1.0
1 2 1.0
2 1 1.0
3 0 9.0

BCOORD
3
0 -1
1 -2.0
2 -3e0
"""


def read(tmp_path, text):
    path = tmp_path / "p.cbf"
    path.write_text(text)
    return read_cbf(path, "p.cbf")


def test_a_program(tmp_path):
    program = read(tmp_path, WHOLE)
    assert program.sizes == (2, -7)  # x_0, the two of x_1, -x_2, two slacks, and the number that is 1
    assert not program.maximise
    np.testing.assert_array_equal(
        program.matrices.toarray(),
        [
            [2, 1, 1, 3, 5, -1, 1, 0, 0, 0, 7],
            [1, 1, 1, 0, 0, 1, -1, 0, 0, 0, 0],
            [0, 0, 0, 0, 1, 0, 0, -1, -1, 0, 0],
            [0, 0, 0, 0, 0, 1, -1, 0, 0, 1, 0],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        ],
    )
    assert program.right.tolist() == [1, 2, 3, 1]


def test_it_is_known_by_its_content(tmp_path):
    (tmp_path / "p.txt").write_text(WHOLE)
    assert read_program(tmp_path / "p.txt").sizes == (2, -7)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("3\n\nOBJSENSE", "9\n\nOBJSENSE", "line 3: version 9 of the format; 1 to 3 are known"),
        ("OBJSENSE\nMIN\n", "", "has no section OBJSENSE"),
        ("MIN", "LEAST", "line 6: expected MIN or MAX, got 'LEAST'"),
        ("L- 1\nL= 1\n\nCON", "Q 2\n\nCON", "the cone Q .second-order. is not read: only L., L-, L= and F are"),
        ("L- 1\nL= 1\n\nCON", "Z 2\n\nCON", "the cone Z is not read"),
        ("4 4\nL= 1", "5 4\nL= 1", "the cones hold 4, and the section has 5"),
        ("4 4\nL= 1", "4 4\nL= 9", "line 21: the cones hold more than the 4"),
        ("PSDVAR\n1\n2", "PSDVAR\n1\n0", "line 10: a matrix of size 0"),
        ("OBJBCOORD", "INT\n1\n0\n\nOBJBCOORD", "asks for whole numbers"),
        ("OBJBCOORD", "PSDCON\n1\n2\n\nOBJBCOORD", "PSDCON"),
        ("OBJBCOORD", "WHAT", "a section `WHAT`, which is not known"),
        ("0 1 1 3.0", "0 1 2 3.0", "no row or column 2: there are 2"),
        ("0 1 1 3.0", "1 1 1 3.0", "no matrix 1: there are 1"),
        ("0 1 1 3.0", "0 0 1 3.0", "line 30: the entry is given twice"),
        ("0 1 1 3.0", "0 1 1 nan", "'nan' is not a finite number"),
        ("0 1 1 3.0", "0 1 1", "line 30: expected 4 cells, got '0 1 1'"),
        ("2 1 1.0\n3 0 9.0", "4 1 1.0\n3 0 9.0", "no constraint 4: there are 4"),
        ("2 1 1.0\n3 0 9.0", "2 -1 1.0\n3 0 9.0", "'-1' is not a count or a place"),
        ("BCOORD\n3\n0 -1", "BCOORD\n9\n0 -1", "the section promises 9 lines, the file has 3 more"),
        ("\n7\n\nFCOORD", "\n\nFCOORD", "'FCOORD' is not a finite number"),
    ],
)
def test_refusals(tmp_path, old, new, match):
    assert old in WHOLE
    with pytest.raises(DataError, match=match) as caught:
        read(tmp_path, WHOLE.replace(old, new, 1))
    assert caught.value.message.startswith("p.cbf: ")


def test_every_truncation_is_a_program_or_refused(tmp_path):
    lines = WHOLE.splitlines(keepends=True)
    for count in range(len(lines)):
        with suppress(DataError):
            read(tmp_path, "".join(lines[:count]))


@pytest.mark.parametrize("seed", range(10))
def test_linear_programs_keep_their_optimum(tmp_path, seed):
    """A program with variables and constraints of every kind, against the same one as `linprog` takes it."""
    rng = np.random.default_rng(seed)
    variables, constraints = rng.choice(["L+", "L-", "F", "L="], 6), rng.choice(["L+", "L-", "L="], 4)
    cost, matrix, point = rng.normal(size=6), rng.normal(size=(4, 6)), rng.normal(size=6)
    point = np.select([variables == "L+", variables == "L-", variables == "L="], [abs(point), -abs(point), 0], point)
    right = -matrix @ point  # feasible
    box = np.concatenate([np.eye(6), -np.eye(6)])  # bounded: |x_j| <= 10
    rows, offsets = np.concatenate([matrix, box]), np.concatenate([right, np.full(12, 10.0)])
    cones = [*constraints, *["L+"] * 12]
    entries = [f"{i} {j} {float(rows[i, j])!r}" for i, j in np.argwhere(rows)]
    text = "\n".join(
        ["VER", "1", "OBJSENSE", "MIN", "VAR", "6 6", *(f"{cone} 1" for cone in variables), "CON", "16 16"]
        + [f"{cone} 1" for cone in cones]
        + ["OBJACOORD", "6", *(f"{j} {float(value)!r}" for j, value in enumerate(cost)), "OBJBCOORD", "2.5"]
        + ["ACOORD", f"{len(entries)}", *entries]
        + ["BCOORD", "16", *(f"{i} {float(value)!r}" for i, value in enumerate(offsets))]
    )
    signs = {"L+": (0, None), "L-": (None, 0), "F": (None, None), "L=": (0, 0)}
    sign = np.array([{"L+": -1.0, "L-": 1.0, "L=": 0.0}[cone] for cone in cones])
    uneven = sign != 0
    expected = linprog(
        cost,
        A_ub=sign[uneven, None] * rows[uneven],
        b_ub=-sign[uneven] * offsets[uneven],
        A_eq=rows[~uneven],
        b_eq=-offsets[~uneven],
        bounds=[signs[cone] for cone in variables],
    )
    program = read(tmp_path, text)
    dense = program.matrices.toarray()
    found = linprog(dense[0], A_eq=dense[1:], b_eq=program.right)
    assert (expected.status, found.status) == (0, 0)
    assert found.fun == pytest.approx(expected.fun + 2.5, rel=1e-9, abs=1e-9)
