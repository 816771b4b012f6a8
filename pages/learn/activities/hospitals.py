"""We are the hospitals: each phone sends one noisy message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.experiments.engine.fields import PUBLISHED_DELTA
from dpcore.experiments.engine.summaries import bytes_in_words, counted, percent
from dpcore.figures.images import ink_strip
from dpcore.figures.messages import messages_curve
from dpcore.privacy import icon_counts
from dpcore.privacy.guarantee_in_words import say_delta
from dpcore.teaching.activities import Hospitals
from dpcore.teaching.class_hospitals import (
    DELTA,
    PICTURES,
    SHAPE,
    components_of,
    hospital_guarantee,
)
from dpcore.teaching.rooms import Room, Student
from dpcore.templates import fill
from pages.components import charts, guarantee, ledger, notices
from pages.learn.activities.visitor import (
    View,
    Visitor,
    send_in_round,
    try_action,
)
from pages.number_format import plain

# Components and the centre that was released with them.
Rebuilt: TypeAlias = tuple[FloatArray, FloatArray | None]
_NUMERALS = """
<div style="display:flex;flex-wrap:wrap;gap:.5rem 2rem">
{%- for title, strips in figures -%}
<figure style="margin:0;flex:1 1 {{ width }};min-width:0">
{#- #}<figcaption><b>{{ title }}</b></figcaption>
{%- for png in strips -%}
<img src="{{ png | data_uri }}" alt="{{ title }}: digits from {{ 5 * loop.index0 }}"
style="width:100%;display:block;image-rendering:pixelated">
{%- endfor -%}
</figure>
{%- endfor -%}
</div>"""
_EPSILONS_OF_HOSPITALS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_NUMBERS_SHOWN = 24


def _choose_hospitals(room: Room) -> Callable[[], Hospitals]:
    return lambda: Hospitals(room.n_joined)


def _hospitals_progress(activity: Hospitals) -> str:
    return f"**{counted(len(activity.messages), 'hospital')}** sent a message."


def _hospitals_on_phone(visitor: Visitor, student: Student, activity: Hospitals) -> None:
    seat, room = student.seat, visitor.room
    if not activity.has_share(seat):
        st.info("All patients are dealt. You get some in the next round.")
        return
    if room.is_revealed:
        _describe_round(activity)
        _show_numerals(activity, _results(activity))
    n_rows, has_sent = activity.hospitals.people(seat), seat in activity.messages
    epsilon = activity.epsilons.get(seat, 1.0)
    if not has_sent:
        st.markdown(f"You are a hospital with **{n_rows:,} patients**. How much may you reveal?")
        epsilon = st.segmented_control(
            "Your ε: small is private, large is useful",
            _EPSILONS_OF_HOSPITALS,
            format_func=plain,
            default=1.0,
            required=True,
            key=f"classroom_epsilon_{room.round}",
            disabled=room.is_paused or room.is_revealed,
        )
    message, n_bytes = activity.preview(seat, epsilon)
    _show_numerals(
        activity,
        {
            "Your patients' patterns stay here": (activity.hospitals.own_components(seat), None),
            f"Your message at ε = {plain(epsilon)}": (components_of(message), None),
        },
    )
    if has_sent:
        raw = bytes_in_words(8 * n_rows * message.n_features)
        st.success(f"Sent: {bytes_in_words(n_bytes)}. Your patients' rows, {raw}, stayed here.")
    elif not room.is_revealed:
        st.button(
            f"Send at ε = {plain(epsilon)}",
            type="primary",
            width="stretch",
            key=f"classroom_send_{room.round}",
            on_click=send_in_round(visitor, epsilon),
            disabled=room.is_paused,
        )
    holds = hospital_guarantee(activity.hospitals, seat, epsilon)
    n_right, _ = icon_counts(holds)
    st.markdown(
        "Even with this message, a guess about one patient is right at most "
        f"**{n_right} times in 100**."
    )
    with st.expander("Guarantee"):
        guarantee.show_card(holds)


def _hospitals_on_wall(room: Room, activity: Hospitals) -> None:
    if room.is_revealed and activity.opened is not None:
        _show_message(room, activity, activity.opened)
        return
    _describe_round(activity)
    pictures, chart = st.columns([3, 2], gap="large")
    with chart:
        curve = messages_curve(
            activity.energies,
            activity.hospitals.random_energy,
            activity.hospitals.moments.n_sites,
            dark=charts.is_dark(),
        )
        alt = f"Captured energy after {counted(len(activity.messages), 'message')}."
        charts.show_figure(curve, key="classroom_energy", alt=alt)
    if activity.components is None:
        return
    with pictures:
        _show_numerals(activity, _results(activity), in_one_row=True)
    notices.mark_not_private("Captured energy and the rebuilt digits", "are read off the rows.")
    ledger.record_uncovered(PICTURES, "Rounds in a classroom", "each hospital pays its own ε")


def _results(activity: Hospitals) -> dict[str, Rebuilt]:
    """Return the components of the class and of exact PCA, by title."""
    rebuilt: dict[str, Rebuilt] = {}
    if activity.components is not None:
        rebuilt["As published"] = activity.components, None
    if activity.improved is not None:
        rebuilt["Improved"] = activity.improved.components, activity.improved.centre
    return rebuilt | {"Without noise": (activity.hospitals.exact, None)}


def _hospitals_headline(_: Room, activity: Hospitals) -> str:
    if not activity.messages:
        return ""
    published = f"As published: {percent(activity.energy)} captured energy"
    improved = activity.improved
    return published if improved is None else f"{published}. Improved: {percent(improved.energy)}"


def _describe_round(activity: Hospitals) -> None:
    n_sites, n_sent = activity.hospitals.moments.n_sites, len(activity.messages)
    if not n_sent:
        st.markdown("### No message yet. Choose your ε and send.")
        return
    improved = activity.improved
    rows = activity.hospitals.people(0)
    dealt = f"{n_sent} of {n_sites} hospitals, {rows:,} of 10,000 pictures each."
    if improved is None:
        average = "Quiet messages count more." if activity.is_weighed else "All count alike."
        st.caption(
            f"{dealt} {average} Explore's published version has δ = {say_delta(PUBLISHED_DELTA)} "
            f"and centred rows; here δ = {say_delta(DELTA)}, around grey."
        )
        return
    floor = percent(activity.hospitals.prior_energy)
    equal = f", as on Explore with {n_sites} sites" if n_sent == n_sites else ""
    st.caption(
        f"{dealt} Improved ran with new noise at ε = {plain(improved.epsilon)}, the smallest "
        f"chosen{equal}. Guessing that pictures are smooth gives {floor}. It is a "
        "second release: every patient pays for both."
    )


def _hospitals_on_console(visitor: Visitor, activity: Hospitals) -> None:
    room, seats = visitor.room, list(activity.messages)
    if not room.is_revealed or not seats:
        return
    labels = {student.seat: student.label for student in room.students}
    if activity.improved is None:
        epsilon = plain(min(activity.epsilons.values()))
        st.button(
            f"Improved, at ε = {epsilon}",
            type="primary",
            key=f"classroom_improved_{room.round}",
            on_click=try_action,
            args=(partial(_run_improved, visitor, activity),),
            help="The start page's improved version for all hospitals that sent a message, with "
            "new noise, at the smallest ε that one of them chose.",
        )

    def change(name: str, value: object) -> None:
        if getattr(activity, name) != value:
            try_action(partial(room.show, visitor.key, partial(setattr, activity, name, value)))

    opened = st.selectbox(
        "Show one message on the wall",
        [None, *seats],
        format_func=lambda seat: "none" if seat is None else labels.get(seat, str(seat + 1)),
        key=f"classroom_opened_{room.round}",
    )
    change("opened", opened)
    weighed = st.toggle(
        "Weigh each message by its noise",
        value=False,
        key=f"classroom_weighed_{room.round}",
        help="Off is the plain average of Algorithm 1: a hospital with a small ε adds its noise "
        "to the result of all. The noise scales are public, so weights cost no privacy.",
    )
    change("is_weighed", weighed)


def _run_improved(visitor: Visitor, activity: Hospitals) -> None:
    improved = activity.run_improved()
    visitor.room.show(visitor.key, partial(setattr, activity, "improved", improved))


def _show_message(room: Room, activity: Hospitals, seat: int) -> None:
    message = activity.messages[seat]
    labels = {student.seat: student.label for student in room.students}
    holds = hospital_guarantee(activity.hospitals, seat, activity.epsilons[seat])
    n_right, _ = icon_counts(holds)
    name = notices.escape_markdown(labels.get(seat, f"Number {seat + 1}"))
    st.markdown(f"### Everything that the aggregator has from {name}")
    left, right = st.columns(2, gap="large")
    values = message.values.ravel()
    numbers = "  ".join(f"{value:+.3f}" for value in values[:_NUMBERS_SHOWN])
    more = values.size - _NUMBERS_SHOWN
    left.code(f"{numbers}  … and {more:,} more", language=None, wrap_lines=True)
    with right:
        _show_numerals(activity, {"Rebuilt from the message": (components_of(message), None)})
    st.markdown(
        f"Even with this message, a guess about one patient is right at most {n_right} times in "
        "100. No computer and no other data change that."
    )


def _show_numerals(
    activity: Hospitals, rows: Mapping[str, Rebuilt], *, in_one_row: bool = False
) -> None:
    """Draw the same ten digits rebuilt from each of several sets of components.

    in_one_row: One strip of ten for each set, else two of five.
    """
    figures = []
    for title, (components, centre) in rows.items():
        ink = activity.hospitals.rebuild(components, centre)
        halves = (ink,) if in_one_row else (ink[:5], ink[5:])
        strips = [ink_strip(half, SHAPE, dark=charts.is_dark()) for half in halves]
        figures.append((title, strips))
    st.html(fill(_NUMERALS, figures=figures, width="100%" if in_one_row else "16rem"))


HOSPITALS = View(
    "We are the hospitals",
    "Each phone is a hospital and sends one noisy message.",
    12,
    _choose_hospitals,
    _hospitals_progress,
    _hospitals_headline,
    _hospitals_on_phone,
    _hospitals_on_wall,
    _hospitals_on_console,
    (
        "“10,000 digits are dealt: each phone has its own patients.” Press Start.",
        "“Choose how much you reveal. Look at your message before you send it.”",
        "“Send.” Watch the digits on the wall get sharper with each message.",
        "Press Reveal. Show one message on the wall: what does the aggregator know?",
        "Press Improved: the same class, new noise. Whose digits come back?",
        "Weigh messages: quiet ones count more. Ask: who would choose another ε now?",
    ),
)
