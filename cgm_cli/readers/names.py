"""What one file tells by name, brought into the order of the names in another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.cells import is_count
from cgm_cli.text import did_you_mean, quoted


def places_of(
    told: Sequence[str], names: Sequence[str], source: str, noun: str, host: str, hint: str = ""
) -> np.ndarray:
    """Where in `told` each of `names` is (names,).

    source: what `told` is of. noun: what has the names; host: what `names` are of, with its verb: "node", "the graph
    has". hint: after what is none of the names, in place of the name that is most like it. DataError unless each is
    told of once, and none that there is not. The same names in the same order may be there more than once.
    """
    wanted, found = [key(name) for name in names], list(map(key, told))
    if found == wanted:
        return np.arange(len(names))
    if twice := _twice(wanted):
        raise DataError(f"{source}: cannot be told by name: {host} {noun} `{quoted(twice)}` twice")
    if twice := _twice(found):
        raise DataError(f"{source}: {noun} `{quoted(twice)}` is there twice")
    known = set(wanted)
    odd = next((name for name in told if key(name) not in known), None)
    if odd is not None:
        hint = hint or did_you_mean(odd, list(names)) or ""
        raise DataError(f"{source}: {host} no {noun} `{quoted(odd)}`{f'; {hint}' if hint else ''}")
    rows = {name: row for row, name in enumerate(found)}
    missing = [name for name in names if key(name) not in rows]
    if missing:
        others = f" and {len(missing) - 1} more are" if len(missing) > 1 else " is"
        raise DataError(f"{source}: {noun} `{quoted(missing[0])}`{others} not there")
    return np.array([rows[name] for name in wanted])


def key(name: str) -> str:
    """01 and 1 are one name."""
    return str(int(name)) if is_count(name) else name


def _twice(keys: Sequence[str]) -> str | None:
    return next((name for name, count in Counter(keys).items() if count > 1), None)
