"""The folder of a run by what a person calls it: a path, a name, `latest`, a beginning, or the point of a sweep.

    runs/cut/20260102T030405Z-1a2b3c4d   cut   cut/20260102   20260102   latest   runs/sweep/points/1   sweep/1

What exists as a path is that path. All else is looked up below runs/ of the working folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cgm_cli.errors import DataError
from cgm_cli.text import did_you_mean, quoted

ROOT = Path("runs")
LATEST = "latest"

_PATTERNS = ("*/status.json", "*/*/status.json", "*/*/*/status.json")
_MOST = 10
"""Candidates that a message lists."""


def find_run(given: str | Path) -> Path:
    """The folder of the run that `given` stands for; of a run.h5, and of whatever else exists, the path itself.

    The name of several runs stands for the newest of them. Raises DataError (exit code 3) for a beginning that several
    share, with the candidates; for the point of a sweep that has no run yet; and, with the nearest name, for what
    stands for nothing.
    """
    path = Path(given)
    if os.path.lexists(path):
        return _inside(path)
    if point := _point(path):
        return point
    if path.is_absolute():
        return path  # no name: whoever reads it tells that there is nothing
    runs = known_runs()
    word = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.as_posix()
    if word == LATEST and runs:
        return _newest(runs)
    for said in (word.__eq__, lambda label: label.startswith(word)):
        found = {label: folders for label, folders in _labels(runs).items() if said(label)}
        distinct = _without_parts(found)
        if len(distinct) == 1:
            return _newest(next(iter(distinct.values())))
        if distinct:
            raise DataError(_ambiguous(word, distinct))
    raise DataError(_unknown(word, runs))


def known_runs() -> list[Path]:
    """The folders of the runs below runs/, without those of sweeps, whose points have numbers."""
    return [file.parent for pattern in _PATTERNS for file in ROOT.glob(pattern) if not _hidden(file)]


def known_words() -> list[str]:
    """What runs may be called, for whoever completes or corrects a word."""
    runs = known_runs()
    return [*([LATEST] if runs else []), *_labels(runs), *_sweeps()]


def _hidden(file: Path) -> bool:
    return any(part.startswith(".") for part in file.parts)  # as the store of sweeps


def _inside(path: Path) -> Path:
    """The run in the folder of a point, or the only one in a folder; else the path itself."""
    if (path / "status.json").exists():
        return path
    run = path / "run"
    runs = [run] if (run / "status.json").is_file() else [file.parent for file in path.glob("*/status.json")]
    return runs[0] if len(runs) == 1 else path


def _point(path: Path) -> Path | None:
    """The run of SWEEP/NUMBER or SWEEP/points/NUMBER; None if there is no such sweep."""
    from cgm_cli.sweeps.manifest import read_manifest

    sweep = path.parent.parent if path.parent.name == "points" else path.parent
    folder = next((each for each in (sweep, ROOT / sweep) if (each / "manifest.json").is_file()), None)
    if folder is None or not (path.name.isascii() and path.name.isdecimal()):
        return None
    rows = read_manifest(folder)
    row = next((row for row in rows.rows if str(row.number) == path.name.lstrip("0")), None)
    if row is None:
        raise DataError(f"{folder} has no point {quoted(path.name)}: its points are 1 to {len(rows.rows)}.")
    run = rows.folder(row).run
    if not (run / "status.json").is_file():
        raise DataError(f"point {row.number} of {folder} has no run yet ({row.label}).")
    return run


def _labels(runs: list[Path]) -> dict[str, list[Path]]:
    """Name, id, and name/id -> the runs that are called so."""
    labels: dict[str, list[Path]] = {}
    for run in runs:
        relative = run.relative_to(ROOT)
        for label in dict.fromkeys((relative.parts[0], relative.as_posix(), relative.name)):
            labels.setdefault(label, []).append(run)
    return labels


def _without_parts(found: dict[str, list[Path]]) -> dict[str, list[Path]]:
    """Of labels that stand for the same runs, or for some of those of another one, the widest alone."""
    return {
        label: runs
        for label, runs in found.items()
        if not any(
            set(runs) < set(others) or (runs == others and len(label) > len(other))
            for other, others in found.items()
            if other != label
        )
    }


def _newest(runs: list[Path]) -> Path:
    return max(runs, key=_began)


def _began(run: Path) -> tuple[str, int]:
    with suppress(OSError, ValueError, AttributeError):
        file = run / "status.json"
        return str(json.loads(file.read_text(encoding="utf-8")).get("started", "")), file.stat().st_mtime_ns
    return "", 0


def _ambiguous(word: str, found: dict[str, list[Path]]) -> str:
    listed = "\n".join(f"    {_told(label, found[label])}" for label in sorted(found)[:_MOST])
    more = f"\n    and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"`{quoted(word)}` is the beginning of {len(found)} runs; which one?\n{listed}{more}"


def _told(label: str, runs: list[Path]) -> str:
    return str(runs[0]) if len(runs) == 1 else f"{label} ({len(runs)} runs)"


def _unknown(word: str, runs: list[Path]) -> str:
    sweep = ROOT / word
    if (sweep / "manifest.json").is_file():
        return f"{sweep} is a sweep; the run of its first point is {quoted(word)}/1."
    hint = did_you_mean(word, known_words() if runs else list(_sweeps()))
    looked = f"looked for a folder of that name, and for runs in {ROOT.absolute()}, which has {len(runs) or 'none'}"
    return f"there is no run `{quoted(word)}`; {hint or looked}" + (f" ({looked})" if hint else "")


def _sweeps() -> Iterator[str]:
    return (file.parent.name for file in ROOT.glob("*/manifest.json"))
