"""Optimal power flow: published costs, a network whose dispatch is known, forms against powers, and damaged cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cgm_cli import solve
from cgm_cli.cli import main
from cgm_cli.errors import DataError
from cgm_cli.readers.matpower import read_case
from cgm_cli.templates.power_network import network_of, power_forms
from cgm_cli.templates.power_recovery import cheapest, nearest_feasible, violation
from tests.templates.power_cases import case_text

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize(("case", "cost", "ratio"), [("case9", 5296.69, 2e-3), ("case14", 8081.53, 1e-4)])
def test_published_costs(tmp_path, case, cost, ratio):
    """Of MATPOWER's own solver: the relaxation is tight, and a dispatch of that cost is found. In case9 some lines have
    no resistance, and W need not have rank one (Lavaei and Low).
    """
    problem = {"template": "optimal-power-flow", "case": {"file": str(DATA / f"{case}.m")}}
    answer = solve({"problem": problem, "stop": {"gap": 1e-7}}, out=tmp_path / "run")
    assert answer.status.value == "converged" and answer.bound_is == "certified"
    assert answer.objective == pytest.approx(cost, abs=0.01) and answer.bound == pytest.approx(cost, abs=0.01)
    assert answer.metrics["rank_ratio"] < ratio
    assert answer.metrics["violation"] < 1e-6
    assert answer.metrics["certified_percent"] < 1e-3
    with pytest.raises(SystemExit) as code:
        main(["verify", str(tmp_path / "run")])
    assert not code.value.code


def test_the_file_alone_is_enough(tmp_path, capsys):
    with pytest.raises(SystemExit) as code:
        main(["solve", str(DATA / "case9.m"), "--out", str(tmp_path / "run")])
    assert not code.value.code
    told = capsys.readouterr()
    assert "a power network, a case of MATPOWER" in told.out + told.err


def test_what_a_line_loses_is_paid_for(tmp_path):
    """A generator, a line z and a load P, with V_1 at its largest: |V_2|^2 + conj(z) P = conj(V_1) V_2, whose larger
    root draws the smaller current.
    """
    (tmp_path / "two.m").write_text(case_text(resistance=0.02, reactance=0.1, load=80.0, most=1.05))
    answer = solve(
        {
            "problem": {"template": "optimal-power-flow", "case": {"file": str(tmp_path / "two.m")}},
            "stop": {"gap": 1e-8},
        },
        out=tmp_path / "run",
    )
    load, r, x, source = 0.8, 0.02, 0.1, 1.05
    u = max(np.roots([1.0, 2.0 * r * load - source**2, (r * r + x * x) * load**2]).real)
    assert answer.objective == pytest.approx(20.0 * 100.0 * (load + r * load**2 / u), rel=1e-6)
    assert answer.solution["magnitude"] == pytest.approx([source, np.sqrt(u)], rel=1e-4)


def test_forms_are_the_powers_of_voltages():
    network = network_of(read_case(DATA / "case14.m"))
    rng = np.random.default_rng(0)
    v = rng.standard_normal(network.size) + 1j * rng.standard_normal(network.size)
    real, reactive = power_forms(np.arange(network.size), network.admittance)
    found = [np.vdot(v, a @ v) + 1j * np.vdot(v, b @ v) for a, b in zip(real, reactive, strict=True)]
    assert np.array(found) == pytest.approx(network.injected(v))


def test_line_by_line():
    """The powers of all buses of case9 by the model of a branch, one after the other."""
    case = read_case(DATA / "case9.m")
    network = network_of(case)
    v = np.exp(1j * np.linspace(0.0, 1.0, 9)) * np.linspace(0.9, 1.1, 9)
    given = np.zeros(9, complex)
    for row in case.branch:
        tail, head = int(row[0]) - 1, int(row[1]) - 1
        series = 1.0 / (row[2] + 1j * row[3])
        given[tail] += v[tail] * np.conj(series * (v[tail] - v[head]) + 0.5j * row[4] * v[tail])
        given[head] += v[head] * np.conj(series * (v[head] - v[tail]) + 0.5j * row[4] * v[head])
    assert network.injected(v) == pytest.approx(given)


def test_voltages_are_brought_within_their_limits():
    network = network_of(read_case(DATA / "case14.m"))
    flat = np.full(network.size, 1.0 + 0.0j)
    assert violation(network, flat) > 0.1

    class Never:
        def should_stop(self):
            return False

    assert violation(network, nearest_feasible(network, flat, Never())) < 1e-8


@pytest.mark.parametrize("total", [0.5, 1.0, 1.7, 2.0, 2.9])
def test_generators_of_one_bus_share_at_equal_marginal_cost(total):
    """Against a fine grid: one of quadratic cost, and two of linear."""
    least, most = np.array([0.1, 0.0, 0.2]), np.array([1.0, 1.0, 1.0])
    cost = np.array([[2.0, 0.5, 0.0], [0.0, 1.5, 3.0], [0.0, 3.0, 0.0]])
    powers = cheapest(total, least, most, cost)
    assert powers.sum() == pytest.approx(total) and (powers >= least - 1e-9).all() and (powers <= most + 1e-9).all()
    first, second = np.meshgrid(np.linspace(0.1, 1.0, 901), np.linspace(0.0, 1.0, 1001))
    third = total - first - second
    allowed = (third >= 0.2) & (third <= 1.0)
    values = 2.0 * first**2 + 0.5 * first + 1.5 * second + 3.0 * third + 3.0
    found = (cost[:, 0] * powers**2 + cost[:, 1] * powers + cost[:, 2]).sum()
    assert found <= values[allowed].min() + 1e-9


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mpc.baseMVA = 100;", "", "a case has `mpc.baseMVA`, and there is none"),
        ("mpc.baseMVA = 100;", "mpc.baseMVA = 0;", "has to be positive"),
        ("mpc.version = '2';", "mpc.version = '1';", "format '1'"),
        ("mpc.bus = [", "mpc.bus = {", "no matrix in brackets"),
        ("0.9;\n];", "0.9;\n2 1;\n];", ":9: a row of `mpc.bus` has 2 numbers, and the first has 13"),
        ("0.9;\n];", "zero;\n];", ":8: 'zero' is not a number"),
        ("\n% costs", "\nmpc.branch(:, 3) = mpc.branch(:, 3) / 10;\n", ":15: .* computes something"),
        ("\t2\t0\t0\t2\t20\t0;", "\t1\t0\t0\t2\t20\t0;", "piecewise linear"),
        ("\t2\t0\t0\t2\t20\t0;", "\t2\t0\t0\t3\t-1\t20\t0;", "not convex"),
        ("\t1\t2\t0.02", "\t1\t7\t0.02", "at bus 7, which is not there"),
        ("\t1\t2\t0.02\t0.1", "\t1\t2\t0\t0", "no impedance"),
        ("\t2\t1\t80", "\t1\t1\t80", "two buses have one number"),
    ],
)
def test_damaged_cases(tmp_path, old, new, message):
    text = case_text(resistance=0.02, reactance=0.1, load=80.0, most=1.05)
    assert old in text
    (tmp_path / "case.m").write_text(text.replace(old, new, 1))
    with pytest.raises(DataError, match=message):
        network_of(read_case(tmp_path / "case.m"))


@pytest.mark.parametrize("cost", [(0.0, 20.0, 3.0), (0.1, 20.0, 0.0), (0.0, 0.0, 7.0)])
@pytest.mark.parametrize("limit", [0.0, 60.0])
def test_a_network_that_loses_nothing_costs_what_its_load_does(tmp_path, cost, limit):
    row = "2\t0\t0\t3\t" + "\t".join(map(str, cost))
    (tmp_path / "two.m").write_text(case_text(cost=row, limit=limit))
    problem = {"template": "optimal-power-flow", "case": {"file": str(tmp_path / "two.m")}}
    answer = solve({"problem": problem, "stop": {"gap": 1e-6}}, out=tmp_path / "run")
    assert answer.objective == pytest.approx(np.polyval(cost, 50.0), rel=1e-5)
    assert answer.metrics["recovered_cost"] == pytest.approx(np.polyval(cost, 50.0), rel=1e-5)


def test_a_line_that_cannot_carry_the_load(tmp_path):
    (tmp_path / "two.m").write_text(case_text(limit=40.0))
    problem = {"template": "optimal-power-flow", "case": {"file": str(tmp_path / "two.m")}}
    assert solve({"problem": problem}, out=tmp_path / "run").status.value == "infeasible"
