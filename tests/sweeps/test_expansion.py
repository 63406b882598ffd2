"""A sweep file becomes points: every value, every combination, every fault with its line."""

import math
import time

import pytest

from cgm_cli.errors import CgmError, DataError, Several
from cgm_cli.spec.faults import SpecError
from cgm_cli.spec.load import load, loads
from cgm_cli.sweeps.load import load_sweep
from cgm_cli.sweeps.values import linspace, logspace, steps
from tests.sweeps.support import TINY, sweep, write


def values_of(tmp_path, axes, base=TINY, **more):
    return [point.values for point in load_sweep(write(tmp_path, "s", {"base": base, "sweep": axes, **more})).points]


def fault(tmp_path, text, kind=SpecError):
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(kind) as caught:
        load_sweep(tmp_path / "s.yaml")
    return caught.value.message


BASE = "base: {problem: {template: minimax-ball, size: 2, radius: 1.0}}\n"


# Values


def test_a_range_never_adds_up():
    found = steps(0.0, 1.0, 0.1)
    assert found == [0.0 + i * 0.1 for i in range(11)]
    added = 0.0
    for _ in range(10):
        added += 0.1
    assert added != found[-1] == 1.0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((1, 4), [1, 2, 3, 4]),
        ((0, 5, 2), [0, 2, 4]),
        ((3, 1, -1), [3, 2, 1]),
        ((2, 2), [2]),
        ((0, 1, 0.25), [0, 0.25, 0.5, 0.75, 1]),
    ],
)
def test_a_range_ends_at_stop_where_a_step_falls_on_it(given, expected):
    assert steps(*given) == expected


def test_whole_numbers_stay_whole():
    assert all(type(value) is int for value in steps(1, 9, 2))


def test_spaces_hold_both_ends():
    assert linspace(0, 1, 5) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert linspace(0.1, 0.7, 4)[-1] == 0.7
    assert linspace(3, 9, 1) == [3.0] == logspace(3, 9, 1)
    assert logspace(0.01, 100, 5) == [0.01, 0.1, 1.0, 10.0, 100.0]
    ratios = [b / a for a, b in zip(logspace(1, 7, 9), logspace(1, 7, 9)[1:], strict=False)]
    assert all(math.isclose(ratio, 7 ** (1 / 8), rel_tol=1e-11) for ratio in ratios)


# Combinations


def test_a_grid_is_every_combination_and_the_last_key_varies_first(tmp_path):
    found = values_of(tmp_path, {"grid": {"solver.beta0": [1.0, 2.0], "solver.iterations": {"list": [5, 6]}}})
    assert [tuple(point.values()) for point in found] == [(1.0, 5), (1.0, 6), (2.0, 5), (2.0, 6)]


def test_zip_goes_side_by_side_and_combines_with_the_grid(tmp_path):
    axes = {"grid": {"seed": [0, 1]}, "zip": {"solver.beta0": [1.0, 2.0], "solver.iterations": {"range": [5, 6]}}}
    found = [tuple(point.values()) for point in values_of(tmp_path, axes)]
    assert found == [(0, 1.0, 5), (0, 2.0, 6), (1, 1.0, 5), (1, 2.0, 6)]


def test_draws_are_those_of_their_seed_and_more_of_them_keep_the_first(tmp_path):
    draw = {
        "solver.beta0": {"log-uniform": [0.1, 10]},
        "solver.iterations": {"integer": [3, 5]},
        "problem.radius": {"uniform": [1, 2]},
        "solver.step": ["classic", "line-search"],
    }
    few, many = (values_of(tmp_path, {"random": {"n": n, "draw": draw}}) for n in (5, 50))
    assert many[:5] == few and values_of(tmp_path, {"random": {"n": 5, "seed": 1, "draw": draw}}) != few
    assert all(0.1 <= point["solver.beta0"] <= 10 and 1 <= point["problem.radius"] <= 2 for point in many)
    assert {point["solver.iterations"] for point in many} == {3, 4, 5}
    assert {point["solver.step"] for point in many} == {"classic", "line-search"}


def test_repeats_count_up_from_the_seed_of_the_base(tmp_path):
    assert values_of(tmp_path, {"repeat": 3}, {**TINY, "seed": 7}) == [{"seed": 7}, {"seed": 8}, {"seed": 9}]
    assert values_of(tmp_path, {"repeat": [5, 2]}) == [{"seed": 5}, {"seed": 2}]


def test_what_is_excluded(tmp_path):
    axes = {
        "grid": {"solver.beta0": {"range": [0.1, 0.3, 0.1]}, "seed": [0, 1]},
        "exclude": [{"solver.beta0": 0.3}, {"seed": [0, 5], "solver.beta0": 0.1}, {"seed": 1, "solver.iterations": 20}],
    }
    assert values_of(tmp_path, axes) == [{"solver.beta0": 0.2, "seed": 0}]


def test_mappings_may_be_varied_and_what_is_in_them(tmp_path):
    axes = {
        "grid": {
            "problem.radius": [1.0, 2.0],
            "problem": [TINY["problem"], {**TINY["problem"], "size": 3, "start": [0, 0, 1.0]}],
        }
    }
    path = write(tmp_path, "s", {"base": {"solver": {"iterations": 5}}, "sweep": axes})
    found = load_sweep(path)
    problems = [loads(found.spec_text(point)).problem for point in found.points]
    assert [(problem.size, problem.radius) for problem in problems] == [(2, 1.0), (3, 1.0), (2, 2.0), (3, 2.0)]


def test_set_holds_for_every_point(tmp_path):
    path = write(tmp_path, "s", {"base": TINY, "set": {"solver.iterations": 3}, "sweep": {"repeat": 2}})
    found = load_sweep(path)
    assert all(loads(found.spec_text(point)).solver.iterations == 3 for point in found.points)


# Identity


def ids(tmp_path, base, axes=None, name="s", **more):
    path = write(tmp_path, name, {"base": base, "sweep": axes or {"repeat": 1}, **more})
    return [point.id for point in load_sweep(path).points]


def test_a_point_is_the_same_in_every_sweep_that_has_it(tmp_path):
    plain = ids(tmp_path, TINY)
    assert ids(tmp_path, {**TINY, "name": "else", "checkpoint": {"every": 3.0}}, name="t") == plain
    assert (
        ids(
            tmp_path,
            {**TINY, "solver": {**TINY["solver"], "iterations": 7}},
            {"grid": {"solver.iterations": [20], "seed": [0]}},
        )
        == plain
    )
    assert ids(tmp_path, {**TINY, "log": {"every": 1}, "threads": 1}) == plain


@pytest.mark.parametrize("change", [{"seed": 1}, {"stop": {"time": 5}}, {"solver": {"iterations": 21}}, {"threads": 2}])
def test_whatever_a_number_depends_on_makes_another_run(tmp_path, change):
    assert ids(tmp_path, {**TINY, **change}) != ids(tmp_path, TINY)


def test_equal_points_are_one_run(tmp_path):
    path = write(tmp_path, "s", {"base": TINY, "sweep": {"grid": {"solver.beta0": [1, 1.0]}}})
    assert len({point.id for point in load_sweep(path).points}) == 1
    assert "1 run (2 points" in sweep(tmp_path, "s.yaml", "--dry-run")[0]


def test_a_data_file_counts_by_its_content_and_is_found_from_anywhere(tmp_path):
    problem = {
        "domain": {"kind": "simplex", "size": 2},
        "objective": {"kind": "quadratic", "matrix": {"file": "q.csv"}},
    }
    found = []
    for name, text in (("a", "1,0\n0,1\n"), ("b", "1,0\n0,1\n"), ("c", "2,0\n0,1\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "q.csv").write_text(text)
        loaded = load_sweep(write(tmp_path / name, "s", {"base": {"problem": problem}, "sweep": {"repeat": 1}}))
        found.append(loaded.points[0].id)
        assert str(tmp_path / name / "q.csv") in loaded.spec_text(loaded.points[0])
    assert found[0] == found[1] != found[2]
    (tmp_path / "c" / "q.csv").unlink()
    with pytest.raises(DataError, match=r"no data file `q\.csv`; looked in"):
        load_sweep(tmp_path / "c" / "s.yaml")


def test_data_files_that_are_not_there_are_told_at_once_each_at_its_place(tmp_path):
    (tmp_path / "base.yaml").write_text(
        "problem:\n"
        "  domain: {kind: simplex, size: 2}\n"
        "  objective: {kind: quadratic, matrix: {file: q.csv}, linear: {file: c.csv}}\n"
    )
    axes = "sweep:\n  grid:\n    problem.objective.linear: [{file: d.csv}]\n"
    told = fault(tmp_path, "base: base.yaml\n" + axes, CgmError)
    assert "base.yaml:3:47: no data file `q.csv`" in told
    assert "s.yaml:4:39: no data file `d.csv`" in told
    assert "c.csv" not in told.replace("linear: {file: c.csv}", "")


# Faults


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        ("sweep: {}", "s.yaml:2:8: nothing is varied"),
        ("sweep: {grid: {solver.beta0: []}}", "s.yaml:2:30: an empty list has no values"),
        ("sweep: {grid: {solver.beta0: {range: [0, 1, 0]}}}", "with a step that is not zero"),
        ("sweep: {grid: {solver.beta0: {range: [0, 1, -1]}}}", "the steps lead away from `stop`"),
        ("sweep: {grid: {solver.beta0: {logspace: [0, 1, 3]}}}", "both ends must be more than 0"),
        ("sweep: {grid: {solver.beta0: {linspce: [0, 1, 3]}}}", "did you mean `linspace`?"),
        ("sweep: {zip: {solver.beta0: [1, 2], seed: [1]}}", "`solver.beta0` has 2, `seed` has 1"),
        ("sweep: {grid: {seed: [1]}, repeat: 2}", "`seed` is varied twice"),
        (
            "sweep: {grid: {seed: [1]}, exclude: [{seed: 2}]}",
            "this excludes nothing: there is no point where seed is 2",
        ),
        ("sweep: {grid: {seed: [1]}, exclude: [{seed: 1}]}", "every point is excluded"),
        ("sweep: {grid: {seed: {range: [1, 99999]}, solver.iterations: [1, 2]}}", "199998 points are more than"),
        ("sweep: {repeat: 2}\nexecutr: slurm", "did you mean `executor`?"),
    ],
)
def test_faults_of_the_sweep_itself(tmp_path, axes, told):
    assert told in fault(tmp_path, BASE + axes)


def test_faults_of_the_points_are_told_at_once_each_at_its_place(tmp_path):
    text = (
        "base: base.yaml\n"
        "sweep:\n"
        "  grid:\n"
        "    solver.beta: [1, 2]\n"
        "    problem.radius: [1.0, -2]\n"
        "    solver.oracle.mode: [fixed, additive]\n"
        "    stop.gap.x: [1]\n"
    )
    (tmp_path / "base.yaml").write_text("problem: {template: minimax-ball, size: 2, radius: 1.0}\nlogg: {every: 1}\n")
    told = fault(tmp_path, text, CgmError)
    assert "s.yaml:4:5: unknown key `beta`" in told and "did you mean `beta0`?" in told
    assert "s.yaml:5:27: expected more than 0, got -2" in told
    assert "s.yaml:6:33: an oracle with additive error needs a `delta`" in told
    assert "s.yaml:7:18" in told
    assert "base.yaml:2:1: unknown key `logg`" in told
    assert "point 1: solver.beta=1" in told and "and 7 more" in told
    assert told.count("unknown key `beta`") == 1


def test_a_key_that_leads_nowhere(tmp_path):
    told = fault(tmp_path, BASE + "sweep: {grid: {problem.size.x: [1]}}")
    assert "s.yaml:2:16: `problem.size` is a single value, it has nothing inside" in told


def test_a_key_inside_what_the_base_does_not_have_is_told_where_it_was_written(tmp_path):
    told = fault(tmp_path, BASE + "sweep: {grid: {problem.constraints.7.weight: [1]}}")
    assert "s.yaml:2:16: unknown key `constraints`" in told
    told = fault(tmp_path, BASE + "set: {solver.nothing.here: 1}\nsweep: {repeat: 2}")
    assert "s.yaml:2:7: unknown key `nothing`" in told


def test_a_fault_of_an_inline_base_has_its_line(tmp_path):
    told = fault(tmp_path, "base:\n  problem: {template: minimax-ball, size: 2, radius: -1}\nsweep: {repeat: 2}\n")
    assert "s.yaml:2:54: expected more than 0, got -1" in told


def test_a_base_that_is_not_there_and_a_spec_in_place_of_a_sweep(tmp_path):
    assert "s.yaml:1:7: there is no file" in fault(tmp_path, "base: nowhere.yaml\nsweep: {repeat: 2}\n")
    assert "this is a spec, not a sweep" in fault(tmp_path, "problem: {template: minimax-ball, size: 2}\n")
    assert "s.yaml:1:7: " in (told := fault(tmp_path, "base: .\nsweep: {repeat: 2}\n")) and "is a folder" in told
    assert "is a sweep itself" in fault(tmp_path, "base: s.yaml\nsweep: {repeat: 2}\n")


def test_a_sweep_in_place_of_a_spec(tmp_path):
    path = write(tmp_path, "s", {"base": TINY, "sweep": {"repeat": 2}})
    with pytest.raises(SpecError, match=r"this is a sweep, not a spec\n.*`cgm sweep`"):
        load(path)


# The command


def test_a_thousand_points_are_expanded_and_validated_in_seconds(tmp_path):
    axes = {
        "grid": {"solver.beta0": {"linspace": [0.1, 10, 100]}, "solver.oracle.tolerance": {"logspace": [1e-6, 0.1, 10]}}
    }
    write(tmp_path, "s", {"base": TINY, "sweep": axes})
    began = time.monotonic()
    out, _ = sweep(tmp_path, "s.yaml", "--dry-run")
    assert time.monotonic() - began < 5
    assert "1000 runs, 0 of them done already" in out and len(out.splitlines()) == 1004
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_estimates_from_the_time_limits(tmp_path):
    write(tmp_path, "s", {"base": {**TINY, "stop": {"time": 9.0}}, "sweep": {"repeat": 6}, "workers": 2})
    assert "time: at most 30.0s for 6 runs, 2 at a time" in sweep(tmp_path, "s.yaml", "--dry-run")[0]


def test_a_fault_ends_with_exit_code_2_and_nothing_is_started(tmp_path):
    write(tmp_path, "s", {"base": TINY, "sweep": {"grid": {"solver.beta0": [1, -1]}}})
    _, errors = sweep(tmp_path, "s.yaml", code=2)
    assert "expected more than 0, got -1" in errors
    assert not (tmp_path / "runs").exists()


# Many faults


def test_fifty_faulty_points_are_told_and_the_others_not_looked_at(tmp_path):
    sizes = "".join(f"      - abc{i}\n" for i in range(1234))
    told = fault(tmp_path, BASE + "sweep:\n  grid:\n    problem.size:\n" + sizes)
    assert told.count("s.yaml:") == 50
    assert told.endswith("\n\n1,184 of 1,234 points have not been looked at")


def test_fifty_missing_files_of_points_are_told(tmp_path):
    files = "".join(f"      - {{file: none{i}.npy}}\n" for i in range(1234))
    told = fault(tmp_path, BASE + "sweep:\n  grid:\n    problem.start:\n" + files, Several)
    assert told.count("s.yaml:") == 50
    assert told.endswith("\n\n1,184 of 1,234 points have not been looked at")


def test_fifty_of_many_faults_of_the_base_are_told(tmp_path):
    unknown = "".join(f"  key{i}: 1\n" for i in range(1234))
    told = fault(
        tmp_path,
        "base:\n  problem: {template: minimax-ball, size: 2, radius: 1.0}\n" + unknown + "sweep: {repeat: 3}\n",
        Several,
    )
    assert told.count("s.yaml:") == 50
    assert told.endswith("\n\nand 1,184 more\n\n2 of 3 points have not been looked at")


def test_fifty_of_many_faults_of_a_sweep_file_are_told(tmp_path):
    told = fault(tmp_path, BASE + "sweep: {repeat: 3}\n" + "".join(f"key{i}: 1\n" for i in range(1234)))
    assert told.count("s.yaml:") == 50 and told.endswith("\n\nand 1,184 more")
    told = fault(tmp_path, BASE + "sweep:\n  grid:\n" + "".join(f"    a..{i}: [1]\n" for i in range(1234)))
    assert told.count("s.yaml:") == 50 and told.endswith("\n\nand 1,184 more")
