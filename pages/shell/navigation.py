"""The map of pages: what is linked on top, the parts of each page, the controls a part shows."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module

import streamlit as st

from pages.shell.parameters import FIRST
from pages.shell.streamlit_internals import StreamlitPage

DEFAULT_PAGE = "play"
# Pages whose module is not called after them alone: they share one, or have files beside it.
_SHARED_MODULES = {
    "algorithm": "pages.learn.algorithm.page",
    "bytes": "pages.explore.tradeoffs",
    "classroom": "pages.learn.classroom.page",
    "decide": "pages.use.decide.page",
    "deck": "pages.use.deck.page",
    "drawing": "pages.learn.drawing.page",
    "eigen_images": "pages.explore.eigen_images.page",
    "plan": "pages.use.plan.page",
    "play": "pages.explore.play.page",
    "promise": "pages.learn.promise.page",
    "reproduce_2012": "pages.use.reproduce",
    "sample_complexity": "pages.explore.central",
    "sampler": "pages.explore.central",
    "tutorials": "pages.use.reproduce",
}
_RUN = (*FIRST, "advanced", "draws")


def _run_without(*names: str) -> tuple[str, ...]:
    return tuple(name for name in _RUN if name not in names)


@dataclass(frozen=True)
class Place:
    """A page, or one part of a page of several: an address of its own, and a file.

    `controls` names shared controls, "advanced" those of the expander, "draws" the last ones;
    `section` is the file's folder.
    """

    name: str
    title: str
    about: str
    controls: tuple[str, ...] = ()
    section: str = ""

    def show(self) -> None:
        """Draw the page: `show_` and its name, in a module imported when somebody first comes."""
        from pages.shell.page import around  # which links to pages

        module = _SHARED_MODULES.get(self.name, f"pages.{self.section.lower()}.{self.name}")
        draw = getattr(import_module(module), f"show_{self.name}")
        with around(draw, self) as handed:
            draw(*handed)

    @property
    def is_default(self) -> bool:
        return self.name == DEFAULT_PAGE

    @property
    def address(self) -> str:
        """What follows the server's name; the default page has nothing there."""
        return "" if self.is_default else self.name


_EXPLORE = (
    Place(
        "play",
        "Play",
        "Ten pictures rebuilt from private components: drag ε and see what survives.",
        # Its ε is on the page, where what follows it is.
        _run_without("epsilon"),
    ),
    Place(
        "eigen_images",
        "Eigen-images",
        "The components as pictures from ε = ∞ down, samples rebuilt from them, the spectrum.",
        _run_without("protocols", "epsilon", "intermediate", "draws"),
    ),
    Place(
        "central",
        "Central algorithms",
        "SuLQ, MOD-SuLQ, Analyze Gauss and PPCA side by side: what each keeps and promises.",
        ("dataset", "epsilon", "delta", "components", "advanced", "draws"),
    ),
    Place(
        "sample_complexity",
        "How many people?",
        "People needed for one private component: theorems as curves, measurements beside them.",
        ("epsilon", "delta"),
    ),
    Place(
        "cca",
        "Two views (CCA)",
        "What two views of the same people share, found privately: correlations, people, curves.",
        ("epsilon", "delta", "sites", "advanced", "draws"),
    ),
    Place(
        "statistics",
        "Statistics",
        "A private mean, variance or histogram of one column: its error, its bounds, its rows.",
        ("dataset", "epsilon", "delta"),
    ),
    Place(
        "classification",
        "Classification",
        "Private components feeding a classifier, and how to split one budget between them.",
        ("dataset", "epsilon", "delta", "components"),
    ),
    Place(
        "tradeoffs",
        "Trade-offs",
        "Let ε, δ, rows, sites, K or what sites send vary, on any data; watch the curves arrive.",
        _RUN,
    ),
    Place(
        "bytes",
        "What a byte buys",
        "How much survives for the bytes a site sends: proxies against rounded matrices.",
        _run_without("protocols", "intermediate"),
    ),
)
_LEARN = (
    Place(
        "promise",
        "What ε promises",
        "Was she in it? A game against the bound, and one person dragged round a circle.",
        ("epsilon", "delta"),
    ),
    Place(
        "drawing",
        "Draw yourself in",
        "A digit drawn by hand becomes person 10,001: exact PCA shows it, private PCA hides it.",
        ("epsilon", "delta"),
    ),
    Place(
        "algorithm",
        "How it works",
        "One message from a site's rows to the result: noise, denoising, cut, sum, as pictures.",
        _run_without("protocols", "draws"),
    ),
    Place(
        "audit",
        "Break it",
        "Attack a mechanism, sound or flawed, and watch the bound on ε grow.",
    ),
    Place(
        "stories",
        "Stories",
        "Ten questions, a guess, and the answer worked out live; a path of 45 minutes.",
    ),
    Place(
        "classroom",
        "Classroom",
        "A room for a class and its phones: be the hospitals, guess, attack, spend one budget.",
    ),
    Place(
        "sampler",
        "Inside the sampler",
        "PPCA's Markov chains from random and from exact starts: traces, R-hat, burn-in.",
        ("dataset", "epsilon", "components"),
    ),
    Place(
        "tutorials",
        "Tutorials",
        "Mean, variance, histogram, PCA, SVM, logistic regression: a few lines each, run live.",
    ),
)
_USE = (
    Place(
        "own_data",
        "Your own table",
        "Bring a table, say what is public about it, and explore it before releasing anything.",
        ("dataset",),
    ),
    Place(
        "release",
        "Release it",
        "From your table to private components one may publish: planned, charged, certified.",
    ),
    Place(
        "ledger",
        "What was spent",
        "Everything shown so far, and the ε it would have cost real people.",
        ("dataset", "delta"),
    ),
    Place(
        "decide",
        "Three options",
        "What must survive, and whom do we trust? Cautious, balanced, detailed, in fresh runs.",
        ("dataset", "sites", "people", "components"),
    ),
    Place(
        "best",
        "All ways at my ε",
        "Every private way at one promise, ranked; whom each has one trust.",
        _run_without("protocols"),
    ),
    Place(
        "plan",
        "All ways to a target",
        "Set a target; find the ε, the rows, the R or the sites that reach it.",
        _run_without("protocols"),
    ),
    Place(
        "deck",
        "Deck",
        "Views you have pinned: in order, side by side, presented, and taken away as files.",
    ),
    Place(
        "reproduce",
        "Reproduce the paper",
        "Every published panel run live, over the published points, its claims checked.",
    ),
    Place(
        "reproduce_2012",
        "Reproduce 2012",
        "Figures 1 and 2 and the table of the 2012 paper, run live on the data that are here.",
    ),
)
PAGES: dict[str, Place] = {
    place.name: replace(place, section=section)
    for section, places in (("Explore", _EXPLORE), ("Learn", _LEARN), ("Use", _USE))
    for place in places
}


@dataclass(frozen=True)
class Page:
    """What is linked on top: a title, the menu it stands in ("" for the bar itself), its parts."""

    title: str
    menu: str
    parts: tuple[str, ...]


WEBSITE = (
    Page("Play", "", ("play", "eigen_images", "tradeoffs", "bytes")),
    Page("What ε promises", "Learn", ("promise", "drawing")),
    Page("How it works", "Learn", ("algorithm",)),
    Page("Break it", "Learn", ("audit",)),
    Page("Stories", "Learn", ("stories",)),
    Page("Classroom", "Learn", ("classroom",)),
    Page("Decide", "", ("decide", "deck", "best", "plan")),
    Page("Your data", "", ("own_data", "release", "ledger")),
    Page("Other analyses", "More", ("statistics", "classification", "cca")),
    Page("Algorithms compared", "More", ("central", "sample_complexity", "sampler")),
    Page("Papers and code", "More", ("reproduce", "reproduce_2012", "tutorials")),
)
_PAGE_OF = {part: page for page in WEBSITE for part in page.parts}
# Addresses that pages had once, and the places that are shown there now.
MOVED = {"start": "stories", "playground": "play"}


def page_of(place: Place) -> Page:
    """The page that a place is a part of."""
    return _PAGE_OF[place.name]


def links() -> dict[str, list[StreamlitPage]]:
    """The pages by the menu their links stand in, for one run of the script.

    A page is linked by its first part; the others are linked on the page itself.
    """
    menus: dict[str, list[StreamlitPage]] = {}
    for page in WEBSITE:
        for part in page.parts:
            # A page may be run once: each run of the script has its own.
            menus.setdefault(page.menu, []).append(copy(_streamlit_page(PAGES[part])))
    for old, place in MOVED.items():
        menus[""].append(
            st.Page(PAGES[place].show, title=PAGES[place].title, url_path=old, visibility="hidden")
        )
    return menus


@cache
def _streamlit_page(place: Place) -> StreamlitPage:
    """Made once for everybody: that takes longer than a widget."""
    page = page_of(place)
    is_first = place.name == page.parts[0]
    return st.Page(
        place.show,
        title=page.title if is_first else place.title,
        url_path=place.name,
        default=place.is_default,
        visibility="visible" if is_first else "hidden",
    )


def place_at(address: str) -> Place:
    """The place that an address of ours shows; "" is the default page's."""
    return PAGES[MOVED.get(address, address) or DEFAULT_PAGE]


def linked_page(name: str) -> StreamlitPage:
    """A page, as `st.page_link` and `st.switch_page` want it."""
    return _streamlit_page(PAGES[name])
