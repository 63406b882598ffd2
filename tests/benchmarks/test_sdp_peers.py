"""What the peers of benchmarks/sdplib.py print, as it is read; and the peers that are here, on one small program."""

import math

import pytest

from benchmarks.suite.sdp_peers import PEERS, read_csdp, read_lorads_program, read_sdpa_program

# Maximum cut of a cycle of 5 nodes, less a number that is 1: max <L / 4, Y> - z subject to diag(Y) = 1, z = 1.
PROGRAM = """6
2
5 -1
1.0 1.0 1.0 1.0 1.0 1.0
"""
PROGRAM += "".join(f"0 1 {i} {i} 0.5\n" for i in range(1, 6))
PROGRAM += "".join(f"0 1 {min(i, i % 5 + 1)} {max(i, i % 5 + 1)} -0.25\n" for i in range(1, 6))
PROGRAM += "0 2 1 1 -1.0\n"
PROGRAM += "".join(f"{i} 1 {i} {i} 1.0\n" for i in range(1, 6))
PROGRAM += "6 2 1 1 1.0\n"
OPTIMUM = 2.5 * (1.0 + math.cos(math.pi / 5)) - 1.0

CSDP = """Iter: 12 Ap: 9.59e-01 Pobj:  3.5225425e+00 Ad: 9.60e-01 Dobj:  3.5225428e+00
Success: SDP solved
Primal objective value: 3.5225425e+00
Dual objective value: 3.5225428e+00
Relative primal infeasibility: 9.19e-13
Relative dual infeasibility: 1.49e-10
DIMACS error measures: 9.91e-13 0.00e+00 3.92e-10 0.00e+00 4.34e-10 5.16e-10
"""

SDPA = """phase.value  = pdOPT
   Iteration = 17
          mu = +4.7617448403758367e-09
relative gap = +1.4482590018741024e-08
objValPrimal = +3.5225700000000000e+00
objValDual   = +3.5225100000000000e+00
p.feas.error = +1.0658141036401503e-14
d.feas.error = +2.0000000000000000e-09
total time   = 0.096518
"""

LORADS = """ADMM Iter:0 pObj:-3.50000e+00 pInfea(1):4.87627e-03 pInfea(Inf):9.75254e-03 pdGap:1.31745e-02
End Program due to reaching `Official terminate criteria`:
-----------------------------------------------------------------------
Objective function Value are:
\t 1.Primal Objective:            : -3.522000e+00
\t 2.Dual Objective:              : -3.523000e+00
Dimacs Error are:
\t 1.Constraint Violation(1)      : 5.000000e-05
\t 2.Dual Infeasibility(1)        : 1.428525e-03
\t 5.Constraint Violation(Inf)    : 6.250000e-05
-----------------------------------------------------------------------
initial solving: 0.486582
all_time - all_dual_infea: 0.486602
all_dual_infea: 0.010607
all_time: 0.497209
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program.dat-s"
    file.write_text(PROGRAM)
    return file


def test_what_csdp_prints(program):
    found = read_csdp(program, CSDP, 0)
    assert (found.objective, found.infeasible, found.note) == (3.5225425, 9.19e-13, "")
    found = read_csdp(program, "Declaring primal infeasibility.\n", 1)
    assert math.isnan(found.objective)
    assert found.note == "infeasible"
    assert read_csdp(program, "", 5).note == "failed (5)"


def test_what_sdpa_prints(program):
    found = read_sdpa_program(program, SDPA, 0)
    assert (found.objective, found.infeasible, found.note) == (3.52251, 1e-9, "")
    for phase, note in [("pUNBD", "infeasible"), ("dUNBD", "unbounded"), ("pdFEAS", ""), ("noINFO", "noINFO")]:
        assert read_sdpa_program(program, SDPA.replace("pdOPT", phase), 0).note == note
    assert read_sdpa_program(program, "no memory", 1).note == "failed (1)"


def test_what_lorads_prints(program):
    found = read_lorads_program(program, LORADS, 0)
    assert found.objective == 3.522
    assert found.infeasible == pytest.approx(5e-5 * 7.0 / (1.0 + math.sqrt(6.0)))
    assert read_lorads_program(program, "Line 160: failed\n", 0).note == "failed (0)"


@pytest.mark.parametrize("name", list(PEERS))
def test_peers_that_are_here_find_the_optimum(program, name):
    found = PEERS[name](program, 60.0)
    if found.note == "not here":
        pytest.skip(f"{name} is not here")
    assert found.note == ""
    assert found.is_near(OPTIMUM)


def test_a_peer_that_is_missing_or_takes_too_long_says_so(program, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert PEERS["SDPA"](program, 60.0).note == "not here"
    slow = tmp_path / "sdpa"
    slow.write_text("#!/bin/sh\nexec /bin/sleep 20\n")
    slow.chmod(0o755)
    found = PEERS["SDPA"](program, 0.2)
    assert (found.seconds, found.note) == (0.2, "time")
