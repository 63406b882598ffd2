"""Tables with headings: which columns are read, by what separators, and what is told of cells that are no numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from cgm_cli.errors import CgmError, DataError, ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.kinds import recognise
from cgm_cli.readers.table import read_named
from cgm_cli.spec.fields import FileArray, TableArray, TableOptions
from cgm_cli.spec.load import dump, load, loads
from cgm_cli.templates.build import build

PEOPLE = 'name,a,"b, c",d\nann,1,2.5,3\n"bob, jr",4,5,6\n'


def read(folder, text, **fields):
    (folder / "t.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    context = BuildContext((folder,))
    return context.array(TableArray.model_validate({"file": "t.csv", **fields})), context.remarks


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"columns": ["a", "d"]}, [[1, 3], [4, 6]]),
        ({"columns": [4, 2]}, [[3, 1], [6, 4]]),
        ({"columns": "a..d"}, [[1, 2.5, 3], [4, 5, 6]]),
        ({"columns": ["2..3"]}, [[1, 2.5], [4, 5]]),
        ({"columns": "d"}, [[3], [6]]),
        ({"except": ["name", "b, c"]}, [[1, 3], [4, 6]]),
        ({"column": "b, c"}, [2.5, 5]),
        ({"columns": ["a", "d"], "transpose": True}, [[1, 4], [3, 6]]),
    ],
)
def test_columns(tmp_path, fields, expected):
    found, remarks = read(tmp_path, PEOPLE, **fields)
    np.testing.assert_array_equal(found, expected)
    assert remarks == []


@pytest.mark.parametrize("mark", [",", ";", "\t", "  "])
def test_separators_and_a_byte_order_mark(tmp_path, mark):
    text = "a,b\n1,2\n3,4\n".replace(",", mark)
    found, _ = read(tmp_path, b"\xef\xbb\xbf" + text.encode(), columns=["b", "a"])
    np.testing.assert_array_equal(found, [[2, 1], [4, 3]])


def test_decimal_commas_are_recognised_and_told(tmp_path):
    found, remarks = read(tmp_path, "a;b\n1,5;2\n-0,25;3,5\n", columns="a..b")
    np.testing.assert_array_equal(found, [[1.5, 2], [-0.25, 3.5]])
    assert remarks == ["t.csv: read with decimal commas: 1,5 as 1.5."]


def test_points_beside_decimal_commas_are_refused(tmp_path):
    """1.234 is 1234 to whoever writes 2,5."""
    for options in ({}, {"decimal": ","}):
        with pytest.raises(DataError, match=r"line 2, column 1 \(`a`\): '1.234' has a point"):
            read(tmp_path, "a;b\n1.234;2,5\n3.000;4,5\n", columns=["a", "b"], **options)


def test_commas_that_may_be_between_thousands_are_refused(tmp_path):
    text = '"a","b"\n"1,234",2\n"2,500",3\n'
    with pytest.raises(DataError, match=r"'1,234' may be 1234 or 1\.234: `decimal: \",\"` says the latter"):
        read(tmp_path, text, columns=["a", "b"])
    found, _ = read(tmp_path, text, columns=["a", "b"], decimal=",")
    np.testing.assert_array_equal(found, [[1.234, 2.0], [2.5, 3.0]])
    found, _ = read(tmp_path, "a;b\n1,234;0,5\n", columns=["a", "b"])
    np.testing.assert_array_equal(found, [[1.234, 0.5]])


def test_decimal_commas_of_one_column(tmp_path):
    found, _ = read(tmp_path, "1,5\n2,25\n", column=1, decimal=",")
    np.testing.assert_array_equal(found, [1.5, 2.25])


def test_missing_values(tmp_path):
    text = "a,b\n1,2\nNA,3\n4,\n5,6\n"
    with pytest.raises(DataError, match=r"t\.csv: line 3, column 1 \(`a`\): the value is missing.*2 of 4"):
        read(tmp_path, text, columns=["a", "b"])
    found, remarks = read(tmp_path, text, columns=["a", "b"], missing="drop")
    np.testing.assert_array_equal(found, [[1, 2], [5, 6]])
    assert remarks == ["t.csv: dropped for a missing value: 2 of 4 rows."]
    assert read(tmp_path, text, column="b", missing="drop")[0].tolist() == [2, 3, 6], "of these columns alone"


@pytest.mark.parametrize(
    ("text", "fields", "message"),
    [
        (PEOPLE, {"columns": ["A1"]}, "no column `A1`"),
        (PEOPLE, {"columns": [5]}, "no column 5: they are numbered 1 to 4"),
        (PEOPLE, {"columns": "d..a"}, "runs backwards"),
        (PEOPLE, {"columns": ["name", "a"]}, r"line 2, column 1 \(`name`\): 'ann' is not a number"),
        ("a,b\n1,2\n3\n", {"columns": ["a"]}, "line 3 has 1 cell, but line 1 has 2"),
        ('a,b\n1,"2\n', {"columns": ["a"]}, "line 2: a quote is not closed"),
        ("a,b\n1,2,\n", {"columns": ["a"]}, "line 2 has 3 cells, but line 1 has 2 .*leave that out of the file"),
        ("a,b,\n1,2,\n", {"except": ["b"]}, r"column 3 has no other; `except: \[3\]` leaves it out"),
        ("a,a\n1,2\n", {"columns": ["a"]}, "line 1: 2 columns are called `a`: say its number, 1 or 2"),
        ("a,b\nNA,1\n", {"columns": ["a"], "missing": "drop"}, "every row has a missing value"),
        ("a,b\n", {"columns": ["a"]}, "has headings, and no rows"),
        ("\n", {"columns": ["a"]}, "the file is empty"),
        ("a,b\n1_0,2\n", {"columns": ["a"]}, "'1_0' is not a number"),
        ("a,b\ninf,2\n", {"columns": ["a"]}, "not finite"),
    ],
)
def test_what_is_refused(tmp_path, text, fields, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, text, **fields)


def test_without_columns(tmp_path):
    """Headings are passed over; what may be one number or two is refused."""
    (tmp_path / "h.csv").write_text("a,b\n1,2\n3,4\n")
    context = BuildContext((tmp_path,))
    from cgm_cli.spec.fields import FileArray

    np.testing.assert_array_equal(context.array(FileArray(file="h.csv")), [[1, 2], [3, 4]])
    (tmp_path / "c.csv").write_text("1,5\n2,25\n")
    with pytest.raises(DataError, match="may be two numbers, or one with a decimal comma"):
        context.array(FileArray(file="c.csv"))


@pytest.mark.parametrize("name", ["e.csv", "e.txt"])
def test_an_empty_file_is_no_spec(tmp_path, name):
    """What has no name of a spec is a file of data, and its fault one of the file."""
    (tmp_path / name).write_text("\n")
    with pytest.raises(DataError, match=f"{name}: the file is empty$"):
        recognise(tmp_path / name)


def solved(folder, problem):
    (folder / "s.yaml").write_text(json.dumps({"problem": problem, "solver": {"iterations": 30}}))
    return build(load(folder / "s.yaml"))


def test_features_and_target_of_one_table(tmp_path):
    (tmp_path / "t.csv").write_text("x,y,kind\n1,0,no\n0,2,yes\n?,1,yes\n3,3,no\n")
    data = {"file": "t.csv", "target": "kind", "missing": "drop"}
    made = solved(tmp_path, {"template": "svm", "data": data, "standardise": False})
    np.testing.assert_array_equal(made.template.table.features, [[1, 0], [0, 2], [3, 3]])
    np.testing.assert_array_equal(made.template.table.target, [-1, 1, -1])
    message = made.solve().message
    assert "t.csv: dropped for a missing value: 1 of 4 rows." in message
    assert "no counts as -1, and yes as +1" in message


def test_words_for_labels(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,label\n0,0,ant\n9,9,bee\n0,1,ant\n9,8,bee\n")
    points = {"file": "t.csv", "columns": "a..b"}
    labels = {"file": "t.csv", "column": "label"}
    made = solved(tmp_path, {"template": "kmeans-sdp", "clusters": 2, "points": points, "labels": labels})
    assert made.solve().metrics["misclassification"] == 0.0


def test_a_row_is_dropped_from_points_and_labels_or_from_none(tmp_path):
    """Another row misses a cell of each: one by one they would leave as many rows of both, in wrong pairs."""
    (tmp_path / "t.csv").write_text("a,kind\n1,x\n,x\n3,y\n4,\n5,y\n")
    points, labels = ({"file": "t.csv", key: name} for key, name in (("columns", ["a"]), ("column", "kind")))
    problem = {"template": "kmeans-sdp", "clusters": 2, "points": {**points, "missing": "drop"}, "labels": labels}
    made = build(loads(dump({"problem": problem}), path=tmp_path / "spec.yaml"))
    assert made.template.points.ravel().tolist() == [1.0, 3.0, 5.0]
    assert made.template.labels.tolist() == [0, 1, 1]
    problem["labels"] = [0, 0, 1, 1]
    with pytest.raises(ProblemError, match="of the same file"):
        build(loads(dump({"problem": problem}), path=tmp_path / "spec.yaml"))


def test_options_of_a_table_need_its_target(tmp_path):
    with pytest.raises(CgmError, match="only a table has `missing`: name the column of its `target`"):
        loads(dump({"problem": {"template": "svm", "data": {"file": "x.svm", "missing": "drop"}}}))


def test_bars_between_cells(tmp_path):
    (tmp_path / "t.csv").write_text('name|x|y\na|1.5|2\n"b|c"|3|4\n')
    found = read_named(tmp_path / "t.csv", TableOptions(names="name"), (), "t.csv")
    assert found.row_names == ["a", "b|c"]
    assert found.numbers(found.places(TableOptions(names="name"))).tolist() == [[1.5, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("2019,2020,2021\n1,4,3\n0,2,5\n", "'2019..2021'"),
        ("0 1 2\n.5 1.5 2.5\n3 4 5\n", "'0..2'"),
        ("1,2\n.5,1.5\n3,4\n", "['1', '2']"),
    ],
)
def test_a_first_row_that_looks_like_a_heading_is_told(tmp_path, text, columns):
    whole, remarks = read(tmp_path, text, columns=[*range(1, len(text.split("\n")[0].replace(",", " ").split()) + 1)])
    assert remarks[0].endswith(f"was taken for numbers; if it is a heading, `columns: {columns}` says so.")
    plain = BuildContext((tmp_path,))
    np.testing.assert_array_equal(plain.array(FileArray(file="t.csv")), whole)
    assert plain.remarks == remarks
    found, remarks = read(tmp_path, text, columns=yaml.safe_load(columns))
    np.testing.assert_array_equal(found, whole[1:])
    assert remarks == []


@pytest.mark.parametrize("text", ["2019;2020\n2021;2022\n", "0;1\n1;0\n", "1,2\n3,4.5\n", "2,3\n.5,.5\n", "1\n.5\n"])
def test_a_first_row_like_the_others_is_not_told(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    context = BuildContext((tmp_path,))
    context.array(FileArray(file="t.csv"))
    assert context.remarks == []


def test_a_range_of_numbers_is_of_columns_whatever_the_first_row_says(tmp_path):
    found, _ = read(tmp_path, "1,2.5,3\n4,5,6.5\n", columns="1..3")
    np.testing.assert_array_equal(found, [[1, 2.5, 3], [4, 5, 6.5]])
