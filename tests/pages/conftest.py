"""Pages run by Streamlit's test harness, with no data files on the machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pages.opening import Opener, open_page_at, running_jobs


@pytest.fixture(autouse=True)
def stop_background_jobs() -> Iterator[None]:
    """Cancel jobs that a test leaves behind."""
    yield
    for job in running_jobs():
        job.cancelled.set()


@pytest.fixture
def open_page(tmp_path, monkeypatch) -> Opener:
    """Return a function that opens a page by its address, with query parameters."""
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    return open_page_at
