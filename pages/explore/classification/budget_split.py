"""Split the budget, on a page: the error over the share of PCA, and over three shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import streamlit as st

from dpcore.experiments.analysis.budget_split import (
    Best,
    along_the_share,
    best_split,
    people_steps,
    three_ways,
)
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.learning.classification_spec import ClassificationSpec
from dpcore.experiments.pca.sentences import percent
from dpcore.figures.families.classification import share_curve
from dpcore.figures.tradeoffs.budget_split import share_multiples, three_way_map
from pages.explore.classification.panels import live_errors
from pages.parameters.table import ask
from pages.server import learning_cache
from pages.widgets.charts import chart, is_dark
from pages.widgets.messages import big_number, not_private

_MULTIPLE_EPSILONS = (0.5, 2.0, 10.0)


def two_parts(spec: ClassificationSpec) -> None:
    """Error over the share that PCA gets, the best one marked."""
    specs = along_the_share(spec)

    def draw(rows: Sequence[Row]) -> None:
        best = best_split(rows)
        share = best.share[0]
        at_chosen = [row["test_error"] for row in rows if row["pca_share"] == spec.pca_share]
        big_number(
            _said(share),
            f"of ε\u00a0=\u00a0{spec.epsilon:g} for PCA and the rest for training makes the fewest "
            f"mistakes: **{percent(best.error)}**"
            + (
                f", against {percent(fmean(at_chosen))} at the chosen {_said(spec.pca_share)}."
                if at_chosen and spec.pca_share != share
                else "."
            ),
            ties_said(best, len(rows) / len(specs), spec.repetitions),
        )
        chart(
            share_curve(
                rows,
                protocol=spec.protocol,
                chance=rows[0]["chance_error"],
                best=share,
                marker=spec.pca_share,
                dark=is_dark(),
            ),
            key="split_curve",
            alt=f"Test error against the share of epsilon for PCA; least at {share:.0%}.",
        )

    live_errors("class_split", specs, draw)
    not_private(
        "The best share", "was found by looking at test errors: a lesson for the next data set."
    )


def how_it_moves(spec: ClassificationSpec) -> None:
    """The best share for other numbers of people and other ε."""
    st.markdown("## How the best share moves with ε and the number of people")
    if not ask("split_multiples_on"):
        st.caption("A hundred settings: seconds on digits, minutes on MNIST.")
        return
    n_learners = len(learning_cache.problem(replace(spec, samples=None).key()).X)
    steps = people_steps(n_learners)
    specs = [
        one
        for epsilon in _MULTIPLE_EPSILONS
        for n in steps
        for one in along_the_share(
            replace(spec, epsilon=epsilon, samples=None if n == n_learners else n)
        )
    ]

    def draw(rows: Sequence[Row]) -> None:
        panels = {f"{n:,} people": [row for row in rows if row["samples"] == n] for n in steps}
        chosen = {
            (title, epsilon): best_split(own).share[0]
            for title, found in panels.items()
            for epsilon in _MULTIPLE_EPSILONS
            if (own := [row for row in found if row["epsilon"] == epsilon])
        }
        chart(
            share_multiples(
                panels,
                chosen,
                protocol=spec.protocol,
                chance=rows[0]["chance_error"],
                dark=is_dark(),
            ),
            key="split_multiples",
            alt="Error against the PCA share for three numbers of people and three epsilons, "
            "the best share of each marked by a star.",
        )

    live_errors("class_multiples", specs, draw)


def three_parts(spec: ClassificationSpec) -> None:
    """Error over centring, PCA and training."""
    st.markdown("## Three parts: centring, PCA, training")
    if spec.calibration != "analytic":
        st.caption("Centring needs the analytic calibration: turn the poster's noise off.")
        return
    if not spec.may_buy_mean:
        st.caption("Centring needs a preparation that buys a mean: sphere or bounded.")
        return
    if not ask("split_three_on"):
        st.caption("Fifty-five splits in tenths of ε.")
        return
    specs = three_ways(spec)

    def draw(rows: Sequence[Row]) -> None:
        best = best_split(rows, ("centring_share", "pca_share"))
        centring, pca = best.share
        st.markdown(
            f"## {centring:.0%} centring, {pca:.0%} PCA, {1 - centring - pca:.0%} training: "
            f"{percent(best.error)} wrong."
        )
        chart(
            three_way_map(rows, (centring, pca), chance=rows[0]["chance_error"], dark=is_dark()),
            key="split_three",
            alt="Ternary map of the test error over the shares of centring, PCA and training; "
            f"least at {centring:.0%}, {pca:.0%} and {1 - centring - pca:.0%}.",
        )

    live_errors("class_three", specs, draw)
    st.caption(
        "Centring takes a private mean from the rows; on the sphere they get length 1 around it, "
        "bounded ones are cut to 0.6 of the public bound, so that less noise is needed "
        "afterwards. No share for PCA means a random subspace."
    )


def ties_said(best: Best, n_draws: float, of_draws: int) -> str:
    # Until all are there, another share may turn out the best and any mean another number.
    over = f"Over {of_draws} draws"
    if n_draws < of_draws:
        over = f"So far, over {int(n_draws)} of {of_draws} draws,"
    if not best.ties:
        return f"{over} no other share comes close."
    shares = ", ".join(_said(share) for (share,) in best.ties)
    return f"{over} these cannot be told from it: {shares}."


def _said(share: float) -> str:
    return f"{share:.0%}".replace("%", "\u00a0%")
