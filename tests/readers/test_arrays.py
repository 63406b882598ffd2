"""Every format read back, and every way a file can be wrong told as a DataError that names it."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from cgm_cli.errors import DataError
from cgm_cli.readers import checks, matlab, memory
from cgm_cli.readers.arrays import read_array
from cgm_cli.spec.load import load
from cgm_cli.templates.build import build

M = np.array([[1.0, 2.0, 3.0], [4.0, 5.5, -6.0]])
S = sp.csr_array(np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0]]))
DAMAGES = 10
"""Files of each format that are damaged at random, others in every run. Each of .mat starts a process."""


def mat73(path, **arrays):
    """A MATLAB 7.3 file as MATLAB writes it: transposed, with the class as an attribute."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for key, array in arrays.items():
            if sp.issparse(array):
                columns = sp.csc_array(array)
                group = file.create_group(key)
                group.attrs["MATLAB_sparse"] = np.uint64(columns.shape[0])
                group["data"], group["ir"], group["jc"] = columns.data, columns.indices, columns.indptr
            else:
                file[key] = np.asarray(array).T
                file[key].attrs["MATLAB_class"] = np.bytes_("double")


def npy_header(shape, dtype="<f8", data=b""):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def fails(path, match, **options):
    with pytest.raises(DataError, match=match) as caught:
        read_array(path, **options)
    assert path.name in caught.value.message


# ---- what is read back


@pytest.mark.parametrize("dtype", [float, np.uint8])
@pytest.mark.parametrize("suffix", ["npy", "npz", "mat", "h5"])
def test_round_trip(tmp_path, suffix, dtype):
    path, array = tmp_path / f"a.{suffix}", np.abs(M).round().astype(dtype)
    if suffix == "npy":
        np.save(path, array)
    elif suffix == "npz":
        np.savez_compressed(path, x=array)
    elif suffix == "mat":
        scipy.io.savemat(path, {"x": array}, do_compression=True)
    else:
        with h5py.File(path, "w") as file:
            file["x"] = array
    key = None if suffix == "npy" else "x"
    found = read_array(path, key)
    assert found.dtype == np.float64 and found.flags.c_contiguous and found.flags.writeable
    np.testing.assert_array_equal(found, array)
    np.testing.assert_array_equal(read_array(path, key, transpose=True), array.T)
    assert read_array(path, key, transpose=True).flags.c_contiguous


def test_fortran_order_and_booleans(tmp_path):
    np.save(tmp_path / "f.npy", np.asfortranarray(M))
    np.testing.assert_array_equal(read_array(tmp_path / "f.npy"), M)
    np.save(tmp_path / "b.npy", M > 2)
    np.testing.assert_array_equal(read_array(tmp_path / "b.npy"), M > 2)


@pytest.mark.parametrize("shape", [(), (3,), (1, 3)])
def test_dimensions_are_kept(tmp_path, shape):
    np.save(tmp_path / "a.npy", np.ones(shape))
    assert read_array(tmp_path / "a.npy").shape == shape


def test_matlab_versions(tmp_path):
    for version in ("4", "5"):
        path = tmp_path / f"v{version}.mat"
        scipy.io.savemat(path, {"x": M, "y": M[:1]}, format=version)
        np.testing.assert_array_equal(read_array(path, "x"), M)
    mat73(tmp_path / "v73.mat", x=M, s=S)
    np.testing.assert_array_equal(read_array(tmp_path / "v73.mat", "x"), M)
    np.testing.assert_array_equal(read_array(tmp_path / "v73.mat", "s").toarray(), S.toarray())


def test_matlab_types(tmp_path):
    arrays = {"one": np.array([[7.0]]), "row": M[:1], "vector": np.arange(5.0), "sparse": S, "l": S.astype(bool)}
    others = {"text": "hello", "cell": np.array([1, "a"], dtype=object), "struct": {"a": 1}, "z": M + 1j}
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {**others, **arrays, "long_" + "n" * 26: M}, do_compression=True)
    for key, array in arrays.items():
        found = read_array(path, key)
        expected = array.toarray() if sp.issparse(array) else np.atleast_2d(array)
        np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, expected)


@pytest.mark.parametrize("suffix", ["npz", "mat", "mtx"])
def test_sparse(tmp_path, suffix):
    path = tmp_path / f"s.{suffix}"
    if suffix == "npz":
        sp.save_npz(path, S)
    elif suffix == "mat":
        scipy.io.savemat(path, {"s": S})
    else:
        scipy.io.mmwrite(path, S)
    found = read_array(path)
    assert isinstance(found, sp.csr_array) and found.dtype == np.float64
    np.testing.assert_array_equal(found.toarray(), S.toarray())
    turned = read_array(path, transpose=True)
    assert isinstance(turned, sp.csr_array)
    np.testing.assert_array_equal(turned.toarray(), S.toarray().T)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("full", [False, True])
def test_matrix_market_symmetries(tmp_path, symmetry, full):
    matrix = np.arange(9.0).reshape(3, 3)
    if symmetry != "general":
        matrix = matrix + matrix.T if symmetry == "symmetric" else matrix - matrix.T
    scipy.io.mmwrite(tmp_path / "m.mtx", matrix if full else sp.coo_array(matrix), symmetry=symmetry)
    found = read_array(tmp_path / "m.mtx")
    np.testing.assert_array_equal(found if full else found.toarray(), matrix)


def test_matrix_market_forms(tmp_path):
    path = tmp_path / "m.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n% a comment\n3 3 2\n2 1\n3 3\n")
    np.testing.assert_array_equal(read_array(path).toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    path.write_text("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n")
    np.testing.assert_array_equal(read_array(path), [[1, 3], [2, 4]])
    path.write_text("%%MatrixMarket matrix array real general\r\n2 1\r\n+1.5E+1\r\n  -.5\t\r\n")
    np.testing.assert_array_equal(read_array(path), [[15], [-0.5]])
    path.write_text("%%MatrixMarket matrix array real skew-symmetric\n1 1\n")
    np.testing.assert_array_equal(read_array(path), [[0]])
    path.write_text("%%MatrixMarket matrix coordinate double general\n\n2 2 2\n\n1 1 1\n% two\n \n2 2 3")
    np.testing.assert_array_equal(read_array(path).toarray(), [[1, 0], [0, 3]])


@pytest.mark.parametrize(
    "text",
    [
        "1,2,3\n4,5.5,-6\n",
        "1;2;3\n4;5.5;-6",
        "1 2  3\r\n4 5.5 -6e0\r\n\r\n",
        "\ufeff# x, y, z\n1\t2\t3\n\n4\t5.5\t-6\n",
        " 1, 2, 3 # one\n 4, 5.5, -6\n",
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "txt"])
def test_tables(tmp_path, text, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(text.encode())
    np.testing.assert_array_equal(read_array(path), M)


def test_a_table_of_one_column_is_a_vector(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1\n2\n3\n")
    np.testing.assert_array_equal(read_array(path), [1, 2, 3])
    path.write_text("1,2,3\n")
    assert read_array(path).shape == (1, 3)


def test_nested_hdf5(tmp_path):
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        file["group/x"], file["y"] = M, M
    np.testing.assert_array_equal(read_array(path, "group/x"), M)
    np.testing.assert_array_equal(read_array(path, "/group/x"), M)


@pytest.mark.parametrize("suffix", ["png", "tif"])
@pytest.mark.parametrize(("dtype", "mode"), [(np.uint8, "L"), (np.uint16, "I;16"), (bool, "1")])
def test_grey_images(tmp_path, suffix, dtype, mode):
    top = 1 if dtype is bool else np.iinfo(dtype).max
    pixels = (np.arange(6).reshape(2, 3) * top // 5).astype(dtype)
    Image.fromarray(pixels).save(tmp_path / f"i.{suffix}")
    np.testing.assert_allclose(read_array(tmp_path / f"i.{suffix}"), pixels / top)


def test_colour_images(tmp_path):
    pixels = np.zeros((2, 2, 4), np.uint8)
    pixels[0, 0], pixels[0, 1], pixels[1, 0] = (255, 0, 0, 255), (255, 255, 255, 0), (0, 255, 0, 9)
    Image.fromarray(pixels).save(tmp_path / "i.png")
    np.testing.assert_allclose(read_array(tmp_path / "i.png"), [[0.2125, 1.0], [0.7154, 0.0]])
    Image.fromarray(pixels).convert("RGB").quantize(8).save(tmp_path / "p.png")
    np.testing.assert_allclose(read_array(tmp_path / "p.png"), [[0.2125, 1.0], [0.7154, 0.0]], atol=0.02)
    Image.fromarray(np.full((8, 8, 3), 128, np.uint8)).save(tmp_path / "i.JPG", "JPEG")
    np.testing.assert_allclose(read_array(tmp_path / "i.JPG"), 128 / 255, atol=0.01)


# ---- what is refused


def test_unknown_type_and_superfluous_key(tmp_path):
    fails(tmp_path / "a.xyz", r"files of type `\.xyz` are not known")
    fails(tmp_path / "a.npy", "has no `key`", key="x")


@pytest.mark.parametrize("suffix", ["npy", "npz", "mat", "h5", "csv", "txt", "mtx", "png", "jpg", "tif"])
class TestEveryFormat:
    def test_missing(self, tmp_path, suffix):
        fails(tmp_path / f"a.{suffix}", "a")

    def test_empty(self, tmp_path, suffix):
        path = tmp_path / f"a.{suffix}"
        path.touch()
        fails(path, "a")

    def test_wrong_magic(self, tmp_path, suffix):
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(b"\x00\x01 this is something else \xff" * 50)
        fails(path, "a")

    def test_folder(self, tmp_path, suffix):
        path = tmp_path / f"a.{suffix}"
        path.mkdir()
        fails(path, "a")

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    def test_truncated(self, tmp_path, suffix, share):
        if suffix in ("csv", "txt"):
            pytest.skip("a table that ends early is a shorter table")
        path, big = tmp_path / f"a.{suffix}", np.random.default_rng(0).random((60, 60))
        if suffix == "npy":
            np.save(path, big)
        elif suffix == "npz":
            np.savez(path, x=big)
        elif suffix == "mat":
            scipy.io.savemat(path, {"x": big})
        elif suffix == "h5":
            with h5py.File(path, "w") as file:
                file["x"] = big
        elif suffix == "mtx":
            scipy.io.mmwrite(path, sp.csr_array(big))
        else:
            Image.fromarray((255 * big).astype(np.uint8)).save(path)
        raw = path.read_bytes()
        path.write_bytes(raw[: int(share * len(raw))])
        fails(path, "a")

    @settings(max_examples=DAMAGES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.data())
    def test_damaged(self, tmp_path, suffix, data):
        path = tmp_path / f"a.{suffix}"
        if suffix == "npy":
            np.save(path, M)
        elif suffix == "npz":
            sp.save_npz(path, S)
        elif suffix == "mat":
            scipy.io.savemat(path, {"x": M, "s": S})
        elif suffix == "h5":
            with h5py.File(path, "w") as file:
                file["x"] = M
        elif suffix in ("csv", "txt"):
            np.savetxt(path, M)
        elif suffix == "mtx":
            scipy.io.mmwrite(path, S)
        else:
            Image.fromarray((40 * np.abs(M)).astype(np.uint8)).save(path)
        raw = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(raw)
        try:
            found = read_array(path, "x" if suffix == "mat" else None)
        except DataError as error:
            assert path.name in error.message
        else:
            assert found.ndim <= 2 and found.dtype == np.float64


@pytest.mark.parametrize("suffix", ["npz", "mat", "v73.mat", "h5"])
def test_keys(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    arrays = {"digits": M, "labels": M}
    if suffix == "npz":
        np.savez(path, **arrays)
    elif suffix == "mat":
        scipy.io.savemat(path, arrays)
    elif suffix == "v73.mat":
        mat73(path, **arrays)
    else:
        with h5py.File(path, "w") as file:
            file["digits"], file["labels"] = M, M
    fails(path, "did you mean `digits`\\? \\(it has: `digits`, `labels`\\)", key="digit")
    fails(path, "no array `zzz` \\(it has: `digits`, `labels`\\)", key="zzz")
    fails(path, "say which with `key`: `digits`, `labels`")


@pytest.mark.parametrize(
    ("array", "match"),
    [
        (np.array([[1j]]), "complex"),
        (np.array(["a"]), "text"),
        (np.array([b"a"]), "text"),
        (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), "records"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "datetime64"),
        (np.zeros((2, 2, 2)), "3 dimensions \\(2 x 2 x 2\\)"),
        (np.zeros((0, 3)), "empty \\(0 x 3\\)"),
        (np.array([1.0, np.nan, np.inf]), "2 entries are not finite, the first at entry 2: nan"),
        (np.array([[1.0, 2.0], [3.0, -np.inf]]), "1 entry is not finite, the first at row 2, column 2: -inf"),
        (np.array(np.nan), "1 entry is not finite, the first at the number: nan"),
    ],
)
def test_wrong_arrays(tmp_path, array, match):
    np.save(tmp_path / "a.npy", array)
    fails(tmp_path / "a.npy", match)
    np.savez(tmp_path / "a.npz", x=array)
    fails(tmp_path / "a.npz", match)


def test_sparse_not_finite(tmp_path):
    matrix = sp.csr_array(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 3.0, np.nan]]))
    sp.save_npz(tmp_path / "s.npz", matrix)
    fails(tmp_path / "s.npz", "first at row 3, column 3: nan")


def test_pickles_are_not_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    fails(tmp_path / "a.npy", "objects")
    np.savez(tmp_path / "a.npz", x=np.array([print], dtype=object))
    fails(tmp_path / "a.npz", "objects")


@pytest.mark.parametrize("shape", ["(1000000000, 1000000000)", "(10**9,)", "(-1, 5)", "(3, 3)", "(1,)", "('a',)"])
def test_npy_header_that_the_file_contradicts(tmp_path, shape):
    path = tmp_path / "a.npy"
    path.write_bytes(npy_header(shape, data=b"\0" * 24))
    fails(path, "a.npy")


def test_npz_bomb(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.zeros((1000, 1000)))
    assert path.stat().st_size < 20_000
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000)
    fails(path, "would take 8 MB in memory, and only 1 MB are available")


# ---- what is refused before it is unpacked: the numbers behind the headers are damaged, and nobody gets to see it


def damage(path):
    # The headers, and what is unpacked with them at once: SciPy takes 131,072 bytes of a .mat file.
    skip = 140_000 if path.suffix == ".mat" and not h5py.is_hdf5(path) else 10_000
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            skip += max(archive.infolist(), key=lambda info: info.compress_size).header_offset
    raw = path.read_bytes()
    path.write_bytes(raw[:skip] + bytes(byte ^ 0x55 for byte in raw[skip : skip + 20_000]) + raw[skip + 20_000 :])


def bombs(path, kind):
    """A damaged file of 10^5 numbers, or about as many; what reading it takes."""
    numbers = np.random.default_rng(0).random((100, 1000))
    if kind == "npz":
        np.savez_compressed(path, x=numbers)
        needed = "800 kB"
    elif kind == "npz of float32":
        np.savez_compressed(path, x=numbers.astype(np.float32))
        needed = "1.2 MB"
    elif kind == "npz in Fortran order":
        np.savez_compressed(path, x=np.asfortranarray(numbers))
        needed = "1.6 MB"
    elif kind in ("csr", "csc", "coo"):
        matrix = sp.csr_array(numbers).asformat(kind)
        sp.save_npz(path, matrix)
        needed = "6.0 MB" if kind != "coo" else "6.4 MB"
    elif kind == "mat":
        scipy.io.savemat(path, {"x": numbers}, do_compression=True)
        needed = "1.6 MB"
    elif kind == "mat 7.3":
        with h5py.File(path, "w", userblock_size=512) as file:
            file.create_dataset("x", data=numbers, chunks=(100, 1000), compression="gzip")
        needed = "1.6 MB"
    else:
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=numbers.astype(np.float32), chunks=(100, 1000), compression="gzip")
        needed = "1.2 MB"
    damage(path)
    return needed


@pytest.mark.parametrize(
    "kind",
    ["npz", "npz of float32", "npz in Fortran order", "csr", "csc", "coo", "mat", "mat 7.3", "h5"],
)
def test_what_does_not_fit_is_refused_before_it_is_unpacked(tmp_path, monkeypatch, kind):
    suffix = "npz" if kind in ("csr", "csc", "coo") else kind.split()[0]
    path = tmp_path / f"a.{suffix}"
    needed = bombs(path, kind)
    fails(path, "not a readable")
    monkeypatch.setattr(memory, "available_memory", lambda: 790_000)
    fails(path, f"would take {needed} in memory, and only 790 kB are available".replace(".0", "(.0)?"))


@pytest.mark.parametrize("kind", ["npz", "csr", "mat", "mat 7.3", "h5"])
def test_room_for_copies_is_asked_for_before_anything_is_unpacked(tmp_path, monkeypatch, kind):
    path = tmp_path / f"a.{'npz' if kind == 'csr' else kind.split()[0]}"
    bombs(path, kind)
    monkeypatch.setattr(memory, "available_memory", lambda: 8_000_000)
    fails(path, "not a readable")
    fails(path, "would take (80|161) MB in memory", copies=100)


def test_a_quadratic_asks_for_room_for_its_copies(tmp_path, monkeypatch):
    """Its matrix fits, but not what is made of it to see whether it is symmetric."""
    np.savez_compressed(tmp_path / "q.npz", x=np.random.default_rng(0).random((400, 400)))
    damage(tmp_path / "q.npz")
    (tmp_path / "s.yaml").write_text(
        "problem: {domain: {kind: box, size: 400, lower: 0, upper: 1},\n"
        "  objective: {kind: quadratic, matrix: {file: q.npz}}}\n"
    )
    monkeypatch.setattr(memory, "available_memory", lambda: 2_000_000)
    with pytest.raises(DataError, match=r"would take 3\.8 MB in memory, and only 2 MB are available"):
        build(load(tmp_path / "s.yaml"))


def test_npz_of_gigabytes(tmp_path, monkeypatch):
    """3.2 GB of int32, which take three times as much; the file has a thousand bytes of them."""
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy_header("(20000, 40000)", "<i4", data=bytes(1000)))
    raw = bytearray(path.read_bytes())
    size = len(npy_header("(20000, 40000)", "<i4")) + 4 * 20000 * 40000
    start = raw.rindex(b"PK\x01\x02") + 24
    raw[start : start + 4] = struct.pack("<I", size)
    path.write_bytes(raw)
    monkeypatch.setattr(memory, "available_memory", lambda: 5 * 10**9)
    fails(path, "would take 9.6 GB in memory, and only 5 GB are available")
    fails(path, "would take 9.6 GB in memory, and only 5 GB are available", key="x")


def test_npz_whose_header_is_gigabytes(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b" " * 10**6)
    fails(path, "its header is too long")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("transpose", [False, True])
def test_a_copy_in_another_order_is_made_only_if_it_fits(tmp_path, monkeypatch, order, transpose):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.asarray(np.ones((100, 1000)), order=order))
    monkeypatch.setattr(checks, "check_fits", check := Fits())
    read_array(path, transpose=transpose)
    # What is there as it was read is not taken once more, unless it has to be copied.
    assert max(check.asked) == 800_000 * (1 if order == "C" and not transpose else 2)
    assert check.asked[-1] == (0 if transpose == (order == "F") else 800_000)


class Fits:
    """In place of `check_fits`: notes what it is asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, name, nbytes):
        self.asked.append(nbytes)


def test_npz_that_lies_about_its_size(tmp_path):
    path = tmp_path / "a.npz"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy_header("(1000000,)", data=b"\0" * 8_000_000))
    raw = bytearray(buffer.getvalue())
    # The uncompressed size of the central directory, in which the reader believes.
    start = raw.rindex(b"PK\x01\x02") + 24
    raw[start : start + 4] = struct.pack("<I", 200)
    path.write_bytes(raw)
    fails(path, "CRC")


def test_sparse_npz_with_indices_out_of_range(tmp_path):
    path = tmp_path / "s.npz"
    np.savez(
        path,
        format=b"csr",
        shape=np.array([2, 2]),
        data=np.ones(2),
        indices=np.array([0, 10**6]),
        indptr=np.array([0, 1, 2]),
    )
    fails(path, "not a readable sparse")


@pytest.mark.parametrize("indptr", [[0, 2, 1], [1, 1, 2], [0, -1, -2], [0, 1, 9], [0, 1]])
def test_sparse_npz_with_wrong_pointers(tmp_path, indptr):
    path = tmp_path / "s.npz"
    shape, data, indices = np.array([2, 2]), np.ones(2), np.array([0, 1])
    np.savez(path, format=b"csr", shape=shape, data=data, indices=indices, indptr=np.array(indptr))
    fails(path, "not a readable sparse")


@pytest.mark.parametrize("member", ["data", "indices", "indptr", "shape"])
def test_sparse_npz_with_a_member_that_claims_more_than_it_has(tmp_path, member):
    path = tmp_path / "a.npz"
    members = {"format": np.array(b"csr"), "shape": np.array(S.shape), "data": S.data}
    members |= {"indices": S.indices, "indptr": S.indptr}
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in members.items():
            stream = io.BytesIO()
            np.save(stream, array)
            lie = npy_header((10**9,), data=bytes(8))
            archive.writestr(f"{name}.npy", lie if name == member else stream.getvalue())
    fails(path, "would take 8 GB in memory|is truncated: the header asks for 8000000000 bytes of data, the file has 8")


def test_sparse_npz_of_an_unknown_format(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, format="bsr", shape=[2, 3], data=[1.0])
    fails(path, "its format is none of csr, csc, coo; save it as csr")


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("label", [bytes, str])
def test_sparse_npz_of_every_format(tmp_path, form, label):
    path = tmp_path / "a.npz"
    sp.save_npz(path, S.asformat(form))
    with np.load(path) as archive:
        members = dict(archive)
    members["format"] = np.array(label(form, "ascii") if label is bytes else form)
    np.savez(path, **members)
    np.testing.assert_array_equal(read_array(path).toarray(), S.toarray())


def test_npz_that_is_no_array(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("note.txt", "hello")
    fails(tmp_path / "a.npz", "not a readable .npy")
    with zipfile.ZipFile(tmp_path / "b.npz", "w"):
        pass
    fails(tmp_path / "b.npz", "no array of numbers")


def test_damaged_compression(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.random.default_rng(0).random((30, 30)))
    raw = bytearray((tmp_path / "a.npz").read_bytes())
    raw[200:300] = zlib.compress(b"x" * 200).ljust(100, b"\0")[:100]
    (tmp_path / "a.npz").write_bytes(raw)
    fails(tmp_path / "a.npz", "a.npz")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("1,2\n3\n", "line 2 has 1 cell, but line 1 has 2"),
        ("1,2\n\n# c\n3,4,5\n", "line 4 has 3 cells, but line 1 has 2"),
        ("1,2\n3,x\n", "line 2, column 2: 'x' is not a number"),
        ("a,2\n3,4\n", "line 1, column 1: 'a' is not a number \\(`columns` names"),
        ("1,2\n3,\n", "line 2, column 2: the cell is empty"),
        ("1,2,\n3,4\n", "line 1, column 3: the cell is empty"),
        ("1,2,\n3,4,\n", r"line 1 ends with `,`, as all do, so that cell 3 is empty: `except: \[3\]` leaves that"),
        ("a,b\n1,2,\n3,4,\n", "line 2 ends with `,`, .* leave it out of the file, which has 2 headings"),
        ('a,b\n1,2\n"3,4\n', "line 3: a quote is not closed"),
        ("name,a\nu,1\n", r"line 2, column 1: 'u' is not a number .* `except: \[name\]`"),
        ("a,a\nu,1\n", r"line 2, column 1: 'u' is not a number .* `except: \[1\]`"),
        ("a,b\n", "has headings, and no rows"),
        ("a,b\n1,2,3\n4,5,6\n", "its first line has 2 headings, but its rows have 3 cells"),
        ("a b c\n1 2\n4 5\n", "its first line has 3 headings, but its rows have 2 cells"),
        ("a\n1;2\n4;5\n", "1 heading, but its rows have 2 cells|is not a number"),
        ("1;2\n3,5;4\n", "line 2, column 1: '3,5' is not a number"),
        ("1 2\n3 1_0\n", "line 2, column 2: '1_0' is not a number"),
        ("1 2\n3 nan\n", "1 entry is not finite, the first at row 2, column 2: nan"),
        ("1,2\n1e999,3\n", "first at row 2, column 1: inf"),
        ("# only\n\n  \n", "is empty"),
        ("1+2j\n", "'1\\+2j' is not a number"),
    ],
)
def test_wrong_tables(tmp_path, text, match):
    path = tmp_path / "t.csv"
    path.write_text(text)
    fails(path, match)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n", "complex"),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1000000000\n1 1 1\n", "truncated"),
        ("%%MatrixMarket matrix array real general\n1000000 1000000\n1\n", "truncated"),
        (
            "%%MatrixMarket matrix coordinate real general\n3 3 1\n4 1 1\n",
            "line 3: '4 1 1' is not in a matrix of 3 x 3",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n3 3 1\n0 1 1\n",
            "line 3: '0 1 1' is not in a matrix of 3 x 3",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n%c\n\n3 3 2\n\n1 1 1\n %c\n1 99999999999999999999 1\n",
            "line 8: '1 99999999999999999999 1' is not in a matrix of 3 x 3",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n",
            "truncated: the header promises 2 entries",
        ),
        ("%%MatrixMarket matrix coordinate real general\nx y z\n", "expected 3 sizes, got 'x y z'"),
        ("%%MatrixMarket matrix coordinate real general\n", "expected 3 sizes"),
        ("%%MatrixMarket matrix coordinate real general\n0 0 0\n", "empty"),
        ("%%MatrixMarket matrix coordinate real general\n99999999999999 3 1\n1 1 1\n", "memory"),
        *(
            (
                f"%%MatrixMarket matrix coordinate real general\n\n%c\n3 3 1\n{line}\n",
                f"line 5: expected a row, a column and a number, got '{re.escape(line.strip())}'",
            )
            # SciPy makes something of most of them, down to 0x10, which is 0, and 1d5, which is 1.
            for line in (
                "1.5 1 1",
                "1 x 1",
                "1 1",
                "-1 1 1",
                "1 1 1 7",
                "1 1 0x10",
                "1 1 1d5",
                "1 1 1_0",
                " 1 1 1;",
                "1 1 1e",
            )
        ),
        (
            "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 1 7\n",
            "line 3: expected a row and a column, got '1 1 7'",
        ),
        ("%%MatrixMarket matrix array real general\n2 1\n1\n4x\n", "line 4: expected one number, got '4x'"),
        ("%%MatrixMarket matrix array real general\n2 1\n1 2\n3\n", "line 3: expected one number, got '1 2'"),
        ("%%MatrixMarket matrix array real symmetric\n2 3\n1\n2\n3\n", "symmetric matrix is square"),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 1e999\n", "not finite"),
        ("%%MatrixMarket matrix coordinate real symmetric\n3 2 1\n1 1 1\n", "symmetric matrix is square"),
        ("%%MatrixMarket matrix coordinate real hermitian\n3 3 1\n1 1 1\n", "not supported"),
        (
            "%%MatrixMarket matrix coordinate complex hermitian\n3 3 1\n1 1 1\n",
            "line 3: expected a row, a column and two numbers, got '1 1 1'",
        ),
        ("%%MatrixMarket matrix array complex general\n1 1\n1\n", "line 3: expected two numbers, got '1'"),
        ("%%MatrixMarket matrix coordinate complex hermitian\n3 2 1\n1 1 1 0\n", "hermitian matrix is square"),
        ("%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n1 0\n", "promises 3 entries, the file has 2"),
        ("1 2 3\n", "does not begin with"),
    ],
)
def test_wrong_matrix_market(tmp_path, text, match):
    path = tmp_path / "m.mtx"
    path.write_text(text)
    fails(path, match)


def test_wrong_matlab(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"text": "hello", "cell": np.array([1, "a"], dtype=object), "z": np.array([[1j]])})
    fails(path, "`text` is a char", key="text")
    fails(path, "`cell` is a cell", key="cell")
    fails(path, "complex", key="z")
    scipy.io.savemat(path, {"e": np.zeros((0, 0))})
    fails(path, "empty", key="e")
    scipy.io.savemat(path, {})
    fails(path, "holds no array of numbers")


def test_matlab_bomb(tmp_path, monkeypatch):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"x": np.zeros((1000, 1000))}, do_compression=True)
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000)
    fails(path, "would take 16 MB in memory, and only 1 MB are available")  # as unpacked, and in C order


def test_a_sparse_matrix_of_truth_values_is_not_weighed_as_a_full_one(tmp_path, monkeypatch):
    """SciPy calls both `logical` before it reads them."""
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"x": sp.coo_array(([True], ([7], [3])), shape=(10**4, 10**4)).tocsc()})
    monkeypatch.setattr(memory, "available_memory", lambda: 10**8)
    found = read_array(path)
    assert (found.nnz, found[7, 3]) == (1, 1.0)
    scipy.io.savemat(path, {"x": np.zeros((10**4, 10**3), dtype=bool)}, do_compression=True)
    fails(path, "would take 160 MB in memory, and only 100 MB are available")


def test_matlab_bomb_of_stored_zeros(tmp_path, monkeypatch):
    """How many entries a matrix stores is not known before it is unpacked, by a process that may not take much."""
    path = tmp_path / "a.mat"
    matrix = sp.csc_array((np.zeros(10**7), np.zeros(10**7, np.int32), [0, 10**7]), shape=(1, 1))
    scipy.io.savemat(path, {"x": matrix}, do_compression=True)
    assert path.stat().st_size < 200_000
    monkeypatch.setattr(memory, "available_memory", lambda: 10**8)
    fails(path, "does not fit into memory")


@pytest.mark.parametrize("kind", [15, 100, 200])
def test_matlab_file_that_kills_the_reader(tmp_path, kind):
    """A type of numbers that is beyond SciPy's table of types, which it (1.17) does not notice."""
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"x": M})
    raw = bytearray(path.read_bytes())
    raw[raw.index(struct.pack("<II", 9, M.nbytes))] = kind
    path.write_bytes(raw)
    fails(path, "not a readable MATLAB file")


def test_matlab_file_that_takes_too_long(tmp_path, monkeypatch):
    """Of very many variables; the least limit that there is, is a second."""
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"x": M})
    raw = path.read_bytes()
    path.write_bytes(raw[:128] + 500_000 * raw[128:])
    monkeypatch.setattr(matlab, "SECONDS", 1)
    monkeypatch.setattr(matlab, "BYTES_PER_SECOND", 10**9)
    fails(path, "not a readable MATLAB file: it takes more than 1 s of processor time")


def test_wrong_matlab73(tmp_path):
    path = tmp_path / "a.mat"
    mat73(path, x=M, s=S)
    with h5py.File(path, "r+") as file:
        file["s/ir"][0] = 77
        file["x"].attrs["MATLAB_empty"] = np.uint8(1)
        file["c"] = np.zeros(3, np.uint16)
        file["c"].attrs["MATLAB_class"] = np.bytes_("char")
        file["away"] = h5py.ExternalLink("/etc/passwd", "x")
    fails(path, "not a readable MATLAB 7.3 file", key="s")
    fails(path, "`x` is empty", key="x")
    fails(path, "no array `c`", key="c")
    fails(path, "no array `away`", key="away")


def test_hdf5_stays_in_its_file(tmp_path):
    path, other = tmp_path / "a.h5", tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["secret"] = M
    (tmp_path / "raw.bin").write_bytes(b"\0" * 64)
    with h5py.File(path, "w") as file:
        file["x"] = M
        file["soft"] = h5py.SoftLink("/x")
        file["outside"] = h5py.ExternalLink("other.h5", "/secret")
        file.create_dataset("raw", (8,), "f8", external=[(str(tmp_path / "raw.bin"), 0, 64)])
        layout = h5py.VirtualLayout((2, 3), "f8")
        layout[:] = h5py.VirtualSource(str(other), "secret", (2, 3))
        file.create_virtual_dataset("virtual", layout)
        file["nothing"] = h5py.Empty("f8")
        file["text"] = "hello"
        file["z"] = np.array([1j])
        file.create_dataset("vast", (10**9, 10**6), "f8", chunks=(1000, 1000))
    fails(path, "no array `soft`", key="soft")
    fails(path, "no array `outside`", key="outside")
    fails(path, "refers to other files", key="raw")
    fails(path, "refers to other files", key="virtual")
    fails(path, "empty", key="nothing")
    fails(path, "objects", key="text")
    fails(path, "complex", key="z")
    fails(path, "would take", key="vast")


def hdf5(path, shape, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("a", shape, "f8", **options)


@pytest.mark.parametrize("options", [{}, {"chunks": (1000,)}])
def test_hdf5_that_claims_more_than_there_is_memory(tmp_path, options):
    hdf5(tmp_path / "a.h5", (10**12,), **options)
    fails(tmp_path / "a.h5", "would take 8 TB in memory")


def test_hdf5_with_a_chunk_larger_than_memory(tmp_path, monkeypatch):
    hdf5(tmp_path / "a.h5", (1,), chunks=(10**6,), maxshape=(None,))
    monkeypatch.setattr(memory, "available_memory", lambda: 10**6)
    fails(tmp_path / "a.h5", r"would take 8(\.0)? MB in memory")


def test_hdf5_of_many_chunks_that_were_never_written(tmp_path):
    hdf5(tmp_path / "a.h5", (10**6,), chunks=(1,))
    fails(tmp_path / "a.h5", "/a has 1000000 chunks, and most were never written")


def test_hdf5_of_few_chunks_that_were_never_written_is_zero(tmp_path):
    hdf5(tmp_path / "a.h5", (5,), chunks=(2,))
    assert read_array(tmp_path / "a.h5").tolist() == [0.0] * 5


def test_hdf5_of_groups_without_end(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        node = file
        for _ in range(200):
            node = node.create_group("g")
    fails(tmp_path / "a.h5", "more than 10000 arrays, or 50 groups within each other")


def test_hdf5_with_a_group_inside_itself(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["g/h/root"] = file["/"]
        file["g/a"] = [1.0]
        file["g/again"] = file["g/a"]
    assert read_array(tmp_path / "a.h5").tolist() == [1.0]
    assert read_array(tmp_path / "a.h5", "g/a").tolist() == [1.0]


def test_a_message_of_a_library_is_one_printable_line(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"a": M}, format="4")
    raw = bytearray(path.read_bytes())
    raw[16] = 255  # the length of the name
    path.write_bytes(raw)
    with pytest.raises(DataError, match="not a readable MATLAB file") as caught:
        read_array(path)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 400


def test_text_of_many_short_lines_is_refused_before_it_is_split(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 500_000)
    for name in ("a.csv", "a.txt"):
        (tmp_path / name).write_text("1\n" * 10_000)
        fails(tmp_path / name, "would take 660 kB in memory, and only 500 kB are available")


def test_wrong_images(tmp_path):
    Image.fromarray(np.full((2, 2), 3.5, np.float32)).save(tmp_path / "f.tif")
    fails(tmp_path / "f.tif", "no scale")
    Image.fromarray(np.array([[0.5, 0.5], [np.nan, 0.5]], np.float32)).save(tmp_path / "n.tif")
    fails(tmp_path / "n.tif", "1 entry is not finite, the first at row 2, column 1: nan")
    Image.fromarray(np.full((2, 2), 0.5, np.float32)).save(tmp_path / "g.tif")
    np.testing.assert_array_equal(read_array(tmp_path / "g.tif"), 0.5)


def test_image_larger_than_memory(tmp_path, monkeypatch):
    Image.new("L", (3000, 3000)).save(tmp_path / "i.png")
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000)
    fails(tmp_path / "i.png", "would take")


def test_long_lists_of_keys_are_cut():
    with pytest.raises(DataError, match="and 980 more"):
        checks.choose("a.npz", None, [f"k{i}" for i in range(1000)])
