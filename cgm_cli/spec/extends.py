"""`extends: other.yaml`: a spec that says only what it has otherwise than another one.

Mappings are merged, all else is replaced. Every value keeps its place in the file that it was written in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgm_cli.spec.environment import expanded
from cgm_cli.spec.faults import Fault, Source, SpecError
from cgm_cli.spec.yaml_reader import Document, TreePath, read
from cgm_cli.text import quoted

EXTENDS = "extends"


def read_whole(path: Path) -> Document:
    """The document in a file, with what it extends and with the values of variables. SpecError as for `whole`."""
    return whole(read(path))


def whole(document: Document) -> Document:
    """The document with the values of variables, and with the one that it extends, and so on. SpecError, at the place
    of the `extends`, for what is no file, no spec, or extended already.
    """
    chain = [expanded(document)]
    while EXTENDS in chain[-1].tree:
        chain.append(_extended(chain))
    found = chain.pop()
    while chain:
        found = _merged(chain.pop(), found)
    return found


def _extended(chain: list[Document]) -> Document:
    """What the last document of the chain extends."""
    document = chain[-1]
    named = document.tree[EXTENDS]
    if not isinstance(named, str):
        raise _fault(document, "expected the path of a spec, from the folder of this file")
    path = _folder(document) / named
    if not os.path.isfile(path):
        raise _fault(document, f"there is no file {quoted(str(path), 200)}")
    files = [*(each.path for each in chain if each.path is not None), path]
    if any(os.path.realpath(each) == os.path.realpath(path) for each in files[:-1]):
        told = " -> ".join(quoted(str(each), 200) for each in files)
        raise _fault(document, f"a spec cannot extend itself: {told}")
    found = expanded(read(path))
    if "sweep" in found.tree:
        raise _fault(document, f"{quoted(str(path), 200)} is a sweep, and a spec is needed")
    return found


def _merged(document: Document, base: Document) -> Document:
    """The document on top of its base."""
    own = {key: value for key, value in document.tree.items() if key != EXTENDS}
    replaced: set[TreePath] = set()
    tree = _over(own, _moved(base.tree, _folder(base), _folder(document)), (), replaced)
    kept = {
        path: position
        for path, position in base.positions.items()
        if path not in document.positions and not any(path[:length] in replaced for length in range(len(path)))
    }
    inherited = {path: base.inherited.get(path, Source(base.name, base.text)) for path in kept}
    return replace(document, tree=tree, positions={**kept, **document.positions}, inherited=inherited)


def _over(node: Any, base: Any, path: TreePath, replaced: set[TreePath]) -> Any:
    """`node` on top of `base`; the paths of what it replaces are added to `replaced`."""
    if not (isinstance(node, dict) and isinstance(base, dict)):
        replaced.add(path)
        return node
    common = {key: _over(node[key], base[key], (*path, key), replaced) for key in base if key in node}
    return {**base, **node, **common}


def _moved(tree: Any, folder: Path, to: Path) -> Any:
    """The tree of a spec in `folder` for a spec in the folder `to`: data files beside it are found from there."""
    if os.path.realpath(folder) == os.path.realpath(to):
        return tree

    def name(written: str) -> str:
        beside = not os.path.isabs(written) and os.path.isfile(folder / written)
        return os.path.relpath(folder / written, to) if beside else written

    return _with_files(tree, name)


def _with_files(node: Any, name: Callable[[str], str], key: str = "") -> Any:
    if isinstance(node, dict):
        files = {each: name(each) if key == "source" else each for each in node}
        return {files[each]: _with_files(value, name, each) for each, value in node.items()}
    if isinstance(node, list):
        return [_with_files(value, name) for value in node]
    return name(node) if key == "file" and isinstance(node, str) else node


def _folder(document: Document) -> Path:
    return document.path.parent if document.path is not None else Path()


def _fault(document: Document, message: str) -> SpecError:
    fault = Fault(message, (EXTENDS,), *document.position((EXTENDS,)).value)
    return SpecError([fault], document.name, document.text)
