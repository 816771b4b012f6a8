"""Pages of the dashboard: addresses, titles, menus and modules.

To add a page, write one module with a function `show(selection)` and add one entry to `ENTRIES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import streamlit as st

from pages import sidebar


@dataclass(frozen=True)
class Entry:
    """One page of the dashboard.

    name: Name of the page's module in its folder.
    title: Title in the menu and on the page.
    folder: Folder below `pages`.
    menu: Menu that lists the page; empty for a link in the bar itself.
    part_of: Name of the first of the pages that link to each other in a row above their content.
        A page that is part of another one and has no menu is not listed.
    """

    name: str
    title: str
    folder: str
    menu: str = ""
    part_of: str = ""

    @property
    def module(self) -> str:
        """Full name of the page's module."""
        return f"pages.{self.folder}.{self.name}"

    @property
    def is_listed(self) -> bool:
        """Return whether the bar or one of its menus lists the page."""
        return bool(self.menu) or not self.part_of

    @property
    def tab_title(self) -> str:
        """Title of the browser's tab."""
        return NAME if self.name == ENTRIES[0].name else f"{self.title} · {NAME}"

    @property
    def address(self) -> str:
        """Path of the page below the server's own address; "" for the start page."""
        return "" if self.name == ENTRIES[0].name else self.name


ENTRIES = (
    Entry("explore", "Explore", "explore"),
    Entry("compare", "Compare", "explore"),
    Entry("papers", "Papers", "use"),
    Entry("tutorials", "Tutorials", "learn", part_of="papers"),
    Entry("statistics", "Statistics", "explore", "Analyses"),
    Entry("classification", "Classification", "explore", "Analyses", "statistics"),
    Entry("cca", "Two views (CCA)", "explore", "Analyses", "statistics"),
    Entry("promise", "What ε promises", "learn", "Learn"),
    Entry("drawing", "Draw yourself in", "learn", part_of="promise"),
    Entry("how_it_works", "How it works", "learn", "Learn"),
    Entry("audit", "Break it", "learn", "Learn"),
    Entry("stories", "Stories", "learn", "Learn"),
    Entry("classroom", "Classroom", "learn", "Learn"),
    Entry("decide", "Decide", "use", "Use"),
    Entry("own_table", "Your table", "use", "Use"),
    Entry("release", "Release", "use", part_of="own_table"),
    Entry("ledger", "What was spent", "use", part_of="own_table"),
)
NAME = "DP-PCA Lab"
# Streamlit opens the start page at the server's own address and needs a name that is free.
_START = "home"
# Pages of the menu Learn in the order of reading; each links to the next at its foot.
LESSONS = ("promise", "how_it_works", "audit", "stories", "classroom")
# Titles of pages in the row of links between the parts of one page, where the menu title differs.
PART_TITLES = {"own_table": "Table"}
_BY_NAME = {entry.name: entry for entry in ENTRIES}


def menu() -> dict[str, list[st.Page]]:
    """Return all pages by menu, as `st.navigation` takes them."""
    menus: dict[str, list[st.Page]] = {}
    for entry in ENTRIES:
        menus.setdefault(entry.menu, []).append(_page(entry))
    return menus


def entry_of(page: st.Page) -> Entry:
    """Return the entry of the page that `st.navigation` selected."""
    return _BY_NAME[page.url_path or ENTRIES[0].name]


def controls_of(entry: Entry) -> Sequence[str]:
    """Return the names of the shared controls that a page declares as `CONTROLS`."""
    return getattr(import_module(entry.module), "CONTROLS", ())


def link(name: str) -> st.Page:
    """Return a page as `st.page_link` takes it."""
    return _page(_BY_NAME[name])


def link_to_parts(name: str) -> None:
    """Draw links between the parts of the page that `name` belongs to."""
    entry = _BY_NAME[name]
    first = entry.part_of or entry.name
    parts = [entry for entry in ENTRIES if first in (entry.name, entry.part_of)]
    if len(parts) == 1:
        return
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


def _page(entry: Entry) -> st.Page:
    return st.Page(
        partial(_run, entry),
        title=entry.title,
        url_path=entry.address or _START,
        default=not entry.address,
        visibility="visible" if entry.is_listed else "hidden",
    )


def _run(entry: Entry) -> None:
    show = import_module(entry.module).show
    show(sidebar.selection())
