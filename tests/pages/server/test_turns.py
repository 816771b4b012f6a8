"""Scripts take turns, give way to each other, and never wait for long."""

from __future__ import annotations

import threading
import time
from collections import deque

import pytest

from pages.server import turns


@pytest.fixture
def beside():
    """Run something in a thread of its own, and see it end."""
    threads = []

    def start(work):
        threads.append(threading.Thread(target=work))
        threads[-1].start()
        return threads[-1]

    yield start
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def waits_for_a_turn() -> None:
    while not turns._waiting:
        time.sleep(0.001)


def test_one_at_a_time(beside):
    order = []

    def other():
        with turns.taken():
            order.append("other")

    with turns.taken():
        thread = beside(other)
        waits_for_a_turn()
        order.append("mine")
    thread.join(10)
    assert order == ["mine", "other"]


def test_whoever_has_the_turn_keeps_it_and_gives_it_back_once():
    """A part of a page takes it, whether it is drawn alone or with the rest."""
    with turns.taken():
        with turns.taken():
            assert turns._ours.held
        assert turns._ours.held and turns._TURN.locked()
    assert not turns._TURN.locked()


def test_the_more_turns_are_taken_the_less_often_parts_ask(monkeypatch):
    monkeypatch.setattr(turns, "_turns", deque(maxlen=100))
    assert turns.unhurried(0.5) == 0.5
    for _ in range(3):
        with turns.taken():
            pass
    assert turns.unhurried(0.5) == 2.0
    monkeypatch.setattr(turns, "_LATELY_SECONDS", 0.0)
    assert turns.unhurried(0.5) == 0.5


@pytest.mark.parametrize("pause", [turns.give_way, turns.breath])
def test_a_pause_lets_others_in_if_they_wait_and_gives_the_turn_back(beside, pause):
    done = threading.Event()

    def other():
        with turns.taken():
            done.set()

    with turns.taken():
        if pause is turns.give_way:
            beside(other)
            waits_for_a_turn()
            while not done.is_set():
                pause()
        else:
            pause()
        assert turns._TURN.locked()
    assert not turns._TURN.locked()


def test_while_one_waits_for_a_data_set_others_have_their_turn(beside):
    """Every script behind it waited for a second, as long as it took to read the data."""
    done = threading.Event()

    def other():
        with turns.taken():
            assert turns._ours.held
            done.set()

    with turns.taken():
        with turns.others():
            beside(other)
            assert done.wait(10)
        assert turns._ours.held
    assert not turns._TURN.locked()


def test_a_page_that_fails_gives_its_turn_back():
    with pytest.raises(ZeroDivisionError), turns.taken():
        raise ZeroDivisionError
    assert not turns._TURN.locked()


def test_nobody_waits_for_long(beside, monkeypatch):
    monkeypatch.setattr(turns, "_PATIENCE_SECONDS", 0.01)
    served = threading.Event()

    def other():
        with turns.taken():
            served.set()

    with turns.taken():
        beside(other)
        assert served.wait(10)
    assert not turns._TURN.locked()


def test_without_a_turn_a_pause_takes_none():
    turns.breath()
    turns.give_way()
    assert not turns._TURN.locked()


def test_a_spare_turn_is_one_that_nobody_has_or_waits_for(beside):
    def ask(found):
        with turns.spare() as is_free:
            found.append(is_free)

    found: list[bool] = []
    ask(found)
    with turns.taken():
        ask(found)  # within a turn of our own
        beside(lambda: ask(found)).join(10)
    ask(found)
    assert found == [True, True, False, True]
    with turns.spare():
        assert not turns.is_wanted()
        waiting = beside(waits_and_ends)
        waits_for_a_turn()
        assert turns.is_wanted()
        assert waiting.is_alive()


def waits_and_ends() -> None:
    with turns.taken():
        pass
