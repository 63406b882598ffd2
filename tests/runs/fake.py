"""A solve without mathematics: records and a result made up from k, behind the real run folder, log and command."""

from __future__ import annotations

import importlib
import sys
import time
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from cgm_cli.methods.best_bound import Certificate
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.status import Status
from cgm_cli.spec.yaml_reader import Document
from tests import forked
from tests.forked import Forked


def record(k: int, **changes: Any) -> IterationRecord:
    """A record whose numbers tell its k; every tenth has a metric."""
    values = {
        "k": k,
        "seconds": 0.5 * k,
        "objective": 1.0 + 1.0 / (k + 1),
        "penalty": 0.0,
        "total": 1.0 + 1.0 / (k + 1),
        "infeasibility": 0.1 / (k + 1),
        "bound": 1.0 - 1.0 / (k + 1) if k else float("nan"),
        "certified": k % 2 == 0,
        "bound_failure": 0.0 if k % 2 == 0 else float("nan"),
        "gap": 2.0 / (k + 1),
        "beta": 1.0 / np.sqrt(k + 1),
        "eta": 2.0 / (k + 2),
        "lmo_value": -1.0,
        "lmo_matvecs": 3 * k,
        "lmo_residual": 1e-7,
        "fw_gap": 1.0 / (k + 1),
        "rank": 1.0 + k,
        "phases": {"lmo": 0.01},
        "infeasibilities": {"row_sums": 0.1 / (k + 1)},
        "metrics": {"error_rate": float(k)} if k and k % 10 == 0 else {},
    }
    return IterationRecord(**{**values, **changes})


@dataclass
class Result:
    """The fields of the loop's result."""

    record: IterationRecord
    status: Status = Status.CONVERGED
    bound_is: str = "estimated"
    sense: str = "minimise"
    metrics: dict[str, Any] = field(default_factory=lambda: {"error_rate": 0.25, "sizes": [1.0, 2.0]})
    solution: dict[str, np.ndarray] = field(default_factory=lambda: {"x": np.array([1.0, float("nan")])})
    duals: dict[str, np.ndarray] = field(default_factory=lambda: {"row_sums": np.ones(3)})
    message: str = ""
    loss_image: np.ndarray | None = field(default_factory=lambda: np.array(2.0))
    certificate: Certificate | None = None
    active_bounds: tuple[str, ...] = ()
    bound_rests_on: str | None = None
    implied_constraints: tuple[str, ...] = ()


@dataclass
class Instance:
    """Solves by counting. error: raised half-way."""

    iterations: int = 25
    pause: float = 0.0
    error: BaseException | None = None
    sense: str = "minimise"
    context: Any = field(default_factory=lambda: SimpleNamespace(digests=dict, code={}))
    form: Any = field(default_factory=lambda: SimpleNamespace(kind="dense", columns=0, reason="it is small"))
    rules: Any = None
    template: Any = field(default_factory=lambda: SimpleNamespace(measures=()))
    choice: Any = field(default_factory=lambda: SimpleNamespace(policies={}, in_words="hcgm"))

    def solve(self, observers: list[Any], should_stop: Any, resume: Any, on_checkpoint: Any, **contexts: Any) -> Result:
        status = Status.ITERATION_LIMIT
        for k in range(0 if resume is None else resume["state"]["k"], self.iterations + 1):
            on_checkpoint(lambda: {"state": {"k": k}, "rates": {}}, None)  # noqa: B023, called at once
            for observer in observers:
                observer.on_record(record(k))
            if should_stop() is not None:
                status = should_stop()
                break
            if self.error is not None and 2 * k >= self.iterations:
                raise self.error
            time.sleep(self.pause)
        return Result(record(k), status=status, sense=self.sense)


def install(instance: Instance, replace: Callable[[Any, str, Any], None] = setattr) -> None:
    """Make this instance what every spec describes, and a spec of any readable file."""
    for name in ("cgm_cli.templates", "cgm_cli.templates.build"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].build = None
    execute = importlib.import_module("cgm_cli.runs.execute")
    replace(execute, "load", lambda path, overrides: _spec(path.read_text(encoding="utf-8"), path))
    replace(execute, "loads", lambda text, overrides: _spec(text, None))
    replace(execute, "resolve", lambda spec: "name: fake\nseed: 7\n")
    replace(execute, "build", lambda spec, file, kept=None: instance)


def _spec(text: str, path: Path | None) -> SimpleNamespace:
    return SimpleNamespace(
        name="fake",
        seed=7,
        threads=1,
        overrides=(),
        document=Document(text, path, {}, {}),
        checkpoint=SimpleNamespace(every=60.0, final=True),
        stop=SimpleNamespace(time=None),
    )


def begun(*arguments: object, iterations: int = 25, pause: float = 0.0) -> Forked:
    """`cgm solve ARGUMENTS...` with that loop, in a process."""
    return forked.begun("solve", *arguments, before=lambda: install(Instance(iterations, pause)))
