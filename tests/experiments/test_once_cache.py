"""Made once, however many ask; whoever is interrupted interrupts nobody else; bounded memory."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import plotly.graph_objects as go
import pytest

from dpcore.experiments.once_cache import OnceCache, bytes_held


class Interrupted(BaseException):
    """As a script that is told to stop."""


class Making:
    """A function whose first call lasts until it is told how to end."""

    def __init__(self):
        self.calls = 0
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.error: BaseException | None = None

    def __call__(self) -> str:
        self.calls += 1
        if self.calls == 1:
            self.begun.set()
            assert self.may_end.wait(20)
            if self.error is not None:
                raise self.error
        return f"made in call {self.calls}"


def ask_together(cache: OnceCache, making: Making, n_waiting: int):
    """What the first gets, and what those get who asked while it computed."""
    with ThreadPoolExecutor(n_waiting + 1) as pool:
        first = pool.submit(cache)
        assert making.begun.wait(20)
        asked = threading.Barrier(n_waiting + 1)

        def wait() -> str:
            asked.wait(20)
            return cache()

        waiting = [pool.submit(wait) for _ in range(n_waiting)]
        asked.wait(20)
        making.may_end.set()
        return first, waiting


def test_all_get_what_the_first_computes():
    making = Making()
    first, waiting = ask_together(OnceCache(making, keep=1), making, 5)
    assert {first.result(), *(each.result() for each in waiting)} == {"made in call 1"}


@pytest.mark.parametrize("error", [Interrupted(), MemoryError(), SystemExit(), KeyboardInterrupt()])
def test_who_is_interrupted_interrupts_nobody_else(error):
    making = Making()
    making.error = error
    first, waiting = ask_together(OnceCache(making, keep=1), making, 5)
    assert first.exception() is error
    assert [each.result() for each in waiting] == ["made in call 2"] * 5


@pytest.mark.parametrize("error", [ValueError("wrong"), TimeoutError("late")])
def test_an_ordinary_error_is_everybodys_and_is_not_kept(error):
    making = Making()
    making.error = error
    cache = OnceCache(making, keep=1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(cache)
        assert making.begun.wait(20)
        waited_for = cache._results[()].future
        making.may_end.set()
        assert first.exception() is waited_for.exception() is error
    assert cache() == "made in call 2"


def test_nobody_waits_for_a_thread_that_died():
    cache = OnceCache(lambda: "made", keep=1)
    making = Making()
    making.may_end.set()
    died = threading.Thread(target=lambda: cache(make=making))
    died.start()
    died.join()
    cache._results[()].future = Future()  # it never got so far
    assert cache() == "made"


def test_old_results_go_but_not_those_that_are_being_made():
    making = Making()
    cache = OnceCache(lambda key: making() if key == "slow" else key, keep=2)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(cache, "slow")
        assert making.begun.wait(20)
        for key in "abcd":
            cache(key)
        assert ("slow",) in cache and cache.peek("d") == "d" and cache.peek("c") is None
        making.may_end.set()
        assert slow.result() == cache.peek("slow") == "made in call 1"
    assert len(cache._results) == 2


def test_results_take_no_more_than_they_may():
    cache = OnceCache(lambda size: np.zeros(size), keep=100, most_bytes=10 * 8_000)
    for size in range(1000, 1050):
        cache(size)
    assert 5 < len(cache._results) < 11 and cache._n_bytes <= 80_000
    cache(10**6)
    assert len(cache._results) == 1 and cache.peek(10**6) is not None
    cache(1000)
    assert cache.peek(10**6) is None and cache._n_bytes == bytes_held(np.zeros(1000))
    cache.clear()
    assert cache._n_bytes == 0


def test_bytes_are_counted_once():
    array = np.zeros(1000)
    assert 8_000 <= bytes_held({"one": [array, array], "other": (array,)}) < 9_000


def test_a_chart_is_counted_with_all_that_is_in_it():
    numbers = list(map(float, range(1000)))
    chart = go.Figure({"data": [{"y": numbers}]})
    assert bytes_held(chart) > 2 * bytes_held(numbers) > 50_000
    cache: OnceCache[go.Figure] = OnceCache(None, keep=100, most_bytes=4 * bytes_held(chart))
    for number in range(10):
        cache(number, make=lambda: go.Figure({"data": [{"y": list(map(float, range(1000)))}]}))
    assert 2 <= len(cache._results) <= 4


def test_beside_a_result_little_is_kept():
    """A server keeps thousands; what threads wait on took 2 KB each."""
    cache = OnceCache(lambda number: None, keep=500)
    tracemalloc.start()
    try:
        for number in range(500):
            cache(number)
        assert tracemalloc.get_traced_memory()[0] < 500 * 800
    finally:
        tracemalloc.stop()


def test_whoever_made_a_result_is_let_go_of():
    """Streamlit hangs a visitor's session on the thread of a script."""
    cache: OnceCache[int] = OnceCache(lambda number: -number, keep=10)
    thread = threading.Thread(target=cache, args=(1,))
    thread.start()
    thread.join()
    alive = weakref.ref(thread)
    del thread
    gc.collect()
    assert alive() is None and cache.peek(1) == -1
