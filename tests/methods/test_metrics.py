"""Norms of maps in the metric of a domain."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.corrections import metrics
from cgm_cli.methods.corrections.metrics import PrimalMetric

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


DOMAINS = [PSDTrace(4, 2.0, True), PSDTrace(4, 2.0, False), Simplex((4, 4)), Box(np.zeros(4), np.ones(4))]


@pytest.mark.parametrize("domain", DOMAINS)
def test_sparse_rows_make_the_gram_matrix_that_dense_ones_do(domain):
    """Off the diagonal alone, where a fixed trace takes nothing off them, and on it: by the formula, A C A^T."""
    rng, size = np.random.default_rng(0), math.prod(domain.shape)
    for places in ([1, 2, 3], [0, 1, 2]):
        rows = np.zeros((3, size))
        rows[np.arange(3), places] = rng.standard_normal(3)
        rows[2, places[1]] = 0.5
        terms = (Term("rows", MatrixMap(sp.csr_array(rows), domain.shape), Equals((3,), np.ones(3))),)
        metric = PrimalMetric(CompositeProblem(domain, terms=terms))
        times = np.array([metric.times(unit.reshape(domain.shape)).reshape(-1) for unit in np.eye(size)])
        assert metric.gram(terms[0].map) == pytest.approx(rows @ times.T @ rows.T, abs=1e-12)
