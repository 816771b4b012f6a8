"""The threads of the server share a heap where the C library can be told to."""

from __future__ import annotations

import ctypes
import sys
import threading

import numpy as np
import pytest

from pages.server import one_heap


def test_a_c_library_that_cannot_is_left_alone(monkeypatch):
    monkeypatch.setattr(one_heap.ctypes, "CDLL", lambda name: object())
    one_heap.share_one_heap()


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallopt"),
    reason="only the GNU C library has heaps for threads",
)
def test_the_c_library_takes_it_and_threads_still_get_memory():
    assert ctypes.CDLL(None).mallopt(one_heap._M_ARENA_MAX, 1) == 1
    one_heap.share_one_heap()
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
