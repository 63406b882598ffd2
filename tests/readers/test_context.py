"""The build context: where files are looked up, that they are the right ones, and the account of memory."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.errors import DataError, ProblemError
from cgm_cli.readers import context as module
from cgm_cli.readers import memory
from cgm_cli.readers.context import BuildContext, data_folders
from cgm_cli.readers.memory import human
from cgm_cli.spec.fields import FileArray, GraphFile, TableArray
from cgm_cli.spec.model import SourceSpec


def source(**fields):
    return SourceSpec.model_validate({"from": "https://example.org", **fields})


def test_look_up_in_order(tmp_path, monkeypatch):
    beside, first, second = (tmp_path / name for name in ("spec", "first", "second"))
    for folder in (beside, first, second):
        folder.mkdir()
    monkeypatch.setenv("CGM_DATA", os.pathsep.join([str(first), "", str(second)]))
    context = BuildContext(data_folders(beside / "x.yaml"))
    for folder in (second, first, beside):
        np.save(folder / "a.npy", np.ones(2))
        assert context.find("a.npy") == folder / "a.npy"
    assert context.find(str(second / "a.npy")) == second / "a.npy"


def test_data_folder_of_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CGM_DATA", raising=False)
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "a.npy", np.ones(2))
    assert BuildContext(data_folders(None)).find("a.npy").resolve() == tmp_path / "data" / "a.npy"


@pytest.mark.parametrize("name", ["missing.npy", "a" * 5000, "nul\0", "/missing.npy"])
def test_missing(tmp_path, name):
    with pytest.raises(DataError, match="no data file"):
        BuildContext((tmp_path,)).find(name)


def test_the_name_of_a_missing_file_is_told_whole(tmp_path):
    name = f"arrays/{'0123456789abcdef' * 4}.npy"
    with pytest.raises(DataError) as caught:
        BuildContext((tmp_path,)).find(name)
    assert f"`{name}`" in caught.value.message


def test_where_packages_are_installed_no_data_are_looked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("CGM_DATA", raising=False)
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(module, "_PROJECT", tmp_path)
    assert data_folders(None) == (Path("data"),)
    (tmp_path / "pyproject.toml").touch()
    assert data_folders(None) == (Path("data"), tmp_path / "data")


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "is a folder"),
        (os.mkfifo, "is a named pipe"),
        (make_socket, "is a socket"),
        (lambda path: path.symlink_to("/dev/zero"), "is a device"),
        (lambda path: path.symlink_to("nowhere"), "is a link that leads nowhere"),
        (lambda path: path.symlink_to(path.name), "is a link that leads back to itself"),
    ],
)
@pytest.mark.parametrize("name", ["x.npy", "x.mat", "x.h5", "x.csv", "x.dat-s"])
def test_what_is_no_file_is_named_and_never_opened(tmp_path, monkeypatch, make, words, name):
    monkeypatch.chdir(tmp_path)  # the address of a socket must be short
    make(Path(name))
    with pytest.raises(DataError, match=f"`{name}` {words}, and a data file is needed: {tmp_path}/{name}"):
        BuildContext((tmp_path,)).find(name)


def test_a_file_further_on_is_better_than_a_folder(tmp_path):
    for folder in ("first/a.npy", "second"):
        (tmp_path / folder).mkdir(parents=True)
    np.save(tmp_path / "second" / "a.npy", np.ones(2))
    assert BuildContext((tmp_path / "first", tmp_path / "second")).find("a.npy") == tmp_path / "second" / "a.npy"


def test_no_permission_is_named(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(DataError, match=r"`a.npy` is out of reach \(no permission\)"):
        BuildContext((tmp_path,)).find("a.npy")


def test_missing_tells_where_to_get_it(tmp_path):
    context = BuildContext((tmp_path,), sources={"a.npy": source()})
    with pytest.raises(DataError, match=f"looked in {tmp_path}. Get it from https://example.org"):
        context.find("a.npy")


def test_sha256(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.ones(2))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert BuildContext((tmp_path,), sources={"a.npy": source(sha256=digest.upper())}).find("a.npy") == path
    context = BuildContext((tmp_path,), sources={"a.npy": source(sha256="0" * 64)})
    with pytest.raises(DataError, match=f"its SHA-256 is {digest}, not 0000"):
        context.array(FileArray(file="a.npy"))


def test_arrays(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    sp.save_npz(tmp_path / "s.npz", sp.eye_array(3, format="csr"))
    context = BuildContext((tmp_path,))
    assert context.array(2).shape == ()
    np.testing.assert_array_equal(context.array([1, 2]), [1.0, 2.0])
    np.testing.assert_array_equal(context.array([[1, 2], [3, 4]]), [[1.0, 2.0], [3.0, 4.0]])
    assert context.array(FileArray(file="a.npy", transpose=True)).shape == (3, 2)
    assert isinstance(context.matrix(FileArray(file="s.npz")), sp.csr_array)
    np.testing.assert_array_equal(context.array(FileArray(file="s.npz")), np.eye(3))
    assert all(context.array(value).dtype == np.float64 for value in (1, [1], FileArray(file="a.npy")))


def test_scale(tmp_path):
    given = np.array([[0.0, 2.0], [2.0, 0.5]])
    np.savetxt(tmp_path / "dense.csv", given, delimiter=",")
    np.save(tmp_path / "complex.npy", given * (1 + 1j))
    sp.save_npz(tmp_path / "sparse.npz", sp.csr_array(given))
    (tmp_path / "named.csv").write_text("a,b,kind\n0,2,x\n2,0.5,y\n")
    (tmp_path / "edges.csv").write_text("from,to,weight\na,b,2\nb,b,0.5\n")
    context = BuildContext((tmp_path,))
    scaled = 1e-4 * given
    np.testing.assert_array_equal(context.array(FileArray(file="dense.csv", scale=1e-4)), scaled)
    named = TableArray(file="named.csv", columns=["a", "b"], missing="drop", scale=1e-4)
    np.testing.assert_array_equal(context.matrix(named), scaled)
    points, labels = context.labelled(named, TableArray(file="named.csv", column="kind"))
    np.testing.assert_array_equal(points, scaled)
    assert labels.tolist() == [0.0, 1.0]
    sparse = context.matrix(FileArray(file="sparse.npz", scale=1e-4))
    assert sp.issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), scaled)
    found = context.complex_matrix(FileArray(file="complex.npy", scale=1e-4))
    np.testing.assert_allclose(found, scaled * (1 + 1j), rtol=1e-15)
    graph = context.graph(GraphFile(file="edges.csv", scale=1e-4))
    whole = context.graph(GraphFile(file="edges.csv"))
    np.testing.assert_array_equal(graph.adjacency.toarray(), 1e-4 * whole.adjacency.toarray())
    assert graph.labels == ["a", "b"]
    with pytest.raises(DataError, match=r"dense\.csv: an entry times the `scale` 1e\+308 is too large"):
        context.array(FileArray(file="dense.csv", scale=1e308))


def test_an_image_has_no_scale(tmp_path):
    with pytest.raises(DataError, match=r"a\.png: an image has levels from 0 to 1, and no `scale`"):
        BuildContext((tmp_path,)).picture(FileArray(file="a.png", scale=2.0))


def test_sparse_that_does_not_fit_as_an_array(tmp_path, monkeypatch):
    sp.save_npz(tmp_path / "s.npz", sp.eye_array(1000, format="csr"))
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000)
    with pytest.raises(DataError, match=r"s\.npz: would take 8 MB"):
        BuildContext((tmp_path,)).array(FileArray(file="s.npz"))


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ([[1, 2], [3]], "row 1 has 2 entries, but row 2 has 1"),
        ([[1], 2], "row 1 has 1 entry, but row 2 has None"),
        ([1, float("nan")], "not finite"),
    ],
)
def test_wrong_lists(value, match):
    with pytest.raises(ProblemError, match=match):
        BuildContext(()).array(value)


def test_graphs(tmp_path):
    context = BuildContext((tmp_path,))
    (tmp_path / "g.txt").write_text("2 1\n1 2\n")
    sp.save_npz(tmp_path / "g.npz", sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])))
    for name in ("g.txt", "g.npz"):
        np.testing.assert_array_equal(context.graph(FileArray(file=name)).adjacency.toarray(), [[0, 1], [1, 0]])
    np.save(tmp_path / "g.npy", np.array([[0.0, 1.0], [2.0, 0.0]]))
    with pytest.raises(DataError, match="square and symmetric"):
        context.graph(FileArray(file="g.npy"))
    np.save(tmp_path / "g.npy", np.array([0.0, 1.0]))
    with pytest.raises(DataError, match="square and symmetric"):
        context.graph(FileArray(file="g.npy"))


@pytest.mark.parametrize("array", [1.0, [1.0, 2.0], [[1.0, 2.0]], [[0.0, 1.0], [2.0, 0.0]]])
def test_what_is_not_the_matrix_of_a_graph(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(DataError, match="it must be square and symmetric"):
        BuildContext((tmp_path,)).graph(FileArray(file="a.npy"))


def test_the_matrix_of_a_graph_is_compared_only_if_that_fits(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.ones((100, 100)))
    monkeypatch.setattr(memory, "available_memory", lambda: 300_000)
    with pytest.raises(DataError, match=r"a.npy: would take 640 kB in memory, and only 300 kB are available"):
        BuildContext((tmp_path,)).graph(FileArray(file="a.npy"))


@pytest.mark.parametrize("value", [[], [[]], [[], []]])
def test_an_empty_list_is_no_array(value):
    with pytest.raises(ProblemError, match="the array is empty: it needs at least one entry"):
        BuildContext(()).array(value)


def test_reserve(monkeypatch):
    monkeypatch.setattr(module, "available_memory", lambda: 10_000_000)
    context = BuildContext(())
    context.reserve("X", 6_000_000)
    context.reserve("small", 10)
    assert context.reserved == {"X": 6_000_000, "small": 10}
    with pytest.raises(ProblemError, match="needs 11 MB of memory, and 10 MB are available: X 6 MB, D 5 MB, small 10"):
        context.reserve("D", 5_000_000)


def test_reserve_where_no_limit_is_known(monkeypatch):
    monkeypatch.setattr(module, "available_memory", lambda: None)
    BuildContext(()).reserve("X", 10**30)


def test_available_memory(tmp_path, monkeypatch):
    assert memory.available_memory() > 0
    files = {
        "/proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    8000 kB\n",
        "/proc/self/cgroup": "0::/job/step\n",
        "/sys/fs/cgroup/job/memory.max": "5000000\n",
        "/sys/fs/cgroup/job/memory.current": "3000000\n",
        "/sys/fs/cgroup/job/memory.stat": "anon 1\ninactive_file 500000\n",
        "/sys/fs/cgroup/job/step/memory.max": "max\n",
        "/sys/fs/cgroup/job/step/memory.current": "100\n",
    }
    monkeypatch.setattr(memory, "_text", lambda path: files.get(str(path), ""))
    assert memory.available_memory() == 2_500_000
    files["/sys/fs/cgroup/job/memory.max"] = "max\n"
    assert memory.available_memory() == 8_192_000
    monkeypatch.setattr(memory, "_text", lambda path: "")
    monkeypatch.setattr(memory.resource, "getrlimit", lambda which: (memory.resource.RLIM_INFINITY, 0))
    assert memory.available_memory() is None


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (999_499, "999 kB"),
        (1_500_000_000, "1.5 GB"),
        (10**17, "100 PB"),
    ],
)
def test_human(nbytes, text):
    assert human(nbytes) == text


def test_labels_of_another_table_go_by_name(tmp_path):
    (tmp_path / "points.csv").write_text("who,x,y\nb,1,2\na,3,4\n")
    (tmp_path / "labels.csv").write_text("who,kind\na,u\nb,v\n")
    context = BuildContext((tmp_path,))
    points = TableArray(file="points.csv", names="who")
    labels = TableArray(file="labels.csv", column="kind", names="who")
    found, kinds = context.labelled(points, labels)
    assert found.tolist() == [[1.0, 2.0], [3.0, 4.0]] and kinds.tolist() == [1.0, 0.0]
    assert context.row_names == ["b", "a"]
