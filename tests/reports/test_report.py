"""`cgm report` in the terminal, and as CSV, JSON and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

from cgm_cli.errors import ProblemError
from cgm_cli.methods.status import Status
from cgm_cli.reports import figures, names
from cgm_cli.reports.cells import clipped, labels
from cgm_cli.reports.collect import collect
from cgm_cli.reports.latex import as_latex, escaped
from cgm_cli.reports.query import filtered, ordered
from cgm_cli.reports.ranking import best, best_first, direction
from cgm_cli.reports.sparkline import sparkline
from cgm_cli.reports.table import print_report
from cgm_cli.runs.directory import RunDirectory
from tests.reports.support import make_run, spec


def rows(out):
    """The table: the name of the run -> its line."""
    lines = out.splitlines()[1:]
    return {line.split()[0]: line for line in lines if line.strip()}


def test_only_what_varies_is_shown_and_the_best_is_marked(cgm, three):
    code, out, err = cgm("report", three)
    assert (code, err) == (0, "")
    heading = out.splitlines()[0].split()
    assert heading[:5] == ["run", "status", "objective", "bound", "gap"] and heading.index("beta0") > 4
    assert "method" not in heading and "rank" in heading
    assert [rows(out)[name].count("*") for name in ("beta0.1", "beta10")] == [0, 3]  # bound, gap and infeasibility
    assert not {"█", "▁"}.isdisjoint(rows(out)["beta1"])
    assert "3 runs: 3 finished" in out


def test_filter_sort_and_best(cgm, three):
    assert list(rows(cgm("report", three, "--sort", "-gap")[1]))[:3] == ["beta0.1", "beta1", "beta10"]
    assert list(rows(cgm("report", three, "--sort", "beta0", "--filter", "beta0>=1")[1]))[:2] == ["beta1", "beta10"]
    out = cgm("report", three, "--best", "gap")[1]
    assert "beta10" in out and "1 run: 1 finished" in out
    assert "beta0.1" in cgm("report", three, "--best", "max:gap")[1]
    assert cgm("report", three, "--filter", "status=converged")[1].startswith("0 runs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--filter", "bta0<1"], "did you mean `beta0`?"),
        (["--filter", "beta0"], "is no filter"),
        (["--filter", "beta0<small"], "needs a number"),
        (["--filter", "__import__('os').system('true')"], "is no filter"),
        (["--sort", "nope"], "No run has a parameter or figure called `nope`; t"),
        (["--sort", "nope"], "here are `solver.beta0`, `run`, `name`, `status`"),
        (["--sort", "gapp"], "did you mean `gap`? There are `solver.beta0`, `run`"),
        (["--filter", "beta0>1e9", "--json"], "--filter leaves none of 3 runs"),
        (["--best", "rank"], "write min:metric_rank or max:metric_rank"),
        (["--best", "beta0"], "is no figure of the result"),
        (["--best", "least:gap"], "write min:METRIC"),
        (["--figures", "x", "--format", "gif"], "pdf, png, svg"),
    ],
)
def test_messages(cgm, three, arguments, message):
    code, out, err = cgm("report", three, *arguments)
    assert code == (3 if "leaves none" in message else 2) and message in err
    assert json.loads(out)["error"]["exit_code"] == code if "--json" in arguments else out == ""


def test_an_ambiguous_name_says_what_it_may_be(tmp_path):
    tree = spec("a") | {"theory": {"radius": 2}}
    entries = collect([make_run(tmp_path / "a", tree)]).entries
    with pytest.raises(ProblemError, match=r"`problem.radius`, `theory.radius`"):
        names.resolve("radius", entries)
    assert names.resolve("problem.radius", entries) == "problem.radius"
    assert names.resolve("psnr", entries) == "metric_psnr"


def test_whatever_is_no_run_is_listed_and_the_others_go_on(cgm, mixed):
    code, out, _ = cgm("report", mixed, mixed / "empty", mixed / "foreign" / "data.h5", mixed / "nothing", "no*")
    assert code == 0
    assert rows(out)["good"]
    for text in (
        "killed: killed. Its process was killed",
        "failed: failed. The run ended with an error. The oracle gave up.",
        "run.h5 cannot be read as a log of cgm",
        "bad-status",
        "is not a status of cgm",
        "empty: an empty folder.",
        "data.h5: an HDF5 file by itself",
        "nothing: there is no such file or folder.",
        "no*: nothing matches this pattern.",
    ):
        assert text in out
    assert "3 runs: 1 finished, 2 not finished, " in out


def test_a_running_run_is_no_dead_one(tmp_path, cgm):
    tree = "name: now\nsolver: {beta0: 1}\n"
    with RunDirectory.create("now", tmp_path / "now") as run:
        run.begin(tree, tree)
        code, out, _ = cgm("report", tmp_path)
    assert code == 0
    assert "now: running. It is still running." in out


def test_nothing_to_show(cgm, tmp_path):
    code, out, _ = cgm("report", tmp_path)
    assert code == 3
    assert "an empty folder" in out


def test_patterns_files_and_the_same_run_twice(three):
    pattern = str(three / "beta*")
    found = collect([pattern, three, three / "beta1" / "run.h5", three / "beta1" / "status.json"])
    assert len(found.entries) == 3 and not found.faults


def test_links_are_not_followed(tmp_path):
    make_run(tmp_path / "a" / "run")
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert len(collect([tmp_path]).entries) == 1


def test_a_folder_of_runs_may_have_a_status_of_its_own(tmp_path):
    make_run(tmp_path / "0")
    (tmp_path / "status.json").write_text("{}")
    found = collect([tmp_path])
    assert len(found.entries) == 1 and not found.faults


def test_csv_and_json(cgm, three, tmp_path):
    table = list(csv.DictReader(io.StringIO(cgm("report", three, "--csv", "-")[1])))
    assert [row["solver.beta0"] for row in table] == ["0.1", "1.0", "10.0"]
    assert float(table[0]["gap"]) > float(table[2]["gap"]) and table[0]["iterations"] == "400"
    assert set(table[0]) >= {"run", "name", "status", "objective", "bound", "metric_psnr", "bound_is", "reason"}
    found = json.loads(cgm("report", three, "--json")[1])
    assert found["varying"] == ["solver.beta0"] and len(found["runs"]) == 3 and found["faults"] == []
    assert found["runs"][0]["params"]["solver.beta0"] == 0.1
    assert cgm("report", three, "--csv", tmp_path / "new" / "t.csv")[0] == 0
    assert (tmp_path / "new" / "t.csv").read_text().startswith("run,name,status,solver.beta0,")


def test_latex(cgm, mixed, three):
    out = cgm("report", three, "--latex", "-")[1]
    assert out.count(r"\\") == 4 and r"\toprule" in out and r"$\mathbf{" in out
    assert escaped(r"a_b\c{50%}~<x>") == r"a\_b\textbackslash{}c\{50\%\}\textasciitilde{}\textless{}x\textgreater{}"
    assert " -- " not in as_latex(collect([three]).entries)


def test_objectives_compare_only_where_they_may(tmp_path):
    make_run(tmp_path / "a", spec("a", beta0=1.0), infeasibility=0.0)
    make_run(tmp_path / "b", spec("b", beta0=2.0), infeasibility=0.0, scale=2.0)
    entries = collect([tmp_path]).entries
    assert (direction("objective", entries), direction("bound", entries)) == (-1, 1)
    make_run(tmp_path / "c", spec("c", beta0=2.0), infeasibility=0.1)
    entries = collect([tmp_path]).entries
    assert (direction("objective", entries), direction("bound", entries)) == (0, 1)
    other = spec("d")
    other["problem"]["radius"] = 3.0
    make_run(tmp_path / "d", other, infeasibility=0.0)
    assert direction("bound", collect([tmp_path]).entries) == 0
    make_run(tmp_path / "e" / "x", spec("x"), sense="maximise", infeasibility=0.0)
    entries = collect([tmp_path / "e"]).entries
    assert (direction("objective", entries), direction("bound", entries)) == (1, -1)


def entries_of(folder, template, *runs):
    """Entries of runs of a template: each (parameters of the problem, metrics)."""
    entries = []
    for number, (problem, metrics) in enumerate(runs):
        tree = spec(str(number)) | {"problem": {"template": template, **problem}}
        entries += collect([make_run(folder / template / str(number), tree, metrics=metrics)]).entries
    return entries


def test_which_way_a_metric_is_better_is_what_its_template_says(tmp_path):
    cuts = entries_of(tmp_path, "max-cut", ({}, {"cut": 5.0, "certified_ratio": 0.9}), ({}, {"cut": 6.0}))
    ways = {name: direction(f"metric_{name}", cuts) for name in ("cut", "certified_ratio", "slope_residual")}
    assert ways == {"cut": 1, "certified_ratio": 1, "slope_residual": 0}
    assert [entry.name for entry in best("metric_cut", cuts)] == ["1"]
    images = entries_of(tmp_path, "robust-pca", ({}, {"psnr": 20.0, "feasible_objective": 3.0}))
    assert direction("metric_psnr", images) == 1 and direction("metric_feasible_objective", images) == -1
    assert direction("metric_x_1", entries_of(tmp_path, "minimax-ball", ({}, {"x_1": 1.0}))) == 0


def test_values_in_the_units_of_the_data_compare_within_one_problem(tmp_path):
    runs = ({"graph": {"file": "a"}}, {"cut": 5.0, "certified_ratio": 0.9}), ({"graph": {"file": "b"}}, {"cut": 6.0})
    cuts = entries_of(tmp_path, "max-cut", *runs)
    assert direction("metric_cut", cuts) == 0 and direction("metric_certified_ratio", cuts) == 1


def test_a_metric_that_templates_do_not_agree_on_has_no_direction(tmp_path):
    """`rank` of one template says nothing of that of another, nor does a template that this version does not know."""
    known = entries_of(tmp_path, "robust-pca", ({}, {"psnr": 20.0, "gap": 1.0}))
    alike = entries_of(tmp_path, "low-rank-denoising", ({}, {"psnr": 21.0}))
    unknown = entries_of(tmp_path, "no-longer-there", ({}, {"psnr": 22.0}), ({}, {"psnr": 23.0}))
    assert direction("metric_psnr", known + alike) == 1
    assert direction("metric_psnr", unknown) == direction("metric_psnr", known + unknown) == 0
    assert direction("metric_gap", known) == 0, "declared by no one"
    assert direction("gap", unknown) == -1, "what is generic ranks whatever the template"
    tree = spec("odd") | {"problem": {"template": ["max-cut"]}}
    odd = collect([make_run(tmp_path / "odd", tree, metrics={"cut": 1.0})]).entries
    assert direction("metric_cut", odd) == 0


def test_ranking_asks_only_the_templates_there_are(tmp_path):
    """And loads no library that solving or rounding needs."""
    for number in range(2):
        entries_of(tmp_path / str(number), "kmeans-sdp", ({}, {"kmeans_value": 1.0 + number}))
    code = "import sys; from cgm_cli.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code, "report", tmp_path], capture_output=True, text=True, check=True)
    assert "  1*" in done.stdout
    loaded = set(done.stderr.split())
    assert {name for name in loaded if name.startswith("cgm_cli.templates.")} >= {"cgm_cli.templates.kmeans_sdp"}
    assert not {"numba", "sklearn", "skimage", "matplotlib", "cgm_cli.templates.max_margin"} & loaded


def test_filters_on_text_and_missing_values(tmp_path):
    make_run(tmp_path / "a", spec("a", beta0="auto"))
    make_run(tmp_path / "b", spec("b", beta0=0.5, extra="x"))
    entries = collect([tmp_path]).entries
    named = lambda *expressions: [entry.name for entry in filtered(entries, expressions)]  # noqa: E731
    assert named("beta0=auto") == ["a"]
    assert named("beta0<1") == ["b"]
    assert named("beta0!=auto") == ["b"]
    assert named("extra=x") == ["b"] and named("extra!=x") == ["a"]
    assert named("stop.gap=null") == ["a", "b"]
    assert [entry.name for entry in ordered(entries, "-extra")] == ["b", "a"]


def test_labels_are_as_short_as_they_may_be(tmp_path):
    for place in ("one/run", "two/run"):
        make_run(tmp_path / place, spec("same"))
    assert labels(collect([tmp_path]).entries) == ["one/run", "two/run"]


def test_runs_are_called_by_what_varies(tmp_path):
    for method, beta0 in (("hcgm", 1.0), ("cgal", 5.0), ("cgal", 0.5)):
        make_run(tmp_path / f"{method}{beta0}", spec("same", method=method, beta0=beta0))
    entries = collect([tmp_path]).entries
    assert labels(entries) == ["cgal, beta0 = 0.5", "cgal, beta0 = 5", "hcgm, beta0 = 1"]
    make_run(tmp_path / "twice", spec("same", method="hcgm", beta0=1.0))
    assert labels(collect([tmp_path]).entries)[2:] == ["hcgm, beta0 = 1 (hcgm1.0)", "hcgm, beta0 = 1 (twice)"]
    ranked = best_first(entries)
    accuracies = [max(entry.figures["gap"], entry.figures["infeasibility"]) for entry in ranked]
    assert accuracies == sorted(accuracies)


def test_names_that_a_sweep_numbers_are_not_shown(tmp_path):
    for number, beta0 in (("0a", 1.0), ("0b", 2.0)):
        make_run(tmp_path / number / "run", spec(f"point-{number}", beta0=beta0))
    assert labels(collect([tmp_path]).entries) == ["beta0 = 1", "beta0 = 2"]


def test_of_much_that_varies_a_name_has_as_much_as_it_takes(tmp_path):
    for number in range(4):
        more = {f"key{each}": number // 2 for each in range(9)}
        make_run(tmp_path / str(number), spec("same", method=("a", "b")[number % 2], **more))
    found = labels(collect([tmp_path]).entries)
    assert found == [f"{method}, key0 = {n}, key1 = {n}" for n in (0, 1) for method in "ab"]


def test_a_narrow_terminal_gets_what_matters_and_no_escape_gets_through(tmp_path):
    make_run(tmp_path / "a", spec("\x1b[31mred[bold]" + "x" * 300, beta0=1.0))
    make_run(tmp_path / "b", spec("b", beta0=2.0))
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None, highlight=False)
    print_report(collect([tmp_path]).entries, [], console)
    text = console.file.getvalue()
    assert "\x1b[31m" not in text and "red[" in text
    assert "Too narrow for" in text and "gap" in text.splitlines()[0]
    assert max(map(len, text.splitlines())) <= 80


def test_sparkline():
    assert sparkline(10.0 ** -np.arange(12.0), 4) == "█▇▅▁"
    assert sparkline(np.ones(5), 3) == "▁▁▁"
    assert sparkline(np.array([1.0])) == "" and sparkline(np.full(9, math.nan)) == ""
    assert clipped("a" * 100, 9) == "aaaa…aaaa"


def test_the_search_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("cgm_cli.reports.collect._MOST_FOLDERS", 3)
    for index in range(9):
        (tmp_path / str(index)).mkdir()
    (fault,) = collect([tmp_path]).faults
    assert "the search ended here" in fault.reason


def test_a_failed_run_is_never_the_best(tmp_path):
    make_run(tmp_path / "a", spec("a"))
    make_run(tmp_path / "b", spec("b"), status=Status.INFEASIBLE, scale=0.01)
    make_run(tmp_path / "c", spec("c"), scale=3.0)
    found = collect([tmp_path]).entries
    assert [entry.finished for entry in found] == [True, False, True]
    assert [entry.name for entry in best("gap", found)] == ["a"]


@pytest.mark.parametrize("option, name", [("--html", "p.html"), ("--latex", "t.tex"), ("--csv", "t.csv")])
def test_only_what_a_report_wrote_is_replaced(cgm, three, tmp_path, option, name):
    path = tmp_path / name
    assert cgm("report", three, option, path)[0] == 0
    assert cgm("report", three, option, path)[0] == 0
    path.write_text("mine")
    code, out, err = cgm("report", three, option, path)
    assert code == 2 and out == "" and "--force overwrites it" in err
    assert path.read_text() == "mine"
    assert cgm("report", three, option, path, "--force")[0] == 0
    assert path.read_text() != "mine"


def test_a_log_is_no_place_for_a_table(cgm, tmp_path):
    run = make_run(tmp_path / "run")
    before = (run / "run.h5").read_bytes()
    assert cgm("report", run, "--csv", run / "run.h5")[0] == 2
    assert (run / "run.h5").read_bytes() == before


@pytest.mark.parametrize("kind", ["pdf", "png", "svg"])
def test_figures_replace_figures_only(cgm, three, tmp_path, monkeypatch, kind):
    # A figure or two do; test_figures.py has all of them.
    every = figures.quantities
    few = lambda *arguments: [each for each in every(*arguments) if each.name == "gap"]  # noqa: E731
    monkeypatch.setattr(figures, "quantities", few)
    monkeypatch.setattr(figures, "pictures", lambda run: [])
    arguments = ("report", three / "beta1", "--figures", tmp_path, "--format", kind)
    assert cgm(*arguments)[0] == 0 and cgm(*arguments)[0] == 0
    assert {"gap"} <= {path.stem for path in tmp_path.iterdir()}
    mine = tmp_path / f"gap.{kind}"
    mine.write_text("mine")
    assert cgm(*arguments)[0] == 2 and mine.read_text() == "mine"


@pytest.mark.parametrize(
    "arguments", [("--csv", "-", "--latex", "-"), ("--csv", "-", "--json"), ("--csv", "t", "--latex", "./t")]
)
def test_two_outputs_have_two_places(cgm, three, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    code, out, err = cgm("report", three, *arguments)
    assert code == 2 and "a place of its own" in err
    assert json.loads(out)["error"]["exit_code"] == 2 if "--json" in arguments else out == ""


def test_a_page_on_standard_output_is_alone_there(cgm, three):
    assert cgm("report", three, "--html", "-")[1].endswith("</html>\n")


@pytest.mark.parametrize("expression", ["beta0=>1", "beta0=<1", "name=~beta.*", "beta0<nan"])
def test_an_operator_there_is_not_is_told(cgm, three, expression):
    code, _, err = cgm("report", three, "--filter", expression)
    assert code == 2 and expression in err


def test_a_filter_that_leaves_nothing_says_so(cgm, three):
    code, _, err = cgm("report", three, "--filter", "beta0<0")
    assert code == 3 and "none of 3 runs" in err


def test_no_cell_of_latex_is_an_argument_of_its_line():
    assert escaped("[2pt]") == "{[}2pt]" and escaped("*x") == "{*}x"
