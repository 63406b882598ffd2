"""A run that is stopped and resumed ends, to the last bit, where the undisturbed one ends."""

import signal
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from cgm_cli.errors import DataError, ProblemError
from cgm_cli.methods import best_bound
from cgm_cli.methods.state import State
from cgm_cli.methods.status import Leave, Status
from cgm_cli.runs.checkpoint import SCHEMA, read_checkpoint
from cgm_cli.runs.directory import RunDirectory
from cgm_cli.runs.execute import execute
from cgm_cli.runs.load import load_run
from cgm_cli.spec.load import dump
from cgm_cli.templates.max_cut import MaxCut
from tests.forked import begun, until
from tests.runs.kill import timeless
from tests.test_configs import SMALLER

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
ITERATIONS = 24
HERE = [
    path
    for path in sorted(CONFIGS.rglob("*.yaml"))
    if "mnist" not in path.name and "maxcut" not in path.name and path.parent.name != "sweeps"
]
FEWER = {
    "digits-kmeans.yaml": ["problem.points.count=50", "problem.restarts=3"],
    "digits-kmeans-tight.yaml": ["problem.points.count=30", "problem.restarts=3"],
    "h-1sfw.yaml": ["problem.points.count=30"],
    "kernel-learning.yaml": ["problem.test_fraction=0.8"],
    "structured-svm.yaml": ["problem.test_fraction=0.8"],
    "synchronisation.yaml": ["problem.graph={nodes: 40, noise: 2.0}"],
    "block-model.yaml": ["problem.graph={nodes: 40, communities: 2, inside: 0.35, outside: 0.05}"],
}
"""What is made smaller of a spec: it is read and solved five times over."""
VARIANTS = [
    ["solver.method=cgal"],
    ["solver.step=line-search"],
    ["solver.method=auto"],
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
    "solver": {"method": "hcgm", "iterations": ITERATIONS},
    "stop": {"gap": None},
}


class StopAt:
    """Asks to leave once the record of k is there."""

    def __init__(self, k, ending=Status.PREEMPTED):
        self.k, self.ending, self.status = k, ending, None

    def on_record(self, record):
        if record.k >= self.k:
            self.status = self.ending

    def __call__(self):
        return self.status


def stopped(source, overrides, out, k):
    stop = StopAt(k)
    return execute(source, overrides, out, observers=lambda sense, rules: [stop], should_stop=stop)


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
    assert timeless(one.summary) == timeless(other.summary)


def check(source, overrides, tmp_path, ks=(1, 8)):
    overrides = ["solver.iterations=14", *overrides]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    execute(source, overrides, whole)
    stopped(source, overrides, parts, ks[0])
    for k in ks[1:]:
        stop = StopAt(k)
        execute(source, overrides, observers=lambda sense, rules, stop=stop: [stop], should_stop=stop, resume=parts)
    assert load_run(parts).status in (Status.PREEMPTED, load_run(whole).status)
    execute(None, resume=parts)
    assert_same_end(whole, parts)


def test_a_run_that_rounds_on_its_way(tmp_path):
    """It ends once the answer that x is rounded to is proven, resumed or not."""
    rng = np.random.default_rng(2)
    flow, distance = (np.triu(part, 1) + np.triu(part, 1).T for part in rng.integers(0, 9, (2, 6, 6)))
    problem = {"template": "quadratic-assignment", "flow": flow.tolist(), "distance": distance.tolist()}
    source = {"problem": problem, "stop": {"gap": 1e-9}}
    check(source, [], tmp_path, ks=(1, 3))
    assert load_run(tmp_path / "whole").status is Status.CONVERGED


def test_there_is_a_checkpoint_before_the_last_certificate_and_the_rounding(tmp_path, monkeypatch):
    """A process that is killed in either, as after a Ctrl-C, has lost nothing."""
    found = []

    def note(module, name):
        function = getattr(module, name)

        def noting(*arguments):
            checkpoint = read_checkpoint(tmp_path / "run" / "checkpoint.h5")
            found.append((name, None if checkpoint is None else checkpoint["state"]["k"]))
            return function(*arguments)

        monkeypatch.setattr(module, name, noting)

    note(best_bound, "certify")
    note(MaxCut, "round")
    stop = StopAt(5, Status.INTERRUPTED)
    run = execute(CUT, ["stop={}"], tmp_path / "run", observers=lambda sense, rules: [stop], should_stop=stop)
    assert run.status is Status.INTERRUPTED
    assert {name for name, _ in found} == {"certify", "round"}
    assert {k for _, k in found} == {run.result.record.k}


@pytest.mark.parametrize("path", HERE, ids=lambda path: path.stem)
def test_every_template(path, tmp_path):
    check(path, ["stop={}", *FEWER.get(path.name, SMALLER.get(path.name, []))], tmp_path)


@pytest.mark.parametrize("overrides", VARIANTS, ids=lambda overrides: overrides[0].partition(".")[2])
@pytest.mark.parametrize("name", ["digits-kmeans", "matrix-completion", "sparse-logistic"])
def test_every_policy(name, overrides, tmp_path):
    check(CONFIGS / f"{name}.yaml", ["stop={}", *FEWER.get(f"{name}.yaml", []), *overrides], tmp_path)


@pytest.mark.parametrize("domain", ["fantope-face", "trace"])
def test_multipliers_of_local_descent(domain, tmp_path):
    """Their momentum, and the factor, are part of a checkpoint."""
    points = np.random.default_rng(0).standard_normal((40, 3)).tolist()
    problem = {"template": "kmeans-sdp", "clusters": 3, "points": points, "restarts": 1, "domain": domain}
    check({"name": "descent", "problem": problem, "solver": {"method": "auto"}}, [], tmp_path, ks=(1, 4, 8))


@pytest.mark.parametrize("kind", ["dense", "factored", "sketch", "samples"])
def test_every_kind_of_iterate(kind, tmp_path):
    check(CUT, [f"solver.iterate={kind}"], tmp_path)


# What may change, and what may not.


@pytest.fixture
def cut(tmp_path):
    """A run that was told to leave at iteration 5, and its spec."""
    stopped(CUT, [], tmp_path / "cut", 5)
    return tmp_path / "cut"


def test_the_budget_may_be_raised(cut, tmp_path):
    execute(CUT, ["solver.iterations=40"], tmp_path / "whole")
    execute(None, resume=cut)
    execute(None, ["solver.iterations=40", "checkpoint.every=1s"], resume=cut)
    assert_same_end(tmp_path / "whole", cut)
    resumed = load_run(cut).provenance["resumed"]
    assert [entry["iteration"] for entry in resumed] == [6, 24]
    assert load_run(cut).resolved["solver"]["iterations"] == 40


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("solver.beta0=3", "solver.beta0: auto there, 3.0 here"),
        ("solver.iterations=23", "solver.iterations: 24 there, 23 here (a budget can only be raised)"),
        ("stop.time=5", "stop.time: null there, 5.0 here (a budget can only be raised)"),
        ("problem.graph.nodes=91", "problem.graph.nodes: 90 there, 91 here"),
        ("seed=1", "seed: 0 there, 1 here"),
        ("log.every=2", "log.every: 1 there, 2 here"),
    ],
)
def test_a_changed_spec_is_refused_with_the_difference(cut, override, told):
    before = {path.name: path.read_bytes() for path in cut.iterdir()}
    with pytest.raises(ProblemError) as caught:
        execute(CUT, [override], resume=cut)
    assert told in caught.value.message
    assert caught.value.exit_code == 2
    assert {path.name: path.read_bytes() for path in cut.iterdir()} == before


def test_a_run_that_has_converged_has_nothing_left_to_do(tmp_path):
    execute(CUT, ["stop={gap: 0.9, infeasibility: 0.9}"], tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert "checkpoint.h5" not in before
    again = execute(None, resume=tmp_path / "run")
    assert again.result is None
    assert again.status is Status.CONVERGED
    assert again.summary["status"] == "converged"
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


@pytest.mark.parametrize("harm", [Path.unlink, lambda log: log.write_bytes(log.read_bytes()[:3000])])
def test_a_run_that_has_ended_and_lost_its_log_is_no_success(tmp_path, harm):
    outcome = execute({"problem": {"template": "minimax-ball"}}, out=tmp_path / "run")
    harm(outcome.run / "run.h5")
    with pytest.raises(DataError):
        execute(None, resume=outcome.run)


def test_a_folder_that_is_not_there_yet_is_begun(tmp_path):
    execute(CUT, [], tmp_path / "whole")
    execute(CUT, [], resume=tmp_path / "new" / "run")
    assert_same_end(tmp_path / "whole", tmp_path / "new" / "run")


def test_without_a_spec_there_must_be_a_run(tmp_path):
    with pytest.raises(DataError, match="nothing in it to go on with"):
        execute(None, resume=tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="is not a run"):
        execute(CUT, resume=tmp_path)


def test_without_any_checkpoint_a_run_begins_again(cut, tmp_path):
    (cut / "checkpoint.h5").unlink()
    execute(CUT, [], tmp_path / "whole")
    execute(None, resume=cut)
    assert_same_end(tmp_path / "whole", cut)


def test_a_budget_that_was_spent_leaves_a_checkpoint_unless_unwanted(tmp_path):
    execute(CUT, [], tmp_path / "kept")
    assert (tmp_path / "kept" / "checkpoint.h5").exists()
    execute(CUT, ["checkpoint.final=false"], tmp_path / "dropped")
    assert not (tmp_path / "dropped" / "checkpoint.h5").exists()
    stopped(CUT, ["checkpoint.every=never"], tmp_path / "never", 5)
    assert not (tmp_path / "never" / "checkpoint.h5").exists()


def test_data_that_changed_is_named(tmp_path):
    graph, spec = tmp_path / "graph.txt", tmp_path / "spec.yaml"
    graph.write_text("4 3\n1 2 1\n2 3 1\n3 4 1\n")
    text = "problem: {template: max-cut, graph: {file: graph.txt}}\nsolver: {method: hcgm, iterations: 20}\n"
    spec.write_text(text + "stop: {gap: null}\n")
    stopped(spec, [], tmp_path / "run", 5)
    graph.write_text("4 3\n1 2 1\n2 3 1\n1 4 1\n")
    with pytest.raises(DataError, match=r"graph\.txt changed since it was started"):
        execute(None, resume=tmp_path / "run")
    graph.write_text("4 3\n1 2 1\n2 3 1\n3 4 1\n")
    assert execute(None, resume=tmp_path / "run").result.record.k == 20


# Whoever cannot go on with a run leaves it as it is.


def contents(run):
    """Of all but the log for people, which tells of every attempt."""
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file() and path.name != "log.txt"}


def lose(path):
    path.unlink()


def truncate(path):
    path.write_bytes(path.read_bytes()[:-8])


def flip(path):
    raw = path.read_bytes()
    path.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))


@pytest.fixture
def spent(tmp_path):
    """A run that has spent its budget, from a mapping with an array that has a file of its own."""
    matrix = np.random.default_rng(0).standard_normal((20, 30))
    loss = {"kind": "least-squares", "map": {"kind": "matrix", "matrix": matrix}, "target": 1.0}
    problem = {"domain": {"kind": "simplex", "size": 30}, "objective": loss}
    execute(
        {"problem": problem, "solver": {"method": "hcgm", "iterations": 20}, "stop": {"gap": None}},
        [],
        tmp_path / "spent",
    )
    return tmp_path / "spent"


@pytest.mark.parametrize("overrides", [[], ["solver.iterations=90"]])
@pytest.mark.parametrize("harm", [lose, truncate, flip])
def test_without_its_data_a_run_keeps_its_result(spent, harm, overrides):
    (array,) = (spent / "arrays").iterdir()
    whole, before = array.read_bytes(), contents(spent)
    harm(array)
    with pytest.raises(DataError, match=array.name):
        execute(None, overrides, resume=spent)
    assert contents(spent) == before
    assert load_run(spent).summary["status"] == "iteration-limit"
    assert array.name in (spent / "log.txt").read_text()
    array.write_bytes(whole)
    assert execute(None, ["solver.iterations=90"], resume=spent).result.record.k == 90


def test_a_checkpoint_that_does_not_fit_the_problem_is_found_before_anything_is_written(spent, monkeypatch):
    before = contents(spent)

    def unpack(self, tree):
        raise ValueError("of another shape")

    monkeypatch.setattr(State, "unpack", unpack)
    with pytest.raises(DataError, match="does not fit this problem"):
        execute(None, ["solver.iterations=90"], resume=spent)
    assert contents(spent) == before


def test_a_run_that_is_left_before_it_goes_on_keeps_its_result(spent, monkeypatch):
    before = contents(spent)

    def build(*_):
        raise Leave(Status.PREEMPTED)

    monkeypatch.setattr("cgm_cli.runs.execute.build", build)
    again = execute(None, ["solver.iterations=90"], resume=spent)
    assert again.status is Status.PREEMPTED and again.result is None
    assert contents(spent) == before


# Checkpoints that are of no use do so, too.


def damage_schema(path):
    with h5py.File(path, "r+") as file:
        file.attrs["schema"] = 0


def damage_shape(path):
    with h5py.File(path, "r+") as file:
        images = file["checkpoint/state/point/images"]
        del images["0"]
        images["0"] = np.zeros(3)
        images["0"].attrs["fortran"] = False


def damage_link(path):
    with h5py.File(path, "r+") as file:
        images = file["checkpoint/state/point/images"]
        del images["0"]
        images["0"] = h5py.ExternalLink("/etc/passwd", "/")


def damage_group(path):
    with h5py.File(path, "r+") as file:
        del file["checkpoint"]


def damage_values(path):
    with h5py.File(path, "r+") as file:
        file["checkpoint/state"].attrs["values"] = "[1, 2]"


def damage_bytes(path):
    path.write_bytes(path.read_bytes()[:1000])


def damage_one_number(path):
    with h5py.File(path, "r+") as file:
        file["checkpoint/state/point/images/0"][0] += 1e-12


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (damage_schema, f"of schema version 0, but this cgm reads version {SCHEMA}"),
        (damage_shape, r"is damaged"),
        (damage_link, r"links are not followed"),
        (damage_group, r"cannot be read as a checkpoint"),
        (damage_values, r"cannot be read as a checkpoint"),
        (damage_bytes, r"cannot be read as a checkpoint"),
        (damage_one_number, r"is damaged: its content does not have the checksum it was written with"),
    ],
)
def test_a_damaged_checkpoint_is_refused_by_name(cut, damage, told):
    damage(cut / "checkpoint.h5")
    with pytest.raises(DataError, match=told) as caught:
        execute(None, resume=cut)
    assert caught.value.exit_code == 3
    # Every row that the checkpoint would have gone on from is still there.
    assert load_run(cut).trace["k"].tolist()[:6] == list(range(6))


def test_a_run_that_is_being_written_is_left_alone(cut):
    taken = pytest.raises(ProblemError, match="is being written by another process; wait for its end")
    with RunDirectory.reopen(cut), taken:
        execute(None, resume=cut)
    assert execute(None, resume=cut).result.record.k == ITERATIONS


def test_a_process_that_died_before_its_run_had_begun(tmp_path):
    """It writes the spec, and then the status; a kill may fall between them."""
    execute(CUT, [], tmp_path / "whole")
    for left_over in ([".lock"], ["spec.yaml"], [".lock", "spec.yaml", "resolved.yaml", ".status.json.77.tmp"]):
        run = tmp_path / "-".join(left_over)
        run.mkdir()
        for name in left_over:
            (run / name).write_text("")
        with pytest.raises(DataError, match="nothing in it to go on with"):
            execute(None, resume=run)
        if "spec.yaml" in left_over:
            with pytest.raises(ProblemError, match="already holds a run"):
                execute(CUT, [], run)
        execute(CUT, resume=run)
        assert_same_end(tmp_path / "whole", run)


def test_what_a_killed_process_left_half_written_is_cleared(cut):
    (cut / ".checkpoint.h5.tmp").write_bytes(b"half")
    execute(None, resume=cut)
    assert [path.name for path in cut.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
def test_a_signal_during_the_rounding_is_not_waited_for(tmp_path, monkeypatch, number, code):
    def slow(self, iterate, bound, rng, deadline):
        print("rounding", flush=True)
        for _ in range(600):
            time.sleep(0.1)

    spec = tmp_path / "spec.yaml"
    spec.write_text(dump(CUT))
    with monkeypatch.context() as patch:
        patch.setattr(MaxCut, "round", slow)
        process = begun("solve", spec, "--out", tmp_path / "run", "--quiet")
    until(lambda: process.stdout == "rounding\n")
    process.send_signal(number)
    assert process.wait(timeout=20) == code
    assert load_run(tmp_path / "run").state["exit_code"] == code
    execute(CUT, [], tmp_path / "whole")
    execute(None, resume=tmp_path / "run")
    assert_same_end(tmp_path / "whole", tmp_path / "run")


def test_a_run_that_ends_while_its_lock_is_waited_for_is_not_begun_again(cut, tmp_path, monkeypatch):
    """The run converges between the first look at the folder and the moment its lock is free."""
    original = RunDirectory.reopen

    def late(path):
        monkeypatch.setattr(RunDirectory, "reopen", original)
        execute(None, ["checkpoint.final=false"], resume=path)
        return original(path)

    spec = ["stop={gap: 0.9, infeasibility: 0.9}"]
    stopped(CUT, spec, tmp_path / "run", 0)
    monkeypatch.setattr(RunDirectory, "reopen", late)
    again = execute(None, resume=tmp_path / "run")
    assert again.result is None
    assert again.status is Status.CONVERGED
