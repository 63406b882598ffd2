"""`cgm certify` and `cgm_cli.certify`: true statements about clusterings and cuts, and messages about bad input."""

import itertools
import json
import math

import numpy as np
import pytest

from cgm_cli import certify
from cgm_cli.certificates.certificate import Certificate, rounded_up
from cgm_cli.cli import main
from cgm_cli.errors import CgmError
from tests.certificates.support import blobs, exact


@pytest.fixture
def cgm(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main([*map(str, arguments)])
        return left.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize("seed", range(2))
def test_the_bound_is_below_the_optimum_in_any_units(seed, scale):
    points = scale * blobs(9, 3, 2, 3.0, seed)[0]
    optimum = exact(points / scale, 3)[0] * scale**2
    found = certify(points, clusters=3)
    assert found.failure == 0.0 and found.how in ("whole", "structure")
    assert 0.5 * optimum <= found.bound <= optimum * (1 + 1e-9)
    assert found.value == pytest.approx(optimum)  # of nine points it is found
    given = certify(points, np.arange(9) % 3)
    assert given.bound <= optimum * (1 + 1e-9) and given.value > optimum
    np.testing.assert_array_equal(given.labels, np.arange(9) % 3)


def test_one_cluster_and_a_cluster_for_every_point_are_optimal():
    points = blobs(7, 2, 2, 1.0, 0)[0]
    assert certify(points, clusters=1).within_percent <= 1e-9
    assert certify(points, clusters=7).within_percent == 0.0
    assert "the best possible (certified)" in certify(points, clusters=7).sentence


def test_many_points_are_taken_by_samples():
    points, labels = blobs(21_000, 3, 12, 1.0, 1)
    found = certify(points, [f"group {label}" for label in labels], within=0.1, failure=0.01, time=30)
    assert found.how == "samples" and found.failure == 0.01 and found.samples > 0
    assert 0.0 < found.within_percent <= 10.0
    assert "with probability 1 - 0.01" in found.sentence


def test_many_points_are_certified_where_time_allows(monkeypatch):
    monkeypatch.setattr("cgm_cli.certificates.points.WHOLE", 300)
    points = blobs(400, 3, 3, 1.5, 1)[0]
    found = certify(points, clusters=3, within=0.1, time=60)
    assert found.how == "whole" and found.failure == 0.0 and 0.0 < found.within_percent <= 10.0
    monkeypatch.setattr("cgm_cli.certificates.points.seconds", lambda n, clusters: 61.0)
    assert certify(points, clusters=3, within=0.3, time=60).how == "samples"


def test_what_is_near_enough_by_one_matrix_is_not_taken_further(monkeypatch):
    points = blobs(400, 3, 3, 1.5, 1)[0]
    nearer = certify(points, clusters=3, within=0.01)
    monkeypatch.setattr("cgm_cli.certificates.points.by_the_whole", lambda *_: pytest.fail("it was near enough"))
    found = certify(points, clusters=3, within=0.1)
    assert found.how == "whole" and found.within_percent <= 10.0
    assert found.bound <= nearer.bound * (1 + 1e-6) and nearer.how == "whole"


def test_percentages_are_rounded_up():
    assert [rounded_up(percent) for percent in (1.201, 0.0123, 12.01, 99.5, 1.2)] == [
        "1.3",
        "0.013",
        "13",
        "100",
        "1.2",
    ]
    for percent in np.random.default_rng(0).uniform(0.001, 150, 200):
        assert percent <= float(rounded_up(percent)) * (1 + 1e-8) <= 1.11 * percent


def test_without_a_bound_nothing_is_claimed():
    nothing = Certificate(3.0, 0.0, 1e-3, 1.0, "clustering", "samples", np.zeros(1))
    assert math.isinf(nothing.within_percent) and "Nothing is proven" in nothing.sentence
    assert nothing.as_dict()["within_percent"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"clusters": 0}, "from 1 to 4"),
        ({"clusters": 5}, "from 1 to 4"),
        ({}, "how many"),
        ({"labels": [0, 1]}, "2 labels of 4 points"),
        ({"labels": [0, 1, 2, 3], "clusters": 2}, "name 4 clusters"),
        ({"clusters": 2, "within": 0.0}, "within"),
        ({"clusters": 2, "time": -1.0}, "time"),
        ({"clusters": 2, "failure": 1.0}, "failure"),
        ({"clusters": 2, "seed": -1}, "seed"),
    ],
)
def test_what_is_none_is_refused(arguments, words):
    with pytest.raises(CgmError, match=words):
        certify(np.arange(8.0).reshape(4, 2), **arguments)


@pytest.mark.parametrize("points", [[], [["a"]], [[1.0, math.nan]], np.zeros((2, 2, 2)), [[1e154]], [[1j]]])
def test_points_that_are_none_are_refused(points):
    with pytest.raises(CgmError, match="points: "):
        certify(points, clusters=1)


def test_the_command_says_one_sentence_and_writes_the_clusters(cgm, tmp_path):
    points, labels = blobs(60, 3, 2, 8.0, 1)
    np.savetxt(tmp_path / "p.csv", points, delimiter=",", header="x,y", comments="")
    (tmp_path / "l.csv").write_text("group\n" + "".join(f"{label}\n" for label in labels))
    code, out, err = cgm("certify", tmp_path / "p.csv", "--clusters", 3, "--out", tmp_path / "o.csv")
    assert code == 0 and "Traceback" not in err
    assert out.splitlines()[-1].startswith("This clustering is ") and "(certified)" in out
    assert len((tmp_path / "o.csv").read_text().split()) == 60
    code, out, _ = cgm("certify", tmp_path / "p.csv", "--labels", tmp_path / "l.csv", "--within", "50%", "--json")
    found = json.loads(out)
    assert code == 0 and found["failure"] == 0.0 and found["within_percent"] < 50.0
    assert found["value"] == pytest.approx(certify(points, labels).value)


def test_the_command_bounds_a_cut(cgm, tmp_path):
    edges = {(0, 1): 3.0, (0, 2): 1.0, (1, 2): 2.0, (2, 3): 2.0, (3, 4): 1.0, (0, 4): 2.0, (1, 3): 1.0}
    (tmp_path / "g.csv").write_text(
        "from,to,weight\n" + "".join(f"{a + 1},{b + 1},{w}\n" for (a, b), w in edges.items())
    )
    weight = lambda sides: sum(w for (a, b), w in edges.items() if sides[a] != sides[b])  # noqa: E731
    best = max(map(weight, itertools.product((0, 1), repeat=5)))
    (tmp_path / "cut.csv").write_text("left\nright\nleft\nright\nright\n")
    code, out, _ = cgm("certify", tmp_path / "g.csv", "--cut", tmp_path / "cut.csv", "--json")
    found = json.loads(out)
    assert code == 0 and found["what"] == "cut"
    assert found["value"] == weight((0, 1, 0, 1, 1)) and best <= found["bound"] <= 1.14 * best
    (tmp_path / "cut.csv").write_text("node,side\n4,right\n2,right\n5,right\n1,left\n3,left\n")
    assert (
        json.loads(cgm("certify", tmp_path / "g.csv", "--cut", tmp_path / "cut.csv", "--json")[1])
        | {"seconds": found["seconds"]}
        == found
    )
    for text, words in (
        ("1,a\n2,b\n3,a\n4,a\n6,b\n", "no node `6`"),
        ("2,a\n1,b\n", "not there"),
    ):
        (tmp_path / "cut.csv").write_text(text)
        code, _, told = cgm("certify", tmp_path / "g.csv", "--cut", tmp_path / "cut.csv")
        assert code == 3 and words in told


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ((), 2, "--clusters or --labels"),
        (("--clusters", "2", "--within", "much"), 2, "2% or 0.02"),
        (("--clusters", "2", "--time", "soon"), 2, "90s"),
        (("--labels", "absent.csv"), 3, "absent.csv"),
        (("--labels", "pair.csv"), 3, "one label a line"),
        (("--labels", "hole.csv"), 3, "hole.csv: line 2 is `nan`, and every point needs a label"),
        (("--clusters", "9"), 2, "from 1 to 3"),
    ],
)
def test_bad_input_is_told(cgm, tmp_path, monkeypatch, options, code, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("1.5,2.5\n3.5,4.5\n5.5,6.5\n")
    (tmp_path / "pair.csv").write_text("1,2\n3,4\n")
    (tmp_path / "hole.csv").write_text("1\nnan\n2\n")
    found, _, err = cgm("certify", "p.csv", *options)
    assert found == code and words in err and "Traceback" not in err


def test_columns_of_a_table_are_chosen_as_in_a_spec(cgm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    points = np.random.default_rng(0).integers(0, 50, (12, 2))
    (tmp_path / "plain.csv").write_text("".join(f"{x},{y}\n" for x, y in points))
    (tmp_path / "named.csv").write_text("who,x,y\n" + "".join(f"p{x},{x},{y}\n" for x, y in points))
    values = []
    for arguments in (
        ("plain.csv", "--columns", "1..2"),
        ("plain.csv", "--columns", "1, 2"),
        ("named.csv", "--columns", "x,y"),
        ("named.csv", "--except", "who"),
    ):
        code, out, _ = cgm("certify", *arguments, "-k", 3, "--json")
        assert code == 0
        values.append(json.loads(out)["value"])
    assert values == [values[0]] * 4
    code, _, errors = cgm("certify", "plain.csv", "-k", 3)  # 23,25 may be one number
    assert code == 3 and "columns" in errors


def test_tables_are_read_as_in_a_spec(cgm, tmp_path, monkeypatch):
    """Names, missing cells, an encoding; clusters go out and come back by the names."""
    monkeypatch.chdir(tmp_path)
    lines = ["Straße;x;y", "möwe;1,5;2", "uhu;;3", "spatz;1;2", "bär;9;8", "fuchs;9;9,5"]
    (tmp_path / "p.csv").write_text("\n".join(lines), encoding="windows-1252")
    options = ["p.csv", "--names", "Straße", "--encoding", "windows-1252"]
    code, _, err = cgm("certify", *options, "-k", 2)
    assert code == 3 and "line 3 (`uhu`), column 2 (`x`): the value is missing" in err
    assert cgm("certify", *options, "--missing", "drop", "-k", 2, "--out", "o.csv")[0] == 0
    told = [line.split(",") for line in (tmp_path / "o.csv").read_text(encoding="utf-8").split()]
    assert told[0] == ["point", "cluster"] and [name for name, _ in told[1:]] == ["möwe", "spatz", "bär", "fuchs"]
    (tmp_path / "p.csv").write_text("\n".join(lines[:2] + lines[3:]), encoding="windows-1252")
    (tmp_path / "l.csv").write_text("name,group\nfuchs,a\nspatz,b\nmöwe,b\nbär,a\n", encoding="windows-1252")
    ways = (("-k", 2), ("--labels", "l.csv"))
    values = [json.loads(cgm("certify", *options, *given, "--json")[1])["value"] for given in ways]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_a_sheet_of_points_and_of_edges(cgm, tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    with pandas.ExcelWriter("b.xlsx") as book:
        pandas.DataFrame({"a": [1, 2], "b": [2, 3]}).to_excel(book, sheet_name="edges", index=False)
        pandas.DataFrame({"x": [1, 2, 9], "y": [0, 0, 0]}).to_excel(book, sheet_name="points", index=False)
    (tmp_path / "cut.csv").write_text("a\nb\na\n")
    assert json.loads(cgm("certify", "b.xlsx", "--sheet", "points", "-k", 2, "--json")[1])["value"] == 0.5
    found = json.loads(cgm("certify", "b.xlsx", "--sheet", 1, "--columns", "a,b", "--cut", "cut.csv", "--json")[1])
    assert found["value"] == 2.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-k", 2, "--encoding", "klingon"), "--encoding: no text encoding that Python knows"),
        (("-k", 2, "--decimal", "x"), "--decimal: Input should be '.' or ','"),
        (("-k", 2, "--columns", "a", "--except", "b"), "give `columns` or `except`, not both"),
        (("--labels", "l.csv", "--missing", "drop"), "would leave out rows of the points"),
        (("--cut", "l.csv", "--names", "a"), "--names is of points, and not of a graph"),
        (("--cut", "l.csv", "--columns", "a,b,c"), "two columns of nodes"),
    ],
)
def test_options_that_cannot_be_are_told(cgm, tmp_path, options, words):
    code, _, err = cgm("certify", tmp_path / "p.csv", *options)
    assert code == 2 and words in " ".join(err.replace("│", " ").split())


def test_what_cannot_be_written_is_told_before_anything_is_computed(cgm, tmp_path):
    (tmp_path / "points.csv").write_text("x,y\n1,2\n3,4\n5,7\n")
    code, out, errors = cgm("certify", tmp_path / "points.csv", "-k", 2, "--out", tmp_path / "none" / "labels.csv")
    assert code == 3 and "cannot be written" in errors and "looking for" not in errors + out


def test_what_is_read_is_not_written_over(cgm, tmp_path):
    (tmp_path / "points.csv").write_text("1,2\n3,4\n5,7\n")
    code, _, errors = cgm("certify", tmp_path / "points.csv", "-k", 2, "--out", tmp_path / "points.csv")
    assert code == 3 and "written over" in errors
    assert (tmp_path / "points.csv").read_text() == "1,2\n3,4\n5,7\n"


def test_a_cut_that_is_worth_nothing_has_a_bound_and_no_percentage(cgm, tmp_path):
    (tmp_path / "g.csv").write_text("1,2\n2,3\n")
    (tmp_path / "cut.csv").write_text("a\na\na\n")
    code, out, _ = cgm("certify", tmp_path / "g.csv", "--cut", tmp_path / "cut.csv")
    assert code == 0 and "No cut is worth more than 2" in out


def test_a_share_that_is_not_reached_is_said(cgm, tmp_path):
    (tmp_path / "points.csv").write_text("x,y\n" + "".join(f"{x},{x * x % 7}\n" for x in range(9)))
    code, out, _ = cgm("certify", tmp_path / "points.csv", "-k", 2, "--within", "1e-13%")
    assert code == 0
    assert "of the best possible" in out and "The 1e-13 % asked for are not proven." in out
    code, out, _ = cgm("certify", tmp_path / "points.csv", "-k", 2, "--within", "99%")
    assert code == 0 and "not proven" not in out
