"""The strict YAML reader: types, refusals, positions, and that no input ends in anything but a SpecError."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgm_cli.spec import yaml_reader
from cgm_cli.spec.faults import SpecError
from cgm_cli.spec.yaml_reader import parse, parse_value, plain_value, read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        ("1e3", 1e3),
        ("-1e-3", -1e-3),
        ("1E+3", 1e3),
        (".5", 0.5),
        ("-.5e1", -5.0),
        ("2.", 2.0),
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("0x10", 16),
        ("0o17", 15),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("y", "y"),
        ("012", "012"),
        ("010", "010"),
        ("00.5", "00.5"),
        ("12:30", "12:30"),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("1_000", "1_000"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1e", "1e"),
        ("0b1", "0b1"),
        ("tRuE", "tRuE"),
        ("=", "="),
    ],
)
def test_plain_scalars(text, value):
    found = parse(f"a: {text}\n").tree["a"]
    assert found == value
    assert type(found) is type(value)


def test_nan_is_a_float():
    assert math.isnan(parse("a: .nan").tree["a"])


def test_quoted_and_block_scalars_are_text():
    tree = parse("a: '1'\nb: \"true\"\nc: |\n  1e3\nd: >-\n  no\n").tree
    assert tree == {"a": "1", "b": "true", "c": "1e3\n", "d": "no"}


def test_keys_are_text_as_written():
    assert parse("1: a\non: b\n012: c\n~: d").tree == {"1": "a", "on": "b", "012": "c", "~": "d"}


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "duplicate key `a`, first given at line 1, column 1"),
        ("x: {a: 1, a: 2}\n", 1, 11, "duplicate key `a`, first given at line 1, column 5"),
        ("a: *x\n", 1, 4, "no value that ends before this has the anchor `&x`"),
        ("a: &x [*x]\n", 1, 8, "no value that ends before this has the anchor `&x`"),
        ("a: &x 1\nb: &x [*x]\n", 2, 8, "no value that ends before this has the anchor `&x`"),
        ("a: *x\nb: &x 1\n", 1, 4, "no value that ends before this has the anchor `&x`"),
        ("a: &x !!str 1\nb: *x\n", 1, 4, "tags"),
        ("<<: 1\n", 1, 5, "`<<` takes a mapping, or a list of mappings"),
        ("a: {<<: [{b: 1}, 2]}\n", 1, 18, "`<<` takes a mapping, or a list of mappings"),
        ("<<: {a: 1}\n<<: {b: 1}\n", 2, 1, "duplicate key `<<`"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, 4, "tags"),
        ("a: !!binary aGk=\n", 1, 4, "tags"),
        ("a: !x 1\n", 1, 4, "tags"),
        ("a:\n\tb: 1\n", 2, 1, "tab"),
        ("a:\n  b: 1\n \tc: 2\n", 3, 2, "tab"),
        ("", 1, 1, "empty"),
        ("# nothing\n", 1, 1, "empty"),
        ("- a\n", 1, 1, "mapping"),
        ("just text\n", 1, 1, "mapping"),
        ("a: 1\n---\nb: 2\n", 2, 1, "one document"),
        ("? [a]\n: b\n", 1, 3, "key must be plain text"),
        ("{[a]: b}\n", 1, 2, "key must be plain text"),
        ("*a : b\n", 1, 1, "key must be plain text, not an alias"),
        ("a: [1, 2\n", 1, 4, "not valid YAML: `,` or `]` is missing in this list"),
        ("a: 'x\n", 1, 4, "not valid YAML: a quotation mark is not closed"),
        ("a: @b\n", 1, 4, "cannot begin a value"),
        ("a: {b: 1\n", 1, 4, "not valid YAML: `,` or `}` is missing in this mapping"),
        ("a: [1,,2]\n", 1, 7, "not valid YAML: a value is missing, or a character is too many"),
        ("a: 'it's'\n", 1, 8, "not valid YAML: a line is not indented like those before it, or is no `key: value`"),
        ('a: "x\\q"\n', 1, 6, "not valid YAML: a backslash in double quotes begins an escape, and this is none"),
        ("a: *\n", 1, 4, "not valid YAML: `&` and `*` begin anchors and aliases"),
        ("a: 1\nb\nc: 2\n", 3, 1, "not valid YAML: a colon is missing after a key"),
        ("a: 1\n...\nb\n", 3, 1, "not valid YAML: something follows after the end of the spec"),
        ("a: b: c\n", 1, 5, "not valid YAML: a colon is not allowed here"),
        ("a: \x00\n", 1, 4, "U+0000"),
        ("é: \x1b[2J\n", 1, 4, "U+001B"),
        ("a: 9223372036854775808\n", 1, 4, "too large: the limit is 9223372036854775807"),
        (f"a: {'9' * 100_000}\n", 1, 4, "too large: the limit is 9223372036854775807"),
        ("a: 0x" + "f" * 16 + "\n", 1, 4, "too large: the limit is 9223372036854775807"),
    ],
)
def test_refusals(text, line, column, words):
    with pytest.raises(SpecError) as caught:
        parse(text, Path("x.yaml"))
    assert len(caught.value.faults) == 1
    fault = caught.value.faults[0]
    assert words in fault.message
    assert (fault.line, fault.column) == (line, column)
    assert f"x.yaml:{line}:{column}: " in caught.value.message


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a: &x 1e-3\nb: [*x, *x]", {"a": 1e-3, "b": [1e-3, 1e-3]}),
        ("a: &x {b: [1, {c: 2}]}\nd: *x", {"a": {"b": [1, {"c": 2}]}, "d": {"b": [1, {"c": 2}]}}),
        ("a: &x '1'\nb: *x", {"a": "1", "b": "1"}),
        ("a: &x 1\nb: *x\nc: &x 2\nd: *x", {"a": 1, "b": 1, "c": 2, "d": 2}),
        ("a: &x 1\nb: &y [*x]\nc: &x 2\nd: *y", {"a": 1, "b": [1], "c": 2, "d": [1]}),
        ("a: &x [&y 1, *y]\nb: [*x, *y]", {"a": [1, 1], "b": [[1, 1], 1]}),
        ("&k a: 1\nb: *k", {"a": 1, "b": "a"}),
        ("<<: {a: 1}", {"a": 1}),
        ("'<<': {a: 1}", {"<<": {"a": 1}}),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\ne: {c: 3, <<: *x}", None),
        ("<<: [{a: 1}, {a: 2, b: 2}]\nc: 3", {"a": 1, "b": 2, "c": 3}),
        ("<<: {a: {b: 1}}\na: {c: 2}", {"a": {"c": 2}}),
        ("<<: {<<: {a: 1, b: 1}, b: 2}\nc: 3", {"a": 1, "b": 2, "c": 3}),
        ("a: {<<: []}", {"a": {}}),
    ],
)
def test_anchors_aliases_and_merge_keys(text, tree):
    found = parse(text).tree
    if tree is None:
        assert found["d"] == found["e"] == {"b": 1, "c": 3}
    else:
        assert found == tree


def test_what_aliases_stand_for_is_not_shared():
    tree = parse("a: &x {b: [1]}\nc: *x\nd: {<<: *x}").tree
    tree["a"]["b"].append(2)
    assert tree["c"] == tree["d"] == {"b": [1]}


def test_positions_of_aliases_are_those_of_the_anchors():
    where = parse("a: &x {b: [1]}\nc: *x\nd:\n  <<: *x\n  e: 2\n").positions
    assert where[("c",)] == ((2, 1), (1, 4))
    assert where[("c", "b", 0)] == where[("d", "b", 0)] == ((1, 12), (1, 12))
    assert where[("d", "b")].key == (1, 8)
    assert where[("d", "e")].key == (5, 3)


def test_all_recoverable_faults_are_told_at_once():
    with pytest.raises(SpecError) as caught:
        parse("a: &x 99999999999999999999\nb: *y\na: 2\nc: !!str d\ne: *x\n")
    assert [fault.line for fault in caught.value.faults] == [1, 2, 3, 4]


@pytest.mark.parametrize("use", ["[{}]", "{{a: {}}}", "{{<<: [{}]}}"])
def test_alias_bombs_end_at_the_limits(use):
    width = 9
    lines = [f"a0: &a0 {{k0: [{', '.join(['x'] * width)}]}}"]
    for i in range(1, 60):
        aliases = ", ".join([f"*a{i - 1}"] * width) if "[" in use else f"[{', '.join([f'*a{i - 1}'] * width)}]"
        lines.append(f"a{i}: &a{i} {use.format(aliases)}")
    began = time.monotonic()
    with pytest.raises(SpecError, match="more than 200000 values"):
        parse("\n".join(lines))
    assert time.monotonic() - began < 20


def test_aliases_within_aliases_are_as_deep_as_what_is_written_out():
    lines = ["a0: &a0 [x]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 80))]
    assert parse("\n".join(lines[:62]))
    with pytest.raises(SpecError, match="64 levels"):
        parse("\n".join(lines))


def test_aliases_count_as_what_they_stand_for(monkeypatch):
    monkeypatch.setattr(yaml_reader, "MAX_NODES", 12)
    assert parse("a: &x [1, 2]\nb: *x\nc: [1]")
    with pytest.raises(SpecError, match="more than 12 values"):
        parse("a: &x [1, 2]\nb: *x\nc: *x")


@pytest.mark.parametrize("depth", [65, 3000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}")])
def test_depth(depth, opening, closing):
    with pytest.raises(SpecError):
        parse("x: " + opening * depth + closing * depth)


def test_depth_limit_is_inclusive():
    inside = yaml_reader.MAX_DEPTH - 1
    assert parse("x: " + "[" * inside + "]" * inside).tree
    with pytest.raises(SpecError, match="64 levels"):
        parse("x: " + "[" * (inside + 1) + "]" * (inside + 1))


def test_deep_block_nesting():
    with pytest.raises(SpecError, match="64 levels"):
        parse("\n".join(" " * i + "a:" for i in range(100)))


def test_node_count(monkeypatch):
    monkeypatch.setattr(yaml_reader, "MAX_NODES", 10)
    assert parse("a: [1, 2, 3, 4, 5, 6, 7]")
    with pytest.raises(SpecError, match="more than 10 values"):
        parse("a: [1, 2, 3, 4, 5, 6, 7, 8]")


def test_size(tmp_path, monkeypatch):
    monkeypatch.setattr(yaml_reader, "MAX_BYTES", 1_000_000)
    path = tmp_path / "big.yaml"
    path.write_text("#" * 1_000_001)
    with pytest.raises(SpecError, match="at most 1 MB"):
        read(path)


@pytest.mark.parametrize(
    ("raw", "line", "column"),
    [
        (b"a: 1\nb: \xff\n", 2, 4),
        ("a: 1".encode("utf-16"), 1, 1),
        (b"\xe9: 1", 1, 1),
        (b"\xef\xbb\xbfb: \x9e", 1, 4),
        (b"\xef\xbb\xbf\x9e", 1, 1),
    ],
)
def test_not_utf8(tmp_path, raw, line, column):
    path = tmp_path / "x.yaml"
    path.write_bytes(raw)
    with pytest.raises(SpecError) as caught:
        read(path)
    fault = caught.value.faults[0]
    assert "not UTF-8" in fault.message
    assert (fault.line, fault.column) == (line, column)


def test_utf8_with_byte_order_mark(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    document = read(path)
    assert document.tree == {"a": 1, "b": 2}
    assert document.positions[("b",)].key == (2, 1)


@pytest.mark.parametrize("name", ["missing.yaml", ".", "a" * 5000, "nul\0byte"])
def test_unreadable_path(tmp_path, name):
    with pytest.raises(SpecError, match="cannot be read"):
        read(tmp_path / name)


def test_positions():
    document = parse("problem:\n  domain: {kind: box,\n    upper: [1, 2.5]}\n  list:\n    - a\n    - b: c\n")
    where = document.positions
    assert where[("problem",)] == ((1, 1), (2, 3))
    assert where[("problem", "domain", "kind")] == ((2, 12), (2, 18))
    assert where[("problem", "domain", "upper")] == ((3, 5), (3, 12))
    assert where[("problem", "domain", "upper", 1)] == ((3, 16), (3, 16))
    assert where[("problem", "list", 0)] == ((5, 7), (5, 7))
    assert where[("problem", "list", 1, "b")] == ((6, 7), (6, 10))


_KEYS = st.text("abcdefgh", min_size=1, max_size=4)
_TREES = st.recursive(
    st.integers(-(10**6), 10**6) | st.booleans() | st.none() | st.text("xyz", max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(_KEYS, _TREES, max_size=4))
def test_positions_lead_to_the_values(tree):
    import json

    # JSON is YAML: what stands at a position must be the beginning of the value's JSON.
    text = json.dumps(tree, indent=2)
    document = parse(text)
    assert document.tree == tree
    lines = text.split("\n")
    for path, position in document.positions.items():
        node = tree
        for step in path:
            node = node[step]
        line, column = position.value
        assert lines[line - 1][column - 1 :].startswith(json.dumps(node)[:1])
        if path and isinstance(path[-1], str):
            line, column = position.key
            assert lines[line - 1][column - 1 :].startswith(json.dumps(path[-1]))


def _only_spec_errors(text: str) -> None:
    try:
        document = parse(text)
    except SpecError as error:
        assert error.faults
        assert error.exit_code == 2
        for fault in error.faults:
            assert fault.line is None or 1 <= fault.line <= text.count("\n") + text.count("\r") + 10
    else:
        assert isinstance(document.tree, dict)


@given(st.binary(max_size=200))
def test_any_bytes(tmp_path_factory, raw):
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_bytes(raw)
    try:
        read(path)
    except SpecError as error:
        assert str(path) in error.message


@given(st.text(max_size=200))
def test_any_text(text):
    _only_spec_errors(text)


@given(st.integers(0, 8), st.text("&*a :\n-[]{},?!|\"'", max_size=25))
def test_any_arrangement_of_marks(indent, text):
    _only_spec_errors("a:\n" + " " * indent + text)


@given(st.text("abk:-?[]{},&*!|>'\"%@`#~ \n\t0123456789.eE+x\\u", max_size=80))
def test_any_yaml_like_text(text):
    _only_spec_errors("a: " + text)


@given(st.text("0123456789abcdefx.eE+-_:~", max_size=30))
def test_any_scalar(text):
    try:
        value = plain_value(text)
    except ValueError:
        return
    assert value is None or type(value) in (str, int, float, bool)


def test_parse_value_takes_any_top_level():
    assert parse_value("1e-3").tree == 1e-3
    assert parse_value("[1, no]").tree == [1, "no"]
    assert parse_value("").tree is None
