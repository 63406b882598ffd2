"""The benchmark suite on its small problems; no timings."""

import json
import sys

import numpy as np
import pytest
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.suite import sdp
from benchmarks.suite.methods import first, methods
from benchmarks.suite.peers import PEERS
from benchmarks.suite.problems import NotHere, named, problems
from benchmarks.suite.references import compute, known
from benchmarks.suite.run import Options, run
from benchmarks.suite.store import Store, key
from benchmarks.suite.tables import slope
from benchmarks.suite.watched import watch
from cgm_cli.readers.sdpa import read_sdpa
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

QUICK = [problem.name for problem in problems() if problem.quick]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CGM_BENCHMARKS", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", QUICK)
def test_references_are_found_again(name):
    found, held = compute(named(name)), known()[name]
    assert found.lower <= held.upper + 1e-8 * abs(held.upper)
    assert held.lower <= found.upper + 1e-8 * abs(found.upper)


def test_references_are_intervals():
    assert set(QUICK) <= set(known())
    assert all(entry.lower <= entry.upper and entry.how for entry in known().values())


@pytest.mark.parametrize("name", ["digits-40", "grid-100"])
def test_a_point_is_worth_what_its_run_says(name):
    instance = build(named(name).spec({"iterations": 30, "iterate": "dense"}))
    result = instance.solve()
    objective, infeasibility = sdp.program(instance.template).values(result.solution["x"])
    assert objective == pytest.approx(result.record.objective, rel=1e-9)
    names = ("rows", "diagonal")
    ours = max(v for n, v in result.record.infeasibilities.items() if n in names)
    assert infeasibility >= ours * (1 - 1e-9)


@pytest.mark.parametrize("name", ["digits-40", "grid-100"])
def test_the_constraints_of_the_program_are_those_of_the_point(name):
    program = sdp.program(build(named(name).spec({})).template)
    x = np.random.default_rng(1).standard_normal((program.size, program.size))
    x += x.T
    column, row = np.tril_indices(program.size)
    values = program.constraints @ (np.where(row == column, 1.0, 2.0) * x[row, column])
    wanted = np.append(x.sum(axis=1), np.trace(x)) if program.nonnegative else np.diagonal(x)
    np.testing.assert_allclose(values, wanted, atol=1e-9)


@pytest.mark.parametrize("name", ["digits-40", "grid-100"])
def test_the_sdpa_file_holds_the_program(tmp_path, name):
    program = sdp.program(build(named(name).spec({})).template)
    sdp.write_sdpa(program, tmp_path / "program.dat-s")
    held = read_sdpa(tmp_path / "program.dat-s")
    n, m = program.size, program.sides.size
    x = np.random.default_rng(1).standard_normal((n, n))
    x += x.T
    column, row = np.tril_indices(n)
    pairs = np.where(row == column, 1.0, 2.0) * x[row, column]
    point = np.concatenate([x.reshape(-1), np.zeros(held.starts[-1] - n * n)])
    values = held.matrices @ point
    assert values[0] == pytest.approx(-(program.cost * x).sum())
    np.testing.assert_allclose(values[1 : m + 1], program.constraints @ pairs, atol=1e-9)
    np.testing.assert_array_equal(held.right[:m], program.sides)
    entries = x[np.triu_indices(n, 1)] if program.nonnegative else np.empty(0)
    np.testing.assert_allclose(values[m + 1 :], entries, atol=1e-12)
    # Each entry less a number >= 0 is zero.
    slacks = held.matrices[m + 1 :, n * n :].toarray()
    np.testing.assert_array_equal(slacks, -np.eye(entries.size))
    assert (held.right[m:] == 0).all()


def test_a_solution_file_is_read(tmp_path):
    (tmp_path / "solution").write_text("1.0 2.0 \n1 1 1 1 5.0\n2 1 1 1 1.0\n2 1 1 2 0.25\n2 2 1 1 9.0\n")
    np.testing.assert_array_equal(sdp.read_solution(tmp_path / "solution", 2), [[1.0, 0.25], [0.25, 0.0]])


# LoRADS ends there 1.7e-4 from the optimum, at its default tolerances.
@pytest.mark.parametrize(
    ("peer", "error"), [("SCS", 1e-4), ("Clarabel", 1e-4), ("CSDP", 1e-4), ("DSDP", 1e-4), ("LoRADS", 1e-3)]
)
def test_conic_peers_that_are_here_reach_the_reference(peer, error):
    template, reference = build(named("grid-100").spec({})).template, known()["grid-100"]
    try:
        *_, last = PEERS["max-cut"][peer](template, 60.0)
    except NotHere as missing:
        pytest.skip(str(missing))
    assert reference.error(last.objective) < error
    assert last.infeasibility < 1e-4


def test_the_script_of_the_authors_and_hcgm_at_their_settings_take_the_same_steps():
    spec = named("digits-40").spec({"method": "hcgm", "beta0": 1.0, "scaling": "none", "iterations": 10}).model_dump()
    spec["problem"] |= {"domain": "trace", "weights": {"rows": 2.0, "nonnegative": 1000.0}}
    instance = build(loads(dump(spec | {"bound": {"certify": "never"}})))
    result = instance.solve()
    first = next(PEERS["kmeans"]["authors' script"](instance.template, 60.0))
    objective, infeasibility = sdp.program(instance.template).values(result.solution["x"])
    assert first.setting == "10 iterations"
    assert first.objective == pytest.approx(objective, rel=1e-6)
    assert first.infeasibility == pytest.approx(infeasibility, rel=1e-6)


@pytest.mark.parametrize("name", ["grid-100", "completion-60x40", "logistic-200x20"])
def test_scipy_reaches_the_references(name):
    problem = named(name)
    template, reference = build(problem.spec({})).template, known()[name]
    label = next(peer for peer in PEERS[problem.family] if peer.startswith("SciPy"))
    *_, last = PEERS[problem.family][label](template, 60.0)
    assert reference.error(last.objective) < 1e-4
    assert last.infeasibility < 1e-6


def test_methods_come_from_the_spec():
    assert {"hcgm", "cgal", "fully-corrective"} <= set(methods(named("grid-100")))
    assert "cgal" not in methods(named("logistic-200x20"))


def test_times_to_targets():
    assert first([(1.0, 0.5), (2.0, 0.05), (3.0, 0.5), (4.0, 0.005)]) == [2.0, 4.0, None]


def test_exponent():
    sizes = np.array([10.0, 100.0, 1000.0])
    assert slope(sizes, 3 * sizes**1.5) == pytest.approx(1.5)


def test_a_process_is_stopped_beyond_its_limits():
    command = [sys.executable, "-c", "import time; x = bytearray(3 * 10**8); time.sleep(60)"]
    assert "GB" in watch(command, "", 60.0, 2e8, {}).stopped
    assert "stopped after" in watch(command, "", 1.0, 1e12, {}).stopped


def test_rows_are_made_once(cache):
    options = Options(only=("logistic-200x20",), quick=True, limit=1.0)
    console = Console(file=(cache / "out.txt").open("w"))
    rows = run(options, console)
    assert [row["solver"] for row in rows] == list(methods(named("logistic-200x20")))
    assert all(row["peak"] > row["memory_before"] > 0 and row["bound_is"] == "certified" for row in rows)
    before = (cache / "RESULTS.json").read_text()
    assert run(options, console) == rows
    assert (cache / "RESULTS.json").read_text() == before
    text = (cache / "RESULTS.md").read_text()
    assert "logistic-200x20 | hcgm" in text
    assert "Where the seconds go" in text


def test_rows_depend_on_machine_and_code(tmp_path):
    ours, peers = ({"peer": peer, "problem": "p"} for peer in (None, "SCS"))
    assert key(ours, {}, "a") != key(ours, {}, "b")
    assert key(peers, {}, "a") == key(peers, {}, "b") != key(peers, {"cpu": 1}, "a")
    store = Store(tmp_path / "rows.json")
    store.put("k", {"problem": "p", "solver": "s", "old": True})
    store.put("l", {"problem": "p", "solver": "s"})
    assert json.loads((tmp_path / "rows.json").read_text()) == {"l": {"problem": "p", "solver": "s"}}


def test_unknown_names_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--only", "nothing"])
    assert "nothing" in capsys.readouterr().err
