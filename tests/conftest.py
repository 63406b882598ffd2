"""What holds for every test."""

import os
import signal

import pytest

# The workers share the processors: threads of BLAS, which wait for each other by spinning, would waste them. These are
# read when NumPy is loaded, here and by every process that the tests start.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# What processes compile is kept for the next one, as numba keeps it for all: there are hundreds of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell that starts the tests in the background has them ignore Ctrl-C and Ctrl-\, and so would every process that
# they start.
for number, handler in {signal.SIGINT: signal.default_int_handler, signal.SIGQUIT: signal.SIG_DFL}.items():
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

LONGEST = (
    "sweeps/test_cluster.py",
    "runs/test_resume.py",
    "sweeps/test_local.py",
    "test_cli.py",
    "test_configs.py",
    "templates/test_smallest_instances.py",
    "runs/test_disk.py",
    "reports/test_page.py",
    "fuzz/test_fuzz.py",
    "verify/test_honest_runs.py",
    "blocks/test_domains.py",
    "runs/test_limits.py",
    "runs/test_files.py",
    "runs/test_kill.py",
)
"""The files that take longest. They come first, so that no worker is still at one of them when the others are done."""


def pytest_configure(config):
    # pytest-xdist, where it is there, would begin with the files that have the most tests, however short these are.
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items):
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.nodeid.partition("::")[0].removeprefix("tests/"), len(LONGEST)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One more than there are processors: many a test waits for a process or a queue."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.fixture
def cgm(capsys, monkeypatch):
    """Run a command line in this process -> (exit code, standard output, standard error)."""
    from cgm_cli.cli import main

    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        return stop.value.code or 0, *capsys.readouterr()

    return run
