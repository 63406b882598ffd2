"""The peers of `benchmarks.rivals` find what they should; no timings."""

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.rival_peers import least, sketchy_cut
from benchmarks.rivals import TARGETS, Reached, first
from tests.methods.problems import cycle


def test_the_sketched_method_comes_to_the_optimum_of_an_odd_cycle():
    problem, optimum = cycle(9)
    cost = sp.csr_array(problem.loss.cost.dense())
    looks = []
    for look in sketchy_cut(cost, 60.0):
        looks.append(look)
        if look.error <= 1e-2 or look.calls > 2000:
            break
    assert looks[-1].error <= 1e-2
    assert -looks[-1].objective == pytest.approx(optimum, rel=2e-2)
    assert -looks[-1].bound == pytest.approx(optimum, rel=2e-2)


def test_lanczos_finds_the_least_eigenvalue():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((12, 12))
    matrix += matrix.T
    value, vector = least(sp.csr_array(matrix), 12, rng)
    assert value == pytest.approx(np.linalg.eigvalsh(matrix)[0])
    assert vector @ matrix @ vector == pytest.approx(value)


def test_a_target_counts_from_when_it_is_met_for_good():
    slow, quick = Reached(), Reached()
    for calls, error in enumerate([0.05, 0.5, 0.05, float("nan")], 1):
        slow.note(error, calls, 10.0 * calls)
    quick.note(0.05, 0, 1.0)
    assert slow.at == {TARGETS[0]: (3, 30.0)} and slow.cells() == ["3 / 30 s", "", ""]
    assert (
        first({"slow": slow, "quick": quick})
        == "First: to 0.1 quick (slow by oracle calls); to 0.01 none; to 0.001 none."
    )
