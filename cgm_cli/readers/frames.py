"""Tables in Parquet, Feather and Excel, by pandas where it is installed: their cells, as a text file has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.checks import reason
from cgm_cli.readers.memory import check_fits

FRAMES = {
    ".parquet": ("read_parquet", "pyarrow"),
    ".feather": ("read_feather", "pyarrow"),
    ".xlsx": ("read_excel", "openpyxl"),
}
"""Suffix -> the function of pandas, and the package that it needs."""

_PACKED = 10
"""How much larger a file may be once it is unpacked, at least."""


def frame_rows(path: Path, name: str) -> list[tuple[int, list[str]]]:
    """Number and cells of each row, the first of which has the headings; of Excel the first sheet, as it stands. A
    missing value is an empty cell. DataError for a file that cannot be read, or where pandas, or what it needs, is not
    installed.
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
        sheet = {"header": None} if function == "read_excel" else {}
        frame: Any = getattr(pandas, function)(path, **sheet)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # whatever the libraries of each format may raise
        raise DataError(f"{name}: not readable as {path.suffix.lower()}: {reason(error)}") from None
    check_fits(name, 100 * frame.size)
    columns = [_cells(frame.iloc[:, place]) for place in range(frame.shape[1])]
    rows = [list(row) for row in zip(*columns, strict=True)]
    if not sheet:
        rows.insert(0, [str(heading) for heading in frame.columns])
    return list(enumerate(rows, start=1))


def read_frame(path: Path, name: str) -> np.ndarray:
    """All columns as numbers, (rows, columns), or a vector of one. DataError with the cell for what is none."""
    from cgm_cli.readers.table import read_named
    from cgm_cli.spec.fields import TableOptions

    table = read_named(path, TableOptions.model_validate({}), (), name)
    found = table.numbers(list(range(table.width)))
    return found[:, 0] if table.width == 1 else found


def _cells(column: Any) -> list[str]:
    """Numbers with all of their digits; true and false as 1 and 0."""
    missing = column.isna().tolist()
    return ["" if none else _text(value) for value, none in zip(column.tolist(), missing, strict=True)]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value).strip()
