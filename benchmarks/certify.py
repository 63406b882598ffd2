"""How far from the best clusterings are proven to be, by their size: `python -m benchmarks.certify [--largest 1e7]
[--time 60]`. Writes benchmarks/certify.md. One instance alone, as JSON: `--one overlapping 10000 --clusters 20 --within
0.01`.

Each instance is a process of its own, whose peak memory is told. Beside it stand the seconds of scikit-learn's
KMeans(n_init=10), which proves nothing, and its value.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
CLUSTERS, DIMENSION = 10, 20
SPREADS = {"separated": 4.0, "touching": 2.0, "overlapping": 1.0}
"""Standard deviation of the centres' coordinates, in those of a cluster."""

SIZES = (10**3, 10**4, 10**5, 10**6, 10**7)
COLUMNS = ["points", "n", "within", "failure", "by", "seconds", "memory", "k-means: seconds", "its value, relative"]


def points_of(kind: str, n: int, clusters: int = CLUSTERS) -> np.ndarray:
    """Points (n, d): blobs around Gaussian centres, or scikit-learn's digits."""
    if kind == "digits":
        from sklearn.datasets import load_digits

        return load_digits().data
    rng = np.random.default_rng(0)
    centres = SPREADS[kind] * rng.standard_normal((clusters, DIMENSION))
    return centres[rng.integers(clusters, size=n)] + rng.standard_normal((n, DIMENSION))


def measure(
    kind: str, n: int, seconds: float, clusters: int = CLUSTERS, within: float | None = None
) -> dict[str, object]:
    """One instance, in this process."""
    from sklearn.cluster import KMeans

    from cgm_cli import certify

    points = points_of(kind, n, clusters)
    before = time.process_time()
    found = certify(points, clusters=clusters, within=within, time=seconds)
    processor = time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    began = time.perf_counter()
    peer = KMeans(clusters, n_init=10, random_state=0).fit(points).inertia_
    spent = time.perf_counter() - began
    return {
        **found.as_dict(),
        "processor_seconds": processor,
        "memory": memory,
        "peer": peer / found.value,
        "peer_seconds": spent,
    }


def row(kind: str, n: int, found: dict[str, Any]) -> list[str]:
    within, size = found["within_percent"], int(found["sample_size"])
    return [
        kind,
        f"{n:,}",
        "-" if within is None else f"{within:.2g} %",
        f"{found['failure']:g}",
        f"{found['samples']} x {size}" if size else found["how"],
        f"{found['seconds']:.1f}",
        f"{found['memory']:.2f} GB",
        f"{found['peer_seconds']:.1f}",
        f"{found['peer']:.4f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certify", description=__doc__)
    parser.add_argument("--largest", type=float, default=1e7, help="points at most (%(default)g)")
    parser.add_argument("--time", type=float, default=60.0, help="seconds for each (%(default)g)")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "N"), help="one instance, as JSON")
    parser.add_argument("--clusters", type=int, default=CLUSTERS, help="with --one: how many (%(default)g)")
    parser.add_argument("--within", type=float, help="with --one: the relative distance that is enough")
    given = parser.parse_args()
    if given.one:
        kind, n = given.one
        print(json.dumps(measure(kind, int(n), given.time, given.clusters, given.within)))
        return
    instances = [("digits", 1797), *((kind, n) for n in SIZES if n <= given.largest for kind in SPREADS)]
    rows = []
    for kind, n in instances:
        command = [sys.executable, "-m", "benchmarks.certify", "--one", kind, str(n), "--time", str(given.time)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        rows.append(row(kind, n, json.loads(done.stdout.splitlines()[-1])))
        print(*rows[-1], sep=" | ", flush=True)
    (ROOT / "benchmarks" / "certify.md").write_text(page(rows, given.time), encoding="utf-8")


def page(rows: list[list[str]], seconds: float) -> str:
    spreads = ", ".join(f"{kind} {spread:g}" for kind, spread in SPREADS.items())
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in [COLUMNS, ["---"] * len(COLUMNS), *rows])
    return f"""# How far from the best

Written by `python -m benchmarks.certify`: {CLUSTERS} clusters in {DIMENSION} dimensions (digits: 64),
up to {seconds:g} s each. Blobs of standard deviation 1 around Gaussian centres, whose coordinates have that of:
{spreads}. Value, relative: that of scikit-learn's KMeans(n_init=10), which proves
nothing, over that of the clustering certified.

{table}
"""


if __name__ == "__main__":
    main()
