"""Each value is computed once; interruptions affect one caller; memory is bounded."""

from __future__ import annotations

import gc
import threading
import time
import tracemalloc
import weakref
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import plotly.graph_objects as go
import pytest

from dpcore.experiments.engine.cache import OnceCache, bytes_held, drop_unused


class Interrupted(BaseException):
    """Interruption like the one that ends a page run."""


class SlowFunction:
    """Function whose first call lasts until `may_end` is set, and then raises `error` if set."""

    def __init__(self):
        self.calls = 0
        self.started, self.may_end = threading.Event(), threading.Event()
        self.error: BaseException | None = None

    def __call__(self) -> str:
        self.calls += 1
        if self.calls == 1:
            self.started.set()
            assert self.may_end.wait(20)
            if self.error is not None:
                raise self.error
        return f"made in call {self.calls}"


def call_together(cache: OnceCache, function: SlowFunction, n_waiting: int):
    """Return the futures of the first caller and of callers that wait for its result."""
    with ThreadPoolExecutor(n_waiting + 1) as pool:
        first = pool.submit(cache)
        assert function.started.wait(20)
        called = threading.Barrier(n_waiting + 1)

        def wait() -> str:
            called.wait(20)
            return cache()

        waiting = [pool.submit(wait) for _ in range(n_waiting)]
        called.wait(20)
        function.may_end.set()
        return first, waiting


def test_concurrent_callers_get_the_first_result():
    function = SlowFunction()
    first, waiting = call_together(OnceCache(function, keep=1), function, 5)
    assert {first.result(), *(future.result() for future in waiting)} == {"made in call 1"}


@pytest.mark.parametrize("error", [Interrupted(), MemoryError(), SystemExit(), KeyboardInterrupt()])
def test_an_interruption_affects_only_the_computing_caller(error):
    function = SlowFunction()
    function.error = error
    first, waiting = call_together(OnceCache(function, keep=1), function, 5)
    assert first.exception() is error
    assert [future.result() for future in waiting] == ["made in call 2"] * 5


@pytest.mark.parametrize("error", [ValueError("wrong"), TimeoutError("late")])
def test_an_error_reaches_all_callers_and_is_not_cached(error):
    function = SlowFunction()
    function.error = error
    cache = OnceCache(function, keep=1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(cache)
        assert function.started.wait(20)
        waited_for = cache._results[()].future
        function.may_end.set()
        assert first.exception() is waited_for.exception() is error
    assert cache() == "made in call 2"


def test_no_caller_waits_for_a_dead_thread():
    cache = OnceCache(lambda: "made", keep=1)
    function = SlowFunction()
    function.may_end.set()
    died = threading.Thread(target=lambda: cache(make=function))
    died.start()
    died.join()
    cache._results[()].future = Future()  # its result is missing
    assert cache() == "made"


def test_old_results_are_dropped_but_not_computations_in_progress():
    function = SlowFunction()
    cache = OnceCache(lambda key: function() if key == "slow" else key, keep=2)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(cache, "slow")
        assert function.started.wait(20)
        for key in "abcd":
            cache(key)
        assert ("slow",) in cache and cache.peek("d") == "d" and cache.peek("c") is None
        function.may_end.set()
        assert slow.result() == cache.peek("slow") == "made in call 1"
    assert len(cache._results) == 2


def test_results_stay_within_the_byte_limit():
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


def test_unused_results_are_dropped():
    calls = []
    cache = OnceCache(lambda key: calls.append(key) or np.zeros(1000), keep=9, seconds_unused=15)
    cache("old"), cache("used")
    start = time.monotonic()
    drop_unused(start + 10)
    assert cache.peek("old") is not None and cache.peek("used") is not None
    result = weakref.ref(cache("old"))
    drop_unused(time.monotonic() + 16)
    gc.collect()
    assert result() is None and not cache._results and cache._n_bytes == 0
    cache("old")
    assert calls == ["old", "used", "old"]


def test_a_use_postpones_the_drop(monkeypatch):
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    cache = OnceCache(lambda key: key, keep=9, seconds_unused=15)
    cache("old"), cache("used")
    now = 10.0
    cache("used")
    assert cache.drop_unused(20.0) == 1
    assert cache.peek("old") is None and cache.peek("used") == "used"


def test_a_result_that_is_being_computed_is_not_dropped():
    function = SlowFunction()
    cache = OnceCache(function, keep=1, seconds_unused=15)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(cache)
        assert function.started.wait(20)
        assert cache.drop_unused(time.monotonic() + 1000) == 0 and () in cache
        function.may_end.set()
        assert first.result() == cache.peek()


def test_bytes_are_counted_once():
    array = np.zeros(1000)
    assert 8_000 <= bytes_held({"one": [array, array], "other": (array,)}) < 9_000


def test_the_content_of_a_chart_is_counted():
    numbers = list(map(float, range(1000)))
    chart = go.Figure({"data": [{"y": numbers}]})
    assert bytes_held(chart) > 2 * bytes_held(numbers) > 50_000
    cache: OnceCache[go.Figure] = OnceCache(None, keep=100, most_bytes=4 * bytes_held(chart))
    for number in range(10):
        cache(number, make=lambda: go.Figure({"data": [{"y": list(map(float, range(1000)))}]}))
    assert 2 <= len(cache._results) <= 4


def test_a_cached_result_has_little_overhead():
    """A server caches thousands of results; a future takes 2 KB."""
    cache = OnceCache(lambda number: None, keep=500)
    tracemalloc.start()
    try:
        for number in range(500):
            cache(number)
        assert tracemalloc.get_traced_memory()[0] < 500 * 800
    finally:
        tracemalloc.stop()


def test_the_computing_thread_is_not_referenced():
    """Streamlit stores a visitor's session in the thread of a script."""
    cache: OnceCache[int] = OnceCache(lambda number: -number, keep=10)
    thread = threading.Thread(target=cache, args=(1,))
    thread.start()
    thread.join()
    alive = weakref.ref(thread)
    del thread
    gc.collect()
    assert alive() is None and cache.peek(1) == -1
