"""Work that threads share."""

import contextlib
import os
import signal
import threading
import time

import pytest

from cgm_cli.numerics.threads import _HELPERS, allowed, share, threads


def test_one_thread_where_nothing_is_said():
    assert allowed() == 1
    with threads(3):
        assert allowed() == 3
    assert allowed() == 1


@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_part_is_done_once_by_the_threads_allowed(count):
    done = []

    def work(part):
        time.sleep(0.02)
        done.append((part, threading.current_thread()))

    with threads(count):
        share(work, [(part,) for part in range(9)])
    assert sorted(part for part, _ in done) == list(range(9))
    assert threading.current_thread() in {thread for _, thread in done}
    assert len({thread for _, thread in done}) == count


def test_a_thread_that_is_late_is_not_waited_for():
    release, done = threading.Event(), []
    with threads(2):
        # All helpers there are have something else to do.
        _HELPERS.call(release.wait, max(1, _HELPERS._count))
        try:
            share(done.append, [(part,) for part in range(20)])
            assert done == list(range(20))
        finally:
            release.set()


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_error_reaches_the_caller(place, count):
    def work(part):
        if part == place:
            raise ValueError(f"in part {part}")

    with threads(count), pytest.raises(ValueError, match=f"in part {place}"):
        share(work, [(part,) for part in range(3)])


@pytest.mark.parametrize("failing", [True, False])
def test_nobody_works_on_once_it_has_returned(failing):
    started = threading.Barrier(2, timeout=20)
    ended = []

    def work(part):
        started.wait()
        if part == 0 and failing:
            raise ValueError
        time.sleep(0.1)
        ended.append(part)

    with threads(2), contextlib.suppress(ValueError):
        share(work, [(0,), (1,)])
    assert sorted(ended) == ([1] if failing else [0, 1])


def test_parts_may_share_work_themselves():
    done = []

    def work(part):
        with threads(2):
            share(lambda piece: done.append((part, piece)), [(piece,) for piece in range(3)])

    with threads(2):
        share(work, [(part,) for part in range(3)])
    assert len(set(done)) == 9


def test_an_interrupt_is_heard_once_the_others_have_ended():
    started = threading.Barrier(2, timeout=20)
    ended = []

    def work(part):
        started.wait()
        if threading.current_thread() is not threading.main_thread():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        ended.append(threading.current_thread())

    with threads(2), pytest.raises(KeyboardInterrupt):
        share(work, [(0,), (1,)])
    assert set(ended) - {threading.main_thread()}


def test_a_fork_has_threads_of_its_own():
    with threads(2):
        share(time.sleep, [(0.01,)] * 4)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            done = []
            share(lambda part: done.append(time.sleep(0.01) or threading.current_thread()), [(0,)] * 6)
            os._exit(0 if len(set(done)) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
