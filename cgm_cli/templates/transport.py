"""Optimal transport: the cheapest plan that brings what is supplied to where it is asked for (Kantorovich 1942)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.fitting import fit, named
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ErrorCollector, ProblemError
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext, NamedArray, called
from cgm_cli.readers.entries import COLUMN_IDS, ROW_IDS, named_arrays
from cgm_cli.readers.names import places_of
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, TemplateSpec
from cgm_cli.templates.base import Template
from cgm_cli.templates.listing import Listing

_ROUNDING = 1e-6
"""Relative difference of the sums of supplies and demands that is rounding, as of histograms in text."""

Names = tuple[list[str] | None, list[str] | None]


class Transport(Template):
    """min <C, P> over P >= 0 with P 1 = a and P^T 1 = b: P_ij goes from i, which has a_i, to j, which wants b_j.

    Both have one sum, so that P lies in the simplex of that radius.
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["transport"]
        costs: ArrayField = Field(
            description="C, a row for each place of supply, a column for each of demand. Of tables with columns of "
            "`names`, supplies go with rows, and demands with headings, that are called the same"
        )
        supplies: ArrayField = Field(description="a, at least 0, one number per row of C; a number: the same for all")
        demands: ArrayField = Field(
            description="b, at least 0, one number per column of C; a number: the same for all. Both have one sum"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "template": "transport",
                "costs": [[1, 2, 3], [2, 1, 1]],
                "supplies": [1, 1.5],
                "demands": [0.5, 1, 1],
            },
            {"template": "transport", "costs": [[0, 1], [1, 0]], "supplies": 0.5, "demands": [0.25, 0.75]},
        ]

        def build(self, context: BuildContext) -> Transport:
            faults, parts = ErrorCollector(), dict[str, NamedArray]()
            for name in ("costs", "supplies", "demands"):
                with faults.part(name):
                    parts[name] = context.named_array(getattr(self, name))
            faults.raise_all()
            costs, fitted = parts["costs"].array, dict[str, np.ndarray]()
            with faults.part("costs"):
                if costs.ndim != 2:
                    raise ProblemError(f"costs are a matrix, not {named(costs.shape)}")
            faults.raise_all()
            context.reserve("rows and columns of the plan", 3 * 2 * 12 * costs.size)
            for name, length, host, places in (
                ("supplies", costs.shape[0], "a column of the costs", parts["costs"].rows),
                ("demands", costs.shape[1], "a row of the costs", parts["costs"].columns),
            ):
                with faults.part(name):
                    amounts = self._in_order(context, name, parts[name], places)
                    fitted[name] = fit(amounts, (length,), f"the array of {name}", host)
                    if (amounts < 0.0).any():
                        raise ProblemError(f"{name} are at least 0, and one is {amounts.min():g}")
            faults.raise_all()
            names = parts["costs"].rows or parts["supplies"].rows, parts["costs"].columns or parts["demands"].rows
            return Transport(costs, fitted["supplies"], fitted["demands"], names)

        def _in_order(self, context: BuildContext, name: str, told: NamedArray, places: list[str] | None) -> np.ndarray:
            """Supplies or demands, by the names of the places where both they and the costs have names."""
            if told.rows is None:
                return told.array
            source = called(getattr(self, name))
            if places is None:
                context.remarks.append(f"{source}: taken in the order of the file: the costs have no names of places.")
                return told.array
            return told.array[places_of(told.rows, places, source, "place", "the costs have")]

    listing = Listing("x", "from", "amounts")

    def __init__(self, costs: np.ndarray, supplies: np.ndarray, demands: np.ndarray, names: Names = (None, None)):
        """costs (m, n), supplies (m,), demands (n,). names: of the places of supply, and of those of demand; None
        where they are told by their numbers. Raises ProblemError unless the amounts have one sum, and not 0.
        """
        self.names = names
        supplied, asked = float(supplies.sum()), float(demands.sum())
        if abs(supplied - asked) > _ROUNDING * max(supplied, asked):
            lacking = "a row" if supplied < asked else "a column"
            raise ProblemError(
                f"the supplies sum to {supplied:g}, but the demands to {asked:g}: the difference needs a place, "
                f"{lacking} of costs, be they 0",
                ("demands",),
            )
        if supplied == 0.0 or asked == 0.0:
            raise ProblemError("nothing is supplied", ("supplies",))
        self.costs, self.supplies, self.demands = costs, supplies, demands * (supplied / asked)
        shape = m, n = costs.shape
        rows = sp.csr_array(sp.kron(sp.eye_array(m), np.ones((1, n))))
        columns = sp.csr_array(sp.kron(np.ones((1, m)), sp.eye_array(n)))
        self.problem = CompositeProblem(
            Simplex(shape, supplied),
            Linear(costs, shape),
            (
                Term("supplies", MatrixMap(rows, shape), Equals((m,), supplies)),
                Term("demands", MatrixMap(columns, shape), Equals((n,), self.demands)),
            ),
        )

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """Nothing is rounded: the answer is P. With it goes what its rows and its columns are called."""
        sources, sinks = self.names
        return Rounding(arrays=named_arrays(sources, ROW_IDS) | named_arrays(sinks, COLUMN_IDS))
