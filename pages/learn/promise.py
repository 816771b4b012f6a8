"""Meaning of ε: a game against the best attacker, one person moved, a hundred attackers."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable
from typing import Any

import numpy as np
import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.engine.summaries import percent
from dpcore.figures.privacy import accused_svg, beliefs, trade_off_plot, two_densities
from dpcore.privacy import (
    ASSUMED,
    STATED,
    Explanation,
    Guarantee,
    PrivacyBudget,
    best_guess,
    gaussian_posterior,
    gaussian_trade_off,
    guarantee_mu,
    icon_counts,
    posterior_bounds,
)
from dpcore.teaching import adversary_test
from dpcore.templates import fill
from pages import navigation
from pages.cached import cached
from pages.components import guarantee as cards
from pages.components.browser_parts import draw_circle, draw_game
from pages.components.charts import is_dark, show_figure
from pages.components.notices import explain_computation
from pages.number_format import plain
from pages.sidebar import Selection

CONTROLS = ("epsilon", "delta")
_EXPLANATIONS = """
{%- for paragraph in paragraphs -%}
<details><summary><b id={{ paragraph.anchor }}>{{ paragraph.title }}</b></summary>
<p>{{ paragraph.text }}</p></details>
{%- endfor %}"""
# Rounds of the present game and the guarantee they were drawn for.
_GAME = "_promise_game"
_ROUNDS = 100
_ANGLES = tuple(range(-90, 91, 2))
_FIRST_ANGLE = 70
_NEEDLES = 25
_KEY = (
    "<p class=key><i class=exactly></i>exact first direction<br><i class=privately></i>private: "
    f"{_NEEDLES} equally likely directions</p>"
)


def show(selection: Selection) -> None:
    """Draw the page."""
    budget = PrivacyBudget(selection.spec.epsilon, selection.spec.delta)
    guarantee = adversary_test.guarantee_of_noise(budget)
    st.title(
        f"At ε = {plain(budget.epsilon)} the best attacker is right "
        f"{icon_counts(guarantee)[0]} times in 100; a coin, 50"
    )
    navigation.link_to_parts("promise")
    _show_game(guarantee, budget)
    st.header("Move one person")
    with st.container(key="circle_place"):
        draw_circle(key="promise_circle", data=_circle_of(budget))
    _show_attackers(guarantee, budget)
    with st.expander("Errors, beliefs, assumptions and formulas"):
        _show_test(guarantee, budget)
        _show_beliefs(guarantee, budget)
        cards.show_card(guarantee)
        _show_explanations("Lines of the guarantee", STATED.values())
        _show_explanations("Assumptions", ASSUMED.values())
    explain_computation("promise")
    navigation.link_to_next("promise")


def mu_of(guarantee: Guarantee) -> float:
    """Return the distance of the two laws of a Gaussian release, in units of the noise."""
    mu = guarantee_mu(guarantee)
    if mu is None:
        raise ParameterError("mechanism", "gaussian", guarantee.mechanism)
    return mu


# ---- game


def _show_game(guarantee: Guarantee, budget: PrivacyBudget) -> None:
    mu = mu_of(guarantee)
    key = f"{budget.epsilon:g} {budget.delta:g}"
    if st.session_state.get(_GAME, {}).get("of") != key:
        entropy = secrets.randbits(128)
        is_in, releases = adversary_test.rounds_of_game(mu, _ROUNDS, np.random.default_rng(entropy))
        st.session_state[_GAME] = {
            "of": key,
            "game": f"{entropy:x}",
            "isIn": is_in.tolist(),
            "releases": releases.round(3).tolist(),
            "mu": mu,
            "epsilon": plain(budget.epsilon),
            "bound": best_guess(guarantee),
            "boundText": icon_counts(guarantee)[0],
        }
    with st.container(key="game_place"):
        draw_game(key="promise_game", data=st.session_state[_GAME], on_again_change=_start_new_game)


def _start_new_game() -> None:
    st.session_state.pop(_GAME, None)


# ---- one person who moves


@cached(32)
def _circle_of(budget: PrivacyBudget) -> dict[str, Any]:
    """Return the contents of the circle at every angle, so that dragging needs no server."""
    guarantee = adversary_test.guarantee_of_noise(budget)
    allowed = math.ceil(100 * (2 * best_guess(guarantee) - 1) - 1e-6)
    turns = [adversary_test.turn_person(degrees, guarantee) for degrees in _ANGLES]
    frames = [
        {
            "degrees": degrees,
            "exact": round(turn.exact_after, 1),
            "fan": turn.private_directions(_NEEDLES).round(1).tolist(),
            "text": f"<p><strong>{turn.exact_turn:.0f}°</strong>The exact direction turns with "
            "her. It gives her away.</p>"
            f"<p><strong>{100 * turn.private_shift:.0f} points</strong>The chance of any "
            f"conclusion from the private direction shifts by at most this ({allowed} allowed)."
            f"</p>{_KEY}",
            "alt": f"The person is at {degrees}°. The exact first direction turns by "
            f"{turn.exact_turn:.0f}°. The private direction's law shifts by "
            f"{100 * turn.private_shift:.0f} percentage points.",
        }
        for degrees, turn in zip(_ANGLES, turns, strict=True)
    ]
    return {
        "key": f"{budget.epsilon} {budget.delta}",
        "people": turns[0].people.round(3).tolist(),
        "frames": frames,
        "begins": _FIRST_ANGLE,
    }


# ---- a hundred attackers


def _show_attackers(guarantee: Guarantee, budget: PrivacyBudget) -> None:
    st.header("A hundred attackers, with her and without her")
    false_alarms = st.slider(
        "Wrong accusations per 100 people who are not in the data",
        1,
        50,
        5,
        key="promise_false_alarms",
        bind="query-params",
        help="An attacker who accuses more readily catches more people, and wrongly accuses more.",
    )
    caught = math.ceil(100 * (1 - gaussian_trade_off(false_alarms / 100, mu_of(guarantee))) - 1e-6)
    st.markdown(
        f"An attacker who wrongly accuses **{false_alarms} in 100** catches at most "
        f"**{caught} in 100**, at ε = {plain(budget.epsilon)}."
    )
    for place, title, count, is_in in zip(
        st.columns(2, gap="large"),
        ("She is not in the data", "She is in the data"),
        (false_alarms, caught),
        (False, True),
        strict=True,
    ):
        alt = f"{count} of 100 attackers accuse her"
        place.markdown(f"**{title}**: {alt}.")
        place.image(accused_svg(count, alt, is_in=is_in), width="stretch", alt=f"{title}: {alt}.")


# ---- drawer


def _show_test(guarantee: Guarantee, budget: PrivacyBudget) -> None:
    st.subheader("The two errors of a test")
    mu = mu_of(guarantee)
    density, errors = st.columns(2, gap="large")
    end = float(math.ceil(mu + adversary_test.REACH))
    best = round(mu / 2, 1)
    threshold = density.slider(
        "Threshold, in units of the noise",
        -adversary_test.REACH,
        end,
        best,
        0.1,
        key=f"promise_threshold_{mu:.3g}",
        help="Above it the attacker says that the data contain your row.",
    )
    wrong, missed = adversary_test.errors_at(threshold, mu)
    errors.markdown(
        f"The attacker accuses wrongly in **{percent(wrong)}** of cases (type I) and misses you "
        f"in **{percent(missed)}** (type II). No test is below the solid curve."
    )
    with density:
        show_figure(
            two_densities(adversary_test.densities(mu), threshold, dark=is_dark()),
            key="promise_densities",
            alt=f"Two bell curves {mu:.2f} σ apart: the release with you and without you.",
        )
    labels = {
        "blind": "blind guess",
        "pure": f"pure ε = {plain(budget.epsilon)}",
        "approximate": f"(ε, δ) = ({plain(budget.epsilon)}, {plain(budget.delta)})",
        "gaussian": f"this noise, μ = {mu:.2f}",
    }
    with errors:
        show_figure(
            trade_off_plot(
                adversary_test.trade_off_rows(guarantee), labels, (wrong, missed), dark=is_dark()
            ),
            key="promise_trade_off",
            alt=f"Missed against false alarms: {percent(missed)} at {percent(wrong)}.",
        )


@cached(16)
def _belief_columns(budget: PrivacyBudget) -> dict[str, Any]:
    return adversary_test.belief_columns(adversary_test.guarantee_of_noise(budget))


def _show_beliefs(guarantee: Guarantee, budget: PrivacyBudget) -> None:
    st.subheader("Beliefs before and after a release")
    words, figure = st.columns([2, 3], gap="large", vertical_alignment="center")
    prior = (
        words.slider(
            "Belief before the release that it is you, in percent",
            1,
            99,
            10,
            key="promise_prior",
            bind="query-params",
        )
        / 100
    )
    least, greatest = map(float, posterior_bounds(prior, budget.epsilon))
    mu = mu_of(guarantee)
    median, high = (float(gaussian_posterior(prior, mu, quantile)) for quantile in (0.5, 0.95))
    words.markdown(
        f"An attacker who thinks that it is you with probability **{percent(prior)}**, and is "
        f"right, typically thinks **{percent(median)}** afterwards. After 19 of 20 releases it is "
        f"at most **{percent(high)}**.\n\nA pure ε = {plain(budget.epsilon)} keeps the belief "
        f"between {percent(least)} and {percent(greatest)}."
    )
    with figure:
        show_figure(
            beliefs(
                _belief_columns(budget),
                prior,
                pure_label=f"pure ε = {plain(budget.epsilon)}: always",
                dark=is_dark(),
            ),
            key="promise_beliefs",
            alt=f"Belief after the release against belief before; {percent(prior)} becomes "
            f"{percent(median)} in the median.",
        )


def _show_explanations(title: str, paragraphs: Iterable[Explanation]) -> None:
    """Draw paragraphs with the anchors that links of guarantee cards use."""
    st.subheader(title)
    st.html(fill(_EXPLANATIONS, paragraphs=paragraphs))
