"""Loading: every fault at once, each at its place and in plain words; overrides; the canonical form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgm_cli.errors import DataError, ErrorCollector, ProblemError, Several, located
from cgm_cli.spec import explain
from cgm_cli.spec.faults import SpecError, _lines
from cgm_cli.spec.load import describe_error, dump, load, loads, one_line, resolved
from cgm_cli.spec.yaml_reader import parse_value
from cgm_cli.text import visible

pytestmark = pytest.mark.usefixtures("stub_registry")

GOOD = """\
name: good
problem:
  domain: {kind: box, upper: {file: x.npy}, size: [3, 4]}
  objective: {kind: least-squares, map: {kind: stack, maps: [{kind: identity}]}, target: [[1, 2], [3, 4]]}
  constraints:
    - {kind: box, lower: 0, upper: 1, weight: 3, name: "012"}
  penalties:
    - {kind: l1, offset: [1, 2e-3]}
solver: {beta0: 0.5, oracle: {mode: exact}}
stop: {time: 1h30m, gap: 1e-7}
source:
  x.npy: {from: "https://example.org/x.npy"}
"""
TEMPLATE = "problem: {template: max-cut, graph: {file: g.txt}}\n"


def faults(text: str, overrides: list[str] | None = None):
    with pytest.raises(SpecError) as caught:
        loads(text, overrides or [], path="x.yaml")
    return caught.value.faults


def one_fault(text: str, overrides: list[str] | None = None):
    found = faults(text, overrides)
    assert len(found) == 1, [fault.message for fault in found]
    return found[0]


def test_good():
    spec = loads(GOOD)
    term = spec.problem.constraints[0]
    assert (term.kind, term.upper, term.weight, term.name, term.map.kind) == ("box", 1.0, 3.0, "012", "identity")
    assert spec.problem.penalties[0].offset == [1.0, 2e-3]
    assert spec.problem.objective.map.maps[0].kind == "identity"
    assert spec.stop.time == 5400.0
    assert spec.source["x.npy"].from_ == "https://example.org/x.npy"


def test_every_key_of_a_file_is_named():
    """Also those of its columns, where none of them is given."""
    fault = one_fault(GOOD.replace("{file: x.npy}", "{file: x.npy, factor: 2}"))
    assert fault.message == "unknown key `factor`"
    assert {"scale", "columns", "column", "except", "decimal", "missing"} < set(re.split("[ ,]+", fault.hint))


def test_defaults():
    spec = loads(TEMPLATE)
    assert spec.problem.rounds == 100
    assert (spec.solver.method, spec.solver.beta0, spec.solver.iterations) == ("auto", "auto", 100_000)
    assert (spec.stop.gap, spec.stop.infeasibility) == (1e-4, 1e-4)
    assert (spec.solver.oracle.mode, spec.solver.oracle.tolerance) == ("fixed", None)
    assert (spec.log.every, spec.log.metrics_every, spec.bound.certify, spec.seed) == (1, 10, "final", 0)


@pytest.mark.parametrize(
    ("stem", "name"),
    [("a-b.c", "a-b.c"), ("two words", "two-words"), (".hidden", "hidden"), ("ünï", "n-"), ("--", "spec")],
)
def test_name_comes_from_the_file(tmp_path, stem, name):
    path = tmp_path / f"{stem}.yaml"
    path.write_text(TEMPLATE)
    assert load(path).name == name


@pytest.mark.parametrize("name", ["a/b", "..", ".x", "-x", "a b", "x" * 101, "", "a\\n", "ä"])
def test_names_that_no_folder_should_have(name):
    fault = one_fault(TEMPLATE + f'name: "{name}"\n')
    assert fault.path == ("name",)
    assert "letters, digits" in fault.message


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "hint"),
    [
        (TEMPLATE + "solver: {bta0: 1}\n", 2, 10, "unknown key `bta0`", "did you mean `beta0`?"),
        (TEMPLATE + "sede: 1\n", 2, 1, "unknown key `sede`", "did you mean `seed`?"),
        (TEMPLATE + "solver: {metrics-every: 1}\n", 2, 10, "unknown key `metrics-every`", "known here: method, beta0"),
        (TEMPLATE + "log: {metrics-every: 1}\n", 2, 7, "unknown key `metrics-every`", "did you mean `metrics_every`?"),
        (TEMPLATE + "solver: {iterations: 1.5e0}\n", 2, 22, "expected a whole number, got 1.5", None),
        (TEMPLATE + "solver: {iterations: 1e20}\n", 2, 22, "expected a whole number, got 1e+20", None),
        (TEMPLATE + "solver: {iterations: -1}\n", 2, 22, "expected at least 0, got -1", None),
        (
            TEMPLATE + "solver: {beta0: autto}\n",
            2,
            17,
            "expected a number or one of `auto`, `optimal`, got text 'autto'",
            "`auto`",
        ),
        (
            TEMPLATE + "solver: {beta0: '0.5'}\n",
            2,
            17,
            "expected a number or one of `auto`, `optimal`",
            "write 0.5, without quotes",
        ),
        (TEMPLATE + "solver: {beta0: .nan}\n", 2, 17, "expected a finite number, got nan", None),
        (TEMPLATE + "solver: {beta0: -.inf}\n", 2, 17, "expected a finite number, got -inf", None),
        (TEMPLATE + "solver: {beta0: 1e999}\n", 2, 17, "expected a finite number, got inf", None),
        (TEMPLATE + "solver: {beta0: 0}\n", 2, 17, "expected more than 0, got 0", None),
        (TEMPLATE + "solver: {beta0: true}\n", 2, 17, "expected a number or one of `auto`, `optimal`, got true", None),
        (TEMPLATE + "solver: {beta0: 012}\n", 2, 17, "got text '012'", "write 12, without"),
        (TEMPLATE + "solver: {beta0: 1_000}\n", 2, 17, "got text '1_000'", "without underscores"),
        (TEMPLATE + "solver: {method: hcgn}\n", 2, 18, "expected one of `auto`, `hcgm`", "did you mean `hcgm`?"),
        (TEMPLATE + "solver: {oracle: {tolerance: 1}}\n", 2, 30, "expected less than 1, got 1", None),
        (TEMPLATE + "solver: hcgm\n", 2, 9, "expected a mapping, got text 'hcgm'", None),
        (TEMPLATE + "solver:\n", 2, 8, "expected a mapping, got nothing", None),
        (TEMPLATE + "seed: 1.5\n", 2, 7, "expected a whole number, got 1.5", None),
        (TEMPLATE + "seed: true\n", 2, 7, "expected a whole number, got true", None),
        (TEMPLATE + "name: 12\n", 2, 7, "expected text, got 12", "quotes"),
        (TEMPLATE + "stop: {time: 10x}\n", 2, 14, "expected seconds or a duration", None),
        (TEMPLATE + "stop: {time: 0}\n", 2, 14, "expected more than 0, got 0", None),
        (TEMPLATE + "stop: {time: 12:30}\n", 2, 14, "expected seconds or a duration", None),
        (TEMPLATE + "source: {a: {from: x, sha256: abc}}\n", 2, 31, "expected 64 hexadecimal digits", None),
        (TEMPLATE + "source: {a: {form: x, from: x}}\n", 2, 14, "unknown key `form`", "did you mean `from`?"),
        ("seed: 1\n", 1, 1, "missing key `problem`", "a template"),
        ("problem: 3\n", 1, 10, "expected a mapping, got 3", None),
        ("problem: {}\n", 1, 1, "missing key `domain`", "template"),
        ("problem: {template: max-ct}\n", 1, 21, "unknown template `max-ct`", "did you mean `max-cut`?"),
        ("problem: {template: [a]}\n", 1, 21, "expected the name of a template, got a list of 1", None),
        ("problem: {template: max-cut}\n", 1, 1, "missing key `graph`", "the graph"),
        ("problem: {template: max-cut, graph: g.txt}\n", 1, 37, "expected a mapping, got text 'g.txt'", None),
        (
            "problem: {template: max-cut, graph: {file: g}, centred: yes}\n",
            1,
            57,
            "expected true or false",
            "write true",
        ),
        ("problem: {domain: {kind: bx, upper: 1}}\n", 1, 26, "unknown domain `bx`", "did you mean `box`?"),
        ("problem: {domain: {upper: 1}}\n", 1, 11, "missing key `kind`", "one of: box, product"),
        ("problem: {domain: box}\n", 1, 19, "expected a mapping with a `kind`, got text 'box'", None),
        ("problem: {domain: {kind: box, upper: {fil: x, file: y}}}\n", 1, 39, "unknown key `fil`", "`file`"),
        ("problem: {domain: {kind: box, upper: [1, a]}}\n", 1, 42, "expected a number, got text 'a'", None),
        ("problem: {domain: {kind: box, upper: [[1, 2], [3, .inf]]}}\n", 1, 51, "expected a finite number", None),
        ("problem: {domain: {kind: box, upper: [[1, 2], [3]]}}\n", 1, 38, "row 1 has 2 entries, but row 2 has 1", None),
        ("problem: {domain: {kind: box, upper: [[1, 2], 3]}}\n", 1, 47, "expected a list, got 3", None),
        ("problem: {domain: {kind: box, upper: one}}\n", 1, 38, "expected a number, a list of numbers", None),
        ("problem: {domain: {kind: box, upper: 1, size: [2, 0]}}\n", 1, 51, "expected more than 0, got 0", None),
    ],
)
def test_faults(text, line, column, message, hint):
    fault = one_fault(text)
    assert message in fault.message
    assert (fault.line, fault.column) == (line, column)
    if hint is None:
        assert fault.hint is None or "did you mean" not in fault.hint
    else:
        assert hint in fault.hint


@pytest.mark.parametrize(
    ("where", "term", "message", "hint"),
    [
        ("constraints", "{kind: l1}", "unknown constraint set `l1`", "`l1` belongs under `penalties`"),
        ("penalties", "{kind: least-squares}", "unknown penalty `least-squares`", "belongs under `objective`"),
        ("penalties", "{kind: l1, weight: 0}", "expected more than 0, got 0", None),
        ("penalties", "{kind: l1, wieght: 2}", "unknown key `wieght`", "did you mean `weight`?"),
        ("penalties", "{kind: l1, sclae: 2}", "unknown key `sclae`", "did you mean `scale`?"),
        ("penalties", "{kind: l1, map: identity}", "expected a mapping with a `kind`", None),
        ("penalties", "{kind: l1, map: {kind: identiti}}", "unknown map `identiti`", "did you mean `identity`?"),
        ("penalties", "{kind: l1, name: a/b}", "expected letters", None),
        ("penalties", "{kind: l1, reduction: max}", "expected one of `sum`, `mean`, got text 'max'", None),
    ],
)
def test_faults_of_terms(where, term, message, hint):
    fault = one_fault(f"problem:\n  domain: {{kind: box, upper: 1}}\n  {where}:\n    - {term}\n")
    assert message in fault.message
    assert fault.line == 4
    assert fault.path[:3] == ("problem", where, 0)
    assert hint is None or hint in fault.hint


def test_every_fault_at_once_in_the_order_of_the_text():
    # Each fault is where a dollar sign stands.
    marked = (
        "$nme: a\n"
        "problem:\n"
        "  domain: {kind: product, blocks: [${kind: box}, {kind: $bx}, $3]}\n"
        "  penalties:\n"
        "    - {kind: l1, scale: $no}\n"
        "    - {kind: l1, map: {kind: stack, maps: [{kind: identity, $x: 1}, ${kind: stack}]}}\n"
        "seed: $-1\n"
    )
    text = marked.replace("$", "")
    expected, line, column = [], 1, 1
    for character in marked:
        if character == "$":
            expected.append((line, column))
        elif character == "\n":
            line, column = line + 1, 1
        else:
            column += 1
    found = faults(text)
    assert [(fault.line, fault.column) for fault in found] == expected
    assert found[5].path == ("problem", "penalties", 1, "map", "maps", 0, "x")


def test_a_fault_of_what_is_used_more_than_once_is_told_once():
    fault = one_fault(
        "problem:\n  domain: {kind: box, upper: 1}\n  penalties:\n    - &p {kind: l1, scale: no}\n    - *p\n"
        "    - {<<: *p, weight: 2}\n"
    )
    assert (fault.line, fault.column) == (4, 28) and "got text 'no'" in fault.message


def test_rendering():
    with pytest.raises(SpecError) as caught:
        loads(TEMPLATE + "solver:\n  bta0: 1\n", path="dir/x.yaml")
    assert caught.value.message == "dir/x.yaml:3:3: unknown key `bta0`\n    bta0: 1\n    ^\n  did you mean `beta0`?"


@pytest.mark.parametrize("before", [0, 300, 5000])
def test_the_caret_stands_under_the_fault_in_long_lines(before):
    text = TEMPLATE + f"stop: {{{' ' * before}gap: 0, infeasibility: 1{' ' * 300}}}\n"
    with pytest.raises(SpecError) as caught:
        loads(text)
    _, source, caret = caught.value.message.splitlines()[:3]
    assert len(source) < 130
    assert source[caret.index("^")] == "0"


def test_control_characters_do_not_reach_the_terminal():
    with pytest.raises(SpecError) as caught:
        loads(TEMPLATE + '"a\\e[31m\\x9b\\u202e": 1\n')
    assert re.fullmatch(r"[\x20-\x7e\n\ufffd]*", caught.value.message)


def test_overrides():
    spec = loads(GOOD, ["problem.constraints.0.weight=2e0", "solver.oracle={mode: fixed}", "stop.gap=null", "seed=7"])
    assert spec.problem.constraints[0].weight == 2.0
    assert spec.solver.oracle.mode == "fixed"
    assert spec.stop.gap is None
    assert spec.seed == 7
    assert spec.overrides[3] == "seed=7"


def test_overrides_make_sections_and_the_last_one_wins():
    assert loads(TEMPLATE, ["bound.every=3", "bound.every=5"]).bound.every == 5


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("solver.$bta0=1", "unknown key `bta0`"),
        ("solver={$bta0: 1}", "unknown key `bta0`"),
        ("solver.beta0=$on", "got text 'on'"),
        (" solver . beta0 = $on", "got text 'on'"),
        ("solver.iterations=$1.5", "expected a whole number, got 1.5"),
        ("solver={beta0: 1,\n iterations: $-1}", "expected at least 0, got -1"),
        ("problem.constraints.0.weight=$-2", "expected more than 0"),
        ("problem.constraints.$1.weight=2", "a list of 1, it has no `1`"),
        ("problem.constraints.$-1.weight=2", "it has no `-1`"),
        ("problem.constraints.$a=2", "it has no `a`"),
        ("problem.constraints.$٣=2", "it has no"),
        ("name.$x=2", "`name` is a single value"),
        ("problem.$nothing.here=2", "unknown key `nothing`"),
        ("seed$", "expected `key.key=value`"),
        ("$=3", "expected `key.key=value`"),
        ("solver.$b\udcff=1", "expected `key.key=value`"),
        ("a.$.b=3", "expected `key.key=value`"),
        ("seed=$[", "not valid YAML"),
        ("seed=$*a", "has the anchor `&a`"),
        ("problem.$domain={kind: box}", "missing key `upper`"),
    ],
)
def test_faults_of_overrides_point_into_the_override(override, message):
    """A dollar sign stands where the caret is to be."""
    before, override = override.partition("$")[0], override.replace("$", "", 1)
    fault = one_fault(GOOD, [override])
    assert message in fault.message
    assert fault.override == override
    assert (fault.line, fault.column) == (before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1)
    with pytest.raises(SpecError) as caught:
        loads(GOOD, [override], path="x.yaml")
    told, source, caret = caught.value.message.splitlines()[:3]
    assert told.startswith(f"--set {visible(override)}: ")
    assert source == f"  {visible(override.splitlines()[fault.line - 1])}"
    assert caret == " " * (fault.column + 1) + "^"


@pytest.mark.parametrize(
    ("override", "hint"),
    [
        ("beta0=1", "did you mean `solver.beta0`?"),
        ("rounds=1", "did you mean `problem.rounds`?"),
        ("oracle.tolerance=1e-3", "did you mean `solver.oracle.tolerance`?"),
        ("every=3", "did you mean `log.every`, `bound.every` or `checkpoint.every`?"),
        ("sovler.beta0=1", "did you mean `solver.beta0`?"),
        ("sede=1", "did you mean `seed`?"),
        ("zzz=1", "known here: name, problem, solver"),
    ],
)
def test_the_end_of_a_key_is_answered_with_the_whole(override, hint):
    fault = one_fault(TEMPLATE, [override])
    assert fault.message.startswith("unknown key `") and fault.column == 1
    assert fault.hint is not None and fault.hint.startswith(hint)


def test_whole_numbers_may_be_written_as_powers_of_ten():
    spec = loads(TEMPLATE + "solver: {iterations: 1e3}\nseed: 2.0\n", ["stop.stagnation=5e2"])
    found = (spec.solver.iterations, spec.seed, spec.stop.stagnation)
    assert found == (1000, 2, 500) and {type(value) for value in found} == {int}


def test_a_fault_of_the_file_keeps_its_line_beside_overrides():
    found = faults(GOOD.replace("beta0: 0.5", "beta0: 0"), ["seed=-1"])
    assert [(fault.line, fault.override) for fault in found] == [(1, "seed=-1"), (9, None)]


def test_later_errors_point_into_the_spec():
    spec = loads(GOOD, path=Path("x.yaml"))
    with pytest.raises(DataError) as caught, located("problem", "domain"), located("upper", "file"):
        raise DataError("no such file")
    lines = describe_error(caught.value, spec).splitlines()
    assert re.fullmatch(r"x\.yaml:3:\d+: no such file", lines[0])
    assert lines[1][lines[2].index("^") :].startswith("x.npy")


def test_later_errors_point_to_the_nearest_thing_there_is():
    spec = loads(GOOD, path=Path("x.yaml"))
    error = ProblemError("no fit", ("problem", "constraints", 0, "map", "kind"))
    assert describe_error(error, spec).startswith("x.yaml:6:7: no fit\n")
    assert describe_error(ProblemError("no fit", ("nowhere", 3)), spec).startswith("x.yaml:1:1: no fit\n")
    assert describe_error(ProblemError("no fit"), spec) == "no fit"
    assert describe_error(ProblemError("no fit", ("seed",)), None) == "no fit"


def test_later_errors_name_the_override():
    spec = loads(GOOD, ["problem.domain.upper=3"])
    error = ProblemError("no fit", ("problem", "domain", "upper"))
    told = "--set problem.domain.upper=3: no fit\n  problem.domain.upper=3\n                       ^"
    assert describe_error(error, spec) == told


@pytest.mark.parametrize("text", [GOOD, TEMPLATE])
def test_resolved_loads_again(text):
    spec = loads(text)
    again = loads(resolved(spec))
    assert again == spec
    assert resolved(again) == resolved(spec)
    assert loads(text, ["seed=1"]) != spec


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1.5", 1.5), ("90s", 90), ("10m", 600), ("1h30m", 5400)])
def test_durations(text, seconds):
    assert loads(TEMPLATE + f"stop: {{time: {text}}}\n").stop.time == seconds


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.sampled_from(["no", "1e-3", "012", "12:30", "null", "~", "", "0x10", ".nan", "2020-01-01", "=", "a: b", "#"])
)
_TREES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab1-_.", min_size=1, max_size=5), inner),
    max_leaves=15,
)


@given(_TREES)
def test_dump_is_read_back(tree):
    assert _same(parse_value(dump(tree)).tree, tree)
    assert _same(parse_value(one_line(tree)).tree, tree)
    assert "\n" not in one_line(tree)


def _same(left, right) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return left == right


@given(st.dictionaries(st.sampled_from(["name", "problem", "solver", "stop", "log", "source", "seed", "x"]), _TREES))
def test_any_tree_loads_or_is_a_spec_error(tree):
    try:
        loads(dump(tree))
    except SpecError as error:
        assert all(fault.line is not None for fault in error.faults)


# ---- many faults


_MANY = {
    "unknown keys": (TEMPLATE + "".join(f"key{i}: 1\n" for i in range(4000)), 4000),
    "unknown keys on one line": (
        "problem: {template: max-cut, graph: {file: g.txt, " + ", ".join(f"key{i}: 1" for i in range(4000)) + "}}\n",
        4000,
    ),
    "text among numbers": (GOOD.replace("[1, 2e-3]", "[" + "abc, " * 4000 + "]"), 4000),
    "terms": (GOOD.replace("  penalties:\n", "  penalties:\n" + "    - {kind: nope}\n" * 4000), 4000),
    "sources": (TEMPLATE + "source:\n" + "".join(f"  f{i}: 1\n" for i in range(4000)), 4000),
    "duplicate keys": (TEMPLATE + "seed: 1\n" * 4001, 4000),
    "aliases": (TEMPLATE + "".join(f"k{i}: *a\n" for i in range(4000)), 4000),
    "whole numbers that are too large": (TEMPLATE + "seed: [" + "99999999999999999999, " * 4000 + "]\n", 4000),
}


@pytest.mark.parametrize("case", _MANY)
def test_fifty_faults_are_told_and_the_others_counted(case, monkeypatch):
    """Nor is more looked for than is told: no likely name, and no line of the text, for a fault that is not shown."""
    text, count = _MANY[case]
    calls = []
    monkeypatch.setattr(explain, "did_you_mean", lambda given, known: calls.append(given))
    _lines.cache_clear()
    with pytest.raises(SpecError) as caught:
        loads(text, path="x.yaml")
    error = caught.value
    assert len(error.faults) == 50 and error.more == count - 50
    assert error.message.count("x.yaml:") == 50
    assert error.message.endswith(f"\n\nand {count - 50:,} more")
    # In the order of the text.
    places = [(fault.line, fault.column) for fault in error.faults]
    assert places == sorted(places) and places[-1] < max((i, len(line)) for i, line in enumerate(text.split("\n"), 1))
    assert len(calls) <= 50
    assert _lines.cache_info().misses == 1
    assert len(error.message) < 50 * 600


def test_the_first_faults_of_the_text_are_told_whatever_finds_them():
    """Unknown keys come last in pydantic's order, and here first in the text."""
    text = "zzz: 1\n" + GOOD.replace("[1, 2e-3]", "[" + "abc, " * 100 + "]")
    assert faults(text)[0].message == "unknown key `zzz`"


def test_many_overrides_that_cannot_be_applied():
    with pytest.raises(SpecError) as caught:
        loads(
            TEMPLATE + "seed: 1\n",
            [f"seed.x{i}=1" for i in range(200)] + ["seed=[" + "*a, " * 200 + "]"],
            path="x.yaml",
        )
    assert (len(caught.value.faults), caught.value.more) == (50, 350)
    with pytest.raises(SpecError) as caught:
        loads(TEMPLATE, [f"x{i}=1" for i in range(200)], path="x.yaml")
    assert (len(caught.value.faults), caught.value.more) == (50, 150)


def test_many_errors_after_loading():
    spec = loads(GOOD.replace("  penalties:\n", "  penalties:\n" + "    - {kind: l1}\n" * 200))
    gathering = ErrorCollector()
    for index in range(200):
        with gathering.part("problem", "penalties", index):
            raise ProblemError("does not fit")
    with pytest.raises(Several) as caught:
        gathering.raise_all()
    assert caught.value.message.count("does not fit") == 50 and caught.value.message.endswith("and 150 more")
    message = describe_error(caught.value, spec)
    assert message.count("<spec>:") == 50 and message.endswith("\n\nand 150 more")


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("kind: l1", "kind: {}"),
        GOOD.replace("kind: l1", "{}: l1"),
        GOOD.replace('"012"', '"{}!"'),
        GOOD.replace("1h30m", "{}"),
        GOOD.replace("beta0: 0.5", "beta0: {}"),
        GOOD.replace("mode: exact", "mode: {}"),
        GOOD.replace("{kind: identity}", "!{} {kind: identity}"),
        GOOD.replace("name: good", "name: {} x"),
        TEMPLATE + "seed: {}\n",
        TEMPLATE + "{}: 1\n",
        TEMPLATE + "{0}: 1\n{0}: 2\n",
        TEMPLATE + "x: &{} 1\n",
        TEMPLATE + "x: *{}\n",
        TEMPLATE + '"{}\n',
    ],
)
@pytest.mark.parametrize("word", ["k", "4"])
def test_what_is_long_is_cut(text, word):
    long = word * 100_000
    with pytest.raises(SpecError) as caught:
        loads(text.replace("{0}", long).replace("{}", long), path="x.yaml")
    assert len(caught.value.message) < 1500


def test_where_a_file_is_to_be_had_is_cut():
    spec = loads(GOOD.replace("https://example.org/", "https://example.org/" + "x" * 10_000))
    assert spec.source["x.npy"].advice.startswith("Get it from https://example.org/xxx")
    assert len(spec.source["x.npy"].advice) < 600
