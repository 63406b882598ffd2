"""What a shell is offered behind `cgm`: by the script that it loads, and by what that asks the program."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.reports.support import make_run, spec

PROJECT = Path(__file__).resolve().parents[1]
SPEC = "problem:\n  template: max-cut\n  graph: {nodes: 30, edges: 100}\nsource: {g: {from: here}}\n"


@pytest.fixture
def here(tmp_path):
    """A folder with a spec, a file that is none, and a program `cgm`."""
    (tmp_path / "s.yaml").write_text(SPEC)
    (tmp_path / "broken.yaml").write_text("problem: [\n")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "cgm"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cgm_cli "$@"\n')
    program.chmod(0o755)
    return tmp_path


def run(here, command, **more):
    environment = os.environ | {"PYTHONPATH": str(PROJECT), "PATH": f"{here}/bin:{os.environ['PATH']}"} | more
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def offered_by_bash(here, *words):
    """What bash offers for the last word, by the function that `--show-completion bash` defines."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        'eval "$(_CGM_COMPLETE=source_bash cgm)"; '
        f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _cgm_completion cgm; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return run(here, ["bash", "--norc", "-c", script]).split()


def offered(here, *words):
    """What that function is told, which asks the program by its environment."""
    asked = {"_CGM_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = forked.cgm(cwd=here, before=lambda: os.environ.update(asked))
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize("words", [["re"], ["show", "s.yaml", "problem.graph."], ["solve", ""]])
def test_bash_offers_what_it_is_told(here, words):
    assert offered_by_bash(here, "cgm", *words) == offered(here, "cgm", *words)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["re"], ["resume", "report"]),
        (["sweep", "st"], ["status"]),
        (["init", "max-"], ["max-cut", "max-affine", "max-margin"]),
        (["solve", "s.yaml", "solver.be"], ["solver.beta0="]),
        (["solve", "s.yaml", "seed=1", "stop.g"], ["stop.gap=", "stop.gap_absolute="]),
        (["check", "--set", "solver.be"], ["solver.beta0="]),
        (["show", "s.yaml", "problem.graph."], ["problem.graph.nodes=", "problem.graph.edges="]),
        (["check", "broken.yaml", "solver.be"], ["solver.beta0="]),
        (["check", "none.yaml", "problem.g"], []),
        (["show", "s."], ["s.yaml"]),
        (["resume", ""], []),
        (["solve", ""], []),
    ],
)
def test_words(here, words, found):
    assert offered(here, "cgm", *words) == found


def test_runs(here):
    make_run(here / "runs" / "cut" / "20260101T000000Z-aaaaaaaa", spec("cut"), iterations=2)
    for command in ("resume", "verify", "report", "export", "diff"):
        assert offered(here, "cgm", command, "cu") == ["cut", "cut/20260101T000000Z-aaaaaaaa"]
    assert offered(here, "cgm", "diff", "cut", "la") == ["latest"]
    assert offered(here, "cgm", "show", "202") == ["20260101T000000Z-aaaaaaaa"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_told_the_same(here, shell):
    asked = {
        "_CGM_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": "cgm check s.yaml solver.be",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    assert "solver.beta0=" in run(here, ["cgm"], **asked)
    assert "_cgm_completion" in run(here, ["cgm"], _CGM_COMPLETE="source_zsh")


@pytest.mark.parametrize("words", ["cgm resume x", "cgm init x", "cgm check s.yaml solver.be"])
def test_nothing_that_takes_long_is_imported(here, words):
    program = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); import runpy; "
    program += "runpy.run_module('cgm_cli', run_name='__main__', alter_sys=True)"
    environment = os.environ | {
        "PYTHONPATH": str(PROJECT),
        "_CGM_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, timeout=60)
    loaded = set(done.stderr.split())
    assert "cgm_cli.cli.completion" in loaded
    assert not {"numpy", "scipy", "rich", "h5py"} & loaded
    assert ("yaml" in loaded) is ("solver" in words)
