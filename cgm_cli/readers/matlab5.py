"""MATLAB 5 to 7 files: the arrays of numbers at the top level, and no more of the format than they need.

SciPy's reader indexes tables with what it finds in the file, and a damaged byte can end the process. Here every offset
is a slice of the file's bytes, which cannot reach beyond them. Format: MathWorks, "MAT-File Format", chapter 1.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.readers.checks import choose, sparse
from cgm_cli.readers.memory import check_fits

_MATRIX, _COMPRESSED = 14, 15
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8", 16: "u1"}
_CLASSES = {1: "cell", 2: "struct", 3: "object", 4: "char", 16: "function", 17: "object"}
_SPARSE = 5
_NUMBERS = range(_SPARSE, 16)
_IS_COMPLEX, _IS_LOGICAL = 0x0800, 0x0200
# Flags, dimensions and name of any variable that MATLAB can write.
_HEADER_BYTES = 4096


@dataclass(frozen=True)
class _Variable:
    """What stands before the numbers. body(n): the first n bytes of the variable. offset: where the numbers begin."""

    name: str
    kind: int
    is_complex: bool
    is_logical: bool
    shape: tuple[int, ...]
    size: int
    offset: int
    body: Callable[[int], memoryview]


def is_matlab5(raw: bytes) -> bool:
    """Whether the file begins as one of version 5 to 7."""
    return len(raw) >= 128 and raw[126:128] in (b"IM", b"MI")


def read_matlab5(raw: bytes, key: str | None, name: str, copies: int = 1) -> np.ndarray | sp.csc_array:
    """The variable `key` of a file with the contents `raw`; ValueError, struct.error or zlib.error if it is damaged."""
    order = "<" if raw[126:128] == b"IM" else ">"
    found = {variable.name: variable for variable in _variables(raw, order)}
    if key in found and found[key].kind not in _NUMBERS:
        raise DataError(f"{name}: `{key}` is a {_CLASSES.get(found[key].kind, 'value')}; real numbers are needed")
    variable = found[choose(name, key, [item for item, each in found.items() if each.kind in _NUMBERS])]
    if variable.is_complex:
        raise DataError(f"{name}: holds complex numbers; real numbers are needed")
    # Compressed zeros are small in the file: what they become is looked at before it is made.
    written_out = 8 * math.prod(variable.shape) if variable.kind != _SPARSE else 0
    check_fits(name, max(variable.size + written_out, copies * written_out))
    body = variable.body(variable.size)
    if variable.kind != _SPARSE:
        values, _ = _numbers(body, variable.offset, order)
        return values.reshape(variable.shape, order="F")
    rows, columns = variable.shape
    indices, offset = _numbers(body, variable.offset, order)
    starts, offset = _numbers(body, offset, order)
    # A logical matrix says that it stores doubles, and stores bytes.
    values, _ = _numbers(body, offset, order, "u1" if variable.is_logical else None)
    stored = int(starts[-1]) if starts.size else 0
    return sparse(name, sp.csc_array, values[:stored], (indices[:stored], starts), (rows, columns))


def _variables(raw: bytes, order: str) -> Iterator[_Variable]:
    offset = 128
    while offset < len(raw):
        kind, size = struct.unpack_from(order + "II", raw, offset)
        start, offset = offset + 8, offset + 8 + size
        if offset > len(raw):
            raise ValueError("the file is truncated")
        if kind == _MATRIX:
            yield from _header(_plain(raw, start, size), size, order)
        elif kind == _COMPRESSED:
            body = _compressed(raw, start, offset)
            kind, size = struct.unpack(order + "II", body(8))
            if kind == _MATRIX:
                yield from _header(_skipped(body), size, order)


def _header(body: Callable[[int], memoryview], size: int, order: str) -> Iterator[_Variable]:
    """The variable, or nothing if it is of a class without dimensions or name."""
    head = body(min(size, _HEADER_BYTES))
    flags, offset = _numbers(head, 0, order)
    kind = int(flags[0]) & 0xFF
    if kind not in _NUMBERS and kind not in (1, 2, 3, 4):
        return
    shape, offset = _numbers(head, offset, order)
    letters, offset = _numbers(head, offset, order)
    if letters.size:
        lengths = tuple(int(length) for length in shape)
        if any(length < 0 for length in lengths) or (kind == _SPARSE and len(lengths) != 2):
            raise ValueError("a variable has impossible dimensions")
        label = letters.astype(np.uint8).tobytes().decode("utf-8", "replace")
        is_complex, is_logical = (bool(int(flags[0]) & flag) for flag in (_IS_COMPLEX, _IS_LOGICAL))
        yield _Variable(label, kind, is_complex, is_logical, lengths, size, offset, body)


def _numbers(body: memoryview, offset: int, order: str, dtype: str | None = None) -> tuple[np.ndarray, int]:
    """One element of numbers, of the type it says or of `dtype`, and where the next one begins."""
    (word,) = struct.unpack_from(order + "I", body, offset)
    if word >> 16:
        # Up to four bytes are packed into the tag itself.
        kind, size, start, following = word & 0xFFFF, word >> 16, offset + 4, offset + 8
        if size > 4:
            raise ValueError("an element is longer than its place")
    else:
        kind, size = struct.unpack_from(order + "II", body, offset)
        start = offset + 8
        following = start + size + (-size) % 8
    if kind not in _STORED:
        raise ValueError(f"numbers of the unknown type {kind}")
    if start + size > len(body):
        raise ValueError("a variable is truncated")
    return np.frombuffer(body[start : start + size], order + (dtype or _STORED[kind])), following


def _plain(raw: bytes, start: int, size: int) -> Callable[[int], memoryview]:
    return lambda count: memoryview(raw)[start : start + min(count, size)]


def _compressed(raw: bytes, start: int, stop: int) -> Callable[[int], memoryview]:
    return lambda count: memoryview(zlib.decompressobj().decompress(memoryview(raw)[start:stop], count))


def _skipped(body: Callable[[int], memoryview]) -> Callable[[int], memoryview]:
    """Without the tag in front."""
    return lambda count: body(count + 8)[8:]
