"""What was altered in a copy of a run is found, and named."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest

from cgm_cli.api import solve
from cgm_cli.verify.check import verify
from cgm_cli.verify.report import Verdict
from tests.verify.support import altered, composed, copied, row
from tests.verify.test_honest_runs import DIAGONAL, PSD, SPLIT

CUT = {"name": "cut", "problem": {"template": "max-cut", "graph": {"nodes": 30, "edges": 90}}}
POINTS = np.random.default_rng(0).standard_normal((12, 2)).round(2).tolist()
CLUSTERS = {"template": "kmeans-sdp", "clusters": 3, "points": POINTS, "restarts": 2}
KMEANS = {"name": "kmeans", "problem": {**CLUSTERS, "domain": "fantope"}}
FACE = {"name": "face", "problem": {**CLUSTERS, "domain": "fantope-face"}}
REGRESSION = composed(
    {"kind": "l1-ball", "size": 3, "radius": 2.0},
    objective={"kind": "logistic", "map": {"kind": "matrix", "matrix": POINTS and [[1, 2, 0], [0, -1, 3], [2, 2, 1]]},
               "labels": [1, -1, 1]},
    constraints=[{"kind": "nonnegative"}],
    penalties=[{"kind": "linf", "scale": 0.1, "name": "flat"}],
)  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    specs = {"cut": CUT, "kmeans": KMEANS, "face": FACE, "psd": composed(PSD, **DIAGONAL), "split": SPLIT}
    specs["regression"] = REGRESSION
    for name, spec in specs.items():
        solve(spec, ["solver.iterations=40"], out=folder / name)
        assert verify(folder / name).holds
    return folder


def failed(run) -> set[str]:
    return set(verify(run).having(Verdict.FAILS))


def rewritten(run, **changes) -> None:
    """Other numbers in the result of status.json, and in the last row of the trace."""
    columns = {"objective": "total"}
    state = json.loads((run / "status.json").read_text())
    with h5py.File(run / "run.h5", "r+") as file:
        for name, change in changes.items():
            state["result"][name] = change(state["result"][name])
            file["trace"][columns.get(name, name)][-1] = state["result"][name]
    (run / "status.json").write_text(json.dumps(state))


def test_an_entry_of_the_solution(runs, tmp_path):
    run = copied(runs / "psd", tmp_path / "run")
    altered(run, "solution/left", lambda left: left + 1e-4 * (np.arange(left.size).reshape(left.shape) == 0))
    assert {"objective", "infeasibility of equals", "domain"} <= failed(run)


def test_a_solution_outside_of_the_domain(runs, tmp_path):
    run = copied(runs / "regression", tmp_path / "run")
    altered(run, "solution/x", lambda x: x + 2.0)
    assert "domain" in failed(run)


def test_rows_that_do_not_sum_to_one(runs, tmp_path):
    """Still a point of the fantope, up to rounding: a rotation between two rows keeps the eigenvalues."""
    run = copied(runs / "face", tmp_path / "run")
    turn = np.eye(12)
    turn[:2, :2] = [[np.cos(1e-4), np.sin(1e-4)], [-np.sin(1e-4), np.cos(1e-4)]]
    altered(run, "solution/x", lambda x: turn @ x @ turn.T)
    assert "domain" in failed(run)
    plain = copied(runs / "kmeans", tmp_path / "plain")
    altered(plain, "solution/x", lambda x: turn @ x @ turn.T)
    assert "domain" not in failed(plain)


@pytest.mark.parametrize("change", [lambda x: x[:-1], lambda x: x * np.nan], ids=["shape", "nan"])
def test_a_solution_that_is_no_point(runs, tmp_path, change):
    run = copied(runs / "regression", tmp_path / "run")
    altered(run, "solution/x", change)
    assert "solution" in failed(run)


@pytest.mark.parametrize("name", ["cut", "kmeans", "face", "psd", "split", "regression"])
def test_every_dual(runs, tmp_path, name):
    with h5py.File(runs / name / "run.h5") as file:
        terms = list(file["duals"])
    assert terms
    for term in terms:
        verdicts = []
        for number, factor in enumerate((-1.0, 0.5, 1.1, 3.0)):
            run = copied(runs / name, tmp_path / f"{term}-{number}")
            altered(
                run,
                f"duals/{term}",
                lambda y, factor=factor: factor * y + 0.01 * np.cos(np.arange(y.size)).reshape(y.shape),
            )
            bound = next(row for row in verify(run).rows if "bound (" in row.quantity)
            verdicts.append(bound.verdict)
            # Another dual proves another bound, which may happen to be no worse.
            worse = bound.difference * (-1.0 if name == "cut" else 1.0) < -bound.tolerance
            assert bound.verdict is (Verdict.FAILS if worse or bound.note else Verdict.HOLDS)
        if (name, term) == ("face", "rows"):
            # All points of the domain meet that constraint: its dual proves the same whatever it is.
            assert set(verdicts) == {Verdict.HOLDS}
        else:
            assert Verdict.FAILS in verdicts, term


def test_a_dual_that_proves_less(runs, tmp_path):
    run = copied(runs / "cut", tmp_path / "run")
    altered(run, "duals/diagonal", lambda y: 0.5 * y)
    assert failed(run) == {"upper bound (certified)"}


def test_a_dual_outside_of_its_set(runs, tmp_path):
    run = copied(runs / "regression", tmp_path / "run")
    altered(run, "duals/flat", lambda y: y + 1.0)
    assert failed(run) == {"lower bound (certified)"}
    assert "the conjugate of flat is infinite" in row(verify(run), "lower bound").note


def test_the_image_of_the_objective(runs, tmp_path):
    run = copied(runs / "regression", tmp_path / "run")
    altered(run, "loss/image", lambda z: z - 1.0)
    assert failed(run) == {"lower bound (certified)"}


def test_a_dual_that_is_missing_is_no_pass(runs, tmp_path):
    run = copied(runs / "cut", tmp_path / "run")
    with h5py.File(run / "run.h5", "r+") as file:
        del file["duals/diagonal"]
    report = verify(run)
    assert row(report, "upper bound").verdict is Verdict.UNCHECKED
    assert not report.as_dict()["complete"]


@pytest.mark.parametrize("name", ["cut", "kmeans", "face", "psd", "split", "regression"])
@pytest.mark.parametrize("quantity", ["objective", "bound"])
def test_a_claim(runs, tmp_path, name, quantity):
    """Slightly better than what was computed, in both records."""
    run = copied(runs / name, tmp_path / "run")
    better = 1.0 if (quantity == "bound") == (name != "cut") else -1.0
    rewritten(run, **{quantity: lambda value: value + better * 1e-6 * max(1.0, abs(value))})
    found = failed(run)
    assert any(quantity in each for each in found)
    assert "trace" in found  # nor do the gap and the sum of the parts fit any more


def test_a_claim_in_one_record_only(runs, tmp_path):
    run = copied(runs / "cut", tmp_path / "run")
    state = json.loads((run / "status.json").read_text())
    state["result"]["bound"] *= 1.01  # an upper bound that is weaker, and as true
    (run / "status.json").write_text(json.dumps(state))
    assert "records" in failed(run)


def test_an_infeasibility(runs, tmp_path):
    run = copied(runs / "psd", tmp_path / "run")
    with h5py.File(run / "run.h5", "r+") as file:
        file["trace/infeasibility_equals"][-1] *= 0.5
    rewritten(run, infeasibility=lambda value: 0.5 * value)
    assert {"infeasibility of equals", "infeasibility"} <= failed(run)


def test_another_row_of_the_trace(runs, tmp_path):
    run = copied(runs / "psd", tmp_path / "run")
    with h5py.File(run / "run.h5", "r+") as file:
        file["trace/gap"][7] *= 0.9
    assert failed(run) == {"trace"}
    assert row(verify(run), "trace").note == "rows 7 do not add up"


def test_the_problem(runs, tmp_path):
    """Another seed is another graph, and the copy of the spec in run.h5 is not fooled."""
    run = copied(runs / "cut", tmp_path / "run")
    path = run / "resolved.yaml"
    path.write_text(path.read_text().replace("seed: 0", "seed: 1"))
    assert {"records", "objective", "cut"} <= failed(run)


def test_roundings(runs, tmp_path):
    run = copied(runs / "cut", tmp_path / "cut")
    altered(run, "solution/partition", lambda side: np.where(np.arange(side.size) == 0, -side, side))
    assert failed(run) == {"cut", "certified_ratio"}
    run = copied(runs / "kmeans", tmp_path / "kmeans")
    altered(run, "solution/clusters", lambda clusters: np.roll(clusters, 1))
    assert "kmeans_value" in failed(run)


def test_an_estimate_that_is_too_good_is_no_failure(runs, tmp_path):
    run = copied(runs / "psd", tmp_path / "run")
    state = json.loads((run / "status.json").read_text())
    with h5py.File(run / "run.h5", "r+") as file:
        file["trace/certified"][-1] = False
        file["trace/bound_failure"][-1] = np.nan
        state["result"] |= {"bound_is": "estimated"}
    (run / "status.json").write_text(json.dumps(state))
    assert verify(run).holds
    rewritten(run, bound=lambda value: value + 1e-3)
    total, bound = (json.loads((run / "status.json").read_text())["result"][key] for key in ("objective", "bound"))
    rewritten(run, gap=lambda _: abs(total - bound) / max(1.0, abs(total), abs(bound)))
    report = verify(run)
    assert report.holds
    found = row(report, "lower bound (estimated)")
    assert found.verdict is Verdict.UNCONFIRMED
    assert "the estimate is off by 0.001" in found.note
