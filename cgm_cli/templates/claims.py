"""What the figures of a rounding are, in statements that can be checked without the template that makes them.

`cgm verify` has a formula of its own for every kind of statement, and knows no template: a template says which of them
are true of its figures, with the data and the saved arrays (called as in `Rounding.arrays`) that they are made of. What
nothing is said of is shown as not checked, and so is a statement of a kind without a formula.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.numerics.arrays import Matrix


@dataclass(frozen=True)
class CutWeight:
    """The sum of the weights of the edges between the nodes of +1 and those of -1.

    adjacency: symmetric (n, n). signs: an array (n,) of +1 and -1; None if it is not saved. balanced: whether both
    sides have as many nodes, or one has one more.
    """

    adjacency: sp.csr_array
    signs: str | None
    balanced: bool = False


@dataclass(frozen=True)
class WeightWithin:
    """The sum of the weights of the edges between nodes of one community.

    adjacency: symmetric (n, n). labels: an array (n,), the community of each node. most: how many communities there may
    be. equal: whether there are so many, whose sizes differ by one at most.
    """

    adjacency: sp.csr_array
    labels: str
    most: int | None = None
    equal: bool = False


@dataclass(frozen=True)
class Modularity:
    """sum over communities of L_C / m - resolution (K_C / 2m)^2: L_C is the weight of the edges within, K_C the sum of
    the degrees, m the weight of all edges.

    adjacency: symmetric (n, n), none of it negative. labels, most: as of WeightWithin.
    """

    adjacency: sp.csr_array
    labels: str
    resolution: float = 1.0
    most: int | None = None


@dataclass(frozen=True)
class ClusteringCost:
    """The sum over clusters of the squared distances of their points to their mean, of at most `clusters` of them.

    points: (n, d). labels: an array (n,), the cluster of each point; None if it is not saved.
    """

    points: np.ndarray
    clusters: int
    labels: str | None


@dataclass(frozen=True)
class ClusteringMeets:
    """1 where the labels are those of exactly `clusters` clusters of `smallest` to `largest` points each, with both
    points of every pair of `together`, and never of one of `apart`, in one of them; else 0, as without labels.

    together, apart: (m, 2). labels: an array (n,).
    """

    clusters: int
    together: np.ndarray
    apart: np.ndarray
    smallest: int
    largest: int
    labels: str


@dataclass(frozen=True)
class IndependentSet:
    """The number of nodes that are chosen, no two of which are joined by an edge, or the sum of their weights.

    adjacency: symmetric (n, n). chosen: an array (n,), zero for the others. weights: of the nodes (n,), none negative.
    """

    adjacency: sp.csr_array
    chosen: str
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class FeasibleObjective:
    """The objective at a point of the domain that meets every constraint, which is an upper bound on the optimum.

    array: the point. nuclear_radii: if given, the point is the array times the largest factor of at most 1 that leaves
    its nuclear norm no larger than that, and the array meets the constraints as well. Of several radii, each is that of
    a channel: the array (m, n c) has the c channels of a pixel beside each other, the point their matrices one after
    the other.
    """

    problem: CompositeProblem
    array: str
    nuclear_radii: tuple[float, ...] = ()


@dataclass(frozen=True)
class LargestEntry:
    """The largest entry of a product.

    matrix: (m, n), dense or sparse. vector: an array (n,).
    """

    matrix: Matrix
    vector: str


@dataclass(frozen=True)
class AssignmentValue:
    """sum_ij a_ij b_p(i)p(j) of a permutation p.

    flow, distance: A and B, (n, n). places: an array (n,), p(i) from 0.
    """

    flow: np.ndarray
    distance: np.ndarray
    places: str


@dataclass(frozen=True)
class AssignmentBound:
    """The certified bound on the values of all permutations; of whole A and B (values within 2^53), less `slack`,
    which is for rounding errors, and then rounded up to what such a value can be: a multiple of the greatest common
    divisor of A times that of B, and of twice that where both are symmetric and one has a diagonal of zeros.

    flow, distance: A and B, (n, n).
    """

    flow: np.ndarray
    distance: np.ndarray
    slack: float


@dataclass(frozen=True)
class Mismatch:
    """sum_ij (a_ij - b_p(i)p(j))^2 / 2 of a permutation p.

    first, second: A and B, symmetric (n, n). places: an array (n,), p(i) from 0.
    """

    first: np.ndarray
    second: np.ndarray
    places: str


@dataclass(frozen=True)
class ExplainedVariance:
    """(x^T S x - penalty (sum |x_i|)^2) / whole, of a unit vector x with at most `most` entries that are not zero.

    covariance: S, (n, n). vector: x, an array (n,).
    """

    covariance: np.ndarray
    vector: str
    penalty: float = 0.0
    most: int | None = None
    whole: float = 1.0


@dataclass(frozen=True)
class CorrelationDistance:
    """|H o (C - G)| (Frobenius) of a correlation matrix C: positive semidefinite, with a diagonal of ones.

    target, weights: G and H, (n, n). array: C.
    """

    target: np.ndarray
    weights: np.ndarray
    array: str


@dataclass(frozen=True)
class DistanceBound:
    """The root of twice the certified bound, or 0: of an objective that is half the square of a distance."""


@dataclass(frozen=True)
class Reported:
    """Another figure, as it is claimed: for those that are made of one whose arrays are not saved."""

    metric: str


@dataclass(frozen=True)
class AgainstBound:
    """A value v beside b, `part` times the certified bound (in the user's sense), or another bound made of it.

    how: "ratio" v / b; "percent" 100 max(0, v / b - 1); "relative" (v - b) / max(unit, |v|, |b|); "difference" v - b.
    The first two are only claimed for b > 0.
    """

    of: Statement
    how: Literal["ratio", "percent", "relative", "difference"]
    part: float = 1.0
    bound: Statement | None = None
    unit: float = 0.0


Statement = (
    CutWeight
    | WeightWithin
    | Modularity
    | ClusteringCost
    | ClusteringMeets
    | IndependentSet
    | FeasibleObjective
    | LargestEntry
    | AssignmentValue
    | AssignmentBound
    | Mismatch
    | ExplainedVariance
    | CorrelationDistance
    | DistanceBound
    | Reported
    | AgainstBound
)


@dataclass(frozen=True)
class Claim:
    """A metric of the rounding, and what it is.

    limit: the part of the certified bound that it cannot pass, being the figure of a feasible point; None if it can.
    ends_at: the metric that a search which began at this one has ended at, and which is therefore no worse.
    """

    metric: str
    says: Statement
    limit: float | None = None
    ends_at: str | None = None
