"""How far from the best clusterings are proven to be, by their size: `python -m benchmarks.certify [--largest 1e7]
[--time 20] [--long 240]`. Writes benchmarks/certify.md. `--only KIND N` prints the row of one instance;
`--one overlapping 10000 --clusters 20 --within 0.01` one instance alone, as JSON.

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
from scipy.io import loadmat

from benchmarks.suite.machine import machine
from cgm_cli.readers.context import data_folders

ROOT = Path(__file__).resolve().parents[1]
CLUSTERS, DIMENSION = 10, 20
SPREADS = {"separated": 4.0, "touching": 2.0, "overlapping": 1.0}
"""Standard deviation of the centres' coordinates, in those of a cluster."""

SETS = {"iris": 3, "wine": 3, "breast_cancer": 2, "digits": 10}
"""Those that scikit-learn ships, with the number of their classes: each column in units of its standard deviation, but
for the digits.
"""

EMBEDDED = {"digits' features": 1000, "MNIST's features": 1000}
"""Class probabilities, of a softmax regression and of the network of Mixon, Villar and Ward, and how many of them."""

MNIST = "mnist-kmeans/data_features.mat"

MANY, PEER = 10**6, 10**6
"""Points from which on an instance has the longer time, and up to which k-means runs beside it."""

SIZES = (10**3, 10**4, 10**5, 10**6, 10**7)
COLUMNS = ["points", "n", "within", "failure", "by", "seconds", "memory", "k-means: seconds", "its value, relative"]


def points_of(kind: str, n: int, clusters: int = CLUSTERS) -> np.ndarray:
    """Points (n, d): blobs around Gaussian centres, a set that ships with scikit-learn, or features of digits."""
    if kind in SETS:
        from sklearn import datasets

        points = getattr(datasets, f"load_{kind}")().data
        return points if kind == "digits" else (points - points.mean(axis=0)) / points.std(axis=0)
    if kind == "digits' features":
        from cgm_cli.templates.digits import digit_features

        return digit_features(n)[0]
    if kind == "MNIST's features":
        path = next(found for folder in data_folders(None) if (found := folder / MNIST).is_file())
        return loadmat(path)["digits"].T
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
    clusters = SETS.get(kind, clusters)
    before = time.process_time()
    found = certify(points, clusters=clusters, within=within, time=seconds)
    processor = time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    told = {**found.as_dict(), "processor_seconds": processor, "memory": memory}
    if n > PEER:
        return told
    began = time.perf_counter()
    peer = KMeans(clusters, n_init=10, random_state=0).fit(points).inertia_
    return {**told, "peer": peer / found.value, "peer_seconds": time.perf_counter() - began}


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
        f"{found['peer_seconds']:.1f}" if "peer" in found else "-",
        f"{found['peer']:.4f}" if "peer" in found else "-",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certify", description=__doc__)
    parser.add_argument("--largest", type=float, default=1e7, help="points at most (%(default)g)")
    parser.add_argument("--time", type=float, default=20.0, help="seconds for each (%(default)g)")
    parser.add_argument("--long", type=float, default=240.0, help="seconds for each of a million or more (%(default)g)")
    parser.add_argument("--only", nargs=2, metavar=("KIND", "N"), help="print the row of one instance")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "N"), help="one instance, as JSON")
    parser.add_argument("--clusters", type=int, default=CLUSTERS, help="with --one: how many (%(default)g)")
    parser.add_argument("--within", type=float, help="with --one: the relative distance that is enough")
    given = parser.parse_args()
    if given.one:
        kind, n = given.one
        print(json.dumps(measure(kind, int(n), given.time, given.clusters, given.within)))
        return
    instances = [(kind, len(points_of(kind, 0))) for kind in SETS]
    instances += [(kind, n) for kind, n in EMBEDDED.items() if "MNIST" not in kind or has_mnist()]
    instances += [(kind, n) for n in SIZES if n <= given.largest for kind in SPREADS]
    if given.only:
        instances = [(given.only[0], int(float(given.only[1])))]
    rows = []
    for kind, n in instances:
        seconds = given.long if n >= MANY else given.time
        command = [sys.executable, "-m", "benchmarks.certify", "--one", kind, str(n), "--time", str(seconds)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        rows.append(row(kind, n, json.loads(done.stdout.splitlines()[-1])))
        print(*rows[-1], sep=" | ", flush=True)
    if not given.only:
        (ROOT / "benchmarks" / "certify.md").write_text(page(rows, given.time, given.long), encoding="utf-8")


def has_mnist() -> bool:
    return any((folder / MNIST).is_file() for folder in data_folders(None))


def page(rows: list[list[str]], seconds: float, longer: float) -> str:
    found = machine()
    spreads = ", ".join(f"{kind} {spread:g}" for kind, spread in SPREADS.items())
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in [COLUMNS, ["---"] * len(COLUMNS), *rows])
    return f"""# How far from the best

Written by `python -m benchmarks.certify` ({found["cpu"]}, {found["cores"]} cores, {found["memory"]:g} GiB):
up to {seconds:g} s each, {longer:g} s of a million points or more. Blobs, {CLUSTERS} of them in {DIMENSION} dimensions,
have the standard deviation 1 around Gaussian centres, whose coordinates have that of: {spreads}.
Sets that scikit-learn ships have as many clusters as classes, and their columns are standardised, but for the digits.
Failure: the probability with which the proof may be wrong. Value, relative: that of scikit-learn's KMeans(n_init=10),
which proves nothing, over that of the clustering certified.

{table}

## What others prove

As published, on other machines and other data:

| | points | gap | time |
| --- | --- | --- | --- |
| SOS-SDP (1) | up to 4000 | 0: the optimum, by branch and bound | |
| AVOC (2) | up to about 18,000; 10,000 in the synthetic sets | below 3 % in most cases | up to a few hours |

(1) V. Piccialli, A. M. Sudoso, A. Wiegele, "SOS-SDP: an exact solver for minimum sum-of-squares clustering", INFORMS
Journal on Computing 34, 2022. (2) A. L. Croella, V. Piccialli, A. M. Sudoso, "Strong bounds for large-scale minimum
sum-of-squares clustering", arXiv 2502.08397, 2025: a sum of exact optima of parts, certified.
"""


if __name__ == "__main__":
    main()
