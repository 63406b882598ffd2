"""In which form x is kept: what `auto` chooses and why, what is refused and where, and the memory that it takes."""

import tracemalloc

import numpy as np
import pytest

from cgm_cli.errors import CgmError
from cgm_cli.methods.status import Status
from cgm_cli.runs.execute import execute
from cgm_cli.runs.load import load_run
from cgm_cli.spec.load import describe_error, dump, load, loads
from cgm_cli.templates.build import PROGRAM_BYTES, build
from tests.runs.test_resume import assert_same_end, stopped

SMALL = {"template": "max-cut", "graph": {"nodes": 60, "edges": 200}}
LARGE = {"template": "max-cut", "graph": {"nodes": 100_000, "edges": 100}}
NUCLEAR = {"domain": {"kind": "nuclear-ball", "shape": [3, 4]}, "objective": {"kind": "linear", "cost": 1.0}}
SAMPLED = {"kind": "l1", "map": {"kind": "sampling", "indices": [0, 4, 2]}}
FACE = {"domain": {"kind": "fantope-face", "size": 9, "rank": 3}, "penalties": [SAMPLED]}
FANTOPE = {"domain": {"kind": "fantope", "size": 9, "rank": 3}, "penalties": [SAMPLED]}


def form(problem, **solver):
    return build(loads(dump({"problem": problem, "solver": {"method": "hcgm", "iterations": 1000, **solver}}))).form


def test_auto_is_exact_where_that_fits_and_a_sketch_where_not():
    assert form(SMALL).kind == "factored"
    assert "hold every step" in form(SMALL).reason
    found = form(LARGE, iterations=1000)
    assert (found.kind, found.columns) == ("sketch", 50)
    assert "1001 columns" in found.reason
    assert form(LARGE, iterations=1000, rank=7).columns == 7
    assert form(LARGE, iterations=100).kind == "factored"
    assert form(SMALL, oracle={"mode": "additive", "delta": 0.1, "perturb": True}).kind == "dense"
    wide = {"domain": {"kind": "nuclear-ball", "shape": [200_000, 10]}, "penalties": [SAMPLED]}
    assert form(wide, iterations=20_000).kind == "factored"  # twice its rank fits
    wide["domain"]["shape"] = [200_000, 100_000]
    found = form(wide, iterations=20_000)
    assert found.kind == "factored" and "the largest are kept" in found.reason


def test_columns_do_not_add_up_where_points_take_the_place_of_x():
    """The default budget is large, and would have every larger problem kept as a sketch."""
    problem = {"template": "max-cut", "graph": {"nodes": 5000, "edges": 6000}, "hyperplanes": 10}
    assert form(problem, method="auto", iterations=100_000).kind == "factored"
    assert form(problem, method="hcgm", iterations=100_000).kind == "sketch"


def test_auto_asks_the_machine(monkeypatch):
    problem = {"template": "max-cut", "graph": {"nodes": 5000, "edges": 6000}, "hyperplanes": 10}
    assert form(problem, iterations=1000).kind == "factored"
    # The columns of a thousand steps take 80 MB, those of a sketch 10 MB.
    monkeypatch.setattr("cgm_cli.readers.context.available_memory", lambda: PROGRAM_BYTES + 160 * 10**6)
    found = form({**problem, "graph": {"nodes": 5000, "edges": 6000}}, iterations=1000)
    assert (found.kind, found.columns) == ("sketch", 50)


@pytest.mark.parametrize(
    ("problem", "solver", "place", "told"),
    [
        (NUCLEAR, "iterate: sketch", "iterate", "semidefinite matrices only"),
        (FACE, "iterate: sketch", "iterate", "no more is known than their eigenvalues"),
        (SMALL, "iterate: sketch, rank: 61", "rank", "more than the size of the matrices, 60"),
        (FANTOPE, "iterate: sketch, rank: 2", "rank", "less than the rank of the domain's extreme points, 3"),
        (SMALL, "iterate: samples, correction: fully-corrective", "correction", "does not know it"),
        (SMALL, "iterate: dense, rank: 3", "", "is that of `iterate: sketch`"),
        (SMALL, "iterate: sketch, rank: 0", "rank", "expected"),
        ({"domain": {"kind": "psd", "size": 4}, "penalties": [{"kind": "l1"}]}, "iterate: sketch", "iterate", "entry"),
    ],
)
def test_what_cannot_be_is_refused_where_it_stands(problem, solver, place, told, tmp_path):
    path, line = tmp_path / "spec.yaml", f"solver: {{{solver}}}"
    text = dump({"problem": problem})
    path.write_text(f"{text}{line}\n")
    spec = None
    with pytest.raises(CgmError) as caught:
        spec = load(path)
        build(spec)
    message = describe_error(caught.value, spec)
    assert caught.value.exit_code == 2 and told in message
    column = line.index(f"{place}: ") + len(f"{place}: ") + 1 if place else line.index("{") + 1
    assert f"{path}:{text.count(chr(10)) + 1}:{column}: " in message


def test_a_cut_of_8000_nodes_takes_memory_of_order_n():
    n, rank = 8_000, 10
    problem = {"template": "max-cut", "graph": {"nodes": n, "edges": 2 * n}, "hyperplanes": 10}
    solver = {"iterate": "sketch", "rank": rank, "iterations": 2, "oracle": {"tolerance": 1e-2}}
    instance = build(loads(dump({"problem": problem, "solver": solver, "bound": {"certify": "never"}})))
    # What is loaded or compiled at its first use, some of it for large problems alone, is not what is measured.
    instance.solve()
    tracemalloc.start()
    try:
        result = instance.solve()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The oracle's vectors included; X would take thirty times as much.
    assert peak <= 8 * n * (5 * rank + 200)
    assert instance.form.nbytes == 8 * n * 5 * rank
    assert result.solution["left"].shape == (n, rank)
    assert result.metrics["cut"] > 0.5 * 2 * n


def test_a_run_goes_on_in_the_form_it_was_begun_in(tmp_path, monkeypatch):
    spec = {
        "name": "cut",
        "problem": SMALL,
        "solver": {"method": "hcgm", "iterations": 20, "rank": 5},
        "stop": {"gap": None},
    }
    monkeypatch.setattr("cgm_cli.solving.form.FACTOR_BYTES", 1)
    execute(spec, [], tmp_path / "whole")
    stopped(spec, [], tmp_path / "parts", 7)
    monkeypatch.undo()
    assert build(loads(dump(spec))).form.kind == "factored"
    assert execute(None, resume=tmp_path / "parts").status is Status.ITERATION_LIMIT
    assert_same_end(tmp_path / "whole", tmp_path / "parts")
    assert load_run(tmp_path / "parts").form["kind"] == "sketch"


def test_keeping_a_sketch_changes_nothing_in_the_trace(tmp_path):
    spec = {"name": "cut", "problem": SMALL, "solver": {"iterations": 30}}
    for kind in ("factored", "sketch"):
        execute(spec, [f"solver.iterate={kind}"], tmp_path / kind)
    one, other = (load_run(tmp_path / kind).trace for kind in ("factored", "sketch"))
    for name in ("objective", "infeasibility", "bound", "lmo_matvecs"):
        np.testing.assert_array_equal(one[name], other[name])
