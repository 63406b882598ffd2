"""Hostile files made by hand: headers that lie, bombs, links that lead elsewhere, what is no file."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import zipfile
import zlib
from functools import cache
from typing import Any

import h5py
import numpy as np

from tests.fuzz import seeds
from tests.fuzz.cases import Case, Oddity
from tests.fuzz.mutate import yaml_of

_HUGE = 10**12


@cache
def data_files() -> list[Case]:
    """A case for each data file."""
    files: dict[str, bytes | Oddity] = {
        "pickled.npy": _saved(np.array([{}, []], dtype=object)),
        "pickle.npy": pickle.dumps([1.0]),
        "records.npy": _saved(np.zeros(2, "i4,f8")),
        "text.npy": _saved(np.array(["a", "b"])),
        "complex.npy": _saved(np.zeros(2, complex)),
        "nan.npy": _saved(np.array([[1.0, np.nan], [np.inf, 2.0]])),
        "huge.npy": _npy(f"({_HUGE},)"),
        "product.npy": _npy(f"({_HUGE}, {_HUGE})"),
        "power.npy": _npy("(10**10000000,)"),
        "negative.npy": _npy("(-1,)"),
        "deep.npy": _npy("(" * 5000 + ")" * 5000),
        "long.npy": _npy("(1,)" + " " * 60_000),
        "code.npy": _npy("(__import__('os').getpid(),)"),
        "bomb.npz": _zipped("a.npy", _npy("(160000000,)")[:-8], 1_280_000_000),
        "sparse-bomb.npz": _sparse_bomb(),
        "many.npz": _many(70_000),
        "pickled.npz": _zipped("a.npy", _saved(np.array([{}], dtype=object)), 0),
        "plain.npz": _zipped("a.txt", b"text", 0),
        "nested.npz": _zipped("a.npy", _zipped("a.npy", _saved(np.zeros(2)), 0), 0),
        "bomb.mat": _mat_bomb(),
        "lines.csv": b"\n" * 4_000_000,
        "cells.csv": b"1," * 2_000_000 + b"1\n",
        "digits.csv": b"1" * 4_000_000,
        "rows.txt": b"1\n" * 1_000_000,
        "gzip.csv": gzip.compress(b"1\n" * 1000),
        "lines.mtx": b"%%MatrixMarket matrix array real general\n" + b"\n" * 4_000_000,
        "huge.mtx": b"%%MatrixMarket matrix coordinate real general\n1000000000000 1000000000000 0\n",
        "tall.mtx": b"%%MatrixMarket matrix coordinate real general\n900000000 1 1\n1 1 1\n",
        "huge.png": _png(2_000_000_000, 2_000_000_000),
        "wide.png": _png(30_000, 30_000),
        "huge.h5": _hdf5(lambda f: f.create_dataset("a", (_HUGE,), "f8", chunks=(1000,))),
        "contiguous.h5": _hdf5(lambda f: f.create_dataset("a", (_HUGE,), "f8")),
        "chunk.h5": _hdf5(lambda f: f.create_dataset("a", (1,), "u1", chunks=(2**31,), maxshape=(None,))),
        "bomb.h5": _hdf5(_chunk_bomb),
        "external.h5": _hdf5(lambda f: f.create_dataset("a", (9,), "f8", external=[("/dev/zero", 0, 72)])),
        "fifo.h5": _hdf5(lambda f: f.__setitem__("a", h5py.ExternalLink("pipe.h5", "/a"))),
        "virtual.h5": _hdf5(_virtual),
        "cycle.h5": _hdf5(lambda f: f.__setitem__("g/h/a", f["/"])),
        "groups.h5": _hdf5(_groups),
        "many.h5": _hdf5(lambda f: [f.create_dataset(str(i), (1,), "f8") for i in range(3000)]),
        "words.h5": _hdf5(lambda f: f.__setitem__("a", ["x"] * 9)),
        "records.h5": _hdf5(lambda f: f.__setitem__("a", np.zeros(3, "i4,f8"))),
        "opaque.h5": _hdf5(lambda f: f.create_dataset("a", data=np.void(b"x" * 100))),
        "empty.h5": _hdf5(lambda f: f.create_dataset("a", data=h5py.Empty("f8"))),
        **{f"odd-{name}": oddity for name, oddity in seeds.oddities().items() if oddity.kind != "link"},
        **{f"odd-zero.{suffix}": Oddity("link", "/dev/zero") for suffix in ("npy", "mat", "h5", "csv", "png", "mtx")},
    }
    graphs: dict[str, bytes | Oddity] = {
        "edges.gset": b"10 1000000000000\n1 2\n",
        "nodes.gset": b"999999999999999 1\n1 2\n",
        "many.gset": b"400000000 1\n1 2\n",
        "wide.gset": b"30000000 1\n1 2\n",
        "lines.gset": b"3 1\n1 2\n" + b"\n" * 6_000_000,
        "cells.gset": b"3 1\n1 2 " + b"1 " * 3_000_000,
        "loops.gset": b"3 2\n1 1\n2 2\n",
        "nan.gset": b"3 1\n1 2 nan\n",
        "odd.gset": Oddity("fifo"),
        "huge.mtx": b"%%MatrixMarket matrix coordinate real general\n1000000000000 1000000000000 0\n",
        "tall.mtx": b"%%MatrixMarket matrix coordinate real general\n10 20 1\n1 1 1\n",
        "zeros.npy": _saved(np.zeros((5, 5))),
        "row.npy": _saved(np.ones(5)),
        "one.npy": _saved(np.ones((1, 1))),
        "number.npy": _saved(np.ones(())),
    }
    programs: dict[str, bytes | Oddity] = {
        "many.dat-s": b"999999999\n1\n2\n1 1 1\n",
        "large.dat-s": b"1\n1\n999999999\n1\n1 1 1 1 1\n",
        "blocks.dat-s": b"1\n999999999\n2\n",
        "lines.dat-s": b"1\n1\n2\n1\n" + b"\n" * 6_000_000,
        "nan.dat-s": b"1\n1\n2\n1\n1 1 1 1 nan\n",
        "odd.dat-s": Oddity("fifo"),
        "folder.dat-s": Oddity("folder"),
    }
    cases = [_case(name, content, seeds.array(name)) for name, content in files.items()]
    cases += [_case(name, content, seeds.graph(name)) for name, content in graphs.items()]
    return cases + [_case(name, content, seeds.program(name)) for name, content in programs.items()]


@cache
def run_folders() -> list[Case]:
    """Runs whose files are not what they seem."""
    run = seeds.runs()[0]
    logs = {
        "external link": _external_trace,
        "external link to a fifo": lambda f: f.__setitem__("trace/evil", h5py.ExternalLink("pipe", "/a")),
        "soft link": lambda f: f.__setitem__("trace/evil", h5py.SoftLink("/trace/k")),
        "external storage": lambda f: f.create_dataset("trace/evil", (21,), "f8", external=[("/dev/zero", 0, 168)]),
        "virtual": lambda f: _virtual(f, "trace/evil"),
        "huge column": lambda f: f.create_dataset("trace/evil", (_HUGE,), "f8", chunks=(1000,)),
        "huge contiguous solution": lambda f: f.create_dataset("solution/evil", (_HUGE, 10), "f8"),
        "large solution": lambda f: f.create_dataset("solution/evil", (70_000_000,), "f8"),
        "two halves": lambda f: [f.create_dataset(f"duals/{i}", (40_000_000,), "f8") for i in range(2)],
        "huge chunk": lambda f: f.create_dataset("duals/e", (1,), "u1", chunks=(2**31,), maxshape=(None,)),
        "bomb": lambda f: _chunk_bomb(f, "duals/evil"),
        "words": lambda f: f.__setitem__("trace/evil", ["a"] * 21),
        "records": lambda f: f.__setitem__("trace/evil", np.zeros(21, "i4,f8")),
        "references": lambda f: f.__setitem__("trace/evil", np.array([f.ref] * 21, dtype=h5py.ref_dtype)),
        "matrix": lambda f: f.__setitem__("trace/evil", np.ones((21, 2))),
        "scalar": lambda f: f.__setitem__("trace/evil", 1.0),
        "empty": lambda f: f.create_dataset("trace/evil", data=h5py.Empty("f8")),
        "words for times": lambda f: _replaced(f, "trace/seconds", np.array(["x"] * 21, dtype="S1")),
        "whole times": lambda f: _replaced(f, "trace/seconds", np.arange(21)),
        "complex times": lambda f: _replaced(f, "trace/seconds", np.ones(21, complex)),
        "group for a column": lambda f: f.create_group("trace/evil"),
        "array for a group": lambda f: _replaced(f, "trace", np.ones(3)),
        "type for a group": lambda f: _replaced(f, "trace", np.dtype("f8")),
        "cycle": lambda f: f.__setitem__("solution/evil", f["/"]),
        "deep attribute": lambda f: f.attrs.__setitem__("deep", "[" * 20_000),
        "odd attributes": _odd_attributes,
        "wide attribute": lambda f: f.attrs.__setitem__("wide", np.arange(8000.0)),
        "number attribute": lambda f: f.attrs.__setitem__("long", "[" + "9" * 6000 + "]"),
    }
    cases = [
        Case("run", name, {**run, "run.h5": seeds.changed(run["run.h5"], change)}) for name, change in logs.items()
    ]
    state = json.loads(run["status.json"])
    statuses: dict[str, Any] = {
        "deep status": b"[" * 100_000,
        "deep object": b'{"a":' * 100_000,
        "long number": b'{"status": "converged", "pid": ' + b"9" * 6000 + b"}",
        "status of a list": json.dumps({**state, "status": [state["status"]]}).encode(),
        "status of nothing": json.dumps({**state, "status": None}).encode(),
        "result of a number": json.dumps({**state, "result": 3}).encode(),
        "no result": json.dumps({k: v for k, v in state.items() if k != "result"}).encode(),
        "status of a hole": Oddity("hole", _HUGE),
    }
    cases += [Case("run", name, {**run, "status.json": content}) for name, content in statuses.items()]
    for name in run:
        for kind in ("fifo", "folder", "socket"):
            cases.append(Case("run", f"{kind} for {name}", {**run, name: Oddity(kind)}))
        cases.append(Case("run", f"link for {name}", {**run, name: Oddity("link", "nowhere")}))
        cases.append(Case("run", f"zeros for {name}", {**run, name: Oddity("link", "/dev/zero")}))
        cases.append(Case("run", f"hole for {name}", {**run, name: Oddity("hole", _HUGE)}))
        cases.append(Case("run", f"no {name}", {key: raw for key, raw in run.items() if key != name}))
    cases.append(Case("run", "fifo for the lock", {**run, ".lock": Oddity("fifo")}))
    return cases


def _case(name: str, content: bytes | Oddity, problem: dict[str, Any]) -> Case:
    return Case("spec", name, {"spec.yaml": yaml_of({"problem": problem}).encode(), name: content})


def _saved(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def _npy(shape: str) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(8)


def _zipped(name: str, head: bytes, zeros: int) -> bytes:
    """An archive with one member: `head`, and so many zeros."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w") as member,
    ):
        member.write(head)
        for _ in range(zeros // 10**7):
            member.write(bytes(10**7))
    return stream.getvalue()


def _sparse_bomb() -> bytes:
    """A sparse matrix whose small members claim to be small, and whose data claims 10^9 numbers."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in {
            "format.npy": _saved(np.array(b"csr")),
            "shape.npy": _saved(np.array([2, 3])),
            "data.npy": _npy("(1000000000,)"),
            "indices.npy": _npy("(1000000000,)"),
            "indptr.npy": _saved(np.array([0, 1, 1])),
        }.items():
            archive.writestr(name, raw)
    return stream.getvalue()


def _many(count: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number in range(count):
            archive.writestr(str(number), b"")
    return stream.getvalue()


def _mat_bomb() -> bytes:
    def element(kind: int, raw: bytes) -> bytes:
        return struct.pack("<II", kind, len(raw)) + raw + bytes(-len(raw) % 8)

    head = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", 1, 10**9)) + element(1, b"a")
    body = _deflated(struct.pack("<II", 14, 2**32 - 8) + head + struct.pack("<II", 9, 2**32 - 100), 150)
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\x01IM" + struct.pack("<II", 15, len(body)) + body


def _deflated(head: bytes, blocks: int) -> bytes:
    """`head` and 10^7 zeros for each block, as a zlib stream. One block is made, and repeated."""
    packer = zlib.compressobj(1)
    begin = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(10**7)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = zlib.adler32(head)
    low, high = checksum & 0xFFFF, checksum >> 16
    return begin + block * blocks + b"\x03\x00" + struct.pack(">HH", (high + low * 10**7 * blocks) % 65521, low)


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, raw: bytes) -> bytes:
        return struct.pack(">I", len(raw)) + kind + raw + struct.pack(">I", zlib.crc32(kind + raw))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(10**6))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def _hdf5(change: Any) -> bytes:
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        change(file)
    return stream.getvalue()


def _chunk_bomb(file: h5py.File, name: str = "a") -> None:
    """One number, in a chunk that expands to more than a gigabyte."""
    chunk = file.create_dataset(name, (1,), "u1", chunks=(1_200_000_000,), maxshape=(None,), compression="gzip")
    chunk.id.write_direct_chunk((0,), _deflated(b"", 120))


def _virtual(file: h5py.File, name: str = "a") -> None:
    layout = h5py.VirtualLayout((21,), "f8")
    layout[:] = h5py.VirtualSource("pipe.h5", "/a", (21,))
    file.create_virtual_dataset(name, layout)


def _groups(file: h5py.File) -> None:
    node = file
    for _ in range(2000):
        node = node.create_group("g")
    node["a"] = 1.0


def _external_trace(file: h5py.File) -> None:
    del file["trace"]
    file["trace"] = h5py.ExternalLink("/etc/passwd", "/secret")


def _replaced(file: h5py.File, name: str, value: Any) -> None:
    del file[name]
    file[name] = value


def _odd_attributes(file: h5py.File) -> None:
    file.attrs["records"] = np.zeros(3, "i4,f8")
    file.attrs["reference"] = file.ref
    file.attrs["empty"] = h5py.Empty("f8")
    file.attrs["bytes"] = np.bytes_(b"\xff\xfe")
    file.attrs["words"] = ["a", "b"]
    file.attrs["broken"] = "{not json"
    file.attrs["void"] = np.void(b"abc")
