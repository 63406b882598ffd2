"""What was altered in a copy of a run is found, and named."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest

from cgm_cli.api import solve
from cgm_cli.errors import DataError
from cgm_cli.verify.check import verify
from cgm_cli.verify.report import Verdict
from tests.verify.support import altered, composed, copied, forged, row
from tests.verify.tampering import CAUGHT, KINDS, PAGE, REFUSED, honest, table, written
from tests.verify.test_honest_runs import DIAGONAL, PSD, SPLIT

PLAIN = {"solver": {"method": "hcgm"}, "stop": {"gap": None}}
CUT = {"name": "cut", "problem": {"template": "max-cut", "graph": {"nodes": 30, "edges": 90}}, **PLAIN}
POINTS = np.random.default_rng(0).standard_normal((12, 2)).round(2).tolist()
CLUSTERS = {"template": "kmeans-sdp", "clusters": 3, "points": POINTS, "restarts": 2}
KMEANS = {"name": "kmeans", "problem": {**CLUSTERS, "domain": "fantope"}, **PLAIN}
FACE = {"name": "face", "problem": {**CLUSTERS, "domain": "fantope-face"}, **PLAIN}
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
    with forged(run) as file:
        for name, change in changes.items():
            state["result"][name] = change(state["result"][name])
            file["trace"][columns.get(name, name)][-1] = state["result"][name]
    (run / "status.json").write_text(json.dumps(state))


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    honest(folder)
    for name in ("cut", "large", "sketch", "kmeans", "fit"):
        assert verify(folder / name).holds
    return folder


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_tampering(originals, tmp_path, kind):
    """Each kind leads to the outcome that the table of docs/verify.md promises, by the rows that it names."""
    for name in ("graph.txt", "features.npy"):
        (tmp_path / name).write_bytes((originals / name).read_bytes())
    run = copied(originals / kind.run, tmp_path / "run")
    state = json.loads((run / "status.json").read_text())
    (run / "status.json").write_text(json.dumps(state | {"spec": str(tmp_path / "spec.yaml")}))
    kind.change(run)
    if kind.outcome == REFUSED:
        with pytest.raises(DataError) as found:
            verify(run)
        assert kind.why.lower() in found.value.message.lower()
        return
    found = failed(run)
    missed = set(kind.rows) - found
    assert not missed, f"{missed} should fail, and {found} do"
    assert bool(found) == (kind.outcome == CAUGHT) == bool(kind.rows)


def test_the_table_of_the_page():
    names = [kind.name for kind in KINDS]
    assert len(names) == len(set(names)) >= 45
    page = PAGE.read_text(encoding="utf-8")
    assert table() in page and page == written(page), "run `python -m tests.verify.tampering`"


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


def test_a_dual_outside_of_its_set(runs, tmp_path):
    run = copied(runs / "regression", tmp_path / "run")
    altered(run, "duals/flat", lambda y: y + 1.0)
    assert failed(run) == {"lower bound (certified)"}
    assert "the conjugate of flat is infinite" in row(verify(run), "lower bound").note


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


def test_an_estimate_that_is_too_good_is_no_failure(tmp_path):
    spec = {"name": "cut", "problem": {"template": "max-cut", "graph": {"nodes": 70, "edges": 200}}, **PLAIN}
    run = tmp_path / "run"
    solve(spec, ["solver.iterations=40", "bound.certify=never"], out=run)
    assert row(verify(run), "upper bound (estimated)").verdict is Verdict.HOLDS
    rewritten(run, bound=lambda value: value - 1.0)
    total, bound = (json.loads((run / "status.json").read_text())["result"][key] for key in ("objective", "bound"))
    rewritten(run, gap=lambda _: abs(total - bound) / max(1.0, abs(total), abs(bound)))
    report = verify(run)
    assert report.holds
    found = row(report, "upper bound (estimated)")
    assert found.verdict is Verdict.UNCONFIRMED
    assert "the estimate is off by" in found.note


@pytest.mark.parametrize(
    ("run", "place", "change"),
    [
        ("large", "solution/left", lambda x: np.full(x.shape, 1e300)),
        ("cut", "solution/truncation", lambda _: 1e300),
        ("kmeans", "solution/x", lambda x: x != 0.0),
        ("kmeans", "solution/clusters", lambda x: x * np.nan),
        ("fit", "duals/shrink", lambda y: np.full(y.shape, 1e300)),
        ("cut", "trace/infeasibility", lambda column: column.astype(bool)),
    ],
)
def test_arrays_of_another_kind_are_told_in_rows(originals, tmp_path, run, place, change):
    """Whatever overflows, or is no number: no warning, no traceback, and no row that holds."""
    damaged = copied(originals / run, tmp_path / "run")
    altered(damaged, place, change)
    assert failed(damaged)


def test_a_trace_of_complex_numbers_is_none(originals, tmp_path):
    damaged = copied(originals / "cut", tmp_path / "run")
    altered(damaged, "trace/beta", lambda column: column + 1j)
    with pytest.raises(DataError, match="no real numbers in the column beta"):
        verify(damaged)
