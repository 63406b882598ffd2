"""The problems of the suite: each a name, its size, and the section `problem` of a spec; a new one is one entry here.

What a spec cannot draw by itself (subsets of points, grids, a regression of a given size) is written into the cache
folder as files, by a fixed seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.readers.matlab import read_mat
from cgm_cli.spec.load import dump, loads
from cgm_cli.spec.model import Spec

MNIST = "mnist-kmeans/data_features.mat"
COMMON = {"log": {"every": 1, "metrics_every": 10**6}, "checkpoint": {"every": "never"}}
ORACLE = {"mode": "fixed", "tolerance": 1e-3}
ITERATIONS = 10**6
"""No limit: time is."""


class NotHere(Exception):
    """Something that a row needs is missing; the message says what, and where it would come from."""


@dataclass(frozen=True)
class Problem:
    """family: kmeans, max-cut, completion or logistic. size: n, of the matrix or of the vector. sparse: edges or
    observed entries, what a product with the cost takes; 0 if that is all entries. section: makes the section
    `problem` of the spec, and the files it names; raises NotHere.
    """

    name: str
    family: str
    size: int
    section: Callable[[], dict[str, Any]]
    sparse: int = 0
    quick: bool = False
    scaling: bool = False

    @property
    def constrained(self) -> bool:
        """Whether there are terms beside the smooth objective."""
        return self.family in ("kmeans", "max-cut")

    def spec(self, solver: dict[str, Any]) -> Spec:
        """The whole spec, with a section `solver` on top of that of the suite."""
        base = {"iterations": ITERATIONS} | ({} if self.family == "logistic" else {"oracle": ORACLE})
        # A dual point of k-means is as large as x, which a few turns of local descent can afford and many steps cannot.
        dear = self.family == "kmeans" and solver.get("method") != "auto"
        sections = {"problem": self.section(), "solver": base | solver, "bound": {"every": 10 if dear else 1}}
        return loads(dump({"name": self.name, **sections, **COMMON}))


def cache_folder() -> Path:
    """Where data and scratch files go: $CGM_BENCHMARKS, else a folder of the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("CGM_BENCHMARKS") or Path(base) / "cgm-benchmarks")
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def find_data(name: str) -> Path:
    """The file in a folder of $CGM_DATA. Raises NotHere."""
    for folder in filter(None, os.environ.get("CGM_DATA", "").split(os.pathsep)):
        if (Path(folder) / name).is_file():
            return (Path(folder) / name).resolve()
    raise NotHere(f"{name} is in no folder of $CGM_DATA")


def has_data(name: str) -> bool:
    try:
        return bool(find_data(name))
    except NotHere:
        return False


def cached(name: str, write: Callable[[Path], None]) -> dict[str, str]:
    """{file: path} of a file of the cache folder, written if it is not there yet."""
    path = cache_folder() / name
    if not path.exists():
        # Under another name first: a run that is interrupted leaves no half of a file.
        draft = path.with_name(f"draft-{os.getpid()}-{name}")
        write(draft)
        draft.replace(path)
    return {"file": str(path)}


# k-means


def kmeans(points: dict[str, str]) -> dict[str, Any]:
    return {"template": "kmeans-sdp", "clusters": 10, "points": points, "restarts": 1}


def mnist(count: int) -> dict[str, Any]:
    """Of the 1000 MNIST digits `count` drawn by seed 0, in the order of the file."""

    def write(path: Path) -> None:
        points = read_mat(find_data(MNIST), "digits", MNIST).T.astype(float)
        chosen = np.sort(np.random.default_rng(0).choice(len(points), count, replace=False))
        np.save(path, points[chosen])

    find_data(MNIST)
    return kmeans(cached(f"mnist-{count}.npy", write))


def digits(count: int) -> dict[str, Any]:
    """The first images of scikit-learn's digits: 64 pixels between 0 and 1."""

    def write(path: Path) -> None:
        from sklearn.datasets import load_digits

        np.save(path, load_digits().data[:count] / 16.0)

    return kmeans(cached(f"digits-{count}.npy", write))


# Maximum cut


def cut(graph: dict[str, Any]) -> dict[str, Any]:
    return {"template": "max-cut", "graph": graph, "hyperplanes": 10}


def grid(rows: int, columns: int) -> dict[str, Any]:
    """A toroidal grid with weights +1 and -1, as those of the G-set (G11, G67) were made by the generator rudy."""

    def write(path: Path) -> None:
        node = np.arange(rows * columns).reshape(rows, columns)
        pairs = np.concatenate([np.stack([node, np.roll(node, -1, axis)], -1).reshape(-1, 2) for axis in (0, 1)])
        signs = np.random.default_rng(0).choice([-1, 1], size=len(pairs))
        table = np.column_stack([pairs + 1, signs])
        np.savetxt(path, table, fmt="%d", header=f"{node.size} {len(pairs)}", comments="")

    return cut(cached(f"grid-{rows}x{columns}.txt", write))


def random_graph(nodes: int, edges: int) -> dict[str, Any]:
    return cut({"nodes": nodes, "edges": edges})


def gset(name: str) -> dict[str, Any]:
    return cut({"file": str(find_data(f"maxcut/{name}.txt"))})


# Smooth


def completion(rows: int, columns: int, rank: int, missing: float) -> dict[str, Any]:
    matrix = {"rows": rows, "columns": columns, "rank": rank, "noise": 0.1}
    # The nuclear norm of a random matrix of this rank is about rank * sqrt(rows * columns / rank); a little less of it.
    radius = float(round(0.9 * np.sqrt(rank * rows * columns)))
    return {"template": "matrix-completion", "matrix": matrix, "missing": missing, "radius": radius}


def logistic(samples: int, features: int) -> dict[str, Any]:
    """Classes by a vector with ten non-zeros, over correlated features."""

    def features_of(rng: np.random.Generator) -> np.ndarray:
        return rng.standard_normal((samples, features)) + 0.5 * rng.standard_normal((samples, 1))

    def write_features(path: Path) -> None:
        np.save(path, features_of(np.random.default_rng(0)))

    def write_target(path: Path) -> None:
        rng = np.random.default_rng(0)
        x = features_of(rng)
        truth = np.zeros(features)
        truth[rng.choice(features, 10, replace=False)] = rng.standard_normal(10)
        np.save(path, np.where(rng.random(samples) < 1.0 / (1.0 + np.exp(-x @ truth)), 1.0, -1.0))

    files = {
        "features": cached(f"logistic-{samples}x{features}.npy", write_features),
        "target": cached(f"logistic-{samples}x{features}-target.npy", write_target),
    }
    return {"template": "sparse-regression", "data": files, "loss": "logistic", "radius": 5.0}


@cache
def problems() -> tuple[Problem, ...]:
    """All of them; where a file of the G-set is missing, a graph made in the same way stands in, under its own name."""
    found = [Problem(f"mnist-{n}", "kmeans", n, lambda n=n: mnist(n), scaling=True) for n in (100, 200, 300, 1000)]
    found.append(Problem("digits-1797", "kmeans", 1797, lambda: digits(1797), scaling=True))
    if has_data("maxcut/G1.txt"):
        found.append(Problem("g1", "max-cut", 800, lambda: gset("G1"), 19176))
    else:
        found.append(Problem("random-800", "max-cut", 800, lambda: random_graph(800, 19176), 19176))
    if has_data("maxcut/G11.txt"):
        found.append(Problem("g11", "max-cut", 800, lambda: gset("G11"), 1600))
    else:
        found.append(Problem("grid-800", "max-cut", 800, lambda: grid(100, 8), 1600))
    found += [
        Problem("grid-10000", "max-cut", 10000, lambda: grid(100, 100), 20000),
        *(
            Problem(f"random-{n}", "max-cut", n, lambda n=n: random_graph(n, 4 * n), 4 * n, scaling=True)
            for n in (2000, 10000, 50000)
        ),
        Problem("completion-1000x2000", "completion", 2000, lambda: completion(1000, 2000, 10, 0.8), 400000),
        Problem("logistic-2000x500", "logistic", 500, lambda: logistic(2000, 500)),
        Problem("digits-40", "kmeans", 40, lambda: digits(40), quick=True),
        Problem("grid-100", "max-cut", 100, lambda: grid(10, 10), 200, quick=True),
        Problem("random-150", "max-cut", 150, lambda: random_graph(150, 600), 600, quick=True),
        Problem("completion-60x40", "completion", 60, lambda: completion(60, 40, 3, 0.5), 1200, quick=True),
        Problem("logistic-200x20", "logistic", 20, lambda: logistic(200, 20), quick=True),
    ]
    return tuple(found)


def named(name: str) -> Problem:
    """The problem of that name. KeyError if there is none."""
    return {problem.name: problem for problem in problems()}[name]
