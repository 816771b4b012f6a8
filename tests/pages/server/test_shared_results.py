"""What several visitors wait for draws nothing: drawing is where who leaves is interrupted."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from dpcore.experiments.once_cache import OnceCache
from pages.server import caches

PAGES = {
    "explore/play": {"seed": "11", "repetitions": "2"},
    "explore/cca": {"seed": "11", "cca_draws": "2"},
    "explore/central": {"seed": "11", "repetitions": "2"},
    "explore/classification": {"seed": "11"},
    "explore/statistics": {"seed": "11"},
    "learn/algorithm": {"seed": "11"},
    "learn/sampler": {"seed": "11"},
}


@pytest.fixture
def drawn(monkeypatch) -> list[str]:
    """Whatever is drawn while a shared result is being made."""
    found, making = [], threading.local()
    ask = OnceCache.__call__

    def noted_ask(cache, *key, make=None):
        def noted_make():
            making.depth = getattr(making, "depth", 0) + 1
            try:
                return cache._make(*key) if make is None else make()
            finally:
                making.depth -= 1

        return ask(cache, *key, make=noted_make)

    def noted(draw):
        def noted_draw(place, what, *rest, **options):
            if getattr(making, "depth", 0):
                found.append(str(what))
            return draw(place, what, *rest, **options)

        return noted_draw

    monkeypatch.setattr(OnceCache, "__call__", noted_ask)
    for name in ("_enqueue", "_transient"):  # what stays, and a spinner
        monkeypatch.setattr(DeltaGenerator, name, noted(getattr(DeltaGenerator, name)))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_what_is_shared_draws_nothing(open_page, drawn, page):
    at = open_page(page, **PAGES[page])
    assert not at.exception and drawn == []


def cached_page():
    import streamlit as st
    from tests_shared import doubled

    st.markdown(str(doubled(st.session_state["number"])))


def test_a_cached_function_says_what_one_waits_for_once_and_makes_it_once(monkeypatch):
    said, made = [], []
    spinner = caches.st.spinner
    monkeypatch.setattr(caches.st, "spinner", lambda words: said.append(words) or spinner(words))

    @caches.cached(2, saying="Adding one …")
    def successor(number: int) -> int:
        made.append(number)
        return number + 1

    @caches.cached(2, saying="Doubling …")
    def doubled(number: int) -> int:
        """Twice the number after it."""
        return 2 * successor(number)

    monkeypatch.setitem(sys.modules, "tests_shared", SimpleNamespace(doubled=doubled))
    at = AppTest.from_function(cached_page)
    for number in (1, 1, 2):
        at.session_state["number"] = number
        assert at.run().markdown[0].value == str(2 * (number + 1))
    # Of what is made inside another nothing is said, nor of what is there.
    assert (said, made) == (["Doubling …"] * 2, [1, 2])
    assert doubled.__doc__ == "Twice the number after it."
    # However it is asked for, it is one result.
    assert successor(number=1) == successor(1) == 2 and made == [1, 2]
    # Nobody looks at what a job computes.
    assert doubled(7) == 16 and said == ["Doubling …"] * 2
