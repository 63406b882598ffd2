"""Which name means which parameter or figure: whole dotted keys, or their last part where only one key ends so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgm_cli.errors import ProblemError
from cgm_cli.reports.entry import FIGURES, OWN, Entry
from cgm_cli.text import did_you_mean, quoted


def params(entries: Sequence[Entry]) -> list[str]:
    """Every key of any spec, in the order of the specs."""
    return list(dict.fromkeys(key for entry in entries for key in entry.params))


def figures(entries: Sequence[Entry]) -> list[str]:
    """Every figure that any run has."""
    return list(dict.fromkeys([*FIGURES, *(name for entry in entries for name in entry.figures)]))


def metrics(entries: Sequence[Entry]) -> list[str]:
    """The figures that only some templates have."""
    return [name for name in figures(entries) if name not in FIGURES]


def varying(entries: Sequence[Entry]) -> list[str]:
    """The keys whose value is not the same in every run. `source` says where data comes from, not what was solved."""
    first = entries[0].params if entries else {}
    return [
        key
        for key in params(entries)
        if not key.startswith("source.")
        and any(_identity(entry.params.get(key)) != _identity(first.get(key)) for entry in entries)
    ]


def short(keys: Sequence[str], taken: Sequence[str] = ()) -> dict[str, str]:
    """Key -> the last parts of it, as few as tell it from the other keys and from the names `taken`."""
    names = {}
    for key in keys:
        parts = key.split(".")
        endings = [".".join(parts[-count:]) for count in range(1, len(parts) + 1)]
        others = [other for other in keys if other != key]
        names[key] = next(
            (end for end in endings if end not in taken and not any(_ends(other, end) for other in others)), key
        )
    return names


def resolve(name: str, entries: Sequence[Entry]) -> str:
    """The full name that `name` stands for. Raises ProblemError if there is none, or more than one."""
    known = [*OWN, *figures(entries)]
    keys = params(entries)
    if name in known or name in keys:
        return name
    if f"metric_{name}" in known:
        return f"metric_{name}"
    found = [key for key in keys if _ends(key, name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ProblemError(f"`{quoted(name)}` may be {_listed(found)}: write more of it.")
    lasts = [key.rpartition(".")[2] for key in keys]
    hint = did_you_mean(name, [*known, *keys, *lasts])
    there_are = f"here are {_listed([*varying(entries), *known])}, and the keys of the specs, such as solver.beta0"
    told = f"{hint} T{there_are}" if hint else f"t{there_are}"
    raise ProblemError(f"No run has a parameter or figure called `{quoted(name)}`; {told}")


def _ends(key: str, end: str) -> bool:
    return key == end or key.endswith(f".{end}")


def _identity(value: Any) -> str:
    # 1 and 1.0 are one value, 1 and true are not.
    return repr(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else repr(value)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{quoted(name)}`" for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")
