"""`cgm solve -`: a spec from standard input, with its data beside the working folder."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cgm_cli.runs.load import load_run
from tests import forked

PROJECT = Path(__file__).resolve().parents[1]
SPEC = """\
problem:
  domain: {kind: simplex, size: 3}
  objective: {kind: least-squares, target: {file: data/target.npy}}
solver: {method: hcgm, iterations: 20}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder, with data."""
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "target.npy", [0.5, 0.25, 0.25])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CGM_DATA", raising=False)
    return tmp_path


@pytest.fixture
def cgm(here):
    """The command, given what it reads from standard input (text, bytes, or None: closed)."""

    def run(*arguments, given=None):
        done = forked.cgm(*arguments, stdin=forked.CLOSED if given is None else given)
        assert "Traceback" not in done.stdout + done.stderr
        return done.returncode, done.stdout, done.stderr

    return run


def test_a_spec_is_solved_verified_and_gone_on_with(cgm, tmp_path):
    code, out, _ = cgm("solve", "-", "stop.gap=null", "--quiet", given=SPEC)
    assert code == 0 and "runs/stdin/" in out
    (path,) = (tmp_path / "runs" / "stdin").iterdir()
    run = load_run(path)
    assert run.spec_text == SPEC and run.resolved["name"] == "stdin"
    assert cgm("verify", "latest")[0] == 0
    code, out, errors = cgm("resume", "latest", "solver.iterations=30", "--quiet")
    assert code == 0, errors
    assert load_run(path).summary["iterations"] == 30


@pytest.mark.parametrize("command", ["check", "show", "solve"])
def test_faults_say_where_in_it(cgm, command):
    code, out, errors = cgm(command, "-", given=SPEC + "sede: 1\n")
    assert (code, out) == (2, "")
    assert errors == "stdin:5:1: unknown key `sede`\n  sede: 1\n  ^\n  did you mean `seed`?\n"
    code, _, errors = cgm(command, "-", given=b"\xff")
    assert code == 2 and errors.startswith("stdin:1:1: not UTF-8")
    code, _, errors = cgm(command, "-", given="")
    assert code == 2 and errors.startswith("stdin:1:1: the spec is empty")
    assert cgm(command, "-") == (2, "", "stdin: cannot be read: it is closed\n")


def test_what_is_shown_can_be_piped_on(here):
    """By a shell, as is standard input that is closed."""
    (here / "spec.yaml").write_text(SPEC)
    program = f'cgm() {{ "{sys.executable}" -m cgm_cli "$@"; }}; set -o pipefail; '
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    line = "cgm show - seed=4 <spec.yaml | tee shown.yaml | cgm check - && cgm show - <&-"
    done = subprocess.run(["bash", "-c", program + line], env=environment, capture_output=True, text=True, timeout=120)
    assert "\nseed: 4\n" in (here / "shown.yaml").read_text()
    assert done.stdout.startswith("name        stdin\n")
    assert (done.returncode, done.stderr) == (2, "stdin: cannot be read: it is closed\n")


def test_data_are_looked_up_from_the_working_folder(cgm):
    code, _, errors = cgm("check", "-", given=SPEC.replace("target.npy", "nope.npy"))
    assert code == 3
    assert errors.startswith("stdin:3:14: no data file `data/nope.npy`; looked in ., data")
