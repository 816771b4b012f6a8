"""A story on the page: the menu of them, the question, and the verdict over its live result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.pca.spec import RunSpec
from pages.parameters.sidebar import DEFAULTS
from pages.server import result_cache
from pages.sidebar.navigation import PAGES, page_path
from pages.sidebar.selection import Selection, defaults_for, selected
from pages.stories import telling
from pages.stories.lessons import STORIES, Story, Verdict, judged
from pages.widgets import session_ledger
from pages.widgets.messages import big_number, errors_shown

_MENU = "stories"


def menu() -> None:
    """All stories behind one button, wherever the card has none."""
    if telling.told() is None:
        _menu()


def answered(selection: Selection) -> bool:
    """The card of the story that is told; False while its result must not be seen yet."""
    story = telling.told()
    if story is None:
        return True
    with st.container(border=True, key="story_card"):
        guess = telling.guess()
        if guess is None:
            _ask(story)
            return False
        with errors_shown():
            _say_verdict(story, guess, selection)
        _ways_on(story)
    return True


def _ask(story: Story) -> None:
    st.markdown(f"## {story.title}")
    st.markdown(story.question)
    st.caption("What do you think? The result is worked out when you have said.")
    with st.container(horizontal=True):
        for number, choice in enumerate(story.choices):
            st.button(
                choice.text, key=f"guess_{number}", on_click=telling.make_guess, args=(number,)
            )
    with st.container(horizontal=True, vertical_alignment="center"):
        _menu()
        st.button("Leave the story", on_click=telling.end, type="tertiary", key="story_left")


def _say_verdict(story: Story, guess: int, selection: Selection) -> None:
    seed = selection.spec.seed
    verdict = judged(story, story.finding(lambda moved: _rows(spec_of(story, seed, moved))))
    place = big_number(verdict.finding.number, _heading(verdict, guess), _told(story, verdict))
    place.caption(f"{story.title}. {story.question} You said: *{story.choices[guess].text}*.")
    if selection.spec != spec_of(story, seed):
        st.caption("The controls have been moved since: what is below is no longer the story's.")
        st.button("Back to the story's settings", on_click=telling.go_to_its_settings)


def _heading(verdict: Verdict, guess: int) -> str:
    if verdict.is_close and guess in verdict.admitted:
        return "Too close to call, and you may be right"
    return "You were right" if guess == verdict.true else "Not what you said"


def _told(story: Story, verdict: Verdict) -> str:
    """The answer, what was found, how sure that is, and why it is so."""
    texts = [f"“{choice.text}”" for choice in story.choices]
    answer = f"The answer: **{texts[verdict.true]}**."
    draws = len(verdict.finding.values)
    if verdict.is_close:
        between = " and ".join(texts[number] for number in verdict.admitted)
        answer = f"{draws} draws cannot tell between {between}."
    sure = f" {verdict.n_agreeing} of {draws} draws say so by themselves." if draws > 1 else ""
    return f"{answer} {verdict.finding.sentence}{sure}\n\n{story.why}\n\n**Try next.** {story.then}"


def _ways_on(story: Story) -> None:
    titles = {each.title: name for name, each in STORIES.items()}
    following = (list(STORIES) * 2)[list(titles).index(story.title) + 1]
    with st.container(horizontal=True, vertical_alignment="center"):
        if story.ends_on:
            st.page_link(page_path(story.ends_on), label=PAGES[story.ends_on].title)
        else:
            st.button(
                f"Next story: {STORIES[following].title}",
                on_click=telling.begin, args=(following,), type="primary", key="story_next",
            )  # fmt: skip
        st.button("Back to my own settings", on_click=telling.end, key="story_ended")
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
    telling.begin(st.session_state[_MENU])


def _rows(spec: RunSpec) -> Sequence[Row]:
    """Run live, and paid for."""
    session_ledger.pay_run(spec, spec.repetitions)
    return result_cache.rows(spec)


def spec_of(story: Story, seed: int, moved: Mapping[str, object] | None = None) -> RunSpec:
    """A story's settings as a run, with the visitor's seed and some controls moved."""
    statuses = result_cache.dataset_statuses()
    dataset = next(status for status in statuses if status.name == DEFAULTS["dataset"])
    values = defaults_for(dataset) | dict(story.settings) | {"seed": seed} | dict(moved or {})
    del values["dataset"]
    return selected(dataset, values).spec
