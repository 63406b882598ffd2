"""A data file in place of a spec: what it is taken for, the spec that is made of it, and what comes out."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import re
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from cgm_cli.api import solve
from cgm_cli.cli import main
from cgm_cli.errors import CgmError, DataError
from cgm_cli.methods.status import Status
from cgm_cli.readers.kinds import KINDS, recognise
from cgm_cli.runs.load import load_run
from cgm_cli.spec.load import load, loads
from cgm_cli.verify.check import verify
from cgm_cli.verify.report import Verdict

CYCLE = "c five-cycle and a node of its own\np edge 6 5\ne 1 2\ne 2 3\ne 3 4\ne 4 5\ne 5 1\n"
LP_BLOCK = """\
3 =mdim
2 =nblocks
{-3, 2}
-0.0 -0.5 -1
0 1 1 1 -1
1 1 1 1 -1
1 1 2 2 1
2 1 1 1 -1
2 1 3 3 1
3 1 1 1 -1
1 2 1 1 1.0
2 2 1 1 0.5
2 2 1 2 0.5
3 2 1 2 0.5
3 2 2 2 0.5
"""
TWO_BLOCKS = """\
* a comment
3
2
2 2
1 1 1
0 1 1 1 -1
0 2 1 2 0.5
1 1 1 1 1
2 2 1 1 1
3 2 2 2 1
"""
NO_CONSTRAINTS = "0\n1\n-2\n\n0 1 1 1 -1.0\n0 1 2 2 -1.0\n"
DENSE = "1\n1\n2\n{1.0}\n{{2, 1}, {1, 2}}\n{{1, 0}, {0, 1}}\n"  # the largest eigenvalue of F_0
# minimise tr X + 7 with X_01 = 1
LEAST_TRACE = """\
VER
1
OBJSENSE
MIN
PSDVAR
1
2
CON
1 1
L= 1
OBJFCOORD
2
0 0 0 1
0 1 1 1
OBJBCOORD
7
FCOORD
1
0 0 1 0 0.5
BCOORD
1
0 -1
"""
# maximise 2 x_0 + 3 x_1 - x_2 with x_0 >= 0, x_1 free, x_2 <= 0, x_0 + x_1 <= 4, x_1 - x_0 <= 2, x_2 >= -1
LINEAR = """\
VER
1
OBJSENSE
MAX
VAR
3 3
L+ 1
F 1
L- 1
CON
3 2
L- 2
L+ 1
OBJACOORD
3
0 2
1 3
2 -1
ACOORD
5
0 0 1
0 1 1
1 0 -1
1 1 1
2 2 1
BCOORD
3
0 -4
1 -2
2 1
"""
TIGHT = ["stop.gap=1e-7", "stop.infeasibility=1e-7"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cgm(*arguments):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return left.value.code or 0


@pytest.mark.parametrize(
    ("name", "text", "template", "value"),
    [
        ("c5_plus_node.col", CYCLE, "lovasz-theta", 1 + 5**0.5),
        ("lp_block_in_objective.dat-s", LP_BLOCK, "standard-sdp", -2 / 3),
        ("no_constraints.dat-s", NO_CONSTRAINTS, "standard-sdp", 0.0),
        ("dense.dat", DENSE, "standard-sdp", 3.0),
        ("least_trace.cbf", LEAST_TRACE, "standard-sdp", 9.0),
        ("cycle.txt", "5 5\n1 2\n2 3\n3 4\n4 5\n5 1\n", "max-cut", 4.5225424859),
        ("cycle.csv", "a,b\nb,c\nc,d\nd,e\ne,a\n", "max-cut", 4.5225424859),
        ("cycle.g6", "Dhc\n", "max-cut", 4.5225424859),
        ("cycle.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 1\n3 2\n", "max-cut", 2.25),
    ],
)
def test_values(here, name, text, template, value):
    (here / name).write_text(text)
    made = recognise(here / name)
    assert made is not None
    assert made.template == template
    answer = solve(name, TIGHT, out="run")
    assert answer.record.objective == pytest.approx(value, abs=1e-5)
    assert answer.record.bound == pytest.approx(value, abs=1e-5)
    assert not [row for row in verify(here / "run").rows if row.verdict is Verdict.FAILS]


def test_a_linear_program_with_a_free_variable(here):
    (here / "linear.cbf").write_text(LINEAR)
    answer = solve("linear.cbf")
    assert answer.status is Status.CONVERGED
    assert answer.record.objective == pytest.approx(12.0, rel=1e-4)
    assert answer.record.bound == pytest.approx(12.0, rel=1e-4)


def test_two_blocks_whose_optimum_is_zero(here):
    (here / "two.dat-s").write_text(TWO_BLOCKS)
    answer = solve("two.dat-s", ["stop.gap_absolute=1e-6"])
    assert answer.record.objective == pytest.approx(0.0, abs=1e-6)


def test_the_other_template_for_a_graph(here):
    (here / "c5.col").write_text(CYCLE)
    answer = solve("c5.col", [*TIGHT, "problem.template=max-cut"])
    assert answer.record.objective == pytest.approx(4.5225424859, abs=1e-5)
    assert answer.metrics["cut"] == 4.0


@pytest.mark.parametrize(("labels", "template"), [((1, -1, 1), "svm"), ((0.5, 1, 2), "sparse-regression")])
def test_samples(here, labels, template):
    (here / "d.svm").write_text("".join(f"{label} 1:{k} 3:{k * k - 2}\n" for k, label in enumerate(labels)))
    made = recognise(here / "d.svm")
    assert made is not None
    assert made.template == template
    assert solve("d.svm", out="run").status.exit_code == 0
    assert not [row for row in verify(here / "run").rows if row.verdict is Verdict.FAILS]


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("anything.txt", CYCLE, "a graph in a DIMACS format"),
        ("anything.txt", LP_BLOCK, "a semidefinite program in the SDPA format"),
        ("anything.txt", LINEAR, "a conic program in the Conic Benchmark Format"),
        ("anything", "+1 1:2\n-1 2:3 # a comment\n", "samples in the format of LIBSVM"),
        ("anything.dat", "2 1\n1 2 -1\n", "a graph in the G-set format"),
        ("damaged.txt", "3 1\n1 2\n2 3\n", "a graph in the G-set format"),
        ("anything.dat", ">>graph6<<DQc\n", "a graph in graph6"),
        ("anything", 'Creator "me"\ngraph [\n]\n', "a graph in GML"),
        ("anything.xml", '<?xml version="1.0"?>\n<graphml></graphml>\n', "a graph in GraphML"),
        ("anything.txt", "source\ttarget\nx\ty\n", "a list of edges"),
        ("anything.txt", '"SDPLIB: a title\n' + LP_BLOCK, "a semidefinite program in the SDPA format"),
        ("anything.txt", "\n" * 10**5 + CYCLE, "a graph in a DIMACS format"),
        ("damaged.col", "nothing of the kind\n", "a graph in a DIMACS format"),
        ("damaged.dat-s", "1\n", "a semidefinite program in the SDPA format"),
    ],
)
def test_the_content_goes_before_the_name(here, name, text, kind):
    (here / name).write_text(text)
    (here / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    for path in (here / name, here / f"{name}.gz"):
        made = recognise(path)
        assert made is not None
        assert made.kind == kind


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("spec.yaml", "p edge 3 1\ne 1 2\n"),
        ("spec.yml", "3 1\n1 2\n"),
        ("spec", "problem:\n  template: max-cut\n"),
        ("spec.txt", "# a comment\n\nname: x\nproblem: {}\n"),
        ("spec.json", '{"problem": {"template": "max-cut"}}'),
        ("spec.dat", "---\nname: x\n"),
        ("windows", "\r\n# a comment\r\n\r\n'problem' : {}\r\n"),
        ("empty.yaml", ""),
    ],
)
def test_specs_are_left_alone(here, name, text):
    (here / name).write_text(text)
    assert recognise(here / name) is None


def test_what_is_not_there_is_told_as_before(here, capsys):
    assert recognise(here / "none.col") is None
    assert cgm("solve", "none.yaml") == 2
    assert "none.yaml: cannot be read" in capsys.readouterr().err


def test_data_files_are_found_where_a_spec_finds_them(here, tmp_path_factory, monkeypatch, capsys):
    shared = tmp_path_factory.mktemp("shared")
    monkeypatch.setenv("CGM_DATA", str(shared))
    (shared / "c5.csv").write_text("a,b\nb,c\nc,d\nd,e\ne,a\n")
    (here / "data").mkdir()
    (here / "data" / "c3.csv").write_text("a,b\nb,c\nc,a\n")
    assert cgm("solve", "c5.csv", "-q") == 0
    assert solve("c3.csv").record.bound == pytest.approx(2.25, abs=1e-3)
    assert cgm("init", "--from", "c5.csv") == 0
    assert load(here / "c5.yaml").problem.graph.file == str(shared / "c5.csv")
    assert cgm("init", "lovasz-theta", "--from", "c3.csv", "--out", "theta.yaml") == 0
    assert load(here / "theta.yaml").problem.graph.file == "data/c3.csv"
    capsys.readouterr()
    assert cgm("init", "--from", "c7.csv") == 3
    assert (
        f"c7.csv: there is nothing, and a data file is needed; looked in ., {shared}, data" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "content",
    [
        b"hello\n",
        b"\x89PNG\r\n\x00\xff",
        b"0.5\n0.25\n",
        b"1,2,3,4\n5,6,7\n",
    ],
)
def test_what_is_nothing_known_is_told_what_was_looked_for(here, content):
    (here / "what.csv").write_bytes(content)
    with pytest.raises(DataError, match="neither a spec, which is YAML, nor") as caught:
        recognise(here / "what.csv")
    assert "a graph in the G-set format" in caught.value.message


@pytest.mark.parametrize(
    "text", ["3\n\n0 1 2\n1 0 1\n2 1 0\n\n0 3 1\n3 0 2\n1 2 0\n", " 3\n" + "1 2 3 4 5 6\n" * 3, "3 " + "0 1 2 " * 6]
)
def test_assignment_problems_are_known(here, text, capsys):
    (here / "nug3.dat").write_text(text)
    assert recognise(here / "nug3.dat").template == "quadratic-assignment"
    assert cgm("solve", "nug3.dat", "--out", "run") == 0
    assert (
        "nug3.dat: a quadratic assignment problem of QAPLIB; template quadratic-assignment" in capsys.readouterr().err
    )


@pytest.mark.parametrize("name", ["a.dat", "a.txt"])
@pytest.mark.parametrize("size", [17, 19])
def test_damaged_assignment_problems_are_known(here, capsys, name, size):
    for run, separators in (("one", "\n\n"), ("two", " ")):
        (here / name).write_text("3" + separators + " ".join(map(str, range(size))))
        assert recognise(here / name).template == "quadratic-assignment"
        assert cgm("solve", name, "--out", run) == 3
        assert f"two matrices of order 3 have 18 numbers, and there are {size}" in capsys.readouterr().err


def test_a_dense_program_of_numbers_alone_is_no_assignment(here):
    plain = "1\n1\n2\n1.0\n2 1\n1 2\n1 0\n0 1\n"
    for text in (plain, "\n".join(plain.split())):
        (here / "a.dat").write_text(text)
        assert recognise(here / "a.dat").kind == "a semidefinite program in the SDPA format"
    # With another count of constraints it may as well be an assignment: it is damaged either way.
    (here / "a.dat").write_text("\n".join(["3", *plain.split()[1:]]))
    with pytest.raises(DataError, match=r"(?s)SDPA format .*standard-sdp.* or .*QAPLIB .*quadratic-assignment"):
        recognise(here / "a.dat")


@pytest.mark.parametrize("text", ["4 31\n2 1 4 3\n", "4 31 2 1 4 3", " 4\n31\n2,1,\n4,3"])
def test_solutions_of_assignment_problems_are_named(here, capsys, text):
    (here / "nug4.txt").write_text(text)
    assert cgm("solve", "nug4.txt") == 3
    assert "is a solution of a problem of QAPLIB, and no problem" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG\r\n\x00\xff", "binary data"),
        (b"1\n5\n", "a table of numbers, 1 in a line"),
        (b"1 2 3\n4 5 6 7\n", "numbers, 3 to 4 of them in a line"),
        (b"hello there\n", "a text that begins with 'hello there'"),
        (b"one,two\nthree\n", "a text that begins with 'one,two'"),
    ],
)
def test_what_is_nothing_known_is_told_what_it_looks_like(here, content, words):
    (here / "what").write_bytes(content)
    with pytest.raises(DataError, match=f"It looks like {words}"):
        recognise(here / "what")


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("city,east,north\nUlm,10,48\nBonn,7,51\nKiel,10,54\n", "kmeans-sdp"),
        ("a,b\n1,2\n", "kmeans-sdp"),
        ("1,2\n", "kmeans-sdp"),
        ("1,20\n2,30\n3,40\n", "kmeans-sdp"),
        ("city,east,length\nUlm,10,48\nBonn,7,51\n", "kmeans-sdp"),
        ("who,what\nann,tea\nbob,milk\n", "max-cut"),
    ],
)
def test_a_table_is_no_graph_unless_it_says_so(here, text, offered):
    (here / "t.csv").write_text(text)
    with pytest.raises(
        DataError, match=rf"t.csv: is a table, .*:\n +cgm init {offered} (?s:.*) cgm init max-cut|max-cut"
    ):
        recognise(here / "t.csv")
    (here / "spec.yaml").write_text("problem: {template: max-cut, graph: {file: t.csv}}\nsolver: {iterations: 2}\n")
    assert solve("spec.yaml").record.bound > 0.0  # where there has to be a graph, it is one


@pytest.mark.parametrize(
    "text", ["from,to\n1,2\n", "u;v;w\n1;2;0.5\n", "node1,node2\na,b\n", "1,2\n2,3\n", "a\tb\nb\tc\n"]
)
def test_edges_by_their_headings_or_nodes_that_recur(here, text):
    (here / "t.csv").write_text(text)
    made = recognise(here / "t.csv")
    assert made is not None
    assert made.kind == "a list of edges"


def test_solve_says_what_the_file_was_taken_for(here, capsys):
    (here / "c5.col").write_text(CYCLE)
    assert cgm("solve", "c5.col", "--out", "run") == 0
    assert capsys.readouterr().err.startswith("c5.col: a graph in a DIMACS format; template lovasz-theta\n")
    assert cgm("solve", "c5.col", "--out", "quiet", "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_faults_in_the_file_are_told_with_their_line(here, capsys):
    (here / "bad.col").write_text("p edge 3 1\ne 1 7\n")
    assert cgm("solve", "bad.col", "--quiet") == 3
    assert capsys.readouterr().err == f"{here}/bad.col: line 2: node 7 does not exist: they are numbered 1 to 3\n"


def test_overrides_are_keys_of_the_spec(here, capsys):
    (here / "c5.col").write_text(CYCLE)
    assert cgm("solve", "c5.col", "--set", "problem.nonnegative=true", "--out", "run", "-q") == 0
    assert load_run(here / "run").resolved["problem"]["nonnegative"] is True
    capsys.readouterr()
    assert cgm("solve", "c5.col", "--set", "problem.edges=3", "-q") == 2
    assert "--set problem.edges=3: unknown key `edges`" in capsys.readouterr().err


def test_the_run_goes_on_and_is_verified_from_elsewhere(here, monkeypatch):
    (here / "c5.col").write_text(CYCLE)
    assert cgm("solve", "c5.col", "--out", "run", "--set", "solver.iterations=1", "-q") == 0
    (here / "else").mkdir()
    monkeypatch.chdir(here / "else")
    assert cgm("resume", "../run", "--set", "solver.iterations=1000", "-q") == 0
    assert cgm("verify", "../run") == 0
    run = load_run(here / "run")
    assert run.summary is not None
    assert run.summary["objective"] == pytest.approx(1 + 5**0.5, abs=1e-3)
    # The folder holds the spec that was made, and that is one like any other.
    assert cgm("solve", "../run/spec.yaml", "-q") == 0


def test_a_file_and_a_run_to_go_on_with(here):
    (here / "c5.col").write_text(CYCLE)
    for _ in range(2):
        assert cgm("solve", "c5.col", "--resume", "run", "-q") == 0


def test_init_writes_the_spec_beside_its_file(here, capsys):
    (here / "my graph.col").write_text(CYCLE)
    assert cgm("init", "--from", "my graph.col") == 0
    spec = load(here / "my-graph.yaml")
    assert spec.problem.graph.file == "my graph.col"
    assert spec.name == "my-graph"
    assert "Theta is that of the graph as it stands" in (here / "my-graph.yaml").read_text()
    assert solve("my-graph.yaml", TIGHT).record.objective == pytest.approx(1 + 5**0.5, abs=1e-5)
    capsys.readouterr()
    assert cgm("init", "--from", "my graph.col") == 2
    assert "my-graph.yaml exists; --force overwrites it" in capsys.readouterr().err


def test_init_names_a_file_elsewhere_by_its_whole_path(here, capsys):
    folder = here / ("long: 'name' #" + " of a folder" * 12)
    folder.mkdir()
    (folder / "c5.col").write_text(CYCLE)
    capsys.readouterr()
    assert cgm("init", "--from", os.path.relpath(folder / "c5.col"), "--out", "-") == 0
    relative = loads(capsys.readouterr().out).problem.graph.file
    assert relative == os.path.relpath(folder / "c5.col")
    (here / "specs").mkdir()
    assert cgm("init", "--from", str(folder / "c5.col"), "--out", "specs/x.yaml") == 0
    assert load(here / "specs" / "x.yaml").problem.graph.file == str(folder / "c5.col")


@pytest.mark.parametrize(
    ("arguments", "code", "match"),
    [
        (("--from", "none.col"), 3, "none.col: there is nothing, and a data file is needed"),
        (("--from", "."), 3, "there is a folder"),
        (("--from", "spec.yaml"), 3, "spec.yaml: is a spec, or empty"),
        (("max-margin", "--from", "spec.yaml"), 3, "has no place for a file of its own kind"),
        (("max-cup", "--from", "spec.yaml"), 2, "did you mean `max-cut`"),
        ((), 2, "give a template, or a data file with --from, or both"),
    ],
)
def test_init_refuses(here, capsys, arguments, code, match):
    (here / "spec.yaml").write_text("name: x\n")
    assert cgm("init", *arguments) == code
    assert re.search(match, capsys.readouterr().err)


BLOBS = "a,b,kind\n" + "".join(
    f"{x + 10 * side},{x},{'left' if side else 'right'}\n" for x in range(4) for side in (0, 1)
)
NAMED = "\n".join(f"{line},{number or 'who'}{'th' * bool(number)}" for number, line in enumerate(BLOBS.splitlines()))
INDEXED = "\n".join(f"{number - 1 if number else ''},{line}" for number, line in enumerate(BLOBS.splitlines()))
RATINGS = "userId,movieId,rating\n" + "".join(f"u{i},m{j},{1 + (i * j) % 5}\n" for i in range(6) for j in range(5))


@pytest.mark.parametrize(
    ("content", "templates"),
    [
        (BLOBS, ["kmeans-sdp", "sparse-regression", "elastic-net", "least-absolute-deviations", "svm"]),
        ("0.5,1.5\n2.5,3.5\n", ["kmeans-sdp", "sparse-regression"]),
        (RATINGS, ["matrix-completion"]),
    ],
)
def test_what_does_not_say_its_problem_is_offered_templates(here, content, templates):
    (here / "own data.csv").write_text(content)
    with pytest.raises(DataError, match="does not say what is wanted") as caught:
        recognise(here / "own data.csv")
    for template in templates:
        assert f"cgm init {template} --from '{here}/own data.csv'" in caught.value.message


@pytest.mark.parametrize(
    ("template", "content", "expected"),
    [
        ("kmeans-sdp", BLOBS, {"clusters": 2, "points": {"columns": ["a", "b"]}, "labels": {"column": "kind"}}),
        ("kmeans-sdp", NAMED, {"clusters": 2, "points": {"names": "who"}, "labels": {"column": "kind"}}),
        ("kmeans-sdp", "who,a,b\nu,0,1\nv,.5,1\nw,7,8\n", {"clusters": 3, "points": {"names": "who"}}),
        ("kmeans-sdp", "0,1\n0.5,1\n7,8\n7,9\n", {"clusters": 3}),
        ("kmeans-sdp", INDEXED, {"points": {"columns": ["a", "b"], "names": 1}}),
        ("elastic-net", BLOBS, {"data": {"target": "b", "except": ["kind"]}}),
        ("elastic-net", NAMED, {"data": {"target": "b", "names": "who", "except": ["kind"]}}),
        ("sparse-regression", INDEXED, {"data": {"target": "b", "names": 1, "except": ["kind"]}}),
        ("least-absolute-deviations", "id;a;b\n7;1,5;2\n9;2;4\n11;3;5,5\n", {"data": {"target": "b", "names": "id"}}),
        ("svm", NAMED, {"data": {"target": "kind", "names": "who"}}),
        ("svm", INDEXED, {"data": {"target": "kind", "names": 1}}),
        ("svm", f"{NAMED}\n,NA,left,zo\n", {"data": {"target": "kind", "names": "who", "missing": "drop"}}),
        ("kmeans-sdp", f"{BLOBS}1,2,NA\n", {"clusters": 2, "points": {"columns": ["a", "b"], "missing": "drop"}}),
        ("sparse-regression", "y,x\n1,2\n2,4.5\n3,5.5\n4,8\n5,10\n", {"data": {"target": "y"}}),
        ("matrix-completion", RATINGS, {"ratings": {"user": "userId", "value": "rating"}, "held_out": 0.1}),
        ("lovasz-theta", "source,target\na,b\nb,c\n", {"graph": {}}),
        ("svm", "1 1:0.5 2:1\n-1 1:2\n1 2:3\n-1 1:1 2:-1\n1 1:1\n", {"test_fraction": 0.2}),
    ],
)
def test_a_template_and_a_file_make_a_spec_that_runs(here, template, content, expected):
    (here / "own.csv").write_text(content)
    assert cgm("init", template, "--from", "own.csv", "--out", "spec.yaml") == 0
    written = yaml.safe_load((here / "spec.yaml").read_text())["problem"]

    def holds(part, whole):
        return all(holds(each, whole[key]) for key, each in part.items()) if isinstance(part, dict) else part == whole

    assert holds({"template": template} | expected, written)
    assert cgm("solve", "spec.yaml", "--out", "run", "--quiet") == 0


@pytest.mark.parametrize(
    ("template", "content", "match"),
    [
        ("max-cut", LP_BLOCK, "line 1"),
        ("standard-sdp", BLOBS, "expected the number of constraints"),
        ("quadratic-assignment", BLOBS, "does not begin with the order of its matrices"),
        ("matrix-completion", "a,b\n1,2\n2,3\n", "has 2 columns, and ratings are three"),
        ("low-rank-denoising", BLOBS, "not a readable image|cannot identify"),
        ("svm", "a,b\nx,1\ny,2\n", "a target one of two different values"),
        ("elastic-net", "a,b\nx,1\ny,2\n", "two columns of numbers, or more"),
    ],
)
def test_a_template_and_a_file_it_cannot_take(here, capsys, template, content, match):
    (here / "own.data").write_text(content)
    assert cgm("init", template, "--from", "own.data") == 3
    assert re.search(match, capsys.readouterr().err)
    assert not (here / "own.yaml").exists()


@pytest.mark.parametrize(("typed", "code"), [(b"\x03", 130), (b"\x04", 2)])
def test_a_question_that_is_not_answered(here, typed, code):
    screen, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cgm_cli", "init"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=here,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(terminal)
    shown = b""
    while b"Number" not in shown:
        shown += os.read(screen, 1000)
    # Once more and again: between the question and the reading of its answer Python may overlook a key.
    for _ in range(100):
        os.write(screen, typed)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.5)
            break
    assert process.returncode == code
    os.close(screen)
    assert not list(here.iterdir())


def test_a_composed_problem_to_begin_with(here):
    assert cgm("init", "composed") == 0
    assert solve(here / "composed.yaml").status is Status.CONVERGED


def test_init_asks_at_a_terminal(here):
    """What stands on the screen is not compared, but what is written."""
    (here / "own.csv").write_text(BLOBS)
    screen, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cgm_cli", "init"], stdin=terminal, stdout=terminal, stderr=terminal, cwd=here
    )
    os.close(terminal)
    os.write(screen, b"1\n1\nown.csv\n")
    with suppress(OSError):  # of a terminal that nobody holds any more
        while os.read(screen, 1000):
            pass
    assert process.wait(60) == 0
    os.close(screen)
    assert load(here / "own.yaml").problem.template == "kmeans-sdp"


def test_every_kind_has_a_row():
    page = (Path(__file__).parents[1] / "docs" / "files.md").read_text(encoding="utf-8")
    for kind in KINDS:
        assert re.search(rf"^\| {kind.name} \| {', '.join(kind.suffixes)}", page, re.MULTILINE), kind.name


def test_a_damaged_archive(here):
    (here / "x.col.gz").write_bytes(b"no archive")
    with pytest.raises(CgmError, match="not a gzip file, or a damaged one"):
        recognise(here / "x.col.gz")


def test_a_named_pipe_is_refused_and_not_waited_for(here, capsys):
    os.mkfifo(here / "pipe.dat-s")
    assert cgm("solve", "pipe.dat-s") == 3
    assert capsys.readouterr().err == "pipe.dat-s: is a named pipe, and not a file\n"


def test_rays_and_contradictions_are_verified(here, capsys):
    """In units of 1e-9, beside which a ray of length one is far beyond what was assumed of the trace."""
    (here / "ray.dat-s").write_text("1\n1\n2\n1e-9\n0 1 1 1 1\n1 1 2 2 1\n")
    (here / "two.dat-s").write_text("2\n1\n2\n1 2\n0 1 1 1 1\n1 1 1 1 1\n1 1 2 2 1\n2 1 1 1 1\n2 1 2 2 1\n")
    for name, status in [("ray", "unbounded"), ("two", "infeasible")]:
        assert cgm("solve", f"{name}.dat-s", "--out", name) == 4
        assert json.loads((here / name / "status.json").read_text())["status"] == status
        assert cgm("verify", name) == 0
        capsys.readouterr()


def test_a_check_tells_what_is_complex_and_what_is_implied(here, capsys):
    matrices = [
        "{imaginary: [[0, 1], [-1, 0]]}",
        "[[1, 0], [0, 2]]",
        "{real: [[1, 0], [0, 2]], imaginary: [[0, 1], [-1, 0]]}",
    ]
    rows = "".join(
        f"    - {{matrix: {each}, equals: {right}}}\n" for each, right in zip(matrices, (0, 3, 3), strict=True)
    )
    spec = f"problem:\n  template: standard-sdp\n  cost: [[1, 0], [0, 1]]\n  constraints:\n{rows}"
    (here / "spec.yaml").write_text(spec)
    assert cgm("check", "spec.yaml") == 0
    told = capsys.readouterr().out
    assert re.search(r"^variable +2 x 2, complex$", told, re.MULTILINE)
    assert "`constraints[2]` (by `constraints[0]`, `constraints[1]`)" in told
    assert cgm("check", "spec.yaml", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    because = "by `constraints[0]`, `constraints[1]`"
    assert (facts["shape"], facts["complex"]) == ([2, 2], True)
    assert facts["implied_constraints"] == [{"name": "constraints[2]", "because": because}]
    assert cgm("solve", "spec.yaml", "--json", "--out", "run") == 0
    assert json.loads(capsys.readouterr().out)["implied_constraints"] == ["constraints[2]"]
    assert cgm("show", "run") == 0
    assert "One constraint is implied by others" in " ".join(capsys.readouterr().out.split())
    assert cgm("export", "run", "--solution", "x.csv") == 0
    assert cgm("export", "run", "--solution", "s.npy", "--name", "slack") == 0
    assert "smallest eigenvalue of each block" in capsys.readouterr().err
    assert cgm("export", "run", "--solution", "x.sol") == 2
    assert cgm("verify", "run") == 0


def test_what_solve_takes_is_checked_and_shown(cgm, tmp_path):
    file, table, empty = (tmp_path / name for name in ("cycle.col", "table.csv", "empty.csv"))
    file.write_text(CYCLE)
    table.write_text("a,b\n1,2\n")
    empty.write_text("")
    code, out, _ = cgm("check", file)
    assert code == 0 and "6 x 6" in out
    code, out, _ = cgm("show", file)
    assert code == 0 and "template: lovasz-theta" in out
    for command in ("check", "show"):
        assert cgm(command, empty)[::2] == (3, f"{empty}: the file is empty\n")
        code, _, err = cgm(command, table)
        assert code == 3 and "cgm init" in err
