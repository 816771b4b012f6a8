"""The poster's experiment on a page: test error against ε, and what it promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
import streamlit as st

from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.learning.classification_promises import (
    CENTRING,
    at_delta,
    promised_stages,
    with_centring_share,
)
from dpcore.experiments.learning.classification_spec import (
    EXACT,
    PIPELINES,
    PRIVATE,
    RANDOM,
    RANDOM_PRIVATE,
    SUBSPACE,
    ClassificationSpec,
    canonical,
)
from dpcore.experiments.learning.export import classification_recipe
from dpcore.experiments.ledger.family_charges import of_pipeline
from dpcore.experiments.pca.sentences import mean_in_words, percent
from dpcore.figures.families.classification import error_curves
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.card import say_delta, say_number
from pages.server import learning_cache, visitors_jobs
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.downloads import take_away
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.live_figure import live_figure
from pages.widgets.messages import big_number, not_private

CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if 0.01 <= epsilon <= 20)


def answer(spec: ClassificationSpec) -> None:
    """The finding in numbers: everything private, and what each part of it costs."""
    rows = learning_cache.rows(replace(spec, pipeline=pipeline) for pipeline in PIPELINES)
    error = {
        pipeline: fmean(row["test_error"] for row in rows if row["pipeline"] == pipeline)
        for pipeline in PIPELINES
    }
    first = next(row for row in rows if row["pipeline"] == PRIVATE)
    words = big_number(
        percent(error[PRIVATE]),
        f"of {first['tested']:,} test people are taken for another class when **everything "
        f"is private** at **ε\u00a0=\u00a0{spec.epsilon:g}**: subspace and classifier, learnt "
        f"from {first['samples']:,} people.",
    )
    words.markdown(
        f"With the whole ε on the subspace and a classifier that is not private: "
        f"**{percent(error[SUBSPACE])}**. Nothing private: {percent(error[EXACT])}. Always saying "
        f"the commonest class: {percent(first['chance_error'])}."
    )
    gap = error[RANDOM] - error[SUBSPACE]
    words.markdown(
        f"How much of that is PCA? A **random** subspace gets {percent(error[RANDOM])} with the "
        f"classifier that is not private, so private PCA is worth **{100 * gap:+.1f} points**; "
        f"with the whole ε for training it gets {percent(error[RANDOM_PRIVATE])}."
    )


def live_errors(
    name: str, specs: Iterable[ClassificationSpec], draw: Callable[[Sequence[Row]], None]
) -> None:
    """Fill in a figure of test errors, drawn once there are any."""
    points = learning_cache.different(specs)
    live_figure(name, (points,), lambda there: draw(there.rows[0]) if there.rows[0] else None)


def _along_epsilon(spec: ClassificationSpec) -> list[ClassificationSpec]:
    return [
        replace(spec, pipeline=pipeline, epsilon=epsilon)
        for epsilon in _present_first(spec.epsilon)
        for pipeline in PIPELINES
    ]


def curves(spec: ClassificationSpec) -> None:
    """Error against ε, one line a pipeline, filling in."""

    def draw(rows: Sequence[Row]) -> None:
        figure = error_curves(
            rows,
            protocol=spec.protocol,
            chance=rows[0]["chance_error"],
            axis_range=(CURVE_EPSILONS[0], CURVE_EPSILONS[-1]),
            marker=spec.epsilon,
            dark=is_dark(),
        )
        chart(
            figure,
            key="class_curves",
            alt="Test error against the asked epsilon: everything private, only the subspace "
            "private, random subspaces, nothing private.",
        )
        _poster(rows)

    live_errors("class_curves", _along_epsilon(spec), draw)
    st.caption(
        f"Bands: spread of {spec.repetitions} draws. Colour says how the subspace was found, the "
        "line whether the classifier is private too."
    )
    not_private("Test errors", "are counted exactly on people outside training, as in both papers.")
    not_private(
        "Dotted and dashed lines",
        "train without noise: only the subspace, if anything, is private.",
    )


def _poster(rows: Sequence[Row]) -> None:
    """The poster's finding, that noise still classifies, under these settings."""
    strictest = CURVE_EPSILONS[0]
    errors = {
        pipeline: [
            row["test_error"]
            for row in rows
            if row["pipeline"] == pipeline and row["epsilon"] in (strictest, np.inf)
        ]
        for pipeline in (SUBSPACE, RANDOM)
    }
    if not all(errors.values()):
        return
    private, floor = (fmean(found) for found in errors.values())
    chance = rows[0]["chance_error"]
    st.markdown(
        f"**The poster's finding.** At ε\u00a0=\u00a0{strictest:g} the components look like noise, "
        f"and a classifier that is not private still gets only **{percent(private)}** wrong on "
        f"them, where guessing gets {percent(chance)}. A random subspace gets "
        f"**{percent(floor)}**: of the {100 * (chance - private):.0f} points gained, "
        f"{100 * (chance - floor):.0f} come with any subspace at all."
    )


def _present_first(epsilon: float) -> tuple[float, ...]:
    return tuple(sorted(CURVE_EPSILONS, key=lambda other: (abs(np.log(other / epsilon)), other)))


def promises(spec: ClassificationSpec) -> None:
    """What each stage promises, and all of them together."""
    private = replace(spec, pipeline=PRIVATE)
    outcome = learning_cache.outcome(private)
    together = learning_cache.guarantee_of(private)
    spec = with_centring_share(private, learning_cache.problem(private.key()))
    parts = [
        f"{stage} {share * spec.epsilon:.3g}"
        for stage, share in (
            ("centring", spec.centring_share),
            ("PCA", spec.pca_share),
            ("training", spec.training_share),
        )
        if share
    ]
    sentence = f"Asked, by basic composition: **ε = {' + '.join(parts)} = {spec.epsilon:g}**"
    if spec.centring_share and spec.pca_share > 0:
        sentence += "; centring and Gaussian PCA share δ and compose exactly (μ² adds up)"
    sentence += (
        ". What the noise really gives, by basic composition or privacy loss distributions, "
        f"whichever is less: **ε = {say_number(together.epsilon)}** at "
        f"δ = {say_delta(together.delta)}"
    )
    if len(outcome.model.classes_) > 2:
        count = len(outcome.model.classes_)
        each = spec.training_share * spec.epsilon / count
        sentence += (
            f". Training tells {count} classes apart one against the rest: each of the {count} "
            f"costs ε = {say_number(each)}, and they add up to its part"
        )
    st.markdown(sentence + ".")
    cards(private)
    if len(spec.classes) == 2:
        st.caption("How many people are of these two classes is taken as public.")
    if PROTOCOLS[spec.protocol].is_distributed:
        st.caption(
            "Sites protect the subspace themselves; training is done by somebody who holds the "
            "projected rows and is trusted with them."
        )


def cards(spec: ClassificationSpec) -> None:
    """The guarantee cards of one pipeline: all stages together, then each."""
    outcome, together = learning_cache.outcome(spec), learning_cache.guarantee_of(spec)
    titles = ["Together", *(stage[0].upper() + stage[1:] for stage in outcome.guarantees)]
    stages = (at_delta(guarantee, spec.delta) for guarantee in outcome.guarantees.values())
    for tab, guarantee in zip(st.tabs(titles), (together, *stages), strict=True):
        with tab:
            guarantee_card(guarantee, preparation=spec.preparation)
    if said := mean_in_words(spec.preparation, has_mean=CENTRING in outcome.guarantees):
        st.caption(said)


def pay(specs: Iterable[ClassificationSpec]) -> None:
    """Pay for the draws of some pipelines before they are shown."""
    charges = []
    for spec in map(canonical, specs):
        guarantees = promised_stages(spec, learning_cache.problem(spec.key()))
        charges += of_pipeline(spec, guarantees, spec.repetitions)
        if spec.pipeline in (EXACT, SUBSPACE, RANDOM):
            session_ledger.uncovered(
                spec.dataset, "Classifiers trained without noise", "they were fitted to the rows"
            )
        if spec.preparation == "published":
            session_ledger.uncovered(
                spec.dataset, "The published preparation", "its centre and scale read every row"
            )
    session_ledger.pay(charges)


def carry_off(spec: ClassificationSpec) -> None:
    recipe = classification_recipe(replace(spec, pipeline=PRIVATE))
    drawn: Sequence[Row] = ()
    if session_ledger.cap() is None:
        points = learning_cache.different(_along_epsilon(spec))
        drawn = visitors_jobs.live("class_curves", (points,)).progress().rows[0]
    take_away("class", drawn, script=recipe.script, notebook=recipe.notebook)
