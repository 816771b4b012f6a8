"""Which story is told, what was guessed, and where the visitor's own controls stood before.

The story is a control like others, bound to the address and drawn out of sight: links, Back and
buttons move it, and `follow` sees to the rest before any other control is drawn.
"""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.runtime.state.session_state_proxy import get_session_state

from pages.parameters.sidebar import SIDEBAR
from pages.parameters.table import ask, known
from pages.sidebar.controls import set_controls
from pages.sidebar.navigation import DEFAULT_PAGE, Place, page_path
from pages.stories.lessons import NO_STORY, STORIES, Story

_KEY = "story"
_FOLLOWED, _GUESS, _OWN = "_story_followed", "_story_guess", "_own_settings"


def told() -> Story | None:
    """The story that is told, if any."""
    return STORIES.get(st.session_state.get(_KEY, NO_STORY))


def guess() -> int | None:
    """The number of the choice that was guessed."""
    guessed: int | None = st.session_state.get(_GUESS)
    return guessed


def make_guess(number: int) -> None:
    """Settle on a choice, from a callback."""
    st.session_state[_GUESS] = number


def begin(name: str) -> None:
    """Tell a story from a callback; the visitor's own settings are kept for its end."""
    if told() is None:
        st.session_state[_OWN] = {control: st.session_state[control] for control in SIDEBAR}
    _tell(name)
    go_to_its_settings()


def go_to_its_settings() -> None:
    """Controls where the story has them; the seed stays."""
    seed = st.session_state.get("seed", SIDEBAR["seed"].default)
    set_controls(**dict(STORIES[st.session_state[_KEY]].settings), seed=seed)


def end() -> None:
    """Every control where the visitor had it, from a callback."""
    own: dict[str, Any] = st.session_state.pop(_OWN, {})
    _tell(NO_STORY)
    set_controls(**own)


def follow(page: Place) -> None:
    """Draw the story's control, and begin a story that a link or Back asks for.

    To be called before other controls are drawn. A link that names nothing but the story, and
    perhaps a seed, means its settings; where it names other controls they stand as it says.
    """
    if _FOLLOWED not in st.session_state and page.name != DEFAULT_PAGE:
        _go_where_stories_are_told()
    story = ask(_KEY, st.container(key="story_out_of_sight"))
    if story == st.session_state.setdefault(_FOLLOWED, NO_STORY):
        return
    st.session_state[_FOLLOWED], st.session_state[_GUESS] = story, None
    if story == NO_STORY:
        return
    if not (SIDEBAR.keys() - {"seed"}) & set(st.query_params):
        _write_settings(STORIES[story])


def _tell(name: str) -> None:
    st.session_state[_KEY] = st.session_state[_FOLLOWED] = name
    st.session_state[_GUESS] = None


def _go_where_stories_are_told() -> None:
    """A link with a story leads there whatever page it names; before anything is drawn."""
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    if asked.get(_KEY, [NO_STORY]) != [NO_STORY]:
        st.switch_page(page_path(DEFAULT_PAGE), query_params=asked)


def _write_settings(story: Story) -> None:
    """Into the address: controls that have not been drawn yet read it there."""
    with get_session_state().query_params() as address:
        for name, value in story.settings.items():
            address.set_corrected_value(name, known(name).spelled(value), "string_array_value")
        address.set_initial_query_params_from_current()
