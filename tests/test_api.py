"""The Python door: a mapping with arrays is solved as the same spec with files, and its run is a run like any other."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cgm_cli.api import load_run, solve
from cgm_cli.cli import main
from cgm_cli.display.answer import Answer
from cgm_cli.errors import CgmError, DataError, ProblemError
from cgm_cli.readers import content
from cgm_cli.spec.load import dump
from cgm_cli.verify.check import verify
from tests.forked import Forked, without_privileges
from tests.runs.test_disk import small_disk
from tests.sweeps.support import counts, sweep

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
ROWS, COLUMNS = 12, 30
RNG = np.random.default_rng(7)
MATRIX = RNG.standard_normal((ROWS, COLUMNS))
SPARSE = sp.random_array((ROWS, COLUMNS), density=0.3, format="csr", rng=RNG)
TARGET = RNG.standard_normal(ROWS)
UPPER = np.full(COLUMNS, 0.5)


def problem(matrix=MATRIX, target=TARGET, upper=UPPER, start=None):
    """Least squares over a simplex, in a box. Of its arrays the matrix has more entries than the text takes."""
    loss = {"kind": "least-squares", "map": {"kind": "matrix", "matrix": matrix}, "target": target}
    constraint = {"kind": "box", "upper": upper}
    domain = {"kind": "simplex", "size": COLUMNS}
    return {"domain": domain, "objective": loss, "constraints": [constraint], "start": start}


def spec(iterations=60, **arrays):
    return {
        "name": "door",
        "problem": problem(**arrays),
        "solver": {"method": "hcgm", "iterations": np.int64(iterations)},
        "stop": {"gap": None},
    }


def same(one: Path, other: Path) -> bool:
    """Whether two runs agree in trace, solution and duals, to the last bit."""
    left, right = load_run(one), load_run(other)
    columns = [name for name in left.trace if not name.startswith("seconds")]
    groups = [(left.trace, right.trace, columns)]
    groups += [(a, b, list(a)) for a, b in ((left.solution, right.solution), (left.duals, right.duals))]
    return all(np.array_equal(a[name], b[name], equal_nan=True) for a, b, names in groups for name in names)


def cgm(*arguments) -> int:
    """The exit code of the command, in this process."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code or 0


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run from a mapping; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "door"
    solve(spec(), out=folder)
    return folder


@pytest.fixture
def copy(run, tmp_path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "copy"))


def stored(folder: Path) -> Path:
    """The one array of the run."""
    (file,) = (folder / "arrays").iterdir()
    return file


def test_the_same_as_from_lists_and_from_files(run, tmp_path):
    lists = spec(matrix=MATRIX.tolist(), target=TARGET.tolist(), upper=UPPER.tolist())
    solve(lists, out=tmp_path / "lists")
    assert same(run, tmp_path / "lists")
    np.savez(tmp_path / "data.npz", matrix=MATRIX, target=TARGET, upper=UPPER)
    named = {key: {"file": "data.npz", "key": key} for key in ("matrix", "target", "upper")}
    (tmp_path / "spec.yaml").write_text(
        dump({"problem": problem(**named), "solver": {"method": "hcgm", "iterations": 60}, "stop": {"gap": None}})
    )
    solve(tmp_path / "spec.yaml", out=tmp_path / "files")
    assert same(run, tmp_path / "files")


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
def test_a_sparse_matrix_gives_what_its_file_gives(form, tmp_path):
    solve(spec(matrix=SPARSE.asformat(form)), out=tmp_path / "run")
    sp.save_npz(tmp_path / "a.npz", SPARSE)
    solve(spec(matrix={"file": str(tmp_path / "a.npz")}), out=tmp_path / "file")
    assert same(tmp_path / "run", tmp_path / "file")
    assert stored(tmp_path / "run").suffix == ".npz"


def test_frames_and_series_give_what_arrays_give(run, tmp_path):
    """Without names a frame is an array; with names it is a table of the same numbers."""
    target = pd.Series(TARGET, index=range(5, 5 + ROWS))
    solve(spec(matrix=pd.DataFrame(MATRIX), target=target), out=tmp_path / "run")
    assert same(run, tmp_path / "run")
    assert stored(tmp_path / "run").name == stored(run).name
    named = pd.DataFrame(MATRIX, columns=[f"feature {i}" for i in range(COLUMNS)])
    solve(spec(matrix=named, target=target), out=tmp_path / "named")
    assert same(run, tmp_path / "named")
    assert stored(tmp_path / "named").suffix == ".csv"


def test_what_happens_to_an_array_later_is_no_matter(run, tmp_path):
    matrix = MATRIX.copy()
    seen = []

    def spoil(record):
        seen.append(record.k)
        matrix[:] = 0.0

    solve(spec(matrix=matrix), out=tmp_path / "run", on_record=spoil)
    assert seen and same(run, tmp_path / "run")
    assert verify(tmp_path / "run").holds


def test_the_spec_of_the_run_is_one_to_solve(run, tmp_path, monkeypatch):
    text = (run / "spec.yaml").read_text()
    assert f"matrix: {{file: arrays/{stored(run).name}}}" in text
    assert load_run(run).spec_text == text
    assert len(text) < 2000
    monkeypatch.chdir(tmp_path)
    assert cgm("solve", run / "spec.yaml", "--out", tmp_path / "again", "--quiet") == 0
    assert same(run, tmp_path / "again")
    assert verify(tmp_path / "again").holds


def test_every_command_takes_the_run(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    solve(spec(iterations=20, matrix=MATRIX + 1.0), out=tmp_path / "other")
    assert cgm("verify", run) == 0
    assert cgm("check", run / "spec.yaml") == 0
    assert cgm("show", run) == 0
    assert cgm("show", run / "spec.yaml", "--expanded") == 0
    assert cgm("report", run, tmp_path / "other") == 0
    assert cgm("export", run, "--solution", "x.npy") == 0
    np.testing.assert_array_equal(np.load("x.npy"), load_run(run).solution["x"])
    capsys.readouterr()
    assert cgm("diff", run, tmp_path / "other") == 0
    told = capsys.readouterr().out
    assert "problem.objective.map.matrix.file" in told and "target" not in told


def test_a_run_that_was_moved_is_complete(copy):
    assert verify(copy).holds
    assert cgm("resume", copy, "--set", "solver.iterations=70", "--quiet") == 0
    assert verify(copy).holds
    assert load_run(copy).trace["k"][-1] == 70


def test_overrides_come_on_top(tmp_path):
    answer = solve(spec(), ["problem.objective.target=0.5", "solver.iterations=5"], out=tmp_path / "run")
    assert answer.iterations == 5
    assert load_run(tmp_path / "run").resolved["problem"]["objective"]["target"] == 0.5


def test_relative_files_beside_arrays_are_looked_up_as_ever(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "b.npy", TARGET)
    solve(spec(target={"file": "b.npy"}), out=tmp_path / "run")
    assert same(run, tmp_path / "run")
    with pytest.raises(DataError, match=r"no data file `c\.npy`; looked in .*, data, "):
        solve(spec(target={"file": "c.npy"}))


def test_faults_have_their_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bad = MATRIX.copy()
    bad[3, 4] = np.nan
    with pytest.raises(DataError, match=r"^problem\.objective\.map\.matrix: 1 entry .* row 4, column 5: nan"):
        solve(spec(matrix=bad))
    with pytest.raises(CgmError, match=r"`solver\.beta0`: expected a number .*, got an array of 12 x 30 entries"):
        solve({**spec(), "solver": {"beta0": MATRIX}})
    assert not (tmp_path / "runs").exists()
    with pytest.raises(ProblemError, match=r"^<spec>:\d+:\d+: the target is a vector of 200"):
        solve(spec(target=np.ones(200)))


def test_what_an_array_holds_is_told_by_its_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cut = {"template": "max-cut", "graph": np.triu(np.ones((20, 20)), 1)}
    for graph in (cut["graph"], sp.csr_array(cut["graph"])):
        with pytest.raises(DataError, match=r"problem\.graph: not the matrix of a graph") as caught:
            solve({"problem": {**cut, "graph": graph}}, out=tmp_path / "run")
        assert "arrays/" not in caught.value.message.partition("\n")[0]
        assert not (tmp_path / "run").exists()


def test_a_killed_run_goes_on_to_where_it_would_have_ended(tmp_path):
    def kill(record):
        if record.k == 150:
            os.kill(os.getpid(), signal.SIGKILL)

    killed, undisturbed = tmp_path / "run", {**spec(200), "checkpoint": {"every": 0.001}}
    process = Forked(lambda: solve(undisturbed, out=killed, on_record=kill))
    assert process.wait() == -signal.SIGKILL
    assert load_run(killed).died and (killed / "checkpoint.h5").exists()
    twin = Path(shutil.copytree(killed, tmp_path / "twin"))
    solve(undisturbed, out=tmp_path / "undisturbed")
    assert cgm("resume", killed, "--quiet") == 0
    assert same(killed, tmp_path / "undisturbed")
    # The same from Python, where the mapping is given once more.
    solve(undisturbed, resume=twin)
    assert same(twin, tmp_path / "undisturbed")
    assert verify(killed).holds and verify(twin).holds


def test_a_run_does_not_go_on_with_another_array(copy):
    with pytest.raises(ProblemError, match=r"problem\.objective\.map\.matrix\.file: arrays/\w+\.npy there, arrays/"):
        solve(spec(iterations=70, matrix=MATRIX + 1e-12), resume=copy)


def damage(file: Path) -> str:
    """Change the last bit of the last number, of which no format takes notice."""
    raw = bytearray(file.read_bytes())
    raw[-8] ^= 1
    file.write_bytes(raw)
    return "is damaged: it is named by the SHA-256 of what it held"


def test_a_damaged_array_is_told(copy, capsys):
    words = damage(stored(copy))
    for command in (["verify", copy], ["resume", copy, "--set", "solver.iterations=70"], ["check", copy / "spec.yaml"]):
        assert cgm(*command) == 3
        told = capsys.readouterr().err
        assert words in told and f"{copy}/arrays/" in told
    with pytest.raises(DataError, match=words):
        solve(copy / "spec.yaml", out=copy.parent / "again")


def test_whoever_has_the_array_brings_it_back(copy):
    """The mapping is given once more, with what should be in the file."""
    damage(stored(copy))
    solve(spec(iterations=70), resume=copy)
    assert verify(copy).holds


def test_a_missing_array_is_told(copy, capsys):
    stored(copy).unlink()
    for command in (["verify", copy], ["resume", copy, "--set", "solver.iterations=70"]):
        assert cgm(*command) == 3
        assert "no data file `arrays/" in capsys.readouterr().err


def test_a_file_of_somebody_elses_is_not_held_to_a_digest(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "arrays").mkdir(parents=True)
    for name in ("a.npy", f"{'0' * 63}.npy", f"{'0' * 64}.h5"):
        assert content.digest_in(f"arrays/{name}") is None
    np.save(tmp_path / "data" / "arrays" / "a.npy", MATRIX)
    solve(spec(matrix={"file": "arrays/a.npy"}), out=tmp_path / "run")
    assert same(run, tmp_path / "run")


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    """The one of the run, and that of its arrays: without the rights of an administrator, in a process of its own."""
    monkeypatch.chdir(tmp_path)
    run = Path("run")
    (run / "arrays").mkdir(parents=True)

    def locked():
        without_privileges()
        for folder in (run, run / "arrays"):
            folder.chmod(0o555)
            try:
                solve(spec(), resume=run)
            except CgmError as error:
                print(error.exit_code, error)
            folder.chmod(0o755)

    process = Forked(locked)
    assert process.wait() == 0, process.stderr
    first, second = process.stdout.splitlines()
    assert first.startswith("4 The run folder run") and first.endswith("be made or written to: Permission denied.")
    assert second.startswith("4 run/arrays/") and second.endswith(".npy could not be written: Permission denied.")
    assert not list((tmp_path / "run" / "arrays").iterdir())


def test_a_disk_that_is_full(tmp_path):
    with small_disk(tmp_path / "small", 300_000) as disk:
        with pytest.raises(CgmError, match="could not be written: the disk is full") as caught:
            solve(spec(matrix=np.ones((ROWS, 10 * COLUMNS)).repeat(20, axis=0)), out=disk / "run")
        assert caught.value.exit_code == 4
        assert not (disk / "run").exists()


def test_a_sweep_over_such_a_spec(run, tmp_path):
    """As the base of a sweep file, and copied into one."""
    axes = {"grid": {"solver.beta0": [0.1, 1.0]}}
    (tmp_path / "named.yaml").write_text(dump({"base": str(run / "spec.yaml"), "sweep": axes}))
    sweep(tmp_path, "named.yaml", "--quiet")
    assert counts(tmp_path, "named") == (2, 0, 0, 0)
    (point, _) = sorted((tmp_path / "runs").glob("**/run"))
    assert verify(point).holds
    shutil.copytree(run / "arrays", tmp_path / "arrays")
    base = load_run(run).resolved
    (tmp_path / "inside.yaml").write_text(dump({"base": base, "sweep": axes}))
    # The same problem, wherever its arrays are: nothing is left to compute.
    out, _ = sweep(tmp_path, "inside.yaml", "--dry-run")
    assert "2 runs, 2 of them done already" in out


def test_the_answer_has_all_at_hand(tmp_path):
    answer = solve(spec(), out=tmp_path / "<b>run")
    assert isinstance(answer, Answer)
    record = answer.record
    assert (answer.objective, answer.bound, answer.gap) == (record.total, record.bound, record.gap)
    assert (answer.iterations, answer.infeasibility, answer.run) == (60, record.infeasibility, tmp_path / "<b>run")
    assert answer.x is answer.solution["x"] and answer.x.shape == (COLUMNS,)
    text = repr(answer)
    assert "\n" not in text
    assert text.startswith(f"<iteration-limit: objective {answer.objective:.8g}, lower bound {answer.bound:.8g} (")
    assert text.endswith("/<b>run>") and "iterations 60" in text and "infeasibility" in text
    table = answer._repr_html_()
    assert table.startswith("<table>") and "&lt;b&gt;run" in table and "<b>" not in table


GRAPH = np.ones((9, 9)) - np.eye(9)


@pytest.mark.parametrize("kept", ["dense", "factored", "sketch", "samples"])
def test_the_point_however_it_was_kept(kept, tmp_path):
    graph = {
        "name": "cut",
        "problem": {"template": "max-cut", "graph": GRAPH},
        "solver": {"method": "hcgm", "iterations": 200},
        "stop": {"gap": None},
    }
    answer = solve(graph, f"solver.iterate={kept}", out=tmp_path / "run")
    assert repr(answer).split(", ")[1].startswith("upper bound ")
    if kept == "samples":
        assert answer.x is None
        return
    np.testing.assert_allclose(answer.x, answer.x.T)
    # 1/4 <L, X>, of a maximisation: as the user sees it.
    laplacian = np.diag(GRAPH.sum(axis=1)) - GRAPH
    assert 0.25 * np.sum(laplacian * answer.x) == pytest.approx(answer.objective, rel=1e-6)
    assert answer.x is answer.x


def test_without_a_bound_none_is_shown(tmp_path):
    answer = solve(spec(), ["bound.every=1000", "bound.certify=never", "solver.iterations=0"], out=tmp_path / "run")
    assert ("bound" in repr(answer)) is (answer.bound_is != "none")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"overrides": [3]}, r"^overrides\[0\]: expected a text such as .*, not a value of type int$"),
        ({"overrides": 3}, "^overrides: expected texts such as"),
        ({"overrides": {"solver.beta0": 1}}, "^overrides: expected texts such as"),
        ({"out": 3}, "^out: expected the path of a folder, not a value of type int$"),
        ({"out": ""}, "^out: expected the path of a folder, got an empty text$"),
        ({"resume": 3}, "^resume: expected the path of a folder, not a value of type int$"),
        ({"on_record": 3}, "^on_record: expected a function of a record, not a value of type int$"),
        ({"seed": None}, "^a spec says `method`, `stop` and `seed` itself"),
        ({"out": "R2", "resume": "R1"}, "^a run goes on in its own folder: give either `out` or `resume`$"),
        ({"spec": ""}, "^spec: expected the path of a file, got an empty text$"),
        ({"spec": {("a", "b"): 1}}, r"^the spec: keys are text, and `\('a', 'b'\)` is of type tuple$"),
        ({"spec": {"problem": {3: 1}}}, "^problem: keys are text, and `3` is of type int$"),
    ],
)
def test_an_argument_that_is_none_is_refused_at_once_by_its_name(arguments, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TypeError, ProblemError), match=told):
        solve(**{"spec": spec(), **arguments})
    assert not list(tmp_path.iterdir())


class FakeBar:
    """What tqdm is asked for, kept."""

    def __init__(self, total):
        self.total, self.n, self.figures, self.closed = total, 0, {}, 0

    def update(self, n):
        self.n += n

    def set_postfix(self, **figures):
        self.figures = figures

    def close(self):
        self.closed += 1


def test_a_bar_is_moved_and_closed(tmp_path):
    bars = []
    answer = solve(spec(), out=tmp_path / "run", progress=lambda **given: bars.append(FakeBar(**given)) or bars[0])
    (bar,) = bars
    assert bar.n == answer.iterations and bar.closed == 1 and bar.total >= bar.n
    assert float(bar.figures["objective"]) == pytest.approx(answer.objective, rel=1e-3)
    with pytest.raises(TypeError, match=r"^progress: expected a bar such as tqdm, not a value of type int$"):
        solve(spec(), progress=3)


def test_the_logger_is_told_of_the_progress_where_somebody_listens(tmp_path, caplog):
    solve(spec(), out=tmp_path / "silent")
    assert "lower bound" not in caplog.text
    with caplog.at_level("INFO", logger="cgm_cli"):
        solve(spec(), out=tmp_path / "told")
    assert "iteration 0 " in caplog.text and "lower bound" in caplog.text


def test_importing_it_loads_nothing_that_only_solving_needs():
    code = "import sys; from cgm_cli import load_run, solve; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    heavy = {"numba", "sklearn", "pandas", "matplotlib", "skimage", "networkx", "cvxpy", "pydantic", "rich", "jinja2"}
    assert not heavy & set(done.stdout.split())
    code = "import sys; from cgm_cli import solve; print(*(name for name in sys.modules if name.startswith('scipy.')))"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert not {"scipy.linalg", "scipy.optimize", "scipy.stats", "scipy.io"} & set(done.stdout.split())
