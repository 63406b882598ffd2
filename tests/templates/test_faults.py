"""Faults in the spec of a template: each told once, in plain words, for the form that was meant."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from cgm_cli.spec import registry
from cgm_cli.spec.faults import SpecError
from cgm_cli.spec.fields import ArrayField, ByKeys, TableArray, mappings
from cgm_cli.spec.load import dump, loads


def faults(problem, overrides=()):
    """Path below `problem`, message and hint of each fault."""
    with pytest.raises(SpecError) as caught:
        loads(dump({"problem": problem}), overrides)
    return [(".".join(map(str, fault.path[1:])), fault.message, fault.hint) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("problem", "path", "message"),
    [
        ({"template": "max-cut", "graph": {"nodes": -1, "edges": 3}}, "graph.nodes", "expected more than 0, got -1"),
        ({"template": "max-cut", "graph": {"file": 3}}, "graph.file", "expected text, got 3"),
        ({"template": "max-cut", "graph": {"file": "a", "nodes": 3}}, "graph.nodes", "unknown key `nodes`"),
        ({"template": "max-cut", "graph": {"nodes": 3}}, "graph", "missing key `edges`"),
        ({"template": "lovasz-theta", "graph": {"nodes": 0, "edges": 3}}, "graph.nodes", "expected more than 0, got 0"),
        ({"template": "lovasz-theta", "graph": {"cycle": 2}}, "graph.cycle", "expected at least 3, got 2"),
        (
            {"template": "lovasz-theta", "graph": {}},
            "graph",
            "expected a mapping with the keys {file} or {nodes, edges} or {cycle}",
        ),
        (
            {"template": "kmeans-sdp", "clusters": 2, "points": {"dataset": "digit"}},
            "points.dataset",
            "expected `digits`, got text 'digit'",
        ),
        (
            {"template": "kmeans-sdp", "clusters": 2, "points": {"dataset": "digits", "count": 3}},
            "points.count",
            "expected at least 20, got 3",
        ),
        (
            {"template": "kmeans-sdp", "clusters": 2, "points": {"file": "a.npy", "transpose": 1}},
            "points.transpose",
            "expected true or false, got 1",
        ),
        (
            {"template": "max-affine", "slopes": {"pieces": 0, "size": 1}},
            "slopes.pieces",
            "expected more than 0, got 0",
        ),
        (
            {"template": "max-affine", "slopes": [[1, 2], [3]]},
            "slopes",
            "row 1 has 2 entries, but row 2 has 1: every row needs as many",
        ),
        (
            {"template": "max-affine", "slopes": "abc"},
            "slopes",
            "expected a mapping or a number, a list of numbers, a list of rows, or {file: ...}, got text 'abc'",
        ),
        (
            {"template": "matrix-game", "payoff": {"rows": 0, "columns": 1}},
            "payoff.rows",
            "expected more than 0, got 0",
        ),
        ({"template": "matrix-completion", "matrix": {"key": "a"}}, "matrix", "missing key `file`"),
        (
            {"template": "spectrahedron-game", "matrices": {"size": 0, "count": 1}},
            "matrices.size",
            "expected more than 0, got 0",
        ),
    ],
)
def test_a_mapping_is_told_the_faults_of_the_form_it_is_closest_to(problem, path, message):
    assert [fault[:2] for fault in faults(problem)] == [(path, message)]


def test_an_override_of_one_key():
    problem = {"template": "max-cut", "graph": {"nodes": 5, "edges": 4}}
    found = faults(problem, ["problem.graph.nodes=-1"])
    assert found == [("graph.nodes", "expected more than 0, got -1", None)]


def test_a_misspelt_key_is_explained_by_the_form_it_belongs_to():
    found = faults({"template": "max-cut", "graph": {"node": 5, "edges": 4}})
    assert ("graph.node", "unknown key `node`", "did you mean `nodes`?") in found
    assert ("graph", "missing key `nodes`", "number of nodes") in found
    assert len(found) == 2


def every_field():
    for kind in ("template", "domain", "loss", "penalty", "set", "map"):
        for name in registry.FAMILIES[kind]:
            for key, field in registry.lookup(kind, name).Spec.model_fields.items():
                yield name, key, field


def test_every_union_of_mappings_is_picked_by_keys():
    several = [
        (name, key, field)
        for name, key, field in every_field()
        # Arrays, whose own reader tells files from tables, count as one form.
        if len({model for model in mappings(field.annotation) if model is not TableArray}) > 1
    ]
    assert {(name, key) for name, key, _ in several} >= {("max-cut", "graph"), ("kmeans-sdp", "points")}
    unmarked = [(name, key) for name, key, field in several if not any(isinstance(m, ByKeys) for m in field.metadata)]
    assert unmarked == []


def test_the_json_schema_is_that_of_the_union():
    for name, key, field in every_field():
        if any(isinstance(mark, ByKeys) for mark in field.metadata):
            schema = TypeAdapter(registry.lookup("template", name).Spec).json_schema()["properties"][key]
            assert schema["anyOf"] == _plain(field.annotation), (name, key)


def _plain(annotation):
    return TypeAdapter(annotation).json_schema()["anyOf"]


def test_the_models_of_a_union():
    assert [model.__name__ for model in mappings(ArrayField)] == ["FileArray", "TableArray"]
    assert mappings(list[ArrayField]) == []


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ("{domain: {kind: nuclear-ball, shape: [4]}}", "needs at least 2 entries, but has 1"),
        ("{domain: {kind: nuclear-ball, shape: [4, 5, 6]}}", "takes at most 2 entries, but has 3"),
        ("{domain: {kind: product, blocks: []}}", "needs at least 1 entry, but has none"),
        ("{domain: {kind: l2-ball, size: []}}", "needs at least 1 entry, but has none"),
        ("{domains: [{kind: simplex, size: 3}]}", "needs at least 2 entries, but has 1"),
        ('{template: max-cut, graph: {file: ""}}', "expected some text, got none"),
        (
            f"{{domain: {{kind: simplex, size: 3}}, penalties: [{{kind: l1, name: {'a' * 70}}}]}}",
            "takes at most 60 characters, but has 70",
        ),
        (f"{{template: {'x' * 200_000}}}", f"unknown template `{'x' * 57}...`"),
        (
            f"{{domain: {{kind: simplex, size: 3, {'x' * 500}: 1}}}}",
            f"unknown key `{'x' * 57}...`",
        ),
        ("{domain: {kind: simplex, size: 9223372036854775808}}", "this whole number is too large"),
    ],
)
def test_lengths_are_told_in_plain_words(problem, message):
    with pytest.raises(SpecError) as caught:
        loads(f"problem: {problem}\n")
    assert any(fault.message.startswith(message) for fault in caught.value.faults)
    assert len(caught.value.message) < 1000
