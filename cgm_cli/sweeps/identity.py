"""What makes two points the same run: a hash of all that a number of the result depends on.

It is the resolved spec, with its seed, in canonical form: every default written out, keys in order. Left out are `name`
and `checkpoint`, which change no number. Budgets and logging are part of it, because they decide what a run folder
holds; so is the content of every data file, whatever it is called on this machine.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cgm_cli.readers.files import sha256
from cgm_cli.spec.yaml_reader import TreePath

SCHEMA = 2
"""Version of what a run computes from a spec; counts up when the same spec comes to mean something else."""


def identity(resolved: Mapping[str, Any], digests: Mapping[str, str]) -> str:
    """16 hexadecimal digits for a resolved spec as plain values. digests: data file -> SHA-256 of its content."""
    told = {key: value for key, value in resolved.items() if key not in ("name", "checkpoint")}
    told = _by_content(told, digests)
    text = json.dumps({"schema": SCHEMA, "spec": told}, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def files_of(tree: Any, path: TreePath = ()) -> dict[str, TreePath]:
    """The name in every `file:` of a tree, and where it is named. path: of the tree."""
    found: dict[str, TreePath] = {}
    if isinstance(tree, Mapping):
        if isinstance(tree.get("file"), str):
            found[tree["file"]] = (*path, "file")
        for key, value in tree.items():
            found = {**files_of(value, (*path, key)), **found}
    elif isinstance(tree, list) and _nested(tree):
        for index, value in enumerate(tree):
            found = {**files_of(value, (*path, index)), **found}
    return found


def digest(path: Path) -> str:
    """SHA-256 of a file. Raises OSError. A file that has not changed is read once."""
    found = os.stat(path)
    return _digest(path, found.st_mtime_ns, found.st_size)


@cache
def _digest(path: Path, modified: int, size: int) -> str:
    return sha256(path)


def _by_content(tree: Any, digests: Mapping[str, str]) -> Any:
    if isinstance(tree, Mapping):
        # Names of data files are keys too: those of `source`.
        return {
            digests.get(key, key): f"sha256:{digests[value]}"
            if key == "file" and isinstance(value, str) and value in digests
            else _by_content(value, digests)
            for key, value in tree.items()
        }
    return [_by_content(value, digests) for value in tree] if isinstance(tree, list) and _nested(tree) else tree


def _nested(values: list[Any]) -> bool:
    return any(isinstance(value, Mapping | list) for value in values)
