"""Pages run by Streamlit's own test harness, with no data files on the machine."""

from __future__ import annotations

import pytest

from tests.pages.looking import Opener, opened


@pytest.fixture
def open_page(tmp_path, monkeypatch) -> Opener:
    """A page, named as "section/page", with controls given as in its address."""
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    return opened
