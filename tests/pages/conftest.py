"""Pages run by Streamlit's own test harness, with no data files on the machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from tests.pages.looking import file_of

APP = Path(__file__).resolve().parents[2] / "app.py"
Opener = Callable[..., AppTest]


@pytest.fixture
def open_page(tmp_path, monkeypatch) -> Opener:
    """A page by its file under pages/, with controls given as in its address."""
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))

    def open_it(path: str, **query: str) -> AppTest:
        at = AppTest.from_file(APP, default_timeout=60)
        for name, value in query.items():
            at.query_params[name] = value
        at.switch_page(file_of(path))
        # Before its first run the harness knows a page by its file's name, and all are page.py.
        at._page_hash = calc_hash(Path(file_of(path)).parts[2].removesuffix(".py"))
        return at.run()

    return open_it
