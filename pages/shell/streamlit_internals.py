"""Streamlit's internals that the pages stand on, all of them: why, and what public name would do.

Names below `streamlit.runtime` and `streamlit.proto`, and those with an underscore, may change with
any release, so `pyproject.toml` admits 1.67 alone; the test of this module names the ones
that another version lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, NoReturn

import streamlit as st
from streamlit import config, net_util, runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.delta_generator_singletons import context_dg_stack
from streamlit.errors import StreamlitAPIException
from streamlit.navigation.page import StreamlitPage
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.fragment import FragmentStorage, MemoryFragmentStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import (
    RerunData,
    RerunException,
    StopException,
    get_script_run_ctx,
)
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState
from streamlit.runtime.state.query_params import QueryParams
from streamlit.runtime.state.session_state_proxy import get_session_state

__all__ = [
    "DeltaGenerator",
    "MemoryFragmentStorage",
    "Order",
    "QueryParams",
    "StopException",
    "StreamlitPage",
    "ask_nobody_for_the_external_address",
    "auto_rerun",
    "current_fragment",
    "drawn_fragments",
    "expire_sessions",
    "find_no_pages_in_a_folder",
    "forget_upload",
    "fragments_on_page",
    "has_newer_request",
    "internal_ip",
    "is_history_navigation",
    "is_in_session",
    "n_elements_here",
    "page_hash",
    "query_params",
    "query_string",
    "reorder_fragments",
    "rerun_fragments",
    "set_server_option",
]

Order = Callable[[MemoryFragmentStorage, list[str]], list[str]]


# ---- the server


def find_no_pages_in_a_folder() -> None:
    """Take no folder named pages/ for Streamlit's older kind of multipage app.

    Until the first `st.navigation` call it does, and greets whoever follows a link to a page of a
    server that has just started with "Page not found". Public instead: pages in `st.App(routes=…)`.
    """
    PagesManager.uses_pages_directory = False


def ask_nobody_for_the_external_address() -> None:
    """Have Streamlit compare a visitor's origin with this machine's own address alone.

    It asks a public service for the external one, and nothing here calls outside. Public instead:
    `server.allowedHosts`, once that replaces the comparison.
    """
    net_util.get_external_ip = net_util.get_internal_ip


def internal_ip() -> str | None:
    """This machine's address in its network. Public instead: none."""
    return net_util.get_internal_ip()


def set_server_option(name: str, value: object) -> None:
    """Set an option of the server from the app. Public instead: none; `st.set_option` refuses."""
    config.set_option(name, value)


def expire_sessions() -> None:
    """Let go of sessions that nobody can come back to.

    Streamlit keeps one for two minutes after its visitor has gone, and from then on until another
    visitor goes: after a class, until the next. Public instead: none.
    """
    if not runtime.exists():
        return
    server = runtime.get_instance()
    with suppress(AttributeError):
        sessions = server._session_mgr._session_storage._cache  # type: ignore[attr-defined]  # noqa: SLF001
        # They belong to the thread that serves.
        server._get_async_objs().eventloop.call_soon_threadsafe(sessions.expire)  # noqa: SLF001


# ---- a run of the script


def is_in_session() -> bool:
    """Whether this thread runs a visitor's page. Public instead: none; `st.context` warns."""
    return get_script_run_ctx(suppress_warning=True) is not None


def page_hash() -> str:
    """Which page is drawn. Public instead: the page that `st.navigation` returned."""
    context = get_script_run_ctx()
    return "" if context is None else context.page_script_hash


def query_string() -> str:
    """The address as the browser sent it, with what no control has read. Public instead:
    `st.query_params`, which lacks it.
    """
    context = get_script_run_ctx()
    return "" if context is None else context.query_string


def is_history_navigation() -> bool:
    """Whether Back or Forward began this run. Public instead: none."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def query_params() -> AbstractContextManager[QueryParams]:
    """The address with what `st.query_params` cannot do: change it without telling the browser,
    and before the controls that are bound to it are drawn.
    """
    return get_session_state().query_params()


def forget_upload(file_id: str) -> None:
    """Drop Streamlit's copy of an uploaded file. Public instead: none; it goes with its widget."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file_id)


def has_newer_request() -> bool:
    """Whether this visitor has moved a control, or left, since this run began.

    Streamlit would wait for the end of the run: a part of a page does not interrupt another.
    Public instead: none.
    """
    context = get_script_run_ctx(suppress_warning=True)
    requests = None if context is None else context.script_requests
    if requests is None:
        return False
    asked, run = requests._state, requests._rerun_data  # noqa: SLF001
    if asked is not ScriptRequestType.RERUN:
        return asked is ScriptRequestType.STOP
    # Parts that fill in ask by themselves, and can wait; but such a request may have been put
    # together with one for the whole page, or with what a hand has let go of.
    return not (run.is_auto_rerun and run.fragment_id_queue) or _has_trigger(run.widget_states)


def _has_trigger(states: WidgetStates | None) -> bool:
    kinds = [(each, each.WhichOneof("value") or "") for each in states.widgets] if states else []
    return any(kind.endswith("trigger_value") and getattr(each, kind) for each, kind in kinds)


# ---- fragments


def reorder_fragments(
    order: Callable[[Order, MemoryFragmentStorage, list[str]], list[str]],
) -> None:
    """Let `order` say which fragments a run draws, from those asked for; it is handed Streamlit's
    own way first. Public instead: `st.rerun` with several keys, from the browser.
    """
    own = MemoryFragmentStorage.order_fragment_ids

    def ordered(storage: MemoryFragmentStorage, asked: list[str]) -> list[str]:
        return order(own, storage, asked)

    MemoryFragmentStorage.order_fragment_ids = ordered  # type: ignore[method-assign, assignment]


def fragments_on_page(names: Sequence[str], storage: FragmentStorage | None = None) -> list[str]:
    """What Streamlit calls these parts; nothing if one is not on the page."""
    context = get_script_run_ctx()
    if storage is None and context is not None:
        storage = context.fragment_storage
    try:
        return [] if storage is None else storage.resolve_target(names)
    except StreamlitAPIException:
        return []


def current_fragment() -> str | None:
    """The part that is being drawn. Public instead: none."""
    return ThreadState.get().fragment_id


def drawn_fragments() -> set[str]:
    """The parts that this run draws; none where it draws the page. Public instead: none."""
    context = get_script_run_ctx()
    return set() if context is None else set(context.fragment_ids_this_run or ())


def n_elements_here() -> int:
    """How many elements the container that is being written to has in this run."""
    cursor = context_dg_stack.get()[-1]._cursor  # noqa: SLF001
    return 0 if cursor is None else cursor.index


def rerun_fragments(names: Sequence[str]) -> NoReturn:
    """Leave this run, or callback, and draw these parts; the whole page if one is not on it.

    Public instead: `st.rerun(key)`, once it takes several and works in callbacks.
    """
    context = get_script_run_ctx()
    if context is None:
        st.rerun()
    asked = fragments_on_page(names, context.fragment_storage)
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


def auto_rerun(after: float | None) -> None:
    """From inside a part: draw it again every so many seconds, or no longer.

    Public instead: `st.fragment(run_every=…)`, whose interval is fixed when the part is made.
    """
    context, here = get_script_run_ctx(), current_fragment()
    if context is None or here is None:
        return
    message: Any = ForwardMsg()
    if after is None:
        message.stop_auto_rerun.fragment_ids.append(here)
    else:
        message.auto_rerun.fragment_id, message.auto_rerun.interval = here, after
    context.enqueue(message)
