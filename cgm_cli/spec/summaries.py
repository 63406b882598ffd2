"""What is registered, with a line about each, read off the source: importing all of it would take a second."""

from __future__ import annotations

import ast
from importlib.util import find_spec

from cgm_cli.spec import registry

# What `cgm list` calls the families, in its order -> what the registry calls them.
FAMILIES = {
    "templates": "template",
    "domains": "domain",
    "losses": "loss",
    "penalties": "penalty",
    "sets": "set",
    "maps": "map",
    "smoothings": "smoothing",
    "steps": "step",
    "oracles": "oracle",
    "corrections": "correction",
    "duals": "duals",
    "methods": None,
}


def summaries(family: str) -> dict[str, str]:
    """The first line of the docstring of each of one family (a key of FAMILIES), by name."""
    kind = FAMILIES[family]
    if kind is None:
        return dict(registry.METHODS)
    return {name: _summary(*target.split(":")) for name, target in registry.FAMILIES[kind].items()}


def _summary(module: str, name: str) -> str:
    found = find_spec(module)
    assert found is not None and found.origin is not None, module
    with open(found.origin, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    written = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return (ast.get_docstring(written) or name).partition("\n")[0]
