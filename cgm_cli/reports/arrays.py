"""The arrays of a solution: which there are, matrices written out from their factors, and files of them."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.blocks.iterates import is_factored, written_out
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.readers.files import FILE, file_kind
from cgm_cli.readers.images import ALPHA, FORM
from cgm_cli.reports.conic import slack, trace_dual
from cgm_cli.reports.csdp import solution_text
from cgm_cli.reports.images import lost, photo, png
from cgm_cli.reports.output import ready
from cgm_cli.runs.files import replacing, write_fault
from cgm_cli.runs.load import Run
from cgm_cli.text import counted, did_you_mean, quoted

SOLUTION = ".sol"


def chosen(run: Run, name: str | None) -> tuple[str, np.ndarray]:
    """The array called `name`: of the solution, `x` for the iterate itself, `duals/TERM`, `duals/trace` of the trace of
    a semidefinite program, or `slack` of the bound.

    Without a name the iterate. Raises DataError (exit code 3) where the run saved no solution or x is not known,
    ProblemError for a name that does not exist.
    """
    arrays = available(run.solution, run.duals)
    if run.duals or run.loss_image is not None:
        arrays["slack"] = lambda: slack(run)
        arrays.setdefault("duals/trace", lambda: trace_dual(run))
    if not arrays:
        raise DataError(f"{run.path} has saved no solution: it did not come to its end (status {run.status.value}).")
    if name is None:
        name = "x"
        if name not in arrays:
            raise DataError(
                f"{run.path} keeps samples of x, not x itself; choose an array by --name: {', '.join(arrays)}."
            )
    if name not in arrays:
        hint = did_you_mean(name, list(arrays))
        there_are = f"there are {', '.join(quoted(known) for known in arrays)}"
        raise ProblemError(f"The solution has no array `{quoted(name)}`; {hint or there_are}")
    return name, arrays[name]()


def available(
    solution: Mapping[str, np.ndarray], duals: Mapping[str, np.ndarray]
) -> dict[str, Callable[[], np.ndarray]]:
    """Name -> how to get the array."""
    arrays: dict[str, Callable[[], np.ndarray]] = {name: lambda a=array: a for name, array in solution.items()}
    if "x" not in arrays and is_factored(solution):
        arrays["x"] = lambda: written_out(solution)
    return arrays | {f"duals/{name}": lambda a=array: a for name, array in duals.items()}


def write_array(path: Path, name: str, array: np.ndarray, force: bool = False) -> None:
    """Write the array as the ending of `path` says. Raises ProblemError where such a file cannot hold it,
    or where there is a file and no `force`: what is in an array does not tell who wrote it."""
    if path.suffix.lower() == SOLUTION:
        raise ProblemError(f"{path}: a {SOLUTION} file holds x, the duals and their slack: leave --name out.")
    writers = {".npy": _npy, ".mat": _mat, ".csv": _csv, ".png": _image}
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise ProblemError(
            f"{path}: `{quoted(path.suffix)}` is no format of this command; write .npy, .mat, .csv or .png, or "
            f"{SOLUTION} of a semidefinite program as a whole."
        )
    write_new(path, writer(path, name, array), force)


def write_photo(path: Path, run: Run, force: bool = False) -> str | None:
    """Write the recovered image of a run as the one that it was given: of its channels, bits and transparency. Returns
    its size and what was lost, in words; None of a run that is about no image. Raises ProblemError where there is a
    file and no `force`.
    """
    form, array, alpha = (run.solution.get(name) for name in (FORM, "recovered", ALPHA))
    if form is None or array is None:
        return None
    channels, bits = (int(each) for each in form)
    ending = path.suffix.lower()
    write_new(path, photo(array, channels, bits, alpha, ending), force)
    size = f"{array.shape[1] // channels} x {len(array)} pixels of {counted(channels, 'channel')}"
    return size + lost(channels, bits, alpha, ending)


def write_solution(path: Path, run: Run, force: bool = False) -> None:
    """x, the duals and their slack, as CSDP writes them. Raises ProblemError where the run is about no semidefinite
    program, or there is a file and no `force`.
    """
    write_new(path, solution_text(run).encode(), force)


def write_new(path: Path, data: bytes, force: bool) -> None:
    """A file of these bytes, whole or not at all. Raises ProblemError where there is one and no `force`."""
    if file_kind(path) == FILE and not force:
        raise ProblemError(f"{path} exists; --force overwrites it.")
    try:
        with replacing(ready(path, force)) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise write_fault(path, error) from error


def _npy(path: Path, name: str, array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _mat(path: Path, name: str, array: np.ndarray) -> bytes:
    import scipy.io

    # What MATLAB accepts as the name of a variable.
    variable = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)[:31]
    file: Any = io.BytesIO()  # SciPy's stubs know of names only
    scipy.io.savemat(file, {variable if variable[0].isalpha() else f"x{variable}"[:31]: array})
    return file.getvalue()


def _csv(path: Path, name: str, array: np.ndarray) -> bytes:
    if array.ndim > 2:
        raise ProblemError(
            f"{path}: a table has rows and columns, and `{quoted(name)}` has {counted(array.ndim, 'dimension')}."
        )
    text = io.StringIO()
    fmt = "%d" if array.dtype.kind in "iub" else "%.17g"
    columns = array.shape[1] if array.ndim == 2 else 1
    complex_fmt = [f"{fmt}%+.17gj"] * columns  # as Python writes them, and reads them
    np.savetxt(text, np.atleast_1d(array), delimiter=",", fmt=complex_fmt if array.dtype.kind == "c" else fmt)
    return text.getvalue().encode()


def _image(path: Path, name: str, array: np.ndarray) -> bytes:
    if array.ndim != 2:
        kinds = {0: "a single number", 1: f"a vector of {counted(array.size, 'entry')}"}
        shape = kinds.get(array.ndim) or " x ".join(map(str, array.shape))
        raise ProblemError(f"{path}: an image is a matrix, and `{quoted(name)}` is {shape}; write .npy or .csv.")
    if array.dtype.kind == "c":
        raise ProblemError(f"{path}: an image shows real numbers, and `{quoted(name)}` is complex; write .npy or .mat.")
    if not np.isfinite(array).any():
        raise ProblemError(f"{path}: no entry of `{quoted(name)}` is a finite number, so there is nothing to see.")
    if max(array.shape) > 20_000:
        raise ProblemError(f"{path}: {math.prod(array.shape):,} pixels are too many for an image; write .npy.")
    return png(array)
