"""The adjacency matrix of a graph, made of its edges: the one way that every reader of graphs takes.

One rule for all of them: an edge from a node to itself is left out, since it adds nothing to a cut and binds nothing
in theta; edges given more than once, or in both directions, add their weights; an edge of no weight is none. A matrix
that a file gives as a whole has each edge at both its places: there the weight is the entry.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.numerics.arrays import is_sparse
from cgm_cli.readers.memory import check_fits

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Graph:
    """adjacency: symmetric (n, n), zero on the diagonal. labels: what its nodes are called; None where they are told by
    their numbers, from 1. remarks: what was recognised, in sentences.
    """

    adjacency: sp.csr_array
    labels: list[str] | None = None
    remarks: tuple[str, ...] = ()


def adjacency(name: str, nodes: int, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray) -> sp.csr_array:
    """The symmetric matrix (nodes, nodes), zero on the diagonal, of edges (m,) between nodes from 0.

    name: what messages call the file. DataError if the weights of an edge add up to what is no number.
    """
    kept = tails != heads
    if not kept.all():
        logger.info("%s: left out, edges from a node to itself: %d", name, int(np.count_nonzero(~kept)))
        tails, heads, weights = tails[kept], heads[kept], weights[kept]
    both = (np.concatenate([tails, heads]), np.concatenate([heads, tails]))
    matrix = sp.coo_array((np.concatenate([weights, weights]), both), shape=(nodes, nodes)).tocsr()
    if not np.isfinite(matrix.data).all():
        raise DataError(f"{name}: the sum of the weights of an edge overflows")
    matrix.eliminate_zeros()
    return matrix


def adjacency_of(name: str, matrix: np.ndarray | sp.csr_array) -> sp.csr_array:
    """That of a graph that is given by its matrix. DataError unless it is square and symmetric."""
    if matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]:
        # Its transpose, the comparison with it and the copy: entries with their indices, each a few times.
        entries = matrix.nnz if is_sparse(matrix) else np.count_nonzero(matrix)
        check_fits(name, 64 * int(entries))
        whole = sp.csr_array(matrix)
        if not cast(sp.csr_array, whole != whole.T).nnz:
            upper = sp.coo_array(sp.triu(whole))
            tails, heads = (places.astype(np.int64) for places in upper.coords)
            return adjacency(name, whole.shape[0], tails, heads, upper.data)
    raise DataError(f"{name}: not the matrix of a graph: it must be square and symmetric")
