"""`cgm verify` as a user meets it: its output, its exit codes, and runs that are not finished."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from cgm_cli.api import solve
from cgm_cli.blocks.domains.certificates import CertificateLimits
from cgm_cli.blocks.domains.spectral import SpectralDomain
from cgm_cli.cli import app
from cgm_cli.errors import DataError
from cgm_cli.methods.status import Status
from cgm_cli.runs.load import load_run
from cgm_cli.templates.max_cut import MaxCut
from cgm_cli.verify.bound import minimum_of, recompute_bound
from cgm_cli.verify.check import verify
from cgm_cli.verify.matrices import matrix_of
from cgm_cli.verify.report import Verdict
from tests.verify.support import altered, composed, copied, forged, row, verified
from tests.verify.test_honest_runs import DIAGONAL, PSD


def cut(nodes, edges):
    """The cut of a random graph, by all steps of the paper's method."""
    problem = {"template": "max-cut", "graph": {"nodes": nodes, "edges": edges}}
    return {"name": "cut", "problem": problem, "solver": {"method": "hcgm"}, "stop": {"gap": None}}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command") / "run"
    solve(composed(PSD, **DIAGONAL), ["solver.iterations=30"], out=folder)
    return folder


def command(*arguments):
    return CliRunner().invoke(app, ["verify", *map(str, arguments)])


def test_lines(run):
    done = command(run)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("trace: holds")
    assert any(line.startswith("objective: claimed ") and "holds" in line for line in lines)
    assert any(line.startswith("lower bound (certified): claimed ") and line.endswith("holds") for line in lines)
    assert lines[-1].startswith("No claim fails of the ")


def test_json(run, tmp_path):
    done = command(run, "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 0 and found["holds"] and found["status"] == "iteration-limit"
    assert {"quantity", "claimed", "recomputed", "difference", "tolerance", "verdict", "note"} == set(
        found["checks"][0]
    )
    copy = copied(run, tmp_path / "forged")
    altered(copy, "solution/left", lambda left: 1.01 * left)
    done = command(copy, "--json")
    assert done.exit_code == 4
    assert {check["quantity"] for check in json.loads(done.stdout)["checks"] if check["verdict"] == "fails"} >= {
        "domain",
        "objective",
    }


def test_a_folder_that_is_no_run(tmp_path):
    with pytest.raises(DataError):
        verify(tmp_path)


def test_a_file_that_is_broken(run, tmp_path):
    broken = copied(run, tmp_path / "run")
    (broken / "run.h5").write_bytes(b"nothing")
    with pytest.raises(DataError):
        verify(broken)
    broken = copied(run, tmp_path / "spec")
    (broken / "resolved.yaml").write_text("name: [")
    with pytest.raises(DataError, match="cannot be built"):
        verify(broken)


def test_a_log_of_something_else(run, tmp_path):
    foreign = copied(run, tmp_path / "trace")
    with forged(foreign) as file:
        del file["trace/gap"]
    with pytest.raises(DataError, match="no column gap"):
        verify(foreign)
    foreign = copied(run, tmp_path / "status")
    state = json.loads((foreign / "status.json").read_text())
    (foreign / "status.json").write_text(json.dumps(state | {"result": [1]}))
    with pytest.raises(DataError, match="not that of a solve"):
        verify(foreign)
    foreign = copied(run, tmp_path / "truncation")
    altered(foreign, "solution/truncation", lambda _: np.inf)
    assert verify(foreign).having(Verdict.FAILS) == ["solution"]


def test_a_data_file_beside_the_spec_is_found_and_its_absence_told(tmp_path, monkeypatch):
    place = tmp_path / "specs"
    place.mkdir()
    np.save(place / "b.npy", np.array([1.0, 0.5, 0.0]))
    spec = "problem:\n  domain: {kind: simplex, size: 3}\n  objective: {kind: least-squares, target: {file: b.npy}}\n"
    (place / "fit.yaml").write_text(spec)
    monkeypatch.chdir(tmp_path)
    report = verified(place / "fit.yaml", tmp_path / "run")
    assert report.holds and row(report, "objective").verdict is Verdict.HOLDS
    (place / "b.npy").unlink()
    with pytest.raises(DataError, match=r"no data file `b\.npy`"):
        verify(tmp_path / "run")


def test_a_run_that_was_killed(run, tmp_path):
    killed = copied(run, tmp_path / "run")
    state = json.loads((killed / "status.json").read_text())
    (killed / "status.json").write_text(json.dumps(state | {"status": "running", "result": None, "ended": None}))
    with forged(killed) as file:
        del file["solution"], file["duals"]
    report = verify(killed)
    assert report.holds and [row.quantity for row in report.rows] == ["trace"]
    assert "was killed" in report.messages[0]
    with forged(killed) as file:
        file["trace/total"][3] += 1.0
    assert not verify(killed).holds


def test_a_probable_bound_is_checked_and_not_proven(tmp_path, monkeypatch):
    monkeypatch.setattr(SpectralDomain, "limits", CertificateLimits(1, band_bytes=1, written_out=1, dense=1))
    spec = cut(90, 200)
    outcome = solve(spec, ["solver.iterations=50"], out=tmp_path / "run")
    assert outcome.bound_is == "probable"
    assert row(verify(tmp_path / "run"), "upper bound (probable)").verdict is Verdict.HOLDS
    monkeypatch.setattr("cgm_cli.verify.bound.ORDER", 20)
    assert row(verify(tmp_path / "run"), "upper bound (probable)").verdict is Verdict.HOLDS
    monkeypatch.setattr("cgm_cli.verify.definite.DENSE", 20)
    monkeypatch.setattr("cgm_cli.verify.definite.BAND", 20)
    assert row(verify(tmp_path / "run"), "upper bound (probable)").verdict is Verdict.CONSISTENT
    with forged(tmp_path / "run") as file:
        file["duals/diagonal"][...] *= 0.5
    assert row(verify(tmp_path / "run"), "upper bound (probable)").verdict is Verdict.FAILS


def test_a_run_that_was_refused_leaves_nothing_to_verify(tmp_path):
    with pytest.raises(Exception, match="matrix"):
        solve(composed({"kind": "simplex", "size": 3}, objective={"kind": "quadratic", "matrix": [[1]]}), out=tmp_path)
    with pytest.raises(DataError, match=r"is not a run: it has no status\.json"):
        verify(tmp_path)


def test_constraints_that_contradict_each_other(tmp_path):
    spec = composed(
        {"kind": "simplex", "size": 3},
        objective={"kind": "linear", "cost": [1.0, 2.0, 3.0]},
        constraints=[{"kind": "box", "lower": 2.0}],
    )
    report = verified(spec, tmp_path / "run", short=["solver.iterations=2000"])
    assert report.status == Status.INFEASIBLE.value
    found = row(report, "incompatible")
    assert found.verdict is Verdict.HOLDS
    assert found.claimed > found.recomputed == pytest.approx(3.0)


def test_truncated_factors_are_allowed_for(tmp_path, monkeypatch):
    """With two columns to spare an iterate of higher rank is cut, and says by how much."""
    monkeypatch.setattr("cgm_cli.solving.form._columns", lambda problem, iterations: 5)
    spec = cut(20, 60)
    report = verified(spec, tmp_path / "run", short=["solver.iterations=60", "solver.iterate=factored"])
    assert report.holds
    assert row(report, "truncation").verdict is Verdict.UNCHECKED
    assert row(report, "objective").tolerance > 1e-3
    assert abs(row(report, "objective").difference) > 1e-6
    # What is claimed of the cut x itself holds without any allowance.
    metrics = load_run(tmp_path / "run").summary["metrics"]
    assert metrics["truncation"] == row(report, "truncation").claimed > 1e-3
    assert row(report, "saved objective").claimed == metrics["saved_objective"]
    for name in ("saved objective", "saved infeasibility of diagonal"):
        assert row(report, name).verdict is Verdict.HOLDS
        assert row(report, name).tolerance < 1e-6


@pytest.mark.parametrize("name", ["saved_objective", "saved_infeasibility", "truncation"])
def test_a_claim_about_the_sketched_x_that_is_wrong(name, tmp_path):
    spec = cut(20, 60)
    assert verified(spec, tmp_path / "run", "solver={method: hcgm, iterate: sketch, rank: 5, iterations: 40}").holds
    state = json.loads((tmp_path / "run" / "status.json").read_text())
    state["result"]["metrics"][name] += 1e-3
    (tmp_path / "run" / "status.json").write_text(json.dumps(state))
    failed = verify(tmp_path / "run").having(Verdict.FAILS)
    assert len(failed) == 1 and failed[0].startswith(name.replace("_", " "))


def test_a_matrix_too_large_for_a_decomposition(tmp_path, monkeypatch):
    """The claim is proven by a factor, of a band or in full; where that is out of reach, it is consistent at most."""
    solve(cut(40, 90), ["solver.iterations=1000"], out=tmp_path / "run")
    for module in ("bound", "minimum"):
        monkeypatch.setattr(f"cgm_cli.verify.{module}.ORDER", 20)
    for module in ("bound", "point", "membership", "matrices"):
        monkeypatch.setattr(f"cgm_cli.verify.{module}.WRITTEN_OUT", 1000)
    better = copied(tmp_path / "run", tmp_path / "better")
    claim_a_better_bound(better)
    found = row(verify(tmp_path / "run"), "upper bound")
    assert found.verdict is Verdict.HOLDS and "proven by a factor" in found.note
    assert row(verify(better), "upper bound").verdict is Verdict.FAILS
    monkeypatch.setattr("cgm_cli.verify.definite.DENSE", 20)
    monkeypatch.setattr("cgm_cli.verify.definite.BAND", 20)
    report = verify(tmp_path / "run")
    assert report.holds
    found = row(report, "upper bound")
    assert found.verdict is Verdict.CONSISTENT and "by Lanczos" in found.note
    for name in ("domain", "objective", "infeasibility of diagonal"):
        assert row(report, name).verdict is Verdict.HOLDS
    assert row(verify(better), "upper bound").verdict is Verdict.FAILS
    monkeypatch.setattr("cgm_cli.verify.definite.PRODUCTS", 3)
    found = row(verify(tmp_path / "run"), "upper bound")
    assert found.verdict is Verdict.UNCHECKED and "neither proven nor refuted by 3 products" in found.note


def test_a_dense_cost_too_large_to_be_written_out_is_not_checked(tmp_path, monkeypatch):
    solve({"name": "theta", "problem": {"template": "lovasz-theta", "graph": {"cycle": 40}}},
          ["solver.iterations=5"], out=tmp_path / "run")  # fmt: skip
    for module in ("bound", "point", "membership", "matrices"):
        monkeypatch.setattr(f"cgm_cli.verify.{module}.WRITTEN_OUT", 1000)
    report = verify(tmp_path / "run")
    assert report.holds and not report.as_dict()["complete"]
    for name in ("objective", "upper bound"):
        found = row(report, name)
        assert found.verdict is Verdict.UNCHECKED and "too large to be written out" in found.note


def claim_a_better_bound(run) -> None:
    """In every record, with the gap that goes with it."""
    state = json.loads((run / "status.json").read_text())
    result = state["result"]
    result["bound"] *= 1.0 - 1e-4
    total, bound = result["objective"], result["bound"]
    result["gap"] = abs(total - bound) / max(1.0, abs(total), abs(bound))
    (run / "status.json").write_text(json.dumps(state))
    with forged(run) as file:
        for name in ("bound", "gap"):
            file["trace"][name][-1] = result[name]


def test_a_cycle_of_negative_weights_ends_at_once():
    """Its smallest eigenvalues, 0 and some 1e-7, lie too close to be told apart by products; a factor needs none."""
    n = 10_000
    tails = np.arange(n)
    edges = sp.coo_array((np.full(n, -1.0), (tails, (tails + 1) % n)), shape=(n, n))
    problem = MaxCut(sp.csr_array(edges + edges.T)).problem
    duals, image = {"diagonal": np.zeros(n)}, np.zeros(())
    found = recompute_bound(problem, duals, image, -1e-7)
    assert found.proof and found.value + found.error >= -1e-7 and abs(found.value) < 1e-9
    found = recompute_bound(problem, duals, image, 1e-5)
    assert not found.proof and found.value + found.error < 1e-5
    # Without a claim, it is a bound from below that comes out, and nearly the value.
    diagonal = matrix_of(problem.terms[0].map)
    least = minimum_of(problem.domain, [(matrix_of(problem.loss.map), np.ones(()))])
    assert least.proof and -1e-4 < least.value.value - least.error <= 0.0
    shifted = minimum_of(problem.domain, [(diagonal, np.full(n, 0.5))])
    assert shifted.proof and 0.5 * n - 1e-4 < shifted.value.value - shifted.error <= 0.5 * n
