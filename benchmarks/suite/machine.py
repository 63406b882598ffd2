"""The machine and the software that rows were measured with."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from cgm_cli.runs.provenance import cpu_model, git_state, thread_pools, versions

ROOT = Path(__file__).resolve().parents[2]
THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
"""Every solver has one thread."""


def machine() -> dict[str, Any]:
    """What rows must share to be compared."""
    import scipy.linalg  # noqa: F401, loads its BLAS, which is then among the pools

    blas = sorted({f"{p['internal_api']} {p['version']}" for p in thread_pools() if p["user_api"] == "blas"})
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "versions": versions(),
        "blas": blas,
    }


def code() -> str:
    """A digest of the solver's own source: rows made by another one are made anew."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "cgm_cli").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def described(machine: dict[str, Any]) -> str:
    """One paragraph."""
    found = machine["versions"]
    names = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy", "numba": "numba"}
    software = ", ".join(f"{title} {found[name]}" for name, title in names.items())
    state = git_state(ROOT)
    commit = f"commit {state['commit'][:10]}{' with changes' if state['dirty'] else ''}" if state else "no git"
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory']:g} GiB; {software}, "
        f"{', '.join(machine['blas'])}; one thread per solver; {commit}."
    )
