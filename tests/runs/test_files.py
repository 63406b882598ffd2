"""Files that replace others: what every command leaves behind that may not write, or is ended while it does."""

from __future__ import annotations

import os
import signal
import time

import pytest

from cgm_cli.runs import files
from cgm_cli.runs.files import replacing, write_atomically
from tests.forked import begun, cgm, until, without_privileges

SWEEP = """
name: s
base: {problem: {template: minimax-ball, size: 2, radius: 1.0}, solver: {iterations: 20}}
sweep: {repeat: 1}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with spec.yaml, its run in run/, sweep.yaml, and its points in sweep/."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "spec.yaml").write_text(
        "problem: {template: minimax-ball, size: 2, radius: 1.0}\nsolver: {iterations: 20}\n"
    )
    (folder / "sweep.yaml").write_text(SWEEP)
    assert cgm("solve", folder / "spec.yaml", "--out", folder / "run", "--quiet").returncode == 0
    assert cgm("sweep", folder / "sweep.yaml", "--out", folder / "sweep", "--quiet").returncode == 0
    return folder


# Command -> its arguments; MADE is the folder above, and OUT the one that is written to.
COMMANDS = {
    "solve": "solve MADE/spec.yaml --out OUT/run",
    "solve into the folder itself": "solve MADE/spec.yaml --out OUT",
    "sweep": "sweep MADE/sweep.yaml --out OUT/sweep",
    "sweep collect": "sweep collect MADE/sweep --out OUT/results",
    "report --html": "report MADE/run --html OUT/page.html",
    "report --html in a new folder": "report MADE/run --html OUT/new/page.html",
    "report --csv": "report MADE/run --csv OUT/table.csv",
    "report --figures": "report MADE/run --figures OUT",
    "report --figures in a new folder": "report MADE/run --figures OUT/new --format svg",
    "export": "export MADE/run --solution OUT/x.npy",
    "init": "init max-cut --out OUT/spec.yaml",
}


def arguments(command, made, out):
    return [word.replace("MADE", str(made)).replace("OUT", str(out)) for word in COMMANDS[command].split()]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_may_not_be_written_is_exit_code_4(made, tmp_path, command):
    out = tmp_path / "locked"
    out.mkdir(mode=0o555)
    done = cgm(*arguments(command, made, out), before=without_privileges)
    assert done.returncode == 4, done.stderr
    assert "Permission denied" in done.stderr and "Traceback" not in done.stderr
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("command", ["solve", "sweep", "report --html", "export", "init"])
def test_a_path_through_a_file_is_exit_code_2_or_4(made, tmp_path, command):
    """2 where the command looks at the path first, 4 where it comes out when the file is written."""
    out = tmp_path / "file"
    out.write_text("mine")
    done = cgm(*arguments(command, made, out))
    assert done.returncode == (4 if command == "sweep" else 2), done.stderr
    assert "Traceback" not in done.stderr
    assert out.read_text() == "mine"


# ---- ended while writing


def begun_and_stopped(made, command, out):
    """The command, stopped where its first file is written and not yet renamed."""

    def wait(descriptor):
        print("written", flush=True)
        for _ in range(600):  # a signal just before a sleep is heard after it
            time.sleep(0.1)

    def before():
        files.os.fsync = wait

    process = begun(*arguments(command, made, out), before=before)
    until(lambda: process.stdout == "written\n")
    assert len(list(out.iterdir())) == 1
    return process


ATOMIC = ["sweep collect", "report --html", "report --csv", "report --figures", "export", "init"]


@pytest.mark.parametrize(
    ("command", "number"),
    [(command, signal.SIGTERM) for command in ATOMIC]
    + [("report --html", number) for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)],
)
def test_a_signal_leaves_nothing_behind(made, tmp_path, command, number):
    process = begun_and_stopped(made, command, tmp_path)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -number), errors
    assert list(tmp_path.iterdir()) == []


def test_the_next_report_clears_away_what_a_killed_one_has_left(made, tmp_path):
    process = begun_and_stopped(made, "report --html", tmp_path)
    process.kill()
    process.communicate(timeout=60)
    assert len(list(tmp_path.glob(".page.html.*.tmp"))) == 1
    assert cgm(*arguments("report --html", made, tmp_path)).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_two_that_write_the_same_file_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "a"
    with replacing(path) as first:
        first.write_text("first")
        write_atomically(path, "second")
        assert path.read_text() == "second"
        assert first.read_text() == "first"
    assert path.read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_what_raises_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as temporary:
        temporary.write_text("new")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_handlers_of_others_stay(tmp_path):
    """A signal that somebody handles, or ignores, is left to them, and all is as it was afterwards."""
    former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)}
    heard = []
    signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with replacing(tmp_path / "a") as temporary:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGUSR1)
            temporary.write_text("new")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) == former[signal.SIGHUP]
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    assert heard == [signal.SIGUSR1] and (tmp_path / "a").read_text() == "new"


def test_the_longest_name_there_is(tmp_path):
    path = tmp_path / ("ü" * 127 + "x")
    write_atomically(path, "new")
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_permissions_that_the_user_wants(tmp_path):
    former = os.umask(0o027)
    try:
        write_atomically(tmp_path / "a", "new")
    finally:
        os.umask(former)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
