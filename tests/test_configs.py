"""Every spec and sweep we ship, every template's examples and what `cgm init` writes: they load, run and verify."""

from pathlib import Path

import pytest

from cgm_cli.api import solve
from cgm_cli.spec import registry
from cgm_cli.spec.load import dump, load, loads, resolved
from cgm_cli.spec.skeleton import skeleton
from cgm_cli.spec.yaml_reader import parse
from cgm_cli.sweeps.load import load_sweep
from cgm_cli.sweeps.preview import preview
from cgm_cli.verify.check import verify
from tests.data import has_data
from tests.verify.support import sure

PROJECT = Path(__file__).resolve().parents[1]
SWEEPS = sorted((PROJECT / "configs" / "sweeps").glob("*.yaml"))
CONFIGS = sorted(set((PROJECT / "configs").rglob("*.yaml")) - set(SWEEPS))
SHORT = ["solver.iterations=3", "log.every=1", "log.metrics_every=1000"]
SMALLER = {
    "maxcut-random-cgal.yaml": ["problem.graph={nodes: 1000, edges: 4000}"],
    "blind-deconvolution.yaml": ["problem.signal={length: 400, taps: 4, message: camera, size: 7}"],
    "phase-retrieval.yaml": ["problem.size=7"],
    "ptychography.yaml": ["problem.size=7", "problem.masks.across=3"],
}
"""What is made smaller of a spec: three steps as they are would take half a minute, or are more than can be checked."""
ENDED = {"iteration-limit", "converged"}

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def files_of(tree):
    """Every `file:` of a spec."""
    if isinstance(tree, dict):
        named = [tree["file"]] if isinstance(tree.get("file"), str) else []
        return named + [name for value in tree.values() for name in files_of(value)]
    return [name for value in tree for name in files_of(value)] if isinstance(tree, list) else []


def run(source, overrides, out, folder):
    """Solve for three iterations; skips where a data file is missing."""
    tree = source if isinstance(source, dict) else load(source).model_dump(by_alias=True)
    for name in files_of(tree):
        if not has_data(name) and not any((place / name).is_file() for place in (folder, PROJECT / "data")):
            pytest.skip(f"{name} is in no folder of CGM_DATA")
    records = []
    result = solve(source, overrides, out=out, on_record=records.append)
    assert result.status.value in ENDED
    assert result.record.k <= 3
    assert [record.k for record in records] == list(range(result.record.k + 1))
    assert all(record.objective == record.objective for record in records)
    return result


def test_there_are_specs():
    assert len(CONFIGS) >= 4


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(PROJECT / "configs")))
def test_a_shipped_spec_loads_and_its_resolved_form_is_the_same_spec(path):
    spec = load(path)
    text = resolved(spec)
    again = loads(text)
    assert again == spec
    assert resolved(again) == text


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(PROJECT / "configs")))
def test_a_shipped_spec_runs_and_verifies(path, tmp_path):
    fewer = ["problem.restarts=3"] if load(path).model_dump()["problem"].get("restarts") else SMALLER.get(path.name, [])
    run(path, SHORT + fewer, tmp_path / "run", path.parent)
    sure(verify(tmp_path / "run"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(PROJECT / "configs")))
def test_every_data_file_of_a_shipped_spec_says_where_it_comes_from(path):
    spec = load(path).model_dump(by_alias=True)
    missing = set(files_of(spec["problem"])) - set(spec["source"])
    assert not {
        name for name in missing if not (path.parent / name).is_file() and not (PROJECT / "data" / name).is_file()
    }


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.name)
def test_a_shipped_sweep_is_valid_and_its_first_points_run(path, tmp_path):
    sweep = load_sweep(path)
    assert len(sweep.points) == len({point.id for point in sweep.points})
    assert len(list(preview(sweep, tmp_path / "runs").lines())) == len(sweep.points) + 4
    for point in sweep.points[:2]:
        run(parse(sweep.spec_text(point)).tree, SHORT, tmp_path / point.id, tmp_path)


def test_there_are_sweeps():
    assert len(SWEEPS) >= 3


EXAMPLES = [
    pytest.param(example, id=f"{name}-{number}")
    for name in registry.TEMPLATES
    for number, example in enumerate(registry.lookup("template", name).Spec.examples)
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_of_a_template_runs_and_verifies(example, tmp_path):
    tree = {"name": "example", "problem": example}
    assert loads(resolved(loads(dump(tree)))) == loads(dump(tree))
    run(tree, SHORT, tmp_path / "run", tmp_path)
    sure(verify(tmp_path / "run"))


@pytest.mark.parametrize("name", list(registry.TEMPLATES))
def test_what_init_writes_runs(name, tmp_path):
    path = tmp_path / f"{name}.yaml"
    path.write_text(skeleton(name))
    run(path, SHORT, tmp_path / "run", tmp_path)
