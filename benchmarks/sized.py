"""Random problems of a size, of all kinds: composed of any blocks, and those that the blocks are usually put together
for. `drawn(number, size)` is the problem of that number, as the section `problem` of a spec and, where that names a
template, as what it stands for in blocks, which is what `benchmarks.cones` reads.

Vectors have up to `size` entries (products and transports a few times as many). Matrices stay smaller, so that interior
points take no more than a few seconds for them: semidefinite ones are of order 30 at the most, those of the fantope,
which takes two cones, of order 24, those of the nuclear-norm ball have 32 rows and columns together, and
doubly stochastic ones are of order 16.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.spec.model import Spec
from cgm_cli.templates.build import build

Rng = np.random.Generator
Block = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """problem: of the spec, in plain lists. body: in blocks; its objective is `sign` times the user's. kind: what it is
    called, "composed" for any blocks.
    """

    kind: str
    problem: Block
    body: Block
    sign: float = 1.0


def spec_of(problem: Block, **sections: Any) -> Spec:
    """A spec without its text, which is slow to read for large arrays."""
    return Spec.model_validate({"name": "random", "problem": problem, **sections})


def drawn(number: int, size: int) -> Drawn:
    rng = np.random.default_rng([number, size, 23])
    if rng.random() < 0.5:
        return composed(rng, size)
    return KINDS[str(rng.choice(list(KINDS)))](rng, size)


# Any blocks


def _whole(rng: Rng, least: int, most: int) -> int:
    return int(rng.integers(least, max(least, most) + 1))


def _partition(rng: Rng, n: int, overlapping: bool = False) -> list[list[int]]:
    order, cuts = rng.permutation(n), np.sort(rng.choice(np.arange(1, n), min(n - 1, _whole(rng, 0, n // 2)), False))
    groups = [sorted(part.tolist()) for part in np.split(order, cuts)]
    if overlapping:
        groups = [sorted({*group, *rng.choice(n, 1).tolist()}) for group in groups]
    return groups


VECTORS = ("simplex", "l1-ball", "l2-ball", "linf-ball", "box", "group-l1-ball", "latent-group-ball")
MATRICES = ("nuclear-ball", "psd", "fantope", "fantope-face", "birkhoff")


def domain(rng: Rng, size: int, kinds: tuple[str, ...] = (*VECTORS, *MATRICES, "product")) -> Block:
    kind = str(rng.choice(kinds))
    r = float(10.0 ** rng.uniform(-2, 2)) if rng.random() < 0.4 else 1.0
    n = _whole(rng, 2, size)
    if kind == "product":
        inner = (*VECTORS, "nuclear-ball", "psd")
        return {"kind": kind, "blocks": [domain(rng, max(2, size // 3), inner) for _ in range(_whole(rng, 2, 3))]}
    if kind in ("psd", "fantope", "fantope-face"):
        n = _whole(rng, 2, min(size, 30 if kind == "psd" else 24))
        if kind == "psd":
            return {"kind": kind, "size": n, "radius": r, "trace": str(rng.choice(["equal", "at-most"]))}
        return {"kind": kind, "size": n, "rank": _whole(rng, 2 if kind == "fantope-face" else 1, max(2, n // 2))}
    if kind == "nuclear-ball":
        return {"kind": kind, "shape": [_whole(rng, 1, min(size, 16)), _whole(rng, 1, min(size, 16))], "radius": r}
    if kind == "birkhoff":
        return {"kind": kind, "size": _whole(rng, 2, min(size, 16))}
    if kind == "simplex":
        return {"kind": kind, "size": n, "radius": r, "sum": str(rng.choice(["equal", "at-most"]))}
    if kind in ("group-l1-ball", "latent-group-ball"):
        return {"kind": kind, "groups": _partition(rng, n, kind == "latent-group-ball"), "radius": r}
    if kind == "box":
        lower = r * rng.uniform(-1, 0.5, n)
        upper = lower + r * rng.uniform(0, 2, n) * (rng.random(n) < 0.9)
        return {"kind": kind, "lower": lower.tolist(), "upper": upper.tolist()}
    if rng.random() < 0.2:
        return {"kind": kind, "size": [_whole(rng, 1, 12), _whole(rng, 1, 12)], "radius": r}
    return {"kind": kind, "size": n, "radius": r}


@dataclass(frozen=True)
class Room:
    """What the maps and terms of a problem must fit: the shape of x, a point that is to be feasible, and the blocks of
    a product, each with its shape.
    """

    shape: tuple[int, ...]
    inside: np.ndarray
    symmetric: bool
    blocks: tuple[tuple[int, tuple[int, ...]], ...] = ()


def room(rng: Rng, block: Block) -> Room:
    built = build(spec_of({"domain": block, "objective": {"kind": "linear", "cost": 0.0}})).problem.domain
    n = math.prod(built.shape)
    inside = np.zeros(n)
    for share in rng.dirichlet(np.ones(4 if rng.random() < 0.3 else min(n, 60) + 1)):
        direction = DenseDirection(rng.standard_normal(built.shape))
        direction = direction.symmetrised() if built.symmetric else direction
        inside += share * built.lmo(direction, OracleRequest(0.0)).atom.dense().reshape(-1)
    blocks: tuple[tuple[int, tuple[int, ...]], ...] = ()
    if block["kind"] == "product":
        shapes = [room(np.random.default_rng(0), each).shape for each in block["blocks"]]
        starts = np.cumsum([0, *map(math.prod, shapes)]).tolist()
        blocks = tuple(zip(starts, shapes, strict=False))
    return Room(tuple(built.shape), inside, built.symmetric, blocks)


def linear_map(rng: Rng, place: Room, rows: int, kinds: tuple[str, ...] = ()) -> tuple[Block, np.ndarray]:
    """A random map, and the image of the feasible point, flat. rows: the most of a matrix, or matrices."""
    from benchmarks.cones import matrix_of

    n, square = math.prod(place.shape), len(place.shape) == 2 and place.shape[0] == place.shape[1]
    kinds = kinds or ("identity", "matrix", "matrix", "matrix", "sampling", "differences", "stack")
    kinds += ("row-sums", "column-sums", "matrices", "matrices") if len(place.shape) == 2 else ()
    kinds += ("diagonal",) if square else ()
    kinds += ("block", "block", "block-difference") if place.blocks else ()
    kind = str(rng.choice(kinds))
    made: Block = {"kind": kind}
    m = _whole(rng, 1, rows)
    if kind == "differences" and len(place.shape) > 1:  # an array of a spec has two dimensions at the most
        made = {"kind": "stack", "maps": [made]}
    elif kind == "matrix":
        length = math.sqrt(n) if rng.random() < 0.5 else 1.0
        made["matrix"] = (rng.standard_normal((m, n)) / length).tolist()
    elif kind == "sampling":
        made["indices"] = np.sort(rng.choice(n, _whole(rng, 1, n), replace=False)).tolist()
    elif kind == "stack":
        made["maps"] = [
            linear_map(
                rng, Room(place.shape, place.inside, False), max(1, rows // 2), ("identity", "matrix", "sampling")
            )[0]
            for _ in range(2)
        ]
    elif kind == "matrices":
        each = rng.standard_normal((m, *place.shape)) / math.sqrt(n)
        made["matrices"] = (each + each.transpose(0, 2, 1) if square else each).tolist()
    elif kind == "block":
        number = _whole(rng, 0, len(place.blocks) - 1)
        first, shape = place.blocks[number]
        part = Room(shape, place.inside[first : first + math.prod(shape)], False)
        made |= {"index": number, "map": linear_map(rng, part, rows)[0]}
    elif kind == "block-difference":
        i, j = (int(each) for each in rng.choice(len(place.blocks), 2, replace=False))
        (_, one), (_, other) = place.blocks[i], place.blocks[j]
        if one == other:
            made |= {"first": i, "second": j}
        elif len(other) == 1:
            made |= {"first": i, "second": j}
            made["map"] = {"kind": "matrix", "matrix": rng.standard_normal((other[0], math.prod(one))).tolist()}
        else:
            return linear_map(rng, place, rows, kinds)
    matrix, image = matrix_of(made, place.shape, list(place.blocks) or None)
    return made, np.asarray(matrix @ place.inside).reshape(-1).reshape(image)


def objective(rng: Rng, place: Room, unit: float, rows: int) -> Block | None:
    n, shape = math.prod(place.shape), place.shape
    kind = str(rng.choice(["linear", "quadratic", "least-squares", "logistic", "none"], p=[0.4, 0.15, 0.2, 0.1, 0.15]))
    if kind == "none":
        return None
    c = unit * rng.standard_normal(shape)
    c = 0.5 * (c + c.T) if place.symmetric and len(shape) == 2 else c
    if kind == "linear":
        return {"kind": kind, "cost": c.tolist()}
    if kind == "quadratic":
        if n > 120 or rng.random() < 0.2:
            return {"kind": kind, "matrix": unit * float(rng.uniform(0, 2)), "linear": c.tolist()}
        factor = rng.standard_normal((_whole(rng, 1, n), n))
        q = unit * (factor.T @ factor) / n
        return {"kind": kind, "matrix": (0.5 * (q + q.T)).tolist(), "linear": c.tolist()}
    made, image = linear_map(rng, place, rows)
    size = float(np.abs(image).mean()) + 1e-3
    noisy = image + size * rng.uniform(0, 2) * rng.standard_normal(image.shape)
    if kind == "least-squares":
        return {"kind": kind, "map": made, "target": noisy.tolist()}
    return {"kind": kind, "map": made, "labels": np.where(noisy > 0, 1.0, -1.0).tolist()}


PENALTIES = ("l1", "l2", "linf", "max", "group-norm", "hinge", "huber", "quantile", "epsilon-insensitive", "support")


def penalty(rng: Rng, place: Room, unit: float, rows: int) -> Block:
    made, image = linear_map(rng, place, rows)
    kind, m = str(rng.choice(PENALTIES)), image.size
    block: Block = {"kind": kind, "map": made, "scale": unit * float(rng.uniform(0.05, 1.0))}
    if rng.random() < 0.6:
        block["offset"] = (image + (float(np.abs(image).mean()) + 1e-3) * rng.standard_normal(image.shape)).tolist()
    if kind == "group-norm":
        block["groups"] = _partition(rng, m)
    elif kind == "l1" and rng.random() < 0.3:
        block["weights"] = rng.uniform(0, 2, image.shape).tolist()
    elif kind == "quantile":
        block["q"] = float(rng.uniform(0.05, 0.95))
    elif kind == "epsilon-insensitive":
        block |= {"epsilon": float(10.0 ** rng.uniform(-2, 1)), "reduction": str(rng.choice(["sum", "mean"]))}
    elif kind == "huber":
        block["delta"] = float(10.0 ** rng.uniform(-2, 1))
    elif kind == "hinge":
        block |= {
            "labels": rng.choice([-1.0, 1.0], image.shape).tolist(),
            "reduction": str(rng.choice(["sum", "mean"])),
        }
    elif kind == "support":
        of = str(rng.choice(["box", "simplex", "l1-ball", "l2-ball"]))
        ends = np.sort(rng.standard_normal(2))
        block["set"] = {"kind": of, "lower": ends[0], "upper": ends[1]} if of == "box" else {"kind": of, "radius": 0.7}
        if of == "box":
            block["set"] = {"kind": of, "lower": float(ends[0]), "upper": float(ends[1])}
    return block


def constraint(rng: Rng, place: Room, rows: int) -> Block:
    kind = str(
        rng.choice(["equals", "equals", "box", "box", "nonnegative", "l1-ball", "l2-ball", "simplex", "in-domain"])
    )
    kinds = ("matrix", "matrix", "sampling") if kind == "equals" else ()
    made, at = linear_map(rng, place, max(1, rows // 2), kinds)
    block: Block = {"kind": kind, "map": made}
    if kind == "equals":
        return {**block, "value": at.tolist()}
    slack = (np.abs(at).mean() + 1e-3) * rng.random(at.shape) * (rng.random(at.shape) < 0.7)
    if kind == "box":
        both = {"lower": (at - slack[::-1]).tolist()} if rng.random() < 0.4 else {}
        return {**block, "upper": (at + slack).tolist(), **both}
    if kind == "nonnegative":
        return {**block, "offset": (at - slack).tolist()}
    wide = float(rng.uniform(1.0, 1.5))
    if kind in ("l1-ball", "l2-ball"):
        return {**block, "radius": float(np.linalg.norm(at.reshape(-1), int(kind[1]))) * wide + 1e-3}
    if kind == "simplex":
        r = float(np.abs(at).sum()) + 1e-3
        point = r * rng.dirichlet(np.ones(at.size)).reshape(at.shape)
        return {**block, "radius": r, "offset": (at - point).tolist()}
    return {**block, "domain": around(rng, at, wide)}


def around(rng: Rng, at: np.ndarray, wide: float) -> Block:
    """A domain that holds a point, not in its interior if wide is 1."""
    kinds = ["l1-ball", "l2-ball", "linf-ball", *(["nuclear-ball"] * 2 if at.ndim == 2 and sum(at.shape) <= 32 else [])]
    kinds += ["latent-group-ball", "group-l1-ball"] if at.ndim == 1 and at.size > 1 else []
    kind = str(rng.choice(kinds))
    if kind == "nuclear-ball":
        r = float(np.linalg.svd(at, compute_uv=False).sum())
        return {"kind": kind, "shape": list(at.shape), "radius": r * wide + 1e-3}
    if kind in ("latent-group-ball", "group-l1-ball"):
        groups = _partition(rng, at.size)
        r = float(sum(np.linalg.norm(at[group]) for group in groups))
        return {"kind": kind, "groups": groups, "radius": r * wide + 1e-3}
    order = {"l1-ball": 1, "l2-ball": 2, "linf-ball": np.inf}[kind]
    size = list(at.shape) if at.ndim > 1 else at.size
    return {"kind": kind, "size": size, "radius": float(np.linalg.norm(at.reshape(-1), order)) * wide + 1e-3}


def composed(rng: Rng, size: int) -> Drawn:
    block = domain(rng, size)
    place = room(rng, block)
    unit = float(10.0 ** rng.uniform(-2, 3)) if rng.random() < 0.4 else 1.0
    rows = size if len(place.shape) == 1 else min(size, 20)
    f = objective(rng, place, unit, rows)
    terms = [penalty(rng, place, unit, rows) for _ in range(int(rng.choice(3, p=[0.45, 0.45, 0.1])) + (f is None))]
    sets = [constraint(rng, place, min(rows, place.inside.size)) for _ in range(int(rng.choice(3, p=[0.4, 0.4, 0.2])))]
    body: Block = {"domain": block, "constraints": sets, "penalties": terms}
    if block["kind"] != "product" and rng.random() < 0.1:
        del body["domain"]
        body["domains"] = [block, around(rng, place.inside.reshape(place.shape), float(rng.uniform(0.8, 1.5)))]
        if body["domains"][1]["radius"] < 1e-2 or sets:
            body["domains"][1]["radius"] *= 1.25
    if f is not None:
        body["objective"] = f
    return Drawn("composed", body, body)


# What the blocks are usually put together for


def matrix(values: np.ndarray) -> Block:
    return {"kind": "matrix", "matrix": np.asarray(values, dtype=float).tolist()}


def _data(rng: Rng, size: int, classes: bool = False) -> tuple[np.ndarray, np.ndarray]:
    m, n = _whole(rng, 5, 2 * size), _whole(rng, 2, size)
    features = rng.standard_normal((m, n))
    target = features[:, : max(1, n // 4)].sum(axis=1) + rng.uniform(0.1, 2) * rng.standard_normal(m)
    return features, (np.where(target > 0, 1.0, -1.0) if classes else target)


def _table(features: np.ndarray, target: np.ndarray) -> Block:
    return {"data": {"features": features.tolist(), "target": target.tolist()}, "standardise": False}


def _ball(kind: str, n: int, r: float) -> Block:
    return {"kind": f"{kind}-ball", "size": n, "radius": r}


def matrix_game(rng: Rng, size: int) -> Drawn:
    payoff = rng.standard_normal((_whole(rng, 2, size), _whole(rng, 2, size)))
    body = {
        "domain": {"kind": "simplex", "size": payoff.shape[1]},
        "penalties": [{"kind": "max", "map": matrix(payoff)}],
    }
    return Drawn("matrix game", {"template": "matrix-game", "payoff": payoff.tolist()}, body)


def spectrahedron_game(rng: Rng, size: int) -> Drawn:
    n, k = _whole(rng, 2, min(size, 30)), _whole(rng, 2, 20)
    each = rng.standard_normal((k, n, n)) * (rng.random((k, n, n)) < rng.uniform(0.05, 1))
    matrices = (each + each.transpose(0, 2, 1)).tolist()
    x = {"kind": "psd", "size": n, "trace": "equal"}
    body = {"domain": x, "penalties": [{"kind": "max", "map": {"kind": "matrices", "matrices": matrices}}]}
    return Drawn("spectrahedron game", {"template": "spectrahedron-game", "matrices": matrices}, body)


def max_affine(rng: Rng, size: int) -> Drawn:
    slopes, kind = (
        rng.standard_normal((_whole(rng, 2, 2 * size), _whole(rng, 1, size))),
        str(rng.choice(["l2", "l1", "linf"])),
    )
    offsets, r = rng.standard_normal(len(slopes)), float(10.0 ** rng.uniform(-1, 1))
    spec = {
        "template": "max-affine",
        "slopes": slopes.tolist(),
        "offsets": offsets.tolist(),
        "domain": kind,
        "radius": r,
    }
    term = {"kind": "max", "map": matrix(slopes), "offset": (-offsets).tolist()}
    return Drawn("max-affine", spec, {"domain": _ball(kind, slopes.shape[1], r), "penalties": [term]})


def max_margin(rng: Rng, size: int) -> Drawn:
    m, d, k, r = _whole(rng, 4, size), _whole(rng, 1, 8), _whole(rng, 2, 4), float(10.0 ** rng.uniform(-1, 1))
    labels = np.append(np.arange(k), rng.integers(0, k, max(0, m - k)))[:m]
    labels[:k] = np.arange(k)[: len(labels[:k])]
    points = rng.standard_normal((m, d)) + rng.uniform(0, 2) * labels[:, None]
    terms = []
    for point, label in zip(np.column_stack([points, np.ones(m)]), labels.tolist(), strict=True):
        rows = np.zeros((k, k, d + 1))
        rows[np.arange(k), np.arange(k)] += point
        rows[:, label] -= point
        offset = -(np.arange(k) != label).astype(float)
        terms.append({"kind": "max", "scale": 1.0 / m, "map": matrix(rows.reshape(k, -1)), "offset": offset.tolist()})
    spec = {"template": "max-margin", "points": points.tolist(), "labels": labels.astype(float).tolist(), "radius": r}
    return Drawn(
        "max-margin", spec, {"domain": {"kind": "l2-ball", "size": [k, d + 1], "radius": r}, "penalties": terms}
    )


def elastic_net(rng: Rng, size: int) -> Drawn:
    features, target = _data(rng, size)
    m, n = features.shape
    l1, ridge = float(10.0 ** rng.uniform(-2, 0)), float(rng.choice([0.0, 0.1, 1.0]))
    spec = {"template": "elastic-net", **_table(features, target), "l1": l1, "ridge": ridge}
    spec["domain"] = str(rng.choice(["l2", "linf"]))
    rows = np.vstack([features / math.sqrt(m), math.sqrt(ridge) * np.eye(n)])
    fit = {
        "kind": "least-squares",
        "map": matrix(rows),
        "target": np.append(target / math.sqrt(m), np.zeros(n)).tolist(),
    }
    far = 1.1 * float(target @ target) / (2 * m * l1)  # l1 |w|_1 is no more than the objective at zero
    return Drawn(
        "elastic net",
        spec,
        {"domain": _ball("l2", n, far), "objective": fit, "penalties": [{"kind": "l1", "scale": l1}]},
    )


def group_lasso(rng: Rng, size: int) -> Drawn:
    features, target = _data(rng, size)
    m, n = features.shape
    fit = {"kind": "least-squares", "map": matrix(features / math.sqrt(m)), "target": (target / math.sqrt(m)).tolist()}
    spec = {"template": "group-lasso", **_table(features, target)}
    if rng.random() < 0.5:
        groups, scale = _partition(rng, n), float(10.0 ** rng.uniform(-2, 0))
        far = 1.1 * float(target @ target) / (2 * m * scale)
        body = {
            "domain": _ball("l2", n, far),
            "objective": fit,
            "penalties": [{"kind": "group-norm", "groups": groups, "scale": scale}],
        }
        return Drawn("group lasso, penalty", spec | {"groups": groups, "penalty": scale, "radius": far}, body)
    groups, r = _partition(rng, n, True), float(10.0 ** rng.uniform(-1, 1))
    body = {"domain": {"kind": "latent-group-ball", "groups": groups, "radius": r}, "objective": fit}
    return Drawn("group lasso, ball", spec | {"groups": groups, "radius": r}, body)


def robust_fit(rng: Rng, size: int) -> Drawn:
    svm = bool(rng.random() < 0.5)
    features, target = _data(rng, size, svm)
    (m, n), kind, r = features.shape, str(rng.choice(["l1", "l2"])), float(10.0 ** rng.uniform(-1, 1))
    term: Block = {"kind": "l1", "scale": 1.0 / m, "map": matrix(features), "offset": target.tolist()}
    if svm:
        target[:2] = [-1.0, 1.0]
        term = {"kind": "hinge", "reduction": "mean", "map": matrix(features), "labels": target.tolist()}
    template = "svm" if svm else "least-absolute-deviations"
    spec = {"template": template, **_table(features, target), "domain": kind, "radius": r}
    return Drawn(template, spec, {"domain": _ball(kind, n, r), "penalties": [term]})


def huber_regression(rng: Rng, size: int) -> Drawn:
    features, target = _data(rng, size)
    delta, r = float(10.0 ** rng.uniform(-1, 0.5)), float(10.0 ** rng.uniform(-0.5, 1))
    term = {"kind": "huber", "delta": delta, "map": matrix(features), "offset": target.tolist()}
    body = {"domain": _ball("l2", features.shape[1], r), "penalties": [term]}
    return Drawn("huber regression", body, body)


def sparse_regression(rng: Rng, size: int) -> Drawn:
    logistic = bool(rng.random() < 0.5)
    features, target = _data(rng, size, logistic)
    (m, n), kind, r = features.shape, str(rng.choice(["l1", "simplex"])), float(10.0 ** rng.uniform(-1, 1))
    if logistic:
        target[:2] = [-1.0, 1.0]
        fit: Block = {"kind": "logistic", "map": matrix(features), "labels": target.tolist()}
    else:
        root = math.sqrt(m)
        fit = {"kind": "least-squares", "map": matrix(features / root), "target": (target / root).tolist()}
    x = _ball("l1", n, r) if kind == "l1" else {"kind": "simplex", "size": n, "radius": r}
    spec = {"template": "sparse-regression", **_table(features, target), "domain": kind, "radius": r}
    spec["loss"] = "logistic" if logistic else "least-squares"
    return Drawn("sparse logistic" if logistic else "sparse regression", spec, {"domain": x, "objective": fit})


def linear_program(cost: np.ndarray, rows: np.ndarray, right: np.ndarray, upper: float, kind: str) -> Drawn:
    spec = {
        "template": "linear-program",
        "cost": cost.tolist(),
        "matrix": rows.tolist(),
        "equals": right.tolist(),
        "upper": upper,
    }
    x = {"kind": "box", "lower": 0.0, "upper": upper, "size": len(cost)}
    term = {"kind": "equals", "map": matrix(rows), "value": right.tolist()}
    return Drawn(
        kind, spec, {"domain": x, "objective": {"kind": "linear", "cost": cost.tolist()}, "constraints": [term]}
    )


def transport(rng: Rng, size: int) -> Drawn:
    m, n = _whole(rng, 2, size // 2), _whole(rng, 2, size // 2)
    sums = np.vstack([np.kron(np.eye(m), np.ones((1, n))), np.kron(np.ones((1, m)), np.eye(n))])
    right = sums @ rng.random(m * n)
    return linear_program(rng.random(m * n), sums, right, float(right.max()), "transport")


def dense_program(rng: Rng, size: int) -> Drawn:
    n = _whole(rng, 2, 2 * size)
    rows = rng.standard_normal((_whole(rng, 1, max(1, n // 2)), n))
    return linear_program(rng.standard_normal(n), rows, rows @ rng.random(n), 2.0, "linear program")


def portfolio(rng: Rng, size: int) -> Drawn:
    n = _whole(rng, 5, size)
    factor, means = rng.standard_normal((n, 5)), 0.1 * rng.random(n)
    risk = 0.008 * factor @ factor.T + np.diag(0.01 + 0.02 * rng.random(n))
    earns = {"kind": "box", "map": matrix(means[None, :]), "lower": [float(np.quantile(means, rng.uniform(0.3, 0.75)))]}
    body: Block = {
        "domain": {"kind": "simplex", "size": n},
        "objective": {"kind": "quadratic", "matrix": (0.5 * (risk + risk.T)).tolist()},
        "constraints": [earns, {"kind": "box", "upper": max(0.15, 3.0 / n)}],
    }
    if rng.random() < 0.5:
        body["penalties"] = [{"kind": "l1", "scale": float(10.0 ** rng.uniform(-3, -1)), "offset": [1.0 / n] * n}]
    return Drawn("portfolio", body, body)


def total_variation(rng: Rng, size: int) -> Drawn:
    n = _whole(rng, 4, 2 * size)
    signal = np.repeat(rng.standard_normal(n // 4 + 1), 4)[:n] + 0.2 * rng.standard_normal(n)
    body = {
        "domain": {"kind": "box", "lower": -5.0, "upper": 5.0, "size": n},
        "objective": {"kind": "least-squares", "target": signal.tolist()},
        "penalties": [{"kind": "l1", "scale": float(10.0 ** rng.uniform(-2, 0.5)), "map": {"kind": "differences"}}],
    }
    return Drawn("total variation", body, body)


def projection(rng: Rng, size: int) -> Drawn:
    """Onto a polytope, or the intersection of two balls."""
    n = _whole(rng, 2, size)
    fit = {"kind": "least-squares", "target": (2.0 * rng.standard_normal(n)).tolist()}
    if rng.random() < 0.5:
        rows = rng.standard_normal((_whole(rng, 1, 2 * n), n))
        away = {"kind": "box", "map": matrix(rows), "upper": rng.random(len(rows)).tolist()}
        body: Block = {"domain": _ball("linf", n, 2.0), "objective": fit, "constraints": [away]}
        return Drawn("projection onto a polytope", body, body)
    domains = [_ball("l1", n, 0.3 * n), _ball(str(rng.choice(["linf", "l2"])), n, 0.7)]
    body = {"domains": domains, "objective": fit}
    if rng.random() < 0.5:
        one, other = domains
        body = {"domain": one, "objective": fit, "constraints": [{"kind": "in-domain", "domain": other}]}
    return Drawn("projection onto two balls", body, body)


def _adjacency(rng: Rng, n: int) -> np.ndarray:
    upper = np.triu(rng.random((n, n)) < rng.uniform(0.1, 0.6), 1)
    upper[0, 1] = True
    return (upper | upper.T).astype(float)


def lovasz_theta(rng: Rng, size: int) -> Drawn:
    n, nonnegative = _whole(rng, 3, min(size, 24)), bool(rng.random() < 0.5)
    graph = _adjacency(rng, n)
    edges = np.flatnonzero(np.triu(graph).reshape(-1))
    term = {"kind": "equals", "map": {"kind": "sampling", "indices": edges.tolist()}, "value": 0.0}
    body = {
        "domain": {"kind": "psd", "size": n, "radius": float(n), "trace": "equal"},
        "objective": {"kind": "linear", "cost": (-np.ones((n, n)) / n).tolist()},
        "constraints": [term, *([{"kind": "nonnegative"}] if nonnegative else [])],
    }
    spec = {"template": "lovasz-theta", "graph": graph.tolist(), "nonnegative": nonnegative}
    return Drawn("Lovasz theta, X >= 0" if nonnegative else "Lovasz theta", spec, body, -1.0)


def max_cut(rng: Rng, size: int) -> Drawn:
    n = _whole(rng, 3, min(size, 30))
    graph = _adjacency(rng, n)
    laplacian = np.diag(graph.sum(axis=1)) - graph
    body = {
        "domain": {"kind": "psd", "size": n, "radius": float(n), "trace": "equal"},
        "objective": {"kind": "linear", "cost": (-0.25 * laplacian).tolist()},
        "constraints": [{"kind": "equals", "map": {"kind": "diagonal"}, "value": 1.0}],
    }
    return Drawn("max-cut", {"template": "max-cut", "graph": graph.tolist()}, body, -1.0)


def _symmetric(rng: Rng, n: int) -> np.ndarray:
    a = rng.standard_normal((n, n))
    return 0.5 * (a + a.T)


def standard_sdp(rng: Rng, size: int) -> Drawn:
    n = _whole(rng, 2, min(size, 25))
    k, root = _whole(rng, 1, n), rng.standard_normal((n, n))
    point = root @ root.T
    point /= np.trace(point)
    each = np.array([_symmetric(rng, n) for _ in range(k)])
    at = np.einsum("kij,ij->k", each, point)
    equal = rng.random(k) < 0.6
    cost, r = _symmetric(rng, n), float(rng.choice([1.0, 1.3]))
    nonnegative = bool(rng.random() < 0.3 and (point >= 0).all())
    items, terms = [], []
    for a, b, is_equal in zip(each, at.tolist(), equal.tolist(), strict=True):
        items.append({"matrix": a.tolist(), **({"equals": b} if is_equal else {"upper": b + 0.1})})
        one = {"map": {"kind": "matrices", "matrices": [a.tolist()]}}
        terms.append(
            {"kind": "equals", **one, "value": [b]} if is_equal else {"kind": "box", **one, "upper": [b + 0.1]}
        )
    terms += [{"kind": "nonnegative"}] if nonnegative else []
    spec = {
        "template": "standard-sdp",
        "cost": cost.tolist(),
        "constraints": items,
        "radius": r,
        "nonnegative": nonnegative,
    }
    x = {"kind": "psd", "size": n, "radius": r}
    return Drawn(
        "standard SDP",
        spec,
        {"domain": x, "objective": {"kind": "linear", "cost": cost.tolist()}, "constraints": terms},
    )


def _low_rank(rng: Rng, size: int) -> np.ndarray:
    m, n, k = _whole(rng, 3, min(size, 16)), _whole(rng, 3, min(size, 16)), _whole(rng, 1, 3)
    return rng.standard_normal((m, k)) @ rng.standard_normal((k, n)) / math.sqrt(k)


def completion(rng: Rng, size: int) -> Drawn:
    full = _low_rank(rng, size)
    seen = np.flatnonzero(rng.random(full.size) < rng.uniform(0.3, 0.9))
    seen = seen if seen.size else np.array([0])
    noisy = full.reshape(-1)[seen] + 0.1 * rng.standard_normal(seen.size)
    r = float(np.linalg.svd(full, compute_uv=False).sum()) * float(rng.uniform(0.5, 1.0))
    ball = {"kind": "nuclear-ball", "shape": list(full.shape), "radius": r}
    fit: Block = {
        "kind": "least-squares",
        "map": {"kind": "sampling", "indices": seen.tolist()},
        "target": noisy.tolist(),
    }
    kind = str(rng.choice(["least squares", "signs", "split"]))
    if kind == "signs":
        fit = {"kind": "logistic", "map": fit["map"], "labels": np.where(noisy > 0, 1.0, -1.0).tolist()}
    body: Block = {"domain": ball, "objective": fit}
    if kind == "split":
        largest = {"kind": "linf-ball", "size": list(full.shape), "radius": 0.8 * float(np.abs(full).max())}
        body = {"domains": [ball, largest], "objective": fit}
    return Drawn(f"completion, {kind}", body, body)


def robust_pca(rng: Rng, size: int) -> Drawn:
    full = np.abs(_low_rank(rng, size))
    full /= full.max()
    seen = np.flatnonzero(rng.random(full.size) < 0.75)
    seen = seen if seen.size else np.array([0])
    noisy = full.reshape(-1)[seen]
    noisy = np.where(rng.random(seen.size) < 0.1, rng.integers(0, 2, seen.size), noisy)
    at: Block = {"kind": "sampling", "indices": seen.tolist()}
    r = float(np.linalg.svd(full, compute_uv=False).sum())
    body: Block = {"domain": {"kind": "nuclear-ball", "shape": list(full.shape), "radius": r}}
    body["constraints"] = [{"kind": "box", "lower": 0.0, "upper": 1.0}]
    if rng.random() < 0.5:
        body["penalties"] = [{"kind": "l1", "map": at, "offset": noisy.tolist()}]
        return Drawn("robust PCA, l1", body, body)
    body["objective"] = {"kind": "least-squares", "map": at, "target": noisy.tolist()}
    return Drawn("robust PCA, l2", body, body)


def denoising(rng: Rng, size: int) -> Drawn:
    full = _low_rank(rng, size)
    noisy = full + 0.2 * rng.standard_normal(full.shape)
    r = float(np.linalg.svd(full, compute_uv=False).sum())
    pairs = [[i, i + full.size] for i in range(full.size)]
    tv = {
        "kind": "group-norm",
        "groups": pairs,
        "scale": float(10.0 ** rng.uniform(-2, 0)),
        "map": {"kind": "differences"},
    }
    body: Block = {
        "domain": {"kind": "nuclear-ball", "shape": list(full.shape), "radius": r},
        "objective": {"kind": "least-squares", "target": noisy.tolist()},
        "penalties": [tv, *([{"kind": "l1", "scale": 0.05}] if rng.random() < 0.5 else [])],
    }
    return Drawn("low-rank denoising", body, body)


def nearest_correlation(rng: Rng, size: int) -> Drawn:
    n = _whole(rng, 2, min(size, 30))
    target = np.clip(_symmetric(rng, n), -1, 1)
    np.fill_diagonal(target, 1.0)
    body = {
        "domain": {"kind": "psd", "size": n, "radius": float(n), "trace": "equal"},
        "objective": {"kind": "least-squares", "target": target.tolist()},
        "constraints": [{"kind": "equals", "map": {"kind": "diagonal"}, "value": 1.0}],
    }
    return Drawn("nearest correlation", body, body)


def sparse_pca(rng: Rng, size: int) -> Drawn:
    n = _whole(rng, 3, min(size, 24))
    data = rng.standard_normal((2 * n, n)) @ (np.eye(n) + 0.5 * rng.standard_normal((n, n)))
    covariance = data.T @ data / len(data)
    x: Block = {"kind": "psd", "size": n, "trace": "equal"}
    if rng.random() < 0.5:
        x = {"kind": "fantope", "size": n, "rank": _whole(rng, 1, max(1, n // 3))}
    body: Block = {
        "domain": x,
        "objective": {"kind": "linear", "cost": (-0.5 * (covariance + covariance.T)).tolist()},
        "penalties": [{"kind": "l1", "scale": float(rng.uniform(0.1, 1.0))}],
    }
    if rng.random() < 0.3:
        body["constraints"] = [{"kind": "nonnegative"}]
    return Drawn("sparse PCA", body, body)


def clustering(rng: Rng, size: int) -> Drawn:
    n = _whole(rng, 4, min(size, 20))
    k = _whole(rng, 2, max(2, n // 3))
    points = rng.standard_normal((n, 2)) + 3.0 * rng.standard_normal((k, 2))[rng.integers(0, k, n)]
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    body: Block = {
        "domain": {"kind": "fantope-face", "size": n, "rank": k},
        "objective": {"kind": "linear", "cost": distances.tolist()},
        "constraints": [{"kind": "nonnegative"}],
    }
    return Drawn("k-means SDP", {"template": "kmeans-sdp", "points": points.tolist(), "clusters": k}, body)


def assignment(rng: Rng, size: int) -> Drawn:
    n = _whole(rng, 2, min(size, 16))
    rows = rng.random((_whole(rng, 1, 4), n * n))
    budget = {"kind": "box", "map": matrix(rows), "upper": (rows.sum(axis=1) / n * rng.uniform(0.8, 1.1)).tolist()}
    body: Block = {
        "domain": {"kind": "birkhoff", "size": n},
        "objective": {"kind": "linear", "cost": rng.random((n, n)).tolist()},
    }
    body["constraints"] = [budget]
    return Drawn("assignment", body, body)


def nuclear_l1(rng: Rng, size: int) -> Drawn:
    full = _low_rank(rng, size) * 1.0
    full[rng.random(full.shape) < 0.5] = 0.0
    r = float(np.linalg.svd(full, compute_uv=False).sum()) * 0.8 + 1e-3
    body: Block = {
        "domain": {"kind": "nuclear-ball", "shape": list(full.shape), "radius": r},
        "objective": {"kind": "least-squares", "target": (full + 0.1 * rng.standard_normal(full.shape)).tolist()},
        "penalties": [{"kind": "l1", "scale": float(10.0 ** rng.uniform(-2, 0))}],
    }
    return Drawn("nuclear + l1", body, body)


KINDS: dict[str, Callable[[Rng, int], Drawn]] = {
    make.__name__: make
    for make in (
        *(matrix_game, spectrahedron_game, max_affine, max_margin, elastic_net, group_lasso, robust_fit),
        *(huber_regression, sparse_regression, transport, dense_program, portfolio, total_variation, projection),
        *(lovasz_theta, max_cut, standard_sdp, completion, robust_pca, denoising, nearest_correlation, sparse_pca),
        *(clustering, assignment, nuclear_l1),
    )
}
