"""What the metrics of runs are on average, against the one number that varies between them beside the seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cgm_cli.reports import names
from cgm_cli.reports.declared import PREFIX
from cgm_cli.reports.entry import Entry
from cgm_cli.reports.query import as_number


@dataclass(frozen=True)
class Means:
    """metric: a figure. parameter: the key that varies. at (m,): its values, in order; mean, least and most (m,): of
    the metric there.
    """

    metric: str
    parameter: str
    at: np.ndarray
    mean: np.ndarray
    least: np.ndarray
    most: np.ndarray

    @property
    def name(self) -> str:
        """Of a file."""
        return f"{self.metric.removeprefix(PREFIX)}-by-{self.parameter.rpartition('.')[2]}"


def means(entries: Sequence[Entry]) -> list[Means]:
    """Of every metric of a template, where one number varies beside the seed, and takes two values at least; of runs
    that have ended.
    """
    entries = [entry for entry in entries if entry.finished]
    varying = [key for key in names.varying(entries) if key != "seed"]
    given = [as_number(entry.params.get(varying[0])) for entry in entries] if len(varying) == 1 else []
    if not given or any(value is None for value in given):
        return []
    numbers = np.array(given, dtype=float)
    found = list[Means]()
    for metric in names.metrics(entries):
        values = np.array([entry.figures.get(metric, np.nan) for entry in entries], dtype=float)
        known = np.isfinite(values)
        at, place = np.unique(numbers[known], return_inverse=True)
        if at.size < 2 or metric.startswith(f"{PREFIX}slope"):
            continue
        parts = [values[known][place == each] for each in range(at.size)]
        mean, least, most = (np.array([each(part) for part in parts]) for each in (np.mean, np.min, np.max))
        found.append(Means(metric, varying[0], at, mean, least, most))
    return found
