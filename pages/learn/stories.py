"""Stories: a question about private PCA, the visitor's guess, and runs that decide.

The address names the story (`?story=people`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from dpcore.data import dataset_status
from dpcore.experiments.pca import RunSpec
from dpcore.figures.outcomes import Bar, outcome_bars
from dpcore.figures.style import ink
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.guarantee_in_words import say_number
from dpcore.teaching.stories import RANDOM, STORIES, Outcome, Story, Verdict, judge
from pages import cached, links, navigation, sidebar
from pages.components import guarantee, ledger, notices
from pages.components.charts import is_dark, show_figure
from pages.components.picture_strip import draw_strip
from pages.learn.reading import TITLE, show_reading
from pages.sidebar import Selection

CONTROLS = ()
_STORY, _GUESSES = "story", "_story_guesses"
_CHALLENGE = "read"
_COLUMNS = 4
# Step of a lesson: a page or a story, its minutes, and the task of the class.
LESSON = (
    ("promise", 8, "Play ten rounds at ε = 1, then at ε = 5."),
    ("explore", 5, "Lower ε until you cannot read the digits."),
    ("small-epsilon", 4, "Guess first, then look."),
    ("people", 4, "Why do more patients help?"),
    ("one-against-twenty", 4, "Why should hospitals work together?"),
    ("how_it_works", 8, "Follow one message from the rows to the sum."),
    ("broken-promise", 4, "Does a published formula always hold?"),
    ("audit", 5, "Attack a mechanism and watch the needle."),
    ("ten-looks", 3, "What do ten looks cost?"),
)
_INK, _ORANGE, _BLUE = "currentColor", "#D55E00", "#0072B2"


def show(selection: Selection) -> None:
    """Draw the story that the address names, or a card for each story."""
    name = st.query_params.get(_STORY, "")
    if name == _CHALLENGE:
        st.query_params[_STORY] = name
        if show_reading():
            st.button("All stories", on_click=_leave_story)
        return
    if name in STORIES:
        # Streamlit leaves parameters out of the address after a link from this page to itself.
        st.query_params[_STORY] = name
        links.write_option("seed", str(selection.spec.seed), str(sidebar.DEFAULTS["seed"]))
        _show_story(name, selection.spec.seed)
        return
    if name:
        st.warning(f"There is no story “{notices.escape_markdown(name)}”. These are the stories.")
    _show_cards()
    _show_lesson()
    navigation.link_to_next("stories")


# ---- all stories


def _show_cards() -> None:
    st.title("Ten experiments and a challenge: guess first, then run them")
    titles = {_CHALLENGE: TITLE} | {name: story.title for name, story in STORIES.items()}
    for start in range(0, len(titles), _COLUMNS):
        names = list(titles)[start : start + _COLUMNS]
        # The last row has fewer cards.
        for column, name in zip(st.columns(_COLUMNS), names, strict=False):
            with column, st.container(border=True, height="stretch", key=f"story_{name}"):
                drawing = _SKETCHES[name].replace(_INK, ink(is_dark()))
                st.image(
                    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 0 128 68">'
                    f"{drawing}</svg>",
                    width="stretch",
                    alt=f"Sketch of the story {titles[name]}.",
                )
                label = titles[name] + (" ✓" if name in _guesses() else "")
                _link_to_story(name, label)


def _link_to_story(name: str, label: str) -> None:
    st.page_link(navigation.link("stories"), label=label, query_params={_STORY: name})


def _show_lesson() -> None:
    lesson = st.expander(f"A {sum(minutes for _, minutes, _ in LESSON)}-minute lesson")
    for number, (goal, minutes, task) in enumerate(LESSON, 1):
        with lesson.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{number}.** {minutes} min", width=90)
            if goal in STORIES:
                _link_to_story(goal, STORIES[goal].title)
            else:
                st.page_link(navigation.link(goal))
            st.markdown(task)


# ---- one story


def _show_story(name: str, seed: int) -> None:
    story = STORIES[name]
    title = st.empty()
    title.title(story.title)
    st.markdown(story.question)
    guess = _guesses().get(name)
    spec = story.spec(seed)
    verdict: Verdict | None = None
    figure, words = st.columns([3, 2], gap="large")
    with figure:
        if guess is None:
            outcomes = story.finding.before(spec, _rows)
        else:
            with st.spinner("Running"):
                verdict = judge(story, story.finding.after(spec, _rows))
            outcomes = verdict.finding.outcomes
        _show_outcomes(outcomes, story.finding.axis)
    if verdict is not None:
        title.title(verdict.finding.sentence.rstrip("."))
    with words:
        if verdict is None or guess is None:
            st.markdown("**Your guess?**")
            for number, choice in enumerate(story.choices):
                st.button(
                    choice.text, key=f"guess_{number}", width="stretch",
                    on_click=partial(_guesses().__setitem__, name, number),
                )  # fmt: skip
        else:
            st.subheader(_heading(verdict, guess))
            st.markdown(_explanation(story, verdict, guess))
    _show_pictures(outcomes)
    if verdict is not None:
        st.markdown(f"**Why?** {story.why}")
    if story.finding.axis != "ε":
        measured = "Captured energy and rebuilt pictures"
        notices.mark_not_private(measured, "are computed on raw data.")
    if spec.reads_rows_first:
        notices.mark_not_private("Published centring and scaling", "read all rows.")
    if verdict is not None:
        # The exact ε would give one story's answer away.
        _show_adversaries(spec)
    _show_next_links(name, story, spec, is_over=verdict is not None)


def _show_adversaries(spec: RunSpec) -> None:
    """Write the adversaries of each group of algorithms that have the same ones."""
    titles: dict[str, list[str]] = {}
    for key, released in cached.guarantees(spec).items():
        if sentence := guarantee.adversaries(released):
            exact = f"exact ε = {say_number(released.epsilon)}. {sentence}"
            titles.setdefault(exact, []).append(PROTOCOLS[key].title)
    for sentence, names in titles.items():
        st.caption(f"{', '.join(names)}: {sentence}")


def _guesses() -> dict[str, int]:
    """Return the choice that the visitor made in each story of this session."""
    guesses: dict[str, int] = st.session_state.setdefault(_GUESSES, {})
    return guesses


def _rows(spec: RunSpec) -> list[Any]:
    ledger.charge_run(spec)
    return cached.rows(spec)


def _show_outcomes(outcomes: tuple[Outcome, ...], axis: str) -> None:
    means = [f"{outcome.label}: {outcome.text}" for outcome in outcomes if outcome.values]
    bars = [
        Bar(
            outcome.label,
            outcome.values,
            outcome.text if outcome.values else "",
            "" if outcome.protocol == RANDOM else outcome.protocol,
            is_reference=outcome.protocol == RANDOM
            or (not outcome.protocol and outcome is outcomes[0]),
        )
        for outcome in outcomes
    ]
    show_figure(
        outcome_bars(bars, axis, dark=is_dark()),
        key="story_outcomes",
        alt=f"Bars of {axis}. {'; '.join(means)}.",
    )


def _heading(verdict: Verdict, guess: int) -> str:
    number = verdict.finding.number
    if verdict.is_close and guess in verdict.possible:
        return f"{number}: too close to call"
    return f"{number}: you were right" if guess == verdict.true else f"{number}: surprised?"


def _explanation(story: Story, verdict: Verdict, guess: int) -> str:
    answer = f"**{story.choices[verdict.true].text}.**"
    n_runs = len(verdict.finding.values)
    if verdict.is_close:
        texts = " or ".join(f"“{story.choices[number].text}”" for number in verdict.possible)
        answer = f"{n_runs} runs cannot decide between {texts}."
    agreeing = f" {verdict.n_agreeing} of {n_runs} runs agree." if n_runs > 1 else ""
    return f"{answer}{agreeing}\n\nYou guessed: {story.choices[guess].text}."


def _show_pictures(outcomes: tuple[Outcome, ...]) -> None:
    """Draw ten digits as they are, and rebuilt from one run at each setting."""
    runs = [
        (outcome.label, outcome.spec)
        for outcome in outcomes
        if outcome.spec and outcome.protocol != RANDOM
    ]
    shape = dataset_status(runs[0][1].dataset).image_shape if runs else None
    if shape is None:
        return
    strips = [("Ten known digits", cached.exact_pictures(runs[0][1]).rows)]
    for label, spec in runs:
        run = cached.measure(spec, spec.protocols[0], 0, pictured=True)
        if run.pictures is not None:
            strips.append((f"Rebuilt: {label}", run.pictures.rows))
    for label, levels in strips:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(label, width=180)
            draw_strip(levels, shape, alt=f"{label}.", height=56)


def _show_next_links(name: str, story: Story, spec: RunSpec, *, is_over: bool) -> None:
    if is_over:
        st.markdown(f"**Next experiment.** {story.experiment}")
    names = list(STORIES)
    following = names[(names.index(name) + 1) % len(names)]
    with st.container(horizontal=True, vertical_alignment="center"):
        if is_over and story.next_page:
            st.page_link(navigation.link(story.next_page))
        elif is_over:
            # Streamlit adds a step to the browser's history that has this page's path and the
            # parameters of the link. With the story's name, Back leads to the story.
            query = {_STORY: name} | sidebar.offer_settings(_control_values(spec))
            st.page_link(
                navigation.link("explore"), label="Open these settings in Explore",
                query_params=query,
            )  # fmt: skip
        if is_over:
            _link_to_story(following, f"Next story: {STORIES[following].title} →")
        st.button("All stories", on_click=_leave_story)


def _leave_story() -> None:
    st.query_params.pop(_STORY)


def _control_values(spec: RunSpec) -> dict[str, Any]:
    """Return the shared controls that select this specification."""
    algorithm, *others = spec.protocols
    return {
        "dataset": spec.dataset,
        "algorithm": algorithm,
        "compare": others,
        "epsilon": spec.epsilon,
        "delta": spec.delta,
        "sites": spec.sites,
        "people": sidebar.ALL_SAMPLES if spec.samples is None else spec.samples // spec.sites,
        "components": spec.components,
        "intermediate": spec.intermediate_dim,
        "calibration": spec.calibration,
        "noise": spec.noise,
        "truncation": spec.truncation,
        "denoise": spec.denoise,
        "preparation": spec.preparation,
        "split": spec.split,
        "concentration": spec.concentration,
        "repetitions": spec.repetitions,
        "seed": spec.seed,
    }


# ---- sketches of the stories


def _dots(count: int, colour: str, start: float, columns: int) -> str:
    return "".join(
        f'<circle cx="{start + 8 * (n % columns):g}" cy="{10 + 8 * (n // columns)}" r="2.8" '
        f'fill="{colour}"/>'
        for n in range(count)
    )


def _line(points: str, colour: str, dash: str = "") -> str:
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="3" '
        f'stroke-linecap="round" stroke-linejoin="round" stroke-dasharray="{dash}"/>'
    )


def _bars(heights: tuple[int, ...], colour: str, start: float) -> str:
    return "".join(
        f'<rect x="{start + 12 * n:g}" y="{58 - height}" width="9" height="{height}" rx="1.5" '
        f'fill="{colour}"/>'
        for n, height in enumerate(heights)
    )


# Sketches of the stories, in a box of 120 × 64.
_SKETCHES = {
    "read": _line("34,8 34,38 62,38 62,8 62,58", _BLUE)
    + _line("84,24 84,44 92,24 92,44 100,24 100,44", _INK, "1 7"),
    "people": _dots(4, _BLUE, 16, 2) + _dots(36, _ORANGE, 62, 6),
    "one-against-twenty": _dots(1, _BLUE, 20, 1) + _dots(20, _ORANGE, 66, 5),
    "small-epsilon": _line("8,52 24,30 34,44 46,20 58,50 70,26 82,42 96,22 112,48", _INK),
    "delta": _line("8,20 40,22 70,27 90,37 104,50 112,58", _BLUE) + _line("8,58 112,58", _INK),
    "skewed-sites": _bars((46, 8, 5), _ORANGE, 8)
    + _bars((6, 44, 8), _BLUE, 46)
    + _bars((5, 9, 42), _INK, 84),
    "preparation": f'<circle cx="60" cy="32" r="25" fill="none" stroke="{_BLUE}" stroke-width="3"/>'
    + _line("60,32 78,14", _ORANGE)
    + _line("60,32 36,40", _ORANGE)
    + _line("60,32 66,56", _ORANGE),
    "r-too-small": _bars((48, 40, 32), _ORANGE, 10)
    + f'<g opacity=".3">{_bars((26, 21, 17, 13, 10), _INK, 48)}</g>',
    "broken-promise": _line("10,54 52,36 60,44 112,8", _ORANGE)
    + _line("10,54 112,30", _INK, "2 7"),
    "free-energy": _bars((24, 28), _INK, 20) + _bars((38, 50), _ORANGE, 66),
    "ten-looks": "".join(
        f'<circle cx="{14 + 10 * n}" cy="{32 + (n % 2) * 4}" r="{3 + n * 0.9:.1f}" fill="none" '
        f'stroke="{_BLUE}" stroke-width="2"/>'
        for n in range(10)
    ),
}
