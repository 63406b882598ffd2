"""What corrections and forms of iterates ask of a domain of matrices that are known by a few of their vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from cgm_cli.blocks.atoms import LowRankAtom
    from cgm_cli.blocks.directions import Direction
    from cgm_cli.blocks.domains.base import OracleRequest


class Factorable(Protocol):
    """A set X of matrices that is defined by their eigen- or singular values: it contains U X W^T with X, for all
    orthogonal U and W (for symmetric matrices, W = U) that leave alone what is `known` of every point.

    trace: the largest sum of singular values of a point; with `fixed_trace`, of every point. count: the rank of the
    extreme points. known: orthonormal columns (n, p) that are eigenvectors of the eigenvalue one of every point; None:
    there are none. on_whole_sphere: whether what factors of the right size stand for is a point of it, or near one,
    whatever else they are. likely_rank: of solutions, where a problem is made to have it; None: nobody says.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def symmetric(self) -> bool: ...
    @property
    def diameter(self) -> float: ...
    @property
    def trace(self) -> float: ...
    @property
    def fixed_trace(self) -> bool: ...
    @property
    def count(self) -> int: ...
    @property
    def known(self) -> np.ndarray | None: ...
    @property
    def on_whole_sphere(self) -> bool: ...

    @property
    def likely_rank(self) -> int | None: ...

    @property
    def rest(self) -> Factorable:
        """What points may be beside the part that is `known`: a set of which nothing is."""
        ...

    def restricted(self, left: np.ndarray, right: np.ndarray) -> Factorable | None:
        """The matrices S with U S W^T in X for orthonormal columns U = left, and W = right, which span what is `known`.

        None where those are too few columns for it to be non-empty.
        """
        ...

    def admitted(self, values: np.ndarray) -> np.ndarray | None:
        """Singular values of a point like these, which are positive and whose sum is at most `trace`, or equal to it
        with `fixed_trace`. None where there is no point of this rank.
        """
        ...

    @property
    def singular_values(self) -> SingularValueSet | None:
        """X as all matrices of this shape with singular values in some set; None where more is asked of a point."""
        ...

    def several(self, direction: Direction, count: int, request: OracleRequest) -> tuple[np.ndarray, LowRankAtom]:
        """About the `count` matrices of rank one and length one for which <V, .> is least, as the columns of an atom,
        and those values (count,), ascending. Their multiples by `trace` are points of X where `count` of it is one.
        request: as of an LMO, but for the tolerance; warm: (n, r), about what their right columns may be.
        """
        ...

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of X, by a full decomposition."""
        ...


class SingularValueSet(Protocol):
    """All matrices of a shape whose singular values lie in one set."""

    def nearest_singular_values(self, values: np.ndarray) -> np.ndarray:
        """The nearest vector of singular values that a point of X may have; both fall."""
        ...


class EigenvalueSet(Protocol):
    """All positive semidefinite matrices whose eigenvalues lie in one set."""

    def nearest_eigenvalues(self, values: np.ndarray) -> np.ndarray:
        """The nearest vector of eigenvalues that a point of X may have."""
        ...
