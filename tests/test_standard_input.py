"""`cgm solve -`: a spec from standard input, with its data beside the working folder."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cgm_cli.runs.load import load_run

PROJECT = Path(__file__).resolve().parents[1]
SPEC = """\
problem:
  domain: {kind: simplex, size: 3}
  objective: {kind: least-squares, target: {file: data/target.npy}}
solver: {method: hcgm, iterations: 20}
"""


@pytest.fixture
def cgm(tmp_path):
    """The command in tmp_path, given what it reads from standard input (text, bytes, or None: closed)."""
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "target.npy", [0.5, 0.25, 0.25])
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    environment.pop("CGM_DATA", None)

    def run(*arguments, given=None):
        raw = given.encode() if isinstance(given, str) else given
        command = [sys.executable, "-m", "cgm_cli", *arguments]
        if given is None:
            command = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
        done = subprocess.run(command, input=raw, cwd=tmp_path, env=environment, capture_output=True, timeout=120)
        out, errors = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in out + errors
        return done.returncode, out, errors

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


def test_what_is_shown_can_be_piped_on(cgm):
    code, shown, _ = cgm("show", "-", "seed=4", given=SPEC)
    assert code == 0 and "\nseed: 4\n" in shown
    code, out, errors = cgm("check", "-", given=shown)
    assert code == 0 and out.startswith("name        stdin\n"), errors


def test_data_are_looked_up_from_the_working_folder(cgm):
    code, _, errors = cgm("check", "-", given=SPEC.replace("target.npy", "nope.npy"))
    assert code == 3
    assert errors.startswith("stdin:3:14: no data file `data/nope.npy`; looked in ., data")
