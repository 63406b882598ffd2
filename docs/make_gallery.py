"""docs/gallery.md and its pictures: the experiments of configs/paper, and a few more. `python docs/make_gallery.py`.

Needs the MNIST features in a folder of $CGM_DATA for the first picture (see configs/paper/mnist-kmeans.yaml); without
them the embedded digits take their place.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib

from cgm_cli import load_run, solve
from cgm_cli.errors import DataError
from cgm_cli.reports.curves import Curve, curves
from cgm_cli.reports.draw import draw
from cgm_cli.reports.pictures import Picture, pictures

DOCS = Path(__file__).resolve().parent
CONFIGS = DOCS.parent / "configs"
PICTURES = DOCS / "gallery"
HEAD = """# Gallery

Written by `python docs/make_gallery.py`: every picture is made of what one or two runs saved. The same pictures are on
the page of `cgm report RUN --html page.html`, and in `cgm report RUN --figures folder`.
"""
_COLOURS = ("#0072B2", "#D55E00", "#009E73")
_STYLES = ("-", "--", "-.")


@dataclass(frozen=True)
class Exhibit:
    """A section of the page. specs: name in the legend -> file in configs/ or a spec, with overrides. columns: of the
    trace, one plot each. pictures: titles of those to show, of the first run.
    """

    name: str
    title: str
    text: str
    specs: dict[str, tuple[str | dict, Sequence[str]]]
    pictures: Sequence[str] = ()
    columns: Sequence[str] = ()
    every: bool = False
    linear: Sequence[str] = field(default_factory=tuple)


_DIGITS = {
    "name": "digits",
    "problem": {"template": "kmeans-sdp", "clusters": 10, "points": {"dataset": "digits", "count": 500}},
    "solver": {"iterations": 500},
}
EXHIBITS = [
    Exhibit(
        "clustering",
        "k-means clustering",
        "1000 images of MNIST digits, set up as in the paper: the matrix X as the data comes, and after its rows are "
        "ordered by the clusters found. A block is a cluster. The denoised points X P lie where the clusters are.",
        {
            "hcgm": (
                "paper/mnist-kmeans.yaml",
                ["solver.iterations=500", "log.metrics_every=500", "problem.restarts=10"],
            )
        },
        ("X, the points as they come", "X, ordered by cluster", "the denoised points"),
        ("infeasibility",),
    ),
    Exhibit(
        "inpainting",
        "Inpainting with outliers",
        "A quarter of the pixels is lost, and a tenth of the others has turned black or white. Above the l1-norm as "
        "the loss, below the squared l2-norm, which the noise pulls far off.",
        {
            "l1": ("paper/inpainting-l1.yaml", ["solver.iterations=400", "log.metrics_every=5"]),
            "l2": ("paper/inpainting-l2.yaml", ["solver.iterations=400", "log.metrics_every=5"]),
        },
        ("truth", "input", "recovered", "error"),
        ("metric_psnr", "metric_ssim"),
        every=True,
        linear=("metric_psnr", "metric_ssim"),
    ),
    Exhibit(
        "minimax-ball",
        "Where the classical method fails",
        "The largest of two coordinates over the disc. The smoothing method walks to the solution (the star); the "
        "classical one stays in a triangle that does not hold it. The distance falls as 1 / k^2, or not at all.",
        {
            "hcgm": ("paper/minimax-ball-hcgm.yaml", []),
            "cgm": ("paper/minimax-ball-cgm.yaml", []),
        },
        ("the path",),
        ("metric_distance",),
        every=True,
    ),
    Exhibit(
        "cut",
        "Maximum cut",
        "A random graph of 200 nodes and 2000 edges. Each node is a vector of the relaxation, here in the plane of "
        "largest spread; its colour is the side of the cut that the vectors are rounded to.",
        {
            "hcgm": (
                {
                    "name": "cut",
                    "problem": {"template": "max-cut", "graph": {"nodes": 200, "edges": 2000}},
                    "solver": {"iterations": 1000},
                },
                [],
            )
        },
        ("the cut", "X, the nodes as they come", "X, ordered by side"),
        ("total", "infeasibility"),
        linear=("total",),
    ),
    Exhibit(
        "signal",
        "A sparse signal",
        "The weights of a regression over an l1-ball: few of the ten features of the diabetes data are used.",
        {"hcgm": ("sparse-regression.yaml", [])},
        ("x, the recovered signal",),
        ("gap",),
    ),
    Exhibit(
        "completion",
        "Matrix completion",
        "A matrix of rank 5 from half of its entries.",
        {"hcgm": ("matrix-completion.yaml", [])},
        ("the completed matrix",),
        ("gap", "metric_test_error"),
        linear=("metric_test_error",),
    ),
]


def main() -> None:
    """Run everything, and write the page and its pictures."""
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.4, "svg.hashsalt": "cgm"})
    PICTURES.mkdir(exist_ok=True)
    parts = [HEAD]
    with tempfile.TemporaryDirectory() as folder:
        for exhibit in EXHIBITS:
            parts.append(section(exhibit, Path(folder)))
    (DOCS / "gallery.md").write_text("\n".join(parts), encoding="utf-8")
    size = sum(path.stat().st_size for path in PICTURES.iterdir())
    print(f"{len(list(PICTURES.iterdir()))} pictures, {size / 1e6:.2f} MB")


def section(exhibit: Exhibit, folder: Path) -> str:
    """The text of one exhibit; its pictures are written."""
    runs = {
        name: _solved(spec, overrides, folder / exhibit.name / name)
        for name, (spec, overrides) in exhibit.specs.items()
    }
    shown = [(name, _chosen(exhibit, run)) for name, run in runs.items()]
    rows = shown if exhibit.every else shown[:1]
    _save_pictures(exhibit, rows)
    lines = [f"## {exhibit.title}", "", exhibit.text, ""]
    sources = [spec for spec, _ in exhibit.specs.values() if isinstance(spec, str)]
    if sources:
        lines += ["Spec: " + ", ".join(f"[{spec}](../configs/{spec})" for spec in sources) + ".", ""]
    alt = " ".join(picture.alt for _, found in rows for picture in found).replace("[", "(").replace("]", ")")
    lines += [f"![{alt}](gallery/{exhibit.name}.png)", ""]
    if exhibit.columns:
        _save_curves(exhibit, {name: curves(load_run(run).trace, exhibit.columns) for name, run in runs.items()})
        columns = " and ".join(f"`{column}`" for column in exhibit.columns)
        lines += [f"![{columns} over the iterations](gallery/{exhibit.name}-curves.svg)", ""]
    return "\n".join(lines)


def _solved(spec: str | dict, overrides: Sequence[str], out: Path) -> Path:
    source = CONFIGS / spec if isinstance(spec, str) else spec
    try:
        solve(source, overrides, out=out)
    except DataError:
        out = out.with_name("digits")
        solve(_DIGITS, out=out)
    return out


def _chosen(exhibit: Exhibit, run: Path) -> list[Picture]:
    found = {picture.title: picture for picture in pictures(load_run(run))}
    return [found[title] for title in exhibit.pictures]


def _save_pictures(exhibit: Exhibit, rows: Sequence[tuple[str, list[Picture]]]) -> None:
    import matplotlib.pyplot as plt

    across = len(rows[0][1]) == 1 and len(rows) > 1
    shape = (1, len(rows)) if across else (len(rows), len(rows[0][1]))
    figure, axes = plt.subplots(*shape, figsize=(2.6 * shape[1], 2.8 * shape[0]), squeeze=False, layout="constrained")
    flat = [(name, picture) for name, found in rows for picture in found]
    for (name, picture), each in zip(flat, axes.flat, strict=True):
        draw(picture, each)
        if len(rows) > 1:
            each.set_title(f"{picture.title}, {name}")
    path = PICTURES / f"{exhibit.name}.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    _shrink(path)


def _shrink(path: Path) -> None:
    """256 colours are enough for these."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256)
    small.save(path, optimize=True)


def _save_curves(exhibit: Exhibit, found: dict[str, dict[str, Curve]]) -> None:
    import matplotlib.pyplot as plt

    columns = exhibit.columns
    figure, axes = plt.subplots(1, len(columns), figsize=(3.6 * len(columns), 2.5), squeeze=False, layout="constrained")
    for column, each in zip(columns, axes.flat, strict=True):
        for (name, shown), colour, style in zip(found.items(), _COLOURS, _STYLES, strict=False):
            curve = shown[column]
            each.plot(curve.k, curve.values, style, color=colour, label=name)
            if curve.line is not None and column not in exhibit.linear:
                each.plot(curve.k, curve.fitted(), ":", color=colour, label=f"{name}: k^{curve.line[0]:.2f}")
        each.set(xscale="log", xlabel="iteration k", ylabel=column)
        if column not in exhibit.linear:
            each.set_yscale("log")
        each.legend(frameon=False)
    figure.savefig(PICTURES / f"{exhibit.name}-curves.svg", metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
