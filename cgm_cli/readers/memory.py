"""How much memory this process may still take, and sizes in human units."""

from __future__ import annotations

import resource
from pathlib import Path

from cgm_cli.errors import DataError

_CGROUPS = Path("/sys/fs/cgroup")


def available_memory() -> int | None:
    """Bytes: the least of the machine's, the control group's and the process's limit; None if none can be read."""
    limits = [limit for limit in (_machine(), _control_group(), _address_space()) if limit is not None]
    return min(limits, default=None)


def human(nbytes: int) -> str:
    """`1.5 GB`; powers of ten."""
    size, units = float(nbytes), ["bytes", "kB", "MB", "GB", "TB", "PB"]
    while size >= 999.5 and len(units) > 1:
        size /= 1000
        units.pop(0)
    return f"{size:.0f} {units[0]}" if size >= 99.5 or units[0] == "bytes" else f"{size:.2g} {units[0]}"


def check_fits(name: str, nbytes: int) -> None:
    """DataError if `nbytes` for the contents of the file `name` are more than the machine has."""
    limit = available_memory()
    if limit is not None and nbytes > limit:
        raise DataError(f"{name}: would take {human(nbytes)} in memory, and only {human(limit)} are available")


def _machine() -> int | None:
    for line in _text(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _control_group() -> int | None:
    """Limit less usage of the group this process is in and of its ancestors (version 2), or of the one of version 1."""
    relative = next((line[3:] for line in _text(Path("/proc/self/cgroup")).splitlines() if line.startswith("0::")), "/")
    group = _CGROUPS / relative.strip().lstrip("/")
    rooms = []
    for folder in (group, *group.parents):
        if not folder.is_relative_to(_CGROUPS):
            break
        rooms.append(_room(folder, "memory.max", "memory.current"))
    rooms.append(_room(_CGROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"))
    return min((room for room in rooms if room is not None), default=None)


def _room(folder: Path, limit_file: str, usage_file: str) -> int | None:
    limit, usage = _text(folder / limit_file).strip(), _text(folder / usage_file).strip()
    if not limit.isdecimal() or not usage.isdecimal():
        return None
    # Cached files count as usage, but give way.
    statistics = _text(folder / "memory.stat").splitlines()
    cached = [line.split()[1] for line in statistics if line.startswith("inactive_file ")]
    return max(0, int(limit) - int(usage) + int(cached[0] if cached else 0))


def _address_space() -> int | None:
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = _text(Path("/proc/self/statm")).split()
    if soft == resource.RLIM_INFINITY:
        return None
    return max(0, soft - int(used[0]) * resource.getpagesize()) if used else soft


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
