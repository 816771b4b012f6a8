"""Sections of the page about what ε promises."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.pca.sentences import percent
from dpcore.experiments.teaching import adversary_test
from dpcore.experiments.teaching.one_person import ANGLES, N_PEOPLE, turned
from dpcore.figures.privacy.adversary_test import (
    beliefs,
    icon_array_svg,
    trade_off_plot,
    two_densities,
)
from dpcore.figures.privacy.promises import direction_laws, plane
from dpcore.privacy import (
    Explained,
    Guarantee,
    PrivacyBudget,
    best_guess,
    gaussian_posterior,
    guarantee_mu,
    icon_counts,
    posterior_bounds,
)
from dpcore.privacy.card import say_number
from pages.parameters.table import ask
from pages.parameters.words import plain
from pages.widgets.charts import chart, is_dark
from pages.widgets.messages import big_number

BEST_GUESS = (
    "Somebody who knows every other row, and that yours is one of two, sees the private result and "
    "guesses which. No strategy does better."
)


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


def best_guesses(promised: Guarantee, asked: PrivacyBudget) -> None:
    """How often the best guess about somebody is right, as a number and as a hundred dots."""
    right, blind = icon_counts(promised)
    words = big_number(
        f"{right} of 100",
        f"guesses about you can be right at ε\u00a0=\u00a0{plain(asked.epsilon)}, "
        f"δ\u00a0=\u00a0{plain(asked.delta)}; a coin is right {blind} times.",
        BEST_GUESS,
    )
    words.image(
        icon_array_svg(right, blind),
        width="stretch",
        alt=f"{right} of 100 guesses right with the release, {blind} by luck.",
    )
    words.caption("Grey: right by luck alone. Orange: right because of the release. Hollow: wrong.")


def test(promised: Guarantee, asked: PrivacyBudget) -> None:
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
        "Whoever lowers one raises the other, and no test gets below the solid curve."
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
        f"Somebody who held **{percent(prior)}** likely that the row is yours, and is right, "
        f"will typically hold **{percent(median)}** likely afterwards, and in 19 of 20 releases "
        f"no more than **{percent(high)}**.\n\n"
        f"A pure promise of ε = {plain(asked.epsilon)} would keep every belief between "
        f"{percent(least)} and {percent(greatest)}, whatever is released."
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
    """Twenty-five people in the plane, one of whom can be moved."""
    degrees = ask("promise_angle")
    turn = turned(degrees, promised)
    st.markdown(
        f"One of {N_PEOPLE} people moves and the exact first direction turns by "
        f"**{turn.exact_turn:.0f}°**: it gives them away. The chance of anything one could "
        f"conclude from the private direction moves by at most "
        f"**{100 * turn.private_shift:.0f} points**; the promise allows "
        f"{math.ceil(100 * (2 * best_guess(promised) - 1) - 1e-6)}."
    )
    left, right = st.columns(2, gap="large")
    chart(
        plane(
            turn.people,
            turn.before,
            turn.after,
            turn.exact_before,
            turn.exact_after,
            dark=is_dark(),
        ),
        key="promise_plane",
        place=left,
        alt=f"Moving one person turns the exact first direction by {turn.exact_turn:.0f} degrees.",
    )
    chart(
        direction_laws(
            ANGLES,
            turn.law_before,
            turn.law_after,
            turn.exact_before,
            turn.exact_after,
            dark=is_dark(),
        ),
        key="promise_laws",
        place=right,
        alt="The law of the private first direction before and after: they hardly differ.",
    )
