"""Where a result came from: everything needed to say, a year later, what produced it."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import threadpoolctl

_PACKAGES = ("cgm", "numpy", "scipy", "numba", "h5py")
_PROJECT = Path(__file__).resolve().parents[2]


def collect(resolved: str, seed: int, started: str, data: Mapping[str, str]) -> dict[str, Any]:
    """Provenance of a run that starts now in this process, under the thread limits in force.

    resolved: the resolved spec as YAML. started: UTC, ISO 8601. data: name -> SHA-256 of every data file. The end time
    is added by the run when it ends.
    """
    return {
        "resolved": resolved,
        "seed": seed,
        "data": dict(data),
        "started": started,
        "argv": list(sys.argv),
        "folder": os.getcwd(),
        "versions": versions(),
        "git": git_state(_PROJECT),
        "host": socket.gethostname(),
        "platform": platform.platform(),
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "thread_pools": thread_pools(),
    }


def continued(former: Mapping[str, Any], now: Mapping[str, Any], iteration: int, when: str) -> dict[str, Any]:
    """Provenance of a run that goes on: its own, with the budgets of now, and a list `resumed` of where, when and by
    what it went on.
    """
    earlier = former.get("resumed")
    entry = {"iteration": iteration, "started": when} | {
        key: now[key] for key in ("argv", "folder", "versions", "git", "host", "cpu", "thread_pools")
    }
    known = {key: former.get(key, value) for key, value in now.items()}
    return known | {"resolved": now["resolved"], "resumed": [*(earlier if isinstance(earlier, list) else []), entry]}


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that touch the numbers; "not installed" for a bare source tree."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def git_state(project: Path) -> dict[str, Any] | None:
    """Commit of the checkout `project` and whether tracked files differ from it; None if there is no git."""
    # The folder itself must be the checkout: site-packages may lie inside somebody else's.
    if not (project / ".git").exists():
        return None
    commit = _git(project, "rev-parse", "HEAD")
    changes = _git(project, "status", "--porcelain", "--untracked-files=no")
    if commit is None or changes is None:
        return None
    return {"commit": commit, "dirty": bool(changes)}


def cpu_model() -> str:
    """The processor's own name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def thread_pools() -> list[dict[str, Any]]:
    """Each loaded BLAS or OpenMP library with its version and its number of threads, in an order of their own: they are
    found in another one in every process.
    """
    keys = ("user_api", "internal_api", "version", "num_threads", "threading_layer", "architecture")
    # SciPy registers its Matrix Market reader as a pool too, once that is loaded: no algebra, and no version.
    pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] in ("blas", "openmp")]
    return sorted(({key: pool[key] for key in keys if key in pool} for pool in pools), key=str)


def _git(project: Path, *arguments: str) -> str | None:
    # Without optional locks, so that many runs starting together do not fight over the index.
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(project), *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
