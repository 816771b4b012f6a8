"""What every page has around it: the selection, its notes, data, errors, the ledger, formulas."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from pages.shell.controls import Selection, current
from pages.widgets import session_ledger
from pages.widgets.notices import dataset_ready, errors_shown, how_computed, not_private

if TYPE_CHECKING:
    from pages.shell.navigation import Place

Draw = TypeVar("Draw", bound=Callable[..., None])


@dataclass(frozen=True)
class _Shell:
    reads: bool = False
    ledger: bool = False
    formulas: str = ""
    beside: tuple[str, str] | None = None


_SHELLS: dict[Callable[..., None], _Shell] = {}


def page(
    *,
    reads: bool = False,
    ledger: bool = False,
    formulas: str = "",
    beside: tuple[str, str] | None = None,
) -> Callable[[Draw], Draw]:
    """Declare what stands around the page that a function draws.

    reads: Whether it needs the rows of the sidebar's data set. Where they are not here, the page
        says how to get them and ends.
    ledger: Whether the sidebar says what has been spent on that data set.
    formulas: The text of `pages/formulas` that says how the page is computed.
    beside: What is shown that no guarantee covers, and why.
    """

    def declared(draw: Draw) -> Draw:
        _SHELLS[draw] = _Shell(reads, ledger, formulas, beside)
        return draw

    return declared


@contextmanager
def around(draw: Callable[..., None], place: Place) -> Iterator[tuple[Selection, ...]]:
    """What stands around a page while it is drawn; gives the selection, if the function takes it.

    A context and not a wrapper: between a slider and the noise lie few functions.
    """
    shell, selection = _SHELLS.get(draw, _Shell()), current()
    if {"people", "intermediate"} & set(place.controls):
        for note in selection.notes:
            st.warning(note)
    if shell.reads and not dataset_ready(selection.dataset):
        st.stop()
    with errors_shown():
        yield (selection,) * len(inspect.signature(draw).parameters)
        if shell.ledger:
            dataset = selection.dataset
            session_ledger.so_far(dataset.name, dataset.title, selection.spec.delta)
    if shell.beside is not None:
        not_private(*shell.beside)
    if shell.formulas:
        how_computed(place.name, shell.formulas)
