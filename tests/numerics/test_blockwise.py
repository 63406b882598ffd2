"""Steps to the boundary of the cone, by factorisations and by products."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from cgm_cli.numerics.blockwise import ITERATED, Blocks


@pytest.mark.parametrize("sizes", [(4,), (3, 3, 3, -2), (ITERATED + 10,), (2, ITERATED, ITERATED, -3)])
@pytest.mark.parametrize("outlier", [0.0, 100.0])
def test_a_step_ends_at_the_boundary(sizes, outlier):
    rng = np.random.default_rng(len(sizes))
    blocks = Blocks(sizes)
    move = blocks.symmetric(rng.standard_normal(blocks.entries))
    x = blocks.identity()
    for stack in blocks.stacks:
        if stack.n:
            g = rng.standard_normal((stack.count, stack.n, stack.n)) / np.sqrt(stack.n)
            stack.of(x)[:] = g @ np.swapaxes(g, 1, 2) + np.eye(stack.n)
            stack.of(move)[-1, 0, 0] -= outlier
    wanted = -np.inf
    for stack in blocks.stacks:
        pairs = zip(stack.of(move), stack.of(x), strict=True)
        for d, part in pairs:
            wanted = max(wanted, -scipy.linalg.eigh(d, part)[0][0] if stack.n else -d / part)
    factor = blocks.factor(x)
    assert factor.longest_step(move) == pytest.approx(1.0 / wanted, rel=1e-2)
    assert factor.longest_step(x) == np.inf
