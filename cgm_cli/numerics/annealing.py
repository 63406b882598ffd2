"""Large cuts of a graph by simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983), which for maximum
cut is as good as far more elaborate searches (Myklebust, "Solving maximum cut problems by simulated annealing", 2015).

With W the weights, no loops among them, and s of +-1, to flip node i changes the cut by its reward s_i (W s)_i. Sweeps
go over the nodes in turn; a flip that loses l is made with the probability exp(-l / T), while T falls to zero. Rounds
begin at the best cut so far, every other one so hot that it forgets that. What two cuts differ in falls into connected
components, each of which may be flipped in one of them without regard to the others: so the best of both is taken of
each, which for sparse graphs makes most of the difference.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cgm_cli.numerics.compiled import affordable, compiled
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.projections import safe_norm

HEATS = (0.5, 0.25)
"""T at the start of a round, in turn: in units of the root mean square of |w_i|, which is what rewards are like."""

ROUNDS = 40

WORK, MOST, FEWEST = 5_000_000, 2000, 20
"""Visits of nodes in a round, some hundredths of a second; and the most and the fewest sweeps there are."""

SLICE = 1 << 22
"""Nodes and edges that are gone over between two looks at the clock: some hundredths of a second."""

NOISE = 1e-12
"""Relative to the weights of a node: what is less is no reward, but the rounding of one."""

HOPELESS = -37.0
"""The reward, in units of T, from which on no flip is made: its probability is below 2^-53."""


def annealed(weights: sp.csr_array, signs: np.ndarray, seed: int, deadline: Deadline = NEVER) -> np.ndarray:
    """Signs (n,) of the largest cut that was met, which no single flip makes larger unless the deadline came first.

    weights (n, n): symmetric; what is on the diagonal cuts nothing. signs (n,): of +-1, where it begins.
    """
    graph = sp.csr_array(weights - sp.diags_array(weights.diagonal())) if weights.diagonal().any() else weights
    graph = sp.csr_array((graph.data.astype(float), graph.indices, graph.indptr), shape=graph.shape)
    hot = safe_norm(graph.data) / math.sqrt(signs.size)
    sweeps = min(MOST, max(FEWEST, affordable(WORK) // signs.size))
    slice_of = max(1, affordable(SLICE) // (graph.nnz + signs.size))
    state = np.array([seed], dtype=np.uint64)
    best = _climbed(graph, signs.astype(float), deadline)
    for number in range(ROUNDS):
        temperatures = HEATS[number % len(HEATS)] * hot * (1.0 - np.arange(sweeps) / sweeps)
        now, met, most = best.copy(), best.copy(), -math.inf
        for first in range(0, sweeps, slice_of):
            if deadline.should_stop():
                return best
            reward = now * (graph @ now)  # anew, without what flips have rounded
            part = temperatures[first : first + slice_of]
            most = _sweep(graph.indptr, graph.indices, graph.data, now, reward, part, state, met, most)
        best = _climbed(graph, merged(graph, best, met), deadline)
    return best


def merged(graph: sp.csr_array, signs: np.ndarray, other: np.ndarray) -> np.ndarray:
    """A cut (n,) at least as large as either of two: the better on each component of the nodes where they differ, and
    of those where they do not, which is where one of them differs from the other with its sides exchanged.

    To flip a component changes the cut by the sum of w_ij s_i s_j over the edges that leave it.
    """
    rows = np.repeat(np.arange(signs.size), np.diff(graph.indptr))
    for side in (1.0, -1.0):
        differs = signs != side * other
        begins, ends = differs[rows], differs[graph.indices]
        within, leaves = begins & ends, begins & ~ends
        inner = sp.csr_array((np.ones(within.sum()), (rows[within], graph.indices[within])), shape=graph.shape)
        count, component = connected_components(inner, directed=False)
        products = (graph.data * signs[rows] * signs[graph.indices])[leaves]
        gains = np.bincount(component[rows[leaves]], weights=products, minlength=count)
        signs = np.where(differs & (gains > 0.0)[component], -signs, signs)
    return signs


def _climbed(graph: sp.csr_array, signs: np.ndarray, deadline: Deadline) -> np.ndarray:
    """Flip nodes while the cut grows by that, sweep by sweep, until the deadline; `signs` is changed, and returned."""
    noise = NOISE * float(abs(graph).sum(axis=1).max(initial=0.0))
    reward = signs * (graph @ signs)
    while not deadline.should_stop() and _climb(graph.indptr, graph.indices, graph.data, signs, reward, noise):
        pass
    return signs


@compiled
def _flip(
    i: int, indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, signs: np.ndarray, reward: np.ndarray
) -> None:
    signs[i] = -signs[i]
    reward[i] = -reward[i]
    for place in range(indptr[i], indptr[i + 1]):
        j = indices[place]
        reward[j] += 2.0 * signs[i] * data[place] * signs[j]


@compiled
def _climb(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, signs: np.ndarray, reward: np.ndarray, noise: float
) -> int:
    flips = 0
    for i in range(signs.size):
        if reward[i] > noise:
            _flip(i, indptr, indices, data, signs, reward)
            flips += 1
    return flips


@compiled
def _sweep(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    signs: np.ndarray,
    reward: np.ndarray,
    temperatures: np.ndarray,
    state: np.ndarray,
    met: np.ndarray,
    most: float,
) -> float:
    """One sweep at each temperature; `met` becomes the largest cut after a sweep, where that is larger than `most`, and
    its weight (less half of that of all edges) is returned. state: of the random numbers, those of Steele, Lea and
    Flood (SplitMix64, OOPSLA 2014).
    """
    cut = 0.0
    for i in range(signs.size):
        cut -= 0.25 * reward[i]
    x = state[0]
    for temperature in temperatures:
        for i in range(signs.size):
            gain = reward[i]
            if gain < 0.0:
                if gain < HOPELESS * temperature:
                    continue
                x += np.uint64(0x9E3779B97F4A7C15)
                z = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                z ^= z >> np.uint64(31)
                if (z >> np.uint64(11)) * 2.0**-53 >= math.exp(gain / temperature):
                    continue
            cut += gain
            _flip(i, indptr, indices, data, signs, reward)
        if cut > most:
            most = cut
            met[:] = signs
    state[0] = x
    return most
