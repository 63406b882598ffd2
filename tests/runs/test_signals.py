"""Signals become requests, and the former handlers come back."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from cgm_cli.methods.status import Leave, Status
from cgm_cli.runs.signals import stop_on_signals

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", HANDLED)
def test_one_signal_asks_politely(number):
    before = [signal.getsignal(n) for n in HANDLED]
    with stop_on_signals() as request:
        assert request() is None
        send(number)
        assert request() is (Status.INTERRUPTED if number == signal.SIGINT else Status.PREEMPTED)
    assert [signal.getsignal(n) for n in HANDLED] == before


def test_a_second_interrupt_leaves_at_once():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), stop_on_signals():
        send(signal.SIGINT)
        send(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_after_a_preemption_does_not_change_the_answer_and_the_next_leaves():
    with pytest.raises(KeyboardInterrupt), stop_on_signals() as request:
        send(signal.SIGTERM)
        send(signal.SIGINT)
        assert request() is Status.PREEMPTED
        send(signal.SIGINT)


def test_a_preemption_outranks_an_interrupt_before_it():
    with stop_on_signals() as request:
        send(signal.SIGINT)
        send(signal.SIGTERM)
        assert request() is Status.PREEMPTED
        # And work that cannot ask is not begun.
        with pytest.raises(Leave) as left, request.raising():
            raise AssertionError("begun")
        assert left.value.status is Status.PREEMPTED


def test_work_that_cannot_ask_is_begun_after_an_interrupt_and_left_at_the_next():
    begun = []
    with pytest.raises(KeyboardInterrupt), stop_on_signals() as request:
        send(signal.SIGINT)
        with request.raising():
            begun.append(1)
            send(signal.SIGINT)
    assert begun == [1]


class Attribute:
    """Sends a signal while the body of a class is made, as one may come in an import."""

    def __init__(self, number):
        self.number = number

    def __set_name__(self, owner, name):
        send(self.number)


def test_a_request_while_a_class_is_made_is_one_to_leave():
    with pytest.raises(Leave) as caught, stop_on_signals() as request, request.raising():
        type("Imported", (), {"attribute": Attribute(signal.SIGTERM)})
    assert caught.value.status is Status.PREEMPTED
    with pytest.raises(KeyboardInterrupt), stop_on_signals() as request:
        send(signal.SIGINT)
        with request.raising():
            type("Imported", (), {"attribute": Attribute(signal.SIGINT)})
    with pytest.raises(RuntimeError, match="of its own"), stop_on_signals() as request, request.raising():
        raise RuntimeError("of its own")


HELD_UP = """
import hashlib
from cgm_cli.runs.signals import stop_on_signals
try:
    with stop_on_signals() as request:
        print("ready", flush=True)
        # As in a factorisation, no handler is called before this ends.
        hashlib.pbkdf2_hmac("sha256", b"", b"", 1_500_000)
        print(request())
except KeyboardInterrupt:
    print("at once")
"""


def held_up_by(interrupts):
    process = subprocess.Popen([sys.executable, "-c", HELD_UP], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    for _ in range(interrupts):
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    return process.communicate()[0].strip()


def test_two_interrupts_count_as_two_though_their_handler_is_called_once():
    assert held_up_by(1) == "Status.INTERRUPTED"
    assert held_up_by(2) == "at once"


def test_elsewhere_than_in_the_main_thread_nothing_is_touched():
    seen = []

    def work():
        with stop_on_signals() as request:
            seen.append((request(), signal.getsignal(signal.SIGTERM)))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(None, before)]


@pytest.mark.parametrize("number", HANDLED)
def test_an_ignored_signal_stays_ignored(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with stop_on_signals() as request:
            send(number)
            assert request() is None
            assert signal.getsignal(number) is signal.SIG_IGN
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)
