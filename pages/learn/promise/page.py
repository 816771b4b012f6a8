"""What epsilon promises: a game against its bound, one person moved, a hundred attackers."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable
from html import escape
from pathlib import Path

import numpy as np
import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.summaries import percent
from dpcore.figures.privacy import accused_svg, beliefs, trade_off_plot, two_densities
from dpcore.privacy import (
    ASSUMED,
    STATED,
    Explained,
    Guarantee,
    PrivacyBudget,
    best_guess,
    gaussian_posterior,
    gaussian_trade_off,
    guarantee_mu,
    icon_counts,
    posterior_bounds,
)
from dpcore.privacy.guarantee_in_words import say_number
from dpcore.teaching import adversary_test
from dpcore.teaching.adversary_test import promise, turned
from pages.shell.controls import Selection
from pages.shell.fragments import in_browser
from pages.shell.parameters import ask, plain
from pages.widgets.charts import chart, is_dark
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.notices import formulas

# The attacker's side of a promise: the game, the two hundred attackers, the test, beliefs, and one
# person who moves.

BEST_GUESS = (
    "An attacker who knows every other record, and that yours is one of two, sees the private "
    "result and guesses which. No strategy does better."
)
# Rounds of the present game and of which promise; it is no part of the address.
_GAME = "_promise_game"
_ROUNDS = 100
_ANGLES = tuple(range(-90, 91, 2))
_NEEDLES = 25
_KEY = (
    "<p class=key><i class=exactly></i>exact first direction<br><i class=privately></i>private: "
    f"{_NEEDLES} equally likely directions</p>"
)
_HERE = Path(__file__).parent
_game = in_browser("promise_game", *_HERE.glob("game.*"))
_circle = in_browser("promise_circle", *_HERE.glob("circle.*"))


def explanations(title: str, told: Iterable[Explained]) -> None:
    """Paragraphs that guarantee cards lead to, each folded until somebody wants it."""
    st.markdown(f"## {title}")
    paragraphs = [
        f"<details><summary><h3 id={each.anchor}>{escape(each.title)}</h3></summary>"
        f"<p>{escape(each.text)}</p></details>"
        for each in told
    ]
    st.html(f"<div class=explained>{''.join(paragraphs)}</div>")


def mu_of(promised: Guarantee) -> float:
    """mu of the noise, whose guarantee is Gaussian."""
    mu = guarantee_mu(promised)
    if mu is None:
        raise ParameterError("mechanism", "gaussian", promised.mechanism)
    return mu


def game(promised: Guarantee, asked: PrivacyBudget) -> None:
    """Ten rounds of "was she in it?", drawn live, against the bound that no attacker beats."""
    state, mu = st.session_state, mu_of(promised)
    key = f"{asked.epsilon:g} {asked.delta:g} {mu:.6g}"
    if state.get(_GAME, (None,))[0] != key:
        entropy = secrets.randbits(128)
        rng = np.random.default_rng(entropy)
        is_in, releases = adversary_test.rounds_of_game(mu, _ROUNDS, rng)
        state[_GAME] = key, f"{entropy:x}", is_in.tolist(), releases.round(3).tolist()
    _, name, is_in, releases = state[_GAME]
    _game(
        key="promise_game",
        data={
            "game": name,
            "isIn": is_in,
            "releases": releases,
            "mu": mu,
            "epsilon": plain(asked.epsilon),
            "bound": best_guess(promised),
            "boundSaid": icon_counts(promised)[0],
        },
        on_again_change=_new_game,
    )


def _new_game() -> None:
    st.session_state.pop(_GAME, None)


def with_her_and_without(promised: Guarantee, asked: PrivacyBudget) -> None:
    """A hundred attackers where she is in the data and a hundred where she is not."""
    mu = mu_of(promised)
    st.markdown("## A hundred attackers, with her and without her")
    strictness = ask("promise_false_alarms")
    accused = math.ceil(100 * (1 - gaussian_trade_off(strictness / 100, mu)) - 1e-6)
    st.markdown(
        f"An attacker who wrongly accuses **{strictness:.0f} in 100** people who are not in the "
        f"data catches at most **{accused} in 100** who are, at "
        f"ε\u00a0=\u00a0{plain(asked.epsilon)}."
    )
    left, right = st.columns(2, gap="large")
    for place, title, count, is_in in (
        (left, "She is in the data", accused, True),
        (right, "She is not in the data", round(strictness), False),
    ):
        told = f"{count} of 100 attackers accuse her"
        place.markdown(f"**{title}**: {told}.")
        place.image(accused_svg(count, told, is_in=is_in), width="stretch", alt=f"{title}: {told}.")


def show_test(promised: Guarantee, asked: PrivacyBudget) -> None:
    """Two densities with a threshold to move, beside the trade-off of the two errors."""
    mu = mu_of(promised)
    left, right = st.columns(2, gap="large")
    # The range moves with mu, and with it the threshold goes back to the best one.
    reach = math.ceil(mu + adversary_test.REACH)
    threshold = ask("promise_threshold", left, max_value=float(reach), value=round(mu / 2, 1))
    wrongly, missed = adversary_test.errors_at(threshold, mu)
    right.markdown(
        f"With this threshold the adversary accuses wrongly **{percent(wrongly)}** of "
        f"the time (type I) and misses you **{percent(missed)}** of the time (type II). "
        "Lowering one raises the other, and no test gets below the solid curve."
    )
    chart(
        two_densities(adversary_test.densities(mu), threshold, dark=is_dark()),
        key="promise_densities",
        place=left,
        alt=f"Two bell curves {mu:.2f} σ apart: the release with you and without.",
    )
    labels = {
        "blind": "blind guess",
        "pure": f"pure ε = {plain(asked.epsilon)}",
        "approximate": f"(ε, δ) = ({plain(asked.epsilon)}, {plain(asked.delta)})",
        "gaussian": f"this noise, μ = {mu:.2f}",
    }
    chart(
        trade_off_plot(
            adversary_test.trade_off_rows(promised),
            labels,
            (wrongly, missed),
            dark=is_dark(),
        ),
        key="promise_trade_off",
        place=right,
        alt=f"Missed against false alarms: {percent(missed)} at "
        f"{percent(wrongly)}, on the exact curve of the noise.",
    )
    if not promised.keeps_asked:
        right.markdown(
            ":red-badge[breaks what was asked] The solid curve dips below the dashed one: tests "
            f"exist that the promise of ε = {plain(asked.epsilon)} rules out. "
            f"What holds is ε = {say_number(promised.epsilon)}."
        )


def beliefs_shown(promised: Guarantee, asked: PrivacyBudget) -> None:
    """A prior to move, and what a release can make of it."""
    left, right = st.columns([2, 3], gap="large", vertical_alignment="center")
    prior = ask("promise_prior", left) / 100
    least, greatest = map(float, posterior_bounds(prior, asked.epsilon))
    mu = mu_of(promised)
    median, high = (float(gaussian_posterior(prior, mu, quantile)) for quantile in (0.5, 0.95))
    left.markdown(
        f"An attacker who thinks it **{percent(prior)}** likely that the row is yours, and is "
        f"right, will typically hold **{percent(median)}** likely afterwards, and in 19 of 20 "
        f"releases no more than **{percent(high)}**.\n\nA pure promise of ε = "
        f"{plain(asked.epsilon)} would keep every belief between {percent(least)} and "
        f"{percent(greatest)}, whatever is released."
    )
    chart(
        beliefs(
            adversary_test.belief_columns(promised),
            prior,
            pure_label=f"pure ε = {plain(asked.epsilon)}: always",
            dark=is_dark(),
        ),
        key="promise_beliefs",
        place=right,
        alt=f"Belief after the release against belief before; {percent(prior)} becomes "
        f"{percent(median)} in the median.",
    )


def one_person(promised: Guarantee) -> None:
    """Twenty-five people in the plane, one of whom is dragged round the circle."""
    allowed = math.ceil(100 * (2 * best_guess(promised) - 1) - 1e-6)
    # Out of sight: the address keeps where she was let go.
    with st.container(key="promise_angle_out_of_sight"):
        begins = ask("promise_angle")
    frames = []
    for degrees in _ANGLES:
        turn = turned(degrees, promised)
        shift = 100 * turn.private_shift
        frames.append(
            {
                "degrees": degrees,
                "exact": round(turn.exact_after, 1),
                "fan": turn.private_directions(_NEEDLES).round(1).tolist(),
                "told": f"<p><strong>{turn.exact_turn:.0f}°</strong>is how far the exact direction "
                "turns when she moves. It gives her away.</p>"
                f"<p><strong>{shift:.0f} points</strong>is the most by which the chance of any "
                f"conclusion from the private direction moves. The promise allows {allowed}.</p>"
                + _KEY,
                "alt": f"She stands at {degrees}°. The exact first direction turns by "
                f"{turn.exact_turn:.0f}°; private directions spread as before, but for "
                f"{shift:.0f} percentage points.",
            }
        )
    _circle(
        key="promise_circle",
        data={
            "key": f"{promised.sigma} {promised.l2_sensitivity}",
            "people": turn.people.round(3).tolist(),
            "frames": frames,
            "begins": begins,
        },
        on_moved_change=_moved,
    )


def _moved() -> None:
    degrees = st.session_state["promise_circle"].moved
    if degrees in _ANGLES:
        st.session_state["promise_angle"] = degrees


# What ε promises: a game against the bound, one person dragged, a hundred attackers, the card.

PARTS = ("The two errors", "What one would believe", "The whole promise")


def show_promise(selection: Selection) -> None:
    """What ε promises."""
    spec = selection.spec
    figures = st.container()
    calibration = ask("promise_calibration")
    asked = PrivacyBudget(spec.epsilon, spec.delta)
    guarantee = promise(asked, calibration)
    with figures:
        game(guarantee, asked)
        st.markdown("## Drag one person")
        one_person(guarantee)
        with_her_and_without(guarantee, asked)
    test, beliefs, whole = st.tabs(PARTS)
    with test:
        show_test(guarantee, asked)
    with beliefs:
        beliefs_shown(guarantee, asked)
    with whole:
        guarantee_card(guarantee)
    explanations("How to read the card", STATED.values())
    explanations("What has to be true", ASSUMED.values())
    with st.expander("How the test is computed"):
        st.markdown(formulas("promise_test"))
    with st.expander("How the direction is computed"):
        st.markdown(formulas("promise_direction"))
