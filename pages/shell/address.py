"""The address is the state: it says where every control stands, of this page and of the others.

Streamlit's address knows the controls that the page draws. What others stand at is kept in the
session while one moves about, and added here; who opens, reloads or goes back brings an address
that says it all, and the session follows it. What it asks for and no control can take is said, not
quietly replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode

import streamlit as st

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from pages.shell.controls import defaults_for
from pages.shell.fragments import release_held, set_moved, take_held, take_moved
from pages.shell.navigation import PAGES
from pages.shell.parameters import DEFAULTS, drawn, find, known, moved, usual_values
from pages.shell.streamlit_internals import (
    QueryParams,
    is_history_navigation,
    is_in_session,
    page_hash,
    query_params,
    query_string,
)
from pages.widgets.notices import plainly

_ELSEWHERE, _PAGE = "_elsewhere", "_page_of_the_address"
Written = dict[str, list[str]]
_REFUSED = "_refused"
_MOST_NAMED = 5
_NOT_LOOKED = object()


def read() -> None:
    """Before a control is drawn: what the address says, or has lost on the way to this page."""
    drawn().clear()
    take_moved()
    if not is_in_session():
        return
    with query_params() as address:
        if _ELSEWHERE not in st.session_state or is_history_navigation():
            _forget()
            written = parse_qs(query_string(), keep_blank_values=True)
            _set(address, {name: each for name, each in written.items() if name not in address})
        else:
            if st.session_state.get(_PAGE) != page_hash():
                take_held()
            for name in [name for name in address if find(name) is not None]:
                address.discard_param_no_forward_msg(name)
            _set(address, st.session_state[_ELSEWHERE] | moved())
        st.session_state[_ELSEWHERE], st.session_state[_PAGE] = _of_others(address), page_hash()
        # Controls read what the address said as the run began.
        address.set_initial_query_params_from_current()


def write() -> None:
    """When a page is done: the address says where every control stands."""
    with query_params() as address:
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
    with query_params() as address:
        return _of_others(address) | moved()


def _urlencoded(written: Written) -> str:
    # Two of them would strike out what stands between, where the address is part of a sentence.
    return urlencode(sorted(written.items()), doseq=True).replace("~", "%7E")


def back_to_defaults() -> None:
    """Every control of every page as it usually stands, from a callback."""
    st.session_state[_ELSEWHERE] = {}
    # Some follow the data set, and are usual for the one that is left.
    set_moved(usual_values() | defaults_for(dataset_status(DEFAULTS["dataset"])))
    st.rerun()


def _forget() -> None:
    """Another address than the session's: nothing that it leaves out may linger."""
    release_held()
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


@dataclass(frozen=True)
class AddressReading:
    """What an address says: what controls can take, and names nobody knows.

    `new` is as controls spell it, of those that were not drawn before.
    """

    new: Written
    unknown: tuple[str, ...]


def corrected() -> AddressReading:
    """Leave in the address what controls can take, spelled as they spell it.

    To be called before any control is drawn: Streamlit itself reads numbers without limits, and
    stops at ?seed=inf.
    """
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    known = {name: written for name, written in asked.items() if find(name) is not None}
    taken, refused = _read(known)
    _respell(known, taken)
    # Kept before the page runs: a page that starts over has no such address any more.
    st.session_state.setdefault(_REFUSED, {}).update(
        {name: (sentence, _NOT_LOOKED, page_hash()) for name, sentence in refused.items()}
    )
    return AddressReading(
        {name: written for name, written in taken.items() if name not in st.session_state},
        tuple(name for name in asked if name not in known),
    )


@contextmanager
def checked(asked: AddressReading) -> Iterator[None]:
    """Draw a page under what its address could not have; each sentence stays until that control
    is moved.
    """
    # There in every run, so that nothing below it changes its place.
    notice = st.container()
    with notice:
        _say_refused()
        _say_unknown(asked.unknown)
    yield
    refused = _refused_by_controls(asked.new)
    st.session_state[_REFUSED].update(refused)
    with notice:
        for name in refused:
            _say_one(name)


def was_refused(name: str) -> bool:
    """Whether the page says that this control could not have what the address asked for."""
    return name in st.session_state[_REFUSED]


def _read(asked: Written) -> tuple[Written, dict[str, str]]:
    """What controls can take, as they spell it; and why the others cannot."""
    taken, refused = {}, {}
    for name, written in asked.items():
        try:
            taken[name] = known(name).read(name, written)
        except ParameterError:
            refused[name] = _sentence(name, written)
    return taken, refused


def _respell(asked: Written, taken: Written) -> None:
    with query_params() as address:
        for name, written in asked.items():
            if name not in taken:
                address.remove_param(name)
            elif taken[name] != written:
                address.set_corrected_value(name, taken[name], "string_array_value")
        # Bound controls read what the address said as the run began.
        address.set_initial_query_params_from_current()


def _refused_by_controls(new: Written) -> dict[str, tuple[str, object, str]]:
    """What is right by the table, and beyond what the present data or settings have."""
    return {
        name: (_sentence(name, written), st.session_state[name], page_hash())
        for name, written in new.items()
        if name in st.session_state and known(name).spelled(st.session_state[name]) != written
    }


def _sentence(name: str, written: list[str]) -> str:
    return (
        f"In the address, {plainly(name)} must be {known(name).offered}, "
        f"got {plainly(', '.join(written)) or 'nothing'}"
    )


def _say_refused() -> None:
    refused = st.session_state[_REFUSED]
    for name, (sentence, shown, page) in list(refused.items()):
        if shown is _NOT_LOOKED:
            # A control that the page is yet to draw will stand at its default.
            default = known(name).default
            refused[name] = (sentence, st.session_state.get(name, default), page)
        # Of a control that this page does not draw, there is nothing to move.
        elif st.session_state[name] != shown if name in st.session_state else page != page_hash():
            del refused[name]
            continue
        _say_one(name)


def _say_one(name: str) -> None:
    sentence, shown, _ = st.session_state[_REFUSED][name]
    value = "" if shown is None else ", ".join(known(name).spelled(shown))
    st.warning(f"{sentence}: {f'showing {plainly(value)}' if value else 'its default is used'}.")


def _say_unknown(names: tuple[str, ...]) -> None:
    if names:
        told = ", ".join(plainly(name) for name in names[:_MOST_NAMED])
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        st.caption(f"No page knows what the address calls {told}{more}.")
