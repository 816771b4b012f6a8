"""Pages of the dashboard: addresses, titles, menus and modules.

To add a page, write one module with a function `show(selection)` and add one entry to `ENTRIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import NoReturn

import streamlit as st

from pages import controls


@dataclass(frozen=True)
class Entry:
    """One page of the dashboard.

    name: Address below the server's own; also the name of the module in its folder. The first
        entry is at the server's own address.
    title: Title in the menu and on the page.
    folder: Folder below `pages`.
    menu: Menu that lists the page; empty for a link in the bar itself.
    part_of: Name of the entry that links to this page, if the menus do not list it.
    former_names: Other addresses that lead here, such as those of earlier versions.
    """

    name: str
    title: str
    folder: str
    menu: str = ""
    part_of: str = ""
    former_names: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """Full name of the page's module."""
        return f"pages.{self.folder}.{self.name}"


ENTRIES = (
    Entry(
        "explore",
        "Explore",
        "explore",
        former_names=("explore", "play", "playground", "eigen_images", "bytes"),
    ),
    Entry("tradeoffs", "Trade-offs", "explore", part_of="explore"),
    Entry("promise", "What ε promises", "learn", "Learn"),
    Entry("drawing", "Draw yourself in", "learn", part_of="promise"),
    Entry("how_it_works", "How it works", "learn", "Learn", former_names=("algorithm",)),
    Entry("audit", "Break it", "learn", "Learn"),
    Entry("stories", "Stories", "learn", "Learn", former_names=("start",)),
    Entry("classroom", "Classroom", "learn", "Learn"),
    Entry("decide", "Decide", "use", former_names=("deck", "best", "plan")),
    Entry("own_table", "Your table", "use", former_names=("own_data", "study")),
    Entry("release", "Release", "use", part_of="own_table"),
    Entry("ledger", "What was spent", "use", part_of="own_table"),
    Entry("statistics", "Other analyses", "explore", "More"),
    Entry("classification", "Classification", "explore", part_of="statistics"),
    Entry("cca", "Two views (CCA)", "explore", part_of="statistics"),
    Entry(
        "compare",
        "Algorithms compared",
        "explore",
        part_of="statistics",
        former_names=("central", "sample_complexity", "sampler"),
    ),
    Entry(
        "papers",
        "Papers and code",
        "use",
        "More",
        former_names=("reproduce", "reproduce_2012"),
    ),
    Entry("tutorials", "Tutorials", "learn", part_of="papers"),
)
# Streamlit opens the start page at the server's own address and needs a name that is free.
_START = "home"
# Former addresses that lead to one view of a page, and the control that selects this view.
FORMER_VIEWS = {
    "sampler": ("compare_tab", "Inside the sampler"),
    "sample_complexity": ("compare_tab", "Samples needed"),
    "reproduce_2012": ("papers_figure", "2012-fig2"),
}
# Pages of the menu Learn in the order of reading; each links to the next at its foot.
LESSONS = ("promise", "how_it_works", "audit", "stories", "classroom")
# Titles of pages in the row of links between the parts of one page, where the menu title differs.
PART_TITLES = {"statistics": "Statistics", "papers": "Papers", "own_table": "Table"}
_BY_NAME = {entry.name: entry for entry in ENTRIES}
_ENTRIES_BY_ADDRESS = {
    name: entry for entry in ENTRIES for name in (entry.name, *entry.former_names)
}


def menu() -> dict[str, list[st.Page]]:
    """Return all pages by menu, as `st.navigation` takes them."""
    menus: dict[str, list[st.Page]] = {}
    for entry in ENTRIES:
        pages = menus.setdefault(entry.menu, [])
        pages.append(_main_page(entry))
        pages += [_page(entry, address, is_visible=False) for address in entry.former_names]
    return menus


def entry_of(page: st.Page) -> Entry:
    """Return the entry of the page that `st.navigation` selected."""
    return _ENTRIES_BY_ADDRESS[page.url_path or ENTRIES[0].name]


def controls_of(entry: Entry) -> Sequence[str]:
    """Return the names of the shared controls that a page declares as `CONTROLS`."""
    return getattr(import_module(entry.module), "CONTROLS", ())


def link(name: str) -> st.Page:
    """Return a page as `st.page_link` and `st.switch_page` take it."""
    return _main_page(_BY_NAME[name])


def go_to(name: str, **query_params: str) -> NoReturn:
    """Open another page with the present values of the shared controls.

    query_params: Values of controls of that page, as its address contains them.
    """
    # Without query_params Streamlit clears the address, which it refuses for bound widgets.
    st.switch_page(link(name), query_params=query_params)


def link_to_parts(name: str) -> None:
    """Draw links between the parts of the page that `name` belongs to."""
    entry = _BY_NAME[name]
    first = entry.part_of or entry.name
    parts = [each for each in ENTRIES if first in (each.name, each.part_of)]
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="parts"):
        for part in parts:
            title = PART_TITLES.get(part.name, part.title)
            if part.name == name:
                # A disabled link has less contrast than text needs.
                st.markdown(f":primary[{title}]", width="content")
            else:
                st.page_link(link(part.name), label=title)


def link_to_next(name: str) -> None:
    """Draw a link to the page that follows `name` in the order of reading."""
    following = LESSONS[LESSONS.index(name) + 1]
    st.page_link(link(following), label=f"Next: {_BY_NAME[following].title} →")


def open_story_of_link(entry: Entry) -> None:
    """Show the story that a link names; in earlier versions stories were told on the start page."""
    if "story" in st.query_params and entry.name != "stories":
        st.switch_page(link("stories"), query_params={"story": st.query_params["story"]})


def _main_page(entry: Entry) -> st.Page:
    address = _START if entry is ENTRIES[0] else entry.name
    return _page(entry, address, is_visible=not entry.part_of)


def _page(entry: Entry, address: str, *, is_visible: bool) -> st.Page:
    return st.Page(
        _show(entry, address),
        title=entry.title,
        url_path=address,
        default=address == _START,
        visibility="visible" if is_visible else "hidden",
    )


def _show(entry: Entry, address: str) -> Callable[[], None]:
    return partial(_run, entry, address)


def _run(entry: Entry, address: str) -> None:
    if address in FORMER_VIEWS:
        control, view = FORMER_VIEWS[address]
        st.session_state.setdefault(control, view)
    show = import_module(entry.module).show
    show(controls.selection())
