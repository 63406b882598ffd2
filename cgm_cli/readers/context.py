"""What a block's `build` may ask for: arrays from files, and memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError, ErrorCollector, ProblemError, located
from cgm_cli.numerics.arrays import Matrix, is_sparse, joined
from cgm_cli.readers.adjacency import Graph, adjacency_of
from cgm_cli.readers.arrays import IMAGES, read_array
from cgm_cli.readers.checks import finished
from cgm_cli.readers.content import digest_in
from cgm_cli.readers.entries import Entries
from cgm_cli.readers.files import FILE, NOTHING, file_kind, sha256
from cgm_cli.readers.frames import FRAMES, WORKBOOK
from cgm_cli.readers.functions import UserCode, user_code
from cgm_cli.readers.graphs import read_graph
from cgm_cli.readers.head import Head
from cgm_cli.readers.images import Picture, read_picture
from cgm_cli.readers.memory import available_memory, check_fits, human
from cgm_cli.readers.names import places_of
from cgm_cli.readers.numbered_headings import told_numbered_heading
from cgm_cli.readers.numpy_files import dimensions
from cgm_cli.readers.ratings import RatingsFile, read_ratings
from cgm_cli.readers.table import SUFFIXES, Table, misses_cells, read_named
from cgm_cli.readers.text import headings_in
from cgm_cli.spec.fields import (
    ArrayField,
    ColumnName,
    ComplexArray,
    ComplexField,
    FileArray,
    GraphFile,
    TableArray,
    TableOptions,
)
from cgm_cli.spec.model import SourceSpec, Spec
from cgm_cli.text import WHOLE, counted, quoted, visible

_Array = TypeVar("_Array", np.ndarray, sp.csr_array, np.ndarray | sp.csr_array)

_PROJECT = Path(__file__).parents[2]


class NamedArray(NamedTuple):
    """An array, and what its rows and its columns are called; None where nothing says so."""

    array: np.ndarray
    rows: list[str] | None
    columns: list[str] | None


@dataclass
class BuildContext:
    """Handed to every `Spec.build`.

    folders: where a relative file name is looked up, in order. sources: top-level `source:` of the spec, file name ->
    where to get it and its SHA-256. seed: the seed of the spec. reserved: bytes asked for so far, by what they are for.
    domain: of the problem, once built, for maps that need to know more than the shape of its points. remarks: sentences
    on what was read, for the summary. row_names, headings: of the last table that has a column of `names`, and of the
    columns wanted of the last table. code: functions of the user's that were run, with the path and the SHA-256 of the
    file of each.
    """

    folders: tuple[Path, ...]
    seed: int = 0
    reserved: dict[str, int] = field(default_factory=dict)
    sources: Mapping[str, SourceSpec] = field(default_factory=dict)
    domain: Any = None
    remarks: list[str] = field(default_factory=list[str])
    code: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    row_names: list[str] | None = None
    headings: list[str] | None = None
    _found: dict[str, Path] = field(default_factory=dict, repr=False)

    @classmethod
    def for_spec(cls, spec: Spec, file: Path | None = None) -> BuildContext:
        """The context of a spec: its sources and seed, and the folders that its data files are looked up in.

        file: where the spec came from, if not from where its text was read.
        """
        path = file if file is not None or spec.document is None else spec.document.path
        return cls(data_folders(path), spec.seed, sources=spec.source)

    def find(self, name: str) -> Path:
        """The path of a data file; DataError (with the `source:` line) if it is nowhere, or its SHA-256 is not that of
        its `source:` or of its name (see `cgm_cli.readers.content`).

        What is there but no file, such as a folder, is passed over, and named if nothing better is found.
        """
        odd = None
        # An absolute name replaces the folder it is joined to.
        for folder in self.folders if not os.path.isabs(name) else (Path("/"),):
            path = folder / name
            found = file_kind(path)
            if found == FILE:
                self._verify(path, name)
                self._found[name] = path
                return path
            if found != NOTHING:
                odd = odd or f"`{quoted(name, WHOLE)}` is {found}, and a data file is needed: {visible(str(path))}"
        if odd:
            raise DataError(odd)
        source = self.sources.get(name)
        looked = "" if os.path.isabs(name) else f"; looked in {', '.join(str(folder) for folder in self.folders)}"
        get = f". {source.advice}" if source else ""
        raise DataError(f"no data file `{quoted(name, WHOLE)}`{looked}{get}")

    def function(self, called: str, file: str, *arguments: Any) -> UserCode:
        """What a function of the user's makes of the arguments; its file is one of data. A remark tells that it ran."""
        path = self.find(file)
        made, digest = user_code(called, path, *arguments)
        self.code[called] = {"file": os.path.abspath(path), "sha256": digest}
        self.remarks.append(f"`{called}` was run, of {visible(str(path))}.")
        return made

    def array(self, value: ArrayField, copies: int = 1, takes_nan: bool = False) -> np.ndarray:
        """A new float64 array (0-d, 1-d or 2-d), every entry finite; DataError or ProblemError otherwise.

        copies: how many arrays of its size there will be at the same time, itself included, in what is done with it
        first: where they do not fit into memory, a large file is refused before it is unpacked. takes_nan: as of
        `matrix`.
        """
        array = self.matrix(value, copies, takes_nan)
        if is_sparse(array):
            check_fits(called(value, "the matrix"), 8 * array.shape[0] * array.shape[1])
            return array.toarray()
        return array

    def named_array(self, value: ArrayField, copies: int = 1, takes_nan: bool = False) -> NamedArray:
        """Like `array`, with the names that a table has."""
        self.row_names = self.headings = None
        return NamedArray(self.array(value, copies, takes_nan), self.row_names, self.headings)

    def matrix(self, value: ArrayField, copies: int = 1, takes_nan: bool = False) -> np.ndarray | sp.csr_array:
        """Like `array`, but a two-dimensional sparse file stays sparse. takes_nan: whether an entry may be nan, for one
        that is not known: so written in a file, or missing in a column of a table.
        """
        if isinstance(value, TableArray):
            return _scaled(self._columns(value, takes_nan), value)
        if isinstance(value, FileArray):
            path = self.find(value.file)
            is_table = path.suffix.lower() in SUFFIXES
            if path.suffix.lower() in FRAMES:
                return self._by_cells(value, takes_nan)
            try:
                found = read_array(path, value.key, value.transpose, called(value), copies, takes_nan=takes_nan)
            except DataError:
                if takes_nan and is_table and misses_cells(path, called(value)):
                    return self._by_cells(value, takes_nan)
                raise
            if is_table and isinstance(found, np.ndarray):
                self.headings = None if value.transpose else headings_in(Head.of(path).lines, called(value))
                self.remarks += told_numbered_heading(called(value), found.T if value.transpose else found)
            return _scaled(found, value)
        _check_rows(value)
        array = np.array(value, dtype=float)
        if array.size == 0:
            raise ProblemError("the array is empty: it needs at least one entry")
        if not np.isfinite(array).all():
            raise ProblemError("an array in the spec has an entry that is not finite")
        return array

    def picture(self, value: ArrayField) -> Picture:
        """An image in a file, with its colours; grey levels of any other array, or of columns of a file."""
        if not isinstance(value, FileArray) or not self._has_channels(value):
            return Picture(self.array(value), bits=0)
        if value.scale != 1.0:
            raise DataError(f"{called(value)}: an image has levels from 0 to 1, and no `scale`")
        found = read_picture(self.find(value.file), called(value))
        if not value.transpose:
            return found
        alpha = None if found.alpha is None else found.alpha.T
        return replace(found, levels=found.levels.swapaxes(0, 1), alpha=alpha)

    def _has_channels(self, value: FileArray) -> bool:
        """Whether a file may have colours: an image, or an array of three dimensions."""
        suffix = Path(value.file).suffix.lower()
        return suffix in IMAGES or (suffix == ".npy" and dimensions(self.find(value.file), called(value)) == 3)

    def ratings(self, value: RatingsFile) -> Entries:
        """The ratings in a table; what was recognised in it becomes a remark. DataError for what is none."""
        found, remarks = read_ratings(self.find(value.file), value, visible(value.file))
        self.remarks += remarks
        return found

    def classes(self, value: ArrayField) -> np.ndarray:
        """Like `array`, but the words of a column of a table are numbered, in the order of the alphabet."""
        if not isinstance(value, TableArray) or value.column is None:
            return self.array(value)
        table = self.table(value.file, value, (value.column,))
        place = table.place(value.column)
        table, remarks = table.known([place], value.missing == "drop")
        self.remarks += remarks
        self.row_names = table.row_names or self.row_names
        return np.unique(table.classes(place), return_inverse=True)[1].astype(float)

    def labelled(self, points: ArrayField, labels: ArrayField) -> tuple[np.ndarray, np.ndarray]:
        """Points, and their classes in numbers, by the fields `points` and `labels`: by name where both have names. Of
        columns of one file a row is dropped from both or from none; ProblemError where rows would be dropped of one
        alone.
        """
        if not any(isinstance(each, TableArray) and each.missing == "drop" for each in (points, labels)):
            return self._apart(points, labels)
        match points, labels:
            case TableArray(), TableArray() if labels.column is not None and labels.file == points.file:
                return self._together(points, labels.column)
            case _:
                raise ProblemError(
                    "`missing: drop` would drop rows of `points` or of `labels` alone, unless these are a `column` of "
                    "the same file",
                    ("labels",),
                )

    def _apart(self, points: ArrayField, labels: ArrayField) -> tuple[np.ndarray, np.ndarray]:
        """Points and their classes, each read by itself."""
        faults, found, names = ErrorCollector(), list[np.ndarray](), list[list[str] | None]()
        for name, read, value in (("points", self.array, points), ("labels", self.classes, labels)):
            self.row_names = None
            with faults.part(name):
                found.append(read(value))
            names.append(self.row_names)
        faults.raise_all()
        (array, classes), (ours, theirs) = found, names
        if ours is not None and theirs is not None:
            with located("labels"):
                classes = classes[places_of(theirs, ours, called(labels), "row", "the points have")]
        self.row_names = ours or theirs
        return array, classes

    def _together(self, points: TableArray, column: ColumnName) -> tuple[np.ndarray, np.ndarray]:
        """Points and their classes, without the rows that miss a cell of either."""
        with located("points"):
            single = () if points.column is None else (points.column,)
            table = self.table(points.file, points, (column, *single))
            places = [table.place(each) for each in single] or table.places(points)
        with located("labels"):
            place = table.place(column)
            table, remarks = table.known([*places, place], drop=True)
            self.remarks += remarks
            classes = np.unique(table.classes(place), return_inverse=True)[1].astype(float)
        with located("points"):
            self.row_names = table.row_names
            found = finished(called(points), table.numbers(places), points.transpose)
            assert isinstance(found, np.ndarray)
            found = _scaled(found, points)
        return found.reshape(-1) if single else found, classes

    def table(self, file: str, options: TableOptions, asked: tuple[ColumnName, ...] = ()) -> Table:
        """A table in a file; what was recognised in it becomes a remark. DataError for what is none."""
        name = visible(file)
        if Path(file).suffix.lower() not in SUFFIXES:
            raise DataError(f"{name}: columns are those of a table, in a file {', '.join(SUFFIXES)}")
        found = read_named(self.find(file), options, asked, name)
        self.remarks += found.remarks
        return found

    def _by_cells(self, value: FileArray, takes_nan: bool) -> np.ndarray:
        """All columns of a table; a vector of one."""
        found = self._columns(TableArray(**value.model_dump()), takes_nan)
        is_vector = found.shape[0 if value.transpose else 1] == 1
        return _scaled(found.reshape(-1) if is_vector else found, value)

    def _columns(self, value: TableArray, takes_nan: bool) -> np.ndarray:
        if value.key is not None:
            raise DataError(f"{called(value)}: a table has no `key` (a workbook, {WORKBOOK}, has a `sheet`)")
        asked = () if value.column is None else (value.column,)
        table = self.table(value.file, value, asked)
        places = [table.place(each) for each in asked] or table.places(value)
        if not takes_nan or value.missing == "drop":
            table, remarks = table.known(places, value.missing == "drop")
            self.remarks += remarks
        rows, columns = table.row_names, table.titles(places)
        if value.transpose:
            rows, columns = (None if rows is None else columns), rows
        self.row_names, self.headings = rows or self.row_names, columns
        numbers = table.numbers(places)
        if table.headings is None:
            self.remarks += told_numbered_heading(called(value), numbers)
        found = finished(called(value), numbers, value.transpose, takes_nan=takes_nan)
        assert isinstance(found, np.ndarray)
        return found.reshape(-1) if asked else found

    def complex_matrix(self, value: ComplexField) -> Matrix:
        """Like `matrix`, and complex128 where the file has complex numbers, or the parts of them are given."""
        if isinstance(value, ComplexArray):
            with located("imaginary"):
                imaginary = self.matrix(value.imaginary)
            with located("real"):
                real = 0.0 * imaginary if value.real is None else self.matrix(value.real)
            if real.shape != imaginary.shape:
                raise ProblemError(f"the real part is {_size(real)}, but the imaginary part is {_size(imaginary)}")
            return joined(real, imaginary)
        if isinstance(value, FileArray) and not isinstance(value, TableArray):
            found = read_array(self.find(value.file), value.key, value.transpose, called(value), takes_complex=True)
            return _scaled(found, value)
        return self.matrix(value)

    def graph(self, value: GraphFile | ArrayField) -> Graph:
        """A graph by its matrix, or by a .mtx, .mat, .npz or .npy file with it, else in a file of one of the formats of
        `cgm_cli.readers.graphs`; what was recognised in it becomes a remark.
        """
        name = called(value, "the graph")
        asked = (None, None, None, None)
        if isinstance(value, GraphFile):
            asked = value.columns, value.weight, value.encoding, value.sheet
        if isinstance(value, TableArray):
            self.row_names = None
            return Graph(adjacency_of(name, self.matrix(value)), self.row_names or self.headings)
        if not isinstance(value, FileArray):
            return Graph(adjacency_of(name, self.matrix(value)))
        if not any(asked) and Path(value.file).suffix.lower() in (".mtx", ".mat", ".npz", ".npy"):
            return Graph(adjacency_of(name, self.matrix(value)))
        found = read_graph(self.find(value.file), name, *asked)
        self.remarks += found.remarks
        return replace(found, adjacency=_scaled(found.adjacency, value))

    def reserve(self, what: str, nbytes: int) -> None:
        """Account for memory about to be allocated; ProblemError with the estimate if the sum is more than there is."""
        self.reserved[what] = self.reserved.get(what, 0) + int(nbytes)
        total, limit = sum(self.reserved.values()), self._available
        if limit is not None and total > limit:
            largest = sorted(self.reserved.items(), key=lambda item: -item[1])[:3]
            listed = ", ".join(f"{item} {human(size)}" for item, size in largest)
            raise ProblemError(f"needs {human(total)} of memory, and {human(limit)} are available: {listed}")

    def has_room_for(self, nbytes: int) -> bool:
        """Whether `reserve` would let so many bytes more pass."""
        return self._available is None or sum(self.reserved.values()) + nbytes <= self._available

    @cached_property
    def _available(self) -> int | None:
        # Asked once, before the first allocation: later on what was reserved and taken would count twice.
        return available_memory()

    def digests(self) -> dict[str, str]:
        """Data file, as named in the spec -> SHA-256 of what is in it. Asked for once the files have been read."""
        return {name: _sha256(path, name) for name, path in self._found.items()}

    def _verify(self, path: Path, name: str) -> None:
        source, named = self.sources.get(name), digest_in(name)
        expected = None if source is None or source.sha256 is None else source.sha256.lower()
        if name in self._found or (expected is None and named is None):
            return
        digest = _sha256(path, name)
        if named is not None and digest != named:
            raise DataError(
                f"{path}: is damaged: it is named by the SHA-256 of what it held, and that of what it holds is {digest}"
            )
        if expected is not None and digest != expected:
            assert source is not None
            raise DataError(
                f"{path}: is not the file that the spec was written for: its SHA-256 is {digest}, "
                f"not {expected}. {source.advice}"
            )


def _scaled(array: _Array, value: FileArray) -> _Array:
    """The entries by the `scale` of the field. DataError where that makes one infinite."""
    if value.scale == 1.0:
        return array
    with np.errstate(over="ignore"):
        found = array * value.scale
    if np.isinf(found.data if is_sparse(found) else found).any():
        raise DataError(f"{called(value)}: an entry times the `scale` {value.scale:g} is too large for a number")
    return found


def _size(matrix: Matrix) -> str:
    return " x ".join(map(str, matrix.shape)) or "a number"


def called(value: ArrayField, otherwise: str = "the array") -> str:
    """What messages call an array: the name of its file, if it has one."""
    return visible(value.file) if isinstance(value, FileArray) else otherwise


def _sha256(path: Path, name: str) -> str:
    try:
        return sha256(path)
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror}") from None


def data_folders(spec_path: Path | None) -> tuple[Path, ...]:
    """Beside the spec, each folder of $CGM_DATA, and the data/ folders of the working directory and, where this is a
    checkout, of the project.
    """
    folders = [spec_path.parent] if spec_path is not None else []
    folders += [Path(folder) for folder in os.environ.get("CGM_DATA", "").split(os.pathsep) if folder]
    folders.append(Path("data"))
    if (_PROJECT / "pyproject.toml").is_file():  # and not where packages are installed
        folders.append(_PROJECT / "data")
    return tuple(dict.fromkeys(folders))


def _check_rows(value: object) -> None:
    if not isinstance(value, list) or not any(isinstance(row, list) for row in value):
        return
    lengths = [len(row) if isinstance(row, list) else None for row in value]
    for number, length in enumerate(lengths, start=1):
        if length != lengths[0]:
            raise ProblemError(f"row 1 has {counted(lengths[0] or 0, 'entry')}, but row {number} has {length}")
