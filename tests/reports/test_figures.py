"""Curves, pictures, and figures for a paper."""

from __future__ import annotations

from pathlib import Path as FilePath

import numpy as np
import pytest
from matplotlib.figure import Figure

from cgm_cli.methods.theory import fitted_slope
from cgm_cli.readers.entries import packed
from cgm_cli.reports import figures
from cgm_cli.reports.collect import collect
from cgm_cli.reports.curves import column_names, curves, logarithmic, quantities, seconds_to, thinned, with_accuracy
from cgm_cli.reports.draw import draw
from cgm_cli.reports.figures import write_figures
from cgm_cli.reports.means import means
from cgm_cli.reports.pictures import Image, Path, Points, Signal, pictures, plain
from cgm_cli.spec.metrics import Metric
from tests.reports.support import make_run, make_sweep, spec


def test_of_a_sweep_over_one_number_the_metrics_are_drawn_against_it(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "quantities", lambda *_: [])
    monkeypatch.setattr(figures, "pictures", lambda run: [])
    for number, (beta, seed) in enumerate([(1.0, 0), (1.0, 1), (2.0, 0), (3.0, 0), (3.0, 1)]):
        made = spec(beta0=beta) | {"seed": seed}
        make_run(tmp_path / "runs" / str(number), made, metrics={"psnr": 10.0 * beta + seed}, iterations=5)
    entries = collect([tmp_path / "runs"]).entries
    (found,) = means(entries)
    assert (found.metric, found.parameter, found.name) == ("metric_psnr", "solver.beta0", "psnr-by-beta0")
    assert found.at.tolist() == [1.0, 2.0, 3.0] and found.mean.tolist() == [10.5, 20.0, 30.5]
    assert found.least.tolist() == [10.0, 20.0, 30.0] and found.most.tolist() == [11.0, 20.0, 31.0]
    written = write_figures(entries, tmp_path / "figures", ["svg"])
    assert tmp_path / "figures" / "psnr-by-beta0.svg" in written
    make_run(tmp_path / "runs" / "other", spec(beta0=1.0, step="line-search"), iterations=5)
    assert means(collect([tmp_path / "runs"]).entries) == []


@pytest.mark.parametrize(("count", "points"), [(0, 5), (1, 5), (5, 5), (1000, 300), (10**6, 300), (10**6, 7)])
def test_thinning_keeps_the_ends(count, points):
    rows = thinned(count, points)
    assert rows.size == min(count, points) or 0 < rows.size <= points
    assert (np.diff(rows) > 0).all()
    if count:
        assert (rows[0], rows[-1]) == (0, count - 1)


def test_accuracy_is_the_larger_of_gap_and_infeasibility():
    trace = {"k": np.arange(4), "seconds": 0.5 * np.arange(4)}
    trace |= {"gap": np.array([np.nan, 0.5, 1e-3, 1e-5]), "infeasibility": np.array([1.0, 1e-3, 5e-3, 1e-4])}
    assert with_accuracy(trace)["accuracy"].tolist()[1:] == [0.5, 5e-3, 1e-4]
    assert seconds_to(trace, [1e-2, 1e-4]) == [1.0, 1.5] and np.isnan(seconds_to(trace, [1e-6])[0])
    free = trace | {"infeasibility": np.zeros(4)}
    assert "accuracy" not in with_accuracy(free), "it is the gap"
    assert seconds_to(free, [1e-4]) == [1.5]


@pytest.mark.parametrize(
    "values, expected",
    [
        ([0.1, 1, 10], True),
        ([1, 2, 4, 8, 16], True),
        ([1, 1000], True),
        ([1, 2, 3, 4], False),
        ([2, 12, 22, 32], False),
        ([0, 1, 100], False),
        ([-1, 1, 100], False),
        ([5, 5], False),
        ([], False),
    ],
)
def test_what_is_spaced_by_factors_is_on_a_logarithmic_axis(values, expected):
    assert logarithmic(values) is expected


def test_curves_leave_out_what_is_no_number_and_fit_the_rate():
    k = np.arange(1001)
    values = np.where(k % 10 == 0, 3.0 / (k + 1.0) ** 2, np.nan)
    trace = {"k": k, "seconds": 0.1 * k, "gap": values, "total": -np.ones(1001), "empty": np.full(1001, np.nan)}
    found = curves(trace, ["gap", "total", "empty", "absent"], 50)
    assert set(found) == {"gap", "total"}
    assert np.isfinite(found["gap"].values).all() and found["gap"].values.size <= 50
    assert found["gap"].line[0] == fitted_slope(k, values) == pytest.approx(-2.0, abs=0.02)
    assert found["gap"].fitted()[-1] == pytest.approx(3e-6, rel=0.02)
    assert found["total"].line is None
    assert column_names([trace]) == ["k", "seconds", "gap", "total"]
    assert curves({"gap": values}, ["gap"]) == {}


def test_quantities_are_those_of_the_trace():
    found = {each.name: each for each in quantities(["total", "bound", "theory_residual_bound", "metric_psnr"])}
    assert list(found) == ["total", "theory_residual", "metric_psnr"]
    assert found["total"].beside == {"bound": "bound"} and not found["metric_psnr"].log
    assert [each.name for each in quantities(["gap", "fw_gap", "theory_distance"], runs=1000)] == ["gap"]


def test_the_axis_of_a_metric_is_what_is_said_of_it():
    said = {"metric_off": Metric("off", "how far off", "lower", log=True), "metric_rank": Metric("rank", "the rank")}
    off, rank, error = quantities(["metric_off", "metric_rank", "metric_z_error"], 1, said.get)
    assert (off.log, off.fit, off.label) == (True, True, "off: how far off")
    assert not rank.log and not error.log


def written(entries, folder, formats):
    names = {path.name for path in write_figures(entries, folder, formats)}
    assert names == {path.name for path in folder.iterdir()}
    return names


def test_a_figure_of_every_quantity(three, tmp_path):
    names = written(collect([three / "beta1"]).entries, tmp_path, ["png"])
    assert {"total.png", "gap.png", "infeasibility.png", "theory_residual.png", "metric_psnr.png"} <= names
    assert "picture-x-the-recovered-signal.png" in names


def test_fonts_are_embedded(three, tmp_path, monkeypatch):
    monkeypatch.setattr(
        figures, "quantities", lambda *_: quantities(["gap", "theory_residual", "theory_residual_bound"])
    )
    monkeypatch.setattr(figures, "pictures", lambda run: [])
    names = written(collect([three]).entries, tmp_path, ["pdf", "svg"])
    drawn = ("gap", "theory_residual", "seconds-to-accuracy", "psnr-by-beta0", "rank-by-beta0")
    assert names == {f"{name}.{kind}" for name in drawn for kind in ("pdf", "svg")}
    pdf = (tmp_path / "gap.pdf").read_bytes()
    assert b"/Type3" not in pdf and b"/CIDFontType2" in pdf
    assert "<text" not in (tmp_path / "gap.svg").read_text()


def test_bars_are_as_long_as_it_took():
    """A bar for each run that came to an accuracy, the others said; none where no run came to it."""
    with figures.styled() as plt:
        figure = figures._race(plt, [[1.0, 4.0, np.nan], [2.0, np.nan, np.nan]], ["a", "b"])
        first, second = figure.axes
        assert [bar.get_width() for bar in first.patches] == [1.0, 2.0]
        assert [text.get_text() for text in second.texts] == ["4.00s", "not reached"]
        assert first.get_title(loc="left") == "to $10^{-2}$"
        assert figures._race(plt, [[np.nan] * 3], ["a"]) is None
        plt.close(figure)


def test_names_are_no_formulas(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "quantities", lambda *_: quantities(["gap"]))
    for name in ("a$b_{x$", "c$\\frac{$", "<b>&"):
        make_run(tmp_path / "runs" / f"{len(name)}", spec(name))
    assert "gap.png" in written(collect([tmp_path / "runs"]).entries, tmp_path / "out", ["png"])


def test_many_runs_are_told_apart_by_shades(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "quantities", lambda *_: quantities(["total", "bound"]))
    monkeypatch.setattr(figures, "pictures", lambda run: [])
    runs = make_sweep(tmp_path / "runs", 12)
    assert written(collect([runs]).entries, tmp_path / "out", ["png"]) == {"total.png"}


def kinds_of(tmp_path, problem, solution):
    tree = spec("picture") | {"problem": problem}
    return pictures(collect([make_run(tmp_path / "run", tree, solution=solution)]).entries[0].open())


def test_pictures_of_clusters(tmp_path):
    clusters = np.array([0, 1, 0, 1, 2, 2])
    x = (clusters[:, None] == clusters).astype(float) / 2
    solution = {"x": x, "clusters": clusters, "denoised": np.eye(6)[:, :3], "linked_clusters": clusters}
    before, after, points = kinds_of(tmp_path, {"template": "kmeans-sdp"}, solution)
    assert np.array_equal(before.array, x) and np.array_equal(after.array, np.kron(np.eye(3), np.full((2, 2), 0.5)))
    assert isinstance(points, Points) and points.group.tolist() == clusters.tolist()
    assert "3 blocks" in after.alt


def test_pictures_of_images(tmp_path):
    truth = np.linspace(0, 1, 16).reshape(4, 4)
    solution = {"truth": truth, "recovered": 0.5 * truth, "observed": np.where(truth > 0.2, truth, np.nan)}
    found = kinds_of(tmp_path, {"template": "robust-pca"}, solution)
    assert [each.title for each in found] == ["truth", "input", "recovered", "error"]
    assert found[3].high == 0.5


def test_pictures_of_a_cut(tmp_path):
    sides = np.array([1, -1, 1, -1], dtype=np.int8)
    solution = {"left": np.outer(sides, [1.0, 0.1]), "weights": np.ones(2), "partition": sides}
    points, before, after = kinds_of(tmp_path, {"template": "max-cut"}, solution)
    assert "2 on one side of the cut and 2 on the other" in points.alt
    assert before.array[0, 1] < 0 < after.array[0, 1]


def test_the_edges_of_a_cut_are_drawn(tmp_path):
    """A cycle of five nodes: four of its edges are cut, and each is a line between the places of its ends."""
    sides, edges = np.array([1, -1, 1, -1, 1], dtype=np.int8), np.array([[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]])
    network, *_ = kinds_of(tmp_path, {"template": "max-cut"}, {"x": np.eye(5), "partition": sides, "edges": edges})
    assert network.alt == (
        "The 5 nodes of the graph, 2 on the left and 3 on the right; 4 of 5 edges are cut, the coloured ones."
    )
    assert ((network.x > 0) == (sides > 0)).all()
    for ways, drawn in ((network.across, edges[:4]), (network.within, edges[4:])):
        lines = ways.reshape(2, -1, 3)
        assert np.isnan(lines[:, :, 2]).all() and lines.shape[1] == len(drawn)
        for end in (0, 1):
            np.testing.assert_array_equal(lines[:, :, end], [network.x[drawn[:, end]], network.y[drawn[:, end]]])


def test_pictures_of_signals_matrices_and_nothing(tmp_path):
    (signal,) = kinds_of(tmp_path, {"template": "svm"}, {"x": np.arange(4.0)})
    assert isinstance(signal, Signal) and signal.numbers.tolist() == [1, 2, 3, 4]
    (image,) = kinds_of(tmp_path / "b", {"domain": {}}, {"left": np.eye(3), "weights": np.ones(3)})
    assert isinstance(image, Image)
    assert kinds_of(tmp_path / "d", {"template": "minimax-ball"}, {"x": np.full(3, np.nan)}) == []
    assert kinds_of(tmp_path / "e", {"template": "standard-sdp"}, {"samples": np.ones((3, 5))}) == []


def test_rows_of_a_small_matrix_have_the_names_of_the_data(tmp_path):
    saved = {"x": np.eye(3), "estimate": np.eye(3), "labels": packed(["a", "$b", "c"])}
    (image,) = kinds_of(tmp_path, {"template": "covariance-estimation"}, saved)
    assert image.names == ("a", "$b", "c")
    axes = Figure().subplots()
    draw(image, axes)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", r"\$b", "c"]
    saved = {"x": np.eye(3), "clusters": np.array([1, 0, 1]), "labels": packed(["a", "b", "c"])}
    _, ordered = kinds_of(tmp_path / "ordered", {"template": "kmeans-sdp"}, saved)
    assert ordered.names == ("b", "a", "c")
    (bare,) = kinds_of(tmp_path / "bare", {"template": "covariance-estimation"}, {"estimate": np.eye(3)})
    assert bare.names == ()


def test_of_a_run_that_saved_less_what_there_is_is_shown(tmp_path):
    """A view whose arrays are not there is left out alone; without any left, x itself is drawn."""
    (before,) = kinds_of(tmp_path / "a", {"template": "kmeans-sdp"}, {"x": np.ones((2, 2))})
    assert before.title == "X, the points as they come"
    (signal,) = kinds_of(tmp_path / "b", {"template": "minimax-ball", "radius": 1.0}, {"x": np.arange(3.0)})
    assert isinstance(signal, Signal)
    (image,) = kinds_of(tmp_path / "c", {"template": "of-another-version"}, {"x": np.eye(3)})
    assert isinstance(image, Image) and image.title == "X"


def test_a_cut_is_drawn_however_x_is_kept(tmp_path):
    sides = np.array([1, -1, 1, 1], dtype=np.int8)
    left = np.outer(sides, [1.0, 0.1])
    forms = {"x": left @ left.T}, {"left": left, "weights": np.ones(2)}, {"samples": left @ np.eye(2) * np.sqrt(2.0)}
    found = [
        kinds_of(tmp_path / str(number), {"template": "max-cut"}, {**form, "partition": sides})
        for number, form in enumerate(forms)
    ]
    for points, before, after in found:
        assert points.group.tolist() == [1, 0, 1, 1] and "3 on one side of the cut and 1 on the other" in points.alt
        assert before.array == pytest.approx(left @ left.T) and (after.array[0, 1:] < 0).all()


def test_the_independent_set_comes_first(tmp_path):
    chosen = np.array([0, 1, 0, 1, 0], dtype=np.int8)
    solution = {"left": np.eye(5)[:, :3], "weights": np.ones(3), "independent_set": chosen}
    points, *_ = kinds_of(tmp_path, {"template": "lovasz-theta"}, solution)
    assert points.group.tolist() == [1, 0, 1, 0, 1] and "5 nodes, 2 of them in the independent set" in points.alt


def test_the_path_of_the_pathological_example(tmp_path):
    from cgm_cli import load_run, solve

    problem = {"template": "minimax-ball", "size": 2, "radius": 2.0}
    solver = {"method": "hcgm", "iterations": 30}
    spec = {"name": "ball", "problem": problem, "solver": solver, "stop": {"gap": None}, "log": {"metrics_every": 1}}
    solve(spec, out=tmp_path / "r")
    (path,) = pictures(load_run(tmp_path / "r"))
    assert isinstance(path, Path)
    assert (path.x[0], path.y[0], path.radius, path.x.size) == (2.0, 0.0, 2.0, 31)
    assert path.solution == pytest.approx((-(2.0**0.5), -(2.0**0.5)))
    assert path.levels == pytest.approx(np.maximum(path.axis, path.axis[:, None]))
    ways = [np.array(each, dtype=float) for each in plain(path)["contours"]]
    heights = np.maximum(*ways)
    pieces = np.split(heights, np.flatnonzero(np.isnan(heights)))
    assert len(pieces) > 8 and all(np.ptp(piece[1:]) < 1e-2 for piece in pieces if piece.size > 2)


def test_the_gallery_is_small_and_whole():
    docs = FilePath(__file__).resolve().parents[2] / "docs"
    text, found = (docs / "gallery.md").read_text(encoding="utf-8"), list((docs / "gallery").iterdir())
    assert sum(path.stat().st_size for path in found) < 1_500_000
    assert all(f"(gallery/{path.name})" in text for path in found)


def test_names_that_become_the_same_file_name_keep_both_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "quantities", lambda *_: [])
    for name in ("ü1", "ö1"):
        make_run(tmp_path / "runs" / name, spec(name))
    written = write_figures(collect([tmp_path / "runs"]).entries, tmp_path / "figures", ["png"])
    pictures = [path for path in written if path.name.startswith("picture")]
    assert len(pictures) == len(set(pictures)) == 2 and all(path.exists() for path in pictures)
