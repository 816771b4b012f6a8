"""What every page has around it: the selection, its notes, data, errors, the ledger, formulas."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps

import streamlit as st

from pages.shell.controls import current
from pages.shell.navigation import PAGES
from pages.widgets import session_ledger
from pages.widgets.notices import dataset_ready, errors_shown, how_computed, not_private


def page(
    *,
    reads: bool = False,
    ledger: bool = False,
    formulas: str = "",
    beside: tuple[str, str] = ("", ""),
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """A function that draws a page, with what stands around it on every page.

    The function is called `show_` and the page's name in `navigation`, and is handed the selection
    if it takes one.

    reads: Whether it needs the rows of the sidebar's data set. Where they are not here, the page
        says how to get them and ends.
    ledger: Whether the sidebar says what has been spent on that data set.
    formulas: The text of `pages/formulas` that says how the page is computed.
    beside: What is shown that no guarantee covers, and why.
    """

    def around(draw: Callable[..., None]) -> Callable[[], None]:
        name = draw.__name__.removeprefix("show_")

        @wraps(draw)
        def show() -> None:
            selection = current()
            if {"people", "intermediate"} & set(PAGES[name].controls):
                for note in selection.notes:
                    st.warning(note)
            if reads and not dataset_ready(selection.dataset):
                st.stop()
            with errors_shown():
                draw(*[selection] * len(inspect.signature(draw).parameters))
                if ledger:
                    dataset = selection.dataset
                    session_ledger.so_far(dataset.name, dataset.title, selection.spec.delta)
            if beside is not None:
                not_private(*beside)
            if formulas:
                how_computed(name, formulas)

        return show

    return around
