"""Mutations of bytes, and of the trees that specs are."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any


class Raw(str):
    """Text that stands in the YAML as it is: tags, anchors, numbers that no float can be."""


# Names under which every spec finds something else than a file; see `seeds.oddities`.
STEMS = ("pipe", "socket", "folder", "dangling", "loop", "zero", "hole")
SUFFIXES = ("npy", "npz", "mat", "h5", "csv", "txt", "mtx", "png", "tif", "dat-s", "gset")

_NUMBERS = [0, -1, 1, 2, 3, 7, 255, 2**31, 2**53, 2**63 - 1, -(2**63), 10**6, 10**9, 0.5, -0.5, 1e-3, 1e-300, 1e300]
_NUMBERS += [-1e300, 5e-324, 1.7976931348623157e308, 1e16, 1e17, -0.0, 1e6, 1e12]
_SMALL = [1, 2, 3, 4, 5, 6, 8, 10, 64, 65, 100, 500, 3000, 0.1, 0.9, 1.0, 2.0, 1e-9, 1e9, 1e-160, 1e160, 1e150, 1e-20]
_RAW = ["2.", "0x7f", "0o17", "1e400", "-1e400", ".inf", "-.inf", ".nan", "1e-400", "18446744073709551616", "9" * 5000]
_RAW += ["!!python/object/apply:os.system ['true']", "!!python/name:os.system", "!!binary aGVsbG8=", "!custom x"]
_RAW += [
    "&a [1, 2]",
    "*a",
    "<<",
    "? x",
    "| text",
    "@x",
    "`x`",
    "%x",
    "~",
    "",
    "2001-01-01",
    "1_000",
    "'",
    '"',
    "{",
    "]",
]
_RAW += ["!!set {a, b}", "!!float 1", "!!int '1'", "-", ":", "? [a]: b", "--- x", "#"]
_TEXTS = [
    "",
    " ",
    "x",
    "auto",
    "none",
    "identity",
    "simplex",
    "true",
    "1",
    "1e3",
    "nan",
    "é",
    "\u202e",
    "😀",
    "\0",
    "\n",
]
_TEXTS += ["\ud800", "a" * 5000, "x" * 200_000, "../" * 50, "%s%n{0}", "\x1b[31m", "a.b", "-x", "/", "∞", "１２"]
_FILES = ["/dev/zero", "/dev/stdin", "/dev/full", "/dev/random", "/proc/self/mem", "/proc/self/fd/0", "/", "..", "."]
_FILES += ["../" * 30 + "etc/passwd", "/etc/passwd", "~/x.npy", "file:///etc/passwd", "nul\0", "a" * 300 + ".npy"]
_FILES += [f"{stem}.{suffix}" for stem in STEMS for suffix in SUFFIXES]
_SHAPES = [[], [[]], [[], []], [1], [1, 2], [1, 2, 3], [[1]], [[1, 2], [3, 4]], [[1, 2], [3]], [0.0] * 4, [-1, 0, 5]]
_SHAPES += [[None], ["x"], [True], [[["x"]]], [10**6, 10**6], [10**18, 10], [3, 3, 3], [1e300, -1e300], {}, {"x": 1}]
_KEYS = ["x", "kind", "template", "file", "", "1", "domain", "map", "é", "a" * 300, "__class__", "model_config", "from"]
_WHOLE = [b"", b"\0" * 100, b"\xef\xbb\xbf", b"\xff\xfe", b"\n" * 1000, b" ", b"[", b"\x89HDF\r\n\x1a\n", b"PK\x03\x04"]
_CHUNKS = [b"\0", b"\xff", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x80", b"\x7f\xff\xff\xff", b"\xff" * 8, b"-", b"1e999"]
_CHUNKS += [
    b"nan",
    b"inf",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\r",
    b"\x85",
    b"\t",
    b"999999999999",
    b"\n\n",
    b"{",
    b"'",
]


def bytes_mutated(raw: bytes, rng: Random) -> bytes:
    """`raw` with a few bytes flipped, inserted, deleted or doubled, or cut short, or replaced altogether."""
    if rng.random() < 0.02:
        return rng.choice(_WHOLE)
    data = bytearray(raw)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8, 30])):
        place, length = rng.randrange(len(data) + 1), rng.choice([1, 1, 2, 4, 8, 40, 500])
        action = rng.randrange(8)
        if action < 2 and data:
            data[place % len(data)] ^= 1 << rng.randrange(8)
        elif action == 2 and data:
            data[place % len(data)] = rng.choice([0, 1, 2, 127, 128, 254, 255, rng.randrange(256)])
        elif action == 3:
            data[place:place] = rng.choice(_CHUNKS)
        elif action == 4:
            chunk = rng.choice(_CHUNKS)
            data[place : place + len(chunk)] = chunk
        elif action == 5:
            del data[place : place + length]
        elif action == 6:
            data[place:place] = data[place : place + length]
        elif rng.random() < 0.3:
            del data[place:]
    return bytes(data)


def tree_mutated(tree: Any, rng: Random, donors: list[Any]) -> Any:
    """A copy of `tree` in which one to four places were changed. donors: trees that parts may be taken from."""
    tree = copy.deepcopy(tree)
    gentle = rng.random() < 0.5
    for _ in range(rng.choice([1, 1, 1, 2, 2, 4])):
        parent, key = rng.choice(_places(tree) or [(tree, None)])
        if gentle and key is not None:
            parent[key] = _alike(key, parent[key], rng, donors)
            continue
        action = rng.randrange(8)
        if key is None or action == 0:
            _insert(parent, rng, donors)
        elif action == 1:
            del parent[key]
        elif action == 2 and isinstance(parent, dict):
            parent[_misspelt(key, rng)] = parent.pop(key)
        elif action == 3 and isinstance(parent, list):
            parent[key:key] = [copy.deepcopy(parent[key])] * rng.choice([1, 2, 50])
        elif action == 4 and isinstance(parent[key], int | float):
            parent[key] = parent[key] * rng.choice([-1, 0, 10, 1000, 1e9, 1e-9]) + rng.choice([0, 0, 1, -1])
        else:
            parent[key] = _hostile(key, rng, donors)
    return tree


def yaml_of(value: Any) -> str:
    """The tree in flow style, with `Raw` text as it is; the top level has a line for each key."""
    if isinstance(value, dict) and value:
        return "\n".join(f"{_flow(key)}: {_flow(item)}" for key, item in value.items()) + "\n"
    return _flow(value)


def _flow(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, float) and value - value != 0.0:
        return ".nan" if value != value else (".inf" if value > 0 else "-.inf")
    return json.dumps(value, ensure_ascii=isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value))


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """(parent, key) of every node below the top."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [place for key, value in items for place in [(tree, key), *_places(value)]]


def _alike(key: Any, value: Any, rng: Random, donors: list[Any]) -> Any:
    """Another value of the same type, or one that a donor has under the same key: a schema may well let it through."""
    if isinstance(key, str) and rng.random() < 0.4:
        known = [parent[name] for donor in donors for parent, name in _places(donor) if name == key]
        return copy.deepcopy(rng.choice(known or [value]))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice([number for number in _NUMBERS + _SMALL if isinstance(number, type(value))])
    if isinstance(value, list) and value:
        return rng.choice([value[:-1], value[::-1], value + value[:1], value * 2, [value[0]] * len(value), [value]])
    return value


def _hostile(key: Any, rng: Random, donors: list[Any]) -> Any:
    if key in ("file", "image", "key") and rng.random() < 0.7:
        return rng.choice(_FILES)
    kind = rng.randrange(10)
    if kind < 3:
        return rng.choice(_NUMBERS)
    if kind == 3:
        return Raw(rng.choice(_RAW))
    if kind == 4:
        return rng.choice(_TEXTS)
    if kind == 5:
        return {"file": rng.choice(_FILES)}
    if kind == 6:
        return copy.deepcopy(rng.choice(_SHAPES))
    if kind == 7:
        return rng.choice([None, True, False, {}, []])
    if kind == 8 and rng.random() < 0.2:
        return Raw("[" * (depth := rng.choice([10, 60, 70, 5000])) + "]" * depth)
    donor = rng.choice(donors)
    parent, name = rng.choice(_places(donor))
    return copy.deepcopy(parent[name])


def _insert(parent: Any, rng: Random, donors: list[Any]) -> None:
    if isinstance(parent, list):
        parent.insert(rng.randrange(len(parent) + 1), _hostile(None, rng, donors))
    elif isinstance(parent, dict):
        donor, name = rng.choice(_places(rng.choice(donors)))
        known = isinstance(name, str) and rng.random() < 0.7
        key = name if known else rng.choice(_KEYS)
        parent[key] = copy.deepcopy(donor[name]) if known and rng.random() < 0.6 else _hostile(key, rng, donors)


def _misspelt(key: str, rng: Random) -> str:
    place = rng.randrange(len(key) + 1)
    return rng.choice([key[:place] + key[place + 1 :], key[:place] + "x" + key[place:], key.upper(), rng.choice(_KEYS)])
