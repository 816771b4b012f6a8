"""The address is the state: it says where every control stands, of this page and of the others.

Streamlit's address knows the controls that the page draws. What others stand at is kept in the
session while one moves about, and added here; who opens, reloads or goes back brings an address
that says it all, and the session follows it.
"""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.query_params import QueryParams
from streamlit.runtime.state.session_state_proxy import get_session_state

from dpcore.errors import ParameterError
from pages.parameters.table import drawn, find, moved, usual_values
from pages.sidebar.navigation import PAGES
from pages.sidebar.parts import set_moved, take_moved

_ELSEWHERE = "_elsewhere"
Written = dict[str, list[str]]


def read() -> None:
    """Before a control is drawn: what the address says, or has lost on the way to this page."""
    drawn().clear()
    take_moved()
    context = get_script_run_ctx()
    if context is None:
        return
    with get_session_state().query_params() as address:
        if _ELSEWHERE not in st.session_state or context.is_history_navigation:
            _forget()
            written = parse_qs(context.query_string, keep_blank_values=True)
            _set(address, {name: each for name, each in written.items() if name not in address})
        else:
            for name in [name for name in address if find(name) is not None]:
                address.discard_param_no_forward_msg(name)
            _set(address, st.session_state[_ELSEWHERE] | moved())
        st.session_state[_ELSEWHERE] = _of_others(address)
        # Controls read what the address said as the run began.
        address.set_initial_query_params_from_current()


def write() -> None:
    """When a page is done: the address says where every control stands."""
    with get_session_state().query_params() as address:
        for name in usual_values().keys() - drawn():
            # As the run ends Streamlit clears what is bound and was not drawn.
            if binding := address.get_binding_for_param(name):
                address.unbind_widget(binding.widget_id)
        said = {name: address.get_all(name) for name in address if name not in usual_values()}
        st.session_state[_ELSEWHERE] = _of_others(address)
        address.clear_with_no_forward_msg(preserve_embed=True)
        _set(address, dict(sorted((said | moved()).items())))
        # The one of its ways to tell the browser that asks for no change.
        address.update()


def query() -> str:
    """What restores every control, as the address has it; where they are usual is left out."""
    # What the address asked for and could not have is not in it any more.
    return _urlencoded(stands_at())


def address_of(page: str, written: Written) -> str:
    """What follows the server's name where a page stands like this."""
    asked = _urlencoded(written)
    return f"{PAGES[page].address}{asked and f'?{asked}'}"


def stands_at() -> Written:
    """What the address says: of this page, of those before and of those a link named."""
    with get_session_state().query_params() as address:
        return _of_others(address) | moved()


def _urlencoded(written: Written) -> str:
    # Two of them would strike out what stands between, where the address is part of a sentence.
    return urlencode(sorted(written.items()), doseq=True).replace("~", "%7E")


def back_to_defaults() -> None:
    """Every control of every page as it usually stands, from a callback."""
    st.session_state[_ELSEWHERE] = {}
    set_moved(usual_values())
    st.rerun()


def _forget() -> None:
    """Another address than the session's: nothing that it leaves out may linger."""
    for name in usual_values():
        if name in st.session_state:
            del st.session_state[name]
    usual_values().clear()


def _of_others(address: QueryParams) -> Written:
    """What the address says of controls that this session has never drawn."""
    others = {name: address.get_all(name) for name in address if name not in usual_values()}
    return {name: each for name, each in others.items() if _is_readable(name, each)}


def _is_readable(name: str, written: list[str]) -> bool:
    """Whether a control has this name and can stand there: nothing else is carried along."""
    parameter = find(name)
    try:
        return parameter is not None and bool(parameter.read(name, written))
    except ParameterError:
        return False


def _set(address: QueryParams, written: Written) -> None:
    for name, each in written.items():
        address.set_with_no_forward_msg(name, each[0] if len(each) == 1 else each)
