"""Phase retrieval against Clarabel, of signals that are known, of an image, of files, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli import solve
from cgm_cli.cli import main
from cgm_cli.errors import CgmError
from tests.templates.programs import phase_lift
from tests.templates.support import template

NAME = "phase-retrieval"


def solved(folder, tolerance=1e-5, **problem):
    tree = {"problem": {"template": NAME, **problem}, "stop": {"gap": tolerance, "infeasibility": tolerance}}
    return solve(tree, out=folder / "run")


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("count", [2, 6])
def test_against_clarabel(tmp_path, count, noise):
    """Where there are too few masks for X to have rank one, too."""
    problem = {"signal": {"size": 4}, "masks": {"count": count}, "noise": noise}
    answer = solved(tmp_path, **problem)
    best = phase_lift(template(NAME, **problem))
    assert answer.status.value == "converged" and answer.bound_is == "certified"
    assert answer.bound <= best * (1.0 + 1e-6)
    assert answer.objective == pytest.approx(best, rel=1e-4)
    if count == 6 and not noise:
        assert answer.metrics["error"] < 1e-4 and answer.metrics["recovered"] == 1.0


@pytest.mark.parametrize("kind", ["octanary", "phases"])
def test_a_signal_is_found_but_for_its_phase(tmp_path, kind):
    answer = solved(tmp_path, signal={"size": 32}, masks={"count": 8, "kind": kind})
    truth = template(NAME, signal={"size": 32}).truth
    found = answer.solution["signal"]
    assert abs(np.vdot(truth, found)) == pytest.approx(np.vdot(truth, truth).real, rel=1e-4)
    assert np.linalg.norm(found - truth) == pytest.approx(answer.metrics["error"] * np.linalg.norm(truth))
    assert answer.metrics["rank_ratio"] < 1e-6 and answer.metrics["misfit"] < 1e-4
    # X itself, in complex numbers.
    left = answer.solution["left"] * np.sqrt(answer.solution["weights"])
    assert np.linalg.norm(left @ left.conj().T - np.outer(truth, truth.conj())) < 1e-3 * np.linalg.norm(truth) ** 2


def test_an_image_by_discs_of_its_spectrum(tmp_path):
    answer = solved(tmp_path, signal="camera", size=8, masks={"across": 3, "radius": 0.3})
    assert answer.bound_is == "certified" and answer.metrics["error"] < 1e-2
    assert answer.solution["recovered"].shape == answer.solution["truth"].shape == (8, 8)
    with pytest.raises(SystemExit) as code:
        main(["verify", str(tmp_path / "run")])
    assert not code.value.code


def test_intensities_and_masks_of_files(tmp_path):
    rng = np.random.default_rng(5)
    truth = rng.random((3, 4))
    masks = np.exp(2j * np.pi * rng.random((8, 12)))
    seen = np.abs(np.fft.fft2(masks.reshape(8, 3, 4) * truth)) ** 2
    np.save(tmp_path / "masks.npy", masks)
    np.save(tmp_path / "seen.npy", seen.reshape(8, 12))
    fields = {"masks": {"file": str(tmp_path / "masks.npy")}, "intensities": {"file": str(tmp_path / "seen.npy")}}
    answer = solved(tmp_path, shape=[3, 4], **fields)
    # Levels are positive, and so is the sum that the phase is chosen by.
    assert answer.solution["recovered"] == pytest.approx(truth, abs=1e-3)
    assert "error" not in answer.metrics


def test_frequencies_that_no_disc_shows_do_not_count(tmp_path):
    fields = {"signal": "camera", "size": 7, "masks": {"across": 1, "radius": 0.25}}
    built = template(NAME, **fields)
    assert not built.covered.all()
    seen = np.linalg.norm(np.where(built.covered, np.fft.fftn(built.truth, norm="ortho").reshape(-1), 0.0))
    answer = solved(tmp_path, 1e-4, **fields)
    # What is measured is a power spectrum's: the trace is known, and the phases are not.
    assert answer.objective == pytest.approx(seen**2, rel=1e-3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "give a `signal` to be measured, or the `intensities` that were"),
        ({"intensities": [[1, 2]]}, "give these as `masks`"),
        ({"intensities": [[1, 2]], "masks": [[1, 1]], "noise": 0.1}, "leave `signal` and `noise` out"),
        ({"intensities": [[1, 2, 3]], "masks": [[1, 1]]}, "the array is 1 x 3, but that of masks is 1 x 2"),
        ({"intensities": [[1, -2]], "masks": [[1, 1]]}, "none is below 0 without an `error`"),
        ({"intensities": [[0, 0]], "masks": [[1, 1]]}, "the intensities are zero"),
        ({"intensities": [[1, 2]], "masks": [[0, 0]]}, "every mask is zero"),
        (
            {"intensities": [[1, 2]], "masks": [[1, 1]], "shape": [3, 1]},
            "masks have 2 entries, but the signal is 3 x 1",
        ),
        ({"signal": [0, 0]}, "the signal is zero"),
        ({"signal": [1, 2], "masks": {"across": 3}}, "apertures are for images"),
        ({"signal": [1, 2], "masks": [[1, 1, 1]]}, "masks have 3 entries, but the signal is a vector of 2"),
        ({"signal": [1, 2], "shape": [1, 2]}, "a `signal` has its own"),
        ({"signal": [1, 2], "size": 3}, "an image is a matrix of pixels"),
        ({"signal": {"size": 3}, "size": 3}, "`size` is that of an image"),
    ],
)
def test_what_does_not_fit(fields, message):
    with pytest.raises((CgmError, ValueError), match=message):
        template(NAME, **fields)
