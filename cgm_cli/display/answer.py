"""What `cgm_cli.solve` returns: the result of a solve, with the point itself, and as a person reads it."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from cgm_cli.blocks.iterates import is_factored, written_out
from cgm_cli.display.formatting import bound_label, duration, kind_in_words, number, ratio
from cgm_cli.readers.entries import LABELS, unpacked
from cgm_cli.solving.result import Result


@dataclass(frozen=True, repr=False)
class Answer(Result):
    """A Result (see there), and the folder of its run. All numbers are in the user's units and sense.

    run: the folder, which `load_run` reads and `cgm verify` checks; None for a problem that was built in Python.
    """

    run: Path | None = None

    @classmethod
    def of(cls, result: Result, run: Path | None) -> Answer:
        """The result of the run in a folder, or of one without."""
        return cls(**vars(result), run=run)

    @cached_property
    def x(self) -> np.ndarray | None:
        """The final point, of the shape of the domain, complex where the data are.

        Of a matrix that is kept in factors, the product left diag(weights) right^*, written out when it is first asked
        for: DataError where that does not fit into memory, and the factors are in `solution`. None where nothing was
        recovered of x: it was kept as samples, or the run was told to leave at once.
        """
        if "x" in self.solution:
            return self.solution["x"]
        return written_out(self.solution) if is_factored(self.solution) else None

    @property
    def labels(self) -> list[str] | None:
        """What the data call the nodes of a graph, or the features of a linear model, in the order of `solution`;
        None of numbered ones.
        """
        return unpacked(self.solution[LABELS]) if LABELS in self.solution else None

    @property
    def objective(self) -> float:
        """f and the finite penalties at the final point: the number that `bound` bounds."""
        return self.record.total

    @property
    def bound(self) -> float:
        """The best bound on the optimum, from above for a maximisation; nan without one. `bound_is` says what it is."""
        return self.record.bound

    @property
    def gap(self) -> float:
        """|objective - bound| / max(|objective|, |bound|)."""
        return self.record.gap

    @property
    def infeasibility(self) -> float:
        """The largest |A x - p| / |p| of a constraint, p the projection onto its set."""
        return self.record.infeasibility

    @property
    def iterations(self) -> int:
        """Steps that were taken."""
        return self.record.k

    def __repr__(self) -> str:
        parts = [f"{label} {value}" for label, value in self._rows()[1:]]
        where = [] if self.run is None else [str(self.run)]
        return f"<{self.status.value}: {', '.join([*parts, *where])}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align: left'>{html.escape(label)}</th>"
            f"<td style='text-align: left'>{html.escape(value)}</td></tr>"
            for label, value in [*self._rows(), *([] if self.run is None else [("run", str(self.run))])]
        )
        return f"<table>{rows}</table>"

    def _rows(self) -> list[tuple[str, str]]:
        """Label and value."""
        rows = [("status", " ".join(filter(None, (f"{self.status.value}.", self.status.sentence, self.message))))]
        rows.append(("objective", number(self.objective, 8)))
        if self.bound_is != "none":
            kind = kind_in_words(self.bound_is, self.record.bound_failure)
            rows.append((bound_label(self.sense), f"{number(self.bound, 8)} ({kind})"))
            rows.append(("gap", ratio(self.gap)))
        if self.record.infeasibilities:
            rows.append(("infeasibility", ratio(self.infeasibility)))
        return [
            *rows,
            ("iterations", f"{self.iterations}"),
            ("time", duration(self.record.seconds)),
        ]
