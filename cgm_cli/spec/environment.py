"""Environment variables in a spec, as they are while it is read: what is resolved has their values.

In any text `${oc.env:VAR}` and `${oc.env:VAR,default}`, as OmegaConf writes them: a value that is nothing else may be a
number as well. In the name of a file also `$VAR`, `${VAR}`, `~`, and `$$` for a dollar sign.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

from cgm_cli.errors import MOST_TOLD
from cgm_cli.spec.faults import Fault, SpecError
from cgm_cli.spec.yaml_reader import Document, TreePath, plain_value
from cgm_cli.text import quoted

_ANYWHERE = re.compile(r"\$\{oc\.env:(?P<asked>[^{}]*)(?P<closed>\}?)")
_IN_FILES = re.compile(rf"{_ANYWHERE.pattern}|\$(?P<dollar>\$)|\$\{{(?P<braced>\w+)\}}|\$(?P<bare>\w+)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_FILES = {"file", "extends", "base"}
"""Keys of files."""
_TEXTS = {*_FILES, "name", "key"}
"""Keys whose values are text, whatever it looks like."""


def expanded(document: Document, path: TreePath = ()) -> Document:
    """The document with the values of the variables in its tree, which is that at `path` of a spec. SpecError, with
    every place, for a variable that is not set.
    """
    expansion = _Expansion(document)
    tree = expansion.of(document.tree, (), path[-1:])
    if expansion.faults:
        raise SpecError(expansion.faults[:MOST_TOLD], document.name, document.text, len(expansion.faults[MOST_TOLD:]))
    return replace(document, tree=tree)


def escaped(name: str) -> str:
    """The name of a file as a spec has it, so that it stands for itself."""
    return ("./" if name.startswith("~") else "") + name.replace("$", "$$")


class _Expansion:
    """One walk over the tree of a document. faults: what was found on it."""

    def __init__(self, document: Document):
        self.faults: list[Fault] = []
        self._document = document

    def of(self, node: Any, path: TreePath, above: TreePath) -> Any:
        """The node at `path` of the document; above: the key that it has there, if it is the whole of it."""
        if isinstance(node, dict):
            named = (path or above)[-1:] == ("source",)
            return {
                self._text(key, (*path, key), True, at_key=True) if named else key: self.of(value, (*path, key), ())
                for key, value in node.items()
            }
        if isinstance(node, list):
            return [self.of(value, (*path, index), above) for index, value in enumerate(node)]
        return self._value(node, path, _key(path or above)) if isinstance(node, str) else node

    def _value(self, text: str, path: TreePath, key: str) -> Any:
        found = self._text(text, path, key in _FILES)
        if key in _TEXTS or not _ANYWHERE.fullmatch(text):
            return found
        try:
            return plain_value(found)
        except ValueError as error:
            self._fault(str(error), path)
            return None

    def _text(self, text: str, path: TreePath, is_file: bool, at_key: bool = False) -> str:
        if "$" not in text and not text.startswith("~"):
            return text
        pattern = _IN_FILES if is_file else _ANYWHERE
        found = pattern.sub(lambda match: self._variable(match, path, at_key), text)
        return os.path.expanduser(found) if is_file else found

    def _variable(self, match: re.Match[str], path: TreePath, at_key: bool) -> str:
        groups = match.groupdict()
        if groups.get("dollar"):
            return "$"
        asked = groups["asked"] if groups["asked"] is not None else groups["braced"] or groups["bare"]
        name, comma, default = (part.strip() for part in asked.partition(","))
        if groups["closed"] == "" or not _NAME.fullmatch(name):
            self._fault("expected `${oc.env:VAR}` or `${oc.env:VAR,default}`", path, None, at_key)
            return ""
        value = os.environ.get(name, default if comma else None)
        if value is None:
            hint = f"set it, or give a default: `${{oc.env:{quoted(name)},default}}`"
            self._fault(f"the environment variable `{quoted(name)}` is not set", path, hint, at_key)
            return ""
        if value and not value.isprintable():
            self._fault(f"the environment variable `{quoted(name)}` is no text on one line", path, None, at_key)
            return ""
        return value

    def _fault(self, message: str, path: TreePath, hint: str | None = None, at_key: bool = False) -> None:
        position = self._document.position(path)
        self.faults.append(Fault(message, path, *(position.key if at_key else position.value), hint))


def _key(path: TreePath) -> str:
    """The last key on the way, whose dotted form ends with it."""
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    return key.rpartition(".")[2]
