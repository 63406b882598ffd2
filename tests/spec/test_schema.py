"""JSON Schema, catalogue and skeleton, on blocks whose answer is known."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cgm_cli.spec import catalogue
from cgm_cli.spec.json_schema import spec_schema
from cgm_cli.spec.load import loads
from cgm_cli.spec.skeleton import skeleton
from cgm_cli.sweeps.json_schema import sweep_schema

pytestmark = pytest.mark.usefixtures("stub_registry")


def test_schema():
    schema = spec_schema()
    json.dumps(schema, allow_nan=False)
    definitions = schema["$defs"]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["properties"]["problem"]["anyOf"] == [
        {"$ref": "#/$defs/spec.ComposedProblem"},
        {"$ref": "#/$defs/template"},
    ]
    assert definitions["domain"]["oneOf"] == [
        {"$ref": f"#/$defs/domain.{name}"} for name in ("box", "product", "python")
    ]
    assert definitions["domain.product"]["properties"]["blocks"]["items"] == {"$ref": "#/$defs/domain"}
    assert definitions["domain.box"]["properties"]["upper"]["$ref"] == "#/$defs/array"
    assert definitions["map.stack"]["properties"]["maps"]["items"] == {"$ref": "#/$defs/map"}
    constraints = definitions["spec.ComposedProblem"]["properties"]["constraints"]
    assert constraints["items"] == {"$ref": "#/$defs/set-term"}
    term = definitions["set-term.box"]
    assert list(term["properties"]) == ["kind", "lower", "upper", "map", "offset", "weight", "name"]
    assert term["required"] == ["kind"]
    assert term["additionalProperties"] is False
    assert definitions["array"]["anyOf"][3] == {"$ref": "#/$defs/array.FileArray"}


def test_catalogue():
    (entry,) = [entry for entry in catalogue.entries("templates") if entry.name == "max-cut"]
    assert entry.description == "The max-cut relaxation."
    graph, rounds, centred = entry.parameters
    assert (graph.name, graph.type, graph.required) == ("graph", "mapping (file, key, transpose, scale)", True)
    assert (rounds.type, rounds.default, rounds.description) == ("whole number > 0", 100, "random cuts tried")
    assert (centred.type, centred.default, centred.required) == ("true or false", False, False)
    (box,) = [entry for entry in catalogue.entries("domains") if entry.name == "box"]
    assert [parameter.type for parameter in box.parameters][2] == "whole number > 0 or list of whole number > 0"
    (loss,) = catalogue.entries("losses")
    assert loss.parameters[0].default == {"kind": "identity"}


def test_skeleton():
    text = skeleton("max-cut")
    spec = loads(text)
    assert spec == loads("name: max-cut\nproblem: {template: max-cut, graph: {file: graph.txt}}\n")
    assert "  # rounds: 100" in text
    assert "random cuts tried (whole number > 0)" in text


def test_schemas_do_not_load_numerics():
    code = "import sys, cgm_cli.spec.load, cgm_cli.spec.catalogue; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "numba", "h5py", "rich"} & set(loaded)


def test_schema_of_a_sweep_file():
    schema = sweep_schema()
    json.dumps(schema, allow_nan=False)
    assert schema["required"] == ["base", "sweep"] and schema["additionalProperties"] is False
    assert {"grid", "zip", "random", "repeat", "exclude"} == set(schema["$defs"]["AxesSpec"]["properties"])
    assert "per-task" in schema["$defs"]["SlurmSpec"]["properties"]
