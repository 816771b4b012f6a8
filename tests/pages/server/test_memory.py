"""The server's memory: what nobody uses any more is given back."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.session_manager import SessionInfo

from pages.server import process
from pages.shell import streamlit_internals

has_glibc = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="only the GNU C library has heaps for threads",
)


class Node:
    """Something that can be part of a cycle."""


def test_cycles_are_collected_where_the_c_library_can_do_nothing():
    gc.disable()
    try:
        node = Node()
        node.itself = node
        gone = weakref.ref(node)
        del node
        process.tidy(None)
        assert gone() is None
    finally:
        gc.enable()


def test_who_went_long_ago_is_forgotten_though_nobody_else_goes(monkeypatch):
    sessions = MemorySessionStorage(ttl_seconds=0)
    visitor = Node()
    visitor.id, gone = "gone", weakref.ref(visitor)
    sessions.save(SessionInfo(client=None, session=visitor))
    del visitor
    serving = SimpleNamespace(
        _session_mgr=SimpleNamespace(_session_storage=sessions),
        _get_async_objs=lambda: SimpleNamespace(
            eventloop=SimpleNamespace(call_soon_threadsafe=lambda run: run())
        ),
    )
    monkeypatch.setattr(streamlit_internals.runtime, "exists", lambda: True)
    monkeypatch.setattr(streamlit_internals.runtime, "get_instance", lambda: serving)
    process.tidy(None)
    assert gone() is None


def test_a_c_library_that_cannot_is_left_alone(monkeypatch):
    started = []
    monkeypatch.setattr(process.ctypes, "CDLL", lambda name: object())
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread))
    process.keep_flat()
    assert [thread.daemon for thread in started] == [True]


@has_glibc
def test_freed_pages_go_back_to_the_system():
    """Small arrays below one that stays: their pages are in the middle of the heap."""
    library = ctypes.CDLL(None)
    library.malloc_trim(0)
    arrays = [np.ones(8_000) for _ in range(2_000)]  # 128 MB in pieces that are not mapped alone
    stays = np.ones(8_000)
    full = resident_mb()
    arrays.clear()
    process.tidy(library.malloc_trim)
    assert resident_mb() < full - 64
    assert stays.sum() == 8_000


@has_glibc
def test_threads_still_get_memory():
    assert ctypes.CDLL(None).mallopt(process._M_ARENA_MAX, 1) == 1
    sums = []
    threads = [
        threading.Thread(target=lambda n=n: sums.append(np.full((500, 500), n).sum()))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(sums) == [250_000 * n for n in range(4)]


def resident_mb() -> float:
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
