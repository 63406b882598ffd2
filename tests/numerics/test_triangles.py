"""The separation of triangle inequalities against all of them, written out."""

import numpy as np
import pytest

from cgm_cli.numerics.threads import threads
from cgm_cli.numerics.triangles import worst_at_apices

pytestmark = pytest.mark.usefixtures("either")


@pytest.mark.parametrize("n", [1, 2, 3, 17, 40])
@pytest.mark.parametrize(("sign", "count"), [(1.0, 1), (1.0, 2), (-1.0, 1)])
def test_the_worst_of_all(n, sign, count):
    x = np.random.default_rng(n).standard_normal((n, n))
    x += x.T
    with threads(count):
        values, third = worst_at_apices(x, sign)
    for i in range(n):
        for j in range(n):
            pair = sign * x[i, j] - x[i, i]
            found = [pair + sign * x[i, k] - x[j, k] for k in range(j + 1) if k != i]
            assert values[i, j] == pytest.approx(max([pair, *found]))
            k = third[i, j]
            assert values[i, j] == pytest.approx(pair if k == i else pair + sign * x[i, k] - x[j, k])
