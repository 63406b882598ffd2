"""A finished solve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cgm_cli.methods.best_bound import Certificate
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.status import Status


@dataclass(frozen=True)
class Result:
    """solution: the iterate in its own form and the template's arrays; duals: of the reported bound, by term;
    loss_image: M x at the point of that bound, None without a bound or an objective.

    bound_is: "certified", "probable", "estimated" or "none". certificate: of the best estimate, if one was certified.
    active_bounds: parameters of the domain that stop the objective. bound_rests_on: what the bound does not hold
    without: a parameter that was assumed, and functions of the user's, `module:function`, with commas between.
    implied_constraints: names of those that others imply, where that was found out.
    metrics: of the rounding. record, certificate and metrics are in the user's units and sense.
    """

    status: Status
    record: IterationRecord
    bound_is: str
    sense: str
    metrics: dict[str, float]
    solution: dict[str, np.ndarray]
    duals: dict[str, np.ndarray]
    message: str = ""
    loss_image: np.ndarray | None = None
    certificate: Certificate | None = None
    active_bounds: tuple[str, ...] = ()
    bound_rests_on: str | None = None
    implied_constraints: tuple[str, ...] = ()
