"""Whole HDF5 files or none, and the file below HDF5 against a plain bytearray."""

import random

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgm_cli.errors import CgmError
from cgm_cli.runs import storage
from cgm_cli.runs.storage import ForgivingFile, write_hdf5
from cgm_cli.runs.tree import read_tree, write_tree

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 60), st.binary(min_size=1, max_size=20)),
        st.tuples(st.just("truncate"), st.integers(0, 60), st.just(b"")),
    ),
    max_size=25,
)


def full(descriptor, data, offset):
    raise OSError(28, "No space left on device")


@settings(max_examples=200, deadline=None)
@given(OPERATIONS, st.integers(0, 25))
def test_reads_see_every_write_also_after_the_disk_has_failed(tmp_path_factory, operations, failing):
    path = tmp_path_factory.mktemp("storage") / "file"
    file, model = ForgivingFile(path), bytearray()
    with pytest.MonkeyPatch.context() as patch:
        for turn, (name, position, data) in enumerate(operations):
            if turn == failing:
                patch.setattr(storage.os, "pwrite", full)
            if name == "write":
                model.extend(bytes(max(0, position + len(data) - len(model))))
                model[position : position + len(data)] = data
                file.seek(position)
                file.write(data)
            else:
                # HDF5 only announces the end of what it has allocated.
                position = max(position, len(model))
                model.extend(bytes(position - len(model)))
                file.truncate(position)
            file.seek(0)
            assert file.read(len(model)) == bytes(model)
    file.close()
    if file.fault is None:
        assert path.read_bytes() == model
    else:
        assert file.fault.errno == 28


@pytest.mark.parametrize("after", [0, 1, 3, 7])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, after):
    path, real, writes = tmp_path / "file.h5", storage.os.pwrite, []
    write_hdf5(path, lambda file: file.create_dataset("old", data=np.arange(5)))
    before = path.read_bytes()

    def filling_up(descriptor, data, offset):
        writes.append(len(data))
        return (real if len(writes) <= after else full)(descriptor, data, offset)

    def fill(file):
        for number in range(20):
            file.create_dataset(f"new{number}", data=np.random.default_rng(number).random(1000))

    monkeypatch.setattr(storage.os, "pwrite", filling_up)
    with pytest.raises(CgmError, match=r"file.h5 could not be written: the disk is full\.") as caught:
        write_hdf5(path, fill)
    assert caught.value.exit_code == 4
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_in_between_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.h5"
    write_hdf5(path, lambda file: file.create_dataset("old", data=np.arange(5)))

    def fill(file):
        file.create_dataset("new", data=np.arange(3))
        raise KeyError(random.random())

    with pytest.raises(KeyError):
        write_hdf5(path, fill)
    assert list(tmp_path.iterdir()) == [path]
    with h5py.File(path) as file:
        assert list(file) == ["old"]


def test_zeros_take_no_room_and_come_back_as_they_were(tmp_path):
    signed = np.zeros((3, 2))
    signed[1, 1] = -0.0
    tree = {
        "zeros": np.zeros((400, 300)),
        "turned": np.zeros((300, 400), order="F"),
        "signed": signed,
        "counts": np.zeros(7, dtype=np.int32),
        "scalar": np.float64(0.0),
        "empty": np.zeros((0, 3)),
        "last": np.array([0.0, 0.0, 2.0]),
    }
    path = tmp_path / "tree.h5"
    write_hdf5(path, lambda file: write_tree(file.create_group("tree"), tree))
    assert path.stat().st_size < 50_000
    with h5py.File(path) as file:
        back = read_tree(file["tree"])
    assert back.keys() == tree.keys()
    for name, array in tree.items():
        assert back[name].dtype == array.dtype and back[name].tobytes("A") == np.asarray(array).tobytes("A"), name
        assert np.asarray(back[name]).flags.f_contiguous == np.asarray(array).flags.f_contiguous
