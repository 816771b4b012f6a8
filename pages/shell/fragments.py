"""Parts of a page that are drawn again without the rest of it, by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

import streamlit as st
from streamlit.delta_generator_singletons import context_dg_stack
from streamlit.errors import StreamlitAPIException
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.fragment import FragmentStorage, MemoryFragmentStorage
from streamlit.runtime.scriptrunner import RerunData, RerunException, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

P = ParamSpec("P")
T = TypeVar("T")
_MOVED = "_moved_by_callback"
# What changes when epsilon does: its control, its slider, what the page says, the address, what
# stands in small type under a figure. Not the links, nor the twenty controls at the side.
FOLLOWS_EPSILON = ("epsilon", "slider", "answer", "foot", "figure_tools")
_in_order = MemoryFragmentStorage.order_fragment_ids


def _with_what_follows(storage: MemoryFragmentStorage, asked: list[str]) -> list[str]:
    """The parts of a run; with the slider's, which a browser asks for when it is let go, all that
    follows.

    A run of its own that only finds this out has the browser go through the whole page once more.
    """
    follows = _on_page(storage, FOLLOWS_EPSILON)
    if not set(_on_page(storage, ("slider",))) & set(asked) & set(follows):
        return _in_order(storage, asked)
    return _in_order(storage, [*(each for each in asked if each not in follows), *follows])


MemoryFragmentStorage.order_fragment_ids = _with_what_follows  # type: ignore[method-assign, assignment]


def _on_page(storage: FragmentStorage, names: Sequence[str]) -> list[str]:
    """What Streamlit calls these parts; nothing if one is not on the page."""
    try:
        return storage.resolve_target(names)
    except StreamlitAPIException:
        return []


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
    name = f"_places_of_{ThreadState.get().fragment_id}"
    cursor = context_dg_stack.get()[-1]._cursor  # noqa: SLF001, it has no public name
    filled = 0 if cursor is None else cursor.index
    for _ in range(filled, st.session_state.get(name, 0)):
        st.empty()
    st.session_state[name] = filled


def draw_again(*names: str) -> NoReturn:
    """Leave this run, or callback, and draw these parts; the whole page if one is not on it."""
    context = get_script_run_ctx()
    if context is None:
        st.rerun()
    asked = _on_page(context.fragment_storage, names)
    raise RerunException(
        RerunData(
            query_string=context.query_string,
            page_script_hash=context.page_script_hash,
            fragment_id_queue=asked,
            is_fragment_scoped_rerun=bool(asked),
            cached_message_hashes=context.cached_message_hashes,
            context_info=context.context_info,
        )
    )


def set_moved(values: Mapping[str, Any]) -> None:
    """Set controls from a callback that then leaves for another run.

    A browser is told of what is set in the run that draws the control, and else goes on sending
    what it had: `take_moved` sets them there once more.
    """
    st.session_state[_MOVED] = dict(values)
    for name, value in values.items():
        st.session_state[name] = value


def take_moved() -> None:
    """Before controls are drawn that a callback may have moved."""
    for name, value in st.session_state.pop(_MOVED, {}).items():
        st.session_state[name] = value


def ask_again(after: float | None) -> None:
    """From inside a part: draw it again every so many seconds, or no longer."""
    context, here = get_script_run_ctx(), ThreadState.get().fragment_id
    if context is None or here is None:
        return
    message = ForwardMsg()
    if after is None:
        message.stop_auto_rerun.fragment_ids.append(here)
    else:
        message.auto_rerun.fragment_id, message.auto_rerun.interval = here, after
    context.enqueue(message)


def is_alone() -> bool:
    """Whether parts are drawn now, and not the whole page."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def draws(*names: str) -> bool:
    """Whether these parts are among those that are drawn now, or after this callback."""
    context = get_script_run_ctx()
    if context is None:
        return False
    asked = set(_on_page(context.fragment_storage, names))
    return bool(asked) and asked <= set(context.fragment_ids_this_run or ())
