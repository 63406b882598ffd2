"""Honest runs verify: of every domain, loss, penalty, set and map, in every form of the iterate.

(Of every template and every spec that is shipped: tests/test_configs.py.)
"""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.errors import CgmError
from cgm_cli.spec import registry
from cgm_cli.verify.report import Report, Verdict
from tests.blocks.support import SHAPES, domain, examples
from tests.verify.support import composed, row, sure, verified

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

PRODUCT = registry.lookup("domain", "product").Spec.examples[0]


def cost(shape: tuple[int, ...]) -> np.ndarray:
    """A linear cost with entries of both signs."""
    return np.random.default_rng(3).standard_normal(shape).round(2)


@pytest.mark.parametrize("kind", registry.FAMILIES["domain"])
def test_every_domain_by_itself(kind, tmp_path):
    example = registry.lookup("domain", kind).Spec.examples[0]
    objective = {"kind": "linear", "cost": cost(domain(**example).shape)}
    sure(verified(composed(example, objective=objective), tmp_path / "run"))


@pytest.mark.parametrize("example", examples("domain"))
def test_every_domain_beside_constraints(example, tmp_path):
    parts = {
        "objective": {"kind": "least-squares", "target": cost(domain(**example).shape)},
        "constraints": [{"kind": "box", "upper": 0.4}, {"kind": "l2-ball", "radius": 0.6, "offset": 0.1}],
        "penalties": [{"kind": "l1", "scale": 0.2}],
    }
    sure(verified(composed(example, **parts), tmp_path / "run"))


def solvable(problem_of, tmp_path) -> Report:
    """The report on a run over the first shape that the example fits."""
    for number, shape in enumerate([*SHAPES, "product"]):
        if shape == "product":
            space = PRODUCT
        elif len(shape) == 2:
            space = {"kind": "nuclear-ball", "shape": list(shape), "radius": 2.0}
        else:
            space = {"kind": "l2-ball", "size": shape[0], "radius": 2.0}
        try:
            return verified(composed(space, **problem_of(space)), tmp_path / f"run{number}")
        except CgmError:
            continue
    raise AssertionError("no shape fits")


@pytest.mark.parametrize("example", examples("penalty"))
def test_every_penalty(example, tmp_path):
    sure(solvable(lambda _: {"penalties": [{**example, "offset": 0.3}, {"kind": "l2", "scale": 0.1}]}, tmp_path))


@pytest.mark.parametrize("example", examples("set"))
def test_every_set(example, tmp_path):
    def problem(space: dict) -> dict:
        return {"objective": {"kind": "least-squares", "target": 0.7}, "constraints": [{**example, "offset": -0.1}]}

    sure(solvable(problem, tmp_path))


@pytest.mark.parametrize("example", examples("loss"))
def test_every_loss(example, tmp_path):
    sure(solvable(lambda _: {"objective": example, "constraints": [{"kind": "box", "lower": -0.3}]}, tmp_path))


@pytest.mark.parametrize("example", examples("map"))
def test_every_map(example, tmp_path):
    def problem(space: dict) -> dict:
        return {
            "objective": {"kind": "least-squares", "target": 0.5, "map": example},
            "constraints": [{"kind": "box", "lower": 0.1, "map": example}],
            "penalties": [{"kind": "l1", "map": example, "name": "sparse"}],
        }

    if example["kind"] == "block-difference":
        # The product of the other examples has no two blocks of one shape after these maps.
        blocks = [{"kind": "simplex", "size": 3}, {"kind": "l2-ball", "size": [2, 2]}, {"kind": "l1-ball", "size": 2}]
        sure(verified(composed({"kind": "product", "blocks": blocks}, **problem({})), tmp_path / "run"))
    else:
        sure(solvable(problem, tmp_path))


PSD = {"kind": "psd", "size": 5, "radius": 2.0, "trace": "equal"}
DIAGONAL = {
    "objective": {"kind": "linear", "cost": np.add.outer(np.arange(5.0), np.arange(5.0)).tolist()},
    "constraints": [{"kind": "equals", "value": 0.4, "map": {"kind": "diagonal"}}],
}


@pytest.mark.parametrize("kind", ["dense", "factored", "sketch", "samples"])
def test_every_form_of_the_iterate(kind, tmp_path):
    report = verified(composed(PSD, **DIAGONAL), tmp_path / "run", f"solver.iterate={kind}")
    if kind == "sketch":
        lost = row(report, "truncation")
        assert lost.claimed <= 1e-9, "as many columns as rows"
        report.rows.remove(lost)
        assert row(report, "saved objective").verdict is row(report, "saved infeasibility").verdict is Verdict.HOLDS
    if kind != "samples":
        sure(report)
        return
    assert report.holds
    assert row(report, "lower bound").verdict is Verdict.HOLDS
    for name in ("domain", "objective", "infeasibility of equals"):
        assert row(report, name).verdict is Verdict.UNCHECKED
        assert "only Gaussian samples" in row(report, name).note


SPLIT = {
    "name": "split",
    "problem": {
        "domains": [{"kind": "l1-ball", "size": 4, "radius": 2.0}, {"kind": "box", "lower": 0, "upper": 1, "size": 4}],
        "objective": {"kind": "least-squares", "target": [1.0, 2.0, -1.0, 0.5]},
        "constraints": [{"kind": "in-domain", "domain": {"kind": "simplex", "size": 4}, "offset": 0.1}],
    },
}


def test_domains_that_are_intersected(tmp_path):
    sure(verified(SPLIT, tmp_path / "run"))


METHODS = {
    "dual ascent": ["solver.method=cgal"],
    "dual ascent, corrected": ["solver.method=cgal", "solver.correction=fully-corrective"],
    "line search": ["solver.step=line-search"],
    "capped line search": ["solver.step=capped-line-search"],
    "chosen": ["solver.method=auto"],
    "descent without ascent": ["solver.correction=local-descent"],
    "corrections": ["solver.correction=fully-corrective"],
    "perturbed": ["solver.oracle.mode=additive", "solver.oracle.delta=0.3", "solver.oracle.perturb=true"],
    "additive": ["solver.oracle.mode=additive", "solver.oracle.delta=0.3"],
    "multiplicative": ["solver.oracle.mode=multiplicative", "solver.oracle.delta=0.5"],
    "FW-AL": ["solver.method=fw-al"],
    "inexact Lagrangian": ["solver.method=ial"],
    "universal": ["solver.method=upd"],
    "unscaled": ["solver.scaling=none", "solver.beta0=0.01"],
    "refreshed": ["solver.refresh=3"],
    "certified as it goes": ["bound.certify=always"],
}


@pytest.mark.parametrize("overrides", METHODS.values(), ids=METHODS)
def test_every_method(overrides, tmp_path):
    sure(verified(composed(PSD, **DIAGONAL), tmp_path / "run", *overrides))


def test_the_classical_method(tmp_path):
    penalties = [{"kind": "max"}, {"kind": "hinge", "offset": 0.2}]
    sure(verified(composed({"kind": "l2-ball", "size": 4}, penalties=penalties), tmp_path / "run", "solver.method=cgm"))


def test_points_that_lie_on_one_another(tmp_path):
    """The value claimed is a rounding error, squared, and the true one is zero."""
    points = [[0.1, 0.2]] * 3 + [[0.7, 0.3]] * 4
    problem = {"template": "kmeans-sdp", "clusters": 3, "restarts": 2, "points": points}
    sure(verified({"name": "it", "problem": problem}, tmp_path / "run", short=["solver.iterations=6"]))
