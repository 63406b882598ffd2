"""Small problems whose optimum is known, and a run that keeps its records."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.blocks.domains.fantope_face import FantopeFace
from cgm_cli.blocks.domains.norm_balls import L1Ball, L2Ball
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.maps.row_sums import RowSums
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.penalties.box import Nonnegative
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.maximum import MaxCoordinate
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.duals.ascent import DualAscent
from cgm_cli.methods.evaluation import evaluate
from cgm_cli.methods.fused_box import point_at
from cgm_cli.methods.loop import run
from cgm_cli.methods.method import Method
from cgm_cli.methods.oracles.fixed import FixedAccuracy
from cgm_cli.methods.outcome import Outcome
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.scaling import automatic_beta0, scaled
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.smoothing.homotopy import Homotopy
from cgm_cli.methods.smoothing.none import Subgradient
from cgm_cli.methods.state import State
from cgm_cli.methods.steps.classic import ClassicStep
from cgm_cli.methods.stopping import StopRules


@dataclass
class Keep:
    """An observer that keeps what it sees."""

    records: list[IterationRecord] = field(default_factory=list)

    def on_record(self, record: IterationRecord) -> None:
        self.records.append(record)

    def column(self, name: str) -> np.ndarray:
        return np.array([getattr(record, name) for record in self.records])


def hcgm(beta0: float = 1.0, tolerance: float = 1e-6) -> Method:
    return Method("hcgm", Homotopy(beta0), ClassicStep(), FixedAccuracy(tolerance))


def cgal(beta0: float, problem: CompositeProblem, tolerance: float = 1e-6) -> Method:
    return replace(hcgm(beta0, tolerance), name="cgal", duals=DualAscent.of(problem, beta0))


def cgm(tolerance: float = 1e-6) -> Method:
    return Method("cgm", Subgradient(), ClassicStep(), FixedAccuracy(tolerance))


def begun(problem, seed=0, centres=None, halves=False, single=False) -> State:
    """A state at the start of a run, over a dense iterate, with these multipliers."""
    point = point_at(problem, DenseIterate(problem.first, halves=halves), centres is not None, single)
    if centres is not None:
        point.multipliers = list(centres)
    return State(point, np.random.default_rng(seed))


def generic(point, beta, multipliers=None):
    """The evaluation of a point term by term, nothing of it fused."""
    problem = point.problem
    multipliers = point.multipliers if multipliers is None else multipliers
    return evaluate(problem, point.images, beta, multipliers, lambda: np.empty(problem.domain.shape), point.length)


def solve(
    problem, iterations=100, *, method=None, iterate=None, stop=None, schedule=None, **options
) -> tuple[Outcome, Keep]:
    """Run the loop on `problem` from a dense start; the outcome and its records."""
    keep = Keep()
    outcome = run(
        problem,
        hcgm() if method is None else method,
        StopRules(iterations) if stop is None else stop,
        DenseIterate(problem.first) if iterate is None else iterate,
        schedule=Schedule() if schedule is None else schedule,
        observers=[keep],
        **options,
    )
    return outcome, keep


def solve_scaled(problem, iterations, tolerance=1e-6, ascent=False, **options):
    """As `cgm solve` does it: scaled, with beta0 chosen for it."""
    brought = scaled(problem)
    beta0 = automatic_beta0(brought, True, ascent=ascent)
    method = cgal(beta0, brought, tolerance) if ascent else hcgm(beta0, tolerance)
    return solve(brought, iterations, method=method, **options)


def minimax() -> tuple[CompositeProblem, float]:
    """min over |x| <= 2 of max_i (a_i^T x), with a_i an orthogonal basis: -2 / sqrt(sum 1 / |a_i|^2)."""
    rng = np.random.default_rng(0)
    sizes = np.array([1.0, 2.0, 0.5, 3.0])
    rows = sizes[:, None] * np.linalg.qr(rng.standard_normal((4, 4)))[0]
    problem = CompositeProblem(L2Ball((4,), 2.0), None, (Term("max", MatrixMap(rows, (4,)), MaxCoordinate((4,), 1.0)),))
    return problem, -2.0 / float(np.sqrt((1 / sizes**2).sum()))


def linear_programme() -> tuple[CompositeProblem, float]:
    """min c^T x over the simplex, M x = M x_0."""
    rng = np.random.default_rng(1)
    cost, matrix = rng.standard_normal(8), rng.standard_normal((2, 8))
    target = matrix @ rng.dirichlet(np.ones(8))
    terms = (Term("balance", MatrixMap(matrix, (8,)), Equals((2,), target)),)
    problem = CompositeProblem(Simplex(8), Linear(cost, (8,)), terms)
    exact = linprog(cost, A_eq=np.vstack([matrix, np.ones(8)]), b_eq=np.append(target, 1.0), bounds=(0, None))
    assert exact.status == 0
    return problem, exact.fun


def lasso() -> tuple[CompositeProblem, float]:
    """min |M x - b|^2 / 2 over |x|_1 <= 1, from its optimality conditions at x = (0.7, -0.3, 0, 0, 0).

    b = M x + M^-T g with -g in the normal cone there: |g|_inf = 1/2, attained with the opposite sign on the support.
    """
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((5, 5))
    x = np.array([0.7, -0.3, 0.0, 0.0, 0.0])
    gradient = np.array([-0.5, 0.5, 0.2, -0.1, 0.3])
    gap = np.linalg.solve(matrix.T, gradient)
    problem = CompositeProblem(L1Ball((5,), 1.0), LeastSquares(MatrixMap(matrix, (5,)), matrix @ x - gap))
    return problem, 0.5 * float(gap @ gap)


def shrinkage() -> tuple[CompositeProblem, float]:
    """min |x - t|^2 / 2 + |x|_1 / 2 over the box |x_i| <= 1: soft thresholding, clipped, as entries are apart."""
    t = np.array([0.9, -1.4, 0.3, 2.5, -0.6])
    x = np.clip(np.sign(t) * np.maximum(np.abs(t) - 0.5, 0.0), -1.0, 1.0)
    terms = (Term("l1", Identity((5,)), L1Norm((5,), 0.5)),)
    problem = CompositeProblem(Box(-np.ones(5), np.ones(5)), LeastSquares(Identity((5,)), t), terms)
    return problem, 0.5 * float(np.square(x - t).sum()) + 0.5 * float(np.abs(x).sum())


def simplices(count: int = 6, size: int = 4) -> tuple[CompositeProblem, float]:
    """min |M x - b|^2 / 2 over a product of simplices: x has two weights in each, and b = M x - M^-T g with g constant
    on them and larger elsewhere.
    """
    rng = np.random.default_rng(8)
    n = count * size
    matrix = rng.standard_normal((n, n)) / np.sqrt(n) + np.eye(n)
    weights = np.zeros((count, size))
    weights[:, :2] = rng.dirichlet(np.ones(2), count)
    gradient = np.repeat(rng.standard_normal((count, 1)), size, axis=1)
    gradient[:, 2:] += rng.uniform(0.1, 1.0, (count, size - 2))
    gap = np.linalg.solve(matrix.T, gradient.reshape(-1))
    loss = LeastSquares(MatrixMap(matrix, (n,)), matrix @ weights.reshape(-1) - gap)
    return CompositeProblem(Product((Simplex(size),) * count), loss), 0.5 * float(gap @ gap)


def cycle(n: int = 5) -> tuple[CompositeProblem, float]:
    """max 1/4 <L, X>, diag X = 1, X semidefinite, for an odd cycle: n (1 + cos(pi / n)) / 2 (Poljak and Rendl)."""
    following = np.roll(np.eye(n), 1, axis=1)
    laplacian = 2 * np.eye(n) - following - following.T
    problem = CompositeProblem(
        PSDTrace(n, float(n), True),
        Linear(sp.csr_array(-0.25 * laplacian), (n, n)),
        (Term("diagonal", Diagonal((n, n)), Equals((n,), np.ones(n))),),
        sense="maximise",
    )
    return problem, 0.5 * n * (1 + np.cos(np.pi / n))


def two_clusters(n: int = 8, domain: str = "fantope") -> tuple[CompositeProblem, float]:
    """The k-means SDP of two far clusters of n / 2 points: its optimum is that clustering (Awasthi et al., 2015)."""
    rng = np.random.default_rng(3)
    points = 0.1 * rng.standard_normal((n, 2)) + np.where(np.arange(n)[:, None] < n // 2, 0.0, 3.0)
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    half = n // 2
    optimum = (distances[:half, :half].sum() + distances[half:, half:].sum()) / half
    shape = (n, n)
    problem = CompositeProblem(
        {
            "fantope": Fantope(n, 2),
            "face": FantopeFace(np.full(n, n**-0.5), 2),
            "trace": PSDTrace(n, 2.0, False),
        }[domain],
        Linear(distances, shape),
        (
            Term("rows", RowSums(shape), Equals((n,), np.ones(n))),
            Term("nonnegative", Identity(shape), Nonnegative(shape)),
        ),
    )
    return problem, float(optimum)


def boundary(n: int = 12, size: float = 100.0) -> tuple[CompositeProblem, float]:
    """The nearest correlation matrix with ones beside the diagonal: all its entries are one. No definite matrix is
    feasible, and the dual has no solution: methods for it come nearer for ever.
    """
    target = size * np.cos(np.arange(n) + np.arange(n)[:, None])
    shape, places = target.shape, np.arange(n - 1) * (n + 1) + 1
    problem = CompositeProblem(
        PSDTrace(n, float(n), fixed_trace=True),
        LeastSquares(Identity(shape), target),
        (
            Term("diagonal", Diagonal(shape), Equals((n,), np.ones(n))),
            Term("beside", Sampling(places, shape), Equals((n - 1,), np.ones(n - 1))),
        ),
    )
    return problem, 0.5 * float(np.square(1.0 - target).sum())


KNOWN = {
    "minimax": minimax,
    "linear-programme": linear_programme,
    "lasso": lasso,
    "cycle-5": cycle,
    "cycle-71": lambda: cycle(71),
    "two-clusters": two_clusters,
    "two-clusters-trace": lambda: two_clusters(8, "trace"),
    "two-clusters-face": lambda: two_clusters(8, "face"),
    "two-clusters-80": lambda: two_clusters(80),
    "two-clusters-80-trace": lambda: two_clusters(80, "trace"),
    "two-clusters-80-face": lambda: two_clusters(80, "face"),
}
