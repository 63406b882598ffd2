"""Optimal power flow: the semidefinite relaxation of Lavaei and Low."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.iterates import Iterate
from cgm_cli.errors import located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.hermitian import embedded, folded
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.entries import named_arrays
from cgm_cli.readers.matpower import read_case
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.affine import Affine, Parts
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import AgainstBound, Claim, Reported
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.power_network import PowerNetwork, network_of, power_forms
from cgm_cli.templates.power_recovery import dispatch_cost, nearest_feasible, violation
from cgm_cli.templates.standard_sdp import StandardSDP
from cgm_cli.templates.trace_bounds import TraceLimit
from cgm_cli.text import visible

FEASIBLE = 1e-6
"""Violations of limits, in units of the base, up to which a dispatch counts as one: 100 W of 100 MVA."""


class CaseFile(StrictModel):
    """A case of MATPOWER."""

    file: str = Field(min_length=1, description="a .m file in format 2")


class OptimalPowerFlow(Template):
    """min sum of the costs of generators, over the voltages V of a network that serves every load within all limits.

    With W = V V^* powers are linear, and costs are convex: without the rank of W it is a semidefinite program, whose
    optimum is a lower bound on the cost of every dispatch, and whose W, where it has rank one, is the best of all
    (Lavaei and Low, IEEE Trans. Power Systems 27, 2012). Kept are the limits of real and reactive power, of the size of
    voltages, and of the apparent power at both ends of lines; those of angles are left out.

    X has a block for W (as a real matrix, cgm_cli.numerics.hermitian), blocks [[t, p], [p, 1]] that make t >= p^2 of a
    generator with a quadratic cost, blocks [[s + P, Q], [Q, s - P]] that make |P + i Q| <= s at an end of a line, and
    numbers p - p_min >= 0.
    """

    class Spec(TemplateSpec):
        template: Literal["optimal-power-flow"]
        case: CaseFile = Field(description="the network, its loads and generators, their limits and costs")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "optimal-power-flow", "case": {"file": "case9.m"}},
            {"template": "optimal-power-flow", "case": {"file": "case14.m"}},
        ]

        def build(self, context: BuildContext) -> OptimalPowerFlow:
            with located("case", "file"):
                case = read_case(context.find(self.case.file), visible(self.case.file))
                network = network_of(case)
            # W and what interior-point steps make of it.
            context.reserve("matrices", 8 * 20 * (2 * network.size) ** 2)
            return OptimalPowerFlow(network)

    measures = (
        Metric("rank_ratio", "second largest eigenvalue of W over the largest: 0 where W = V V^*", "lower", log=True),
        Metric("recovered_cost", "cost of voltages V near the leading eigenvector of W", "lower", comparable=False),
        Metric("violation", "their largest violation of a load or a limit, in units of the base", "lower", log=True),
        Metric("certified_percent", "without one, their cost is at most so many percent above the least", "lower"),
    )
    listing = Listing("magnitude", "bus", "voltage")

    def __init__(self, network: PowerNetwork):
        self.network = network
        program = _Program(network)
        self.problem = StandardSDP(program.parts(), TraceLimit(program.radius)).problem

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """magnitude, angle (n,): of voltages near the leading eigenvector of W, the latter in degrees. power (n, 2):
        what the generators of each bus give, real and reactive, in MW and MVAr.
        """
        network, n = self.network, self.network.size
        whole = folded(iterate.point.dense().reshape(-1)[: 4 * n * n].reshape(2 * n, 2 * n))
        values, vectors = np.linalg.eigh(whole)
        # Of W = 0, where a run begins: the same voltage everywhere, as power flows do.
        leading = vectors[:, -1] * np.sqrt(values[-1]) if values[-1] > 0.0 else np.ones(n)
        leading = leading * np.exp(-1j * np.angle(leading[0]))
        voltages = nearest_feasible(network, leading, deadline)
        given = network.injected(voltages) + network.demand
        cost, beyond = dispatch_cost(network, np.real(given)), violation(network, voltages)
        ratio = max(float(values[-2]), 0.0) / (float(values[-1]) or 1.0) if n > 1 else 0.0
        metrics = {"rank_ratio": ratio, "recovered_cost": cost, "violation": beyond}
        if bound is not None and bound > 0.0 and beyond <= FEASIBLE:
            metrics["certified_percent"] = 100.0 * max(0.0, cost / bound - 1.0)
        power = network.base * np.column_stack([np.real(given), np.imag(given)])
        arrays = {"magnitude": np.abs(voltages), "angle": np.rad2deg(np.angle(voltages)), "power": power}
        return Rounding(metrics, {**arrays, **named_arrays(list(map(str, network.names)))})

    def claims(self) -> Sequence[Claim]:
        return (Claim("certified_percent", AgainstBound(Reported("recovered_cost"), "percent")),)


class _Program:
    """The program in blocks, row by row."""

    def __init__(self, network: PowerNetwork):
        each, lines = network.generators, network.lines
        self.network = network
        self.quadratic = np.flatnonzero(each.cost[:, 0] > 0.0)
        self.movable = np.flatnonzero(each.most > each.least)
        ends = lines.most.size
        self.sizes = (2 * network.size, *(2,) * (self.quadratic.size + ends), -(self.movable.size + 1))
        lengths = [size * size if size > 0 else -size for size in self.sizes]
        self.starts = list(accumulate(lengths, initial=0))
        self.numbers = self.starts[-2]
        self._rows: list[tuple[np.ndarray, np.ndarray]] = []
        self._lower: list[float] = []
        self._upper: list[float] = []
        largest = np.maximum(np.abs(each.least), np.abs(each.most))[self.quadratic]
        voltages = np.square(network.voltage[:, 1]).sum()
        ranges = (each.most - each.least)[self.movable].sum()
        self.radius = float(voltages + (1.0 + largest**2).sum() + 2.0 * lines.most.sum() + ranges + 1.0)

    def parts(self) -> Parts:
        self._balance()
        self._voltages()
        self._generators()
        self._lines()
        self._row([(self.starts[-1] - 1, 1.0)], 1.0, 1.0)
        counts = np.cumsum([0, *(places.size for places, _ in self._rows)])
        places, values = (np.concatenate(each) for each in zip(*self._rows, strict=True))
        rows = sp.csr_array((values, places, counts), shape=(len(self._rows), self.starts[-1]))
        affine = Affine(rows, np.array(self._lower), np.array(self._upper), np.arange(len(self._rows)))
        return Parts(self.sizes, self._cost(), affine)

    def _row(self, entries: list[tuple[int, float]], lower: float, upper: float, form: sp.csr_array | None = None):
        """lower <= <form, W> + sum of values of entries of X <= upper."""
        places, values = (np.array(each) for each in zip(*entries, strict=True)) if entries else (np.zeros(0),) * 2
        if form is not None:
            matrix = sp.coo_array(embedded(form))
            rows, columns = matrix.coords
            places = np.concatenate([places, rows * self.sizes[0] + columns])
            values = np.concatenate([values, matrix.data])
        self._rows.append((places.astype(np.int64), values.astype(float)))
        self._lower.append(lower)
        self._upper.append(upper)

    def _off(self, block: int, value: float) -> list[tuple[int, float]]:
        """The entry off the diagonal of a block 2 x 2, by its number from 1."""
        start = self.starts[block]
        return [(start + 1, 0.5 * value), (start + 2, 0.5 * value)]

    def _balance(self) -> None:
        """What a bus gives to its lines is what its generators give, less the load."""
        network = self.network
        buses, (least, most) = np.arange(network.size), network.limits()
        real, reactive = power_forms(buses, network.admittance)
        owners = network.generators.bus[self.movable]
        for bus in buses.tolist():
            moved = [(self.numbers + place, -1.0) for place in np.flatnonzero(owners == bus).tolist()]
            load = network.demand[bus]
            self._row(moved, least[bus, 0] - load.real, least[bus, 0] - load.real, real[bus])
            self._row([], least[bus, 1] - load.imag, most[bus, 1] - load.imag, reactive[bus])

    def _voltages(self) -> None:
        n = self.network.size
        for bus, (least, most) in enumerate(np.square(self.network.voltage).tolist()):
            self._row([], least, most, sp.csr_array(([1.0], ([bus], [bus])), shape=(n, n)))

    def _generators(self) -> None:
        each = self.network.generators
        moving = {generator: self.numbers + place for place, generator in enumerate(self.movable.tolist())}
        for generator, place in moving.items():
            self._row([(place, 1.0)], -np.inf, float(each.most[generator] - each.least[generator]))
        for block, generator in enumerate(self.quadratic.tolist(), 1):
            self._row([(self.starts[block] + 3, 1.0)], 1.0, 1.0)
            number = [(moving[generator], -1.0)] if generator in moving else []
            least = float(each.least[generator])
            self._row([*self._off(block, 1.0), *number], least, least)

    def _lines(self) -> None:
        lines = self.network.lines
        real, reactive = power_forms(lines.at, lines.current)
        for end, most in enumerate(lines.most.tolist()):
            block = 1 + self.quadratic.size + end
            start = self.starts[block]
            self._row([(start, 1.0)], most, most, -real[end])
            self._row([(start + 3, 1.0)], most, most, real[end])
            self._row(self._off(block, 1.0), 0.0, 0.0, -reactive[end])

    def _cost(self) -> sp.csr_array:
        """(1, N), what does not depend on X at the number that is 1."""
        each, cost = self.network.generators, np.zeros(self.starts[-1])
        for block, generator in enumerate(self.quadratic.tolist(), 1):
            cost[self.starts[block]] = each.cost[generator, 0]
        cost[self.numbers : -1] = each.cost[self.movable, 1]
        cost[-1] = float((each.cost[:, 1] * each.least + each.cost[:, 2]).sum())
        return sp.csr_array(cost[None])
