"""What every registered block and template owes to the spec: examples that load, a schema, a line in the catalogue."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cgm_cli.spec import catalogue, registry
from cgm_cli.spec.fields import BlockSpec, PolicySpec, TemplateSpec
from cgm_cli.spec.json_schema import spec_schema
from cgm_cli.spec.load import dump, loads, resolved
from cgm_cli.spec.skeleton import skeleton
from cgm_cli.spec.summaries import FAMILIES, summaries
from cgm_cli.spec.terms import TermFields, term_model
from cgm_cli.spec.yaml_reader import parse

POLICIES = ("smoothing", "step", "oracle", "correction", "duals")
BLOCKS = [
    (family, kind)
    for family, kinds in registry.FAMILIES.items()
    if family not in ("template", *POLICIES)
    for kind in kinds
]


def spec_around(family, example):
    """The smallest problem that has the example in its place."""
    problem = {"domain": {"kind": "box", "lower": 0, "upper": 1, "size": 4}}
    if family == "domain":
        problem["domain"] = example
    elif family == "loss":
        problem["objective"] = example
    elif family == "map":
        problem["penalties"] = [{"kind": "l1", "map": example}]
    else:
        problem["constraints" if family == "set" else "penalties"] = [example]
    return dump({"problem": problem})


@pytest.mark.parametrize(("family", "kind"), BLOCKS)
def test_examples_load_and_are_resolved_to_themselves(family, kind):
    schema = registry.lookup(family, kind).Spec
    assert issubclass(schema, BlockSpec)
    assert schema.examples
    for example in schema.examples:
        spec = loads(spec_around(family, example))
        assert loads(resolved(spec)) == spec


@pytest.mark.parametrize(
    ("family", "kind"), [(family, kind) for family in POLICIES for kind in registry.FAMILIES[family]]
)
def test_examples_of_policies_load_and_are_resolved_to_themselves(family, kind):
    schema = registry.lookup(family, kind).Spec
    assert issubclass(schema, PolicySpec)
    assert schema.examples
    problem = {"domain": {"kind": "box", "lower": 0, "upper": 1, "size": 4}, "penalties": [{"kind": "l1"}]}
    for example in schema.examples:
        spec = loads(dump({"problem": problem, "solver": {family: example}}))
        assert getattr(spec.solver, family).name == kind
        assert loads(resolved(spec)) == spec
    if family != "oracle":
        # Its name alone stands for it, and is what is written where that says everything.
        spec = loads(dump({"problem": problem, "solver": {family: kind}}))
        assert spec.solver.model_dump()[family] == kind


@pytest.mark.parametrize(("family", "kind"), [block for block in BLOCKS if block[0] in ("set", "penalty")])
def test_no_field_of_a_term_is_shadowed(family, kind):
    schema = registry.lookup(family, kind).Spec
    assert not schema.model_fields.keys() & TermFields.model_fields.keys()
    assert issubclass(term_model(schema), schema)


@pytest.mark.parametrize("template", registry.TEMPLATES)
def test_templates(template):
    schema = registry.lookup("template", template).Spec
    assert issubclass(schema, TemplateSpec)
    assert schema.examples
    for example in schema.examples:
        spec = loads(dump({"problem": example}))
        assert loads(resolved(spec)) == spec


@pytest.mark.parametrize("template", registry.TEMPLATES)
def test_skeletons_load(template):
    spec = loads(skeleton(template))
    example = registry.lookup("template", template).Spec.examples[0]
    assert spec.problem == loads(dump({"problem": example})).problem


@pytest.mark.parametrize("family", catalogue.FAMILIES)
def test_catalogue(family):
    found = catalogue.entries(family)
    assert found
    for entry in found:
        assert entry.description
        assert all(parameter.type and parameter.description for parameter in entry.parameters), entry.name


def test_schema_is_closed():
    schema = spec_schema()

    def references(node):
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"]
            for value in node.values():
                yield from references(value)
        elif isinstance(node, list):
            for value in node:
                yield from references(value)

    found = set(references(schema))
    assert {reference.removeprefix("#/$defs/") for reference in found} <= schema["$defs"].keys()
    for family, kinds in registry.FAMILIES.items():
        definition = f"{family}-term" if family in ("set", "penalty") else family
        # Of a policy the name alone is enough; and some blocks may be made by a function of the user's.
        assert len(schema["$defs"][definition]["oneOf"]) == len(kinds) + (family in POLICIES) + (
            family in registry.PYTHON
        )
    assert "required" not in schema
    assert schema["anyOf"] == [{"required": ["problem"]}, {"required": ["extends"]}]
    parse(dump(schema))


def test_listing_loads_no_library_that_only_a_few_blocks_need():
    """What compiles, reads or draws is imported where it is used: looking up a schema does not wait for it."""
    code = "import sys; from cgm_cli.spec.catalogue import FAMILIES, entries\n"
    code += "for family in FAMILIES: entries(family)\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "cgm_cli.templates.kmeans_sdp" in loaded
    heavy = {"numba", "sklearn", "skimage", "matplotlib", "h5py", "PIL", "scipy.optimize", "scipy.special"}
    late = heavy & set(loaded)
    assert not late, "import it in the function that uses it, not at the head of the module"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_summary_is_the_first_line_of_what_is_loaded(family):
    assert summaries(family) == {entry.name: entry.description for entry in catalogue.entries(family)}


def test_listing_imports_nothing_that_is_listed():
    program = (
        "import sys; from cgm_cli.cli import main\ntry: main(['list'])\nfinally: assert 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
