"""Text files: decoding, and tables of numbers (.csv, .txt)."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from pathlib import Path

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.checks import reason
from cgm_cli.readers.memory import check_fits
from cgm_cli.text import visible

_LINE_BYTES = 64
_PIECE = 2**24
_PAIR = re.compile(r"[+-]?[0-9]+,[0-9]+")
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"  # what str.splitlines takes for one


def read_text(path: Path, name: str) -> str:
    """The text of a file: UTF-8, or UTF-16 with a byte order mark."""
    try:
        # Bytes, text and numbers are all in memory for a moment.
        check_fits(name, 4 * path.stat().st_size)
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror}") from None
    if path.suffix == ".gz":
        raw = _unpacked(raw, name)
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return raw.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: not a text file (byte {error.start} is not UTF-{16 if wide else 8})") from None


def _unpacked(raw: bytes, name: str) -> bytes:
    """What gzip has packed; read piece by piece, since a small file may hold more than there is room for."""
    found, size = list[bytes](), 0
    try:
        with gzip.open(io.BytesIO(raw)) as packed:
            while piece := packed.read(_PIECE):
                size += len(piece)
                check_fits(name, 4 * size)
                found.append(piece)
    except (OSError, EOFError, zlib.error):
        raise DataError(f"{name}: not a gzip file, or a damaged one") from None
    return b"".join(found)


def read_lines(path: Path, name: str) -> list[str]:
    """The lines of a text file."""
    text = read_text(path, name)
    # A short line takes far more memory as a line of its own than in the text.
    check_fits(name, len(text) + _LINE_BYTES * sum(text.count(mark) for mark in _LINE_ENDS))
    return text.splitlines()


def read_table(path: Path, name: str) -> np.ndarray:
    """The numbers of a table, one row a line, cells separated by `;`, `,`, tabs or spaces; `#` begins a comment.

    A table of one column is a vector (n,), every other table is a matrix (rows, columns).
    """
    lines = read_lines(path, name)
    first = next((line for line in lines if _content(line)), None)
    if first is None:
        raise DataError(f"{name}: is empty")
    delimiter = next((mark for mark in (";", ",", "\t") if mark in first.partition("#")[0]), None)
    if delimiter == "," and all(_PAIR.fullmatch(_content(line)) for line in lines if _content(line)):
        raise DataError(
            f"{name}: `{_content(first)}` may be two numbers, or one with a decimal comma: say `columns: [1, 2]`, or "
            '`column: 1` with `decimal: ","`'
        )
    if _is_heading(first, delimiter) and sum(bool(_content(line)) for line in lines) > 1:
        lines = [line if line is not first else "" for line in lines]
    try:
        table = np.loadtxt(lines, delimiter=delimiter, ndmin=2, comments="#")
    except ValueError as error:
        raise DataError(f"{name}: {_diagnose(lines, delimiter) or reason(error)}") from None
    return table[:, 0] if table.shape[1] == 1 else table


def number_in(cell: str) -> float | None:
    """The number that a cell is; None of what is none, such as 1_000, which Python would take."""
    try:
        return float(cell.replace("_", "x"))
    except ValueError:
        return None


def _is_heading(line: str, delimiter: str | None) -> bool:
    """Whether no cell is a number, and each has a name: a column of numbers without one counts rows."""
    cells = [cell.strip() for cell in _content(line).split(delimiter)]
    return all(cell and number_in(cell.strip('"').replace(",", ".")) is None for cell in cells)


def _content(line: str) -> str:
    return line.partition("#")[0].strip()


def _diagnose(lines: list[str], delimiter: str | None) -> str | None:
    """What is wrong with a table that NumPy refused: a cell that is not a number, or rows of different lengths."""
    width: tuple[int, int] | None = None
    for number, line in enumerate(lines, start=1):
        if not _content(line):
            continue
        cells = line.partition("#")[0].split(delimiter)
        for column, cell in enumerate(cells, start=1):
            if number_in(cell) is None:
                hint = " (`columns` names those that are wanted of a table with headings)" if number == 1 else ""
                shown = visible(cell.strip()[:40])
                what = (
                    f"'{shown}' is not a number"
                    if shown
                    else "the cell is empty (name the `columns` of a table with such cells)"
                )
                return f"line {number}, column {column}: {what}{hint}"
        if width is None:
            width = (number, len(cells))
        elif len(cells) != width[1]:
            return f"line {number} has {len(cells)} cells, but line {width[0]} has {width[1]}"
    return None
