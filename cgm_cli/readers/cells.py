"""What the cells of a line say. ValueError says what is wrong with those of a graph."""

from __future__ import annotations

import math

from cgm_cli.text import visible


def node_of(cell: str, nodes: int) -> int:
    """The node, from 0, that a file numbers from 1; ValueError if it is none."""
    if not is_count(cell):
        raise ValueError(f"'{visible(cell[:40])}' is not the number of a node")
    if not 1 <= int(cell) <= nodes:
        raise ValueError(f"node {int(cell)} does not exist: they are numbered 1 to {nodes}")
    return int(cell) - 1


def weight_of(cell: str) -> float:
    """The weight of an edge; ValueError if it is no finite number."""
    try:
        weight = float(cell)
    except ValueError:
        raise ValueError(f"'{visible(cell[:40])}' is not a weight") from None
    if not math.isfinite(weight):
        raise ValueError(f"the weight {cell} is not finite")
    return weight


def is_count(cell: str) -> bool:
    """Whether it is a whole number of 15 digits at most, without a sign."""
    return cell.isascii() and cell.isdigit() and len(cell) <= 15


def is_number(cell: str) -> bool:
    """Whether Python takes it for a number, nan and infinity included."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
