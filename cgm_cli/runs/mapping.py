"""A spec from Python: a mapping with arrays in it -> a text that names files, and the arrays that go into them.

Every array becomes `{file: arrays/<SHA-256>.npy}` wherever it stands, so that the text is a spec like any other; one of
few entries stands in the text itself, where its numbers can be read. A frame in the place of a file, `{"file": frame}`,
becomes a table with its headings: words, missing cells and names of rows are then those of any table. So does a frame
of numbers in the place of an array, where its rows or its columns have names that the solution may be told by.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.errors import CgmError, DataError
from cgm_cli.numerics.arrays import Matrix, SparseMatrix, is_sparse
from cgm_cli.readers.checks import check_form, check_numbers, finished, wide
from cgm_cli.readers.content import name_of, parts
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.numpy_files import CHANNELS
from cgm_cli.spec.faults import Fault, SpecError
from cgm_cli.spec.load import dump
from cgm_cli.spec.yaml_reader import MAX_DEPTH, TreePath
from cgm_cli.text import quoted

INLINE = 100
"""The most entries of an array that stands in the text."""

ROOM = 2000
"""The most entries of all of them: the text is slow to read. Where there are more, only SHORT arrays stay in it."""

SHORT = 8
"""Entries of an array that stays in the text in any case, such as a shape."""


NAMED = 100_000
"""The most cells of a frame that becomes a table for the sake of its names: as text they take half a second."""

_PLAIN = {"missing": "refuse"}
"""What the mapping of such a frame says beside its file, as every table does unless told otherwise."""


@dataclass(frozen=True)
class _Table:
    """A table as it will stand in a file. shape: rows and columns."""

    text: bytes
    shape: tuple[int, ...]


@dataclass
class Handed:
    """What a mapping was made into. tree: plain values. arrays: file, relative to the spec -> what it has to hold.
    places: path in the tree -> the shape of the array for which a file is named there. names: file -> where it is named
    first.
    """

    tree: dict[str, Any]
    arrays: dict[str, Matrix | bytes] = field(default_factory=dict)
    places: dict[TreePath, tuple[int, ...]] = field(default_factory=dict)
    names: dict[str, TreePath] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """The spec as YAML."""
        return dump(self.tree)

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Let an error about `text`, or about what its files hold, speak of arrays, and not of the mappings and files
        that stand for them.
        """
        try:
            yield
        except SpecError as error:
            faults = list(dict.fromkeys(map(self._told, error.faults)))
            raise SpecError(faults, "<spec>", self.text, error.more) from None
        except CgmError as error:
            for each in error.each:
                for name, place in self.names.items():
                    each.message = each.message.replace(name, _dotted(place))
            raise

    def _told(self, fault: Fault) -> Fault:
        steps = range(len(fault.path), 0, -1) if fault.override is None else ()
        place = next((fault.path[:length] for length in steps if fault.path[:length] in self.places), None)
        if place is None:
            return fault
        shape = self.places[place]
        given = f"an array of {_entries(shape)}"
        message = f"`{_dotted(place)}` takes no array, and this is one of {_entries(shape)}"
        if fault.path == place and fault.message.endswith("got a mapping"):
            message = f"`{_dotted(place)}`: {fault.message.removesuffix('a mapping')}{given}"
        hint = "if a list is meant, hand it over as one: `array.tolist()`" if "a list" in fault.message else None
        return replace(fault, message=message, path=place, hint=hint)


def hand_over(spec: Mapping[str, Any]) -> Handed:
    """The arrays of a spec in files, and all else in YAML's own types.

    Arrays are those of NumPy, matrices of SciPy, frames and series of pandas, and frames that become such. Raises
    TypeError for what no spec can hold, DataError for an array that could not be read from a file either (it is empty,
    has three dimensions and is no image, or an entry that is missing or not finite); both with the place in the spec.
    """
    handed = Handed(_plain(spec, ()))
    small = sum(array.size for array in _small(handed.tree))
    handed.tree = _placed(handed.tree, (), INLINE if small <= ROOM else SHORT, handed)
    return handed


def _plain(value: Any, path: TreePath) -> Any:
    """The value in YAML's own types, but for its arrays, which are checked."""
    place = _dotted(path) or "the spec"
    if len(path) > MAX_DEPTH:
        raise TypeError(f"{_dotted(path[:3])}...: nested deeper than {MAX_DEPTH} levels, or in itself")
    value = _of_pandas(value, place)
    if _has_names(value):
        return _plain({"file": value, **_PLAIN}, path)
    value = _from_pandas(value, place)
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise TypeError(f"{place}: an array with masked entries; every entry needs a number")
        if value.ndim > 0:
            return _dense(np.asarray(value), place)
        value = value[()]
    if is_sparse(value):
        return _sparse(value, place)
    if isinstance(value, np.floating):
        value = float(value)  # of extended precision, NumPy's own `item` makes none of Python's
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        given: Mapping[Any, Any] = value
        value = _with_table(given, place)
        return {_key(key, place): _plain(item, (*path, str(key))) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, np.bool_) for item in value):
            return [float(item) for item in value]  # as of the array that they would make
        return [_plain(item, (*path, index)) for index, item in enumerate(value)]
    if isinstance(value, Path):
        return str(value)
    if value is None or type(value) in (str, bool, int, float, _Table):
        return value
    kind = type(value).__name__
    raise TypeError(f"{place}: a spec holds text, numbers, lists, mappings and arrays, not a value of type {kind}")


def _key(key: Any, place: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{place}: keys are text, and `{quoted(str(key))}` is of type {type(key).__name__}")
    return str(key)


def _dense(array: np.ndarray, place: str) -> np.ndarray:
    _check_kind(place, array.dtype)
    has_channels = array.ndim == 3 and 1 <= array.shape[2] <= CHANNELS  # an image; whoever takes none says so
    check_form(place, (array.shape[0], array[0].size) if has_channels else array.shape, array.dtype)
    # What only extended precision can hold is infinite in a double.
    with np.errstate(over="ignore"):
        if array.dtype.kind in "fc" and not all(map(_finite, parts(array))):
            finished(place, array, takes_complex=True)  # says which
    return array


def _sparse(matrix: SparseMatrix, place: str) -> Matrix:
    _check_kind(place, matrix.dtype)
    if matrix.ndim > 2 or 0 in matrix.shape:
        check_form(place, matrix.shape, matrix.dtype)
    if matrix.ndim < 2:
        check_fits(place, 8 * matrix.shape[0])
        return _dense(matrix.toarray(), place)
    if matrix.format not in ("csr", "csc", "coo"):
        matrix = matrix.tocoo()  # which adds nothing up: sums of its own type might wrap
    if matrix.dtype.kind in "fc" and not _finite(matrix.data[: matrix.nnz]):
        finished(place, matrix, takes_complex=True)  # says which
    return matrix


def _of_pandas(value: Any, place: str) -> Any:
    """A frame or a column of another library, such as polars or pyarrow, as one of pandas. Anything else as it is."""
    if isinstance(value, type) or not hasattr(value, "to_pandas"):
        return value
    try:
        return value.to_pandas()
    except ImportError as error:
        raise TypeError(f"{place}: a frame of type {type(value).__name__} is read by pandas: {error}") from None


def _is_frame(value: Any) -> bool:
    pandas = sys.modules.get("pandas")  # whoever has a frame has imported it
    return pandas is not None and isinstance(value, pandas.DataFrame)


def _has_names(value: Any) -> bool:
    """Whether a frame of numbers has names of rows or columns, and no more cells than are written out for them."""
    if not _is_frame(value) or not 0 < value.size <= NAMED or not value.columns.is_unique:
        return False
    numbers = all(dtype.kind in "biuf" for dtype in value.dtypes)
    return numbers and (_names_rows(value) or value.columns.dtype.kind not in "biuf")


def _names_rows(frame: Any) -> bool:
    """Whether the index of a frame has names: words, or whatever has a name itself."""
    index = frame.index
    return index.dtype.kind not in "biufM" or any(name is not None for name in index.names)


def _with_table(given: Mapping[Any, Any], place: str) -> Mapping[Any, Any]:
    """With a frame under `file` as a table; names of rows in its index come in a column before the others."""
    frame = _of_pandas(given.get("file"), place)
    if not _is_frame(frame):
        return given
    if frame.empty:
        raise TypeError(f"{place}: the frame has no cells")
    headings = [_in_words(name) for name in frame.columns]
    if len(set(headings)) < len(headings):
        raise TypeError(f"{place}: two columns of the frame have one name")
    columns = {heading: _cells(frame.iloc[:, at]) for at, heading in enumerate(headings)}
    options: dict[str, Any] = {}
    if _names_rows(frame):
        heading = _in_words(tuple(name for name in frame.index.names if name is not None)) or "row"
        while heading in columns:
            heading += " name"
        columns, options = {heading: [_in_words(name) for name in frame.index], **columns}, {"names": heading}
    pandas = sys.modules["pandas"]
    text: str = pandas.DataFrame(columns).to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    return {**options, **given, "file": _Table(text.encode(), frame.shape)}


def _in_words(name: Any) -> str:
    """A name of a row or column in one line; those of several levels one after the other."""
    parts = name if isinstance(name, tuple) else (name,)
    return " ".join(" ".join(map(str, parts)).split())


def _cells(column: Any) -> Any:
    """A column of a frame as it is written: numbers in full, since a shorter text would be another one in double
    precision; true and false as 1 and 0; words in one line.
    """
    kind = column.dtype.kind
    if kind == "f":
        return column.to_numpy(dtype=float, na_value=np.nan)
    if kind == "b":
        return column.astype("Int64").array
    return column.array if kind in "iu" else column.replace(r"[\r\n]+", " ", regex=True).array


def _from_pandas(value: Any, place: str) -> Any:
    """A frame or a series as an array; its labels count for nothing but in messages. Anything else as it is."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, pandas.DataFrame | pandas.Series):
        return value
    frame = value.to_frame() if value.ndim == 1 else value
    for at, (name, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if dtype.kind not in "biuf":
            what = "the series" if value.ndim == 1 and value.name is None else f"the column `{quoted(str(name))}`"
            told = f"{place}: {what} holds `{dtype}`; real numbers are needed"
            raise TypeError(f"{told}{_first_word(frame.iloc[:, at])}{_WHOLE if value.ndim == 2 else ''}")
    missing = np.argwhere(frame.isna().to_numpy())
    if len(missing):
        row, column = missing[0]
        where = f"row `{quoted(str(frame.index[row]))}`"
        where += f", column `{quoted(str(frame.columns[column]))}`" if value.ndim == 2 else ""
        count = f"{len(missing)} cells are missing, the first" if len(missing) > 1 else "a cell is missing, that"
        raise DataError(f"{place}: {count} of {where}{_DROP if value.ndim == 2 else ''}")
    kinds = set(frame.dtypes)
    if len(kinds) == 1 and isinstance(next(iter(kinds)), np.dtype):
        return value.to_numpy()
    return value.to_numpy(dtype=float, na_value=np.nan)


_WHOLE = "; `{'file': frame, 'columns': [...]}` takes a frame as a table, and some of its columns"
_DROP = "; `{'file': frame, 'missing': 'drop'}` takes a frame as a table, and leaves such rows out"


def _first_word(column: Any) -> str:
    """Where the first cell of a column is that is no number."""
    for label, cell in column.items():
        if isinstance(cell, str):
            return f", and row `{quoted(str(label))}` has '{quoted(cell)}'"
    return ""


def _check_kind(place: str, dtype: np.dtype) -> None:
    try:
        check_numbers(place, dtype)
    except DataError as error:
        raise TypeError(error.message) from None


def _finite(numbers: np.ndarray) -> bool:
    return bool(np.isfinite(numbers.astype(wide(numbers.dtype), copy=False)).all())


def _small(tree: Any) -> Iterator[np.ndarray]:
    """The arrays that may stand in the text."""
    if isinstance(tree, np.ndarray):
        if tree.size <= INLINE and tree.ndim < 3:
            yield tree
    elif isinstance(tree, dict | list):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from _small(value)


def _placed(tree: Any, path: TreePath, most: int, handed: Handed) -> Any:
    """The tree with its arrays put into files, which `handed` notes, or written out if they have at most so many
    entries.
    """
    if isinstance(tree, dict):
        if tree.items() >= _PLAIN.items() and isinstance(table := tree.get("file"), _Table):
            handed.places[path] = table.shape
        return {key: _placed(value, (*path, str(key)), most, handed) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_placed(value, (*path, index), most, handed) for index, value in enumerate(tree)]
    if isinstance(tree, np.ndarray) and tree.size <= most and tree.ndim < 3:
        return _written(tree)
    if isinstance(tree, _Table):
        name = name_of(tree.text)
        handed.arrays[name] = tree.text
        handed.names.setdefault(name, path[:-1])
        return name
    if not isinstance(tree, np.ndarray) and not is_sparse(tree):
        return tree
    name = name_of(tree)
    handed.arrays[name] = tree
    handed.places[path] = tree.shape
    handed.names.setdefault(name, path)
    return {"file": name}


def _written(array: np.ndarray) -> list[Any] | dict[str, Any]:
    """The entries as numbers that the text gives back to the last bit: whole ones of up to 63 bits, else doubles."""
    if array.dtype.kind == "c":
        return {"real": _written(np.real(array)), "imaginary": _written(np.imag(array))}
    doubles = array.astype(float)
    return array.tolist() if array.dtype.kind in "iu" and np.abs(doubles).max() < 2.0**63 else doubles.tolist()


def _entries(shape: tuple[int, ...]) -> str:
    size = " x ".join(f"{length}" for length in shape)
    return f"{size} entries"


def _dotted(path: TreePath) -> str:
    return ".".join(map(str, path))
