"""Ratings: which columns and lines are read, what becomes of ids and of pairs given twice, what is told of faults."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from cgm_cli.errors import DataError
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.entries import Entries, packed, unpacked
from cgm_cli.readers.ratings import RatingsFile

MOVIES = """\
userId,movieId,rating,timestamp
70122,900,0.5,1000000000
9007199254740993,4560,2.5,1000000000
70122,4560,4,1000000001
9007199254740992,900,3,1000000002
"""


def read(folder, text, **columns):
    (folder / "r.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    context = BuildContext((folder,))
    return context.ratings(RatingsFile.model_validate({"file": "r.csv", **columns})), context.remarks


def triplets(found):
    """(user, item) -> rating."""
    users, items = found.ids
    rows, columns = np.divmod(found.indices, len(items))
    return {(users[i], items[j]): value for i, j, value in zip(rows, columns, found.values, strict=True)}


def test_ids_get_places_in_the_order_in_which_they_appear(tmp_path):
    found, remarks = read(tmp_path, MOVIES)
    assert found.ids == (["70122", "9007199254740993", "9007199254740992"], ["900", "4560"])
    assert found.shape == (3, 2) and found.indices.tolist() == [0, 1, 3, 4]
    assert found.values.tolist() == [0.5, 4, 2.5, 3]
    assert not found.complete and not found.dense and remarks == []


@pytest.mark.parametrize(
    "columns",
    [
        {"user": "userId", "item": "movieId", "value": "rating"},
        {"user": 2, "item": "movieId", "value": 4},
    ],
)
def test_columns_are_those_that_are_named(tmp_path, columns):
    rows = [line.split(",") for line in MOVIES.split()]
    turned = "\n".join(",".join([row[3], *row[:3]]) for row in rows)
    found, _ = read(tmp_path, turned, **columns)
    assert triplets(found) == triplets(read(tmp_path, MOVIES)[0])


@pytest.mark.parametrize("mark", [",", ";", "\t", "  "])
def test_words_quotes_and_no_headings(tmp_path, mark):
    text = '\ufeff# mine\n"b,o; b"|Alien|5\n\nann|"Brazil"|3\nann|007|1\nann|7|2\n'
    found, _ = read(tmp_path, text.replace("|", mark))
    assert triplets(found) == {("b,o; b", "Alien"): 5, ("ann", "Brazil"): 3, ("ann", "007"): 1, ("ann", "7"): 2}


def test_a_packed_file(tmp_path):
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(MOVIES.encode()))
    found = BuildContext((tmp_path,)).ratings(RatingsFile(file="r.csv.gz"))
    assert triplets(found) == triplets(read(tmp_path, MOVIES)[0])


def test_two_colons_separate_cells(tmp_path):
    found, _ = read(tmp_path, "1::1193::5::978300760\n1::661::3.5::978302109\n")
    assert triplets(found) == {("1", "1193"): 5, ("1", "661"): 3.5}


def test_of_a_pair_given_twice_the_last_rating_counts(tmp_path):
    found, remarks = read(tmp_path, "b,x,1\na,x,2\nb,x,3\na,y,4\nb,x,5\n")
    assert triplets(found) == {("b", "x"): 5, ("a", "x"): 2, ("a", "y"): 4}
    assert remarks == ["r.csv: 2 of 5 ratings of a pair rated again below, which counts."]


def test_decimal_commas_are_told(tmp_path):
    found, remarks = read(tmp_path, "user;item;rating\na;x;3,5\n")
    assert found.values.tolist() == [3.5]
    assert remarks == ["r.csv: read with decimal commas: 3,5 as 3.5."]


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("u,i,r\na,x,1\na,y,good\n", {}, "r.csv: line 3, column 3 (`r`): the rating 'good' is not a finite number"),
        ("u,i,r\na,x,1\na,y,inf\n", {}, "line 3, column 3 (`r`): the rating 'inf' is not a finite number"),
        ("u,i,r\na,x,1\na,y,1_0\n", {}, "the rating '1_0' is not a finite number"),
        ("u,i,r\na,x,1\na,y,\n", {}, "line 3, column 3 (`r`): the rating is missing"),
        ("u,i,r\na,x,1\n,y,2\n", {}, "line 3, column 1 (`u`): the user is missing"),
        ("a,x,1\n# no\na,,2\n", {}, "line 3, column 2: the item is missing"),
        ("a,x,1\na,y\n", {}, "line 2 has 2 cells, but line 1 has 3"),
        ("u,i,r\na,x,1\n", {"value": "rating"}, "no column `rating`"),
        ("a,1\n", {}, "no column 3: they are numbered 1 to 2"),
        ("u,i,r\na,x,1\n", {"item": 1}, "are three columns, but of these two are the same"),
        ("u,i,r\n", {}, "has headings, and no rows"),
        ("# nothing\n", {}, "is empty"),
        ('a,x,1\n"a,x,2\n', {}, "line 2: "),
        (b"a,x,1\n\xff,x,2\n", {}, "line 2: byte 0xff is not UTF-8"),
    ],
)
def test_faults_are_told_with_their_place(tmp_path, text, columns, message):
    with pytest.raises(DataError) as caught:
        read(tmp_path, text, **columns)
    assert message in caught.value.message


def test_ids_survive_being_packed():
    ids = ["70122", "Brazil", "Amélie", "a b"]
    assert unpacked(packed(ids)) == ids
    with pytest.raises((ValueError, TypeError)):
        unpacked(np.array([0.5]))


def test_a_split_is_a_partition():
    whole = Entries.of(np.arange(12.0).reshape(3, 4))
    kept, apart = whole.split(0.25, np.random.default_rng(0))
    assert (kept.count, apart.count) == (9, 3)
    assert sorted([*kept.values, *apart.values]) == list(range(12))
    np.testing.assert_array_equal(kept.indices, kept.values)
