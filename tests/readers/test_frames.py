"""Tables in Parquet, Feather and Excel are read as the same table in a text file is."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from cgm_cli.errors import DataError
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.kinds import made_for, recognise
from cgm_cli.readers.ratings import RatingsFile
from cgm_cli.readers.table import rows_in
from cgm_cli.spec.fields import FileArray, GraphFile, TableArray

NEEDED = {".parquet": "pyarrow", ".feather": "pyarrow", ".xlsx": "openpyxl"}


@pytest.fixture(params=NEEDED)
def written(request, tmp_path):
    """Writes a frame, and gives the name of its file."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip(NEEDED[request.param])

    def write(columns):
        frame, path = pandas.DataFrame(columns), tmp_path / f"t{request.param}"
        if request.param == ".xlsx":
            frame.to_excel(path, index=False)
        else:
            getattr(frame, f"to_{request.param[1:]}")(path)
        return path.name

    return write


def test_columns_with_missing_values_and_words(written, tmp_path):
    name = written({"who": ["ann", "bob", "cat"], "a": [0.1, None, 3.0], "b": [1, 2, 3], "kind": ["x", "y", "x"]})
    context = BuildContext((tmp_path,))
    with pytest.raises(DataError, match=r"line 3, column 2 \(`a`\): the value is missing"):
        context.array(TableArray(file=name, columns=["a", "b"]))
    found = context.array(TableArray(file=name, columns=["a", "b"], missing="drop"))
    np.testing.assert_array_equal(found, [[0.1, 1.0], [3.0, 3.0]])
    assert context.classes(TableArray(file=name, column="kind")).tolist() == [0, 1, 0]
    with pytest.raises(DataError, match=r"'ann' is not a number .*`except: \[who\]`"):
        context.array(TableArray(file=name, columns=["who", "b"]))


def test_a_whole_file_and_true_and_false(written, tmp_path):
    numbers = np.array([0.1, -2.5, 1e-7, 3.0, 1 / 3])  # Excel keeps 16 digits
    name = written({"a": numbers, "b": [True, False, True, True, False]})
    found = BuildContext((tmp_path,)).array(FileArray(file=name))
    np.testing.assert_allclose(found, np.column_stack([numbers, [1, 0, 1, 1, 0]]), rtol=1e-15)


def test_edges(written, tmp_path):
    name = written({"weight": [2.0, 1.0], "target": ["bob", "cat"], "source": ["ann", "bob"]})
    found = BuildContext((tmp_path,)).graph(GraphFile(file=name))
    np.testing.assert_array_equal(found.adjacency.toarray(), [[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    assert found.labels == ["ann", "bob", "cat"]


def test_without_a_spec_the_templates_that_take_it_are_listed(written, tmp_path):
    path = tmp_path / written({"kind": ["x", "y", "x"], "a": [0.1, 0.2, 3.0], "b": [1, 2, 2]})
    with pytest.raises(DataError, match=r"is a table, which does not say what is wanted.*\n +cgm init kmeans-sdp"):
        recognise(path)
    assert "column: kind" in made_for("kmeans-sdp", path).text


def test_ratings(written, tmp_path):
    rated = {"user": [7, 7, 9], "item": ["x", "y", "x"], "rating": [1, 2.5, 4]}
    found = BuildContext((tmp_path,)).ratings(RatingsFile(file=written(rated)))
    assert found.ids == (["7", "9"], ["x", "y"]) and found.values.tolist() == [1.0, 2.5, 4.0]


def test_whole_numbers_stay_so_beside_a_missing_one(written, tmp_path):
    name = written({"id": [10, None, 12], "a": [1.0, 2.0, 3.0]})
    assert [cells[0] for _, cells in rows_in(tmp_path / name, None, name)[0]] == ["id", "10", "", "12"]


@pytest.fixture
def workbook(tmp_path):
    """Three sheets, the last one empty, in b.xlsx."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    with pandas.ExcelWriter(tmp_path / "b.xlsx") as book:
        pandas.DataFrame({"a": [1, 2], "b": [3, 4]}).to_excel(book, sheet_name="north", index=False)
        pandas.DataFrame({"u": [5, 6], "i": [7, 8], "r": [1, 2]}).to_excel(book, sheet_name="2024", index=False)
        pandas.DataFrame().to_excel(book, sheet_name="bare", index=False)
    return "b.xlsx"


def test_of_several_sheets_the_first_is_read_and_told(workbook, tmp_path):
    context = BuildContext((tmp_path,))
    assert context.array(FileArray(file=workbook)).tolist() == [[1, 3], [2, 4]]
    told = "b.xlsx: sheet `north` was read, the first (sheets: `north`, `2024`, `bare`); `sheet` names another one."
    assert context.remarks == [told]


@pytest.mark.parametrize("sheet", [2, "2024", 2024])
def test_a_sheet_by_name_or_by_number(workbook, tmp_path, sheet):
    context = BuildContext((tmp_path,))
    assert context.array(TableArray(file=workbook, sheet=sheet)).tolist() == [[5, 7, 1], [6, 8, 2]]
    assert context.ratings(RatingsFile(file=workbook, sheet=sheet)).values.tolist() == [1, 2]
    assert context.graph(GraphFile(file=workbook, columns=["u", "i"], sheet=sheet)).labels == ["5", "6", "7", "8"]
    assert not [remark for remark in context.remarks if "sheet" in remark]


def test_a_sheet_that_is_not_there(workbook, tmp_path):
    context = BuildContext((tmp_path,))
    for sheet, message in (("nort", "no sheet `nort`; did you mean `north`"), (4, r"`4` \(sheets: `north`, `2024`")):
        with pytest.raises(DataError, match=message):
            context.array(TableArray(file=workbook, sheet=sheet))
    with pytest.raises(DataError, match="sheet `bare` is empty"):
        context.array(TableArray(file=workbook, sheet="bare"))
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    readers = (context.array, TableArray), (context.ratings, RatingsFile), (context.graph, GraphFile)
    for read, field in readers:
        with pytest.raises(DataError, match=r"t.csv: only a workbook, .xlsx, has a `sheet`"):
            read(field(file="t.csv", sheet=1))


@pytest.mark.parametrize("suffix", NEEDED)
def test_damaged_or_without_pandas(tmp_path, monkeypatch, suffix):
    (tmp_path / f"t{suffix}").write_bytes(b"PAR1 and nothing else")
    context = BuildContext((tmp_path,))
    with pytest.raises(DataError, match=r"not readable as|pip install"):
        context.array(FileArray(file=f"t{suffix}"))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DataError, match=f"pip install pandas {NEEDED[suffix]}"):
        context.array(FileArray(file=f"t{suffix}"))
