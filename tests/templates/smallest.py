"""Instances as small as they come, of every domain and every template, with their optima in any units.

An optimum is found apart from the solver, in units of one: by enumerating vertices, by linear programming, by a
formula, or by eigen- and singular values of NumPy. In other units it follows by homogeneity: with all data that the
objective is made of times u, it is u^a times as large; with all lengths (radii, targets, right-hand sides) times r, r^b
times.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog

from tests.templates.power_cases import case_text

Problem = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """make(u, r): the problem of a spec with its costs in units of u and its lengths in units of r. optimum: for u = 1
    and r = 1. size: of the objective there, which errors are relative to. powers: of u and r in the optimum. sense: -1
    for a maximum. refused: a part of the message for what has no solution to ask for, in place of an optimum.
    """

    name: str
    make: Callable[[float, float], Problem]
    optimum: float
    size: float
    powers: tuple[int, int] = (1, 0)
    sense: int = 1
    refused: str | None = None

    def units(self) -> list[tuple[float, float]]:
        """One, small and large, and of two kinds of units also one against the other."""
        cost, length = (power > 0 for power in self.powers)
        if cost and length:
            return [(1.0, 1.0), (1e-9, 1.0), (1.0, 1e9), (1e9, 1e-9)]
        return [(1.0, 1.0), *(((1e-9, 1.0), (1e9, 1.0)) if cost else ((1.0, 1e-9), (1.0, 1e9)) if length else ())]

    def extremes(self) -> list[tuple[float, float]]:
        """Those beyond what is computed with."""
        cost, length = (power > 0 for power in self.powers)
        return [(1e100, 1.0)] * cost + [(1.0, 1e100)] * length

    def scale(self, u: float, r: float) -> float:
        """The unit of the objective."""
        return u ** self.powers[0] * r ** self.powers[1]


# Domains. Of each: the spec in units of r; its vertices where they are finitely many, or else the support function; a
# point v that is the farthest in its own direction, so that it is the nearest one to 2 v.


@dataclass(frozen=True)
class Body:
    """shape of a point. support(c): max <c, x>, by a formula. far: a point v with <v, v> = support(v)."""

    name: str
    spec: Callable[[float], Problem]
    shape: tuple[int, ...]
    support: Callable[[np.ndarray], float]
    far: np.ndarray
    vertices: np.ndarray | None = None
    lengths: int = 1


def _hull(name: str, spec: Callable[[float], Problem], vertices: list, lengths: int = 1) -> Body:
    points = np.array(vertices, dtype=float)
    flat = points.reshape(len(points), -1)
    far = points[int(np.argmax(np.square(flat).sum(axis=1)))]
    return Body(name, spec, points.shape[1:], lambda c: float((flat @ c.reshape(-1)).max()), far, flat, lengths)


def _ball(name: str, spec: Callable[[float], Problem], shape, norm: Callable[[np.ndarray], float], far) -> Body:
    return Body(name, spec, tuple(shape), norm, np.array(far, dtype=float))


def _unit(n: int, i: int, value: float = 1.0) -> list[float]:
    return [value if j == i else 0.0 for j in range(n)]


def _sum_of_largest(count: int, matrix: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[::-1][:count].sum())


def _face(count: int, matrix: np.ndarray) -> float:
    """max <C, X> over X = 1 1^T / n + Q Y Q^T, Y of trace k - 1 with eigenvalues in [0, 1]."""
    n = matrix.shape[0]
    ones = np.ones((n, 1)) / np.sqrt(n)
    basis = np.linalg.svd(ones, full_matrices=True)[0][:, 1:]
    inner = basis.T @ (0.5 * (matrix + matrix.T)) @ basis
    return float((ones.T @ matrix @ ones).item()) + _sum_of_largest(count - 1, inner)


def bodies() -> list[Body]:
    """Every domain at its smallest."""
    found = [
        _hull("simplex 1 x 2", lambda r: {"kind": "simplex", "size": [1, 2], "radius": r}, [[[1.0, 0.0]], [[0.0, 1.0]]])
    ]
    found.append(
        _hull(
            "polytope",
            lambda r: {"kind": "polytope", "matrix": [[1, 1], [-1, 0], [0, -1]], "at_most": [2.0 * r, 0.0, 0.0]},
            [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]],
        )
    )
    for n in (1, 2):
        corners = [list(signs) for signs in itertools.product((-1.0, 1.0), repeat=n)]
        axes = [_unit(n, i) for i in range(n)]
        both = axes + [_unit(n, i, -1.0) for i in range(n)]
        found += [
            _hull(f"simplex {n}", lambda r, n=n: {"kind": "simplex", "size": n, "radius": r}, axes),
            _hull(
                f"simplex at most {n}",
                lambda r, n=n: {"kind": "simplex", "size": n, "radius": r, "sum": "at-most"},
                [*axes, [0.0] * n],
            ),
            _hull(f"l1-ball {n}", lambda r, n=n: {"kind": "l1-ball", "size": n, "radius": r}, both),
            _hull(f"linf-ball {n}", lambda r, n=n: {"kind": "linf-ball", "size": n, "radius": r}, corners),
            _ball(
                f"l2-ball {n}",
                lambda r, n=n: {"kind": "l2-ball", "size": n, "radius": r},
                (n,),
                lambda c: float(np.linalg.norm(c)),
                np.ones(n) / np.sqrt(n),
            ),
            _hull(
                f"box {n}",
                lambda r, n=n: {"kind": "box", "lower": [-1.0 * r, 0.0][:n], "upper": [2.0 * r, 3.0 * r][:n]},
                [list(point) for point in itertools.product((-1.0, 2.0), (0.0, 3.0))] if n == 2 else [[-1.0], [2.0]],
            ),
            _hull(
                f"a box of one point {n}",
                lambda r, n=n: {"kind": "box", "lower": [0.5 * r] * n, "upper": [0.5 * r] * n},
                [[0.5] * n],
            ),
            _ball(
                f"one group {n}",
                lambda r, n=n: {"kind": "group-l1-ball", "groups": [list(range(n))], "radius": r},
                (n,),
                lambda c: float(np.linalg.norm(c)),
                _unit(n, 0),
            ),
            _hull(
                f"groups of one {n}",
                lambda r, n=n: {"kind": "group-l1-ball", "groups": [[i] for i in range(n)], "radius": r},
                both,
            ),
            _ball(
                f"latent group {n}",
                lambda r, n=n: {"kind": "latent-group-ball", "groups": [list(range(n)), [n - 1]], "radius": r},
                (n,),
                lambda c: float(np.linalg.norm(c)),
                _unit(n, 0),
            ),
            _ball(
                f"psd {n}",
                lambda r, n=n: {"kind": "psd", "size": n, "radius": r, "trace": "equal"},
                (n, n),
                lambda c: _sum_of_largest(1, c),
                np.diag(_unit(n, 0)),
            ),
            _ball(
                f"psd at most {n}",
                lambda r, n=n: {"kind": "psd", "size": n, "radius": r},
                (n, n),
                lambda c: max(0.0, _sum_of_largest(1, c)),
                np.diag(_unit(n, 0)),
            ),
            _ball(
                f"blocks of one {n}",
                lambda r, n=n: {"kind": "psd-blocks", "sizes": [-1] * n, "radius": r, "trace": "equal"},
                (n,),
                lambda c: float(c.max()),
                _unit(n, 0),
            ),
            _ball(
                f"a block and a number at most {n}",
                lambda r, n=n: {"kind": "psd-blocks", "sizes": [n, -1], "radius": r},
                (n * n + 1,),
                lambda c, n=n: max(0.0, float(c[-1]), _sum_of_largest(1, c[:-1].reshape(n, n))),
                _unit(n * n + 1, 0),
            ),
            Body(
                f"fantope of all {n}",
                lambda r, n=n: {"kind": "fantope", "size": n, "rank": n},
                (n, n),
                lambda c: float(np.trace(c)),
                np.eye(n),
                lengths=0,
            ),
            _hull(
                f"product {n}",
                lambda r, n=n: {
                    "kind": "product",
                    "blocks": [
                        {"kind": "simplex", "size": 1, "radius": r},
                        {"kind": "l1-ball", "size": n, "radius": r},
                    ],
                },
                [[1.0, *point] for point in both],
            ),
            _hull(
                f"birkhoff {n}",
                lambda r, n=n: {"kind": "birkhoff", "size": n},
                [np.eye(n)[list(columns)].tolist() for columns in itertools.permutations(range(n))],
                lengths=0,
            ),
        ]
    for length, labels in ((1, 2), (2, 1), (2, 2)):
        paths = itertools.product(range(labels), repeat=length)
        found.append(
            _hull(
                f"chain-marginals {length} of {labels}",
                lambda r, size=(length, labels): {"kind": "chain-marginals", "length": size[0], "labels": size[1]},
                [
                    np.concatenate(
                        [np.eye(labels)[list(y)].ravel(), *(np.eye(labels**2)[labels * a + b] for a, b in pairwise(y))]
                    )
                    for y in paths
                ],
                lengths=0,
            )
        )
    for rows, columns in ((1, 1), (1, 2), (2, 1), (2, 2)):
        found.append(
            _ball(
                f"nuclear-ball {rows} x {columns}",
                lambda r, shape=(rows, columns): {"kind": "nuclear-ball", "shape": list(shape), "radius": r},
                (rows, columns),
                lambda c: float(np.linalg.norm(c, 2)),
                np.eye(rows, 1) @ np.eye(1, columns),
            )
        )
    found.append(
        Body(
            "fantope of one of 2",
            lambda r: {"kind": "fantope", "size": 2, "rank": 1},
            (2, 2),
            lambda c: _sum_of_largest(1, c),
            np.diag([1.0, 0.0]),
            lengths=0,
        )
    )
    for n, count in ((2, 2), (3, 2), (3, 3)):
        # X is 1 1^T / n and the projection onto some more directions of its complement.
        whole = np.full((n, n), 1.0 / n)
        whole += np.eye(n) - whole if count == n else 0.5 * np.outer([1.0, -1.0, 0.0], [1.0, -1.0, 0.0])
        found.append(
            Body(
                f"fantope-face {n} of {count}",
                lambda r, n=n, count=count: {"kind": "fantope-face", "size": n, "rank": count},
                (n, n),
                lambda c, count=count: _face(count, c),
                whole,
                lengths=0,
            )
        )
    return found


def _costs(shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Of both signs, zero, and with all entries equal."""
    cost = np.array([1.0, -2.0, 0.5, 3.0, -1.0, 0.25, 2.0, -0.5, 1.5])[: int(np.prod(shape))].reshape(shape)
    if len(shape) == 2 and shape[0] == shape[1]:
        cost = 0.5 * (cost + cost.T)
    costs = {"plain": cost, "zero": np.zeros(shape)}
    return costs if cost.size == 1 else {**costs, "equal": np.ones(shape)}


def losses() -> list[Case]:
    """Every domain with every loss, and no terms."""
    found = []
    for body in bodies():
        for name, cost in _costs(body.shape).items():
            found.append(
                Case(
                    f"{body.name}, linear, {name}",
                    lambda u, r, body=body, cost=cost: {
                        "domain": body.spec(r),
                        "objective": {"kind": "linear", "cost": (u * cost).tolist()},
                    },
                    -body.support(-cost),
                    max(1.0, float(np.linalg.norm(cost) * np.linalg.norm(body.far))),
                    # Zero has no unit.
                    (1, body.lengths) if cost.any() else (0, 0),
                )
            )
        square = float(np.square(body.far).sum())
        target, size = 2.0 * body.far, 2.0 * square
        found += [
            Case(
                f"{body.name}, least squares",
                lambda u, r, body=body, target=target: {
                    "domain": body.spec(r),
                    "objective": {"kind": "least-squares", "target": (r * target).tolist()},
                },
                0.5 * square,
                size,
                (0, 2 * body.lengths),
            ),
            Case(
                f"{body.name}, quadratic",
                # q |x|^2 / 2 - 2 q <v, x> = q |x - 2 v|^2 / 2 - 2 q |v|^2
                lambda u, r, body=body: {
                    "domain": body.spec(r),
                    "objective": {"kind": "quadratic", "matrix": u, "linear": (-2.0 * u * r * body.far).tolist()},
                },
                -1.5 * square,
                size,
                (1, 2 * body.lengths),
            ),
        ]
        # The mean of log(1 + exp(-b x)) over entries that may all be at most h, and of which only one counts.
        if (body.vertices is None and body.shape == (1,)) or body.shape == (1, 1):
            high = body.support(np.ones(body.shape))
            found.append(
                Case(
                    f"{body.name}, logistic",
                    lambda u, r, body=body: {
                        "domain": body.spec(1.0),
                        "objective": {"kind": "logistic", "labels": [1.0]},
                    },
                    float(np.log1p(np.exp(-high))),
                    1.0,
                    (0, 0),
                )
            )
    # |x|^2 / 2 - 2 x_1, which is least at a vertex.
    found.append(
        Case(
            "simplex, factored quadratic",
            lambda u, r: {
                "domain": {"kind": "simplex", "size": 2, "radius": r},
                "objective": {
                    "kind": "factored-quadratic",
                    "factor": (np.sqrt(u) * np.eye(2)).tolist(),
                    "linear": [-2.0 * u * r, 0.0],
                },
            },
            -1.5,
            2.0,
            (1, 2),
        )
    )
    # -log(x_1 x_2), which other units move and do not multiply.
    found.append(
        Case(
            "simplex, log-det",
            lambda u, r: {
                "domain": {"kind": "simplex", "size": 2},
                "objective": {"kind": "log-det", "vectors": [[1.0, 0.0], [0.0, 1.0]]},
            },
            2.0 * float(np.log(2.0)),
            1.0,
            (0, 0),
        )
    )
    return found


# Terms, over hulls of finitely many points: penalties are maxima of affine functions, sets are polyhedra.

Affine = tuple[np.ndarray, np.ndarray]
"""The rows and constants of affine functions of z."""


def _penalties(n: int) -> dict[str, tuple[Callable[[float, float], Problem], list[Affine]]]:
    """Of n entries: the spec, and the maxima whose sum it is, for u = r = 1."""
    one, corners = np.eye(n), np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    nothing = np.zeros(2)
    pairs = [(np.array([row, -row]), nothing) for row in one]
    shift = np.array([0.3, -0.2])[:n]
    found = {"l2": (lambda u, r: {"kind": "l2", "scale": u}, pairs)} if n == 1 else {}
    return found | {
        # max(0, r - z)
        "hinge": (
            lambda u, r: {
                "kind": "hinge",
                "scale": u * r,
                "map": {"kind": "matrix", "matrix": (one / r).tolist()},
            },
            [(np.array([-row, 0.0 * row]), np.array([1.0, 0.0])) for row in one],
        ),
        "l1": (lambda u, r: {"kind": "l1", "scale": u}, pairs),
        "weighted l1": (
            lambda u, r: {"kind": "l1", "scale": u, "weights": [0.5 * i for i in range(n)]},
            [(0.5 * i * rows, nothing) for i, (rows, _) in enumerate(pairs)],
        ),
        "linf": (lambda u, r: {"kind": "linf", "scale": u}, [(np.vstack([one, -one]), np.zeros(2 * n))]),
        "quantile": (
            lambda u, r: {"kind": "quantile", "scale": u, "q": 0.25},
            [(np.array([-0.25 * row, 0.75 * row]), nothing) for row in one],
        ),
        "epsilon-insensitive": (
            lambda u, r: {"kind": "epsilon-insensitive", "scale": u, "epsilon": 0.25 * r},
            [(np.array([row, -row, 0.0 * row]), np.array([-0.25, -0.25, 0.0])) for row in one],
        ),
        "max": (lambda u, r: {"kind": "max", "scale": u}, [(one, np.zeros(n))]),
        "l1 moved": (
            lambda u, r: {"kind": "l1", "scale": u, "offset": (r * shift).tolist()},
            [(rows, -rows @ shift) for rows, _ in pairs],
        ),
        "groups of one": (
            lambda u, r: {"kind": "group-norm", "scale": u, "groups": [[i] for i in range(n)]},
            pairs,
        ),
        "support": (
            lambda u, r: {"kind": "support", "scale": u, "set": {"kind": "l1-ball"}},
            [(np.vstack([one, -one]), np.zeros(2 * n))],
        ),
        "support of a box": (
            lambda u, r: {"kind": "support", "scale": u, "set": {"kind": "box", "lower": -1.0, "upper": 1.0}},
            [(corners, np.zeros(len(corners)))],
        ),
        "support of a simplex": (
            lambda u, r: {"kind": "support", "scale": u, "set": {"kind": "simplex", "sum": "at-most"}},
            [(np.vstack([one, np.zeros((1, n))]), np.zeros(n + 1))],
        ),
    }


def _sets(
    n: int, middle: np.ndarray
) -> dict[str, tuple[Callable[[float, float], Problem], list[Affine], list[Affine]]]:
    """Of n entries, all of them with the point `middle`: the spec, rows z <= constant, and rows z = constant."""
    one, corners = np.eye(n), np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    size, total = float(np.abs(middle).sum()), float(middle.sum())
    found = {
        "equals": (lambda u, r: {"kind": "equals", "value": (r * middle).tolist()}, [], [(one, middle)]),
        "equal sums": (
            lambda u, r: {
                "kind": "equals",
                "value": r * total,
                "map": {"kind": "matrix", "matrix": [[1.0] * n]},
            },
            [],
            [(np.ones((1, n)), np.array([total]))],
        ),
        "box": (
            lambda u, r: {
                "kind": "box",
                "lower": (r * (middle - 0.1)).tolist(),
                "upper": (r * (middle + 0.1)).tolist(),
            },
            [(np.vstack([one, -one]), np.concatenate([middle + 0.1, 0.1 - middle]))],
            [],
        ),
        "a box of one point": (
            lambda u, r: {"kind": "box", "lower": (r * middle).tolist(), "upper": (r * middle).tolist()},
            [],
            [(one, middle)],
        ),
        "l1-ball": (
            lambda u, r: {"kind": "l1-ball", "radius": r * (size + 0.1)},
            [(corners, np.full(len(corners), size + 0.1))],
            [],
        ),
        "l1-ball moved": (
            lambda u, r: {"kind": "l1-ball", "radius": 0.1 * r, "offset": (r * middle).tolist()},
            [(corners, corners @ middle + 0.1)],
            [],
        ),
    }
    if n == 1:
        found["l2-ball"] = (lambda u, r: {"kind": "l2-ball", "radius": r * (size + 0.1)}, *found["l1-ball"][1:])
    if np.all(middle >= 0.0):
        found["nonnegative"] = (lambda u, r: {"kind": "nonnegative"}, [(-one, np.zeros(n))], [])
        if total > 0.0:
            found["simplex"] = (
                lambda u, r: {"kind": "simplex", "radius": r * total},
                [(-one, np.zeros(n))],
                [(np.ones((1, n)), np.array([total]))],
            )
            found["in-domain"] = (
                lambda u, r: {"kind": "in-domain", "domain": {"kind": "simplex", "size": n, "radius": r * total}},
                [(-one, np.zeros(n))],
                [(np.ones((1, n)), np.array([total]))],
            )
    return found


def polyhedral(
    vertices: np.ndarray, cost: np.ndarray, maxima: list[Affine], below: list[Affine], equal: list[Affine]
) -> float:
    """min <c, x> + the sum of maxima over the hull of the vertices (m, n) and the sets, by HiGHS: x = sum w_j v_j."""
    count, extra = len(vertices), len(maxima)
    rows, right = [], []
    for number, (a, constant) in enumerate(maxima):
        rows.append(np.hstack([a @ vertices.T, -np.eye(extra)[[number] * len(a)]]))
        right.append(-constant)
    for a, constant in below:
        rows.append(np.hstack([a @ vertices.T, np.zeros((len(a), extra))]))
        right.append(constant)
    equations, values = [np.append(np.ones(count), np.zeros(extra))[None]], [np.ones(1)]
    for a, constant in equal:
        equations.append(np.hstack([a @ vertices.T, np.zeros((len(a), extra))]))
        values.append(constant)
    found = linprog(
        np.append(vertices @ cost, np.ones(extra)),
        np.vstack(rows) if rows else None,
        np.concatenate(right) if rows else None,
        np.vstack(equations),
        np.concatenate(values),
        bounds=[(0, None)] * count + [(None, None)] * extra,
    )
    assert found.status == 0, found.message
    return float(found.fun)


def terms() -> list[Case]:
    """Every kind of term over domains with finitely many vertices, and over matrices of one entry."""
    chosen = ("simplex 1", "simplex 2", "box 2", "a box of one point 1", "psd at most 1", "nuclear-ball 1 x 1")
    found = []
    for body in (body for body in bodies() if body.name in chosen):
        n = int(np.prod(body.shape))
        vertices = body.vertices
        if vertices is None:
            vertices = np.array([[-body.support(-np.ones(body.shape))], [body.support(np.ones(body.shape))]])
        cost = _costs((n,))["plain"]
        size = float(np.abs(vertices @ cost).max()) + float(np.abs(vertices).sum(axis=1).max())
        lone = len(body.shape) == 2
        for name, (make, maxima) in _penalties(n).items():
            if lone and name == "groups of one":
                continue
            found.append(
                Case(
                    f"{body.name}, {name}",
                    lambda u, r, body=body, make=make, cost=cost: {
                        "domain": body.spec(r),
                        "objective": {"kind": "linear", "cost": (u * cost.reshape(body.shape)).tolist()},
                        "penalties": [_shaped(make(u, r), body.shape)],
                    },
                    polyhedral(vertices, cost, maxima, [], []),
                    size,
                    (1, 1),
                )
            )
        middle = vertices.mean(axis=0)
        for name, (make, below, equal) in _sets(n, middle).items():
            found.append(
                Case(
                    f"{body.name}, {name}",
                    lambda u, r, body=body, make=make, cost=cost: {
                        "domain": body.spec(r),
                        "objective": {"kind": "linear", "cost": (u * cost.reshape(body.shape)).tolist()},
                        "constraints": [_shaped(make(u, r), body.shape)],
                    },
                    polyhedral(vertices, cost, [], below, equal),
                    size,
                    (1, 1),
                )
            )
    return found + _hubers()


def _hubers() -> list[Case]:
    """min c x + h(x) over -1 <= x <= 2, which is no polyhedron's: at x = -c d where that is inside and |c| < 1, else at
    the end it lies beyond.
    """
    return [
        Case(
            f"huber {c:g}, {d:g}",
            lambda u, r, c=c, d=d: {
                "domain": {"kind": "box", "lower": [-1.0 * r], "upper": [2.0 * r]},
                "objective": {"kind": "linear", "cost": [u * c]},
                "penalties": [{"kind": "huber", "scale": u, "delta": r * d}],
            },
            optimum,
            4.0,
            (1, 1),
        )
        for c, d, optimum in ((0.5, 1.0, -0.125), (-0.5, 1.0, -0.125), (0.5, 4.0, -0.375), (2.0, 0.25, -1.125))
    ]


def _shaped(term: Problem, shape: tuple[int, ...]) -> Problem:
    """A term of a vector for points that are matrices of one entry."""
    if len(shape) == 1:
        return term
    if term["kind"] == "in-domain":
        return {**term, "map": {"kind": "sampling", "indices": [0]}}
    return {
        key: [value] if key in ("value", "lower", "upper", "offset", "weights") and isinstance(value, list) else value
        for key, value in term.items()
    }


# Templates.


def _graph(folder: Path, name: str, nodes: int, edges: list[tuple[int, int, float]], unit: float = 1.0) -> str:
    """The name of a file in the format of the G-set."""
    path = folder / f"{name}-{unit:g}.txt"
    lines = [f"{nodes} {len(edges)}", *(f"{i} {j} {weight * unit!r}" for i, j, weight in edges)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def graphs(folder: Path) -> list[Case]:
    """max-cut and lovasz-theta of graphs of which both are known in closed form."""
    found = []
    weighted = {
        # The relaxation is tight for bipartite graphs; 9/4 for the triangle; an edge of negative weight is never cut.
        "one edge": (2, [(1, 2, 1.0)], 1.0),
        "one edge of weight -1": (2, [(1, 2, -1.0)], 0.0),
        "one edge and a lone node": (3, [(1, 2, 1.0)], 1.0),
        "a path": (3, [(1, 2, 1.0), (2, 3, 2.0)], 3.0),
        "a triangle": (3, [(1, 2, 1.0), (2, 3, 1.0), (1, 3, 1.0)], 2.25),
    }
    for name, (nodes, edges, optimum) in weighted.items():
        found.append(
            Case(
                f"max-cut, {name}",
                lambda u, r, name=name, nodes=nodes, edges=edges: {
                    "template": "max-cut",
                    "graph": {"file": _graph(folder, name, nodes, edges, u)},
                },
                optimum,
                sum(abs(weight) for *_, weight in edges),
                sense=-1,
            )
        )
    # Perfect graphs have the number of an independent set.
    plain = {"one edge": (2, 1), "one edge and a lone node": (3, 2), "a path": (3, 2), "a triangle": (3, 1)}
    for name, (nodes, optimum) in plain.items():
        edges = [(i, j, 1.0) for i, j, _ in weighted[name][1]]
        for nonnegative in (False, True):
            found.append(
                Case(
                    f"lovasz-theta, {name}{', nonnegative' if nonnegative else ''}",
                    lambda u, r, name=name, nodes=nodes, edges=edges, nonnegative=nonnegative: {
                        "template": "lovasz-theta",
                        "graph": {"file": _graph(folder, f"{name} plain", nodes, edges)},
                        "nonnegative": nonnegative,
                    },
                    float(optimum),
                    float(nodes),
                    (0, 0),
                    -1,
                )
            )
    ring = [(1, 2, -1.0), (2, 3, -1.0), (1, 3, -1.0)]
    pairs = [(1, 2, 1.0), (3, 4, 1.0)]
    parted: dict[str, tuple[Problem, int, list, float, int]] = {
        # All in one has a modularity of zero, and two that are not joined have that of halves, 1 - 1/2.
        "one edge, modularity": ({}, 2, [(1, 2, 1.0)], 0.0, 0),
        "two edges, modularity": ({}, 4, pairs, 0.5, 0),
        "two edges, modularity of two": ({"communities": 2}, 4, pairs, 0.5, 0),
        "an edge of weight -1": ({"criterion": "weight"}, 2, [(1, 2, -1.0)], 0.0, 1),
        # Vectors at 120 degrees have Y_ij = -1/2, X_ij = 1/4 of two communities, and 0 of three.
        "a ring of weight -1, two": ({"criterion": "weight", "communities": 2}, 3, ring, -0.75, 1),
        "a ring of weight -1, three": ({"criterion": "weight", "communities": 3}, 3, ring, 0.0, 1),
        "two edges, equal sizes": ({"criterion": "equal-sizes", "communities": 2}, 4, pairs, 2.0, 1),
        "a node each": ({"criterion": "equal-sizes", "communities": 3}, 3, ring, 0.0, 1),
        "an odd number": ({"criterion": "equal-sizes", "communities": 2}, 3, [(1, 2, 1.0)], 1.0, 1),
    }
    found += [
        Case(
            f"community-detection, {name}",
            lambda u, r, name=name, fields=fields, nodes=nodes, edges=edges: {
                "template": "community-detection",
                "graph": {"file": _graph(folder, f"parted {name}", nodes, edges, u)},
                **fields,
            },
            optimum,
            sum(abs(weight) for *_, weight in edges) if power else 1.0,
            (power, 0),
            -1,
        )
        for name, (fields, nodes, edges, optimum, power) in parted.items()
    ]
    halved = {
        "one edge": (2, [(1, 2, 1.0)], 1.0),
        "one edge and a lone node": (3, [(1, 2, 1.0)], 0.0),
        "two edges": (4, pairs, 0.0),
        "two edges of weight -1": (4, [(1, 2, -1.0), (3, 4, -1.0)], -2.0),
    }
    found += [
        Case(
            f"minimum-bisection, {name}",
            lambda u, r, name=name, nodes=nodes, edges=edges: {
                "template": "minimum-bisection",
                "graph": {"file": _graph(folder, f"halved {name}", nodes, edges, u)},
            },
            optimum,
            sum(abs(weight) for *_, weight in edges),
        )
        for name, (nodes, edges, optimum) in halved.items()
    ]
    for template in ("max-cut", "lovasz-theta", "community-detection", "minimum-bisection"):
        for nodes in (1, 2):
            found.append(
                Case(
                    f"{template}, {nodes} nodes without an edge",
                    lambda u, r, template=template, nodes=nodes: {
                        "template": template,
                        "graph": {"file": _graph(folder, "bare", nodes, [])},
                    },
                    np.nan,
                    1.0,
                    refused="no edges",
                )
            )
    return found


def clusterings() -> list[Case]:
    """kmeans-sdp over each of its domains: <D, X> is twice the value of the clustering, which is found by hand."""
    far = [[0.0], [1.0], [10.0]]
    points = {
        "one point": ([[3.0]], 1, 0.0),
        "two points, one cluster": ([[0.0], [1.0]], 1, 1.0),
        "two points, two clusters": ([[0.0], [1.0]], 2, 0.0),
        "two equal points, one cluster": ([[2.0], [2.0]], 1, 0.0),
        "two equal points, two clusters": ([[2.0], [2.0]], 2, 0.0),
        "three points, two clusters": (far, 2, 1.0),
        "three equal points, two clusters": ([[1.0, 1.0]] * 3, 2, 0.0),
        "three points, three clusters": (far, 3, 0.0),
    }
    return [
        Case(
            f"kmeans-sdp {domain}, {name}",
            lambda u, r, domain=domain, x=x, k=k: {
                "template": "kmeans-sdp",
                "domain": domain,
                "points": (r * np.array(x)).tolist(),
                "clusters": k,
                "restarts": 3,
            },
            optimum,
            max(1.0, float(np.ptp(x)) ** 2),
            # Equal points have distances without a unit.
            (0, 2) if np.ptp(x) > 0.0 else (0, 0),
        )
        for domain in ("fantope-face", "fantope", "trace")
        for name, (x, k, optimum) in points.items()
    ]


def pictures(folder: Path) -> list[Case]:
    """Images and matrices: those too small for SSIM are refused, and those of one grey level."""
    found = []
    images = {
        "one pixel": (np.array([[0.5]]), "SSIM needs at least 7 pixels"),
        "one row": (np.linspace(0.0, 1.0, 9)[None], "SSIM needs at least 7 pixels"),
        "black": (np.zeros((7, 7)), "every pixel is 0"),
        "grey": (np.full((7, 7), 0.5), "every pixel is 0.5"),
    }
    for name, (pixels, refused) in images.items():
        path = folder / f"{name.replace(' ', '-')}.npy"
        np.save(path, pixels)
        for template in ("robust-pca", "low-rank-denoising"):
            found.append(
                Case(
                    f"{template}, {name}",
                    lambda u, r, template=template, path=path: {"template": template, "image": {"file": str(path)}},
                    np.nan,
                    1.0,
                    (0, 0),
                    refused=refused,
                )
            )
    one = np.outer(np.eye(1, 7)[0], np.linspace(0.0, 1.0, 7))
    np.save(folder / "line.npy", one)
    for loss in ("l1", "l2"):
        # All pixels are known and nothing is added to them: the image itself is feasible and has the loss zero.
        found.append(
            Case(
                f"robust-pca, one line, {loss}",
                lambda u, r, loss=loss: {
                    "template": "robust-pca",
                    "image": {"file": str(folder / "line.npy")},
                    "loss": loss,
                    "missing": 0.0,
                    "noise": 0.0,
                },
                0.0,
                float(np.abs(one).sum()),
                (0, 0),
            )
        )
    found += [
        Case(
            f"low-rank-denoising, one line, {name}",
            lambda u, r, fields=fields: {
                "template": "low-rank-denoising",
                "image": {"file": str(folder / "line.npy")},
                "noise": 0.0,
                **fields,
            },
            optimum,
            float(np.square(one).sum() + 5.0 * np.abs(one).sum()),
            (0, 0),
        )
        for name, fields, optimum in (
            ("no penalty", {"tv": 0.0}, 0.0),
            # What is left of the one singular value s is r: (s - r)^2 / 2.
            ("a small ball", {"tv": 0.0, "radius": 0.5}, 0.5 * (float(np.linalg.norm(one)) - 0.5) ** 2),
            # So dear that zero is best, for l1 by soft thresholds, since |D^T p| <= 4 for |p| <= 1.
            ("a dear norm", {"tv": 0.0, "l1": 5.0}, 0.5 * float(np.square(one).sum())),
            ("a dear norm and variation", {"tv": 1.0, "l1": 5.0}, 0.5 * float(np.square(one).sum())),
        )
    ]
    matrices = {
        "one entry": np.array([[2.0]]),
        "one row": np.array([[1.0, 2.0, -2.0]]),
        "one column": np.array([[1.0], [2.0], [-2.0]]),
        "equal columns": np.ones((2, 2)),
    }
    for name, matrix in matrices.items():
        # With every entry known, of a matrix of rank one, what is left is its singular value less the radius.
        value = float(np.linalg.norm(matrix, 2))
        for radius in (True, 1.0):
            found.append(
                Case(
                    f"matrix-completion, {name}, {'its own norm' if radius is True else 'radius 1'}",
                    lambda u, r, matrix=matrix, radius=radius: {
                        "template": "matrix-completion",
                        "matrix": (r * matrix).tolist(),
                        "missing": 0.0,
                        "radius": True if radius is True else r,
                    },
                    0.0 if radius is True else 0.5 * (value - 1.0) ** 2,
                    value**2,
                    (0, 2),
                )
            )
    for radius in (True, 1.0):
        found.append(
            Case(
                f"matrix-completion, zero, {'its own norm' if radius is True else 'radius 1'}",
                lambda u, r, radius=radius: {
                    "template": "matrix-completion",
                    "matrix": [[0.0, 0.0]],
                    "missing": 0.0,
                    "radius": True if radius is True else r,
                },
                0.0,
                1.0,
                (0, 0) if radius is True else (0, 2),
            )
        )
    found.append(
        Case(
            "matrix-completion, one sign",
            lambda u, r: {
                "template": "matrix-completion",
                "matrix": [[1.0]],
                "missing": 0.0,
                "radius": 2.0,
                "loss": "logistic",
            },
            float(np.log1p(np.exp(-2.0))),
            1.0,
            (0, 0),
        )
    )
    return found


def regressions() -> list[Case]:
    """Linear models of one sample, of one feature, of equal features and of a target of zero: w = 2 fits exactly."""
    tables = {
        "one sample": ([[2.0]], [4.0]),
        "one sample of two features": ([[2.0, 0.0]], [4.0]),
        "equal features": ([[1.0, 1.0], [1.0, 1.0]], [2.0, 2.0]),
        "equal samples": ([[1.0], [1.0], [1.0]], [2.0, 2.0, 2.0]),
        "a feature of zeros": ([[1.0, 0.0], [-1.0, 0.0]], [2.0, -2.0]),
        "no target": ([[1.0], [2.0]], [0.0, 0.0]),
        "no features": ([[0.0], [0.0]], [1.0, -1.0]),
    }
    found = []
    for name, (features, target) in tables.items():
        a, y = np.array(features), np.array(target)
        # All of w in the first feature is best, as far as any is: the features are multiples of the first.
        column, m = a[:, 0], len(y)
        square, product = float(column @ column), float(column @ y)
        best = product / square if square > 0.0 else 0.0

        def table(u, r, a=a, y=y):
            return {"data": {"features": a.tolist(), "target": (r * y).tolist()}, "standardise": False}

        def least(w, column=column, y=y, m=m):
            return float(np.square(column * w - y).sum()) / (2 * m)

        size = float(np.square(y).sum()) + square
        for domain in ("l1", "simplex"):
            # A simplex of one entry is a point.
            weight = 1.0 if domain == "simplex" and a.shape[1] == 1 else min(best, 1.0)
            found.append(
                Case(
                    f"sparse-regression {domain}, {name}",
                    lambda u, r, table=table, domain=domain: {
                        "template": "sparse-regression",
                        "domain": domain,
                        "radius": r,
                        **table(u, r),
                    },
                    least(weight),
                    size,
                    (0, 2),
                )
            )
        # One group of all: the shortest w with a fit of t has |w| = t / sqrt(d) where d features are equal.
        spread = np.sqrt(2.0) if name == "equal features" else 1.0
        groups = [list(range(a.shape[1]))]
        found += [
            Case(
                f"group-lasso, {name}",
                lambda u, r, table=table, groups=groups: {
                    "template": "group-lasso",
                    "groups": groups,
                    "radius": r,
                    **table(u, r),
                },
                least(min(best, spread)),
                size,
                (0, 2),
            ),
            Case(
                f"least-absolute-deviations, {name}",
                lambda u, r, table=table: {"template": "least-absolute-deviations", "radius": r, **table(u, r)},
                float(np.abs(column * min(best, 1.0) - y).mean()),
                size,
                (0, 1),
            ),
        ]
        for ridge in (0.0, 0.5):
            # With equal features it is best to share, which halves the ridge.
            share = 0.5 if name == "equal features" else 1.0
            curvature = square / m + ridge * share
            w = max(0.0, product / m - 0.1) / curvature if curvature > 0.0 else 0.0
            found.append(
                Case(
                    f"elastic-net, ridge {ridge:g}, {name}",
                    lambda u, r, table=table, ridge=ridge: {
                        "template": "elastic-net",
                        "l1": 0.1 * r,
                        "ridge": ridge,
                        # The radius that is sure to do is so large without a ridge that the first steps lead far away.
                        **({} if ridge > 0.0 else {"radius": 4.0 * r}),
                        **table(u, r),
                    },
                    least(w) + 0.1 * w + 0.5 * ridge * share * w * w,
                    size,
                    (0, 2),
                )
            )
    classes = {
        # Features of the same margin for every sample.
        "one feature": ([[1.0], [-1.0]], [1.0, -1.0], 1.0),
        "equal features": ([[1.0, 1.0], [-1.0, -1.0]], [1.0, -1.0], 1.0),
        "equal samples": ([[0.0], [0.0]], [1.0, -1.0], 0.0),
    }
    for name, (features, target, margin) in classes.items():
        data = {"data": {"features": features, "target": target}, "standardise": False}
        l2, groups = margin * np.sqrt(len(features[0])), [list(range(len(features[0])))]
        found += [
            Case(
                f"svm l1, {name}",
                lambda u, r, data=data: {"template": "svm", "domain": "l1", "radius": 0.5, **data},
                1.0 - 0.5 * margin,
                1.0,
                (0, 0),
            ),
            Case(
                f"svm, {name}",
                lambda u, r, data=data: {"template": "svm", "radius": 0.5, **data},
                1.0 - 0.5 * l2,
                1.0,
                (0, 0),
            ),
            Case(
                f"sparse-regression logistic, {name}",
                lambda u, r, data=data: {"template": "sparse-regression", "loss": "logistic", "radius": 0.5, **data},
                float(np.log1p(np.exp(-0.5 * margin))),
                1.0,
                (0, 0),
            ),
            Case(
                f"group-lasso logistic, {name}",
                lambda u, r, data=data, groups=groups: {
                    "template": "group-lasso",
                    "loss": "logistic",
                    "groups": groups,
                    "radius": 0.5,
                    **data,
                },
                float(np.log1p(np.exp(-0.5 * l2))),
                1.0,
                (0, 0),
            ),
        ]
    # w = (a, -a; b, -b) for one entry and the constant: of two points at -1 and 1 each gains 2 a of the radius 2 |a|.
    for name, points, gain in (("two points", [[-1.0], [1.0]], 1.0), ("two equal points", [[0.0], [0.0]], 0.0)):
        found.append(
            Case(
                f"max-margin, {name}",
                lambda u, r, points=points: {
                    "template": "max-margin",
                    "points": points,
                    "labels": [0, 1],
                    "radius": 0.25,
                },
                1.0 - 0.25 * np.sqrt(2.0) * gain,
                1.0,
                (0, 0),
            )
        )
    found.append(
        Case(
            "max-margin, one class",
            lambda u, r: {"template": "max-margin", "points": [[1.0]], "labels": [0]},
            np.nan,
            1.0,
            (0, 0),
            refused="one class only",
        )
    )
    return found


def _value_of_game(payoff: np.ndarray) -> float:
    return polyhedral(np.eye(payoff.shape[1]), np.zeros(payoff.shape[1]), [(payoff, np.zeros(len(payoff)))], [], [])


def games() -> list[Case]:
    """Minima of maxima: games, affine functions, a ball."""
    found = []
    payoffs = {
        "1 x 1": [[3.0]],
        "one row": [[1.0, -2.0]],
        "one column": [[1.0], [-2.0]],
        "matching": [[1.0, -1.0], [-1.0, 1.0]],
        "zero": [[0.0, 0.0], [0.0, 0.0]],
        "equal columns": [[1.0, 1.0], [-1.0, -1.0]],
    }
    for name, payoff in payoffs.items():
        a = np.array(payoff)
        found.append(
            Case(
                f"matrix-game, {name}",
                lambda u, r, a=a: {"template": "matrix-game", "payoff": (u * a).tolist()},
                _value_of_game(a),
                max(1.0, float(np.abs(a).max())),
                (1, 0) if a.any() else (0, 0),
            )
        )
        corners = {"l1": np.vstack([np.eye(a.shape[1]), -np.eye(a.shape[1])])}
        corners["linf"] = np.array(list(itertools.product((-1.0, 1.0), repeat=a.shape[1])))
        for domain, vertices in corners.items():
            offsets = np.array([0.5, 0.25])[: len(a)]
            found.append(
                Case(
                    f"max-affine {domain}, {name}",
                    lambda u, r, a=a, offsets=offsets, domain=domain: {
                        "template": "max-affine",
                        "slopes": (u * a).tolist(),
                        "offsets": (u * r * offsets).tolist(),
                        "domain": domain,
                        "radius": r,
                    },
                    polyhedral(vertices, np.zeros(a.shape[1]), [(a, offsets)], [], []),
                    1.0 + float(np.abs(a).sum()),
                    (1, 1),
                )
            )
    found.append(
        Case(
            "max-affine, one piece over an l2-ball",
            lambda u, r: {"template": "max-affine", "slopes": [[3.0 * u, 4.0 * u]], "offsets": [u * r], "radius": r},
            -4.0,
            6.0,
            (1, 1),
        )
    )
    for n in (1, 2):
        found.append(
            Case(
                f"minimax-ball {n}",
                lambda u, r, n=n: {"template": "minimax-ball", "size": n, "radius": r},
                -1.0 / np.sqrt(n),
                1.0,
                (0, 1),
            )
        )
    spectra = {
        "one number": ([[[3.0]]], 3.0),
        "two numbers": ([[[3.0]], [[-1.0]]], 3.0),
        "one matrix": ([[[1.0, 2.0], [2.0, 1.0]]], -1.0),
        # max over p of lambda_min(p diag(1, -1) + (1 - p) diag(-1, 1)) is 0, at one half.
        "two matrices": ([[[1.0, 0.0], [0.0, -1.0]], [[-1.0, 0.0], [0.0, 1.0]]], 0.0),
        "equal matrices": ([[[1.0, 2.0], [2.0, 1.0]]] * 2, -1.0),
        "zero": ([[[0.0, 0.0], [0.0, 0.0]]], 0.0),
    }
    for name, (matrices, value) in spectra.items():
        found.append(
            Case(
                f"spectrahedron-game, {name}",
                lambda u, r, matrices=matrices: {
                    "template": "spectrahedron-game",
                    "matrices": [(u * np.array(matrix)).tolist() for matrix in matrices],
                },
                value,
                3.0,
                (1, 0) if np.any(matrices) else (0, 0),
            )
        )
    return found


def assignments() -> list[Case]:
    """Of three objects: the relaxation is as good as the best of the six permutations."""
    found = []
    for name, flow, distance in [
        ("three objects", [[0, 5, 2], [5, 0, 3], [2, 3, 0]], [[0, 8, 15], [8, 0, 13], [15, 13, 0]]),
        ("no flow", [[0, 0, 0]] * 3, [[0, 2, 1], [2, 0, 3], [1, 3, 0]]),
    ]:
        a, b = np.array(flow, dtype=float), np.array(distance, dtype=float)
        best = min(float((a * b[np.ix_(p, p)]).sum()) for p in itertools.permutations(range(3)))
        found.append(
            Case(
                f"quadratic-assignment, {name}",
                lambda u, r, a=a, b=b: {
                    "template": "quadratic-assignment",
                    "flow": (u * a).tolist(),
                    "distance": b.tolist(),
                    "starts": 2,
                },
                best,
                max(1.0, best),
                (1, 0) if best else (0, 0),
            )
        )
    return found


def programs() -> list[Case]:
    """Linear and semidefinite programs."""
    linear = {
        "one variable": ([1.0], [[1.0]], [0.5], 0.0, 1.0),
        "two variables": ([1.0, 2.0], [[1.0, 1.0]], [1.0], 0.0, 1.0),
        "two equal variables": ([1.0, 1.0], [[1.0, 1.0]], [1.0], 0.0, 1.0),
        "no cost": ([0.0, 0.0], [[1.0, 1.0]], [1.0], 0.0, 1.0),
        "equal rows": ([1.0, -1.0], [[1.0, 1.0], [1.0, 1.0]], [1.0, 1.0], 0.0, 1.0),
        "a row of zeros": ([1.0, -1.0], [[0.0, 0.0]], [0.0], 0.0, 1.0),
        "one point": ([1.0, -1.0], [[1.0, 1.0]], [1.0], 0.5, 0.5),
        "the point zero": ([1.0, -1.0], [[1.0, 1.0]], [0.0], 0.0, 0.0),
        "at a vertex": ([1.0, 1.0], [[1.0, 1.0]], [2.0], 0.0, 1.0),
    }
    found = []
    for name, (cost, matrix, equals, lower, upper) in linear.items():
        c, a, b = np.array(cost), np.array(matrix), np.array(equals)
        exact = linprog(c, A_eq=a, b_eq=b, bounds=(lower, upper))
        assert exact.status == 0
        found.append(
            Case(
                f"linear-program, {name}",
                lambda u, r, c=c, a=a, b=b, lower=lower, upper=upper: {
                    "template": "linear-program",
                    "cost": (u * c).tolist(),
                    "matrix": a.tolist(),
                    "equals": (r * b).tolist(),
                    "lower": r * lower,
                    "upper": r * upper,
                },
                exact.fun,
                2.0,
                (int(c.any()), int(c.any() and upper > 0.0)),
            )
        )
    transports = {
        "one way": ([[2.0]], [1.0], [1.0], 2.0),
        "a way of no cost": ([[0.0]], [1.0], [1.0], 0.0),
        "one way out": ([[1.0, 3.0]], [1.0], [0.25, 0.75], 2.5),
        "two and two": ([[0.0, 1.0], [1.0, 0.0]], [0.5, 0.5], [0.25, 0.75], 0.25),
        "a place without supply": ([[1.0, 2.0], [0.0, 0.0]], [1.0, 0.0], [0.5, 0.5], 1.5),
    }
    found += [
        Case(
            f"transport, {name}",
            lambda u, r, c=costs, a=supplies, b=demands: {
                "template": "transport",
                "costs": (u * np.array(c)).tolist(),
                "supplies": (r * np.array(a)).tolist(),
                "demands": (r * np.array(b)).tolist(),
            },
            optimum,
            2.0,
            (int(any(map(any, costs))), int(any(map(any, costs)))),
        )
        for name, (costs, supplies, demands, optimum) in transports.items()
    ]
    off = [[0.0, 1.0], [1.0, 0.0]]
    semidefinite = {
        # x = 1/2; of the trace 2 with x_11 = 1, the largest entries off the diagonal are +-1.
        "one number": ([[2.0]], [([[1.0]], 0.5)], {"radius": 1.0}, 1.0),
        "one number of fixed trace": ([[2.0]], [], {"radius": 1.0, "trace": "equal"}, 2.0),
        "no constraint": (off, [], {"radius": 1.0}, -1.0),
        "a diagonal entry": (off, [([[1.0, 0.0], [0.0, 0.0]], 1.0)], {"radius": 2.0, "trace": "equal"}, -2.0),
        "the trace": (off, [([[1.0, 0.0], [0.0, 1.0]], 2.0)], {}, -2.0),
        "nonnegative": (off, [([[1.0, 0.0], [0.0, 1.0]], 2.0)], {"nonnegative": True}, 0.0),
        "no cost": ([[0.0, 0.0], [0.0, 0.0]], [(off, 1.0)], {"radius": 2.0}, 0.0),
        "the same twice": (off, [([[1.0, 0.0], [0.0, 0.0]], 1.0)] * 2, {"radius": 2.0, "trace": "equal"}, -2.0),
    }
    for name, (cost, constraints, fields, optimum) in semidefinite.items():
        found.append(
            Case(
                f"standard-sdp, {name}",
                lambda u, r, cost=cost, constraints=constraints, fields=fields: {
                    "template": "standard-sdp",
                    "cost": (u * np.array(cost)).tolist(),
                    "constraints": [{"matrix": matrix, "equals": r * value} for matrix, value in constraints],
                    **{key: r * value if key == "radius" else value for key, value in fields.items()},
                },
                optimum,
                3.0,
                (1, 1) if np.any(cost) else (0, 0),
            )
        )
    return found


def components() -> list[Case]:
    """Sparse principal components, of one or two variables: X = (a, b; b, 1 - a) with b^2 <= a (1 - a)."""
    off, found = [[0.0, 1.0], [1.0, 0.0]], []
    for name, covariance, fields, optimum in [
        ("one variable", [[2.0]], {"cardinality": 1}, 2.0),
        ("one of two variables", [[2.0, 1.0], [1.0, 1.0]], {"cardinality": 1}, 2.0),
        ("both variables", off, {"cardinality": 2}, 1.0),
        ("one variable and a half", off, {"cardinality": 1.5}, 0.5),
        ("a small penalty", off, {"penalty": 0.25}, 0.5),
        ("a penalty that leaves one variable", [[2.0, 0.5], [0.5, 1.0]], {"penalty": 1.0}, 1.0),
        ("a penalty as large as the variance", [[1.0, 0.0], [0.0, 0.5]], {"penalty": 1.0}, 0.0),
        (
            "what is orthogonal to a component",
            [[2.0, 0.0], [0.0, 1.0]],
            {"cardinality": 1, "deflate": [[3.0, 0.0]]},
            1.0,
        ),
    ]:
        found.append(
            Case(
                f"sparse-pca, {name}",
                lambda u, r, covariance=covariance, fields=fields: {
                    "template": "sparse-pca",
                    "covariance": (u * np.array(covariance)).tolist(),
                    **{key: u * value if key == "penalty" else value for key, value in fields.items()},
                },
                optimum,
                2.0,
                sense=-1,
            )
        )
    found.append(
        Case(
            "sparse-pca, no variance",
            lambda u, r: {"template": "sparse-pca", "covariance": [[0.0]], "cardinality": 1},
            np.nan,
            1.0,
            refused="no variance is left",
        )
    )
    return found


def correlations() -> list[Case]:
    """Nearest correlation matrices of one or two variables; weights have units, the objective their square."""
    found = []
    for name, matrix, weights, fields, optimum in [
        ("one variable", [[3.0]], 1.0, {}, 2.0),
        ("too large a correlation", [[1.0, 2.0], [2.0, 1.0]], 1.0, {}, 1.0),
        ("a correlation matrix", [[1.0, 0.5], [0.5, 1.0]], 1.0, {}, 0.0),
        ("weights", [[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]], {}, 4.0),
        ("weights of the variables", [[1.0, 2.0], [2.0, 1.0]], [1.0, 4.0], {}, 4.0),
        ("an entry without a weight", [[2.0, 3.0], [3.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], {}, 0.5),
        ("a fixed entry", [[2.0, 0.5], [0.5, 2.0]], 1.0, {"fixed": [[1, 0]]}, 1.0),
    ]:
        found.append(
            Case(
                f"nearest-correlation, {name}",
                lambda u, r, matrix=matrix, weights=weights, fields=fields: {
                    "template": "nearest-correlation",
                    "matrix": matrix,
                    "weights": (np.sqrt(u) * np.array(weights)).tolist(),
                    **fields,
                },
                optimum,
                max(1.0, optimum),
                (int(optimum > 0.0), 0),
            )
        )
    return found


def kernels() -> list[Case]:
    """Two samples at a distance of sqrt(k_11 + k_22 - 2 k_12 + 2 t) for the best kernel, each of mean diagonal 1."""
    found = []
    linear, constant = {"kind": "linear"}, {"kind": "gaussian", "width": 1e9}
    for name, features, given, squared in [
        ("opposite samples", [[-1.0], [1.0]], [linear], 4.0),
        ("a kernel that tells nothing", [[-1.0], [1.0]], [constant, linear], 4.0),
        ("two equal kernels", [[-1.0], [1.0]], [linear, linear], 4.0),
        ("equal samples", [[1.0], [1.0]], [linear], 0.0),
        ("no features", [[0.0], [0.0]], [linear, constant], 0.0),
    ]:
        found.append(
            Case(
                f"kernel-learning, {name}",
                lambda u, r, features=features, given=given: {
                    "template": "kernel-learning",
                    "data": {"features": (r * np.array(features)).tolist(), "target": [0, 1]},
                    "standardise": False,
                    "kernels": given,
                    "softness": 0.5,
                },
                float(np.sqrt(squared + 2 * 0.5)),
                1.0,
                (0, 0),
                sense=-1,
            )
        )
    found.append(
        Case(
            "kernel-learning, one class",
            lambda u, r: {
                "template": "kernel-learning",
                "data": {"features": [[1.0]], "target": [0]},
                "kernels": [linear],
            },
            np.nan,
            1.0,
            (0, 0),
            refused="class",
        )
    )
    return found


def labellings() -> list[Case]:
    """Structured support vector machines of two points a = (x, 1): with D the difference of the weights of two labels,
    t |D|^2 / 4 and the mean of max(0, 1 - D a_0), max(0, 1 + D a_1). Data in another unit are other data.
    """
    found = []
    for name, points, regularisation, optimum in [
        ("equal points", [[1.0], [1.0]], 1.0, 1.0),  # D = 0
        ("opposite points, much regularised", [[1.0], [-1.0]], 4.0, 0.75),  # D = (1/2, 0)
        ("opposite points", [[1.0], [-1.0]], 0.5, 0.125),  # D = (1, 0)
    ]:
        found.append(
            Case(
                f"structured-svm, {name}",
                lambda u, r, points=points, regularisation=regularisation: {
                    "template": "structured-svm",
                    "points": points,
                    "labels": [0, 1],
                    "regularisation": regularisation,
                },
                optimum,
                1.0,
                (0, 0),
                sense=-1,
            )
        )
    found.append(
        Case(
            "structured-svm, one label",
            lambda u, r: {"template": "structured-svm", "points": [[1.0]], "labels": [0]},
            np.nan,
            1.0,
            (0, 0),
            refused="one label only",
        )
    )
    return found


def tasks() -> list[Case]:
    """One sample: the point of a ball that is nearest to its targets."""
    found = []
    for name, features, targets, radius, optimum in [
        ("one task", [[1.0]], [[1.0]], 0.5, 0.125),
        ("one task, met", [[1.0]], [[1.0]], 2.0, 0.0),
        ("two tasks", [[1.0]], [[3.0, 4.0]], 2.0, 2.25),
        ("two features", [[3.0, 4.0]], [[15.0]], 2.0, 12.5),
        ("a feature of no value", [[0.0]], [[1.0]], 1.0, 0.5),
    ]:
        found.append(
            Case(
                f"multi-task-regression, {name}",
                lambda u, r, features=features, targets=targets, radius=radius: {
                    "template": "multi-task-regression",
                    "data": {"features": features, "targets": (r * np.array(targets)).tolist()},
                    "standardise": False,
                    "radius": r * radius,
                },
                optimum,
                max(1.0, optimum),
                (0, 2 * int(optimum > 0.0)),
            )
        )
    return found


def covariances() -> list[Case]:
    """Estimates of one or two variables."""
    off, found = [[2.0, 1.0], [1.0, 2.0]], []
    for name, covariance, penalty, fields, optimum in [
        ("one variable", [[2.0]], 0.5, {}, 0.875),  # x = 3/2
        ("a bound on the variance", [[2.0]], 0.5, {"radius": 1.0}, 1.0),
        ("a penalty as large as the variance", [[2.0]], 3.0, {}, 2.0),
        ("two variables apart", [[2.0, 0.0], [0.0, 1.0]], 0.5, {"radius": 1.0}, 1.5),  # x = diag(1, 0)
        # x_12 is half the trace at the most.
        ("a sum, all of low rank", off, 1.0, {"structure": "sum", "radius": 10.0}, 0.0),
        ("a sum, squares", off, 1.0, {"structure": "sum", "radius": 1.0}, 0.25),
        ("a sum, moved to zero", off, 0.25, {"structure": "sum", "radius": 1.0}, 0.1875),
    ]:
        found.append(
            Case(
                f"covariance-estimation, {name}",
                lambda u, r, covariance=covariance, penalty=penalty, fields=fields: {
                    "template": "covariance-estimation",
                    "covariance": (r * np.array(covariance)).tolist(),
                    "penalty": r * penalty,
                    **{key: r * value if key == "radius" else value for key, value in fields.items()},
                },
                optimum,
                max(1.0, optimum),
                (0, 2 * int(optimum > 0.0)),
            )
        )
    return found


def matchings() -> list[Case]:
    """Two nodes and an edge: of weights w and v, (w - v)^2 |P|^2 / 2, which is least where all entries are 1/2."""
    found = []
    for name, first, second, optimum in [("the same edge", 1.0, 1.0, 0.0), ("other weights", 1.0, 3.0, 2.0)]:
        found.append(
            Case(
                f"graph-matching, {name}",
                lambda u, r, first=first, second=second: {
                    "template": "graph-matching",
                    "first": [[0.0, r * first], [r * first, 0.0]],
                    "second": [[0.0, r * second], [r * second, 0.0]],
                },
                optimum,
                max(1.0, optimum),
                (0, 2 * int(optimum > 0.0)),
            )
        )
    return found


def intensities() -> list[Case]:
    """Of one number, b = |x|^2 for each mask of 1, or of two, where b = (|x_1 + x_2|^2, |x_1 - x_2|^2)."""
    found = []
    for name, masks, seen, optimum in [
        ("one number", [[1.0]], [[3.0]], 3.0),
        ("a number seen twice", [[1.0], [2.0]], [[3.0], [12.0]], 3.0),
        ("two numbers behind one mask", [[1.0, 1.0]], [[4.0, 0.0]], 2.0),
        ("two masks", [[1.0, 1.0], [1.0, 0.0]], [[4.0, 0.0], [1.0, 1.0]], 2.0),
        ("a number that no mask shows", [[1.0, 0.0]], [[2.0, 2.0]], 2.0),
    ]:
        found.append(
            Case(
                f"phase-retrieval, {name}",
                lambda u, r, masks=masks, seen=seen: {
                    "template": "phase-retrieval",
                    "masks": masks,
                    "intensities": (r * np.array(seen)).tolist(),
                },
                optimum,
                optimum,
                (0, 1),
            )
        )
    return found


def convolutions() -> list[Case]:
    """Of one number and another, and of a number with two, which are then known."""
    found = []
    for name, signal, kernels, codes, optimum in [
        ("two numbers", [3.0], [[1.0]], [[1.0]], 3.0),
        ("two numbers, one seen twice", [3.0, 3.0], [[1.0], [0.0]], [[1.0], [1.0]], 3.0),
        ("one tap", [3.0, 4.0], [[1.0], [0.0]], [[1.0, 0.0], [0.0, 1.0]], 5.0),
    ]:
        found.append(
            Case(
                f"blind-deconvolution, {name}",
                lambda u, r, signal=signal, kernels=kernels, codes=codes: {
                    "template": "blind-deconvolution",
                    "signal": (r * np.array(signal)).tolist(),
                    "kernels": kernels,
                    "codes": codes,
                },
                optimum,
                optimum,
                (0, 1),
            )
        )
    return found


def networks(folder: Path) -> list[Case]:
    """A generator, a line that loses nothing, and a load. Far from a solution costs are those of radius times u."""
    found = []
    for name, load, cost in [("no load", 0.0, 1.0), ("no cost", 50.0, 0.0)]:

        def make(u: float, r: float, name=name, load=load, cost=cost) -> Problem:
            file = folder / f"{name.replace(' ', '-')}-{u:g}.m"
            file.write_text(case_text(load=load, cost=f"2\t0\t0\t2\t{u * cost!r}\t0"), encoding="utf-8")
            return {"template": "optimal-power-flow", "case": {"file": str(file)}}

        found.append(Case(f"optimal-power-flow, {name}", make, 0.0, 500.0, (int(cost > 0.0), 0)))
    return found


def templates(folder: Path) -> list[Case]:
    """Every template."""
    return [
        *graphs(folder),
        *clusterings(),
        *pictures(folder),
        *regressions(),
        *games(),
        *programs(),
        *assignments(),
        *components(),
        *correlations(),
        *intensities(),
        *convolutions(),
        *kernels(),
        *labellings(),
        *tasks(),
        *covariances(),
        *matchings(),
        *networks(folder),
    ]
