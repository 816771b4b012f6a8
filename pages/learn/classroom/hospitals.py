"""We are the hospitals: on a phone, on the wall, on the console."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from dpcore.data import dataset_status
from dpcore.experiments.pca.sentences import bytes_in_words, counted, percent
from dpcore.experiments.teaching.class_of_hospitals import (
    DELTA,
    MIDDLE,
    REACH,
    components_of,
    promise_of,
)
from dpcore.figures.tradeoffs.messages import arrivals
from dpcore.privacy import icon_counts
from dpcore.privacy.card import say_number
from pages.classroom.activities import Hospitals
from pages.classroom.room import Room, Student
from pages.learn.classroom.door import Here, called, named, sends, trying
from pages.learn.classroom.drawing import own_digit
from pages.parameters.words import plain
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.component_images import component_rows
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.messages import big_number, not_private

TITLE = "We are the hospitals"
ABOUT = (
    "Every phone is a hospital with its own patients. Each chooses its ε, looks at its noisy "
    "components and sends; on the wall the components of all get sharper."
)
_EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_NUMBERS_SHOWN, _LATEST = 24, 3


def asked(room: Room) -> Callable[[], Hospitals]:
    """Nothing to ask: the digits are dealt among as many as have joined, and some late ones."""
    return lambda: Hospitals(room.n_joined)


def arrived(activity: Hospitals) -> str:
    return f"**{counted(len(activity.messages), 'hospital')}** sent so far."


def on_phone(here: Here, student: Student, activity: Hospitals) -> None:
    """Choose ε, look, send once."""
    seat, room = student.seat, here.room
    if not activity.has_share(seat):
        st.info("All patients are dealt: you have some in the next round. Look at the wall.")
        return
    n_people = activity.hospitals.people(seat)
    has_sent = seat in activity.messages
    if has_sent:
        epsilon = activity.epsilons[seat]
    else:
        st.markdown(f"You are a hospital with **{n_people} patients**. How much may you tell?")
        epsilon = st.segmented_control(
            "Your ε: small is private, large is useful",
            _EPSILONS,
            format_func=plain,
            default=1.0,
            required=True,
            key=f"class_epsilon_{room.round}",
            disabled=room.is_paused or room.is_revealed,
        )
    message, n_bytes = activity.preview(seat, epsilon)
    promised = promise_of(activity.hospitals, seat, epsilon)
    right, blind = icon_counts(promised)
    component_rows(
        {
            "Your patients' patterns: they stay here": activity.hospitals.own_components(seat),
            f"What you send at ε = {plain(epsilon)}": components_of(message),
        },
        activity.hospitals.own_components(seat),
        dataset_status("digits"),
        (),
    )
    if has_sent:
        st.success(
            f"Sent: {bytes_in_words(n_bytes)}. Your patients' rows, "
            f"{bytes_in_words(8 * n_people * message.n_features)}, never left."
        )
    elif not room.is_revealed:
        st.button(
            f"Send at ε = {plain(epsilon)}",
            type="primary",
            width="stretch",
            key=f"class_send_{room.round}",
            on_click=sends(here, epsilon),
            disabled=room.is_paused,
        )
    st.markdown(
        f"Somebody who knows everything else and guesses whether one patient is yours is right "
        f"at most **{right} of 100** times; a coin {blind}."
    )
    if room.is_revealed:
        _found(activity)
        _drawn(activity)
    with st.expander("What this promises", on_change="rerun", key="class_promise") as opened:
        if opened.open:
            guarantee_card(promised)


def on_wall(room: Room, activity: Hospitals) -> None:
    """The components of what has arrived, and how many sent it in how many bytes."""
    if room.is_revealed and activity.opened is not None:
        _looked_into(room, activity, activity.opened)
        return
    if activity.components is None:
        st.markdown("No message has arrived. Every phone chooses its ε, and sends when it likes.")
    else:
        _found(activity, more=room.is_revealed)
    left, right = st.columns(2, gap="large")
    with left:
        # There from the beginning, so that the chart library is loaded by the first message.
        chart(
            arrivals(activity.kept, activity.hospitals.chance,
                     activity.hospitals.moments.n_sites, dark=is_dark()),
            key="class_arrivals",
            alt=f"The share found after each of {counted(len(activity.kept), 'message')}: "
            f"{percent(activity.found)} so far.",
        )  # fmt: skip
    if activity.components is None:
        return
    with right:
        component_rows(
            {"Without any noise": activity.hospitals.exact, "This class": activity.components},
            activity.hospitals.exact,
            dataset_status("digits"),
            (),
        )
    latest = ", ".join(
        f"{named(room, seat)} at ε = {plain(epsilon)}"
        for seat, epsilon in list(activity.epsilons.items())[: -_LATEST - 1 : -1]
    )
    st.caption(f"Latest: {latest}.")
    not_private(
        "The share, and the row without noise",
        "are measured on all rows; real hospitals would have neither.",
    )
    session_ledger.uncovered("digits", "Rounds in a classroom", "each hospital pays its own ε")


def on_console(here: Here, activity: Hospitals) -> None:
    """Whose message the wall looks into, once it is revealed."""
    room, seats = here.room, list(activity.messages)
    if not room.is_revealed or not seats:
        st.caption("After Reveal: what does the aggregator know about one student?")
        return

    def set_(name: str, value: object) -> None:
        if getattr(activity, name) != value:
            trying(partial(room.show, here.key, partial(setattr, activity, name, value)))

    chosen = st.selectbox(
        "What does the aggregator know about …",
        [None, *seats],
        format_func=lambda seat: "nobody" if seat is None else called(room, seat),
        key=f"class_opened_{room.round}",
    )
    set_("opened", chosen)
    weighed = st.toggle(
        "Weigh each message by its noise",
        key=f"class_weighed_{room.round}",
        help="In a plain average, one hospital with a small ε brings its noise to all. Every σ is "
        "public: weighing by 1 / σ² costs no privacy.",
    )
    set_("is_weighed", weighed)


def _found(activity: Hospitals, *, more: bool = True) -> None:
    sent, kept = activity.messages, activity.kept
    if not kept:
        return
    n_dealt = activity.hospitals.moments.n_sites
    plain_average = f"A plain average keeps {percent(kept[-1])}. " * activity.is_weighed
    big_number(
        percent(activity.found),
        f"of the pattern is found by {counted(len(sent), 'hospital')} together, "
        f"in {bytes_in_words(sum(list(activity.n_bytes.values())))}.",
        f"{plain_average}The first message alone had {percent(kept[0])}. Patients are dealt to "
        f"{n_dealt} hospitals; each message promises its own ε at δ = {say_number(DELTA)}."
        if more
        else "",
    )


def _drawn(activity: Hospitals) -> None:
    """What the class's components keep of a digit that somebody draws on their phone."""
    if activity.components is not None:
        st.markdown("### Draw a digit: what do the class's components keep of it?")
        own_digit(
            "class_pad",
            {"components without noise": activity.hospitals.exact, "ours": activity.components},
            as_row=lambda counts: (counts - MIDDLE) / REACH,
            as_picture=lambda row: row * REACH + MIDDLE,
        )


def _looked_into(room: Room, activity: Hospitals, seat: int) -> None:
    message, epsilon = activity.messages[seat], activity.epsilons[seat]
    right_of, blind = icon_counts(promise_of(activity.hospitals, seat, epsilon))
    values = message.values.ravel()
    st.markdown(f"### All that the aggregator has of {named(room, seat)}")
    left, right = st.columns(2, gap="large")
    shown = "  ".join(f"{value:+.3f}" for value in values[:_NUMBERS_SHOWN])
    more = f"{shown}  … and {values.size - _NUMBERS_SHOWN:,} more"
    left.code(more, language=None, wrap_lines=True)
    with right:
        component_rows(
            {"What it can make of them": components_of(message)},
            activity.hospitals.exact,
            dataset_status("digits"),
            (),
        )
    st.markdown(
        f"How many patients there are ({message.n_samples}), and the noise "
        f"(σ = {message.sigma:.3g}), are public. About one of them it guesses right at most "
        f"{right_of} of 100 times; a coin {blind}. No computer and no other data change that."
    )
