"""The commands about specs: output, exit codes, and no traceback whatever they are given."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import cgm_cli
from cgm_cli.errors import DataError, ProblemError, Several
from cgm_cli.spec.fields import policy
from cgm_cli.spec.load import load

pytestmark = pytest.mark.usefixtures("stub_registry")

SPEC = "problem:\n  domain: {kind: box, upper: 1, size: 3}\n  constraints:\n    - {kind: box, upper: 1}\n"


@pytest.fixture
def spec_file(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(SPEC)
    return str(path)


@pytest.fixture
def build(monkeypatch):
    """Stands for the building of problems; `build.error` is raised in it."""
    problem = SimpleNamespace(
        domain=SimpleNamespace(users_shape=(3, 4), is_complex=False, cone=None),
        constants=lambda: {"L_f": np.float64(2.0), "|A|": np.inf, "D_X": 1.25},
        describe=lambda: {"domain": {"shape": (3, 4), "bound": np.inf, "data": np.zeros((9, 9)), "few": np.arange(2)}},
    )
    form = SimpleNamespace(kind="dense", reason="the spec says so")
    policies = {"step": SimpleNamespace(policy=policy("step", "classic"), why="by default")}
    instance = SimpleNamespace(
        problem=problem,
        form=form,
        choice=SimpleNamespace(name="hcgm", beta0=0.5, policies=policies, method=SimpleNamespace(correction=None)),
        context=SimpleNamespace(reserved={"X": 1_000_000, "D": 500_000}),
    )
    fake = SimpleNamespace(error=None)

    def stand_in(spec):
        if fake.error:
            raise fake.error
        return instance

    module = ModuleType("cgm_cli.templates.build")
    module.build = stand_in
    monkeypatch.setitem(sys.modules, "cgm_cli.templates", ModuleType("cgm_cli.templates"))
    monkeypatch.setitem(sys.modules, "cgm_cli.templates.build", module)
    return fake


def test_help(cgm):
    code, out, err = cgm("--help")
    assert (code, err) == (0, "")
    assert all(command in out for command in ("check", "show", "list", "init", "schema"))


def test_version(cgm):
    assert cgm("--version") == (0, f"cgm {cgm_cli.__version__}\n", "")


def test_help_loads_nothing_heavy():
    code = "import sys, cgm_cli.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "pydantic", "yaml", "rich"} & set(loaded)


@pytest.mark.parametrize(
    "arguments", [["nope"], ["check"], ["check", "--nope", "x"], ["init", "max-ct"], ["list", "bx"]]
)
def test_usage(cgm, arguments):
    code, out, err = cgm(*arguments)
    assert (code, out) == (2, "")
    assert "Error" in err and "Traceback" not in err


def test_check(cgm, build, spec_file):
    code, out, _ = cgm("check", spec_file)
    assert code == 0
    rows = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert rows == {
        "name": "x",
        "variable": "3 x 4",
        "iterate": "dense: the spec says so",
        "memory": "1.5 MB (X 1 MB, D 500 kB)",
        "L_f": "2",
        "|A|": "inf",
        "D_X": "1.25",
    }


def test_check_json(cgm, build, spec_file):
    code, out, _ = cgm("check", spec_file, "--json")
    assert code == 0
    assert json.loads(out) == {
        "ok": True,
        "name": "x",
        "shape": [3, 4],
        "complex": False,
        "iterate": {"kind": "dense", "because": "the spec says so"},
        "memory": {"bytes": 1_500_000, "parts": {"X": 1_000_000, "D": 500_000}},
        "constants": {"L_f": 2.0, "|A|": "inf", "D_X": 1.25},
        "implied_constraints": [],
    }


def test_check_tells_every_fault(cgm, spec_file):
    code, out, err = cgm("check", spec_file, "--set", "solver.bta0=1", "--set", "problem.domain.size=0")
    assert (code, out) == (2, "")
    assert "--set solver.bta0=1: unknown key `bta0`" in err
    assert "did you mean `beta0`?" in err
    assert "--set problem.domain.size=0: expected more than 0" in err


@pytest.mark.parametrize("command", ["check", "show"])
def test_changes_need_no_option(cgm, build, spec_file, command):
    code, out, err = cgm(command, spec_file, "solver.beta0=on", "--set", "seed=-1")
    assert (code, out) == (2, "")
    assert "--set seed=-1: " in err
    assert "--set solver.beta0=on: " in err and "\n  solver.beta0=on\n               ^\n" in err
    assert cgm(command, spec_file, "seed=4", "name=other")[0] == 0
    code, _, err = cgm(command, spec_file, "other.yaml")
    assert code == 2 and "`other.yaml` is no KEY=VALUE" in err


def test_the_place_in_an_override_as_json(cgm, spec_file):
    code, out, _ = cgm("check", spec_file, "beta0=1", "--json")
    fault = {"message": "unknown key `beta0`", "path": ["beta0"], "line": 1, "column": 1}
    assert code == 2
    assert json.loads(out)["error"]["faults"] == [
        {**fault, "hint": "did you mean `solver.beta0`?", "file": None, "override": "beta0=1"}
    ]


def test_check_faults_as_json(cgm, spec_file, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(SPEC + "sede: 1\n")
    code, out, err = cgm("check", str(path), "--json")
    assert code == 2
    where = {"path": ["sede"], "line": 5, "column": 1, "file": None, "override": None}
    assert json.loads(out) == {
        "error": {
            "message": err.rstrip("\n"),
            "exit_code": 2,
            "where": where,
            "faults": [{"message": "unknown key `sede`", **where, "hint": "did you mean `seed`?"}],
            "more": 0,
        }
    }


@pytest.mark.parametrize("error", [None, ProblemError("does not fit", ("problem", "domain"))])
def test_faults_beyond_the_first_fifty_are_counted(cgm, build, spec_file, tmp_path, error):
    """Those of the spec, and those of building it."""
    path = tmp_path / "bad.yaml"
    path.write_text(SPEC + "".join(f"key{i}: 1\n" for i in range(1234) if error is None))
    build.error = error and Several([error] * 1234)
    code, out, err = cgm("check", str(path))
    assert (code, out) == (2, "")
    assert err.count(f"{path}:") == 50 and err.endswith("\n\nand 1,184 more\n")
    code, out, err = cgm("check", str(path), "--json")
    error = json.loads(out)["error"]
    assert code == 2 and len(error["faults"]) == 50 and error["more"] == 1184
    code, out, err = cgm("show", str(path))
    assert error or (code == 2 and err.endswith("\n\nand 1,184 more\n"))


def test_check_places_the_errors_of_building(cgm, build, spec_file):
    build.error = DataError("no such file", ("problem", "domain", "upper"))
    code, _, err = cgm("check", spec_file)
    assert code == 3
    assert err.startswith(f"{spec_file}:2:30: no such file\n")
    build.error = DataError("no such file", ("problem", "domain", "upper"))
    code, out, _ = cgm("check", spec_file, "--json")
    assert code == 3
    assert json.loads(out)["error"]["where"]["line"] == json.loads(out)["error"]["faults"][0]["line"] == 2


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (MemoryError(), 4), (BrokenPipeError(32, "Broken pipe"), 4)]
)
def test_ways_to_end(cgm, build, spec_file, error, code):
    build.error = error
    assert cgm("check", spec_file)[0] == code


def test_show(cgm, build, spec_file, tmp_path):
    code, out, _ = cgm("show", spec_file, "--set", "seed=3")
    assert code == 0
    assert "# `method: auto` comes to hcgm, with beta0 = 0.5 and\n#   step:       classic  (by default)\n" in out
    (tmp_path / "again.yaml").write_text(out)
    assert load(tmp_path / "again.yaml") == load(spec_file, ["seed=3"])


def test_show_without_the_data(cgm, build, spec_file, tmp_path):
    build.error = DataError("no data file `x.npy`\nand more")
    code, out, _ = cgm("show", spec_file)
    assert code == 0
    assert "chosen with the problem at hand: no data file `x.npy`\n" in out
    (tmp_path / "again.yaml").write_text(out)
    assert load(tmp_path / "again.yaml") == load(spec_file)


def test_show_expanded(cgm, build, spec_file):
    code, out, _ = cgm("show", spec_file, "--expanded")
    assert code == 0
    assert out == "domain:\n  shape: [3, 4]\n  bound: inf\n  data: array 9x9\n  few: [0, 1]\n"


def test_list(cgm):
    code, out, _ = cgm("list")
    assert code == 0
    assert [line for line in out.splitlines() if line and line[0] != " "] == [
        "templates",
        "domains",
        "losses",
        "penalties",
        "sets",
        "maps",
        "smoothings",
        "steps",
        "oracles",
        "corrections",
        "duals",
        "methods",
    ]
    assert re.search(r"^  max-cut +The max-cut relaxation\.$", out, re.MULTILINE)


def test_list_family_and_name(cgm):
    assert cgm("list", "maps")[1].splitlines()[0] == "maps"
    out = cgm("list", "box")[1]
    assert "domains\n" in out and "sets\n" in out
    assert "      upper: array, required\n          the upper bound\n" in out
    assert "rounds: whole number > 0, default 100" in cgm("list", "templates", "--verbose")[1]


def test_list_json(cgm):
    code, out, _ = cgm("list", "--json")
    assert code == 0
    found = {(entry["family"], entry["name"]): entry for entry in json.loads(out)}
    assert found["templates", "max-cut"]["parameters"][1]["default"] == 100
    assert ("methods", "hcgm") in found


def test_init(cgm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cgm("init", "max-cut")[0] == 0
    assert load("max-cut.yaml").problem.template == "max-cut"
    code, _, err = cgm("init", "max-cut")
    assert code == 2 and "--force" in err
    (tmp_path / "max-cut.yaml").write_text("changed")
    assert cgm("init", "max-cut", "--force")[0] == 0
    assert load("max-cut.yaml").problem.template == "max-cut"
    assert cgm("init", "max-cut", "--out", "-")[1] == (tmp_path / "max-cut.yaml").read_text()
    assert cgm("init", "max-cut", "--out", "none/yet/x.yaml")[0] == 0
    assert load("none/yet/x.yaml").problem.template == "max-cut"
    code, _, err = cgm("init", "max-cut", "--out", "max-cut.yaml/x.yaml")
    assert code == 2 and "cannot be written" in err


def test_schema(cgm):
    code, out, _ = cgm("schema")
    assert code == 0
    assert json.loads(out)["title"] == "cgm spec"


def test_closed_pipe_is_silent():
    program = "from cgm_cli.cli import main; from tests.spec import stubs\nwith stubs.installed(): main(['schema'])"
    shell = f'"{sys.executable}" -c "$PROGRAM" | head -c 10'
    environment = {**os.environ, "PROGRAM": program}
    done = subprocess.run(["bash", "-c", shell], env=environment, capture_output=True, text=True)
    assert done.stdout == '{\n  "$sche'
    assert done.stderr == ""


def test_help_of_every_command_fits_its_line(cgm):
    assert "..." not in cgm("--help")[1].partition("Commands:")[2]
