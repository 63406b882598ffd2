"""Images of one's own: colours, transparency, depth; without a clean one, and written as they were given."""

from __future__ import annotations

import struct
import zlib

import cvxpy
import numpy as np
import pytest
import tifffile
from PIL import Image

from cgm_cli import load_run, solve
from cgm_cli.blocks.maps.differences import Differences
from cgm_cli.errors import CgmError
from cgm_cli.readers.images import read_picture
from cgm_cli.reports.images import lost
from tests.templates.support import template
from tests.templates.test_linear_models import total

RNG = np.random.default_rng(0)
FORMS = {
    "L": RNG.integers(0, 256, (8, 9), np.uint8),
    "LA": RNG.integers(0, 256, (8, 9, 2), np.uint8),
    "RGB": RNG.integers(0, 256, (8, 9, 3), np.uint8),
    "RGBA": RNG.integers(0, 256, (8, 9, 4), np.uint8),
    "I;16": RNG.integers(0, 65536, (8, 9), np.uint16),
}


@pytest.fixture(params=FORMS)
def photo(request, tmp_path):
    path = tmp_path / "photo.png"
    Image.fromarray(FORMS[request.param]).save(path)
    return path


@pytest.mark.parametrize("name", ["low-rank-denoising", "robust-pca"])
def test_an_image_is_written_as_it_was_given(photo, cgm, tmp_path, name):
    """Nothing is missing and nothing penalised, so the optimum is what was observed, to the last bit."""
    fields = {"tv": 0.0} if name == "low-rank-denoising" else {"loss": "l2"}
    problem = {"template": name, "observed": {"file": str(photo)}, "radius": 1000.0, **fields}
    answer = solve({"problem": problem, "stop": {"gap": 1e-12, "gap_absolute": 1e-14}}, out=tmp_path / "run")
    assert "psnr" not in answer.metrics
    assert ("channels are solved together" in answer.message) == (
        np.asarray(Image.open(photo)).shape[2:] in [(3,), (4,)]
    )
    code, _, err = cgm("export", tmp_path / "run", "--solution", tmp_path / "out.png")
    assert code == 0 and "the recovered image, 9 x 8 pixels" in err
    given, written = Image.open(photo), Image.open(tmp_path / "out.png")
    assert (given.mode, given.size) == (written.mode, written.size)
    np.testing.assert_array_equal(np.asarray(written), np.asarray(given))
    assert cgm("report", tmp_path / "run", "--html", tmp_path / "r.html")[0] == 0


def test_the_objective_in_colours(tmp_path):
    """Total variation of colours, pixel by pixel: the 2-norm of the differences of all three channels."""
    Image.fromarray(FORMS["RGB"]).save(tmp_path / "photo.png")
    fields = {"observed": {"file": str(tmp_path / "photo.png")}, "radius": 50.0, "tv": 0.3}
    built = template("low-rank-denoising", **fields)
    x = np.random.default_rng(1).standard_normal((8, 9, 3))
    down, right = np.zeros(x.shape), np.zeros(x.shape)
    down[:-1], right[:, :-1] = np.diff(x, axis=0), np.diff(x, axis=1)
    lengths = np.sqrt((down**2 + right**2).sum(axis=2))
    expected = 0.5 * ((x - FORMS["RGB"] / 255.0) ** 2).sum() + 0.3 * lengths.sum()
    assert total(built.problem, x.reshape(8, 27)) == pytest.approx(expected)


def test_differences_of_channels_have_their_norm():
    differences = Differences((4, 9), 3)
    matrix = np.stack([differences.forward(row.reshape(4, 9)).ravel() for row in np.eye(36)], axis=1)
    assert np.linalg.norm(matrix, 2) == pytest.approx(differences.norm)
    back = np.stack([differences.adjoint(row.reshape(2, 4, 9)).dense().ravel() for row in np.eye(72)], axis=1)
    np.testing.assert_array_equal(back, matrix.T)


def test_inpainting_of_ones_own_image(tmp_path, cgm):
    """A smooth image is repaired better than by what is known around each pixel alone, and verified."""
    waves = np.sin(np.arange(16)[:, None] / 3.0 + np.arange(18) / 5.0)[..., None] * [0.3, 0.2, 0.4] + 0.5
    Image.fromarray((255 * waves).astype(np.uint8)).save(tmp_path / "photo.png")
    mask = np.random.default_rng(0).random((16, 18)) > 0.2
    np.save(tmp_path / "mask.npy", mask)
    files = {"observed": {"file": str(tmp_path / "photo.png")}, "mask": {"file": str(tmp_path / "mask.npy")}}
    answer = solve({"problem": {"template": "robust-pca", **files}}, out=tmp_path / "run")
    assert np.isnan(answer.solution["observed"].reshape(16, 18, 3)[~mask]).all()
    error = np.abs(answer.solution["recovered"].reshape(waves.shape) - waves)[~mask]
    assert error.mean() < 0.05
    assert cgm("verify", tmp_path / "run")[0] == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"template": "low-rank-denoising", "tv": 0.1},
        {"template": "robust-pca", "missing": 0.2, "loss": "l2"},
        {"template": "robust-pca", "missing": 0.2, "tv": 0.1, "variation": "anisotropic"},
    ],
)
def test_channels_each_by_itself_are_three_images(tmp_path, cgm, fields):
    """The optimum is the sum of the channels'; where that is at one image alone, it is put together of theirs."""
    waves = np.sin(np.arange(8)[:, None] / 3.0 + np.arange(9) / 5.0)[..., None] * [0.3, 0.2, 0.4] + 0.5
    stop = {"gap": 1e-6, "infeasibility": 1e-6}
    problem = {"observed": waves, "channels": "each", **fields}
    whole = solve({"problem": problem, "stop": stop}, out=tmp_path / "each")
    apart = [
        solve({"problem": {**problem, "observed": waves[..., k].copy()}, "stop": stop}, out=tmp_path / str(k))
        for k in range(3)
    ]
    assert "3 channels are solved each by itself" in whole.message
    if fields["template"] == "robust-pca":
        feasible = [answer.metrics["feasible_objective"] for answer in (whole, *apart)]
        assert whole.bound <= feasible[0] == pytest.approx(sum(feasible[1:]), rel=1e-4, abs=1e-5)
    assert whole.objective == pytest.approx(sum(answer.objective for answer in apart), rel=1e-5, abs=1e-6)
    if fields["template"] == "low-rank-denoising":
        planes = np.stack([answer.solution["recovered"] for answer in apart], axis=2)
        np.testing.assert_allclose(whole.solution["recovered"].reshape(8, 9, 3), planes, atol=1e-2)
    assert cgm("export", tmp_path / "each", "--solution", tmp_path / "out.png")[0] == 0
    assert np.asarray(Image.open(tmp_path / "out.png")).shape == (8, 9, 3)
    assert cgm("verify", tmp_path / "each")[0] == 0


@pytest.mark.parametrize("variation", ["isotropic", "anisotropic"])
def test_inpainting_by_total_variation_is_that_of_clarabel(tmp_path, cgm, variation):
    """The ball is too large to matter."""
    seen = FORMS["L"] / 255.0
    mask = np.random.default_rng(0).random(seen.shape) > 0.3
    fields = {"observed": seen, "mask": mask.astype(float), "tv": 0.2, "variation": variation, "radius": 100.0}
    spec = {"problem": {"template": "robust-pca", **fields}, "stop": {"gap": 1e-5, "infeasibility": 1e-6}}
    answer = solve(spec, out=tmp_path / "run")
    x = cvxpy.Variable(seen.shape)
    down = cvxpy.vstack([x[1:] - x[:-1], np.zeros((1, 9))])
    right = cvxpy.hstack([x[:, 1:] - x[:, :-1], np.zeros((8, 1))])
    both = cvxpy.vstack([cvxpy.vec(down, order="C"), cvxpy.vec(right, order="C")])
    lengths = cvxpy.norm(both, 2 if variation == "isotropic" else 1, axis=0)
    fit = cvxpy.sum(cvxpy.abs(cvxpy.multiply(mask, x - seen)))
    best = cvxpy.Problem(cvxpy.Minimize(fit + 0.2 * cvxpy.sum(lengths)), [x >= 0, x <= 1]).solve(solver="CLARABEL")
    assert answer.objective == pytest.approx(best, rel=1e-4)
    assert answer.bound <= best * (1 + 1e-7) and best <= answer.metrics["feasible_objective"] * (1 + 1e-7)
    assert cgm("verify", tmp_path / "run")[0] == 0


def test_a_reference_is_measured_against(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.fromarray(FORMS["RGB"]).save(tmp_path / "photo.png")
    file = {"file": str(tmp_path / "photo.png")}
    for given, known in (({"observed": file}, False), ({"image": file, "observed": file}, True)):
        run = solve({"problem": {"template": "robust-pca", **given}}).run
        assert run is not None
        assert ({"metric_psnr", "metric_ssim"} <= load_run(run).trace.keys()) == known


@pytest.mark.parametrize("name", ["low-rank-denoising", "robust-pca"])
def test_what_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match="give `observed`"):
        template(name)
    for mode in ("L", "RGB"):
        Image.fromarray(FORMS[mode]).save(tmp_path / f"{mode}.png")
    with pytest.raises(CgmError, match="it has 8 x 9 pixels of 3 channels, but the clean image 8 x 9 pixels of 1"):
        template(name, image={"file": str(tmp_path / "L.png")}, observed={"file": str(tmp_path / "RGB.png")})


def test_a_palette_with_a_transparent_colour(tmp_path):
    image = Image.fromarray(FORMS["L"] // 64, "P")
    image.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255])
    image.save(tmp_path / "p.png", transparency=0)
    found = read_picture(tmp_path / "p.png", "p.png")
    assert found.levels.shape == (8, 9, 3)
    np.testing.assert_array_equal(found.alpha, FORMS["L"] // 64 > 0)


WIDE = RNG.integers(0, 65536, (8, 9, 4), np.uint16)


def identity(observed):
    """A spec whose optimum is what was observed."""
    return {
        "problem": {"template": "low-rank-denoising", "observed": observed, "radius": 1000.0, "tv": 0.0},
        "stop": {"gap": 1e-12, "gap_absolute": 1e-14},
    }


@pytest.mark.parametrize("bands", [3, 4])
@pytest.mark.parametrize("planes", ["contig", "separate"])
def test_colours_of_16_bits_are_those_of_tiff(tmp_path, cgm, bands, planes):
    kinds = {"photometric": "rgb", "extrasamples": ["unassalpha"] if bands == 4 else []}
    given = WIDE[..., :bands]
    stored = given if planes == "contig" else np.moveaxis(given, 2, 0)
    tifffile.imwrite(tmp_path / "photo.tif", stored, planarconfig=planes, **kinds)
    answer = solve(identity({"file": str(tmp_path / "photo.tif")}), out=tmp_path / "run")
    assert "16 bits" not in answer.message
    assert cgm("export", tmp_path / "run", "--solution", tmp_path / "out.tif")[0] == 0
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "out.tif"), given)
    assert cgm("export", tmp_path / "run", "--solution", tmp_path / "out.png")[0] == 0
    assert np.asarray(Image.open(tmp_path / "out.png")).shape == (8, 9, bands)


def test_colours_of_16_bits_in_a_png_are_said_to_be_read_at_8(tmp_path):
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in WIDE[..., :3])
    parts = (b"IHDR", struct.pack(">IIBBBBB", 9, 8, 16, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    png = b"\x89PNG\r\n\x1a\n"
    for kind, data in parts:
        png += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    (tmp_path / "photo.png").write_bytes(png)
    found = read_picture(tmp_path / "photo.png", "photo.png")
    assert found.remark == (
        "photo.png: its colours have 16 bits, and were read at 8: only those of TIFF are read as they are."
    )
    np.testing.assert_allclose(found.levels, WIDE[..., :3] / 65535, atol=1 / 255)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, float])
def test_an_array_of_three_dimensions_is_an_image(tmp_path, cgm, dtype):
    given = FORMS["RGB"] / 255 if dtype is float else (FORMS["RGB"].astype(dtype) * (np.iinfo(dtype).max // 255))
    answer = solve(identity(given), out=tmp_path / "run")
    assert "3 channels are solved together" in answer.message
    np.testing.assert_allclose(answer.solution["recovered"].reshape(8, 9, 3), FORMS["RGB"] / 255, atol=1e-6)
    assert cgm("export", tmp_path / "run", "--solution", tmp_path / "out.png")[0] == 0
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "out.png")), FORMS["RGB"])
    assert cgm("verify", tmp_path / "run")[0] == 0
    with pytest.raises(CgmError, match="has 3 dimensions"):
        solve({"problem": {"template": "kmeans-sdp", "clusters": 2, "points": given}})


@pytest.mark.parametrize(
    ("channels", "bits", "opaque", "suffix", "said"),
    [
        (3, 8, False, ".jpg", "its transparency is left away, for .jpg"),
        (1, 16, False, ".bmp", "its transparency is left away and its levels of 16 bits become ones of 8, for .bmp"),
        (1, 16, False, ".png", "its levels of 16 bits become ones of 8, for .png"),
        (3, 16, True, ".png", "its levels of 16 bits become ones of 8, for .png"),
        (1, 16, True, ".png", ""),
        (3, 16, False, ".tif", ""),
        (3, 8, False, ".png", ""),
        (3, 8, True, ".jpg", ""),
    ],
)
def test_what_is_lost_is_told(channels, bits, opaque, suffix, said):
    alpha = None if opaque else np.full((4, 4), 0.5)
    assert lost(channels, bits, alpha, suffix)[2:].startswith(said)
    assert bool(lost(channels, bits, alpha, suffix)) == bool(said)


@pytest.mark.parametrize("suffix", [".jpg", ".bmp", ".webp", ".gif"])
def test_other_formats_are_read_and_written(tmp_path, cgm, suffix):
    """All but BMP lose some of an image."""
    waves = np.sin(np.arange(16)[:, None] / 3.0 + np.arange(18) / 5.0)[..., None] * [0.3, 0.2, 0.4] + 0.5
    given = Image.fromarray((255 * waves).astype(np.uint8))
    given.save(tmp_path / f"photo{suffix}")
    run = solve(identity({"file": str(tmp_path / f"photo{suffix}")}), out=tmp_path / "run").run
    assert run is not None
    written = tmp_path / f"out{'.png' if suffix == '.gif' else suffix}"
    assert cgm("export", run, "--solution", written)[0] == 0
    error = np.asarray(Image.open(written).convert("RGB")).astype(float) - np.asarray(given)
    assert np.abs(error).max() <= (0 if suffix == ".bmp" else 40)
