"""`cgm report --html FILE --watch`: a page that follows runs while they go on."""

from __future__ import annotations

from cgm_cli.methods.status import Status
from cgm_cli.reports.collect import collect
from cgm_cli.reports.watch import PAUSE, follow
from cgm_cli.runs.directory import RunDirectory
from tests.reports.support import make_run, spec

TREE = "name: now\nsolver: {beta0: 1}\n"


def test_the_page_is_written_until_nothing_goes_on(tmp_path):
    make_run(tmp_path / "runs" / "a", spec("a"))
    path, said, pages = tmp_path / "page.html", [], []
    with RunDirectory.create("now", tmp_path / "runs" / "now") as run:
        run.begin(TREE, TREE)
        last = []

        def pause(seconds):
            pages.append(path.read_text())
            if len(pages) == 2:
                run.set_status(Status.FAILED, "It is over.")
                last.append(seconds)

        follow(lambda: collect([tmp_path / "runs"]), (), None, path, False, said.append, pause)
    assert last == [PAUSE] and len(said) == 2, "what has not changed is not written again"
    assert all('id="hold"' in page for page in pages) and 'id="hold"' not in path.read_text()
    assert "It is over." in path.read_text() and said[1].endswith("1 of 2 runs finished, none goes on")


def test_of_runs_that_have_ended_there_is_one_page(cgm, three, tmp_path):
    code, out, err = cgm("report", three, "--html", tmp_path / "page.html", "--watch")
    assert (code, out) == (0, "") and err.count("wrote") == 1
    assert cgm("report", tmp_path / "nothing", "--html", tmp_path / "none.html", "--watch")[0] == 3


def test_only_a_page_is_watched(cgm, three, tmp_path):
    for arguments in ((), ("--html", "-"), ("--html", tmp_path / "p.html", "--csv", "-")):
        code, out, err = cgm("report", three, "--watch", *arguments)
        assert code == 2 and out == "" and "--watch is that of a page in a file" in err
