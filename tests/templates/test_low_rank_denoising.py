"""Denoising: the objective written out, the optimum by ADMM, and that noise is removed."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.errors import CgmError
from tests.templates import references
from tests.templates.support import solve, spec, template
from tests.templates.test_linear_models import total


def camera(**fields):
    return template("low-rank-denoising", **{"image": "camera", "size": 12, **fields})


def test_the_data():
    built = camera(size=64, noise=0.2, seed=4)
    noise = built.noisy - built.truth
    assert noise.std() == pytest.approx(0.2, rel=0.1)
    assert built.problem.domain.radius == pytest.approx(np.linalg.norm(built.truth, "nuc"))
    np.testing.assert_array_equal(camera(size=64, noise=0.2, seed=4).noisy, built.noisy)
    assert not np.array_equal(camera(size=64, noise=0.2, seed=5).noisy, built.noisy)
    np.testing.assert_array_equal(camera(noise=0.0).noisy, camera().truth)


@pytest.mark.parametrize("variation", ["isotropic", "anisotropic"])
def test_the_objective(variation):
    built = camera(tv=0.3, l1=0.2, variation=variation)
    x = np.random.default_rng(0).standard_normal((12, 12))
    expected = 0.5 * ((x - built.noisy) ** 2).sum() + 0.2 * np.abs(x).sum()
    for i in range(12):
        for j in range(12):
            down = x[i + 1, j] - x[i, j] if i < 11 else 0.0
            right = x[i, j + 1] - x[i, j] if j < 11 else 0.0
            expected += 0.3 * (np.hypot(down, right) if variation == "isotropic" else abs(down) + abs(right))
    assert total(built.problem, x) == pytest.approx(expected)


def test_terms_only_where_there_is_a_factor():
    assert [term.name for term in camera().problem.terms] == ["tv"]
    assert [term.name for term in camera(tv=0.0, l1=0.1).problem.terms] == ["l1"]
    assert camera(tv=0.0).problem.terms == ()


@pytest.mark.parametrize(
    ("fields", "beta0"),
    [
        ({"tv": 0.1, "radius": 3.0}, 1.0),
        ({"tv": 0.05, "l1": 0.02, "variation": "anisotropic", "radius": 4.0}, 1.0),
        ({"tv": 0.0, "l1": 0.05, "radius": 4.0}, 3.0),
    ],
)
def test_the_optimum_is_that_of_another_method(fields, beta0):
    """ADMM ends within 1e-6 of the optimum, relatively; the rate here is O(1/sqrt k)."""
    built = camera(**fields)
    isotropic = fields.get("variation") != "anisotropic"
    expected = references.low_rank_denoising(built, fields["tv"], fields.get("l1", 0.0), isotropic)
    problem = {"template": "low-rank-denoising", "image": "camera", "size": 12, **fields}
    result = solve(problem, beta0=beta0, iterations=500)
    assert expected * (1 - 1e-6) <= result.record.total <= expected * (1 + 1e-3)
    assert result.bound_is == "certified"
    assert result.record.bound <= expected * (1 + 1e-6)


def test_noise_is_removed():
    problem = {"template": "low-rank-denoising", "image": "camera", "size": 32, "tv": 0.05, "radius": 28.0}
    built = template(**{"name" if key == "template" else key: value for key, value in problem.items()})
    noisy_psnr = -10 * np.log10(((built.noisy.clip(0, 1) - built.truth) ** 2).mean())
    result = solve(problem, beta0=20.0, iterations=500)
    assert result.metrics["psnr"] > noisy_psnr + 3.0
    recovered = result.solution["recovered"]
    assert result.metrics["psnr"] == pytest.approx(-10 * np.log10(((recovered - built.truth) ** 2).mean()))
    np.testing.assert_array_equal(recovered, result.solution["x"].clip(0, 1))


@pytest.mark.parametrize("fields", [{"image": "camra"}, {"radius": False}, {"tv": -1.0}, {"variation": "both"}])
def test_fields_that_are_refused(fields):
    with pytest.raises(CgmError):
        spec({"template": "low-rank-denoising", "image": "camera", **fields})
