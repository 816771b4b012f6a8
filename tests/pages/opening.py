"""Open pages of the app with AppTest and read what they show."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from dpcore.data.dataset import _tables
from pages import background
from pages.navigation import ENTRIES

APP = Path(__file__).resolve().parents[2] / "app.py"
Opener = Callable[..., AppTest]
_TEXTS = ("markdown", "caption", "warning", "error", "info", "success", "title", "header")


@cache
def _components() -> BidiComponentManager:
    # Discovery reads the metadata of every installed package; once is enough.
    components = BidiComponentManager()
    components.discover_and_register_components(start_file_watching=False)
    return components


def with_known_components(at: AppTest) -> AppTest:
    """Spare an AppTest the discovery of components, which takes longer than a page."""
    at._bidi_component_manager = _components()
    return at


def open_page_at(address: str, **query: str) -> AppTest:
    """Open a page as a link does: "" is the start page."""
    at = with_known_components(AppTest.from_file(APP, default_timeout=120))
    for name, value in query.items():
        at.query_params[name] = value
    return visit(at, address)


def visit(at: AppTest, address: str) -> AppTest:
    """Open another page in the same session. `AppTest.switch_page` knows files only."""
    at._page_hash = calc_hash("home" if address in ("", ENTRIES[0].name) else address)
    return at.run()


def open_advanced(at: AppTest) -> AppTest:
    """Open *Advanced* in the sidebar, whose controls are drawn only then."""
    at.session_state["advanced"] = True
    return at.run()


def texts(at: AppTest) -> str:
    """Return everything that the page shows as Markdown."""
    element_texts = [element.value for kind in _TEXTS for element in getattr(at, kind)]
    return "\n".join(text for text in element_texts if isinstance(text, str))


def running_jobs() -> list[background.Job]:
    """Return the jobs in progress, on shared data and on tables of sessions."""
    of_tables = [table.results.get(background._JOBS_OF_TABLE, {}) for table in _tables.values()]
    jobs = [job for jobs in (background._jobs, *of_tables) for job in list(jobs.values())]
    return [job for job in jobs if job.is_running]


def wait_for_jobs(at: AppTest) -> AppTest:
    """Draw the page until its background jobs have ended; a drawing may start the next job."""
    while True:
        while jobs := running_jobs():
            for job in jobs:
                job.touch()  # as a browser does, which draws the fragment repeatedly
            time.sleep(0.1)
        at.run()
        if not running_jobs():
            return at
