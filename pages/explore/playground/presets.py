"""Presets that tell a story: settings, a question to predict, and what to look at."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from pages.sidebar.controls import redraw_noise, set_controls


@dataclass(frozen=True)
class Story:
    """One click of settings and one question.

    `answers` are the choices; which one is right is for the live result to say.
    """

    title: str
    settings: dict[str, object]
    question: str
    answers: tuple[str, ...]
    look: str = field(default="")


STORIES = (
    Story(
        "One hospital against fifty",
        {"sites": 50, "epsilon": 2.0, "protocols": ["dpdis", "local"], "people": 20},
        "Fifty hospitals with 20 people each send private proxies; one hospital works alone with "
        "its own 20. How much more energy does the collaboration keep?",
        ("About the same", "Up to twice as much", "More than twice as much"),
        "Every site adds its own noise, but fifty noises average out and one does not.",
    ),
    Story(
        "ε too small to see anything",
        {"epsilon": 0.02, "protocols": ["dpdis", "pooled", "local"]},
        "At ε = 0.02, how far above a random subspace does DPdisPCA get?",
        ("Level with random", "Half way to exact", "Close to exact"),
        "The components below are noise. Only more people or a larger ε can help.",
    ),
    Story(
        "R too small",
        {"epsilon": 5.0, "intermediate": 3, "protocols": ["dpdis", "full"]},
        "Ten components are wanted, and each site sends only three directions. What is lost "
        "against sending everything?",
        ("Nothing to speak of", "About a tenth", "A third or more"),
        "Sites that look alike send the same three directions, and nobody sends the others.",
    ),
    Story(
        "The promise that breaks: published noise at ε = 10",
        {"epsilon": 10.0, "calibration": "published", "noise": "triangle", "truncation": "svd"},
        "The paper's noise is asked for ε = 10. Which ε does it really promise?",
        ("Less than 10", "Exactly 10", "More than 15"),
        "See the guarantee below: asked and exact ε are two numbers.",
    ),
    Story(
        "Free energy: psd and isometric",
        {"epsilon": 1.0, "protocols": ["dpdis"], "compare": True},
        "Isometric noise and psd truncation keep the same promise as the published choices. How "
        "much energy do they add?",
        ("Nothing: the same promise costs the same", "A few points", "More than ten points"),
        "Both only post-process what was already private, so nobody pays for the difference.",
    ),
)


def told() -> Story | None:
    """The story being told, if any."""
    number = st.session_state.get("_story")
    return None if number is None else STORIES[number]


def picker() -> None:
    """Another draw, and the row of stories."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Redraw noise",
            on_click=redraw_noise,
            type="primary",
            help="New noise under the same settings: how much was luck?",
        )
        st.markdown("A story in one click:", width="content")
        for number, story in enumerate(STORIES):
            st.button(story.title, key=f"story_{number}", on_click=_begin, args=(number,))


def predicted(story: Story) -> bool:
    """Ask the story's question; True once somebody has answered and may see the result."""
    with st.container(border=True):
        st.markdown(f"**{story.title}.** {story.question}")
        guess = st.session_state.get("_guess")
        if guess is None:
            with st.container(horizontal=True):
                for answer in story.answers:
                    st.button(answer, key=f"guess_{answer}", on_click=_guess, args=(answer,))
            return False
        st.markdown(f"You said: *{guess}*. {story.look}")
        st.button("End the story", on_click=_end, type="tertiary")
    return True


def _begin(number: int) -> None:
    set_controls(**STORIES[number].settings)
    st.session_state["_story"] = number
    st.session_state["_guess"] = None


def _guess(answer: str) -> None:
    st.session_state["_guess"] = answer


def _end() -> None:
    st.session_state["_story"] = None
