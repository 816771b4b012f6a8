"""Parts of a page that are drawn again without the rest of it, by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

import streamlit as st

from pages.shell import streamlit_internals as internals

P = ParamSpec("P")
T = TypeVar("T")
_MOVED, _HELD = "_moved_by_callback", "_held_out_of_sight"
# What changes when epsilon does: its control, its slider, what the page says, the address, what
# stands in small type under a figure. Not the links, nor the twenty controls at the side.
FOLLOWS_EPSILON = ("epsilon", "slider", "answer", "foot", "figure_tools")


def _with_what_follows(
    in_order: internals.Order, storage: internals.MemoryFragmentStorage, asked: list[str]
) -> list[str]:
    """The parts of a run; with the slider's, which a browser asks for when it is let go, all that
    follows.

    A run of its own that only finds this out has the browser go through the whole page once more.
    """
    follows = internals.fragments_on_page(FOLLOWS_EPSILON, storage)
    slider = internals.fragments_on_page(("slider",), storage)
    if not set(slider) & set(asked) & set(follows):
        return in_order(storage, asked)
    return in_order(storage, [*(each for each in asked if each not in follows), *follows])


internals.reorder_fragments(_with_what_follows)


def part(name: str, draw: Callable[P, T]) -> Callable[P, T]:
    """What draws a part; moving a control inside draws the part alone, unless its callback calls
    `st.rerun`.
    """
    return st.fragment(and_nothing_else()(draw), key=name)


def in_browser(name: str, *files: Path) -> Callable[..., Any]:
    """A part that the browser draws: Streamlit's component of files of HTML, looks and scripts.

    Files of one ending are read one after the other.
    """
    texts: dict[str, Any] = {}
    for kind in ("html", "css", "js"):
        read = [file.read_text(encoding="utf-8") for file in files if file.suffix == f".{kind}"]
        texts |= {kind: "\n".join(read)} if read else {}
    return st.components.v2.component(name, **texts)


@contextmanager
def and_nothing_else() -> Iterator[None]:
    """Around what draws a part: empties the places that an earlier and longer run of it had filled.

    A browser does so by itself once it hears that the run has ended. On a busy server it may not:
    Streamlit says so of no run whose last word is still waiting when the next run begins.
    """
    yield
    name = f"_places_of_{internals.current_fragment()}"
    filled = internals.n_elements_here()
    for _ in range(filled, st.session_state.get(name, 0)):
        st.empty()
    st.session_state[name] = filled


def draw_again(*names: str) -> NoReturn:
    """Leave this run, or callback, and draw these parts; the whole page if one is not on it."""
    internals.rerun_fragments(names)


def set_moved(values: Mapping[str, Any]) -> None:
    """Set controls from a callback that then leaves for another run.

    A browser is told of what is set in the run that draws the control, and else goes on sending
    what it had: `take_moved` sets them there once more.
    """
    st.session_state[_MOVED] = dict(values)
    set_controls_to(values)


def set_controls_to(values: Mapping[str, Any]) -> None:
    """Set controls from a callback whose run draws them."""
    release_held()
    for name, value in values.items():
        st.session_state[name] = value


def release_held() -> None:
    """Forget what was held: the address or a callback says where controls stand."""
    st.session_state.pop(_HELD, None)


def hold(name: str, value: Any) -> None:
    """Keep the value of a control that a visitor cannot reach, drawn in a part of its own."""
    st.session_state[_HELD] = {name: value}


def take_held() -> None:
    """On the way to another page: what such a control was left at, whatever the browser sends.

    On a busy machine the browser may not yet have taken in the value that the control was set to
    when a link is followed, and sends the one before.
    """
    for name, value in st.session_state.pop(_HELD, {}).items():
        if st.session_state.get(name) != value:
            st.session_state[name] = value


def take_moved() -> None:
    """Before controls are drawn that a callback may have moved."""
    for name, value in st.session_state.pop(_MOVED, {}).items():
        st.session_state[name] = value


def ask_again(after: float | None) -> None:
    """From inside a part: draw it again every so many seconds, or no longer."""
    internals.auto_rerun(after)


def is_alone() -> bool:
    """Whether parts are drawn now, and not the whole page."""
    return bool(internals.drawn_fragments())


def draws(*names: str) -> bool:
    """Whether these parts are among those that are drawn now, or after this callback."""
    asked = set(internals.fragments_on_page(names))
    return bool(asked) and asked <= internals.drawn_fragments()
