"""What the templates stand for in blocks, written down from their data, for `benchmarks.cones`."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from cgm_cli.spec.model import Spec
from cgm_cli.templates.base import Template
from cgm_cli.templates.linear_model import LinearModel

Block = dict[str, Any]


def margins(points: np.ndarray, labels: np.ndarray, radius: float) -> Block:
    """The multiclass hinge loss: a maximum per point, of W (classes, entries of a point)."""
    (m, d), k = points.shape, int(labels.max()) + 1
    terms = []
    for point, label in zip(points, labels.tolist(), strict=True):
        rows = np.zeros((k, k, d))
        rows[np.arange(k), np.arange(k)] += point
        rows[:, label] -= point
        offset = -(np.arange(k) != label).astype(float)
        terms.append(
            {
                "kind": "max",
                "scale": 1.0 / m,
                "map": {"kind": "matrix", "matrix": rows.reshape(k, -1)},
                "offset": offset,
            }
        )
    return {"domain": {"kind": "l2-ball", "size": [k, d], "radius": radius}, "penalties": terms}


def body(spec: Spec, built: Template) -> tuple[Block, float] | None:
    """The problem in blocks, and the sign of its objective to the user's. None for what is not written down here."""
    given = spec.problem.model_dump(by_alias=True)
    name = given.get("template")
    if name is None:
        return {key: value for key, value in given.items() if value is not None}, 1.0
    make: Any = {
        "matrix-game": lambda: {
            "domain": {"kind": "simplex", "size": any_of.payoff.shape[1]},
            "penalties": [{"kind": "max", "map": {"kind": "matrix", "matrix": any_of.payoff}}],
        },
        "spectrahedron-game": lambda: {
            "domain": {"kind": "psd", "size": any_of.matrices[0].shape[0], "trace": "equal"},
            "penalties": [{"kind": "max", "map": {"kind": "matrices", "matrices": list(any_of.matrices)}}],
        },
        "max-affine": lambda: {
            "domain": _ball(given["domain"], any_of.slopes.shape[1], given["radius"]),
            "penalties": [
                {"kind": "max", "map": {"kind": "matrix", "matrix": any_of.slopes}, "offset": -any_of.offsets}
            ],
        },
        "minimax-ball": lambda: {
            "domain": _ball("l2", given["size"], given["radius"]),
            "penalties": [{"kind": "max"}],
        },
        "max-margin": lambda: margins(any_of.points, any_of.labels, given["radius"]),
        "linear-program": lambda: {
            "domain": {"kind": "box", "lower": any_of.lower, "upper": any_of.upper, "size": len(any_of.cost)},
            "objective": {"kind": "linear", "cost": any_of.cost},
            "constraints": [
                {"kind": "equals", "map": {"kind": "matrix", "matrix": any_of.matrix}, "value": any_of.equals}
            ],
        },
        "max-cut": lambda: {
            "domain": _psd(any_of.laplacian.shape[0]),
            "objective": {"kind": "linear", "cost": -0.25 * any_of.laplacian.toarray()},
            "constraints": [{"kind": "equals", "map": {"kind": "diagonal"}, "value": 1.0}],
        },
        "lovasz-theta": lambda: _theta(any_of.neighbours, given["nonnegative"]),
        "matrix-completion": lambda: _completion(any_of, given["loss"]),
        "low-rank-denoising": lambda: _denoising(any_of, given),
        "robust-pca": lambda: _robust_pca(any_of, given),
        "standard-sdp": lambda: _standard(any_of, given),
    }.get(name)
    any_of: Any = built
    if make is not None:
        sign = -1.0 if any_of.problem.sense == "maximise" else 1.0
        return make(), sign
    return (_linear_model(any_of, given), 1.0) if isinstance(built, LinearModel) else None


def _ball(norm: str, size: int, radius: float) -> Block:
    return {"kind": f"{norm}-ball", "size": size, "radius": radius}


def _psd(n: int) -> Block:
    return {"kind": "psd", "size": n, "radius": float(n), "trace": "equal"}


def _theta(graph: sp.csr_array, nonnegative: bool) -> Block:
    n = graph.shape[0]
    edges = np.flatnonzero(np.triu(graph.toarray(), 1).reshape(-1))
    terms: list[Block] = [{"kind": "equals", "map": {"kind": "sampling", "indices": edges}, "value": 0.0}]
    terms += [{"kind": "nonnegative"}] if nonnegative else []
    objective = {"kind": "linear", "cost": np.full((n, n), -1.0 / n)}
    return {"domain": _psd(n), "objective": objective, "constraints": terms}


def _nuclear(built: Any) -> Block:
    domain = built.problem.domain
    return {"kind": "nuclear-ball", "shape": list(domain.shape), "radius": domain.radius}


def _completion(built: Any, loss: str) -> Block:
    at = {"kind": "sampling", "indices": built.seen.indices}
    fit = {"labels" if loss == "logistic" else "target": built.seen.values}
    return {"domain": _nuclear(built), "objective": {"kind": loss, "map": at, **fit}}


def _variation(built: Any, given: Block) -> list[Block]:
    if given["tv"] == 0.0:
        return []
    size = built.noisy.size
    pairs = {"kind": "group-norm", "groups": [[i, i + size] for i in range(size)]}
    kind = pairs if given["variation"] == "isotropic" else {"kind": "l1"}
    return [{**kind, "scale": given["tv"], "map": {"kind": "differences"}}]


def _denoising(built: Any, given: Block) -> Block:
    return {
        "domain": _nuclear(built),
        "objective": {"kind": "least-squares", "target": built.noisy},
        "penalties": _variation(built, given) + ([{"kind": "l1", "scale": given["l1"]}] if given["l1"] > 0.0 else []),
    }


def _robust_pca(built: Any, given: Block) -> Block:
    at, seen, terms = (
        {"kind": "sampling", "indices": np.flatnonzero(built.known)},
        built.noisy[built.known],
        _variation(built, given),
    )
    body: Block = {"domain": _nuclear(built), "constraints": [{"kind": "box", "lower": 0.0, "upper": 1.0}]}
    if given["loss"] == "l1":
        return body | {"penalties": [{"kind": "l1", "map": at, "offset": seen}, *terms]}
    return body | {"objective": {"kind": "least-squares", "map": at, "target": seen}, "penalties": terms}


def _standard(built: Any, given: Block) -> Block:
    domain, affine = built.problem.domain, built.affine
    cost = built.cost.toarray() if sp.issparse(built.cost) else built.cost
    terms: list[Block] = [{"kind": "nonnegative"}] if given["nonnegative"] else []
    for place, (lower, upper) in enumerate(zip(affine.lower, affine.upper, strict=True)):
        matrix = sp.coo_array(affine.rows[[place]]).reshape(built.problem.domain.shape)
        at = {"map": {"kind": "matrices", "matrices": [matrix]}}
        bounds = {"lower": lower} if np.isfinite(lower) else {}
        bounds |= {"upper": upper} if np.isfinite(upper) else {}
        terms.append({"kind": "equals", **at, "value": [lower]} if lower == upper else {"kind": "box", **at, **bounds})
    trace = "equal" if domain.fixed_trace else "at-most"
    x = {"kind": "psd", "size": domain.shape[0], "radius": domain.radius, "trace": trace}
    sign = -1.0 if built.problem.sense == "maximise" else 1.0
    return {"domain": x, "objective": {"kind": "linear", "cost": sign * cost}, "constraints": terms}


def _linear_model(built: Any, given: Block) -> Block:
    table, name = built.table, given["template"]
    a, y, m, n = table.features, table.target, table.samples, table.size
    root = math.sqrt(m)
    loss = given.get("loss", "least-squares")
    fit: Block = {"kind": loss, "map": {"kind": "matrix", "matrix": a / root}, "target": y / root}
    if loss == "logistic":
        fit = {"kind": loss, "map": {"kind": "matrix", "matrix": a}, "labels": y}
    if name == "sparse-regression":
        x = _ball("l1", n, given["radius"])
        if given["domain"] == "simplex":
            x = {"kind": "simplex", "size": n, "radius": given["radius"]}
        return {"domain": x, "objective": fit}
    if name == "elastic-net":
        rows = np.vstack([a / root, math.sqrt(given["ridge"]) * np.eye(n)])
        fit |= {"map": {"kind": "matrix", "matrix": rows}, "target": np.append(y / root, np.zeros(n))}
        far = given["radius"] or 1.1 * float(y @ y) / (2 * m * given["l1"])
        x = _ball(given["domain"], n, far)
        return {"domain": x, "objective": fit, "penalties": [{"kind": "l1", "scale": given["l1"]}]}
    if name == "group-lasso":
        groups = given["groups"]
        if given["penalty"] is None:
            return {
                "domain": {"kind": "latent-group-ball", "groups": groups, "radius": given["radius"]},
                "objective": fit,
            }
        copies = np.concatenate([np.asarray(group) for group in groups])
        ends = np.cumsum([0, *map(len, groups)])
        apart = [list(range(first, last)) for first, last in pairwise(ends.tolist())]
        term = {"kind": "group-norm", "groups": apart, "scale": given["penalty"]}
        term["map"] = {"kind": "sampling", "indices": copies}
        return {"domain": _ball("l2", n, given["radius"]), "objective": fit, "penalties": [term]}
    at = {"kind": "matrix", "matrix": a}
    term = {"kind": "hinge", "reduction": "mean", "map": at, "labels": y}
    if name == "least-absolute-deviations":
        term = {"kind": "l1", "scale": 1.0 / m, "map": at, "offset": y}
    return {"domain": _ball(given["domain"], n, given["radius"]), "penalties": [term]}
