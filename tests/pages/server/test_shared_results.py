"""What several visitors wait for draws nothing: drawing is where who leaves is interrupted."""

from __future__ import annotations

import threading

import pytest
from streamlit.delta_generator import DeltaGenerator

from dpcore.experiments.once_cache import OnceCache

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
