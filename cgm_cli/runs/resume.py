"""What it takes to go on with a run: its spec, unchanged but for budgets; the checkpoint, and the rows before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cgm_cli.errors import DataError, ProblemError
from cgm_cli.runs.checkpoint import read_checkpoint
from cgm_cli.runs.directory import has_begun
from cgm_cli.runs.load import Run, load_run
from cgm_cli.spec.load import one_line, reloaded, resolved
from cgm_cli.spec.yaml_reader import parse

if TYPE_CHECKING:
    from cgm_cli.spec.model import Spec

BUDGETS = ("solver.iterations", "stop.time")
"""What may be raised from one process to the next. (None, no limit, is the largest.)"""

FREE = ("checkpoint.every", "checkpoint.final")
"""What may differ altogether, because no number depends on it."""


def former_run(path: Path) -> Run | None:
    """The run in the folder `path`; None if it is absent or empty, or its process died before there was a status."""
    try:
        absent = not path.exists() or (path.is_dir() and not has_begun(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    return None if absent else load_run(path)


def spec_of(run: Run, overrides: Sequence[str] = ()) -> Spec:
    """The spec of a run as it was resolved, changed by `--set` arguments."""
    return reloaded(run.resolved_text, overrides, run.path / "resolved.yaml")


def check_unchanged(run: Run, spec: Spec) -> None:
    """Raises ProblemError, with every difference, if `spec` is not that of the run with equal or larger budgets."""
    old, new = _flat(run.resolved), _flat(parse(resolved(spec)).tree)
    changed = []
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        if before == after or key in FREE:
            continue
        if key in BUDGETS and before is not None and (after is None or after > before):
            continue
        note = " (a budget can only be raised)" if key in BUDGETS else ""
        changed.append(f"    {key}: {one_line(before)} there, {one_line(after)} here{note}")
    if changed:
        listed = "\n".join(changed)
        raise ProblemError(
            f"{run.path} cannot go on with a changed spec; it is left as it is. What differs:\n{listed}\n"
            "Give it the spec that it was started with, or start a run of its own."
        )


def check_same_data(run: Run, digests: Mapping[str, str]) -> None:
    """Raises DataError if a data file is no longer the one that the run was started with. digests: name -> SHA-256."""
    before = run.provenance.get("data") if (run.path / "run.h5").exists() else None
    changed = [name for name, digest in digests.items() if isinstance(before, dict) and before.get(name) != digest]
    if changed:
        raise DataError(
            f"{run.path} cannot go on: {', '.join(changed)} changed since it was started. Put back what it was started "
            "with, or start a run of its own."
        )


def rows_before(run: Run, k: int) -> dict[str, np.ndarray]:
    """The rows of a trace that belong to iterations before k."""
    trace = run.trace
    if not trace or "k" not in trace:
        return {}
    kept = trace["k"] < k
    return {name: column[kept] for name, column in trace.items()}


def checkpoint_of(run: Run) -> dict[str, Any] | None:
    """The checkpoint of a run, None if it has none yet; DataError if it is of no use."""
    path = run.path / "checkpoint.h5"
    tree = read_checkpoint(path)
    if tree is not None and not _complete(tree):
        raise DataError(f"{path} cannot be read as a checkpoint of cgm: it does not say how far the run was.")
    return tree


def _complete(tree: dict[str, Any]) -> bool:
    state, rates = tree.get("state"), tree.get("rates")
    return isinstance(state, dict) and isinstance(state.get("k"), int) and isinstance(rates, dict)


def _flat(tree: Any, prefix: str = "") -> dict[str, Any]:
    """Dotted key -> value, for mappings within mappings."""
    if not isinstance(tree, Mapping) or not tree:
        return {prefix: tree}
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}.{key}" if prefix else str(key))
    return flat
