"""Voltages of a power network that serve every load within all limits, near given ones, and what that costs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.deadline import Deadline
from cgm_cli.templates.power_network import PowerNetwork

STEPS = 50
"""Of Newton's method, at the most."""

MET, INSIDE = 1e-9, 1e-8
"""The violation at which it ends, and how far inside of a limit what has passed it is brought back, in units of the
base: a hundredth of a watt and more, of 100 MVA.
"""

HALVINGS = 200
"""Of an interval of prices: until it is no longer one."""


def nearest_feasible(network: PowerNetwork, voltages: np.ndarray, deadline: Deadline) -> np.ndarray:
    """Newton steps of least length towards all limits that are passed, those of loads being equations; what was passed
    once is held where it is from then on. The least violation on the way is what counts.
    """
    lower, upper = _limits(network)
    margin = np.minimum(INSIDE, 0.5 * (upper - lower))
    held = lower == upper
    best, least = voltages, np.inf
    for _ in range(STEPS):
        values, slopes = _quantities(network, voltages)
        over = np.maximum(lower - values, values - upper)
        worst = float(over.max())
        if worst < least:
            best, least = voltages, worst
        if worst <= MET or deadline.should_stop():
            break
        held |= over > 0.0
        off = (np.clip(values, lower + margin, upper - margin) - values)[held]
        step = np.linalg.lstsq(slopes[held], off)[0]
        voltages = voltages + step[: network.size] + 1j * step[network.size :]
    return best


def violation(network: PowerNetwork, voltages: np.ndarray) -> float:
    """The largest of all, in units of the base."""
    (lower, upper), (values, _) = _limits(network), _quantities(network, voltages)
    return max(0.0, float(np.maximum(lower - values, values - upper).max()))


def _limits(network: PowerNetwork) -> tuple[np.ndarray, np.ndarray]:
    """Of `_quantities`."""
    (least, most), lines = network.limits(), network.lines.most
    lower = [least[:, 0], least[:, 1], network.voltage[:, 0], np.full(lines.size, -np.inf)]
    return np.concatenate(lower), np.concatenate([most[:, 0], most[:, 1], network.voltage[:, 1], lines])


def _quantities(network: PowerNetwork, voltages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What generators of each bus give, real and reactive, |V|, and |S| at the ends of lines; and the slopes by the
    real and by the imaginary parts of V, (m, 2 n).
    """
    n, lines = network.size, network.lines
    injected, slopes = _powers(np.arange(n), network.admittance, voltages)
    given, sizes = injected + network.demand, np.abs(voltages)
    directions = voltages / np.where(sizes > 0.0, sizes, 1.0)
    of_sizes = np.hstack([np.diag(np.real(directions)), np.diag(np.imag(directions))])
    flows, slopes_of_flows = _powers(lines.at, lines.current, voltages)
    lengths = np.abs(flows)
    along = (flows / np.where(lengths > 0.0, lengths, 1.0)).conj()
    of_lengths = np.real(along[:, None] * slopes_of_flows)
    values = np.concatenate([np.real(given), np.imag(given), sizes, lengths])
    return values, np.vstack([np.real(slopes), np.imag(slopes), of_sizes, of_lengths])


def _powers(at: np.ndarray, current: sp.csr_array, voltages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """V_k conj((C V)_k), complex (m,), and its slopes (m, 2 n)."""
    drawn = np.conj(current @ voltages)
    along = np.zeros(current.shape, complex)
    along[np.arange(at.size), at] = drawn
    across = voltages[at][:, None] * current.toarray().conj()
    return voltages[at] * drawn, np.hstack([along + across, 1j * (along - across)])


def dispatch_cost(network: PowerNetwork, given: np.ndarray) -> float:
    """Of the real power (n,) that buses give, shared among the generators of each as cheaply as can be."""
    each, total = network.generators, 0.0
    for bus in np.unique(each.bus).tolist():
        inside = np.flatnonzero(each.bus == bus)
        cost = each.cost[inside]
        power = cheapest(float(given[bus]), each.least[inside], each.most[inside], cost)
        total += float((cost[:, 0] * power**2 + cost[:, 1] * power + cost[:, 2]).sum())
    return total


def cheapest(total: float, least: np.ndarray, most: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """The p (g,) with sum p = total of least cost within limits, cost (g, 3) of p^2, p and 1; what passes the sum of
    the limits is given to the first. At the price where the sum is met each gives what its marginal cost is then, and
    those of a constant one what is left.
    """
    quadratic = cost[:, 0] > 0.0
    slopes = np.where(quadratic, 2.0 * cost[:, 0], 1.0)

    def at(price: float) -> np.ndarray:
        wished = np.where(quadratic, (price - cost[:, 1]) / slopes, np.where(price > cost[:, 1], most, least))
        return np.clip(wished, least, most)

    low = float((2.0 * cost[:, 0] * least + cost[:, 1]).min()) - 1.0
    high = float((2.0 * cost[:, 0] * most + cost[:, 1]).max()) + 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if at(middle).sum() < total else (low, middle)
    below, above = at(low), at(high)
    span = float((above - below).sum())
    share = min(1.0, max(0.0, (total - float(below.sum())) / span)) if span > 0.0 else 0.0
    powers = below + share * (above - below)
    powers[0] += total - powers.sum()
    return powers
