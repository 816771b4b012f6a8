"""Pages run by Streamlit's own test harness, with no data files on the machine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from pages.server import caches
from tests.pages.looking import Opener, leave, opened


@pytest.fixture(autouse=True)
def who_has_looked_leaves() -> Iterator[None]:
    """No test computes for the visitors of those before it."""
    yield
    leave()


@pytest.fixture(autouse=True)
def every_draw_is_waited_for(monkeypatch) -> None:
    """What a page shows does not depend on how fast this machine is."""
    monkeypatch.setattr(caches, "_FIRST_SECONDS", 60.0)


@pytest.fixture
def open_page(tmp_path, monkeypatch) -> Opener:
    """A page, named as "section/page", with controls given as in its address."""
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    return opened


@pytest.fixture
def open_on_digits(open_page) -> Opener:
    """The same on the data that are quickest to run, at a delta that figures are known of."""
    return partial(open_page, dataset="digits", delta="0.01")
