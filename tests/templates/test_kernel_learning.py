"""Weights of kernels against Clarabel, and against scikit-learn's support vector machine with each of the kernels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from cgm_cli import solve
from cgm_cli.cli import main
from cgm_cli.errors import CgmError
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build
from tests.templates.programs import kernel_margin
from tests.templates.support import template

KERNELS = [
    {"kind": "linear"},
    {"kind": "polynomial", "degree": 2},
    {"kind": "gaussian", "width": 0.25},
    {"kind": "gaussian", "width": 1.0},
]


def drawn(seed, n=40):
    """Two classes apart in one feature, by its square in another; two more features are noise."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, 4))
    target = (features[:, 0] + features[:, 1] ** 2 + 0.3 * rng.standard_normal(n) > 1.0).astype(float)
    return {"features": features, "target": target}


def margin_of(matrix, signs) -> float:
    """2 / |w| of the hard margin, where |w|^2 = sum alpha."""
    machine = SVC(C=1e12, kernel="precomputed", tol=1e-9).fit(matrix, signs)
    return 2.0 / np.sqrt(np.abs(machine.dual_coef_).sum())


@pytest.mark.parametrize("seed", range(3))
def test_the_margin_is_the_largest_of_all_weights(tmp_path, seed):
    problem = {"template": "kernel-learning", "data": drawn(seed), "kernels": KERNELS, "softness": 0.05}
    answer = solve({"problem": problem, "stop": {"gap": 1e-6}}, out=tmp_path / "run")
    listed = {name: value.tolist() for name, value in problem["data"].items()}
    built = template("kernel-learning", data=listed, kernels=KERNELS, softness=0.05)
    best, signs, n = kernel_margin(built), built.table.target, built.table.samples
    assert answer.status.value == "converged" and answer.bound_is == "certified"
    assert answer.objective <= best * (1.0 + 1e-6) and answer.bound >= best * (1.0 - 1e-6)
    assert answer.objective == pytest.approx(best, rel=1e-5)
    soft = 0.05 * np.eye(n)
    alone = [margin_of(matrix + soft, signs) for matrix in built.matrices]
    weights = answer.solution["weights"]
    assert weights.sum() == pytest.approx(1.0) and (weights >= 0.0).all()
    assert max(alone) <= answer.bound
    mixed = sum(weight * matrix for weight, matrix in zip(weights, built.matrices, strict=True))
    assert margin_of(mixed + soft, signs) == pytest.approx(best, rel=1e-3)
    with pytest.raises(SystemExit) as code:
        main(["verify", str(tmp_path / "run")])
    assert not code.value.code


def test_with_one_kernel_it_is_that_machine():
    """Also on samples that it has not seen."""
    problem = {
        "template": "kernel-learning",
        "data": {name: value.tolist() for name, value in drawn(7, 80).items()},
        "kernels": [{"kind": "gaussian", "width": 1.0}],
        "test_fraction": 0.5,
    }
    instance = build(loads(dump({"problem": problem, "stop": {"gap": 1e-8}})))
    built, result = instance.template, instance.solve()
    signs, (matrix,), (kernel,) = built.table.target, built.matrices, built.kernels
    machine = SVC(C=1e12, kernel="precomputed", tol=1e-9).fit(matrix + 0.1 * np.eye(len(matrix)), signs)
    assert result.record.total == pytest.approx(margin_of(matrix + 0.1 * np.eye(len(matrix)), signs), rel=1e-6)
    others = kernel.between(built.table.test_features, built.table.features)
    wrong = np.mean(machine.predict(others) != built.table.test_target)
    assert result.metrics["test_error"] == pytest.approx(wrong)


def test_kernels_are_what_they_are_called():
    built = template("kernel-learning", data="breast-cancer", kernels=KERNELS, test_fraction=0.9)
    x = built.table.features
    d = x.shape[1]
    for kernel, matrix in zip(built.kernels, built.matrices, strict=True):
        u, v = x[3], x[5]
        by_hand = {
            "linear": u @ v,
            "polynomial 2": (1.0 + u @ v / d) ** 2,
            "gaussian 0.25": np.exp(-8.0 * ((u - v) ** 2).sum() / d),
            "gaussian 1": np.exp(-0.5 * ((u - v) ** 2).sum() / d),
        }[kernel.called]
        assert matrix[3, 5] * kernel.between(x, x).diagonal().mean() == pytest.approx(by_hand)
        assert matrix.diagonal().mean() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kernels": []}, "at least 1 item"),
        ({"kernels": [{"kind": "cosine"}]}, "'linear', 'polynomial' or 'gaussian'"),
        ({"data": {"features": [[1.0], [2.0], [3.0]], "target": [0, 1, 2]}}, "class"),
        ({"data": {"features": [[1.0], [2.0]], "target": [0, 1]}, "test_fraction": 0.5}, "of one class"),
    ],
)
def test_what_does_not_fit(fields, message):
    with pytest.raises((CgmError, ValueError), match=message):
        template("kernel-learning", **{"data": "breast-cancer", "kernels": KERNELS, **fields})
