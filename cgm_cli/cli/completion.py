"""Words that a shell may complete: templates, runs, and the keys of a spec. Nothing that takes long is imported."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from cgm_cli.errors import CgmError


def templates(incomplete: str) -> list[str]:
    """Names for `cgm init`."""
    from cgm_cli.spec.registry import TEMPLATES

    return [name for name in TEMPLATES if name.startswith(incomplete)]


def runs(incomplete: str) -> list[str]:
    """What the runs below runs/ may be called."""
    from cgm_cli.cli.find import known_words

    return sorted({word for word in known_words() if word.startswith(incomplete)})


def specs_and_runs(incomplete: str) -> list[str]:
    """Files of specs, and what runs may be called."""
    files = sorted(name for name in glob.glob(f"{glob.escape(incomplete)}*") if name.endswith((".yaml", ".yml")))
    return [*files, *runs(incomplete)]


def changes(ctx: typer.Context, incomplete: str) -> list[str]:
    """`key=` for the keys of every section, and for those that the spec on the command line has.

    Parameters that a template or a policy takes besides would have their modules loaded, which is too slow for a key.
    """
    from cgm_cli.spec.keys import section_keys

    keys = dict.fromkeys([*section_keys(), *_written(ctx.params.get("spec"))])
    return [f"{key}=" for key in keys if key.startswith(incomplete)]


def _written(spec: Path | None) -> Iterator[str]:
    """The dotted keys in the file of a spec; none, where there is no spec in it."""
    from cgm_cli.spec.extends import read_whole

    try:
        tree = read_whole(spec).tree if spec is not None and spec.is_file() else {}
    except CgmError:
        return
    yield from _dotted(tree, "")


def _dotted(node: Any, prefix: str) -> Iterator[str]:
    """The keys of mappings, also of those in lists; the entries of lists of numbers are no words to complete."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        inside = f"{prefix}{key}"
        if isinstance(node, dict):
            yield inside
        yield from _dotted(value, f"{inside}.")
