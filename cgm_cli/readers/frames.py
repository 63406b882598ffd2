"""Tables in Parquet, Feather and Excel, by pandas where it is installed: their cells, as a text file has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.checks import reason
from cgm_cli.readers.memory import check_fits
from cgm_cli.text import did_you_mean, quoted

FRAMES = {
    ".parquet": ("read_parquet", "pyarrow"),
    ".feather": ("read_feather", "pyarrow"),
    ".xlsx": ("read_excel", "openpyxl"),
}
"""Suffix -> the function of pandas, and the package that it needs."""

WORKBOOK = ".xlsx"
"""What has sheets."""

_EXACT = 2.0**53
_PACKED = 10
"""How much larger a file may be once it is unpacked, at least."""


def frame_rows(
    path: Path, name: str, sheet: str | int | None = None
) -> tuple[list[tuple[int, list[str]]], tuple[str, ...]]:
    """Number and cells of each row, the first of which has the headings; of Excel as a sheet stands, the first one
    unless another is asked for by name or by number from 1. A missing value is an empty cell. With it go remarks on
    what was read. DataError for a file that cannot be read, or where pandas, or what it needs, is not installed.
    """
    function, needed = FRAMES[path.suffix.lower()]
    try:
        import pandas

        __import__(needed)
    except ImportError:
        raise DataError(
            f"{name}: read by pandas and {needed}, which are not both here: `pip install pandas {needed}`"
        ) from None
    try:
        check_fits(name, _PACKED * path.stat().st_size)
        frame: Any
        remarks: tuple[str, ...] = ()
        if path.suffix.lower() == WORKBOOK:
            with pandas.ExcelFile(path) as book:
                chosen, remarks = _sheet([str(each) for each in book.sheet_names], sheet, name)
                frame = pandas.read_excel(book, sheet_name=chosen, header=None)
                if frame.empty:
                    raise DataError(f"{name}: sheet `{quoted(chosen)}` is empty{_listed(book.sheet_names)}")
        else:
            refuse_sheet(path, name, sheet)
            frame = getattr(pandas, function)(path)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # whatever the libraries of each format may raise
        raise DataError(f"{name}: not readable as {path.suffix.lower()}: {reason(error)}") from None
    check_fits(name, 100 * frame.size)
    columns = [_cells(frame.iloc[:, place]) for place in range(frame.shape[1])]
    rows = [list(row) for row in zip(*columns, strict=True)]
    if path.suffix.lower() != WORKBOOK:
        rows.insert(0, [str(heading) for heading in frame.columns])
    return list(enumerate(rows, start=1)), remarks


def refuse_sheet(path: Path, name: str, sheet: str | int | None) -> None:
    """DataError where a sheet is asked for of what has none."""
    if sheet is not None and path.suffix.lower() != WORKBOOK:
        raise DataError(f"{name}: only a workbook, {WORKBOOK}, has a `sheet`")


def _sheet(sheets: list[str], wanted: str | int | None, name: str) -> tuple[str, tuple[str, ...]]:
    """The one that is wanted; the first, and a remark, where there are others and nobody says which."""
    if wanted is None:
        told = f"{name}: sheet `{quoted(sheets[0])}` was read, the first{_listed(sheets)}; `sheet` names another one."
        return sheets[0], (told,) if len(sheets) > 1 else ()
    if isinstance(wanted, int) and wanted <= len(sheets):
        return sheets[wanted - 1], ()
    if str(wanted) in sheets:
        return str(wanted), ()
    hint = did_you_mean(str(wanted), sheets)
    raise DataError(f"{name}: no sheet `{quoted(str(wanted))}`{f'; {hint}' if hint else ''}{_listed(sheets)}")


def _listed(sheets: Sequence[object]) -> str:
    return f" (sheets: {', '.join(f'`{quoted(str(each))}`' for each in sheets[:20])})"


def read_frame(path: Path, name: str) -> np.ndarray:
    """All columns as numbers, (rows, columns), or a vector of one. DataError with the cell for what is none."""
    from cgm_cli.readers.table import read_named
    from cgm_cli.spec.fields import TableOptions

    table = read_named(path, TableOptions.model_validate({}), (), name)
    found = table.numbers(list(range(table.width)))
    return found[:, 0] if table.width == 1 else found


def _cells(column: Any) -> list[str]:
    """Numbers with all of their digits; true and false as 1 and 0. A column of whole numbers with a missing one has no
    whole numbers any more: they are written as such.
    """
    missing = column.isna().tolist()
    return ["" if none else _text(value) for value, none in zip(column.tolist(), missing, strict=True)]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value).strip()
