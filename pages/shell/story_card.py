"""The card of the story being told: question, guess, verdict.

The story is a control like others, bound to the address and drawn out of sight: links, Back and
buttons move it, and `follow` sees to the rest before any other control is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dpcore.experiments.engine import Row
from dpcore.experiments.pca import RunSpec
from pages.server import caches
from pages.shell.controls import Selection, defaults_for, selected, set_controls
from pages.shell.lessons import NO_STORY, STORIES, Story, StoryVerdict, judged
from pages.shell.navigation import DEFAULT_PAGE, PAGES, Place, linked_page
from pages.shell.parameters import SIDEBAR, ask, known
from pages.shell.streamlit_internals import query_params
from pages.widgets import session_ledger
from pages.widgets.notices import big_number, errors_shown

_KEY = "story"
_FOLLOWED, _GUESS, _OWN = "_story_followed", "_story_guess", "_own_settings"
_FINISHED = "_stories_finished"
_MENU = "stories"


def told() -> Story | None:
    """The story that is told, if any."""
    return STORIES.get(st.session_state.get(_KEY, NO_STORY))


def finished() -> set[str]:
    """Stories in which the visitor has guessed."""
    found: set[str] = st.session_state.setdefault(_FINISHED, set())
    return found


def make_guess(number: int) -> None:
    """Settle on a choice, from a callback."""
    st.session_state[_GUESS] = number
    finished().add(st.session_state[_KEY])


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
        st.switch_page(linked_page(DEFAULT_PAGE), query_params=asked)


def _write_settings(story: Story) -> None:
    """Into the address: controls that have not been drawn yet read it there."""
    with query_params() as address:
        for name, value in story.settings.items():
            address.set_corrected_value(name, known(name).spelled(value), "string_array_value")
        address.set_initial_query_params_from_current()


def menu() -> None:
    """All stories behind one button, wherever the card has none."""
    if told() is None:
        _menu()


def answered(selection: Selection) -> bool:
    """The card of the story that is told; False while its result must not be seen yet."""
    story = told()
    if story is None:
        return True
    with st.container(border=True, key="story_card"):
        guessed: int | None = st.session_state.get(_GUESS)
        if guessed is None:
            _ask(story)
            return False
        with errors_shown():
            _say_verdict(story, guessed, selection)
        _ways_on(story)
    return True


def _ask(story: Story) -> None:
    st.markdown(f"## {story.title}")
    st.markdown(story.question)
    st.caption("What do you think? The result is worked out when you have said.")
    with st.container(horizontal=True):
        for number, choice in enumerate(story.choices):
            st.button(choice.text, key=f"guess_{number}", on_click=make_guess, args=(number,))
    with st.container(horizontal=True, vertical_alignment="center"):
        _menu()
        st.button("Leave the story", on_click=end, type="tertiary", key="story_left")


def _say_verdict(story: Story, guessed: int, selection: Selection) -> None:
    seed = selection.spec.seed
    if selection.spec != spec_of(story, seed):
        # Its answer is about other settings than what stands below.
        st.markdown(
            f"**{story.title}**: the controls have been moved since, so its answer is not shown."
        )
        st.button("Back to the story's settings", on_click=go_to_its_settings)
        return
    verdict = judged(story, story.finding(lambda moved: _rows(spec_of(story, seed, moved))))
    place = big_number(verdict.finding.number, _heading(verdict, guessed), _told(story, verdict))
    place.caption(f"{story.title}. {story.question} You said: *{story.choices[guessed].text}*.")


def _heading(verdict: StoryVerdict, guessed: int) -> str:
    if verdict.is_close and guessed in verdict.admitted:
        return "Too close to call, and you may be right"
    return "You were right" if guessed == verdict.true else "Not what you said"


def _told(story: Story, verdict: StoryVerdict) -> str:
    """The answer, what was found, how sure that is, and why it is so."""
    texts = [f"“{choice.text}”" for choice in story.choices]
    answer = f"The answer: **{texts[verdict.true]}**."
    draws = len(verdict.finding.values)
    if verdict.is_close:
        between = " and ".join(texts[number] for number in verdict.admitted)
        answer = f"{draws} runs cannot tell between {between}."
    sure = f" {verdict.n_agreeing} of {draws} runs say so by themselves." if draws > 1 else ""
    return f"{answer} {verdict.finding.sentence}{sure}\n\n{story.why}\n\n**Try next.** {story.then}"


def _ways_on(story: Story) -> None:
    titles = {each.title: name for name, each in STORIES.items()}
    following = (list(STORIES) * 2)[list(titles).index(story.title) + 1]
    with st.container(horizontal=True, vertical_alignment="center"):
        if story.ends_on:
            st.page_link(linked_page(story.ends_on), label=PAGES[story.ends_on].title)
        else:
            st.button(
                f"Next story: {STORIES[following].title}",
                on_click=begin, args=(following,), type="primary", key="story_next",
            )  # fmt: skip
        st.button("Back to my own settings", on_click=end, key="story_ended")
        _menu()


def _menu() -> None:
    st.menu_button(
        "Stories",
        tuple(STORIES),
        key=_MENU,
        format_func=lambda name: STORIES[name].title,
        help="A question, your guess, and the answer worked out while you watch.",
        on_click=_picked,
    )


def _picked() -> None:
    begin(st.session_state[_MENU])


def _rows(spec: RunSpec) -> Sequence[Row]:
    """Run live, and paid for."""
    session_ledger.charge_run(spec, spec.repetitions)
    return caches.rows(spec)


def spec_of(story: Story, seed: int, moved: Mapping[str, object] | None = None) -> RunSpec:
    """A story's settings as a run, with the visitor's seed and some controls moved."""
    statuses = caches.dataset_statuses()
    dataset = next(status for status in statuses if status.name == story.settings["dataset"])
    values = defaults_for(dataset) | dict(story.settings) | {"seed": seed} | dict(moved or {})
    del values["dataset"]
    return selected(dataset, values).spec
