"""Numbers of every type come out of every reader as float64, widened before anything is computed with them.

What is checked against are exact sums: Python's whole numbers, and fractions.
"""

from __future__ import annotations

from fractions import Fraction

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from PIL import Image

from cgm_cli.errors import DataError
from cgm_cli.readers.arrays import read_array
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import FileArray
from tests.readers.test_arrays import mat73

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i2", ">u4", ">i8"]
FLOATS = ["f2", "f4", "f8", ">f4", ">f8", "longdouble"]
TYPES = ["?", *INTEGERS, *FLOATS]


def extremes(dtype):
    """Six numbers of this type: its smallest and largest ones, and some between."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([True, False, True, True, False, True])
    if dtype.kind == "f":
        top = np.finfo(min(dtype, np.dtype(float))).max
        # 1/3 of longdouble is no float64; the largest float64 is a number of it.
        return np.array([-top, top, np.array(1).astype(dtype) / 3, -1.5, 0, 1], dtype=dtype)
    low, top = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.array([low, top, low + 1, top - 1, 0, 100], dtype=dtype)


def nearest(number) -> float:
    """The float64 nearest to a number of any type."""
    if isinstance(number, np.longdouble):
        return float(Fraction(*number.as_integer_ratio()))
    return float(number.item())


def has(form, dtype):
    """Whether a format has numbers of this type."""
    kind = np.dtype(dtype)
    if form in ("mtx", "csv"):
        return kind.kind in "iu" and kind.isnative
    if form == "mat 5":
        return kind not in (np.float16, np.longdouble)
    if form == "mat 4":
        return kind.str[1:] in ("f8", "f4", "i4", "i2", "u2", "u1")
    return form != "mat 7.3" or kind.kind != "b"  # MATLAB writes uint8


def save(path, array, form):
    """Write an array as `form` says."""
    if form in ("npy", "npy in Fortran order"):
        np.save(path, np.asfortranarray(array) if "Fortran" in form else array)
    elif form == "npz":
        np.savez_compressed(path, x=array)
    elif form == "h5":
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=array, compression="gzip", chunks=True)
    elif form == "mat 7.3":
        mat73(path, x=array)
    elif form == "mat 5":
        scipy.io.savemat(path, {"x": array}, do_compression=True)
    elif form == "mat 4":
        scipy.io.savemat(path, {"x": array}, format="4")
    elif form == "mtx":
        rows = "\n".join(str(int(number)) for number in array.T.reshape(-1))
        path.write_text(f"%%MatrixMarket matrix array integer general\n{array.shape[0]} {array.shape[1]}\n{rows}\n")
    else:
        path.write_text("\n".join(",".join(str(int(number)) for number in row) for row in array))


FORMS = {
    "npy": "npy",
    "npy in Fortran order": "npy",
    "npz": "npz",
    "h5": "h5",
    "mat 7.3": "mat",
    "mat 5": "mat",
    "mat 4": "mat",
    "mtx": "mtx",
    "csv": "csv",
}


@pytest.mark.parametrize(("form", "dtype"), [(form, dtype) for form in FORMS for dtype in TYPES if has(form, dtype)])
def test_full(tmp_path, form, dtype):
    path, array = tmp_path / f"a.{FORMS[form]}", extremes(dtype).reshape(2, 3)
    save(path, array, form)
    expected = np.array([[nearest(number) for number in row] for row in array])
    found = read_array(path)
    assert found.dtype == np.float64 and found.flags.c_contiguous and found.flags.writeable
    np.testing.assert_array_equal(found, expected)
    if FORMS[form] != "mat" or dtype in ("i2", "f8"):  # what is to be widened, and what is not; each takes a process
        turned = read_array(path, transpose=True)
        np.testing.assert_array_equal(turned, expected.T)
        assert turned.flags.c_contiguous


def test_whole_numbers_beyond_2_to_53_are_rounded_to_the_nearest_as_in_a_text(tmp_path):
    numbers = [2**53 + 1, 2**53 + 3, 2**63 - 1, -(2**63) + 1]
    np.save(tmp_path / "a.npy", np.array(numbers, dtype=np.int64))
    (tmp_path / "a.csv").write_text("\n".join(map(str, numbers)))
    expected = [float(number) for number in numbers]
    assert read_array(tmp_path / "a.npy").tolist() == read_array(tmp_path / "a.csv").tolist() == expected
    np.save(tmp_path / "u.npy", np.array([2**64 - 1, 2**53 + 1], dtype=np.uint64))
    assert read_array(tmp_path / "u.npy").tolist() == [2.0**64, 2.0**53]


def test_extended_precision_beyond_the_range_is_not_finite(tmp_path):
    np.save(tmp_path / "a.npy", np.array(["1", "1e400"], dtype=np.longdouble))
    with pytest.raises(DataError, match="1 entry is not finite, the first at entry 2: inf"):
        read_array(tmp_path / "a.npy")


# ---- sparse, with entries at the same place


def twice(dtype):
    """A 2 x 3 matrix in coordinates, in which one place holds the largest number twice, and one the smallest."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        low = top = True
    elif dtype.kind == "f":
        low, top = -1.5, np.finfo(dtype).max if dtype.itemsize < 8 else 3e307
    else:
        low, top = np.iinfo(dtype).min, np.iinfo(dtype).max
    values = np.array([top, low, top, low, 1], dtype=dtype)
    rows, columns = np.array([0, 1, 0, 1, 1]), np.array([1, 2, 1, 2, 0])
    expected = np.zeros((2, 3))
    for i, j in {(0, 1), (1, 2), (1, 0)}:
        here = [value for value, row, column in zip(values, rows, columns, strict=True) if (row, column) == (i, j)]
        exact = sum(Fraction(int(v)) if dtype.kind in "biu" else Fraction(*v.as_integer_ratio()) for v in here)
        expected[i, j] = float(exact)
    return values, rows, columns, expected


def save_sparse(path, form, values, rows, columns, shape):
    """The parts as they are, as SciPy stores them: it would refuse some of the types itself."""
    if form == "coo":
        np.savez(path, format=b"coo", shape=shape, data=values, row=rows, col=columns)
    elif form in ("csr", "csc"):
        outer, inner, size = (rows, columns, shape[0]) if form == "csr" else (columns, rows, shape[1])
        order = np.argsort(outer, kind="stable")
        starts = np.searchsorted(outer[order], np.arange(size + 1))
        np.savez(path, format=form.encode(), shape=shape, data=values[order], indices=inner[order], indptr=starts)
    elif form == "mat 7.3":
        order = np.argsort(columns, kind="stable")
        with h5py.File(path, "w", userblock_size=512) as file:
            group = file.create_group("s")
            group.attrs["MATLAB_sparse"] = np.uint64(shape[0])
            group["data"], group["ir"] = values[order], rows[order].astype(np.uint64)
            group["jc"] = np.searchsorted(columns[order], np.arange(shape[1] + 1)).astype(np.uint64)
    else:
        lines = [f"{i + 1} {j + 1} {int(v)}" for v, i, j in zip(values, rows, columns, strict=True)]
        head = f"%%MatrixMarket matrix coordinate integer general\n{shape[0]} {shape[1]} {len(lines)}\n"
        path.write_text(head + "\n".join(lines) + "\n")


SPARSE = {"coo": "npz", "csr": "npz", "csc": "npz", "mat 7.3": "mat", "mtx": "mtx"}


@pytest.mark.parametrize(
    ("form", "dtype"), [(form, dtype) for form in SPARSE for dtype in TYPES if form != "mtx" or has(form, dtype)]
)
def test_sparse_entries_at_the_same_place_add_up(tmp_path, form, dtype):
    values, rows, columns, expected = twice(dtype)
    path = tmp_path / f"s.{SPARSE[form]}"
    save_sparse(path, form, values, rows, columns, (2, 3))
    found = read_array(path)
    assert isinstance(found, sp.csr_array) and found.dtype == np.float64
    np.testing.assert_array_equal(found.toarray(), expected)
    np.testing.assert_array_equal(read_array(path, transpose=True).toarray(), expected.T)


@pytest.mark.parametrize("index", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4"])
@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_indices_of_every_type(tmp_path, form, index):
    """Also where a row times the number of columns is beyond the type."""
    rows, columns = np.array([100, 0, 100]).astype(index), np.array([120, 3, 120]).astype(index)
    save_sparse(tmp_path / "s.npz", form, np.array([100, 7, 100], np.int8), rows, columns, (101, 121))
    found = read_array(tmp_path / "s.npz")
    assert found.nnz == 2 and found[100, 120] == 200.0 and found[0, 3] == 7.0


@pytest.mark.parametrize(("index", "value"), [("f8", 1.0), ("u8", 2**64 - 1), ("i8", -1), ("?", True), ("c16", 1j)])
def test_indices_that_are_none(tmp_path, index, value):
    rows = np.array([value], dtype=index)
    save_sparse(tmp_path / "s.npz", "coo", np.ones(1), rows, np.array([0]), (2, 2))
    with pytest.raises(DataError, match=r"s\.npz"):
        read_array(tmp_path / "s.npz")


@pytest.mark.parametrize("shape", [(2**33, 2**33), (3, 2**62)])
def test_places_beyond_32_bits(tmp_path, shape):
    if shape[0] > 2**32:
        # Its index pointers alone are 69 GB.
        save_sparse(tmp_path / "s.npz", "coo", np.ones(1), np.array([2**32]), np.array([2**32]), shape)
        with pytest.raises(DataError, match="would take 137 GB in memory"):
            read_array(tmp_path / "s.npz")
        return
    save_sparse(tmp_path / "s.npz", "coo", np.full(2, 100, np.int8), np.array([2, 2]), np.array([2**61, 2**61]), shape)
    found = read_array(tmp_path / "s.npz")
    assert (found.nnz, found[2, 2**61]) == (1, 200.0)
    with pytest.raises(DataError, match="would take"):
        read_array(tmp_path / "s.npz", transpose=True)


@pytest.mark.parametrize("dtype", [np.complex64, complex])
@pytest.mark.parametrize("form", ["coo", "csr", "csc", "mat 7.3"])
def test_sparse_complex_is_refused(tmp_path, form, dtype):
    path = tmp_path / f"s.{SPARSE[form]}"
    save_sparse(path, form, np.ones(1, dtype), np.zeros(1, int), np.zeros(1, int), (2, 2))
    with pytest.raises(DataError, match="holds complex numbers; real numbers are needed"):
        read_array(path)


def test_complex_of_matlab_7_3_is_named_so(tmp_path):
    path = tmp_path / "a.mat"
    mat73(path, x=np.zeros((2, 2), dtype=[("real", float), ("imag", float)]))
    with pytest.raises(DataError, match="holds complex numbers"):
        read_array(path)


def test_an_empty_sparse_matrix_is_zero(tmp_path):
    for form in ("coo", "csr", "csc"):
        sp.save_npz(tmp_path / "s.npz", sp.csr_array((2, 3)).asformat(form))
        np.testing.assert_array_equal(read_array(tmp_path / "s.npz").toarray(), np.zeros((2, 3)))


# ---- graphs and images


def test_the_edges_of_a_graph_add_up(tmp_path):
    """A cut of weight 200, from edges of weight 100 that are given twice."""
    ends = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])
    save_sparse(tmp_path / "g.npz", "coo", np.full(4, 100, np.int8), *ends, (2, 2))
    (tmp_path / "g.mtx").write_text("%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n2 1 100\n2 1 100\n")
    (tmp_path / "g.txt").write_text("2 2\n1 2 100\n2 1 100\n")
    context = BuildContext((tmp_path,))
    for name in ("g.npz", "g.mtx", "g.txt"):
        np.testing.assert_array_equal(context.graph(FileArray(file=name)).adjacency.toarray(), [[0, 200], [200, 0]])
    save_sparse(tmp_path / "b.npz", "coo", np.full(4, True), *ends, (2, 2))
    np.testing.assert_array_equal(context.graph(FileArray(file="b.npz")).adjacency.toarray(), [[0, 2], [2, 0]])


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "?"])
def test_the_matrix_of_a_graph_in_whole_numbers(tmp_path, dtype):
    """Symmetric or not is decided after widening: 200 of uint8 is not -56 of int8."""
    weight = extremes(dtype).max()
    np.save(tmp_path / "g.npy", np.array([[0, weight], [weight, 0]], dtype=dtype))
    found = BuildContext((tmp_path,)).graph(FileArray(file="g.npy")).adjacency
    assert found.dtype == np.float64 and found.sum() == 2 * float(weight)


@pytest.mark.parametrize("symmetry", ["symmetric", "skew-symmetric"])
def test_market_mirrors_after_widening(tmp_path, symmetry):
    (tmp_path / "m.mtx").write_text(f"%%MatrixMarket matrix coordinate integer {symmetry}\n2 2 2\n2 1 -128\n2 1 -128\n")
    sign = 1 if symmetry == "symmetric" else -1
    np.testing.assert_array_equal(read_array(tmp_path / "m.mtx").toarray(), [[0, sign * -256], [-256, 0]])


def test_market_patterns_count(tmp_path):
    (tmp_path / "m.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 2\n1 2\n2 1\n")
    np.testing.assert_array_equal(read_array(tmp_path / "m.mtx").toarray(), [[0, 2], [1, 0]])


@pytest.mark.parametrize(("dtype", "top"), [(np.uint8, 255), (np.uint16, 65535)])
def test_grey_levels_are_divided_as_float64(tmp_path, dtype, top):
    levels = np.array([[0, 1, 3], [top // 3, top - 1, top]], dtype=dtype)
    Image.fromarray(levels).save(tmp_path / "i.png")
    expected = [[int(level) / top for level in row] for row in levels]
    np.testing.assert_array_equal(read_array(tmp_path / "i.png"), expected)
