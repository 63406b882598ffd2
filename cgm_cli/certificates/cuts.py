"""How far a cut of a graph is from the largest: its weight beside the bound of Goemans and Williamson."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from cgm_cli.certificates.certificate import Certificate
from cgm_cli.certificates.labels import read_sides
from cgm_cli.errors import DataError
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.status import Status
from cgm_cli.spec.load import loads
from cgm_cli.templates.build import build
from cgm_cli.templates.max_cut import MaxCut
from cgm_cli.text import counted, visible

GAP = 1e-3
"""To which the relaxation is solved where nobody says what is enough."""


def certify_cut(
    graph: Path,
    cut: Path,
    within: float | None,
    time: float,
    seed: int,
    asked: Callable[[], bool],
    options: Mapping[str, Any] | None = None,
) -> tuple[Certificate, sp.csr_array]:
    """The certificate, and the adjacency matrix of the graph.

    graph: in any format that `cgm solve` takes. cut: the side of each node, of two: a line each in the order of the
    nodes, or a table of the name of each and its side. within: a relative distance that is enough. time: seconds.
    asked: polled; True ends it. options: of the graph, as in a spec; an `encoding` is that of both files.

    Raises DataError for files that do not hold this.
    """
    began = perf_counter()
    stop = {"gap": GAP if within is None else min(GAP, 0.25 * within), "time": time}
    options = options or {}
    problem = {"template": "max-cut", "graph": {"file": str(graph.absolute()), **options}, "hyperplanes": 1}
    # JSON is YAML.
    instance = build(loads(json.dumps({"name": "cut", "problem": problem, "stop": stop, "seed": seed})))
    template = instance.template
    assert isinstance(template, MaxCut)
    nodes = template.adjacency.shape[0]
    signs = _signs(read_sides(cut, template.labels, nodes, options.get("encoding")), nodes, visible(str(cut)))
    value = 0.25 * float(signs @ (template.laplacian @ signs))
    history: list[tuple[float, float]] = []
    watch = _Watch(lambda bound: history.append((perf_counter() - began, bound)))
    result = instance.solve([watch], should_stop=lambda: Status.INTERRUPTED if asked() else None, began=began)
    proven = result.bound_is in ("certified", "probable")
    bound = result.record.bound if proven else math.inf
    labels = (signs > 0.0).astype(int)
    failure = result.record.bound_failure if proven else 0.0
    return Certificate(
        value,
        bound,
        failure,
        perf_counter() - began,
        "cut",
        "whole",
        labels,
        interrupted=asked(),
        history=(*history, (perf_counter() - began, bound)) if proven else (),
    ), template.adjacency


@dataclass(frozen=True)
class _Watch:
    """Takes the bound of every record that is not only estimated."""

    take: Callable[[float], None]

    def on_record(self, record: IterationRecord) -> None:
        if record.certified:
            self.take(record.bound)


def _signs(sides: np.ndarray, nodes: int, name: str) -> np.ndarray:
    kinds, place = np.unique(sides, return_inverse=True)
    if kinds.size > 2:
        raise DataError(f"{name}: there are {kinds.size} sides, and a cut has two")
    if sides.size != nodes:
        raise DataError(f"{name}: the sides are of {counted(sides.size, 'node')}, but the graph has {nodes}")
    return 2.0 * place - 1.0
