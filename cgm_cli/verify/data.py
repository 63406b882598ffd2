"""The data files of a run: whether they are still those that it was started with, and whether what is read from them
is what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.arrays import is_sparse
from cgm_cli.readers.arrays import read_array
from cgm_cli.readers.context import BuildContext, data_folders
from cgm_cli.readers.files import FILE, file_kind, sha256
from cgm_cli.readers.numpy_files import dimensions
from cgm_cli.runs.load import Run
from cgm_cli.spec.model import Spec
from cgm_cli.verify.precision import RELATIVE, Unchecked
from cgm_cli.verify.report import CheckedClaim, Verdict, attempted

_PLACES = {"coo": ("row", "col"), "csr": ("indices", "indptr"), "csc": ("indices", "indptr")}


def recorded(run: Run) -> dict[str, str]:
    """Data file, as named in the spec -> SHA-256 when the run was started."""
    found = run.provenance.get("data")
    return found if isinstance(found, dict) else {}


def changed_files(run: Run, spec: Spec) -> list[str]:
    """The data files that are found, but not as they were when the run was started."""
    document = run.spec_file or (spec.document.path if spec.document else None)
    changed = []
    for name, digest in recorded(run).items():
        paths = (folder / name for folder in data_folders(document))
        path = next((path for path in paths if file_kind(path) == FILE), None)
        if path is not None and sha256(path) != digest:
            changed.append(name)
    return changed


def data_rows(run: Run, context: BuildContext) -> list[CheckedClaim]:
    """A row for the files that the problem was built from, and one for the sums of each that NumPy wrote."""
    before, now = recorded(run), context.digests()
    if not before and not now:
        return []
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    note = f"changed since the run was started: {', '.join(changed)}" if changed else f"SHA-256 of {', '.join(now)}"
    rows = [CheckedClaim("data", Verdict.FAILS if changed else Verdict.HOLDS, note=note)]
    for name, key in sorted(set(_named(run.resolved.get("problem"))), key=str):
        if name in now and Path(name).suffix.lower() in (".npy", ".npz"):
            rows.append(attempted(f"sum of {name}", None, partial(_sum_row, context, name, key)))
    return rows


def _named(tree: Any) -> Iterator[tuple[str, str | None]]:
    """The files that a spec names, with the key of the array in each."""
    if isinstance(tree, dict):
        if isinstance(tree.get("file"), str):
            yield tree["file"], tree.get("key")
        for value in tree.values():
            yield from _named(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _named(value)


def _sum_row(context: BuildContext, name: str, key: str | None) -> CheckedClaim:
    """The sum of all entries, and one in which entry (i, j) weighs u_i w_j, u and w drawn at random: of the file as it
    stands, where an entry may stand more than once, and of what the problem was built from.
    """
    path = context.find(name)
    if path.suffix.lower() == ".npy" and dimensions(path, name) == 3:
        raise Unchecked("it is read as levels of an image")
    read = read_array(path, key, takes_complex=True)
    read = _beside(read if is_sparse(read) else np.atleast_2d(read))
    raw = _raw(path, key)
    rng = np.random.default_rng(0)
    u, w = (rng.uniform(1.0, 2.0, length) for length in read.shape)
    tolerance = RELATIVE * float(np.abs(raw.values).sum())
    claimed, recomputed = float(read.sum()), float(raw.values.sum())
    agree = raw.shape == read.shape and abs(claimed - recomputed) <= tolerance
    agree = agree and abs(u @ (read @ w) - raw.weighted(u, w)) <= 4.0 * tolerance
    verdict = Verdict.HOLDS if agree else Verdict.FAILS
    return CheckedClaim(
        f"sum of {name}", verdict, claimed, recomputed, tolerance, "of all entries, as read and in the file"
    )


@dataclass(frozen=True)
class Raw:
    """The entries of a file, widened before anything is done with them. places: rows and columns, of a sparse one."""

    values: np.ndarray
    shape: tuple[int, ...]
    places: tuple[np.ndarray, np.ndarray] | None = None

    def weighted(self, u: np.ndarray, w: np.ndarray) -> float:
        """The sum of u_i a_ij w_j."""
        if self.places is None:
            return float(u @ (self.values @ w))
        rows, columns = self.places
        return float((u[rows] * self.values * w[columns]).sum())


def _raw(path: Path, key: str | None) -> Raw:
    """The array in a file of NumPy, or of scipy.sparse.save_npz, by NumPy alone."""
    try:
        with ExitStack() as stack:
            file = np.load(path, allow_pickle=False)
            if isinstance(file, np.ndarray):
                return _dense(file)
            stack.enter_context(file)
            if key is not None or not {"format", "shape", "data"} <= set(file.files):
                return _dense(file[key or file.files[0]])
            form = str(np.char.decode(file["format"]) if file["format"].dtype.kind == "S" else file["format"])
            inner, outer = (file[part].astype(np.int64) for part in _PLACES[form])
            if form != "coo":
                outer = np.repeat(np.arange(outer.size - 1), np.diff(outer))
            rows, columns = (outer, inner) if form == "csr" else (inner, outer)
            values, shape = file["data"], tuple(map(int, file["shape"]))
            if values.dtype.kind != "c":
                return Raw(values.astype(float), shape, (rows, columns))
            places = (np.tile(rows, 2), np.concatenate([columns, columns + shape[1]]))
            return Raw(np.concatenate([values.real, values.imag]).astype(float), (shape[0], 2 * shape[1]), places)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unchecked(f"NumPy alone cannot read it: {error}") from None


def _dense(array: np.ndarray) -> Raw:
    wide = _beside(np.atleast_2d(array)).astype(float)
    return Raw(wide, wide.shape)


def _beside(matrix: Any) -> Any:
    """The imaginary part of a complex matrix, dense or sparse, to the right of the real one; another as it is."""
    if matrix.dtype.kind != "c":
        return matrix
    beside: Any = sp.hstack if is_sparse(matrix) else np.hstack
    return beside([matrix.real, matrix.imag])
