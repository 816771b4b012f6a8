"""Draw yourself in: a drawn digit becomes person 10,001, and an attacker looks for it."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.summaries import percent
from dpcore.privacy import (
    Guarantee,
    PrivacyBudget,
    best_guess,
    composed_mu,
    gaussian_epsilon,
    gaussian_mu,
    icon_counts,
)
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.teaching.adversary_test import (
    DATASET,
    drawn_digits,
    play_rounds,
    promise_to_all,
    row_of,
    seat_person,
)
from pages import navigation
from pages.components import guarantee as cards
from pages.components import ledger
from pages.components.browser_parts import draw_drawing
from pages.components.notices import explain_computation, mark_not_private
from pages.controls import Selection, plain

CONTROLS = ("epsilon", "delta")
# The drawing of this session, and what the browser shows for it.
_DRAWING, _VIEW = "_drawing", "_drawing_view"
_FIRST = "5"
_EXAMPLES = ["5", "7", "8"]
_N_ROUNDS, _N_PICTURES = 100, 10
_KEY = "drawing_board"
_ALMOST_SURE = 0.9995


def show(selection: Selection) -> None:
    """Draw the page."""
    budget = PrivacyBudget(selection.spec.epsilon, selection.spec.delta)
    promised = promise_to_all(budget)
    key = f"{budget.epsilon:g} {budget.delta:g}"
    if st.session_state.get(_VIEW, {}).get("of") != key:
        st.session_state[_VIEW] = {"of": key} | _compute(promised, budget)
    view = st.session_state[_VIEW]
    ledger.record_uncovered(
        DATASET, "Draw yourself in", "exact components, and results compared with exact ones"
    )
    st.title(f"At ε = {plain(budget.epsilon)} the best attacker is {view['belief']} sure of you")
    navigation.link_to_parts("drawing")
    with st.container(key="drawing_place"):
        draw_drawing(key=_KEY, data=view, on_seated_change=_take_drawing)
    mark_not_private("Exact PCA", "reads all rows without noise.")
    with st.expander("Guarantee and total cost"):
        st.markdown(_total_sentence(budget))
        cards.show_card(promised)
    explain_computation("drawing")


def _take_drawing() -> None:
    """Read what the browser sent: a drawing, the name of an example, or a wish for a new game."""
    sent: Any = st.session_state[_KEY].seated
    if sent is None:  # Streamlit also calls this when it resets the value of the previous run.
        return
    st.session_state.pop(_VIEW, None)
    if not isinstance(sent, dict):
        return
    if sent.get("example") in drawn_digits():
        st.session_state[_DRAWING] = sent["example"], drawn_digits()[sent["example"]]
    elif isinstance(sent.get("ink"), list):
        try:
            ink = np.array(sent["ink"], dtype=float)
            row_of(ink)
        except (ParameterError, TypeError, ValueError):
            return
        st.session_state[_DRAWING] = "", ink


def _compute(promised: Guarantee, budget: PrivacyBudget) -> dict[str, Any]:
    """Return what the browser draws, with new noise."""
    example, ink = st.session_state.setdefault(_DRAWING, (_FIRST, drawn_digits()[_FIRST]))
    row = row_of(ink)
    rng = np.random.default_rng(secrets.randbits(128))
    person = seat_person(row, promised, rng)
    rounds = play_rounds(row, promised, _N_ROUNDS, _N_PICTURES, rng)
    belief = "over 99.9 %" if person.belief > _ALMOST_SURE else percent(person.belief)
    return {
        "key": secrets.token_hex(8),
        "belief": belief,
        "example": example,
        "examples": _EXAMPLES,
        "ink": ink.round(3).tolist(),
        "row": row.round(4).tolist(),
        "seat": f"You are person {person.n_people:,}.",
        "exact": {
            "values": person.exact_trace.round(4).tolist(),
            "caption": f"Likeness to your drawing: {person.exact_cosine:.2f}",
            "alt": "The difference of the two exact results shows your drawing.",
        },
        "private": {
            "values": person.private_picture(row).round(4).tolist(),
            "caption": f"The attacker is {belief} sure.",
            "alt": f"The drawing under noise, by a belief of {belief}.",
        },
        "text": "Subtract the two exact results and your drawing appears.",
        "isIn": rounds.is_in.tolist(),
        "leanings": rounds.leanings.round(3).tolist(),
        "pictures": rounds.pictures.round(3).tolist(),
        "best": f"{100 * rounds.best_here:.0f}",
        "bound": best_guess(promised),
        "boundText": icon_counts(promised)[0],
        "epsilon": plain(budget.epsilon),
    }


def _total_sentence(budget: PrivacyBudget) -> str:
    together = gaussian_epsilon(
        budget.delta, 1.0, composed_mu(*[gaussian_mu(budget)] * _N_PICTURES)
    )
    return (
        f"On real data the {_N_PICTURES} results of one game would together cost "
        f"ε = {say_number(together)} at δ = {say_delta(budget.delta)}."
    )
