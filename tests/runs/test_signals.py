"""Signals become requests, and the former handlers come back."""

import os
import signal
import threading

import pytest

from cgm_cli.methods.status import Status
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
