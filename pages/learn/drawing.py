"""Draw yourself in: a drawn digit becomes person 10,001, and an attacker looks for it."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.engine.summaries import percent
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
from dpcore.teaching.drawn_person import (
    DATASET,
    N_CANDIDATES,
    drawn_digits,
    guarantee_with_drawing,
    guess_drawing,
    play_rounds,
    row_of,
    seat_person,
)
from pages import navigation
from pages.components import guarantee as cards
from pages.components import ledger
from pages.components.browser_parts import draw_drawing
from pages.components.notices import show_formulas
from pages.number_format import plain
from pages.sidebar import Selection

CONTROLS = ("epsilon", "delta")
# The drawing of this session, the entropy of its noise, and the data of the browser. The noise
# stays while ε moves, so that only its scale changes.
_DRAWING, _ENTROPY, _VIEW = "_drawing", "_drawing_entropy", "_drawing_view"
_FIRST = "5"
_EXAMPLES = ["5", "7", "8"]
_N_ROUNDS, _N_PICTURES = 100, 10
_KEY = "drawing_board"
_ALMOST_SURE = 0.9995


def show(selection: Selection) -> None:
    """Draw the page."""
    budget = PrivacyBudget(selection.spec.epsilon, selection.spec.delta)
    guarantee = guarantee_with_drawing(budget)
    key = f"{budget.epsilon:g} {budget.delta:g}"
    if st.session_state.get(_VIEW, {}).get("of") != key:
        st.session_state[_VIEW] = {"of": key} | _compute(guarantee, budget)
    view = st.session_state[_VIEW]
    ledger.record_uncovered(
        DATASET, "Draw yourself in", "exact components, and results compared with exact ones"
    )
    st.title(
        f"At ε = {plain(budget.epsilon)} the attacker is {view['belief']} sure of your drawing; "
        f"guessing among ten gives {percent(1 / N_CANDIDATES)}"
    )
    navigation.link_to_parts("drawing")
    with st.container(key="drawing_place"):
        draw_drawing(key=_KEY, data=view, on_seated_change=_take_drawing)
    with st.expander("Guarantee, cost, formulas"):
        st.markdown(_total_sentence(budget))
        cards.show_card(guarantee)
        show_formulas("drawing")


def _take_drawing() -> None:
    """Read a drawing, the name of an example, or a request for a new game from the browser."""
    message: Any = st.session_state[_KEY].seated
    if message is None:  # Streamlit also calls this when it resets the value of the previous run.
        return
    st.session_state.pop(_VIEW, None)
    st.session_state.pop(_ENTROPY, None)
    if not isinstance(message, dict):
        return
    if message.get("example") in drawn_digits():
        st.session_state[_DRAWING] = message["example"], drawn_digits()[message["example"]]
    elif isinstance(message.get("ink"), list):
        try:
            ink = np.array(message["ink"], dtype=float)
            row_of(ink)
        except (ParameterError, TypeError, ValueError):
            return
        st.session_state[_DRAWING] = "", ink


def _compute(guarantee: Guarantee, budget: PrivacyBudget) -> dict[str, Any]:
    """Return the data that the browser draws."""
    example, ink = st.session_state.setdefault(_DRAWING, (_FIRST, drawn_digits()[_FIRST]))
    row = row_of(ink)
    entropy = st.session_state.setdefault(_ENTROPY, secrets.randbits(128))
    rng = np.random.default_rng(entropy)
    person = seat_person(row)
    guess = guess_drawing(row, guarantee, rng)
    rounds = play_rounds(row, guarantee, _N_ROUNDS, _N_PICTURES, rng)
    belief = _say_belief(guess.belief)
    return {
        "key": secrets.token_hex(8),
        "belief": belief,
        "example": example,
        "examples": _EXAMPLES,
        "ink": ink.round(3).tolist(),
        "row": row.round(4).tolist(),
        "seat": f"You are person {person.n_people:,}",
        "exact": {
            "values": person.exact_trace.round(4).tolist(),
            "caption": f"not private: likeness {person.exact_cosine:.2f}",
            "alt": "The difference of the two exact results shows your drawing.",
        },
        "private": {
            "suspects": guess.candidates.round(4).tolist(),
            "beliefs": [_say_belief(float(belief)) for belief in guess.beliefs],
            "caption": f"The attacker's ten suspects: you {belief}",
            "alt": f"Ten drawings with the attacker's belief in each; yours has {belief}.",
        },
        "isIn": rounds.is_in.tolist(),
        "leanings": rounds.leanings.round(3).tolist(),
        "pictures": rounds.pictures.round(3).tolist(),
        "best": f"{100 * rounds.best_rate:.0f}",
        "bound": best_guess(guarantee),
        "boundText": icon_counts(guarantee)[0],
        "epsilon": plain(budget.epsilon),
    }


def _say_belief(belief: float) -> str:
    if belief > _ALMOST_SURE:
        return "over 99.9 %"
    return "under 0.1 %" if belief < 1 - _ALMOST_SURE else percent(belief)


def _total_sentence(budget: PrivacyBudget) -> str:
    total = gaussian_epsilon(budget.delta, 1.0, composed_mu(*[gaussian_mu(budget)] * _N_PICTURES))
    return (
        f"On real data the {_N_PICTURES} results of one game would together cost "
        f"ε = {say_number(total)} at δ = {say_delta(budget.delta)}."
    )
