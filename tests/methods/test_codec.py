"""What a run remembers, as nested mappings and back, and through a file."""

from __future__ import annotations

from dataclasses import dataclass

import h5py
import numpy as np
import pytest

from cgm_cli.methods import codec
from cgm_cli.methods.state import OracleState
from cgm_cli.runs.tree import read_tree, write_tree


def through_a_file(tree, path):
    with h5py.File(path, "w") as file:
        write_tree(file.create_group("tree"), tree)
        return read_tree(file["tree"])


def same(a, b):
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return a is None is b or (np.array_equal(a, b, equal_nan=True) and np.shape(a) == np.shape(b))


WARM = {
    "none": None,
    "array": np.arange(6.0).reshape(3, 2),
    "blocks": (np.arange(3.0), None, np.empty((2, 0))),
    "a product in a product": (None, (np.eye(2), None, ((np.ones(1),), ()))),
    "twelve blocks": tuple(np.full(place + 1, float(place)) for place in range(12)),
    "no arrays": (None, (None,)),
}


@pytest.mark.parametrize("name", WARM)
def test_a_tree_of_warm_starts_comes_back_as_it_was(name, tmp_path):
    state = OracleState(WARM[name], unconverged=3)
    for tree in (codec.pack(state), through_a_file(codec.pack(state), tmp_path / "tree.h5")):
        found = codec.unpack(OracleState, tree)
        assert same(state.warm, found.warm)
        assert found.unconverged == 3


@dataclass(frozen=True)
class Inner:
    value: float


@dataclass(frozen=True)
class Outer:
    inner: Inner | None
    several: tuple[Inner, ...]


@pytest.mark.parametrize("outer", [Outer(None, ()), Outer(Inner(1.0), (Inner(2.0), Inner(3.0)))])
def test_dataclasses_in_dataclasses(outer, tmp_path):
    assert codec.unpack(Outer, codec.pack(outer)) == outer
    assert codec.unpack(Outer, through_a_file(codec.pack(outer), tmp_path / "tree.h5")) == outer


@pytest.mark.parametrize("tree", [{"several": {}, "inner": 1.0}, {"inner": {}}, 3.0])
def test_a_tree_of_something_else_is_refused(tree):
    with pytest.raises((KeyError, TypeError, ValueError)):
        codec.unpack(Outer, tree)
