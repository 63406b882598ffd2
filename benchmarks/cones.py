"""Composed problems as cone programs, by formulas of their own: what Clarabel and SCS are given.

`program(body)` takes what stands under `problem` in a spec (a domain or domains, an objective, constraints and
penalties, each with its map), with lists or arrays of NumPy, and writes it down as

    minimise <v, P v> / 2 + <q, v> + constant   subject to   M_k v + c_k in K_k for every k

with variables v of its own: symmetric matrices are their upper triangle, epigraphs and slacks are further variables.
Nothing of the solver is used here, but for the name of a status.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from cgm_cli.methods.status import Status

clock: Callable[[], float] = time.perf_counter
"""What seconds are measured by. On a machine that is shared, `time.process_time` disturbs less."""


def limited(seconds: float) -> tuple[dict[str, float], Callable[[], Status | None]]:
    """What ends a run after so many seconds of the clock: a part of `stop`, and a function that is asked every turn."""
    if clock is time.perf_counter:
        return {"time": seconds}, lambda: None
    began = clock()
    return {"time": 20.0 * seconds}, lambda: Status.TIME_LIMIT if clock() - began > seconds else None


Block = Mapping[str, Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Affine:
    """matrix v + constant, of the variables that there were when it was made."""

    matrix: sp.csr_array
    constant: np.ndarray

    def __len__(self) -> int:
        return len(self.constant)

    def __getitem__(self, entries: Any) -> Affine:
        return Affine(sp.csr_array(self.matrix[entries]), self.constant[entries])

    def mapped(self, rows: Any) -> Affine:
        return Affine(sp.csr_array(rows @ self.matrix), rows @ self.constant)

    def times(self, factor: Any) -> Affine:
        return self.mapped(sp.diags_array(np.broadcast_to(np.asarray(factor, dtype=float), len(self))))

    def plus(self, other: Affine | np.ndarray | float) -> Affine:
        if not isinstance(other, Affine):
            return Affine(self.matrix, self.constant + other)
        wide = max(self.matrix.shape[1], other.matrix.shape[1])
        return Affine(
            sp.csr_array(_wide(self.matrix, wide) + _wide(other.matrix, wide)), self.constant + other.constant
        )

    def minus(self, other: Affine | np.ndarray | float) -> Affine:
        return self.plus(other.times(-1.0) if isinstance(other, Affine) else -np.asarray(other, dtype=float))


def _wide(matrix: Any, columns: int) -> sp.csr_array:
    matrix = sp.csr_array(matrix)
    matrix.resize((matrix.shape[0], columns))
    return matrix


def stacked(*parts: Affine) -> Affine:
    wide = max(part.matrix.shape[1] for part in parts)
    matrices = [_wide(part.matrix, wide) for part in parts]
    return Affine(sp.csr_array(sp.vstack(matrices)), np.concatenate([part.constant for part in parts]))


def repeated(one: Affine, times: int) -> Affine:
    """An expression of one entry, so many times."""
    return one[np.zeros(times, dtype=int)]


def constants(values: Any) -> Affine:
    values = np.atleast_1d(np.asarray(values, dtype=float))
    return Affine(sp.csr_array((len(values), 0)), values)


@dataclass(frozen=True)
class Answer:
    """status: the solver's word. optimum: the value it found. seconds: of solving, its setup among them."""

    status: str
    optimum: float
    seconds: float

    @property
    def is_solved(self) -> bool:
        return self.status.lower() == "solved"


@dataclass
class Program:
    """A cone program as it grows."""

    costs: list[float] = field(default_factory=list)
    quadratic: list[tuple[Any, np.ndarray]] = field(default_factory=list)
    """(P, places) of parts of the quadratic form."""
    rows: list[tuple[str, Affine]] = field(default_factory=list)
    """Cones (zero, positive, second-order, semidefinite, exponential) and what lies in them."""
    constant: float = 0.0

    def variables(self, count: int, cost: float = 0.0) -> Affine:
        first = len(self.costs)
        self.costs += [cost] * count
        entries = (np.ones(count), (np.arange(count), np.arange(first, first + count)))
        return Affine(sp.csr_array(entries, shape=(count, first + count)), np.zeros(count))

    def add(self, cone: str, *parts: Affine) -> None:
        self.rows.append((cone, stacked(*parts)))

    def equal(self, one: Affine, other: Affine) -> None:
        self.add("zero", one.minus(other))

    def least(self, linear: Affine) -> None:
        """Add the one entry of `linear` to the objective."""
        at = sp.coo_array(linear.matrix)
        for column, value in zip(at.coords[1].tolist(), at.data.tolist(), strict=True):
            self.costs[column] += value
        self.constant += float(linear.constant[0])

    def semidefinite(self, full: Affine, n: int) -> None:
        """A symmetric matrix (n, n), given by its n^2 entries, is semidefinite."""
        row, column, weights = triangle(n)
        self.add("semidefinite", full[row * n + column].times(weights))

    def length(self, bound: Affine, z: Affine) -> None:
        """|z|_2 <= bound."""
        self.add("second-order", bound, z)

    def squares(self, z: Affine, factor: float = 1.0) -> None:
        """Add factor |z|^2 / 2 to the objective."""
        m, n = z.matrix.shape
        if m < n and z.matrix.nnz > 3 * m:
            apart = self.variables(m)
            self.equal(apart, z)
            z = apart
        self.quadratic.append((factor * (z.matrix.T @ z.matrix), np.arange(z.matrix.shape[1])))
        self.least(z.mapped(factor * z.constant[None, :]).plus(-0.5 * factor * float(z.constant @ z.constant)))

    # The two solvers

    def _assembled(self, order: list[str]) -> tuple[Any, np.ndarray, Any, np.ndarray, dict[str, list[int]]]:
        """P, q, A, b with b - A v in the cones, these in the order that is named, and their sizes."""
        n, matrices, sides = len(self.costs), [], []
        sizes: dict[str, list[int]] = {cone: [] for cone in order}
        for cone in order:
            for name, expression in self.rows:
                if name == cone and len(expression):
                    sizes[cone].append(len(expression))
                    matrices.append(-_wide(expression.matrix, n))
                    sides.append(expression.constant)
        total = sp.csc_matrix((n, n))
        for part, places in self.quadratic:
            at = sp.coo_array(part)
            total = total + sp.csc_matrix((at.data, (places[at.coords[0]], places[at.coords[1]])), shape=(n, n))
        return total, np.array(self.costs), sp.csc_matrix(sp.vstack(matrices)), np.concatenate(sides), sizes

    def clarabel(self, limit: float = math.inf, accuracy: float | None = None) -> Answer:
        """By interior points, to its default of 1e-8 or to an accuracy."""
        import clarabel

        p, q, a, b, sizes = self._assembled(["zero", "positive", "second-order", "semidefinite", "exponential"])
        cones = [clarabel.ZeroConeT(sum(sizes["zero"]))] if sizes["zero"] else []
        cones += [clarabel.NonnegativeConeT(sum(sizes["positive"]))] if sizes["positive"] else []
        cones += [clarabel.SecondOrderConeT(size) for size in sizes["second-order"]]
        cones += [clarabel.PSDTriangleConeT(order_of(size)) for size in sizes["semidefinite"]]
        cones += [clarabel.ExponentialConeT()] * (sum(sizes["exponential"]) // 3)
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter, settings.max_threads = False, 500, 1
        if limit < math.inf:
            settings.time_limit = limit
        if accuracy is not None:
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
        upper = sp.csc_matrix(sp.triu(p))
        began = clock()
        found = clarabel.DefaultSolver(upper, q, a, b, cones, settings).solve()
        seconds = clock() - began
        return Answer(str(found.status), float(found.obj_val) + self.constant, seconds)

    def scs(self, accuracy: float = 1e-4, limit: float = math.inf) -> Answer:
        """By the splitting conic solver, to that absolute and relative accuracy."""
        import scs

        p, q, a, b, sizes = self._assembled(["zero", "positive", "second-order", "semidefinite", "exponential"])
        first = sum(sum(sizes[cone]) for cone in ("zero", "positive", "second-order"))
        places = np.arange(len(b))
        for size in sizes["semidefinite"]:  # its triangle is the lower one, column by column
            n = order_of(size)
            row, column = np.triu_indices(n)
            places[first : first + size] = first + column * (column + 1) // 2 + row
            first += size
        cones: dict[str, Any] = {"z": sum(sizes["zero"]), "l": sum(sizes["positive"]), "q": sizes["second-order"]}
        cones |= {"s": [order_of(size) for size in sizes["semidefinite"]], "ep": sum(sizes["exponential"]) // 3}
        data = {"P": sp.csc_matrix(sp.triu(p)), "A": sp.csc_matrix(a[places]), "b": b[places], "c": q}
        if not p.nnz:
            del data["P"]
        options = {"time_limit_secs": limit} if limit < math.inf else {}
        began = clock()
        solver = scs.SCS(data, cones, eps_abs=accuracy, eps_rel=accuracy, max_iters=10**6, verbose=False, **options)
        info = solver.solve()["info"]
        return Answer(str(info["status"]), float(info["pobj"]) + self.constant, clock() - began)

    @property
    def is_linear(self) -> bool:
        return not self.quadratic and all(cone in ("zero", "positive") for cone, _ in self.rows)

    def highs(self) -> Answer:
        """By HiGHS, of a linear program; a row with one entry is a bound."""
        from scipy.optimize import linprog

        n, lower, upper = len(self.costs), np.full(len(self.costs), -np.inf), np.full(len(self.costs), np.inf)
        parts: dict[str, list[tuple[Any, np.ndarray]]] = {"zero": [], "positive": []}
        for cone, expression in self.rows:
            matrix, right = _wide(expression.matrix, n), -expression.constant
            single = np.diff(matrix.indptr) == 1 if cone == "positive" else np.zeros(len(right), dtype=bool)
            for row in np.flatnonzero(single).tolist():
                at, value = matrix.indices[matrix.indptr[row]], matrix.data[matrix.indptr[row]]
                bound = right[row] / value
                lower[at], upper[at] = (
                    (max(lower[at], bound), upper[at]) if value > 0 else (lower[at], min(upper[at], bound))
                )
            parts[cone].append((matrix[np.flatnonzero(~single)], right[~single]))
        rows = {
            cone: (sp.csr_array(sp.vstack([m for m, _ in found])), np.concatenate([b for _, b in found]))
            if found and sum(len(b) for _, b in found)
            else (None, None)
            for cone, found in parts.items()
        }
        (equal, to), (above, least) = rows["zero"], rows["positive"]
        below = (None, None) if above is None or least is None else (-above, -least)
        began = clock()
        found = linprog(np.array(self.costs), *below, equal, to, np.column_stack([lower, upper]), method="highs")
        seconds = clock() - began
        status = "solved" if found.status == 0 else str(found.message)
        return Answer(status, float(found.fun) + self.constant if found.status == 0 else math.nan, seconds)


def triangle(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and columns of the upper triangle, column by column, and the weights that keep inner products."""
    column, row = np.tril_indices(n)
    return row, column, np.where(row == column, 1.0, math.sqrt(2.0))


def order_of(length: int) -> int:
    """Of the matrix whose triangle has this length."""
    return (math.isqrt(8 * length + 1) - 1) // 2


def symmetric(program: Program, n: int) -> Affine:
    """The n^2 entries of a new symmetric matrix, whose variables are its upper triangle."""
    row, column, weights = triangle(n)
    inner = program.variables(len(row))
    number = np.zeros((n, n), dtype=int)
    number[row, column] = number[column, row] = np.arange(len(row))
    return inner.times(1.0 / weights)[number.reshape(-1)]


# Domains: of each a new point, flat, and its shape


def domain(program: Program, block: Block) -> tuple[Affine, Shape]:
    kind, r = block["kind"], float(block.get("radius", 1.0))
    if kind in ("psd", "fantope", "fantope-face"):
        n = int(block["size"])
        x, identity = symmetric(program, n), np.eye(n).reshape(-1)
        program.semidefinite(x, n)
        if kind == "psd":
            trace = constants(r).minus(x.mapped(identity[None, :]))
            program.add("zero" if block.get("trace", "at-most") == "equal" else "positive", trace)
            return x, (n, n)
        program.semidefinite(constants(identity).minus(x), n)
        program.add("zero", x.mapped(identity[None, :]).minus(float(block["rank"])))
        if kind == "fantope-face":
            program.add("zero", x.mapped(sp.kron(sp.eye_array(n), np.ones((1, n)), "csr")).minus(1.0))
        return x, (n, n)
    if kind == "nuclear-ball":
        m, n = (int(side) for side in block["shape"])
        side = m + n
        whole = symmetric(program, side)
        program.semidefinite(whole, side)
        program.add("positive", constants(2.0 * r).minus(whole.mapped(np.eye(side).reshape(1, -1))))
        return whole[(np.arange(m)[:, None] * side + m + np.arange(n)).reshape(-1)], (m, n)
    if kind == "birkhoff":
        n = int(block["size"])
        x, ones = program.variables(n * n), np.ones((1, n))
        program.add("positive", x)
        sums = sp.vstack([sp.kron(sp.eye_array(n), ones), sp.csr_array(sp.kron(ones, sp.eye_array(n)))[:-1]])
        program.add("zero", x.mapped(sp.csr_array(sums)).minus(1.0))
        return x, (n, n)
    if kind == "product":
        parts = [domain(program, each)[0] for each in block["blocks"]]
        x = stacked(*parts)
        return x, (len(x),)
    if kind == "latent-group-ball":
        groups = block["groups"]
        n, bound = 1 + max(max(group) for group in groups), program.variables(len(groups))
        x = constants(np.zeros(n))
        for number, group in enumerate(groups):
            part = program.variables(len(group))
            program.length(bound[[number]], part)
            x = x.plus(
                part.mapped(sp.csr_array((np.ones(len(group)), (group, np.arange(len(group)))), (n, len(group))))
            )
        program.add("positive", constants(r).minus(bound.mapped(np.ones((1, len(groups))))))
        return x, (n,)
    if kind == "group-l1-ball":
        shape: Shape = (sum(map(len, block["groups"])),)
    elif kind == "box" and "size" not in block:
        shape = np.broadcast_shapes(np.shape(block["lower"]), np.shape(block["upper"]))
    else:
        size = block["size"]
        shape = (int(size),) if np.ndim(size) == 0 else tuple(int(side) for side in size)
    x = program.variables(math.prod(shape))
    within(program, {**block, "kind": "linf-box"} if kind == "linf-ball" else block, x, shape)
    return x, shape


def within(program: Program, block: Block, z: Affine, shape: Shape) -> None:
    """z lies in a set."""
    kind, r, m = block["kind"], float(block.get("radius", 1.0)), len(z)
    if kind == "equals":
        program.add("zero", z.minus(_full(block["value"], shape)))
    elif kind in ("box", "nonnegative"):
        lower = 0.0 if kind == "nonnegative" else block.get("lower")
        if lower is not None:
            program.add("positive", z.minus(_full(lower, shape)))
        if block.get("upper") is not None:
            program.add("positive", constants(_full(block["upper"], shape)).minus(z))
    elif kind == "linf-box":
        program.add("positive", z.plus(r), constants(np.full(m, r)).minus(z))
    elif kind == "l1-ball":
        t = program.variables(m)
        program.add("positive", t.minus(z), t.plus(z))
        program.add("positive", constants(r).minus(t.mapped(np.ones((1, m)))))
    elif kind == "l2-ball":
        program.length(constants(r), z)
    elif kind == "group-l1-ball":
        t = program.variables(len(block["groups"]))
        for number, group in enumerate(block["groups"]):
            program.length(t[[number]], z[np.asarray(group)])
        program.add("positive", constants(r).minus(t.mapped(np.ones((1, len(t))))))
    elif kind == "simplex":
        length = int(block.get("length") or m)
        sums = sp.csr_array(sp.kron(sp.eye_array(m // length), np.ones((1, length))))
        program.add("positive", z)
        rest = constants(np.full(m // length, r)).minus(z.mapped(sums))
        program.add("zero" if block.get("sum", "equal") == "equal" else "positive", rest)
    elif kind == "in-domain":
        point, _ = domain(program, block["domain"])
        program.equal(point, z)
    else:
        raise ValueError(f"no set {kind}")


def _full(value: Any, shape: Shape) -> np.ndarray:
    return np.broadcast_to(np.asarray(value, dtype=float), shape).reshape(-1)


# Maps, written out


def matrix_of(block: Block | None, shape: Shape, blocks: list[tuple[int, Shape]] | None = None) -> tuple[Any, Shape]:
    """The matrix of a map of points of that shape, and the shape of the image. blocks: first entry and shape of each
    block of a product.
    """
    kind, n = (block or {}).get("kind", "identity"), math.prod(shape)
    if block is None or kind == "identity":
        return sp.eye_array(n, format="csr"), shape
    if kind == "matrix":
        matrix = block["matrix"]
        matrix = sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix, dtype=float)
        return matrix, (matrix.shape[0],)
    if kind == "sampling":
        mask = block.get("mask")
        at = np.asarray(block["indices"]) if mask is None else np.flatnonzero(np.asarray(mask).reshape(-1))
        return sp.csr_array((np.ones(len(at)), (np.arange(len(at)), at)), (len(at), n)), (len(at),)
    if kind == "row-sums":
        return sp.csr_array(sp.kron(sp.eye_array(shape[0]), np.ones((1, shape[1])))), (shape[0],)
    if kind == "column-sums":
        return sp.csr_array(sp.kron(np.ones((1, shape[0])), sp.eye_array(shape[1]))), (shape[1],)
    if kind == "diagonal":
        at = np.arange(shape[0]) * (shape[1] + 1)
        return sp.csr_array((np.ones(len(at)), (np.arange(len(at)), at)), (len(at), n)), (len(at),)
    if kind == "differences":
        numbers, parts = np.arange(n).reshape(shape), []
        for axis in range(len(shape)):
            here = np.delete(numbers, -1, axis).reshape(-1)
            there = np.delete(numbers, 0, axis).reshape(-1)
            entries = np.concatenate([np.ones(len(here)), -np.ones(len(here))])
            parts.append(sp.csr_array((entries, (np.tile(here, 2), np.append(there, here))), (n, n)))
        return sp.csr_array(sp.vstack(parts)), (len(shape), *shape)
    if kind == "matrices":
        rows = [sp.csr_array(each).reshape((1, n)) for each in block["matrices"]]
        return sp.csr_array(sp.vstack(rows)), (len(rows),)
    if kind == "stack":
        parts = [matrix_of(each, shape, blocks)[0] for each in block["maps"]]
        stack = sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts]))
        return stack, (stack.shape[0],)
    assert blocks is not None, f"no map {kind}"
    first, of = blocks[int(block["index"] if kind == "block" else block["first"])]
    inner, image = matrix_of(block.get("map"), of)
    inner = sp.csr_array(inner)
    picked = sp.eye_array(n, format="csr")[first : first + math.prod(of)]
    if kind == "block":
        return sp.csr_array(inner @ picked), image
    second, other = blocks[int(block["second"])]
    return sp.csr_array(inner @ picked - sp.eye_array(n, format="csr")[second : second + math.prod(other)]), image


# Objectives and penalties


def objective(program: Program, block: Block, x: Affine, shape: Shape, blocks: Any = None) -> None:
    kind = block["kind"]
    if kind == "linear":
        program.least(x.mapped(_full(block["cost"], shape)[None, :]))
    elif kind == "quadratic":
        q = np.asarray(block["matrix"], dtype=float)
        program.least(x.mapped(_full(block.get("linear", 0.0), shape)[None, :]))
        if q.ndim == 0:
            program.squares(x, float(q))
            return
        assert not x.constant.any()
        program.quadratic.append((x.matrix.T @ sp.csr_array(q) @ x.matrix, np.arange(x.matrix.shape[1])))
    elif kind == "least-squares":
        matrix, image = matrix_of(block.get("map"), shape, blocks)
        program.squares(x.mapped(matrix).minus(_full(block["target"], image)))
    elif kind == "logistic":
        matrix, image = matrix_of(block.get("map"), shape, blocks)
        m = math.prod(image)
        u = x.mapped(matrix).times(-_full(block["labels"], image))
        # t >= log(1 + exp(u)): exp(u - t) <= a and exp(-t) <= b with a + b <= 1.
        t, a, b = program.variables(m, 1.0 / m), program.variables(m), program.variables(m)
        program.add("positive", constants(np.ones(m)).minus(a).minus(b))
        ones = constants(np.ones(m))
        turned = np.arange(3 * m).reshape(3, m).T.reshape(-1)
        program.add("exponential", stacked(u.minus(t), ones, a)[turned])
        program.add("exponential", stacked(t.times(-1.0), ones, b)[turned])
    else:
        raise ValueError(f"no objective {kind}")


def penalty(program: Program, block: Block, z: Affine, shape: Shape) -> None:
    """Add g(z) to the objective."""
    kind, scale, m = block["kind"], float(block.get("scale", 1.0)), len(z)
    if kind == "support":
        of = dict(block["set"])
        radius = float(of.get("radius", 1.0))
        if of["kind"] == "box":
            t = program.variables(m, scale)
            program.add(
                "positive", t.minus(z.times(_full(of["lower"], shape))), t.minus(z.times(_full(of["upper"], shape)))
            )
            return
        names = {"l1-ball": "linf", "l2-ball": "l2", "simplex": "max"}
        below = [constants(0.0)] if of["kind"] == "simplex" and of.get("sum") == "at-most" else []
        block = {"kind": names[of["kind"]]}
        kind, scale, z = block["kind"], scale * radius, stacked(z, *below)
        m = len(z)
    if kind == "l1":
        t, z = program.variables(m, scale), z.times(_full(block.get("weights", 1.0), shape))
        program.add("positive", t.minus(z), t.plus(z))
    elif kind == "quantile":
        t, q = program.variables(m, scale), float(block.get("q", 0.5))
        program.add("positive", t.plus(z.times(q)), t.minus(z.times(1.0 - q)))
    elif kind == "epsilon-insensitive":
        t = program.variables(m, scale / (m if block.get("reduction", "sum") == "mean" else 1))
        epsilon = float(block.get("epsilon", 0.1))
        program.add("positive", t, t.minus(z).plus(epsilon), t.plus(z).plus(epsilon))
    elif kind == "l2":
        program.length(program.variables(1, scale), z)
    elif kind == "linf":
        t = repeated(program.variables(1, scale), m)
        program.add("positive", t.minus(z), t.plus(z))
    elif kind == "max":
        program.add("positive", repeated(program.variables(1, scale), m).minus(z))
    elif kind == "group-norm":
        t = program.variables(len(block["groups"]), scale)
        for number, group in enumerate(block["groups"]):
            program.length(t[[number]], z[np.asarray(group)])
    elif kind == "hinge":
        t = program.variables(m, scale / (m if block.get("reduction", "sum") == "mean" else 1))
        program.add("positive", t, t.plus(z.times(_full(block.get("labels", 1.0), shape))).minus(1.0))
    elif kind == "huber":
        # The least of u^2 / (2 d) + |z - u| over u.
        u, t = program.variables(m), program.variables(m, scale)
        program.squares(u, scale / float(block.get("delta", 1.0)))
        program.add("positive", t.minus(z).plus(u), t.plus(z).minus(u))
    else:
        raise ValueError(f"no penalty {kind}")


def program(body: Block) -> Program:
    """The cone program of what stands under `problem` in a spec."""
    made = Program()
    domains = [body["domain"]] if "domain" in body else list(body["domains"])
    x, shape = domain(made, domains[0])
    for other in domains[1:]:
        made.equal(domain(made, other)[0], x)
    blocks = None
    if domains[0]["kind"] == "product":
        shapes = [domain(Program(), each)[1] for each in domains[0]["blocks"]]
        starts = np.cumsum([0, *(math.prod(each) for each in shapes)]).tolist()
        blocks = list(zip(starts, shapes, strict=False))
    if body.get("objective") is not None:
        objective(made, body["objective"], x, shape, blocks)
    for family, adds in (("constraints", within), ("penalties", penalty)):
        for term in body.get(family, []):
            matrix, image = matrix_of(term.get("map"), shape, blocks)
            z = x.mapped(matrix)
            adds(made, term, z if term.get("offset") is None else z.minus(_full(term["offset"], image)), image)
    return made
