"""`cgm show RUN`, `cgm diff`, `cgm export`."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest
import scipy.io
from PIL import Image

from cgm_cli.errors import DataError
from cgm_cli.methods.status import Status
from cgm_cli.readers.sdpa import read_sdpa
from cgm_cli.reports.images import png, reduced
from cgm_cli.runs.load import load_run
from tests.reports.support import make_run, spec


@pytest.fixture
def factored(tmp_path):
    """A run whose x is kept in factors, with an image and a dual."""
    rng = np.random.default_rng(0)
    left, right, weights = rng.standard_normal((5, 2)), rng.standard_normal((4, 2)), np.array([2.0, 0.5])
    observed = np.array([[0.0, np.nan], [0.5, 1.0]])
    solution = {"left": left, "right": right, "weights": weights, "observed": observed, "labels": np.arange(3)}
    run = make_run(tmp_path / "run", solution=solution, duals={"rows": np.ones(2)})
    return run, (left * weights) @ right.T


def test_show_tells_what_and_how(cgm, three):
    code, out, _ = cgm("show", three / "beta1", "--lines", "2")
    assert code == 0
    for text in (
        "beta1",
        "sparse-regression",
        "iteration-limit",
        "The iteration budget was spent.",
        "(certified)",
        "psnr",
    ):
        assert text in out
    assert [line.split()[0] for line in out.partition("Its last rows\n")[2].splitlines()[1:3]] == ["399", "400"]
    assert cgm("show", three / "beta1" / "run.h5")[1].count("What was run") == 1


def test_show_as_an_object(cgm, three, mixed):
    found = json.loads(cgm("show", three / "beta1", "--lines", "2", "--json")[1])
    assert found["status"] == "iteration-limit" and not found["died"] and found["faults"] == []
    assert found["spec"]["solver"]["beta0"] == 1.0 and found["provenance"]
    last = load_run(three / "beta1")
    assert found["result"] == last.summary
    assert [row["k"] for row in found["rows"]] == [399, 400]
    assert found["rows"][-1]["gap"] == last.trace["gap"][-1]
    assert json.loads(cgm("show", mixed / "killed", "--json")[1])["died"] is True
    (fault,) = json.loads(cgm("show", mixed / "broken", "--json")[1])["faults"]
    assert "run.h5 cannot be read" in fault
    code, out, err = cgm("show", mixed / "empty", "--json")
    assert code == 3 and json.loads(out) == {"error": {"message": err.rstrip("\n"), "exit_code": 3}}


def test_a_spec_as_an_object(cgm, tmp_path):
    (tmp_path / "a.yaml").write_text(json.dumps(spec("a") | {"seed": 5}))
    found = json.loads(cgm("show", tmp_path / "a.yaml", "solver.beta0=3", "--json")[1])
    assert found["spec"]["seed"] == 5 and found["spec"]["solver"]["beta0"] == 3.0
    assert found["method"]["beta0"] == 3.0 and found["method"]["policies"]["step"]["because"]
    (tmp_path / "b.yaml").write_text("problem: {template: max-cut, graph: {file: nowhere.txt}}\n")
    assert json.loads(cgm("show", tmp_path / "b.yaml", "--json")[1])["method"] is None


def test_export_as_an_object(cgm, factored, tmp_path):
    run, x = factored
    code, out, err = cgm("export", run, "--solution", tmp_path / "x.npy", "--json")
    file = str(tmp_path / "x.npy")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"run": str(run), "file": file, "holds": "x, 5 x 4", "array": "x", "shape": [*x.shape]}
    code, out, err = cgm("export", run, "--solution", tmp_path / "x.npy", "--json")
    assert code == 2 and json.loads(out)["error"]["message"] == err.rstrip("\n")
    assert cgm("export", run, "--json")[0] == 2


def test_show_of_runs_without_a_result(cgm, mixed):
    assert "cgm resume" in cgm("show", mixed / "killed")[1]
    assert "The oracle gave up." in cgm("show", mixed / "failed")[1]
    code, _, err = cgm("show", mixed / "empty")
    assert code == 3 and "is not a run" in err
    code, _, err = cgm("show", mixed / "foreign" / "data.h5")
    assert code == 3 and "is not a folder" in err
    assert cgm("show", mixed / "good", "--expanded")[0] == 2


def test_diff_shows_what_differs(cgm, three):
    code, out, _ = cgm("diff", three / "beta0.1", three / "beta10")
    assert code == 0
    (line,) = [line for line in out.splitlines() if "solver.beta0" in line]
    assert line.split()[1:4] == ["0.1", "10", "+9.9"]
    assert "solver.method" not in out and "gap" in out
    assert "solver.method" in cgm("diff", three / "beta0.1", three / "beta10", "--all")[1]
    found = json.loads(cgm("diff", three / "beta0.1", three / "beta10", "--json")[1])
    assert {"key": "solver.beta0", "left": 0.1, "right": 10.0} in found["spec"]
    assert "do not differ" in cgm("diff", three / "beta1", three / "beta1")[1]


def test_diff_of_what_is_no_run(cgm, three, mixed):
    assert cgm("diff", three / "beta1", mixed / "empty")[0] == 3
    assert cgm("diff", three / "beta1", mixed / "failed")[0] == 0


def test_export_writes_a_matrix_out_of_its_factors(cgm, factored, tmp_path):
    run, x = factored
    for name in ("x.npy", "x.mat", "x.csv", "x.png"):
        assert cgm("export", run, "--solution", tmp_path / "out" / name)[0] == 0
    out = tmp_path / "out"
    np.testing.assert_allclose(np.load(out / "x.npy"), x)
    np.testing.assert_allclose(scipy.io.loadmat(out / "x.mat")["x"], x)
    np.testing.assert_array_equal(np.loadtxt(out / "x.csv", delimiter=","), np.load(out / "x.npy"))
    pixels = np.asarray(Image.open(out / "x.png"))
    assert (pixels.min(), pixels.max(), pixels.shape) == (0, 255, (5, 4))
    assert not list(out.glob(".*"))


def test_export_by_name(cgm, factored, tmp_path):
    run, _ = factored
    assert cgm("export", run, "--solution", tmp_path / "y.npy", "--name", "duals/rows")[0] == 0
    assert np.load(tmp_path / "y.npy").tolist() == [1.0, 1.0]
    assert cgm("export", run, "--solution", tmp_path / "labels.csv", "--name", "labels")[0] == 0
    assert (tmp_path / "labels.csv").read_text().split() == ["0", "1", "2"]
    cgm("export", run, "--solution", tmp_path / "o.png", "--name", "observed")
    assert np.asarray(Image.open(tmp_path / "o.png"))[..., 1].tolist() == [[255, 0], [255, 255]]


@pytest.mark.parametrize(
    ("file", "name", "message"),
    [
        ("x.txt", "left", "write .npy, .mat, .csv or .png"),
        ("x.png", "weights", "is a vector of 2 entries"),
        ("x.npy", "lft", "did you mean `left`?"),
        ("", "left", "cannot be written"),
    ],
)
def test_export_messages(cgm, factored, tmp_path, file, name, message):
    (tmp_path / "x.csv").mkdir()
    code, _, err = cgm("export", factored[0], "--solution", tmp_path / (file or "x.csv"), "--name", name)
    assert code == 2 and message in err


def test_export_where_there_is_no_solution(cgm, mixed, tmp_path):
    code, _, err = cgm("export", mixed / "killed", "--solution", tmp_path / "x.npy")
    assert code == 3 and "has saved no solution" in err
    run = make_run(tmp_path / "sampled", spec(), solution={"samples": np.ones((3, 2))}, status=Status.CONVERGED)
    code, _, err = cgm("export", run, "--solution", tmp_path / "x.npy")
    assert code == 3 and "keeps samples of x" in err


def test_images():
    assert png(np.ones((2, 2)))[:4] == b"\x89PNG"
    assert png(np.array([[1e308, -1e308]]), colours="viridis")[:4] == b"\x89PNG"
    assert reduced(np.arange(10.0).reshape(2, 5), 2).tolist() == [[1.0, 3.5], [6.0, 8.5]]


def test_export_overwrites_only_by_force(cgm, factored, tmp_path):
    path = tmp_path / "x.npy"
    path.write_text("mine")
    code, _, err = cgm("export", factored[0], "--solution", path)
    assert code == 2 and "--force" in err and path.read_text() == "mine"
    assert cgm("export", factored[0], "--solution", path, "--force")[0] == 0
    assert np.load(path).shape == (5, 4)


def test_show_tells_of_a_log_that_is_damaged_or_lost(cgm, tmp_path):
    run = make_run(tmp_path / "run")
    (run / "run.h5").write_bytes(b"")
    assert "cannot be read as a log" in cgm("show", run)[1]
    (run / "run.h5").unlink()
    out = cgm("show", run)[1]
    assert "it was lost" in out and "has not begun" not in out


def test_show_cuts_no_number_in_a_pipe(cgm, three, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    assert "…" not in cgm("show", three / "beta1")[1].partition("Its last rows")[2]


@pytest.mark.parametrize("text", ["a: [\n", "- 1\n", ""])
def test_a_damaged_spec_of_a_run_is_one_that_cannot_be_read(cgm, tmp_path, three, text):
    run = make_run(tmp_path / "run")
    (run / "resolved.yaml").write_text(text)
    for command in (("show", run), ("diff", run, three / "beta1")):
        code, _, err = cgm(*command)
        assert code == 3 and "resolved.yaml" in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("text", ["{}", "[1]", "3"])
def test_a_foreign_status_says_what_it_lacks(cgm, tmp_path, text):
    (tmp_path / "status.json").write_text(text)
    code, _, err = cgm("show", tmp_path)
    assert code == 3 and "has no `status`" in err


def test_the_duals_of_a_semidefinite_program_are_exported(cgm, tmp_path):
    """As CSDP has them: sum y_i F_i - F_0 is the slack, and X its partner; in the file the bound of the trace, which is
    implied, has become part of y, so that the slack is semidefinite.
    """
    text = "2\n2\n2 -1\n1 2\n0 1 1 1 1\n0 1 1 2 0.5\n0 2 1 1 -0.1\n1 1 1 1 1\n1 1 2 2 1\n2 1 2 2 1\n2 2 1 1 1\n"
    (tmp_path / "p.dat-s").write_text(text)
    (tmp_path / "spec.yaml").write_text("problem: {template: standard-sdp, program: {file: p.dat-s}}\n")
    run = tmp_path / "run"
    assert cgm("solve", tmp_path / "spec.yaml", "--out", run)[0] == 0
    code, *told = cgm("export", run, "--solution", tmp_path / "slack.npy", "--name", "slack")
    assert code == 0 and "smallest eigenvalue of each block" in "".join(told)
    slack = np.load(tmp_path / "slack.npy")
    assert cgm("export", run, "--solution", tmp_path / "p.sol")[0] == 0
    y, *entries = (tmp_path / "p.sol").read_text().splitlines()
    y, kept = [float(each) for each in y.split()], read_sdpa(tmp_path / "p.dat-s")
    kept_duals = load_run(run).duals["equalities"]
    assert cgm("export", run, "--solution", tmp_path / "t.npy", "--name", "duals/trace")[0] == 0
    trace = np.load(tmp_path / "t.npy")
    unshifted = np.array([-1.0, *kept_duals]) @ kept.matrices.toarray()
    np.testing.assert_allclose(unshifted + trace * [1, 0, 0, 1, 1], slack, atol=1e-12)
    assert np.linalg.eigvalsh(slack[:4].reshape(2, 2))[0] >= -1e-9 and slack[4] >= -1e-9
    whole = np.array([-1.0, *y]) @ kept.matrices.toarray()
    assert np.linalg.eigvalsh(whole[:4].reshape(2, 2))[0] >= -1e-12 and whole[4] >= -1e-12
    x = {tuple(map(int, line.split()[:4])): float(line.split()[4]) for line in entries}
    assert x[2, 1, 1, 1] + x[2, 1, 2, 2] == pytest.approx(1.0, abs=1e-3)
    assert x[1, 2, 1, 1] == pytest.approx(whole[4])
    code, *told = cgm("export", run, "--solution", tmp_path / "p.sol")
    assert code != 0 and "--force" in "".join(told)


def test_a_damaged_byte_of_a_solution_is_told(cgm, factored, tmp_path):
    """By whoever reads it; what does not need it is shown."""
    run, _ = factored
    with h5py.File(run / "run.h5", "r") as file:
        place = file["solution/left"].id.get_chunk_info(0).byte_offset
    damaged = bytearray((run / "run.h5").read_bytes())
    damaged[place + 3] ^= 1
    (run / "run.h5").write_bytes(damaged)
    for command in (("export", run, "--solution", tmp_path / "x.npy"), ("verify", run)):
        code, _, err = cgm(*command)
        assert code == 3 and "the bytes of /solution/left are damaged: they miss their checksum" in err
    code, out, _ = cgm("show", run)
    assert code == 0 and "the bytes of /solution/left are damaged" in out
    code, out, _ = cgm("show", run, "--json")
    assert code == 0 and "the bytes of /solution/left are damaged" in json.loads(out)["faults"][0]
    assert cgm("report", run, "--html", tmp_path / "page.html")[0] == 0
    assert "the bytes of /solution/left are damaged" in (tmp_path / "page.html").read_text()


def test_a_damaged_byte_of_a_trace_is_told(cgm, factored, tmp_path):
    """Of a run that has ended, by whoever reads that column."""
    run, _ = factored
    with h5py.File(run / "run.h5", "r") as file:
        place = file["trace/gap"].id.get_offset()
    damaged = bytearray((run / "run.h5").read_bytes())
    damaged[place + 3] ^= 1
    (run / "run.h5").write_bytes(damaged)
    told = "the bytes of /trace/gap are damaged: they miss their checksum"
    code, out, _ = cgm("show", run)
    assert code == 0 and told in out
    assert load_run(run).columns(["bound"])["bound"].size
    with pytest.raises(DataError, match=told):
        _ = load_run(run).trace
