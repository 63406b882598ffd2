"""Norms of maps in the metric of a domain."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.blocks.domains.box import Box
from cgm_cli.methods.corrections import metrics

ORDER = 20_000


def of_differences(y):
    """A A^T y of all differences of neighbours; its largest eigenvalue is 4, but for 1e-8, and others lie close."""
    return np.diff(np.concatenate([-y[:1], -np.diff(y), y[-1:]]))


@pytest.mark.parametrize(
    ("apply", "largest"),
    [
        (of_differences, 4.0),
        (lambda y: y.mean() * np.ones_like(y), 1.0),
        (lambda y: np.linspace(0.0, 3.0, y.size) * y, 3.0),
        (lambda y: 1e-60 * y, 1e-60),
        (np.zeros_like, 0.0),
    ],
)
def test_norms_of_large_maps_are_no_smaller_and_little_larger(monkeypatch, apply, largest):
    monkeypatch.setattr(metrics, "LARGE", 1000)
    products = []

    def counted(y):
        products.append(y)
        return apply(y)

    found = metrics._largest(counted, ORDER)
    assert (1.0 - 1e-4) * largest <= found <= 1.05 * largest
    assert len(products) <= metrics.PRODUCTS + 1


def test_a_box_loses_no_direction_unless_an_entry_is_fixed():
    direction = np.array([1.0, -2.0, 3.0])
    assert Box(np.zeros(3), np.ones(3)).parallel(direction) is direction
    assert Box(np.zeros(3), np.array([1.0, 0.0, 1.0])).parallel(direction).tolist() == [1.0, 0.0, 3.0]
