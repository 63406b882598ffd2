"""Good partitions of a graph into communities, by simulated annealing, as of cuts (cgm_cli.numerics.annealing).

With W the weights, no loops among them, and e the expectations of the nodes, the worth of labels c is

    sum over i < j with c_i = c_j of  w_ij - e_i e_j

e_i = k_i sqrt(g / 2m) makes that m times the modularity of resolution g, but for a constant (Reichardt and Bornholdt,
Physical Review E 74, 2006). With L_ib the weight of the edges between i and b, and E_b the sum of e over b, to move i
from a to b is worth L_ib - L_ia - e_i (E_b - E_a + e_i). Most moves that are tried are to where a neighbour is.

Communities of equal sizes: e_i = e, the same for all, is a price of e^2 / 2 (size)^2 on sizes that differ (Johnson,
Aragon, McGeoch and Schevon, Operations Research 37, 1989). What is left of the difference is mended node by node, and
then pairs are exchanged while that is worth anything, as by Kernighan and Lin (Bell System Technical Journal 49, 1970).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.annealing import FEWEST, HEATS, MOST, NOISE, SLICE, WORK
from cgm_cli.numerics.compiled import affordable, compiled
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.projections import safe_norm

ROUNDS = 10

ELSEWHERE = 0.1
"""The part of the moves that are tried to any community there is, or to an empty one."""

PRICES = 10 * (0.05,) + 4 * (1.0,)
"""e^2 for equal sizes, round by round, over the root mean square of what moves are worth. (Edges between the halves of
a random graph of 2000 nodes and 20,000 edges: 6660 with 0.03 and 0.1, 6670 with 0.3, 6730 with 1. Where there are few
nodes, or weights of both signs, a low price only ever ends in communities that are far from equal.)
"""


def worth(graph: sp.csr_array, expected: np.ndarray, labels: np.ndarray) -> float:
    """That of labels (n,), integers from 0; graph (n, n): symmetric, zero on the diagonal; expected (n,)."""
    rows = np.repeat(np.arange(labels.size), np.diff(graph.indptr))
    inner = 0.5 * float(graph.data[labels[rows] == labels[graph.indices]].sum())
    sums = np.bincount(labels, weights=expected)
    return inner - 0.5 * float(sums @ sums - expected @ expected)


def regrouped(
    weights: sp.csr_array, expected: np.ndarray, labels: np.ndarray, most: int, seed: int, deadline: Deadline = NEVER
) -> np.ndarray:
    """Labels (n,) worth no less than those it begins with, which no move of a node makes worth more unless the deadline
    came first.

    weights (n, n): symmetric. expected (n,). labels (n,): integers from 0, below `most`, as those returned.
    """
    graph = _without_loops(weights)
    rng = np.random.default_rng(seed)
    best = _climbed(graph, expected, labels.astype(np.int64), most, deadline)
    value = worth(graph, expected, best)
    for number in range(ROUNDS):
        if deadline.should_stop():
            break
        met = _annealed(graph, expected, best, most, HEATS[number % len(HEATS)], rng, deadline)
        met = _climbed(graph, expected, met, most, deadline)
        if (found := worth(graph, expected, met)) > value:
            best, value = met, found
    return best


def equally_regrouped(
    weights: sp.csr_array, labels: np.ndarray, parts: int, seed: int, deadline: Deadline = NEVER
) -> np.ndarray:
    """Labels (n,) of communities whose sizes differ by one at the most, with no less weight within than those it begins
    with, if these have such sizes, and which no exchange of two nodes makes more unless the deadline came first.

    weights (n, n): symmetric. labels (n,): integers from 0, below `parts`, as those returned.
    """
    graph = _without_loops(weights)
    rng = np.random.default_rng(seed)
    nothing = np.zeros(labels.size)
    best = _exchanged(graph, evened(graph, labels, parts), parts, deadline)
    value = worth(graph, nothing, best)
    for number, price in enumerate(PRICES):
        if deadline.should_stop():
            break
        expected = np.full(labels.size, math.sqrt(price * _heat(graph)))
        met = _annealed(graph, expected, best, parts, HEATS[number % len(HEATS)], rng, deadline)
        met = _exchanged(graph, evened(graph, met, parts), parts, deadline)
        if (found := worth(graph, nothing, met)) > value:
            best, value = met, found
    return best


def evened(graph: sp.csr_array, labels: np.ndarray, parts: int) -> np.ndarray:
    """Labels (n,) of communities whose sizes differ by one at the most: nodes leave those that are too large, one after
    the other, the one first that loses least by going to where there is room.
    """
    labels, n = labels.astype(np.int64), labels.size
    sizes = np.bincount(labels, minlength=parts)
    targets = np.full(parts, n // parts)
    targets[np.argsort(-sizes, kind="stable")[: n % parts]] += 1
    if (sizes == targets).all():
        return labels
    links = _links(graph, labels, parts)
    while (over := sizes > targets).any():
        leaving, room = np.flatnonzero(over[labels]), np.flatnonzero(sizes < targets)
        gains = links[np.ix_(leaving, room)] - links[leaving, labels[leaving]][:, None]
        chosen, place = np.unravel_index(int(np.argmax(gains)), gains.shape)
        node, there, here = leaving[chosen], room[place], labels[leaving[chosen]]
        labels[node] = there
        sizes[here] -= 1
        sizes[there] += 1
        edges = slice(graph.indptr[node], graph.indptr[node + 1])
        links[graph.indices[edges], here] -= graph.data[edges]
        links[graph.indices[edges], there] += graph.data[edges]
    return labels


def _without_loops(weights: sp.csr_array) -> sp.csr_array:
    graph = sp.csr_array(weights - sp.diags_array(weights.diagonal())) if weights.diagonal().any() else weights
    return sp.csr_array((graph.data.astype(float), graph.indices, graph.indptr), shape=graph.shape)


def _heat(graph: sp.csr_array) -> float:
    """The root mean square of what moves are worth."""
    return safe_norm(graph.data) / math.sqrt(graph.shape[0])


def _noise(graph: sp.csr_array) -> float:
    return NOISE * float(abs(graph).sum(axis=1).max(initial=0.0))


def _links(graph: sp.csr_array, labels: np.ndarray, parts: int) -> np.ndarray:
    """(n, parts): the weight of the edges between a node and a community."""
    return graph @ (labels[:, None] == np.arange(parts)).astype(float)


def _annealed(
    graph: sp.csr_array,
    expected: np.ndarray,
    labels: np.ndarray,
    most: int,
    heat: float,
    rng: np.random.Generator,
    deadline: Deadline,
) -> np.ndarray:
    """The best labels after a sweep, of a round that begins so hot."""
    n = labels.size
    sweeps = min(MOST, max(FEWEST, affordable(WORK) // n))
    temperatures = heat * _heat(graph) * (1.0 - np.arange(sweeps) / sweeps)
    slice_of = max(1, affordable(SLICE) // (graph.nnz + n))
    now, met, best = labels.copy(), labels.copy(), -math.inf
    for first in range(0, sweeps, slice_of):
        if deadline.should_stop():
            break
        part = temperatures[first : first + slice_of]
        draws = rng.random((part.size, n, 2))
        sums = np.bincount(now, weights=expected, minlength=most)  # anew, without what moves have rounded
        value = worth(graph, expected, now)
        best = _sweep(
            graph.indptr, graph.indices, graph.data, expected, now, sums, part, draws, ELSEWHERE, value, met, best
        )
    return met


def _climbed(
    graph: sp.csr_array, expected: np.ndarray, labels: np.ndarray, most: int, deadline: Deadline
) -> np.ndarray:
    """Move nodes to where they are worth most while that is worth anything, sweep by sweep, until the deadline."""
    now, noise = labels.copy(), _noise(graph)
    sums = np.bincount(now, weights=expected, minlength=most)
    sizes = np.bincount(now, minlength=most)
    links = np.zeros(most)
    while not deadline.should_stop():
        if not _climb(graph.indptr, graph.indices, graph.data, expected, now, sums, sizes, links, noise):
            break
    return now


def _exchanged(graph: sp.csr_array, labels: np.ndarray, parts: int, deadline: Deadline) -> np.ndarray:
    """Exchange pairs of nodes while that is worth anything, until the deadline."""
    now, n, noise = labels.copy(), labels.size, _noise(graph)
    row, links = np.zeros(n), _links(graph, now, parts)
    slice_of, since = max(1, affordable(SLICE) // n), 0
    first = 0
    while since < n and not deadline.should_stop():
        last = min(n, first + slice_of)
        found = _exchange(graph.indptr, graph.indices, graph.data, now, links, row, first, last, noise)
        since = 0 if found else since + last - first
        first = last % n
    return now


@compiled
def _sweep(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    expected: np.ndarray,
    labels: np.ndarray,
    sums: np.ndarray,
    temperatures: np.ndarray,
    draws: np.ndarray,
    elsewhere: float,
    value: float,
    met: np.ndarray,
    best: float,
) -> float:
    """One sweep at each temperature; `met` becomes the best labels after a sweep, where these are worth more than
    `best`, and what they are worth is returned. draws (sweeps, n, 2): uniform in [0, 1). value: the worth of `labels`.
    """
    for number in range(temperatures.size):
        for i in range(labels.size):
            start, end, u, here = indptr[i], indptr[i + 1], draws[number, i, 0], labels[i]
            if start == end or u < elsewhere:
                there = int(sums.size * (u if start == end else u / elsewhere))
            else:
                there = labels[indices[start + int((end - start) * (u - elsewhere) / (1.0 - elsewhere))]]
            if there == here:
                continue
            gain = -expected[i] * (sums[there] - sums[here] + expected[i])
            for place in range(start, end):
                label = labels[indices[place]]
                if label == there:
                    gain += data[place]
                elif label == here:
                    gain -= data[place]
            if gain < 0.0 and draws[number, i, 1] >= math.exp(gain / temperatures[number]):
                continue
            labels[i] = there
            sums[here] -= expected[i]
            sums[there] += expected[i]
            value += gain
        if value > best:
            best = value
            met[:] = labels
    return best


@compiled
def _climb(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    expected: np.ndarray,
    labels: np.ndarray,
    sums: np.ndarray,
    sizes: np.ndarray,
    links: np.ndarray,
    noise: float,
) -> int:
    """One sweep; how many nodes were moved. links: zeros, as many as communities, which it leaves so."""
    moved = 0
    for i in range(labels.size):
        here, empty = labels[i], -1
        for place in range(indptr[i], indptr[i + 1]):
            links[labels[indices[place]]] += data[place]
        own = links[here] - expected[i] * (sums[here] - expected[i])
        most, there = own, here
        for label in range(links.size):
            if sizes[label] == 0:
                empty = label
            elif label != here:
                found = links[label] - expected[i] * sums[label]
                if found > most:
                    most, there = found, label
        if empty >= 0 and most < 0.0:
            most, there = 0.0, empty
        for place in range(indptr[i], indptr[i + 1]):
            links[labels[indices[place]]] = 0.0
        if most > own + noise:
            labels[i] = there
            sums[here] -= expected[i]
            sums[there] += expected[i]
            sizes[here] -= 1
            sizes[there] += 1
            moved += 1
    return moved


@compiled
def _exchange(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    labels: np.ndarray,
    links: np.ndarray,
    row: np.ndarray,
    first: int,
    last: int,
    noise: float,
) -> int:
    """Each of some nodes is exchanged with the one that gains most by it; how many were. row: zeros (n,), left so."""
    exchanged = 0
    for i in range(first, last):
        here = labels[i]
        for place in range(indptr[i], indptr[i + 1]):
            row[indices[place]] = data[place]
        most, other = noise, -1
        for j in range(labels.size):
            there = labels[j]
            if there != here:
                gain = links[i, there] - links[i, here] + links[j, here] - links[j, there] - 2.0 * row[j]
                if gain > most:
                    most, other = gain, j
        for place in range(indptr[i], indptr[i + 1]):
            row[indices[place]] = 0.0
        if other >= 0:
            there = labels[other]
            labels[i], labels[other] = there, here
            for place in range(indptr[i], indptr[i + 1]):
                links[indices[place], here] -= data[place]
                links[indices[place], there] += data[place]
            for place in range(indptr[other], indptr[other + 1]):
                links[indices[place], there] -= data[place]
                links[indices[place], here] += data[place]
            exchanged += 1
    return exchanged


@_exchange.otherwise
def _(indptr, indices, data, labels, links, row, first, last, noise):
    exchanged, everyone = 0, np.arange(labels.size)
    for i in range(first, last):
        here, near = labels[i], slice(indptr[i], indptr[i + 1])
        row[indices[near]] = data[near]
        gains = links[i, labels] - links[i, here] + links[:, here] - links[everyone, labels] - 2.0 * row
        row[indices[near]] = 0.0
        gains[labels == here] = -np.inf
        other = int(gains.argmax())
        if gains[other] > noise:
            there = labels[other]
            labels[i], labels[other] = there, here
            for node, sign in ((i, -1.0), (other, 1.0)):
                near = slice(indptr[node], indptr[node + 1])
                links[indices[near], here] += sign * data[near]
                links[indices[near], there] -= sign * data[near]
            exchanged += 1
    return exchanged
