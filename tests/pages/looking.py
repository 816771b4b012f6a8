"""What a page showed, as a hostile reader looks at it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.server import background_jobs
from pages.shell.navigation import PAGES

APP = Path(__file__).resolve().parents[2] / "app.py"
Opener = Callable[..., AppTest]

# One marker for each thing that Markdown, Streamlit or HTML would make of a foreign text.
HOSTILE = (
    "![x](http://foreign.example/p.png) [log in](http://foreign.example)",
    "<img src=http://foreign.example/p.png><script>foreign()</script>",
    "www.foreign.example someone@foreign.example mailto:a@foreign.example",
    "**foreign** _foreign_ ~~foreign~~ `foreign` # foreign",
    ":material/foreign: :red[foreign] :foreign: $foreign$ :red-badge[foreign]",
    "foreign\u202eforeign\u200bforeign\x07",
    "\\[foreign](http://foreign.example)\n# foreign\n- foreign | foreign",
    "``[foreign](http://foreign.example)",
)
LONGEST_SHOWN = 30_000
_MARKDOWN = ("markdown", "caption", "warning", "error", "info", "success", "title", "header",
             "subheader")  # fmt: skip
_LABELLED = ("selectbox", "multiselect", "select_slider", "slider", "number_input", "text_input",
             "text_area", "toggle", "button", "pills", "button_group")  # fmt: skip
_CODE = re.compile(r"(?<![\\`])(`+)(?!`)(?:(?!\1(?!`)).|(?<=`)`)*?(?<!`)\1(?!`)", re.DOTALL)
_ALIVE = re.compile(
    r"(?<!\\)[*_~`$<#|\[]foreign|foreign\.example|(?<!\\):material/foreign|:foreign:"
    r"|[\u200b\u202e\x07]"
)


def go_to(at: AppTest, page: str) -> AppTest:
    """Another page, named as "section/page" or by its address, in the run that follows.

    `AppTest.switch_page` knows pages that are files; ours are functions.
    """
    at._page_hash = calc_hash(PAGES[page.removesuffix("/page").rpartition("/")[2]].name)
    return at


@cache
def _components() -> BidiComponentManager:
    """What a server finds out once, as it starts, reading every installed package's metadata."""
    found = BidiComponentManager()
    found.discover_and_register_components(start_file_watching=False)
    return found


def opened(page: str, **query: str) -> AppTest:
    """A page, named as "section/page", with controls given as in its address."""
    at = AppTest.from_file(APP, default_timeout=180)
    # Else each looks for them again, which takes longer than most pages.
    at._bidi_component_manager = _components()
    for name, value in query.items():
        at.query_params[name] = value
    return go_to(at, page).run()


def leave() -> None:
    """End what goes on beside pages that nobody will look at again; it would for two minutes."""
    jobs = background_jobs.JOBS
    with jobs._lock:
        for job in jobs._jobs.values():
            if job.goes_on:
                jobs._stop(job, "unseen")


def texts(page: AppTest) -> list[str]:
    """Everything that the browser reads as Markdown."""
    found = [element.value for kind in _MARKDOWN for element in getattr(page, kind)]
    for kind in _LABELLED:
        found += [element.proto.label for element in page.get(kind) if hasattr(element, "proto")]
    return [text for text in found if isinstance(text, str)]


def alive(text: str) -> str | None:
    """What of a hostile text would be more than letters, if anything."""
    found = _ALIVE.search(_CODE.sub("", text))
    return found and text[max(0, found.start() - 40) : found.end() + 40]


def assert_whole(page: AppTest) -> None:
    """Nothing raised, something shown, nothing huge, and foreign texts are letters alone."""
    assert not page.exception, [each.value for each in page.exception]
    told = texts(page)
    assert told
    for text in told:
        assert len(text) <= LONGEST_SHOWN
        assert alive(text) is None, alive(text)
    for element in page.get("html"):
        assert "foreign" not in element.proto.body


def sentences(page: AppTest) -> str:
    """Every warning, error and notice, in one string."""
    kinds = (page.warning, page.error, page.info, page.caption)
    return "\n".join(element.value for kind in kinds for element in kind)


def gone(at: AppTest, page: str) -> AppTest:
    """The same visitor on another page, as after a click on its link."""
    return go_to(at, page).run()


def shared_link(at: AppTest) -> str:
    """The link that "Share this view" offers."""
    at.button(key="share").click().run()
    (copied,) = (c for c in at.get("bidi_component") if c.proto.component_name == "foot_copy")
    return json.loads(copied.proto.json)["link"]
