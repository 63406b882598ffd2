"""The figures of docs/paper.md, from the runs of `benchmarks.paper`: the quantities that the paper's figures show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from cgm_cli import load_run
from cgm_cli.reports.draw import COLOURS, draw
from cgm_cli.reports.pictures import pictures

REPORTED = {"k-means++": 0.0971, "the paper": 0.0914}
"""Misclassifications that the paper gives."""

BEFORE = 20
"""The iteration from which curves are drawn: the first ones tell of the start alone."""


def write(runs: Path, out: Path) -> None:
    """The figures whose runs are there."""
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.4, "svg.hashsalt": "cgm"})
    out.mkdir(parents=True, exist_ok=True)
    figures = {
        ("mnist-kmeans",): _clustering,
        ("l1", "l2"): _inpainting,
        ("hcgm", "cgm"): _pathological,
    }
    for names, figure in figures.items():
        folders = [runs / name for name in names]
        if all(folder.exists() for folder in folders):
            figure(folders, out)


def _clustering(folders: list[Path], out: Path) -> None:
    """Figure 1: objective, feasibility gap, misclassification."""
    trace = load_run(folders[0]).trace
    figure, (left, middle, right) = _axes(1, 3, (9.6, 2.7))
    shown = trace["k"] >= BEFORE
    k = trace["k"][shown]
    left.loglog(k, trace["objective"][shown], color=COLOURS[0])
    left.set(ylabel=r"objective $\langle D, X_k \rangle$")
    for column, name, colour, style in (
        ("infeasibility_rows", r"$|X1 - 1|$", COLOURS[0], "-"),
        ("infeasibility_nonnegative", r"dist($X$, $X \geq 0$)", COLOURS[1], "--"),
    ):
        middle.loglog(k, trace[column][shown], style, color=colour, label=name)
    middle.loglog(k, 0.5 / np.sqrt(k), ":", color="black", label=r"slope of $1/\sqrt{k}$")
    middle.set(ylabel="infeasibility, relative")
    error = trace["metric_linked_misclassification"]
    known = np.isfinite(error) & shown
    right.semilogx(trace["k"][known], error[known], color=COLOURS[0], label="here, links below 0.1")
    for (name, value), style in zip(REPORTED.items(), ("--", ":"), strict=True):
        right.axhline(value, linestyle=style, color=COLOURS[1], label=f"{name}: {value}")
    right.set(ylabel="misclassification", ylim=(0.085, 0.2))
    for axes in (middle, right):
        axes.legend(frameon=False, fontsize=8)
    _save(figure, out / "clustering.svg")


def _inpainting(folders: list[Path], out: Path) -> None:
    """Figures 2 and 3: the photograph, and PSNR and SSIM over the iterations, for both losses."""
    figure, axes = _axes(2, 3, (8.4, 5.4))
    found = {picture.title: picture for picture in pictures(load_run(folders[0]))}
    draw(found["truth"], axes[0, 0])
    draw(found["input"], axes[1, 0])
    for place, folder in enumerate(folders):
        run = load_run(folder)
        draw({picture.title: picture for picture in pictures(run)}["recovered"], axes[place, 1])
        axes[place, 1].set_title(f"recovered, {folder.name} loss")
        for row, (metric, name) in enumerate((("metric_psnr", "PSNR (dB)"), ("metric_ssim", "SSIM"))):
            known = np.isfinite(run.trace[metric]) & (run.trace["k"] > 0)
            style = ("-", "--")[place]
            values = run.trace[metric][known]
            axes[row, 2].semilogx(run.trace["k"][known], values, style, color=COLOURS[place], label=folder.name)
            axes[row, 2].set(ylabel=name)
    for row in axes:
        row[2].set(xlabel="iteration k")
        row[2].legend(frameon=False, fontsize=8)
    _save(figure, out / "inpainting.svg", labelled=False)


def _pathological(folders: list[Path], out: Path) -> None:
    """Figures of appendix A3: the paths of both methods, and the objective residual of the first."""
    figure, axes = _axes(1, 3, (9.6, 2.9))
    for folder, name, each in zip(folders, ("smoothing (Algorithm 2)", "classical (Algorithm 1)"), axes, strict=False):
        draw({picture.title: picture for picture in pictures(load_run(folder))}["the path"], each)
        each.set_title(name)
    trace = load_run(folders[0]).trace
    shown = trace["k"] > 0
    k, residual = trace["k"][shown], trace["total"][shown] + np.sqrt(0.5)
    axes[2].loglog(k, residual, color=COLOURS[0], label=r"$g(x_k) - g^\star$")
    axes[2].loglog(k, 1.0 / k**2, ":", color="black", label=r"slope of $1/k^2$")
    axes[2].set(xlabel="iteration k")
    axes[2].legend(frameon=False, fontsize=8)
    _save(figure, out / "pathological.svg", labelled=False)


def _axes(rows: int, columns: int, size: tuple[float, float]) -> Any:
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=size, layout="constrained")


def _save(figure: Any, path: Path, labelled: bool = True) -> None:
    import matplotlib.pyplot as plt

    if labelled:
        for axes in figure.axes:
            axes.set_xlabel("iteration k")
    figure.savefig(path, metadata={"Date": None}, dpi=110)
    plt.close(figure)
