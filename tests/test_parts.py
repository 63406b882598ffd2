"""Optional parts: a sentence with the command that installs one, where it is missing, before anything is computed."""

import sys

import numpy as np
import pytest

from cgm_cli.cli import main
from cgm_cli.errors import MissingPart, part
from cgm_cli.reports.images import png


def cgm(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


@pytest.mark.parametrize(
    ("module", "line", "told"),
    [
        (
            "skimage.metrics",
            "solve camera.yaml",
            ("scikit-image", "images"),
        ),
        (
            "matplotlib",
            "report runs --figures f",
            ("matplotlib", "reports"),
        ),
        (
            "jinja2",
            "report runs --html page.html",
            ("jinja2", "reports"),
        ),
        (
            "PIL",
            "check photograph.yaml",
            ("pillow", "images"),
        ),
        (
            "distributed",
            "sweep sweep.yaml --executor dask",
            ("distributed", "cluster"),
        ),
    ],
)
def test_a_missing_part_is_named(tmp_path, monkeypatch, capsys, module, line, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep.yaml").write_text("base: minimax-ball.yaml\nsweep: {grid: {seed: [0, 1]}}\n")
    (tmp_path / "photograph.png").write_bytes(png(np.eye(8)))
    (tmp_path / "photograph.yaml").write_text("problem: {template: robust-pca, observed: {file: photograph.png}}\n")
    (tmp_path / "camera.yaml").write_text("problem: {template: low-rank-denoising, image: camera, size: 32}\n")
    assert cgm("init", "minimax-ball") == 0
    assert cgm("solve", "minimax-ball.yaml", "-q") == 0
    capsys.readouterr()
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "cgm_cli.reports.html", raising=False)  # which imports its part as a whole
    assert cgm(*line.split()) == 2
    package, extra = told
    said = f"needs {package}, which is not installed: pip install 'cgm[{extra}]'"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("template", ["low-rank-denoising", "robust-pca"])
def test_an_image_to_begin_with_needs_none(tmp_path, monkeypatch, template):
    monkeypatch.chdir(tmp_path)
    for module in ("PIL", "skimage", "skimage.metrics", "tifffile"):
        monkeypatch.setitem(sys.modules, module, None)
    assert cgm("init", template) == 0
    assert cgm("solve", f"{template}.yaml", "-q") == 0


def test_other_errors_are_left_alone():
    with pytest.raises(ZeroDivisionError), part("images", "a picture"):
        _ = 1 / 0
    with pytest.raises(MissingPart, match="a picture needs nowhere_at_all"), part("images", "a picture"):
        import nowhere_at_all  # noqa: F401
