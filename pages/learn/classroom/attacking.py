"""Attack: everybody is the adversary, on single releases."""

from __future__ import annotations

import math
from collections.abc import Callable

import streamlit as st

from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.experiments.pca.sentences import counted, percent
from dpcore.figures.privacy.adversary_test import draw_between_svg
from dpcore.privacy.card import say_number
from pages.classroom.activities import ATTACK_DELTA, N_DRAWS, Attack
from pages.classroom.room import Room, Student
from pages.learn.classroom.door import Here, sends
from pages.parameters.words import plain
from pages.sidebar.navigation import page_path
from pages.widgets.charts import is_dark
from pages.widgets.messages import big_number

TITLE = "Attack"
ABOUT = (
    "Everybody plays the adversary: ten single releases, with her or without? The class's hit rate "
    "against the bound that no adversary beats."
)
_OFFERED = tuple(value for value in EPSILONS if 0.1 <= value <= 10)


def asked(_: Room) -> Callable[[], Attack]:
    """The ε of the releases."""
    epsilon = st.segmented_control(
        "ε of a release", _OFFERED, format_func=plain, default=1.0, required=True,
        key="class_attack_epsilon",
    )  # fmt: skip
    return lambda: Attack(epsilon)


def arrived(activity: Attack) -> str:
    made = "1 guess" if activity.n_guesses == 1 else f"{activity.n_guesses} guesses"
    return f"**{made}** by {counted(len(activity.hits), 'student')}."


def on_phone(here: Here, student: Student, activity: Attack) -> None:
    """One release after the other: with her, or without?"""
    room, seat = here.room, student.seat
    hits = activity.hits.get(seat, [])
    if hits:
        verdict = "right" if hits[-1] else "wrong"
        st.markdown(f"The last one was **{verdict}**: {sum(hits)} of {len(hits)} so far.")
    release = activity.release(seat)
    if release is None or room.is_revealed:
        st.info("Look at the wall: what did the class make of it?")
        return
    st.markdown(
        f"**Release {len(hits) + 1} of {N_DRAWS}.** You know everybody's row, and hers. Is hers "
        "among them? A coin has decided."
    )
    st.image(
        draw_between_svg(release, activity.mu, dark=is_dark()),
        width="stretch",
        alt=f"The release is {release:.2f}. Without her it would be around 0, with her around "
        f"{activity.mu:.2f}.",
    )
    st.caption("The upright line is the release. Dashed: without her; solid: with her.")
    left, right = st.columns(2)
    for place, label, guess in ((left, "Without her", False), (right, "With her", True)):
        place.button(
            label,
            key=f"class_attack_{room.round}_{guess}",
            width="stretch",
            disabled=room.is_paused,
            on_click=sends(here, len(hits), guess),
        )


def on_wall(room: Room, activity: Attack) -> None:
    """The class's hit rate, and the bound after Reveal."""
    count, epsilon = activity.n_guesses, plain(activity.epsilon)
    delta = say_number(ATTACK_DELTA)
    if not count:
        st.markdown(
            f"Ten releases on every phone, at ε = {epsilon} and δ = {delta}: is her row among the "
            "others, or not?"
        )
        return
    if not room.is_revealed:
        st.markdown(f"{arrived(activity)} How often can anybody be right?")
        return
    rate = activity.n_hits / count
    luck = math.sqrt(activity.bound * (1 - activity.bound) / count)
    big_number(
        percent(rate),
        f"of the class's guesses were right at ε\u00a0=\u00a0{epsilon}. On average no adversary is "
        f"right more than **{percent(activity.bound)}** of the time; a coin is, half of the time.",
        f"{activity.n_hits} of {count:,} guesses. In so many, luck alone moves the best "
        f"adversary's rate by {100 * luck:.0f} points (one standard deviation).",
    )
    st.markdown(
        "Who was right ten times had luck: what is promised is the chance, on average over draws."
    )
    st.page_link(page_path("promise"), label="Where the bound comes from: What ε promises")


def on_console(_: Here, __: Attack) -> None:
    """Nothing besides."""
