"""The zero of a non-decreasing function, against SciPy's and on functions that are hard for either."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from cgm_cli.numerics.roots import EVALUATIONS, increasing_zero


def functions(seed):
    """Non-decreasing on [0, 1]: with kinks, steep, curved, flat at the zero, and with a jump."""
    rng = np.random.default_rng(seed)
    kinks, weights, z = rng.random(9), rng.exponential(size=9) ** 3, rng.random()
    power = 1.0 + 5.0 * rng.exponential()
    shapes = {
        "kinks": lambda x: (weights * np.maximum(x - kinks, 0.0)).sum() + 1e-3 * x,
        "steep": lambda x: (weights * np.tanh(50.0 * (x - kinks))).sum(),
        "curved": lambda x: np.expm1(20.0 * x),
        "flat": lambda x: np.sign(x - z) * abs(x - z) ** power,
        "jump": lambda x: np.sign(x - z),
    }
    return {name: (lambda x, f=f: float(f(x) - f(z))) for name, f in shapes.items()}


@pytest.mark.parametrize("name", ["kinks", "steep", "curved", "flat", "jump"])
@pytest.mark.parametrize("seed", range(20))
def test_the_sign_changes_where_it_says(name, seed):
    function, asked = functions(seed)[name], []

    def watched(x):
        asked.append(x)
        return function(x)

    found = increasing_zero(watched, 0.0, 1.0)
    assert len(asked) < EVALUATIONS
    assert all(0.0 <= x <= 1.0 for x in asked)
    near = 2e-12 + 2e-10 * found
    assert function(max(0.0, found - near)) <= 0.0 <= function(min(1.0, found + near))
    if name in ("kinks", "curved"):
        assert found == pytest.approx(brentq(function, 0.0, 1.0, xtol=1e-12, rtol=1e-10), abs=2 * near)
        assert len(asked) <= 40


def test_ends():
    assert increasing_zero(lambda x: x + 1.0, 0.0, 1.0) == 0.0
    assert increasing_zero(lambda x: x - 2.0, 0.0, 1.0) == 1.0
    assert increasing_zero(lambda x: 0.0, 0.0, 1.0) == 1.0
    assert increasing_zero(lambda x: x - 3.0, 2.0, 7.0) == pytest.approx(3.0, rel=1e-10)
