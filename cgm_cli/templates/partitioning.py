"""Semidefinite relaxations of partitions of the nodes of a graph, and what they are rounded to.

A partition into at most k communities is X_ij = 1 where i and j are together, 0 elsewhere. Y = (k X - 1 1^T) / (k - 1)
has a diagonal of ones and entries of at least -1 / (k - 1), and it is semidefinite, since the square of a sum of k
numbers is at most k times the sum of their squares (Frieze and Jerrum, Algorithmica 18, 1997). For two communities it
is s s^T, of signs, whose entries the diagonal bounds already; with any number of them Y = X >= 0. Where all have n / k
nodes, Y 1 = 0; where k does not divide n, and sizes differ by one, <1 1^T, Y> is known (Karisch and Rendl, 1998).

Where j is with i, and i with k, j is with k: Y meets the triangle inequalities of clusterings, and of two communities
those of cuts (cgm_cli.templates.triangles).

To maximise <W, X> / 2, the weight within communities, is to maximise <W, Y> (k - 1) / 2 k, and a constant, which the
diagonal takes: <I, Y> = n.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.quadratic_forms import QuadraticForms
from cgm_cli.blocks.maps.row_sums import RowSums
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.partitions import evened, worth
from cgm_cli.templates.gaussian import gaussian_samples
from cgm_cli.templates.triangles import ClusteringTriangles, CutTriangles


def relaxation(weights: Matrix, parts: int | None, equal: bool = False, triangles: bool = False) -> CompositeProblem:
    """max <W, X> / 2 over partitions into `parts` communities at most, any number of them if None, in terms of Y.

    weights (n, n): symmetric, dense or sparse. equal: whether sizes differ by no more than one. triangles: whether Y
    has to meet the triangle inequalities, too.
    """
    n = weights.shape[0]
    share = 1.0 if parts is None else (parts - 1.0) / parts
    constant = 0.0 if parts is None else float(weights.sum()) / (2.0 * parts * n)
    if isinstance(weights, np.ndarray):
        cost = -0.5 * share * weights
        cost[np.diag_indices(n)] -= constant
    else:
        cost = sp.csr_array(-0.5 * share * weights - constant * sp.eye_array(n))
    shape = (n, n)
    terms = [Term("diagonal", Diagonal(shape), Equals((n,), np.ones(n)))]
    if equal:
        assert parts is not None
        terms.append(_sizes(n, parts))
    if parts != 2:
        least = 0.0 if parts is None else -1.0 / (parts - 1.0)
        terms.append(Term("separate", Identity(shape), BoxSet(shape, np.array(least), np.array(np.inf))))
    if triangles and n > 2:
        family = CutTriangles(n) if parts == 2 else ClusteringTriangles(_costs(weights))
        terms.append(Term.of_family("triangles", family, family.first))
    return CompositeProblem(
        PSDTrace(n, float(n), fixed_trace=True), Linear(cost, shape), tuple(terms), sense="maximise"
    )


def _costs(weights: Matrix) -> np.ndarray:
    """Of two nodes that are together, in a matrix of its own; of a node and itself none is as small."""
    costs = -np.asarray(weights if isinstance(weights, np.ndarray) else weights.toarray())
    np.fill_diagonal(costs, -np.inf)
    return costs


def _sizes(n: int, parts: int) -> Term:
    if n % parts == 0:
        return Term("sizes", RowSums((n, n)), Equals((n,), np.zeros(n)))
    small, more = divmod(n, parts)
    squares = more * (small + 1) ** 2 + (parts - more) * small**2
    total = (parts * squares - n * n) / (parts - 1.0)
    return Term("sizes", QuadraticForms(np.ones((1, n)), (n, n)), Equals((1,), np.array([total])))


def memory(n: int, parts: int | None, triangles: bool = False) -> int:
    """Bytes of bounds on all entries, where there are any, and of what triangles begin with."""
    return 0 if parts == 2 else (2 if triangles else 1) * 8 * n * n


def glimpsed(
    iterate: Iterate, graph: sp.csr_array, parts: int | None, equal: bool, rng: np.random.Generator
) -> np.ndarray:
    """Labels (n,) of one trial, as in `rounded`, but by the columns of Y G: for what a step costs."""
    n = graph.shape[0]
    most = parts or int(rng.integers(2, most_tried(n, None) + 1))
    columns = [iterate.point.times(rng.standard_normal(n)) for _ in range(most)]
    labels = np.argmax(columns, axis=0)
    return evened(graph, labels, most) if equal else labels


def most_tried(n: int, parts: int | None) -> int:
    """Communities that are tried at most: the root of 2 n where their number is open."""
    return parts or max(2, int(np.sqrt(2.0 * n)))


def rounded(
    iterate: Iterate,
    graph: sp.csr_array,
    expected: np.ndarray,
    parts: int | None,
    equal: bool,
    trials: int,
    rng: np.random.Generator,
    deadline: Deadline = NEVER,
) -> np.ndarray:
    """Labels (n,) worth most (cgm_cli.numerics.partitions) of as many trials: with Gaussian vectors z_1, ..., z_k of
    covariance Y, node i goes where z_c(i) is largest. For k = 2 that is a random hyperplane; with any number of
    communities k goes up to the root of 2 n. Where sizes have to be equal, some nodes are moved then.
    """
    n = graph.shape[0]
    most = most_tried(n, parts)
    best, value, number = np.zeros(n, dtype=np.int64), -np.inf, 0
    for samples in gaussian_samples(iterate, trials * most, rng, together=most):
        for first in range(0, samples.shape[1], most):
            used = most if parts else 2 + number % (most - 1)
            number += 1
            labels = samples[:, first : first + used].argmax(axis=1)
            labels = evened(graph, labels, most) if equal else labels
            if (found := worth(graph, expected, labels)) > value:
                best, value = labels, found
        if deadline.should_stop():
            break
    return best
