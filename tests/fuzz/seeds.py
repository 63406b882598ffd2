"""What mutations begin with: every shipped spec and every example, a small file of each format, a few real runs."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
import scipy.sparse as sp
from PIL import Image

from cgm_cli.api import solve
from cgm_cli.errors import CgmError
from cgm_cli.spec import registry
from cgm_cli.spec.load import dump, loads
from cgm_cli.spec.model import SolverSpec
from cgm_cli.spec.yaml_reader import read
from cgm_cli.templates.build import build
from tests.fuzz.cases import Oddity
from tests.fuzz.mutate import STEMS, SUFFIXES

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
_SIZES = [3, 4, 6, [3, 3], [4, 3], [2, 2], 1, 2, [5, 5], [1, 1]]
_LOW_RANK = {
    "domain": {"kind": "psd", "size": 3},
    "objective": {"kind": "linear", "cost": 1.0},
    "constraints": [{"kind": "equals", "value": 0.3, "map": {"kind": "diagonal"}}],
}
_ODDITIES = {
    "pipe": Oddity("fifo"),
    "socket": Oddity("socket"),
    "folder": Oddity("folder"),
    "dangling": Oddity("link", "nowhere"),
    "zero": Oddity("link", "/dev/zero"),
    "hole": Oddity("hole", 10**12),
}


@cache
def specs() -> tuple[tuple[str, dict[str, Any]], ...]:
    """(name, tree) of every shipped spec, and of a problem around every example of every block and policy."""
    found = [(str(path.relative_to(CONFIGS)), read(path).tree) for path in sorted(CONFIGS.rglob("*.yaml"))]
    for family, kinds in registry.FAMILIES.items():
        for kind in kinds:
            for number, example in enumerate(registry.lookup(family, kind).Spec.examples):
                found.append((f"{family} {kind} {number}", _around(family, example)))
    return tuple(found)


def _around(family: str, example: dict[str, Any]) -> dict[str, Any]:
    """A spec with the template, the domain or the policy, or with the block over the first domain that it fits."""
    if family == "template":
        return {"problem": example}
    if family == "domain":
        return {"problem": {"domain": example, "objective": {"kind": "linear", "cost": 1.0}}}
    if family in SolverSpec.model_fields:
        descends = {} if family == "correction" else {"correction": "local-descent"}
        return {"problem": _LOW_RANK, "solver": {"method": "cgal", **descends, family: example}}
    product = registry.lookup("domain", "product").Spec.examples[0]
    domains = [{"kind": "box", "lower": -1.0, "upper": 1.0, "size": size} for size in _SIZES]
    domains += [product, {"kind": "product", "blocks": [{"kind": "psd", "size": 3} for _ in range(3)]}]
    for domain in domains:
        problem = {"domain": domain, **_place(family, example)}
        try:
            build(loads(dump({"problem": problem})))
        except CgmError:
            continue
        return {"problem": problem}
    raise AssertionError(f"nothing fits {example}")


def _place(family: str, example: dict[str, Any]) -> dict[str, Any]:
    if family == "loss":
        return {"objective": example}
    if family == "penalty":
        return {"penalties": [example]}
    if family == "set":
        return {"constraints": [example]}
    return {"constraints": [{"kind": "box", "lower": -1.0, "upper": 1.0, "map": example}]}


def oddities() -> dict[str, Oddity]:
    """What is no file, under the name of every format."""
    found = {}
    for stem in STEMS:
        for suffix in SUFFIXES:
            name = f"{stem}.{suffix}"
            found[name] = Oddity("link", name) if stem == "loop" else _ODDITIES[stem]
    return found


_FULL = np.array([[1.0, 2.0, 3.0], [4.0, 5.5, -6.0]])
_GREY = np.arange(0, 240, 5, dtype=np.uint8).reshape(6, 8)
_CYCLE = np.roll(np.eye(6), 1, 0) + np.roll(np.eye(6), -1, 0)


@cache
def files() -> tuple[tuple[str, bytes, dict[str, Any]], ...]:
    """(name, contents, problem that reads it), in every form that a reader takes."""
    sparse = sp.csr_array(_FULL)
    found = [
        ("a.npy", written("a.npy", lambda p: np.save(p, _FULL)), array("a.npy")),
        ("f.npy", written("f.npy", lambda p: np.save(p, np.asfortranarray(_FULL.astype("f4")))), array("f.npy")),
        ("a.npz", written("a.npz", lambda p: np.savez(p, a=_FULL, b=_FULL)), array("a.npz", "a")),
        ("c.npz", written("c.npz", lambda p: np.savez_compressed(p, a=_FULL)), array("c.npz")),
        ("s.npz", written("s.npz", lambda p: sp.save_npz(p, sparse)), array("s.npz")),
        ("o.npz", written("o.npz", lambda p: sp.save_npz(p, sp.coo_array(_FULL))), array("o.npz")),
        ("a.mat", written("a.mat", lambda p: scipy.io.savemat(p, {"a": _FULL, "t": "text"})), array("a.mat", "a")),
        ("c.mat", written("c.mat", lambda p: scipy.io.savemat(p, {"a": _FULL}, do_compression=True)), array("c.mat")),
        ("s.mat", written("s.mat", lambda p: scipy.io.savemat(p, {"a": sp.csc_array(_FULL)})), array("s.mat")),
        ("4.mat", written("4.mat", lambda p: scipy.io.savemat(p, {"a": _FULL}, format="4")), array("4.mat")),
        ("7.mat", written("7.mat", _matlab73), array("7.mat", "a")),
        ("8.mat", written("8.mat", _matlab73), array("8.mat", "s")),
        ("a.h5", written("a.h5", _hdf5), array("a.h5", "group/a")),
        ("c.h5", written("c.h5", _hdf5), array("c.h5", "chunks")),
        ("n.h5", written("n.h5", lambda p: _hdf5(p, "latest")), array("n.h5", "chunks")),
        ("a.csv", b"# heading\n1,2,3\n4,5.5,-6e0\n", array("a.csv")),
        ("a.txt", b"1 2 3\n4 5.5 -6e0\n", array("a.txt")),
        ("a.mtx", b"%%MatrixMarket matrix coordinate real general\n% x\n2 3 3\n1 1 1\n2 3 5\n1 2 7\n", array("a.mtx")),
        ("f.mtx", b"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n", array("f.mtx")),
        ("g.gset", b"4 5\n1 2 1\n2 3 -1\n3 4 1\n4 1 2.5\n1 3\n", graph("g.gset")),
        ("g.mtx", written("g.mtx", lambda p: scipy.io.mmwrite(p, sp.coo_array(_CYCLE))), graph("g.mtx")),
        ("g.npy", written("g.npy", lambda p: np.save(p, _CYCLE)), graph("g.npy")),
        ("p.dat-s", (CONFIGS / "petersen.dat-s").read_bytes(), read(CONFIGS / "petersen-sdp.yaml").tree["problem"]),
        ("s.dat-s", b'"slacks\n2\n2\n2 -1\n1 2\n0 1 1 1 1\n0 1 2 2 2\n1 1 1 2 1\n2 1 2 2 1\n2 2 1 1 1\n', None),
    ]
    found = [(n, raw, program(n) if p is None else _renamed(p, n)) for n, raw, p in found]
    for suffix, mode in [("png", "L"), ("png", "RGB"), ("png", "P"), ("jpg", "L"), ("tif", "L"), ("tif", "RGB")]:
        name = f"{mode}.{suffix}"
        image = Image.fromarray(_GREY).convert(mode)
        found.append((name, written(name, image.save), array(name)))
    return tuple(found)


def program(name: str) -> dict[str, Any]:
    """A problem that is all in a file."""
    return {"template": "standard-sdp", "program": {"file": name}}


def array(name: str, key: str | None = None) -> dict[str, Any]:
    """A problem that reads any matrix."""
    file = {"file": name} if key is None else {"file": name, "key": key}
    box = {"kind": "box", "lower": file, "upper": 1000.0}
    return {"domain": box, "objective": {"kind": "least-squares", "target": 0.5}}


def graph(name: str) -> dict[str, Any]:
    """A problem that reads a graph."""
    return {"template": "max-cut", "graph": {"file": name}, "hyperplanes": 3}


@cache
def runs() -> tuple[dict[str, bytes], ...]:
    """The files of a few run folders: dense, factored, with and without constraints."""
    found = []
    chosen = ("set equals 1", "template max-cut 0", "penalty l1 0", "template kmeans-sdp 1")
    for name, tree in specs():
        if name in chosen:
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "run"
                solve(tree, ["solver.iterations=20"], out)
                found.append({path.name: path.read_bytes() for path in out.iterdir()})
    return tuple(found)


def written(name: str, write: Callable[[Path], object]) -> bytes:
    """The bytes of the file that `write` makes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def changed(raw: bytes, change: Callable[[h5py.File], object]) -> bytes:
    """An HDF5 file after `change`."""
    memory = io.BytesIO(raw)
    with h5py.File(memory, "r+") as file:
        change(file)
    return memory.getvalue()


def _renamed(problem: dict[str, Any], name: str) -> dict[str, Any]:
    return {**problem, "file": name} if problem.get("template") == "standard-sdp" else problem


def _hdf5(path: Path, libver: str = "earliest") -> None:
    with h5py.File(path, "w", libver=libver) as file:
        file["group/a"] = _FULL
        file.create_dataset("chunks", data=np.tile(_FULL, (20, 1)), chunks=(5, 3), compression="gzip", shuffle=True)
        file["link"] = h5py.SoftLink("/group/a")
        file.attrs["about"] = "a file"


def _matlab73(path: Path) -> None:
    with h5py.File(path, "w", userblock_size=512) as file:
        file["a"] = _FULL.T
        file["a"].attrs["MATLAB_class"] = np.bytes_("double")
        columns = sp.csc_array(_FULL)
        file.create_group("s").attrs["MATLAB_sparse"] = np.uint64(2)
        file["s/data"], file["s/ir"], file["s/jc"] = columns.data, columns.indices, columns.indptr
