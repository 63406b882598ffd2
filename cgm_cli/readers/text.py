"""Text files: decoding, and tables of numbers (.csv, .txt)."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from pathlib import Path

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.checks import reason
from cgm_cli.readers.memory import check_fits
from cgm_cli.text import counted, quoted, visible

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before that of UTF-16, with which it begins
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NEWLINE = b"\n"
_SAMPLE = 500
_LINE_BYTES = 64
_PIECE = 2**24
_PAIR = re.compile(r"[+-]?[0-9]+,[0-9]+")
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"  # what str.splitlines takes for one


def read_text(path: Path, name: str, encoding: str | None = None) -> str:
    """The text of a file, in an encoding, or as its byte order mark says, else UTF-8."""
    try:
        # Bytes, text and numbers are all in memory for a moment.
        check_fits(name, 4 * path.stat().st_size)
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror}") from None
    if path.suffix == ".gz":
        raw = _unpacked(raw, name)
    chosen = encoding or marked(raw)
    try:
        text = raw.decode(chosen)
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: {_undecoded(raw, error.start, chosen, encoding is not None)}") from None
    if "\0" in text:
        raise DataError(f"{name}: {_undecoded(raw, raw.find(0), chosen, encoding is not None)}")
    return text


def marked(raw: bytes) -> str:
    """The encoding that a byte order mark says, else UTF-8."""
    return next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), "utf-8")


def _undecoded(raw: bytes, at: int, encoding: str, is_asked: bool) -> str:
    """What a file is that is no text in this encoding, by the byte at fault, and what would be right."""
    if is_asked:
        return f"not a text in {encoding}: byte {at} has no meaning there"
    if encoding == "utf-8" and b"\0" not in raw:
        return (
            f"line {raw.count(_NEWLINE, 0, at) + 1}: byte 0x{raw[at]:02x} is not UTF-8: say what a table is in, "
            "`encoding: windows-1252` beside `file` for one, or rewrite the file, `iconv -f WINDOWS-1252 -t UTF-8`"
        )
    half = len(raw[: 2 * _SAMPLE]) // 2
    for place, order in ((1, "utf-16-le"), (0, "utf-16-be")):  # in western scripts every other byte is zero
        if half and raw[place : 2 * half : 2].count(0) > half / 2:
            return f"UTF-16 without a byte order mark: `encoding: {order}` beside `file` says so"
    return f"not a text file (byte {at} is not {encoding.upper().removesuffix('-SIG')})"


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


def read_lines(path: Path, name: str, encoding: str | None = None) -> list[str]:
    """The lines of a text file."""
    return lines_of(read_text(path, name, encoding), name)


def lines_of(text: str, name: str) -> list[str]:
    """The lines of what was read; DataError where there is no room for them."""
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
        raise DataError(f"{name}: the file is empty")
    delimiter = _delimiter(first)
    if delimiter == "," and all(_PAIR.fullmatch(_content(line)) for line in lines if _content(line)):
        raise DataError(
            f"{name}: `{_content(first)}` may be two numbers, or one with a decimal comma: say `columns: [1, 2]`, or "
            '`column: 1` with `decimal: ","`'
        )
    if delimiter and _is_heading(first, delimiter) and sum(bool(_content(line)) for line in lines) == 1:
        raise DataError(f"{name}: has headings, and no rows")
    headings = None
    if _is_heading(first, delimiter) and sum(bool(_content(line)) for line in lines) > 1:
        headings = _cells(first, delimiter)
        lines = [line if line is not first else "" for line in lines]
    try:
        table = np.loadtxt(lines, delimiter=delimiter, ndmin=2, comments="#")
    except ValueError as error:
        raise DataError(f"{name}: {_diagnose(lines, delimiter, headings) or reason(error)}") from None
    count = len(_headings(first, delimiter, name)) if headings is not None else table.shape[1]
    if count != table.shape[1]:
        raise DataError(
            f"{name}: its first line has {count} heading{'s' * (count != 1)}, but its rows have {table.shape[1]} "
            "cells: every column needs a heading, or none has one"
        )
    return table[:, 0] if table.shape[1] == 1 else table


def headings_in(lines: list[str], name: str) -> list[str] | None:
    """What `read_table` takes for headings, of the lines that a file begins with; None where there are none."""
    first = next((line for line in lines if _content(line)), "")
    delimiter = _delimiter(first)
    if not first or not _is_heading(first, delimiter):
        return None
    return [visible(cell.strip().strip('"')) for cell in _headings(first, delimiter, name)]


def _delimiter(first: str) -> str | None:
    """What stands between the cells of a first line; None for blanks."""
    return next((mark for mark in (";", ",", "\t") if mark in first.partition("#")[0]), None)


def _headings(line: str, delimiter: str | None, name: str) -> list[str]:
    """Of a first line; a separator in quotes is none."""
    if delimiter is None:
        return re.findall(r'"[^"]*"|\S+', _content(line))
    try:
        return next(csv.reader([_content(line)], delimiter=delimiter, skipinitialspace=True))
    except csv.Error as error:  # such as one longer than csv takes
        raise DataError(f"{name}: the headings cannot be read: {reason(error)}") from None


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


def unclosed(line: str) -> str | None:
    """What is wrong with a line that has one quote too many, or too few."""
    return "a quote is not closed (a cell ends on its line)" if line.count('"') % 2 else None


def left_out(column: str | int) -> str:
    """What to write where a column, by heading or by number, has something else than numbers."""
    return f"(`columns` names those that are wanted, `except` those that are not: `except: [{column}]`)"


def _cells(line: str, delimiter: str | None) -> list[str]:
    return [cell.strip() for cell in _content(line).split(delimiter)]


def _diagnose(lines: list[str], delimiter: str | None, headings: list[str] | None) -> str | None:
    """What is wrong with a table that NumPy refused: a quote that is not closed, a separator at the end of the lines,
    a cell that is not a number, or rows of different lengths.
    """
    content = [(number, line) for number, line in enumerate(map(_content, lines), start=1) if line]
    widths = [len(_cells(line, delimiter)) for _, line in content]
    first, width = content[0][0], widths[0]
    if delimiter and width > 1 and all(line.endswith(delimiter) for _, line in content):
        mark = "a tab" if delimiter == "\t" else f"`{delimiter}`"
        told = f"line {first} ends with {mark}, as all do, so that cell {width} is empty: "
        if headings is not None and len(headings) < width:
            return f"{told}leave it out of the file, which has {counted(len(headings), 'heading')}"
        return f"{told}`except: [{width}]` leaves that column out"
    for (number, line), size in zip(content, widths, strict=True):
        if fault := unclosed(line):
            return f"line {number}: {fault}"
        for column, cell in enumerate(_cells(line, delimiter), start=1):
            if number_in(cell) is None:
                return f"line {number}, column {column}: {_not_a_number(cell, column, size, headings)}"
        if size != width:
            return f"line {number} has {counted(size, 'cell')}, but line {first} has {width}"
    return None


def _not_a_number(cell: str, column: int, width: int, headings: list[str] | None) -> str:
    if not cell:
        return "the cell is empty (name the `columns` of a table with such cells)"
    heading = headings[column - 1].strip('"') if headings and len(headings) == width else ""
    called = quoted(heading) if heading and headings and headings.count(heading) == 1 else column
    hint = f" {left_out(called)}" if width > 1 else ""
    return f"'{visible(cell[:40])}' is not a number{hint}"
