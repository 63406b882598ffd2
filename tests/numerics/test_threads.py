"""Work that threads share."""

import os
import signal
import threading
import time

import pytest

from cgm_cli.numerics.threads import allowed, share, threads


def test_one_thread_where_nothing_is_said():
    assert allowed() == 1
    with threads(3):
        assert allowed() == 3
    assert allowed() == 1


def test_every_part_is_done_once_and_the_first_by_the_caller():
    done = []
    share(lambda part: done.append((part, threading.current_thread())), [(part,) for part in range(5)])
    assert sorted(part for part, _ in done) == list(range(5))
    assert [thread for part, thread in done if part == 0] == [threading.current_thread()]
    assert len({thread for part, thread in done if part > 0} - {threading.current_thread()}) >= 1


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_error_reaches_the_caller_once_all_others_have_ended(place):
    ended = []

    def work(part):
        if part == place:
            raise ValueError(f"in part {part}")
        time.sleep(0.05)
        ended.append(part)

    with pytest.raises(ValueError, match=f"in part {place}"):
        share(work, [(part,) for part in range(3)])
    assert sorted(ended) == [part for part in range(3) if part != place]


def test_parts_may_share_work_themselves():
    done = []

    def work(part):
        share(lambda piece: done.append((part, piece)), [(piece,) for piece in range(3)])

    share(work, [(part,) for part in range(3)])
    assert len(set(done)) == 9


def test_an_interrupt_is_heard_once_the_others_have_ended():
    ended = []

    def work(part):
        if part == 0:
            os.kill(os.getpid(), signal.SIGINT)
            return
        time.sleep(0.2)
        ended.append(part)

    with pytest.raises(KeyboardInterrupt):
        share(work, [(0,), (1,)])
    assert ended == [1]


def test_a_fork_has_threads_of_its_own():
    share(lambda part: None, [(0,), (1,)])
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        done = []
        share(done.append, [(0,), (1,)])
        os._exit(0 if sorted(done) == [0, 1] else 1)
    assert os.waitpid(child, 0)[1] == 0
