"""The command as a user meets it: a process, its exit code, its two streams and the folder it leaves."""

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from cgm_cli.cli import main
from cgm_cli.runs.load import load_run
from cgm_cli.spec.load import loads
from tests import forked
from tests.forked import until

PROJECT = Path(__file__).resolve().parents[1]
PROGRAM = [sys.executable, "-c", "from cgm_cli.cli import main; main()"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(PROJECT), "OPENBLAS_NUM_THREADS": "1"}
ENVIRONMENT.pop("CGM_DATA", None)

SMALL = """
    name: small
    problem:
      domain: {kind: simplex, size: 3}
      objective: {kind: least-squares, target: [0.5, 0.25, 0.25]}
      constraints:
        - {kind: box, lower: 0.1, upper: 0.8}
    solver: {method: hcgm, iterations: 40}
    stop: {gap: null}
"""


def write(folder, text, name="spec.yaml"):
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def cgm(*arguments, cwd):
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "Traceback" not in done.stdout
    return done


@pytest.fixture
def cgm_here(tmp_path, monkeypatch, capsys):
    """The command in this process and in tmp_path -> (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CGM_DATA", raising=False)

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        return stop.value.code or 0, *capsys.readouterr()

    return run


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def error_in(out, code):
    """What stands in place of a result, on one line of JSON."""
    found = json.loads(out, parse_constant=refuse)
    assert found.keys() == {"error"} and found["error"]["exit_code"] == code
    return found["error"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("solve", "--json"), "Missing argument 'SPEC'"),
        (("solve", "x.yaml", "word", "--json"), "`word` is no KEY=VALUE"),
        (("solve", "x.yaml", "--bogus", "--json"), "No such option: --bogus"),
        (("list", "nothing-so", "--json"), "nothing is called `nothing-so`"),
        (("bogus", "--json"), "No such command 'bogus'"),
    ],
)
def test_faults_of_usage_are_objects_too(cgm_here, arguments, message):
    code, out, err = cgm_here(*arguments)
    assert code == 2 and err
    assert message in error_in(out, 2)["message"]
    assert cgm_here(*(word for word in arguments if word != "--json"))[1] == ""


def test_json_is_one_object_with_the_point(tmp_path):
    done = cgm("solve", write(tmp_path, SMALL), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    found = json.loads(done.stdout, parse_constant=refuse)
    assert found["status"] == "iteration-limit"
    assert found["sense"] == "minimise"
    assert found["bound_is"] == "certified"
    assert found["iterations"] == 40
    assert found["bound"] <= 0.0 <= found["objective"]
    assert sum(found["x"]) == pytest.approx(1.0)
    run = load_run(tmp_path / found["run"])
    np.testing.assert_array_equal(run.solution["x"], found["x"])
    assert run.trace["k"].tolist() == list(range(41))
    assert run.trace["objective"][-1] == found["objective"]
    assert run.duals["box"].shape == (3,)
    assert loads(dump_of(run)) == loads(textwrap.dedent(SMALL))


def dump_of(run):
    return (run.path / "resolved.yaml").read_text()


def test_a_maximisation_is_told_in_the_sense_of_the_user(tmp_path, cgm_here):
    text = """
        name: cut
        problem: {template: max-cut, graph: {nodes: 10, edges: 20}}
        solver: {iterations: 60}
    """
    code, out, errors = cgm_here("solve", write(tmp_path, text), "--json", "--quiet")
    assert (code, errors) == (0, "")
    found = json.loads(out, parse_constant=refuse)
    assert found["sense"] == "maximise"
    assert found["metrics"]["cut"] <= found["bound"]
    assert found["objective"] > 0
    assert "x" not in found


def test_a_spec_converges_to_its_tolerances(tmp_path, cgm_here):
    changes = ["--set", "stop.gap=0.05", "--set", "stop.infeasibility=0.05", "--set", "solver={}"]
    code, out, _ = cgm_here("solve", write(tmp_path, SMALL), "--json", *changes)
    found = json.loads(out)
    assert (code, found["status"]) == (0, "converged")
    assert found["gap"] <= 0.05
    assert found["infeasibility"] <= 0.05
    assert found["iterations"] < 5000


MISTAKES = {
    "misspelt key": ("size: 3}", "sise: 3}", "did you mean `size`"),
    "wrong type": ("iterations: 40", "iterations: many", "iterations"),
    "nan": ("lower: 0.1", "lower: .nan", "lower"),
    "shapes": ("[0.5, 0.25, 0.25]", "[0.5, 0.25]", "target"),
    "crossed bounds": ("lower: 0.1", "lower: 0.9", "lower"),
    "unknown kind": ("kind: simplex", "kind: simplix", "did you mean `simplex`"),
    "not YAML": ("problem:", "problem: [", "spec.yaml:"),
    "a duplicate key": ("name: small", "name: small\n    name: large", "name"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_spec_is_exit_code_2_and_points_into_it(tmp_path, cgm_here, mistake):
    before, after, words = MISTAKES[mistake]
    assert before in SMALL
    code, out, errors = cgm_here("solve", write(tmp_path, SMALL.replace(before, after)), "--json")
    assert code == 2 and words in error_in(out, 2)["message"]
    assert words in errors
    assert "spec.yaml:" in errors


DATA = """
    name: data
    problem:
      domain: {kind: l2-ball, size: 3}
      objective: {kind: least-squares, target: {file: FILE}}
    solver: {iterations: 5}
"""


def files(folder):
    scipy.io.savemat(folder / "b.mat", {"target": np.ones(3)})
    (folder / "ragged.csv").write_text("1,2,3\n4,5\n")
    matrix = np.ones((4, 3))
    matrix[2, 1] = np.nan
    np.save(folder / "bad.npy", matrix)


FAULTS = {
    "a missing file": ("nowhere.npy", ["nowhere.npy"]),
    "a wrong key": ("b.mat, key: goal", ["goal", "target"]),
    "a ragged table": ("ragged.csv", ["ragged.csv", "line 2"]),
    "a NaN": ("bad.npy", ["bad.npy", "row 3, column 2"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_data_file_is_exit_code_3_and_named(tmp_path, cgm_here, fault):
    name, words = FAULTS[fault]
    files(tmp_path)
    code, out, errors = cgm_here("solve", write(tmp_path, DATA.replace("FILE", name)), "--json")
    assert code == 3 and error_in(out, 3)["message"] in errors
    for word in words:
        assert word in errors


@pytest.mark.parametrize("out", [None, "new/run", "empty", "."])
def test_what_is_refused_before_its_first_iteration_leaves_no_run(tmp_path, cgm_here, out):
    spec = write(tmp_path, DATA.replace("FILE", "nowhere.npy"))
    (tmp_path / "empty").mkdir()
    before = sorted(tmp_path.rglob("*"))
    code, _, errors = cgm_here("solve", spec, *([] if out is None else ["--out", out]))
    assert code == (2 if out == "." else 3), errors
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_of_runs_that_was_there_stays(tmp_path, cgm_here):
    good, bad = write(tmp_path, SMALL, "good.yaml"), write(tmp_path, DATA.replace("FILE", "no.npy"), "bad.yaml")
    assert cgm_here("solve", good, "--quiet", "--set", "name=data")[0] == 0
    before = sorted((tmp_path / "runs").rglob("*"))
    assert cgm_here("solve", bad)[0] == 3
    assert sorted((tmp_path / "runs").rglob("*")) == before and len(before) > 2


def test_both_are_so_as_a_process(tmp_path):
    """One of each, in a process of its own; the others take the same way."""
    done = forked.cgm("solve", write(tmp_path, SMALL.replace("size: 3}", "sise: 3}")), "--json", cwd=tmp_path)
    assert done.returncode == 2 and error_in(done.stdout, 2)["where"]["line"] == 4
    assert "did you mean `size`" in done.stderr and "spec.yaml:" in done.stderr
    done = forked.cgm("solve", write(tmp_path, DATA.replace("FILE", "nowhere.npy")), "--json", cwd=tmp_path)
    assert done.returncode == 3 and error_in(done.stdout, 3)["where"]["path"][0] == "problem"
    assert "nowhere.npy" in done.stderr


def test_impossible_constraints_are_exit_code_4(tmp_path, cgm_here):
    text = """
        name: impossible
        problem:
          domain: {kind: simplex, size: 4}
          objective: {kind: linear, cost: [1.0, 2.0, 3.0, 4.0]}
          constraints:
            - {kind: equals, value: 3.0, map: {kind: matrix, matrix: [[1.0, 1.0, 1.0, 1.0]]}}
    """
    code, out, _ = cgm_here("solve", write(tmp_path, text), "--json")
    found = json.loads(out)
    assert (code, found["status"]) == (4, "infeasible")
    assert found["bound_is"] == "certified"
    assert found["bound"] > 4.0


@pytest.fixture
def little_memory():
    """6 GB more than this process has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 6 * 2**30, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


HUGE = {
    "a dense iterate": "constraints: [{kind: equals, value: 0.0}]",
    "a box": "constraints: [{kind: box, lower: 0.0, upper: 1.0}]",
    "an objective": "objective: {kind: least-squares, target: 0.0}",
    "a quadratic": "objective: {kind: quadratic, matrix: 1.0}",
    "labels": "objective: {kind: logistic, labels: 1}",
    "a dense cost": "objective: {kind: linear, cost: 1.0}",
    "a penalty": "penalties: [{kind: l1}]",
}


@pytest.mark.parametrize("what", HUGE)
def test_what_cannot_fit_into_memory_is_refused_before_it_is_made(tmp_path, cgm_here, little_memory, what):
    text = f"""
        name: huge
        problem:
          domain: {{kind: psd, size: 500000}}
          {HUGE[what]}
    """
    # One such matrix takes 2 TB, and there are 6 GB: an attempt to make it would end in exit code 4.
    code, out, errors = cgm_here("solve", write(tmp_path, text), "--json")
    assert code == 2 and error_in(out, 2)["message"] in errors
    assert "of memory" in errors
    assert "TB" in errors


def test_ctrl_c_ends_a_run_that_can_be_read(tmp_path):
    spec, run = write(tmp_path, SMALL), tmp_path / "run"
    process = forked.begun("solve", spec, "--json", "--out", run, "--set", "solver.iterations=100000000")
    until(lambda: (run / "run.h5").exists() and len(load_run(run).trace.get("k", ())))
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    found = json.loads(stdout, parse_constant=refuse)
    assert found["status"] == "interrupted"
    run = load_run(tmp_path / "run")
    assert run.status.value == "interrupted"
    assert run.trace["k"][-1] == found["iterations"]
    assert sum(run.solution["x"]) == pytest.approx(1.0)


ENTRY = "from cgm_cli.__main__ import main; main()"
# Sends a signal to the process itself when the module is about to be imported.
SENDER = """
import os, signal, sys
class Sender:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.{signal})
sys.meta_path.insert(0, Sender())
"""


def signalled(modules, name, *arguments, cwd, before=""):
    senders = [SENDER.format(module=module, signal=name) for module in modules]
    done = subprocess.run(
        [sys.executable, "-c", "".join([before, *senders, ENTRY]), *map(str, arguments)],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


# Each of the signals, and each of the moments: as NumPy is about to be loaded, then the console, then the problem.
@pytest.mark.parametrize(
    ("name", "module", "code", "status"),
    [
        ("SIGTERM", "numpy", 75, "preempted"),
        ("SIGUSR1", "cgm_cli.display.console", 75, "preempted"),
        ("SIGUSR2", "cgm_cli.templates.build", 75, "preempted"),
        ("SIGINT", "numpy", 130, "interrupted"),
        ("SIGINT", "cgm_cli.templates.build", 130, "interrupted"),
    ],
)
def test_a_signal_before_the_loop_ends_the_run_as_one_within_it(tmp_path, module, name, code, status):
    done = signalled([module], name, "solve", write(tmp_path, SMALL), "--out", "run", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (code, status), done.stderr
    assert load_run(tmp_path / "run").status.value == status


def test_ctrl_c_while_a_class_is_made_is_silent(monkeypatch, capsys):
    """In an import, where it may come out as a RuntimeError."""

    class Attribute:
        def __set_name__(self, owner, name):
            os.kill(os.getpid(), signal.SIGINT)

    def imports(*_, **__):
        type("Imported", (), {"attribute": Attribute()})

    monkeypatch.setattr("cgm_cli.cli.app", imports)
    with pytest.raises(SystemExit) as stop:
        main(["list"])
    assert stop.value.code == 130 and capsys.readouterr().err == ""


@pytest.mark.parametrize("module", ["cgm_cli.cli", "typer", "cgm_cli.cli.solve"])
def test_ctrl_c_while_the_command_line_is_imported_is_silent(tmp_path, module):
    done = signalled([module], "SIGINT", "list", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_is_not_for_a_background_job_of_a_script(tmp_path):
    ignored = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    modules = ("cgm_cli.cli", "numpy", "cgm_cli.templates.build")
    done = signalled(modules, "SIGINT", "solve", write(tmp_path, SMALL), "--quiet", cwd=tmp_path, before=ignored)
    assert done.returncode == 0
    assert done.stdout.startswith("iteration-limit")


def test_help_lists_the_commands(tmp_path):
    done = cgm("--help", cwd=tmp_path)
    assert done.returncode == 0
    for command in ("solve", "check", "show", "list", "init", "schema"):
        assert command in done.stdout


def test_check_and_show_do_not_solve(tmp_path, cgm_here):
    spec = write(tmp_path, SMALL)
    assert cgm_here("check", spec)[0] == 0
    _, shown, _ = cgm_here("show", spec)
    assert loads(shown) == loads(textwrap.dedent(SMALL))
    assert cgm_here("show", spec, "--expanded")[0] == 0
    assert not (tmp_path / "runs").exists()


def shell(line, cwd):
    """The line as given to sh, where `cgm` is the command: what a redirection does to it."""
    quoted = " ".join(f"'{word}'" for word in PROGRAM)
    done = subprocess.run(
        ["bash", "-c", f'cgm() {{ {quoted} "$@"; }}\n{line}'],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return silent(done)


def redirected(line, cwd):
    """The same of a line that is one command, in a process that need not start anew."""
    words, streams = shlex.split(line), {}
    for name, sign in (("stderr", "2>"), ("stdout", ">")):
        for word in [word for word in words if word.startswith(sign)]:
            words.remove(word)
            streams[name] = forked.CLOSED if word == f"{sign}&-" else word.removeprefix(sign)
    return silent(forked.cgm(*words, cwd=cwd, **streams))


def silent(done):
    assert "Traceback" not in done.stderr, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    return done


UNWRITABLE = {
    "list >&-": "Bad file descriptor",
    "list >/dev/full": "No space left",
    "schema >/dev/full": "No space left",
    "show spec.yaml >/dev/full": "No space left",
    "check spec.yaml --json >&-": "Bad file descriptor",
    "--help >/dev/full": "No space left",
    "solve spec.yaml --json --quiet --out run >&-": "Bad file descriptor",
    "solve spec.yaml --quiet --out run >/dev/full": "No space left",
}
ANEW = {"list >&-", "solve spec.yaml --quiet --out run >/dev/full"}
"""Each kind of them as a shell does it: Python may not tell of it either as it ends."""


@pytest.mark.parametrize("line", UNWRITABLE)
def test_standard_output_that_cannot_be_written_is_one_message_and_exit_code_4(tmp_path, line):
    write(tmp_path, SMALL)
    done = shell(f"cgm {line}", tmp_path) if line in ANEW else redirected(line, tmp_path)
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith("standard output cannot be written: ")
    assert UNWRITABLE[line] in done.stderr
    assert len(done.stderr.splitlines()) == 1
    if line.startswith("solve"):
        assert load_run(tmp_path / "run").status.value == "iteration-limit"


def test_a_reader_that_left_is_exit_code_4_without_a_message(tmp_path):
    write(tmp_path, SMALL)
    done = shell("{ cgm solve spec.yaml --json --quiet; echo $? >code; } | true", tmp_path)
    assert (tmp_path / "code").read_text() == "4\n"
    assert done.stderr == ""


@pytest.mark.parametrize("line", ["list", "schema"])
def test_so_is_one_that_had_left_before(line):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = silent(forked.cgm(line, stdout=pipe))
    assert (done.returncode, done.stderr) == (4, "")


def test_a_lost_progress_display_does_not_lose_the_run(tmp_path):
    write(tmp_path, SMALL)
    done = redirected("solve spec.yaml --out full 2>/dev/full", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert load_run(tmp_path / "full").status.value == "iteration-limit"


@pytest.mark.parametrize("target", ["2>&-", "2>&1 | head -1; exit ${PIPESTATUS[0]}"])
def test_nor_does_one_that_a_shell_takes_away(tmp_path, target):
    write(tmp_path, SMALL)
    done = shell(f"cgm solve spec.yaml --out run {target}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert load_run(tmp_path / "run").status.value == "iteration-limit"


@pytest.mark.parametrize("line", ["solve nowhere.yaml", "solve", "init max-cut"])
def test_a_message_that_cannot_be_written_does_not_change_the_exit_code(tmp_path, line):
    expected = 0 if line.startswith("init") else 2
    for target in ("2>/dev/full", "2>&-"):
        assert redirected(f"{line} {target}", tmp_path).returncode == expected
        (tmp_path / "max-cut.yaml").unlink(missing_ok=True)


def test_closed_standard_output_does_not_matter_to_a_command_that_writes_none(tmp_path):
    write(tmp_path, SMALL)
    assert redirected("solve spec.yaml --out run >&-", tmp_path).returncode == 0
