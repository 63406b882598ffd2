"""Partitions, all of them."""

import numpy as np


def partitions(n, most):
    """The labels of every partition into so many communities at most, each once."""
    if n == 0:
        yield np.zeros(0, dtype=int)
        return
    for others in partitions(n - 1, most):
        for label in range(min(others.max(initial=-1) + 2, most)):
            yield np.append(others, label)
