"""Blocks that a user's Python functions make: nothing runs unasked, and what is wrong is said."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import cgm_cli
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.functions import VARIABLE, python_allowed
from cgm_cli.spec.load import loads
from cgm_cli.templates.build import build
from cgm_cli.verify.check import verify

OWN = '''
from types import SimpleNamespace as Object

import numpy as np
from scipy.sparse.linalg import LinearOperator

open("ran", "w").close()


def differences(shape):
    n = shape[0]
    adjoint = lambda y: np.concatenate([[0.0], y]) - np.concatenate([y, [0.0]])
    return LinearOperator((n - 1, n), matvec=np.diff, rmatvec=adjoint, dtype=float)


def vertex(g):
    print("asked")
    x = np.zeros(g.shape)
    x.flat[np.argmin(g)] = 1.0
    return x


def project(x):
    """By bisection of the shift."""
    low, high = x.min() - 1.0, x.max()
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.maximum(x - middle, 0.0).sum() > 1.0 else (low, middle)
    return np.maximum(x - high, 0.0)


def simplex():
    return Object(lmo=vertex, shape=4)


def simplex_that_projects():
    return Object(lmo=vertex, shape=(4,), radius=1.0, diameter=2.0**0.5, project=project)


def wrong_adjoint(shape):
    return Object(matvec=lambda x: x, rmatvec=lambda y: 2 * y, shape=(4, 4))


def not_linear(shape):
    return Object(matvec=lambda x: x + 1.0, rmatvec=lambda y: y, shape=(4, 4))


def wrong_shape(shape):
    return Object(matvec=lambda x: x, rmatvec=lambda y: y, shape=(5, 5))


def fails(shape):
    return Object(matvec=lambda x: 1 / 0, rmatvec=lambda y: y, shape=(4, 4))


def leaves(shape):
    raise SystemExit("bye")


def no_oracle():
    return Object(lmo=lambda g: np.sign(g), shape=4)


def too_small():
    return Object(lmo=vertex, shape=4, radius=0.5)


def too_narrow():
    return Object(lmo=vertex, shape=4, radius=1.0, diameter=1.0)


def identity():
    return Object(lmo=vertex, shape=4, radius=1.0, project=lambda x: x)


def no_projection():
    return Object(lmo=vertex, shape=4, radius=1.0, project=lambda x: np.full(4, 0.25))


def infinite():
    return Object(lmo=lambda g: g * np.inf, shape=4)


def large():
    return Object(lmo=vertex, shape=1000)


def array(shape):
    return np.eye(4)


number = 3
'''
COST = [[3.0, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 0.5], [0, 0, 0.5, 4]]


def text(domain="{python: 'own:simplex'}", linear="{python: 'own:differences'}", more=""):
    return f"""
problem:
  domain: {domain}
  objective: {{kind: quadratic, matrix: {COST}}}
  penalties:
    - {{kind: l1, scale: 0.3, map: {linear}, name: jumps}}
stop: {{gap: 1.0e-4}}
{more}"""


# The same by the blocks that are built in.
PLAIN = text("{kind: simplex, size: 4}", "{kind: matrix, matrix: [[-1, 1, 0, 0], [0, -1, 1, 0], [0, 0, -1, 1]]}")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "0")  # what --allow-python sets is undone after the test
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def built(spec):
    with python_allowed():
        return build(loads(spec, path="spec.yaml"))


@pytest.mark.parametrize("domain", ["simplex", "simplex_that_projects"])
def test_the_answer_is_that_of_the_blocks_that_are_built_in(folder, domain):
    (folder / "spec.yaml").write_text(text(f"{{python: 'own:{domain}'}}"))
    answer = cgm_cli.solve("spec.yaml", allow_python=True)
    (folder / "plain.yaml").write_text(PLAIN)
    plain = cgm_cli.solve("plain.yaml")
    assert answer.status.value == plain.status.value == "converged"
    assert answer.objective == pytest.approx(plain.objective, rel=2e-4)
    assert answer.bound <= plain.objective and answer.bound_is == "certified"
    told = cgm_cli.load_run(answer.run)
    assert told.summary["bound_rests_on"] == f"own:{domain}, own:differences"
    recorded = told.provenance["python"]["own:differences"]
    assert recorded["file"] == str(folder / "own.py") and recorded["sha256"] == told.provenance["data"]["own.py"]
    assert answer.message.count("own.py") == 2
    with python_allowed():
        report = verify(answer.run)
    assert report.holds
    (bound,) = [row for row in report.rows if row.quantity.startswith("lower bound")]
    assert bound.verdict.value == "consistent, no proof"


def test_nothing_runs_unless_it_is_allowed(folder, cgm):
    (folder / "spec.yaml").write_text(text())
    (folder / "sweep.yaml").write_text("base: spec.yaml\nsweep: {grid: {seed: [0, 1]}}\n")
    for command in ("solve", "check", "show"):
        code, out, err = cgm(command, "spec.yaml")
        assert code == (0 if command == "show" else 2) and "--allow-python" in out + err
    with pytest.raises(ProblemError, match="allow_python=True"):
        cgm_cli.solve("spec.yaml")
    assert cgm("sweep", "sweep.yaml", "--quiet")[0] == 5
    assert not (folder / "ran").exists()
    assert cgm("solve", "spec.yaml", "--allow-python")[0] == 0
    assert (folder / "ran").exists()


def test_the_runs_of_a_sweep_are_allowed_what_the_sweep_is(folder):
    (folder / "spec.yaml").write_text(text())
    (folder / "sweep.yaml").write_text("base: spec.yaml\nsweep: {grid: {solver.iterations: [3, 4]}}\n")
    command = [sys.executable, "-m", "cgm_cli", "sweep", "sweep.yaml", "--allow-python", "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["done"] == 2


def test_a_file_that_has_changed_is_noticed(folder, cgm, monkeypatch):
    (folder / "spec.yaml").write_text(text(more="solver: {iterations: 2}"))
    run = str(cgm_cli.solve("spec.yaml", allow_python=True).run)
    code, _, err = cgm("resume", run, "solver.iterations=4")
    assert code == 2 and "--allow-python" in err
    (folder / "own.py").write_text(OWN + "\n# changed\n")
    code, _, err = cgm("resume", run, "solver.iterations=4", "--allow-python")
    assert code == 3 and "own.py changed since it was started" in err
    code, out, _ = cgm("verify", run, "--allow-python")
    assert code == 4 and "changed since the run was started: own.py" in out
    (folder / "own.py").write_text(OWN)
    assert cgm("resume", run, "solver.iterations=4", "--allow-python")[0] == 0
    monkeypatch.setenv(VARIABLE, "0")
    assert cgm("verify", run)[0] == 3


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("wrong_adjoint", "`rmatvec` is not the adjoint of `matvec`"),
        ("not_linear", "`matvec` is not linear"),
        ("wrong_shape", "its shape is (5, 5), but a point of the domain has 4 entries"),
        ("fails", f"own.py:{OWN[: OWN.index('1 / 0')].count(chr(10)) + 1}: ZeroDivisionError: division by zero"),
        ("leaves", "SystemExit: bye"),
        ("simplex", "TypeError: simplex() takes 0 positional arguments but 1 was given"),
        ("number", "has no function `number`"),
        ("array", "makes a ndarray, and an object with `matvec`, `rmatvec` and `shape` is needed"),
    ],
)
def test_what_is_no_map_is_refused(folder, function, told):
    with pytest.raises(ProblemError) as error:
        built(text(domain="{kind: simplex, size: 4}", linear=f"{{python: 'own:{function}'}}"))
    assert told in error.value.message


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("no_oracle", "`lmo` is no oracle"),
        ("too_small", "its radius is 0.5, but there is a point of norm 1"),
        ("too_narrow", "its diameter is 1, but two points have the distance 1.41421"),
        ("no_projection", "`project` does not give the nearest point"),
        ("identity", "`project` gives a point p outside of the domain"),
        ("infinite", "has an entry that is not finite"),
        ("large", "has no `radius`"),
    ],
)
def test_what_contradicts_itself_is_no_domain(folder, function, told):
    with pytest.raises(ProblemError) as error:
        built(text(domain=f"{{python: 'own:{function}'}}", linear="{kind: identity}"))
    assert told in error.value.message


def test_the_spec_says_where_the_function_is(folder):
    with pytest.raises(DataError, match=r"no data file .other\.py."):
        built(text(linear="{python: 'other:f'}"))
    (folder / "broken.py").write_text("def f(:\n")
    with pytest.raises(ProblemError, match=r"broken\.py:1: SyntaxError"):
        built(text(linear="{python: 'broken:f'}"))
    (folder / "sub").mkdir()
    (folder / "own.py").rename(folder / "sub" / "own.py")
    built(text("{python: 'sub.own:simplex'}", "{python: 'own:differences', file: sub/own.py}"))


def test_the_nearest_point_comes_of_the_oracle_alone(folder):
    with python_allowed():
        context = BuildContext((folder,))
        spec = loads(text(), path="spec.yaml").problem.domain
        domain = spec.build(context)
    assert domain.radius == 2.0 and domain.diameter == 2.0  # of the box around the simplex
    twin = loads(PLAIN).problem.domain.build(context)
    rng = np.random.default_rng(3)
    for x in [rng.standard_normal(4) * scale for scale in (0.1, 1.0, 10.0)]:
        assert domain.project(x) == pytest.approx(twin.project(x), abs=1e-9)
        assert domain.contains(domain.project(x)) and not domain.contains(x)


def test_a_set_that_an_image_lies_in(folder):
    spec = f"""
problem:
  domain: {{kind: box, size: 4, lower: -1, upper: 1}}
  objective: {{kind: quadratic, matrix: {COST}, linear: [1, 2, 3, -1]}}
  constraints:
    - {{kind: in-domain, domain: {{python: 'own:simplex'}}, name: inside}}
"""
    (folder / "spec.yaml").write_text(spec)
    answer = cgm_cli.solve("spec.yaml", allow_python=True)
    assert answer.status.value == "converged" and answer.solution["x"].sum() == pytest.approx(1.0, abs=1e-3)
    assert cgm_cli.load_run(answer.run).summary["bound_rests_on"] == "own:simplex"


def test_what_it_prints_is_no_result(folder, cgm):
    (folder / "spec.yaml").write_text(text(more="solver: {iterations: 2}"))
    code, out, err = cgm("solve", "spec.yaml", "--allow-python", "--json")
    assert code == 0 and "asked" in err
    assert json.loads(out)["bound_rests_on"] == "own:simplex, own:differences"
    code, out, _ = cgm("show", "spec.yaml", "--expanded", "--allow-python")
    assert code == 0 and "kind: given-domain" in out
