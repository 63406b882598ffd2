"""A run that is stopped and resumed ends, to the last bit, where the undisturbed one does, whatever it solves and how."""

from pathlib import Path

import numpy as np
import pytest

from cgm_cli.methods.status import Status
from cgm_cli.runs.execute import execute
from cgm_cli.runs.load import load_run

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
ITERATIONS = 24
HERE = [path for path in sorted(CONFIGS.rglob("*.yaml")) if "mnist" not in path.name and "maxcut" not in path.name]
VARIANTS = [
    ["solver.step=line-search"],
    ["solver.correction=fully-corrective"],
    ["solver.oracle={mode: additive, delta: 0.5}"],
    ["solver.oracle={mode: multiplicative, delta: 0.5}"],
    ["solver.oracle={mode: exact}"],
    ["bound.certify=always"],
    ["bound.certify=never", "bound.every=3", "log.every=4"],
    ["solver.refresh=7"],
]
CUT = {
    "name": "cut",
    "problem": {"template": "max-cut", "graph": {"nodes": 90, "edges": 400}},
    "solver": {"iterations": ITERATIONS},
}


class StopAt:
    """Asks to leave once the record of k is there."""

    def __init__(self, k):
        self.k, self.status = k, None

    def on_record(self, record):
        if record.k >= self.k:
            self.status = Status.PREEMPTED

    def __call__(self):
        return self.status


def stopped(source, overrides, out, k):
    stop = StopAt(k)
    return execute(source, overrides, out, observers=lambda sense: [stop], should_stop=stop)


def assert_same_end(one, other):
    one, other = load_run(one), load_run(other)
    assert set(one.trace) == set(other.trace)
    for name, column in one.trace.items():
        if not name.startswith("seconds"):
            np.testing.assert_array_equal(column, other.trace[name], err_msg=name, strict=True)
    for group in ("solution", "duals"):
        arrays, others = getattr(one, group), getattr(other, group)
        assert set(arrays) == set(others)
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, others[name], err_msg=name, strict=True)
    timeless = [{**run.summary, "seconds": 0, "run": ""} for run in (one, other)]
    assert timeless[0] == timeless[1]


def check(source, overrides, tmp_path, ks=(1, 13)):
    overrides = [f"solver.iterations={ITERATIONS}", *overrides]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    execute(source, overrides, whole)
    stopped(source, overrides, parts, ks[0])
    for k in ks[1:]:
        stop = StopAt(k)
        execute(source, overrides, observers=lambda sense, stop=stop: [stop], should_stop=stop, resume=parts)
    assert load_run(parts).status in (Status.PREEMPTED, load_run(whole).status)
    execute(None, resume=parts)
    assert_same_end(whole, parts)


@pytest.mark.parametrize("path", HERE, ids=lambda path: path.stem)
def test_every_template(path, tmp_path):
    check(path, ["stop={}"], tmp_path)


@pytest.mark.parametrize("overrides", VARIANTS, ids=lambda overrides: overrides[0].partition(".")[2])
@pytest.mark.parametrize("name", ["digits-kmeans", "matrix-completion", "sparse-logistic"])
def test_every_policy(name, overrides, tmp_path):
    check(CONFIGS / f"{name}.yaml", ["stop={}", *overrides], tmp_path)


@pytest.mark.parametrize("kind", ["dense", "factored", "samples"])
def test_every_kind_of_iterate(kind, tmp_path):
    check(CUT, [f"solver.iterate={kind}"], tmp_path)
