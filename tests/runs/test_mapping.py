"""Arrays of a spec from Python: every kind that a file may hold, put into files and read back; and what is refused."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cgm_cli.errors import DataError
from cgm_cli.readers import content, memory
from cgm_cli.readers.arrays import read_array
from cgm_cli.readers.context import BuildContext
from cgm_cli.runs.directory import RunDirectory
from cgm_cli.runs.mapping import INLINE, ROOM, SHORT, hand_over
from cgm_cli.spec.faults import SpecError
from cgm_cli.spec.load import loads
from cgm_cli.spec.yaml_reader import parse


def begun(spec, folder: Path) -> Path:
    """The spec.yaml of a run folder that holds the spec."""
    handed = hand_over(spec)
    with RunDirectory.create("run", folder) as directory:
        directory.keep(handed.arrays)
        directory.begin(handed.text, "name: run\n")
    return folder / "spec.yaml"


def through(value, folder: Path) -> np.ndarray | sp.csr_array:
    """What is read of an array that a spec held; it has to be in a file of its own."""
    spec = begun({"a": value}, folder)
    name = parse(spec.read_text()).tree["a"]["file"]
    (file,) = (folder / "arrays").iterdir()
    assert file == folder / name
    assert content.digest_in(name) == hashlib.sha256(file.read_bytes()).hexdigest()
    return read_array(file)


LARGE = np.arange(-60.0, 60.0).reshape(10, 12) / 7


@pytest.mark.parametrize(
    "array",
    [
        LARGE,
        np.asfortranarray(LARGE),
        LARGE[::-1, ::2].repeat(2, axis=0),
        np.broadcast_to(np.arange(12.0), (10, 12)),
        LARGE[:, 0].repeat(11)[::-1],
        LARGE.astype(">f8"),
        LARGE.astype(np.float32),
        LARGE.astype(np.float16),
        LARGE.astype(np.longdouble) / 3,
        (LARGE * 7).astype(np.int8),
        (LARGE * 7).astype(">i4"),
        np.arange(2**63, 2**63 + 120, dtype=np.uint64),
        LARGE > 0,
        np.matrix(LARGE),
        np.ma.array(LARGE, mask=False),
    ],
    ids=lambda array: f"{type(array).__name__} {array.dtype} {array.flags.c_contiguous}",
)
def test_an_array_is_read_as_it_was(array, tmp_path):
    found = through(array, tmp_path / "run")
    assert found.dtype == np.float64 and found.flags.c_contiguous
    np.testing.assert_array_equal(found, np.asarray(array, dtype=float))


def test_an_array_in_a_file_of_its_own(tmp_path):
    np.save(tmp_path / "a.npy", LARGE)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    np.testing.assert_array_equal(through(mapped, tmp_path / "run"), LARGE)


def test_rows_are_written_a_few_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(content, "_AT_A_TIME", 200)  # bytes: two rows
    assert [len(part) for part in content.parts(np.asfortranarray(LARGE))] == [2] * 5
    assert [part.size for part in content.parts(np.arange(60.0))] == [25, 25, 10]
    np.testing.assert_array_equal(through(np.asfortranarray(LARGE), tmp_path / "run"), LARGE)
    np.testing.assert_array_equal(through(LARGE.T[:, :9], tmp_path / "other"), LARGE.T[:, :9])


SPARSE = sp.csr_array(np.where(np.abs(LARGE) < 3, 0.0, LARGE))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_a_sparse_matrix_is_read_as_it_was(form, kind, tmp_path):
    found = through(kind(SPARSE).asformat(form), tmp_path / "run")
    assert isinstance(found, sp.csr_array) and found.dtype == np.float64
    np.testing.assert_array_equal(found.toarray(), SPARSE.toarray())


def test_entries_of_a_sparse_matrix_that_are_given_twice_do_not_wrap(tmp_path):
    entries = np.array([100, 100], dtype=np.int8), (np.array([1, 1]), np.array([0, 0]))
    assert through(sp.coo_array(entries, shape=(2, 2)), tmp_path / "run")[1, 0] == 200.0
    blocks = np.full((2, 1, 1), 100, dtype=np.int8), np.array([0, 0]), np.array([0, 0, 2])
    assert through(sp.bsr_array(blocks, shape=(2, 2)), tmp_path / "blocks")[1, 0] == 200.0


def test_a_sparse_matrix_with_room_for_more(tmp_path):
    roomy = SPARSE.copy()
    roomy.data, roomy.indices = np.append(roomy.data, np.nan), np.append(roomy.indices, 99)
    assert roomy.nnz == SPARSE.nnz
    np.testing.assert_array_equal(through(roomy, tmp_path / "run").toarray(), SPARSE.toarray())
    (file,) = (tmp_path / "run" / "arrays").iterdir()
    with np.load(file) as parts:
        assert parts["data"].size == parts["indices"].size == SPARSE.nnz


def test_a_sparse_matrix_without_entries_stays_one(tmp_path):
    found = through(sp.csr_array((3, 4)), tmp_path / "run")
    assert found.shape == (3, 4) and found.nnz == 0


def test_a_sparse_vector_is_an_array(tmp_path):
    np.testing.assert_array_equal(
        through(sp.coo_array(LARGE[:, 0].repeat(20)), tmp_path / "run"), LARGE[:, 0].repeat(20)
    )


def test_others_read_the_files(tmp_path):
    begun({"a": np.asfortranarray(LARGE > 0), "b": SPARSE}, tmp_path / "run")
    dense, sparse = sorted((tmp_path / "run" / "arrays").iterdir(), key=lambda file: file.suffix)
    np.testing.assert_array_equal(np.load(dense), LARGE > 0)
    np.testing.assert_array_equal(sp.load_npz(sparse).toarray(), SPARSE.toarray())


def test_equal_arrays_share_a_file(tmp_path):
    views = {"a": LARGE, "b": [LARGE.copy(), np.asfortranarray(LARGE)], "c": {"d": LARGE.astype(">f8")}}
    begun({**views, "other": LARGE.astype(np.float32)}, tmp_path / "run")
    assert len(list((tmp_path / "run" / "arrays").iterdir())) == 2


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (pd.Series(np.arange(200), name="y"), np.arange(200.0)),
        (pd.Series(np.arange(200) % 2 == 0), np.arange(200) % 2 == 0),
        (pd.Series([1, 2] * 100, dtype="Int64"), np.array([1.0, 2.0] * 100)),
        (pd.Series([True, False] * 100, dtype="boolean"), np.array([1.0, 0.0] * 100)),
        (pd.Series(pd.arrays.SparseArray([0.0, 2.0] * 100)), np.array([0.0, 2.0] * 100)),
        (pd.DataFrame(LARGE), LARGE),
        (
            pd.DataFrame({"i": np.arange(60), "b": np.arange(60) > 9, "f": np.arange(60) / 7}, index=range(60, 0, -1)),
            np.stack([np.arange(60), np.arange(60) > 9, np.arange(60) / 7], axis=1),
        ),
    ],
    ids=["int", "bool", "Int64", "boolean", "sparse", "frame", "mixed"],
)
def test_what_pandas_makes(frame, expected, tmp_path):
    np.testing.assert_array_equal(through(frame, tmp_path / "run"), expected)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            pd.DataFrame({"a": [1.0], "city": ["Bonn"]}, index=["ann"]),
            "the column `city` holds `.*and row `ann` has 'Bonn'; .*takes a frame as a table, and some of its columns",
        ),
        (pd.DataFrame({"a": [1.0], "when": pd.to_datetime(["2026-05-01"])}), "the column `when` holds `datetime64"),
        (pd.Series(["x"]), "the series holds `"),
        (pd.Series(["x"], dtype="category", name="k\n"), "the column `k.` holds `category`"),
        (np.array([1.0, None]), "holds objects; real numbers are needed"),
        (np.array(["a"]), "holds text; real numbers are needed"),
        (np.zeros(3, dtype="M8[s]"), r"holds `datetime64\[s\]`; real numbers are needed"),
        (np.zeros(3, dtype=[("x", float)]), "holds records; real numbers are needed"),
        (np.ma.array([1.0, 2.0], mask=[True, False]), "an array with masked entries"),
        (np.complex128(1), "not a value of type complex"),
        ({1, 2}, "not a value of type set"),
        ({("a", "b"): 1}, r"keys are text, and `\('a', 'b'\)` is of type tuple"),
        ({None: 1}, "keys are text, and `None` is of type NoneType"),
    ],
)
def test_what_no_array_can_be(value, message):
    with pytest.raises(TypeError, match=rf"^problem\.terms\.1\.b: .*{message}"):
        hand_over({"problem": {"terms": [1, {"b": value}]}})


with_nan = np.where(np.arange(200.0).reshape(20, 10) == 37, np.nan, 1.0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (with_nan, "1 entry is not finite, the first at row 4, column 8: nan"),
        (np.asfortranarray(with_nan), "1 entry is not finite, the first at row 4, column 8: nan"),
        (with_nan[3], "1 entry is not finite, the first at entry 8: nan"),
        (-np.inf * np.ones(101, dtype=np.float16), "101 entries are not finite, the first at entry 1: -inf"),
        (np.full(101, np.longdouble(1e308) * 100), "101 entries are not finite"),
        (sp.csc_array(np.diag([1.0, np.inf])), "1 entry is not finite, the first at row 2, column 2: inf"),
        (
            pd.DataFrame({0: pd.array([1, None], dtype="Int64")}),
            "a cell is missing, that of row `1`, column `0`; `{'file': frame, 'missing': 'drop'}` takes a frame",
        ),
        (np.zeros((2, 3, 5)), r"has 3 dimensions \(2 x 3 x 5\); at most two are supported"),
        (sp.coo_array(np.ones((2, 3, 4))), r"has 3 dimensions \(2 x 3 x 4\)"),
        (np.zeros((3, 0)), r"is empty \(3 x 0\)"),
        (pd.DataFrame(index=range(3)), r"is empty \(3 x 0\)"),
        (sp.csr_array((0, 3)), r"is empty \(0 x 3\)"),
    ],
)
def test_arrays_that_no_file_may_hold_either(value, message):
    with pytest.raises(DataError, match=rf"^problem\.b\.0: {message}"):
        hand_over({"problem": {"b": [value]}})


def test_an_array_that_will_not_fit_into_memory_is_refused_before_anything_is_written(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000)
    with pytest.raises(DataError, match=r"^a: would take 2.4 MB in memory, and only 1 MB are available"):
        hand_over({"a": np.ones((500, 600))})
    with pytest.raises(DataError, match=r"^a: would take 8 MB in memory"):
        hand_over({"a": sp.coo_array((np.ones(1), (np.array([3]),)), shape=(1_000_000,))})


def test_a_mapping_that_holds_itself():
    spec: dict = {}
    spec["a"] = spec
    with pytest.raises(TypeError, match=r"^a\.a\.a\.\.\.: nested deeper than 64 levels, or in itself$"):
        hand_over(spec)


def test_small_arrays_stand_in_the_text():
    values = {
        "flags": np.array([True, False]),
        "whole": np.array([[2**62, -1]]),
        "large": np.array([2**63, 1], dtype=np.uint64),
        "least": np.array([-(2**63)]),
        "single": np.array([0.1, 3.0], dtype=np.float32),
        "double": np.array([0.1, -0.0, 5e-324, 1e300]),
        "sizes": [np.int64(3), np.float32(0.5), np.bool_(True), np.str_("a"), np.array(7), np.longdouble(0.5)],
    }
    handed = hand_over(values)
    assert not handed.arrays
    tree = parse(handed.text).tree
    assert tree["flags"] == [1, 0] and tree["whole"] == [[2**62, -1]]
    assert tree["large"] == [2.0**63, 1.0] and tree["least"] == [-(2.0**63)]
    assert tree["single"] == [float(np.float32(0.1)), 3.0]
    assert list(map(math.copysign, [1.0] * 4, tree["double"])) == [1.0, -1.0, 1.0, 1.0]
    assert tree["double"] == [0.1, -0.0, 5e-324, 1e300]
    assert tree["sizes"] == [3, 0.5, True, "a", 7, 0.5]
    assert [type(value) for value in tree["sizes"]] == [int, float, bool, str, int, float]


def test_a_list_of_truth_values_of_numpy_is_the_array_they_would_make():
    tree = parse(hand_over({"a": list(np.array([True, False])), "b": np.True_, "c": [True, False]}).text).tree
    assert tree == {"a": [1.0, 0.0], "b": True, "c": [True, False]}
    assert [type(value) for value in tree["a"]] == [float, float]


def test_many_small_arrays_do_not_fill_the_text():
    few, many = ROOM // INLINE, ROOM // INLINE + 1
    assert not hand_over({"a": [np.full(INLINE, float(i)) for i in range(few)]}).arrays
    handed = hand_over({"a": [np.full(INLINE, float(i)) for i in range(many)], "shape": np.arange(SHORT)})
    assert len(handed.arrays) == many
    assert handed.tree["shape"] == list(range(SHORT))


def test_a_field_that_takes_no_array_is_named():
    spec = {
        "problem": {
            "domain": {"kind": "birkhoff", "size": np.arange(200)},
            "objective": sp.eye_array(20),
            "penalties": [{"kind": "group-norm", "groups": [np.arange(150)]}],
        },
        "solver": {"beta0": np.ones((20, 30))},
    }
    handed = hand_over(spec)
    with pytest.raises(SpecError) as caught, handed.in_words():
        loads(handed.text)
    assert [(fault.path, fault.message) for fault in caught.value.faults] == [
        (("problem", "domain", "size"), "`problem.domain.size`: expected a whole number, got an array of 200 entries"),
        (("problem", "objective"), "`problem.objective` takes no array, and this is one of 20 x 20 entries"),
        (
            ("problem", "penalties", 0, "groups", 0),
            "`problem.penalties.0.groups.0`: expected a list, got an array of 150 entries",
        ),
        (
            ("solver", "beta0"),
            "`solver.beta0`: expected a number or one of `auto`, `optimal`, got an array of 20 x 30 entries",
        ),
    ]
    assert [fault.hint for fault in caught.value.faults if fault.hint] == [
        "if a list is meant, hand it over as one: `array.tolist()`"
    ]
    assert all(fault.line for fault in caught.value.faults)


def test_other_faults_are_told_as_ever():
    handed = hand_over({"problem": {"domain": {"kind": "simplex", "size": "x"}}, "seed": np.ones(300)})
    with pytest.raises(SpecError) as caught, handed.in_words():
        loads(handed.text, ["seed=1.5"])
    assert [fault.message for fault in caught.value.faults] == [
        "expected a whole number, got 1.5",
        "expected a whole number or a list, got text 'x'",
    ]


DTYPES = st.sampled_from([np.dtype(code) for code in ("?", "i1", "u8", "<i8", ">i4", "f2", "f4", "f8", ">f8")])


@st.composite
def arrays(draw) -> np.ndarray | sp.sparray:
    dtype = draw(DTYPES)
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=2, max_side=20))
    finite = {"allow_nan": False, "allow_infinity": False} if dtype.kind == "f" else {}
    array = draw(hnp.arrays(dtype, shape, elements=hnp.from_dtype(dtype, **finite), fill=st.just(dtype.type(1))))
    form = draw(st.sampled_from(["C", "F", "turned", "csr", "coo"]))
    if form in ("csr", "coo") and array.ndim == 2 and dtype.isnative and dtype != np.float16:
        return sp.csr_array(array).asformat(form)
    return np.asfortranarray(array) if form == "F" else array[::-1].T if form == "turned" else array


PLAIN = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False)
TREES = st.recursive(
    PLAIN | st.text("abc .:#-'\"1", max_size=5) | arrays(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def same(given, found, folder: Path) -> bool:
    """Whether a tree that was read says what was given, to the last bit."""
    if isinstance(given, dict):
        return given.keys() == found.keys() and all(same(given[key], found[key], folder) for key in given)
    if isinstance(given, list):
        return len(given) == len(found) and all(same(*pair, folder) for pair in zip(given, found, strict=True))
    if sp.issparse(given):
        return (read_array(folder / found["file"]) != given.astype(float)).nnz == 0
    if isinstance(given, np.ndarray):
        inline = isinstance(found, list)
        assert inline is (given.size <= INLINE)
        array = np.array(found, dtype=float) if inline else read_array(folder / found["file"])
        return array.shape == given.shape and np.array_equal(array, given.astype(float))
    return type(given) is type(found) and given == found


@settings(deadline=None)
@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), TREES, min_size=1, max_size=4))
def test_arrays_at_any_depth_come_back(tmp_path_factory, tree):
    folder = tmp_path_factory.mktemp("run")
    spec = begun(tree, folder)
    assert same(tree, parse(spec.read_text(encoding="utf-8")).tree, folder)


PEOPLE = pd.DataFrame(
    {
        "a": [0.0, 0.1, 1 / 3, np.nan, 1.1],
        "b": [True, True, False, False, False],
        "city": ["u", "v", "w", "x", "y,\nz"],
    },
    index=["anna", "bo, the 2nd", "cy", "di", "#ed"],
)


def built(points, folder):
    """The points of a run that was handed them, and their names."""
    spec = begun({"problem": {"template": "kmeans-sdp", "clusters": 2, "points": points}}, folder)
    template = loads(spec.read_text(), path=spec).problem.build(BuildContext((folder,)))
    return template.points, template.names


def test_a_frame_in_the_place_of_a_file_is_a_table(tmp_path):
    points, names = built({"file": PEOPLE, "columns": ["a", "b"], "missing": "drop"}, tmp_path / "1")
    np.testing.assert_array_equal(points, PEOPLE[["a", "b"]].dropna().to_numpy(dtype=float))
    assert names == ["anna", "bo, the 2nd", "cy", "#ed"]
    points, names = built({"file": PEOPLE.reset_index(drop=True), "columns": "b"}, tmp_path / "2")
    assert names is None and points.shape == (5, 1)
    table = pa.table({"x": [1.0, 2.0], "who": ["a", "b"]})
    points, names = built({"file": table, "names": "who"}, tmp_path / "3")
    assert names == ["a", "b"] and points.tolist() == [[1.0], [2.0]]
    with pytest.raises(DataError, match=r"line 5 \(`di`\), column 2 \(`a`\): the value is missing"):
        built({"file": PEOPLE, "columns": ["a", "b"]}, tmp_path / "4")
    with pytest.raises(DataError, match=r"line 2 \(`anna`\), column 4 \(`city`\): 'u' is not a number"):
        built({"file": PEOPLE, "missing": "drop"}, tmp_path / "5")
    with pytest.raises(TypeError, match="two columns of the frame have one name"):
        built({"file": pd.concat([PEOPLE, PEOPLE], axis=1)}, tmp_path / "6")


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_a_frame_of_another_library_is_one(library, tmp_path):
    made = pytest.importorskip(library)
    frame = {"pyarrow": "table", "polars": "DataFrame"}[library]
    table = getattr(made, frame)({"x": [1.0, 2.0, 3.0], "y": [1, 2, 3], "who": ["a", "b", "c"]})
    points, names = built({"file": table, "names": "who"}, tmp_path / "1")
    assert names == ["a", "b", "c"] and points.tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    points, names = built(table.select(["x", "y"]), tmp_path / "2")
    assert names is None and points.shape == (3, 2)
    np.testing.assert_array_equal(hand_over({"a": table["x"]}).tree["a"], [1.0, 2.0, 3.0])


def test_names_of_a_plain_frame_stay_with_it(tmp_path):
    numbers = np.float32([[0.1, 1], [1 / 3, 2], [5, 3], [7, 4]])
    for number, (index, expected) in enumerate(
        [
            (["anna", "bo,\nb", "cy", "di"], ["anna", "bo, b", "cy", "di"]),
            (pd.Index([7, 8, 9, 10], name="a"), ["7", "8", "9", "10"]),
            (pd.MultiIndex.from_product([["u", "v"], [1, 2]]), ["u 1", "u 2", "v 1", "v 2"]),
            (None, None),
        ]
    ):
        frame = pd.DataFrame(numbers, index=index, columns=["a", "b"])
        points, names = built(frame, tmp_path / str(number))
        np.testing.assert_array_equal(points, numbers.astype(float))
        assert names == expected


def problem_of(spec, folder):
    """The template that a run was handed a problem of."""
    path = begun({"problem": spec}, folder)
    return loads(path.read_text(), path=path).problem.build(BuildContext((folder,)))


def test_names_of_features_and_nodes_are_those_of_a_frame(tmp_path):
    features = pd.DataFrame(np.eye(5), columns=list("abcde"))
    data = {"features": features, "target": pd.Series(np.arange(5.0))}
    model = problem_of({"template": "sparse-regression", "data": data, "radius": 1.0}, tmp_path / "1")
    assert model.table.names == list("abcde")
    weights = pd.DataFrame([[0, 1], [1, 0]], columns=["x", "y"])
    assert problem_of({"template": "max-cut", "graph": weights}, tmp_path / "2").labels == ["x", "y"]
    weights.index = ["u", "v"]
    assert problem_of({"template": "max-cut", "graph": weights}, tmp_path / "3").labels == ["u", "v"]


def test_a_frame_of_ratings_may_have_cells_without_one(tmp_path):
    pivot = pd.DataFrame([[1.0, np.nan], [2.0, 3.0]], index=["ann", "bob"], columns=["tea", "milk"])
    built = problem_of({"template": "matrix-completion", "matrix": pivot, "radius": 5.0}, tmp_path)
    assert built.seen.count == 3


def test_a_plain_frame_that_is_missing_a_cell_says_which(tmp_path):
    with pytest.raises(DataError, match=r"line 5 \(`di`\), column 2 \(`a`\): the value is missing; `missing: drop`"):
        built(PEOPLE[["a", "b"]], tmp_path)
