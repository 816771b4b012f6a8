"""Draw yourself into the data: a drawn digit as person 10,001, and who can tell."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
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
from pages.shell.controls import Selection
from pages.shell.fragments import in_browser
from pages.shell.parameters import plain
from pages.widgets import session_ledger
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.notices import not_private

# The drawing and the promise it was shown at; a drawing is no part of the address.
_SEATED, _SHOWN = "_seated_drawing", "_shown_drawing"
_FIRST = "5"
_ROUNDS, _PICTURES = 100, 10
_KEY = "drawing_board"
_drawing = in_browser("drawing", *Path(__file__).parent.glob("drawing.*"))


def _seat() -> None:
    """Take what the browser sends: a drawing, the name of a drawn digit, or another game."""
    seated: Any = st.session_state[_KEY].seated
    if seated is None:  # also called when Streamlit takes the value of the run before away
        return
    st.session_state.pop(_SHOWN, None)
    if not isinstance(seated, dict):
        return
    if seated.get("example") in drawn_digits():
        st.session_state[_SEATED] = seated["example"], drawn_digits()[seated["example"]]
    elif isinstance(seated.get("ink"), list):
        try:
            ink = np.array(seated["ink"], dtype=float)
            row_of(ink)
        except (ParameterError, TypeError, ValueError):
            return
        st.session_state[_SEATED] = "", ink


def _compute(guarantee: Guarantee, asked: PrivacyBudget) -> dict[str, Any]:
    """What the browser draws, with fresh noise."""
    example, ink = st.session_state.setdefault(_SEATED, (_FIRST, drawn_digits()[_FIRST]))
    row = row_of(ink)
    rng = np.random.default_rng(secrets.randbits(128))
    person = seat_person(row, guarantee, rng)
    rounds = play_rounds(row, guarantee, _ROUNDS, _PICTURES, rng)
    exactly, privately = (
        f"{cosine:.2f}" for cosine in (person.exact_cosine, person.private_cosine)
    )
    return {
        "key": secrets.token_hex(8),
        "example": example,
        "examples": list(drawn_digits()),
        "ink": ink.round(3).tolist(),
        "row": row.round(4).tolist(),
        "seat": f"You are person {person.n_people:,}.",
        "exact": {
            "values": person.exact_trace.round(4).tolist(),
            "words": f"Likeness to your drawing: {exactly}",
            "alt": f"The exact results, subtracted, show your drawing: likeness {exactly}.",
        },
        "private": {
            "values": person.private_trace.round(4).tolist(),
            "words": f"Likeness to your drawing: {privately}",
            "alt": f"The private results, subtracted, show noise: likeness {privately}.",
        },
        "told": f"Exact PCA turns by <b>{person.exact_turn:.4f}°</b> when you sit down, the same "
        "each time, and two results subtracted show your drawing. Private PCA turns by about "
        f"<b>{person.private_turn:.2g}°</b> from run to run without you; your turn disappears in "
        "that. What the exact components miss of your drawing falls from "
        f"{100 * person.residual_without:.2f} % to {100 * person.residual_with:.2f} %.",
        "isIn": rounds.is_in.tolist(),
        "leanings": rounds.leanings.round(3).tolist(),
        "pictures": rounds.pictures.round(3).tolist(),
        "best": f"{100 * rounds.best_here:.0f}",
        "bound": best_guess(guarantee),
        "boundSaid": icon_counts(guarantee)[0],
        "epsilon": plain(asked.epsilon),
    }


def _said_of_all(asked: PrivacyBudget) -> str:
    """What the results of a game cost together; the card is about one of them."""
    mu, delta = gaussian_mu(asked), asked.delta
    together = gaussian_epsilon(delta, 1.0, composed_mu(*[mu] * _PICTURES))
    return (
        f"**The promise below is for one result.** The {_PICTURES} results of a game together "
        f"would cost everybody ε = {say_number(together)} at δ = {say_delta(delta)}, and the "
        "private runs that are compared above come on top."
    )


def show_drawing(selection: Selection) -> None:
    """Draw yourself into the data."""
    spec = selection.spec
    asked = PrivacyBudget(spec.epsilon, spec.delta)
    guarantee = promise_to_all(asked)
    key = f"{asked.epsilon:g} {asked.delta:g}"
    if st.session_state.get(_SHOWN, ("",))[0] != key:
        st.session_state[_SHOWN] = key, _compute(guarantee, asked)
    session_ledger.uncovered(
        DATASET, "Draw yourself in", "exact components, and results beside exact ones"
    )
    _drawing(key=_KEY, data=st.session_state[_SHOWN][1], on_seated_change=_seat)
    not_private(
        "Exact PCA and each subtraction",
        "read the other 10,000 rows without noise, as the strongest attacker would.",
    )
    st.markdown(_said_of_all(asked))
    guarantee_card(guarantee)
    session_ledger.so_far(DATASET, dataset_status(DATASET).title, spec.delta)
    with st.expander("How this is computed"):
        st.markdown(
            "A drawing is scaled to 14 × 14 pixels and to a row $x$ of length 1. Without it the "
            "seat holds a blank sheet, so both data sets have $n = 10\\,001$ people:\n\n"
            r"$$A' = A + \tfrac1n x x^\top,\qquad \hat A = A + E.$$"
            "\n\nThe two pictures show the strongest pattern of "
            r"$V'\Lambda'V'^\top - V\Lambda V^\top$ with 10 components each. "
            "The noise $E$ is calibrated for any change of one row, $\\sqrt2/n$; a blank sheet "
            "changes only $1/n$, so the best attacker stays below the bound. In the game the "
            "picture is $n(\\hat A - A)x$, and the attacker accuses where "
            r"$n\,x^\top(\hat A - A)x > \tfrac12$. Each round has fresh noise."
        )
