"""Inpainting: the data it makes, the scores, the optimum against another solver, and images that are none."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.errors import CgmError, DataError, ProblemError
from cgm_cli.spec.load import load, loads, resolved
from cgm_cli.templates.build import build
from tests.templates.references import shrink
from tests.templates.support import PAPER_SPECS, solve, spec, template


def camera(**fields):
    return template("robust-pca", **{"image": "camera", "size": 32, **fields})


@pytest.fixture
def folder(tmp_path):
    """A folder with a smooth 9 x 11 image, image.npy."""
    rows, columns = np.mgrid[0:9, 0:11]
    np.save(tmp_path / "image.npy", 0.5 + 0.4 * np.sin(rows / 3) * np.cos(columns / 4))
    return tmp_path


def from_file(folder, **fields):
    return template("robust-pca", folder, **{"image": {"file": "image.npy"}, **fields})


# The data


def test_radius_true_is_the_nuclear_norm_of_the_clean_image():
    problem = camera(size=[24, 32], radius=True)
    gram = problem.truth @ problem.truth.T
    assert problem.problem.domain.radius == pytest.approx(np.sqrt(np.linalg.eigvalsh(gram).clip(0)).sum(), rel=1e-6)
    assert problem.problem.domain.contains(problem.truth)


@pytest.mark.parametrize(("written", "value"), [("1", 1.0), ("2.5", 2.5), ("true", True)])
def test_a_radius_of_one_is_not_true(written, value):
    read = loads(f"name: x\nproblem: {{template: robust-pca, image: camera, radius: {written}}}")
    for parsed in (read, loads(resolved(read))):
        assert parsed.problem.radius == value
        assert type(parsed.problem.radius) is type(value)


@pytest.mark.parametrize(("size", "shape"), [(None, (512, 512)), (40, (40, 40)), ([16, 24], (16, 24))])
def test_sizes(size, shape):
    problem = camera(size=size)
    assert problem.problem.domain.shape == problem.truth.shape == shape
    assert problem.truth.min() >= 0.0
    assert problem.truth.max() <= 1.0


@pytest.mark.parametrize("missing", [0.0, 0.1, 0.25, 0.9, None])
def test_the_fraction_of_missing_pixels(missing):
    known = camera(missing=missing).known
    assert known.size - known.sum() == round((0.25 if missing is None else missing) * known.size)


def test_missing_pixels_are_anywhere():
    """Each half of the rows, and of the columns, loses its share, within five standard deviations."""
    known = camera(size=128).known
    for half in (known[:64], known[64:], known[:, :64], known[:, 64:]):
        assert half.mean() == pytest.approx(0.75, abs=5 * np.sqrt(0.25 * 0.75 / half.size))


def test_salt_and_pepper_density(folder):
    np.save(folder / "grey.npy", np.full((200, 200), 0.5) + 0.01 * np.eye(200))
    problem = from_file(folder, image={"file": "grey.npy"}, noise=0.1)
    spread = 5 * np.sqrt(0.05 * 0.95 / problem.noisy.size)
    assert (problem.noisy == 0.0).mean() == pytest.approx(0.05, abs=spread)
    assert (problem.noisy == 1.0).mean() == pytest.approx(0.05, abs=spread)
    changed = problem.noisy != problem.truth
    assert set(problem.noisy[changed]) == {0.0, 1.0}


def test_no_noise_and_nothing_but_noise():
    assert np.array_equal(camera(noise=0.0).noisy, camera().truth)
    assert set(camera(noise=1.0).noisy.ravel()) == {0.0, 1.0}


def test_the_seed_draws_the_data_and_nothing_else_does():
    one, again, other = camera(seed=3), camera(seed=3), camera(seed=4)
    assert np.array_equal(one.known, again.known)
    assert np.array_equal(one.noisy, again.noisy)
    assert not np.array_equal(one.known, other.known)
    assert not np.array_equal(one.noisy, other.noisy)
    squares = camera(seed=3, loss="l2")
    assert np.array_equal(one.known, squares.known)
    assert np.array_equal(one.noisy, squares.noisy)
    assert np.array_equal(one.noisy, camera(seed=3, missing=0.6).noisy)


def test_the_losses_at_the_truth_and_the_zero_start():
    absolute, squares = camera(loss="l1"), camera(loss="l2")
    error = (absolute.truth - absolute.noisy)[absolute.known]
    assert absolute.objective(absolute.truth) == pytest.approx(np.abs(error).sum())
    assert squares.objective(squares.truth) == pytest.approx(0.5 * (error**2).sum())
    assert [term.name for term in absolute.problem.terms] == ["fit", "range"]
    assert [term.name for term in squares.problem.terms] == ["range"]
    assert not absolute.problem.first.dense().any()


def test_a_mask_from_a_file(folder):
    mask = np.ones((9, 11), dtype=bool)
    mask[2:5, 3:7] = False
    np.save(folder / "mask.npy", mask)
    Image.fromarray(mask.astype(np.uint8) * 255).save(folder / "mask.png")
    for name in ("mask.npy", "mask.png"):
        problem = from_file(folder, mask={"file": name})
        assert np.array_equal(problem.known, mask)


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (np.full((9, 11), 0.5), DataError, "0 .missing. and 1 .known. only"),
        (np.ones((9, 10)), ProblemError, "the mask is 9 x 10, but the image is 9 x 11"),
        (np.zeros((9, 11)), ProblemError, "every pixel is missing"),
    ],
)
def test_masks_that_are_none(folder, mask, error, message):
    np.save(folder / "mask.npy", mask)
    with pytest.raises(error, match=message) as raised:
        from_file(folder, mask={"file": "mask.npy"})
    assert raised.value.path == ("mask",)


def test_removing_every_pixel_is_refused(folder):
    with pytest.raises(ProblemError, match="every pixel is missing"):
        from_file(folder, missing=0.999)


@pytest.mark.parametrize(
    ("pixels", "error", "message"),
    [
        (np.zeros((9, 9, 5)), DataError, "1 to 4"),
        (np.zeros((0, 9)), DataError, "empty"),
        (np.full((9, 9), 0.5), DataError, "every pixel is 0.5"),
        (np.where(np.eye(9) > 0, np.nan, 0.5), DataError, "not finite"),
        (255 * np.eye(9), DataError, "from 0 to 255"),
        (np.eye(9) - 0.5, DataError, "from -0.5 to 0.5"),
        (np.linspace(0, 1, 9), DataError, "vector of 9"),
        (np.eye(6), ProblemError, "at least 7 pixels"),
    ],
)
def test_images_that_are_none(tmp_path, pixels, error, message):
    np.save(tmp_path / "image.npy", pixels)
    with pytest.raises(error, match=message) as raised:
        from_file(tmp_path)
    assert raised.value.path == ("image",)


def test_a_missing_file_names_it(tmp_path):
    with pytest.raises(DataError, match="no data file `image"):
        from_file(tmp_path)


def test_a_colour_photograph_counts_by_its_luminance(tmp_path):
    colours = np.random.default_rng(0).integers(0, 256, (8, 9, 3), dtype=np.uint8)
    Image.fromarray(colours).save(tmp_path / "photo.png")
    problem = from_file(tmp_path, image={"file": "photo.png"}, grey=True)
    assert problem.truth == pytest.approx(colours @ [0.2125, 0.7154, 0.0721] / 255)


@pytest.mark.parametrize(
    "fields",
    [
        {"image": "camra"},
        {"radius": False},
        {"radius": 0},
        {"missing": 1.0},
        {"missing": -0.1},
        {"noise": 1.5},
        {"size": [8]},
        {"size": 0},
        {"loss": "huber"},
        {"missing": 0.2, "mask": {"file": "mask.png"}},
    ],
)
def test_fields_that_are_refused(fields):
    with pytest.raises(CgmError):
        spec({"template": "robust-pca", "image": "camera", **fields})


# The scores and the arrays


def test_scores_are_those_of_the_clipped_iterate():
    problem = camera()
    x = problem.truth + 0.3 * np.random.default_rng(0).standard_normal(problem.truth.shape)
    scores = problem.metrics(DenseIterate(DenseAtom(x)))
    clipped = x.clip(0, 1)
    assert scores["psnr"] == pytest.approx(peak_signal_noise_ratio(problem.truth, clipped, data_range=1))
    assert scores["psnr"] == pytest.approx(-10 * np.log10(((problem.truth - clipped) ** 2).mean()))
    assert scores["ssim"] == pytest.approx(structural_similarity(problem.truth, clipped, data_range=1))


def test_arrays_of_the_rounding():
    problem = camera()
    x = 2.0 * problem.truth - 0.5
    arrays = problem.round(DenseIterate(DenseAtom(x)), None, np.random.default_rng(0)).arrays
    assert np.array_equal(arrays["recovered"], x.clip(0, 1))
    assert np.array_equal(arrays["truth"], problem.truth)
    assert np.array_equal(arrays["mask"] == 1, problem.known)
    assert np.array_equal(np.isnan(arrays["observed"]), ~problem.known)
    assert np.array_equal(arrays["observed"][problem.known], problem.noisy[problem.known])


def test_the_feasible_point_is_feasible():
    problem = camera(radius=3.0)
    x = problem.feasible(problem.truth)
    assert problem.problem.domain.contains(x)
    assert x.min() >= 0.0
    assert x.max() <= 1.0
    inside = 0.01 * problem.truth
    assert np.array_equal(problem.feasible(inside), inside)
    assert not problem.feasible(np.zeros_like(x)).any()


# The optimum


def optimum(problem, sweeps=1500, penalty=3.0):
    """(objective, X) by ADMM with one copy of X for each of loss, box and ball: shares no code with the solver.

    Boyd et al., "Distributed optimization and statistical learning via ADMM", 2011, section 7.1 (consensus).
    """
    known, target = problem.known, problem.noisy
    x = np.zeros(known.shape)
    copies, duals = np.zeros((3, *x.shape)), np.zeros((3, *x.shape))
    for _ in range(sweeps):
        fit, box, ball = x - duals
        if problem.problem.loss is None:
            step = fit - target
            fitted = target + np.sign(step) * np.maximum(np.abs(step) - 1.0 / penalty, 0.0)
        else:
            fitted = (target + penalty * fit) / (1.0 + penalty)
        copies[0] = np.where(known, fitted, fit)
        copies[1] = box.clip(0.0, 1.0)
        left, values, right = np.linalg.svd(ball, full_matrices=False)
        copies[2] = (left * shrink(values, problem.problem.domain.radius)) @ right
        x = (copies + duals).mean(axis=0)
        duals += copies - x
    assert np.abs(copies - x).max() < 1e-4
    return problem.objective(x), x


@pytest.mark.parametrize(("loss", "iterations"), [("l1", 4000), ("l2", 1000)])
def test_the_optimum_is_that_of_another_solver(loss, iterations):
    fields = {"image": "camera", "size": [10, 12], "loss": loss, "radius": 6.0, "noise": 0.7}
    expected, x = optimum(template("robust-pca", **fields))
    # Both constraints hold the optimum back, so that both are tested.
    assert np.linalg.norm(x, "nuc") == pytest.approx(6.0, rel=1e-4)
    assert x.min() == pytest.approx(0.0, abs=1e-6)
    result = solve({"template": "robust-pca", **fields}, method="hcgm", beta0=1.0, iterations=iterations)
    slack = 1e-4 * expected
    assert result.bound_is == "certified"
    assert result.record.bound <= expected + slack
    assert result.metrics["feasible_objective"] >= expected - slack
    assert result.metrics["feasible_objective"] == pytest.approx(expected, rel=0.01)
    assert result.metrics["feasible_gap"] < 0.02
    assert result.record.infeasibility < 5e-3


def test_the_l1_loss_sees_through_the_noise():
    """The paper's experiment in small: at 64 x 64 the margins are smaller than at its 5 dB and 0.27."""
    fields = {"template": "robust-pca", "image": "camera", "size": 64}
    scores = {loss: solve({**fields, "loss": loss}, beta0=1.0, iterations=200).metrics for loss in ("l1", "l2")}
    assert scores["l1"]["psnr"] > scores["l2"]["psnr"] + 2.0
    assert scores["l1"]["ssim"] > scores["l2"]["ssim"] + 0.1


def test_the_same_seed_gives_the_same_result():
    fields = {"template": "robust-pca", "image": "camera", "size": 16}
    one, again, other = (solve(fields, seed=seed, beta0=1.0, iterations=20) for seed in (5, 5, 6))
    assert np.array_equal(one.solution["x"], again.solution["x"])
    assert not np.array_equal(one.solution["x"], other.solution["x"])


def test_the_paper_specs_differ_in_the_loss_alone():
    absolute, squares = (load(PAPER_SPECS / f"inpainting-{loss}.yaml") for loss in ("l1", "l2"))
    assert absolute.problem.model_copy(update={"loss": "l2"}) == squares.problem
    assert absolute.solver == squares.solver
    assert absolute.seed == squares.seed
    problem = build(absolute).problem
    assert problem.domain.shape == (256, 256)
    assert [term.weight for term in problem.terms] == [1.0, 1.0]
