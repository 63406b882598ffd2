"""Axes of a sweep -> its points: which key has which value, and where in the sweep file that value was written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from cgm_cli.spec.explain import shown
from cgm_cli.spec.faults import Fault
from cgm_cli.spec.load import one_line
from cgm_cli.spec.yaml_reader import TreePath
from cgm_cli.sweeps.model import MOST, AxesSpec
from cgm_cli.sweeps.values import draws, values
from cgm_cli.text import visible

_GRID, _ZIP, _RANDOM = ("sweep", "grid"), ("sweep", "zip"), ("sweep", "random", "draw")


@dataclass(frozen=True)
class AxisValue:
    """The value of one key at one point. axis: path in the sweep file of the key; place: of the value."""

    value: Any
    axis: TreePath
    place: TreePath


Assignment = dict[str, AxisValue]
"""Dotted key of the spec -> its cell, in the order of the sweep file."""


def expand(axes: AxesSpec, seed: int, tree: Mapping[str, Any]) -> tuple[list[Assignment], list[Fault]]:
    """The points, the last axis varying first, and what is wrong with the axes themselves (without line and column).

    seed: of the base, which `repeat` counts up from. tree: the base, which rules of `exclude` may ask about too.
    """
    faults = _misplaced(axes)
    lists, more = _axes(axes, seed)
    faults += more
    total = math.prod(map(len, lists))
    if total > MOST:
        faults.append(Fault(f"{total} points are more than the {MOST} that a sweep may have", ("sweep",)))
    if faults:
        return [], faults
    points = [{key: cell for part in parts for key, cell in part.items()} for parts in product(*lists)]
    kept, faults = _without_excluded(points, axes, tree)
    if not kept and not faults:
        faults.append(Fault("every point is excluded, so that nothing is left to run", ("sweep", "exclude")))
    return kept, faults


def label(assignment: Mapping[str, Any]) -> str:
    """`key=value key=value`, on one line, of cells or plain values."""
    plain = {key: cell.value if isinstance(cell, AxisValue) else cell for key, cell in assignment.items()}
    return " ".join(f"{key}={_short(value)}" for key, value in plain.items())


def placed(node: Any, steps: tuple[str, ...], value: Any, before: tuple[str, ...] = ()) -> Any:
    """`node` with `value` at the path `steps`; all that is not on the way is shared, not copied.

    Mappings are made where they are missing. ValueError, in words, where the path leads nowhere.
    """
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    where = visible(".".join(before))
    if isinstance(node, Mapping):
        return {**node, step: placed(node.get(step, {}), rest, value, (*before, step))}
    if isinstance(node, list):
        if not (step.isascii() and step.isdecimal() and len(step) < 9 and int(step) < len(node)):
            raise ValueError(f"`{where}` is a list of {len(node)}, it has no `{visible(step)}`")
        index = int(step)
        return [*node[:index], placed(node[index], rest, value, (*before, step)), *node[index + 1 :]]
    raise ValueError(f"`{where}` is a single value, it has nothing inside")


def _axes(axes: AxesSpec, seed: int) -> tuple[list[list[Assignment]], list[Fault]]:
    """Each axis as its list of assignments."""
    found: list[list[Assignment]] = []
    faults: list[Fault] = []
    for key, given in axes.grid.items():
        path = (*_GRID, key)
        cells = [AxisValue(value, path, (*path, *below)) for value, below in values(given)]
        found.append([{key: cell} for cell in cells])
        if not cells:
            faults.append(Fault("an empty list has no values", path))
    zipped = {key: values(given) for key, given in axes.zip.items()}
    lengths = {key: len(column) for key, column in zipped.items()}
    if len(set(lengths.values())) > 1 or 0 in lengths.values():
        told = ", ".join(f"`{visible(key)}` has {length}" for key, length in lengths.items())
        faults.append(Fault(f"every key of `zip` needs the same number of values: {told}", _ZIP))
    elif zipped:
        rows = zip(*zipped.values(), strict=True)
        found.append(
            [
                {
                    key: AxisValue(value, (*_ZIP, key), (*_ZIP, key, *below))
                    for key, (value, below) in zip(zipped, row, strict=True)
                }
                for row in rows
            ]
        )
    if axes.random is not None:
        columns = {
            key: draws(given, key, axes.random.seed, axes.random.n) for key, given in axes.random.draw.items() if given
        }
        for key in axes.random.draw.keys() - columns.keys():
            faults.append(Fault("an empty list has no values", (*_RANDOM, key)))
        found.append(
            [
                {key: AxisValue(column[i], (*_RANDOM, key), (*_RANDOM, key)) for key, column in columns.items()}
                for i in range(axes.random.n)
            ]
        )
    if axes.repeat is not None:
        path = ("sweep", "repeat")
        seeds = range(seed, seed + axes.repeat) if isinstance(axes.repeat, int) else axes.repeat
        found.append([{"seed": AxisValue(each, path, path)} for each in seeds])
    return found, faults


def _misplaced(axes: AxesSpec) -> list[Fault]:
    """Keys that are no dotted keys, or are varied twice."""
    named = [(*_GRID, key) for key in axes.grid] + [(*_ZIP, key) for key in axes.zip]
    named += [(*_RANDOM, key) for key in axes.random.draw] if axes.random is not None else []
    faults: list[Fault] = []
    first: dict[str, TreePath] = {}
    for path in named:
        key = path[-1]
        if not all(key.split(".")):
            faults.append(Fault(f"`{visible(key)}` is no key of a spec, such as solver.beta0", path))
        elif key in first:
            faults.append(Fault(f"`{visible(key)}` is varied twice, also under `{first[key][1]}`", path))
        first.setdefault(key, path)
    if axes.repeat is not None and "seed" in first:
        faults.append(Fault("`seed` is varied twice: `repeat` varies it as well", first["seed"]))
    return faults


def _without_excluded(
    points: list[Assignment], axes: AxesSpec, tree: Mapping[str, Any]
) -> tuple[list[Assignment], list[Fault]]:
    faults: list[Fault] = []
    hit = [False] * len(axes.exclude)
    kept = []
    for point in points:
        out = False
        for number, rule in enumerate(axes.exclude):
            if all(_matches(_value(point, key, tree), wanted) for key, wanted in rule.items()):
                hit[number] = out = True
        if not out:
            kept.append(point)
    for number, rule in enumerate(axes.exclude):
        if not hit[number]:
            told = ", ".join(f"{visible(key)} is {shown(value)}" for key, value in rule.items())
            faults.append(Fault(f"this excludes nothing: there is no point where {told}", ("sweep", "exclude", number)))
    return kept, faults


def _value(point: Assignment, key: str, tree: Mapping[str, Any]) -> Any:
    """The value of `key` at the point: its own, that inside of a mapping which is varied, or that of the base."""
    steps = key.split(".")
    for length in range(len(steps), 0, -1):
        cell = point.get(".".join(steps[:length]))
        if cell is not None:
            return _inside(cell.value, steps[length:])
    return _inside(tree, steps)


def _inside(node: Any, steps: list[str]) -> Any:
    for step in steps:
        if not isinstance(node, Mapping) or step not in node:
            return None
        node = node[step]
    return node


def _matches(value: Any, wanted: Any) -> bool:
    return _same(value, wanted) or (isinstance(wanted, list) and any(_same(value, each) for each in wanted))


def _same(one: Any, other: Any) -> bool:
    numbers = [isinstance(each, int | float) and not isinstance(each, bool) for each in (one, other)]
    if all(numbers):
        # A value of a range need not be what its decimal form would be read as.
        return math.isclose(one, other, rel_tol=1e-9)
    return not any(numbers) and type(one) is type(other) and one == other


def _short(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else one_line(value)
    return text if len(text) <= 60 else text[:57] + "..."
