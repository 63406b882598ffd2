"""Samples in the format of LIBSVM and SVMlight: a line `label index:value ...` each, `#` begins a comment.

Indices grow along a line, from 1, or from 0 where one is 0; what is not named is 0.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.head import Head
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_lines
from cgm_cli.text import visible

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_LINE = re.compile(rf"\s*{_NUMBER}(?:\s+(?:qid|[0-9]+):\S+)*\s*")
_FEATURE = re.compile(rf"([0-9]{{1,9}}):({_NUMBER})")


def looks_like(head: Head) -> bool:
    """A number, and features behind it, in every line, and in one at least."""
    lines = [line.partition("#")[0] for line in head.lines]
    lines = [line for line in lines if line.strip()]
    return any(":" in line for line in lines) and all(map(_LINE.fullmatch, lines))


def read_svmlight(path: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features (m, n), written out, and labels (m,). DataError with the line for what is no sample."""
    lines = read_lines(path, name)
    check_fits(name, sum(100 * line.count(":") for line in lines))
    labels, rows = list[float](), list[int]()
    columns, values = list[int](), list[float]()
    for number, line in enumerate(lines, start=1):
        cells = line.partition("#")[0].split()
        if not cells:
            continue
        try:
            labels.append(_number(cells[0], "a label"))
            before = -1
            for cell in cells[1:]:
                if cell.startswith("qid:"):
                    continue
                feature = _FEATURE.fullmatch(cell)
                if feature is None:
                    raise ValueError(f"expected `index:value`, got '{visible(cell[:40])}'")
                index = int(feature[1])
                if index <= before:
                    raise ValueError(f"index {index} follows {before}: they have to grow")
                rows.append(len(labels) - 1)
                columns.append(index)
                values.append(_number(feature[2], "a value"))
                before = index
        except ValueError as error:
            raise DataError(f"{name}: line {number}: {error}") from None
    if not values:
        raise DataError(f"{name}: {'no sample has a feature' if labels else 'is empty'}")
    first = 0 if min(columns) == 0 else 1
    width = max(columns) + 1 - first
    check_fits(name, 8 * len(labels) * width)
    features = np.zeros((len(labels), width))
    features[rows, np.array(columns) - first] = values
    return features, np.array(labels)


def _number(cell: str, what: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"'{visible(cell[:40])}' is not {what}")
    return value
