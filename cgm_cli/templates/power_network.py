"""A power network in units of its base: what its buses and lines carry, as Hermitian forms of the voltages.

With V the complex voltages and Y the admittances, bus k gives to its lines V_k conj((Y V)_k) = conj(V^* M V), where
M = e_k e_k^T Y: the real power V^* (M + M^*) / 2 V, and the reactive power V^* (M^* - M) / 2i V. A line that draws the
current a^T V at bus k takes M = e_k a^T in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.readers.matpower import PowerCase

ISOLATED = 4
"""Type of a bus that is not connected."""

POLYNOMIAL = 2
"""Model of a cost."""


@dataclass(frozen=True)
class Generators:
    """bus (g,): places of their buses. least, most: of the real power (g,). reactive: (g, 2), of the reactive power,
    which may be infinite. cost: (g, 3), of p in units of the base: c_2 p^2 + c_1 p + c_0, c_2 >= 0.
    """

    bus: np.ndarray
    least: np.ndarray
    most: np.ndarray
    reactive: np.ndarray
    cost: np.ndarray


@dataclass(frozen=True)
class Lines:
    """Ends of lines with a limit. at: the bus of each (l,). current: what it draws there (l, n). most: of |S| (l,)."""

    at: np.ndarray
    current: sp.csr_array
    most: np.ndarray


@dataclass(frozen=True)
class PowerNetwork:
    """names: numbers of the buses (n,). demand (n,), complex. voltage (n, 2): least and most of |V|. admittance: Y."""

    base: float
    names: np.ndarray
    demand: np.ndarray
    voltage: np.ndarray
    admittance: sp.csr_array
    generators: Generators
    lines: Lines

    @property
    def size(self) -> int:
        return self.names.size

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and most of what the generators of each bus give, real and reactive (n, 2): of none, zero."""
        each, least, most = self.generators, np.zeros((self.size, 2)), np.zeros((self.size, 2))
        np.add.at(least, each.bus, np.column_stack([each.least, each.reactive[:, 0]]))
        np.add.at(most, each.bus, np.column_stack([each.most, each.reactive[:, 1]]))
        return least, most

    def injected(self, voltages: np.ndarray) -> np.ndarray:
        """What each bus gives to its lines: complex (n,)."""
        return voltages * np.conj(self.admittance @ voltages)


def power_forms(at: np.ndarray, current: sp.csr_array) -> tuple[list[sp.csr_array], list[sp.csr_array]]:
    """Hermitian (n, n) matrices of the real and the reactive powers of currents (m, n) drawn at buses (m,)."""
    real, reactive = list[sp.csr_array](), list[sp.csr_array]()
    n = current.shape[1]
    for place, bus in enumerate(at.tolist()):
        row = sp.coo_array(current[[place]])
        values, columns = row.data.astype(complex), row.coords[1]
        matrix = sp.csr_array((values, (np.full(columns.size, bus), columns)), shape=(n, n))
        mirrored = sp.csr_array(matrix.conj().T)
        real.append(sp.csr_array((matrix + mirrored) * 0.5))
        reactive.append(sp.csr_array((mirrored - matrix) * -0.5j))
    return real, reactive


def network_of(case: PowerCase) -> PowerNetwork:
    """Of what is in service. Raises DataError for a case that makes no sense, or has no convex costs."""
    bus = case.bus[case.bus[:, 1] != ISOLATED]
    names = bus[:, 0].astype(int)
    if np.unique(names).size < names.size:
        raise DataError("two buses have one number")
    places = {name: place for place, name in enumerate(names.tolist())}
    generators = _generators(case, places)
    branch = case.branch[case.branch[:, 10] > 0.0]
    tail, head = (_places(branch[:, column], places, "branch") for column in (0, 1))
    if ((branch[:, 2] == 0.0) & (branch[:, 3] == 0.0)).any():
        raise DataError("a branch has no impedance")
    series = 1.0 / (branch[:, 2] + 1j * branch[:, 3])
    ratio = np.where(branch[:, 8] == 0.0, 1.0, branch[:, 8]) * np.exp(1j * np.deg2rad(branch[:, 9]))
    own = series + 0.5j * branch[:, 4]
    count, n = len(branch), len(bus)
    rows = np.arange(count)

    def currents(at_tail: np.ndarray, at_head: np.ndarray) -> sp.csr_array:
        values, columns = np.concatenate([at_tail, at_head]), np.concatenate([tail, head])
        return sp.csr_array((values, (np.concatenate([rows, rows]), columns)), shape=(count, n))

    into_tail = currents(own / np.abs(ratio) ** 2, -series / np.conj(ratio))
    into_head = currents(-series / ratio, own)
    ones = np.ones(count)
    ends = [sp.csr_array((ones, (each, rows)), shape=(n, count)) for each in (tail, head)]
    shunts = sp.diags_array((bus[:, 4] + 1j * bus[:, 5]) / case.base)
    admittance = sp.csr_array(ends[0] @ into_tail + ends[1] @ into_head + shunts)
    limited = np.flatnonzero((branch[:, 5] > 0.0) & np.isfinite(branch[:, 5]))
    lines = Lines(
        np.concatenate([tail[limited], head[limited]]),
        sp.csr_array(sp.vstack([into_tail[limited], into_head[limited]])),
        np.tile(branch[limited, 5] / case.base, 2),
    )
    demand, voltage = (bus[:, 2] + 1j * bus[:, 3]) / case.base, bus[:, [12, 11]]
    if not (np.isfinite(voltage).all() and (voltage[:, 0] >= 0.0).all() and (voltage[:, 0] <= voltage[:, 1]).all()):
        raise DataError("limits of a voltage are none: the least is at least 0, and at most the largest")
    return PowerNetwork(case.base, names, demand, voltage, admittance, generators, lines)


def _generators(case: PowerCase, places: dict[int, int]) -> Generators:
    if len(case.gencost) < len(case.gen):
        raise DataError(f"there are {len(case.gen)} generators, and {len(case.gencost)} costs")
    if len(case.gencost) > len(case.gen) and case.gencost[len(case.gen) :, 4:].any():
        raise DataError("reactive power has a cost, which is not supported")
    used = case.gen[:, 7] > 0.0
    used &= np.isin(case.gen[:, 0], list(places))
    gen, cost = case.gen[used], case.gencost[: len(case.gen)][used]
    if not len(gen):
        raise DataError("no generator is in service")
    least, most = gen[:, 9] / case.base, gen[:, 8] / case.base
    if not (np.isfinite(least).all() and np.isfinite(most).all() and (least <= most).all()):
        raise DataError("limits of a generator are none: two finite numbers, the first no larger than the second")
    polynomials = np.array([_polynomial(row) for row in cost]) * case.base ** np.array([2.0, 1.0, 0.0])
    reactive = gen[:, [4, 3]] / case.base
    if (reactive[:, 0] > reactive[:, 1]).any():
        raise DataError("of a generator the least reactive power is more than the most")
    return Generators(_places(gen[:, 0], places, "generator"), least, most, reactive, polynomials)


def _polynomial(row: np.ndarray) -> np.ndarray:
    """c_2, c_1, c_0."""
    model, count = int(row[0]), int(row[3])
    if model != POLYNOMIAL:
        raise DataError("a cost is piecewise linear, and polynomials of degree 2 at the most are supported")
    coefficients = row[4 : 4 + count]
    if coefficients.size != count or coefficients[:-3].any():
        raise DataError("a cost is a polynomial of degree 2 at the most")
    found = np.zeros(3)
    found[3 - min(count, 3) :] = coefficients[-3:]
    if found[0] < 0.0:
        raise DataError("a cost is not convex: its quadratic coefficient is negative")
    return found


def _places(numbers: np.ndarray, places: dict[int, int], what: str) -> np.ndarray:
    for number in numbers:
        if int(number) not in places:
            raise DataError(f"a {what} is at bus {number:g}, which is not there, or isolated")
    return np.array([places[int(number)] for number in numbers], dtype=int)
