"""Classification: private components, a classifier on them, and one budget for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import streamlit as st

from dpcore.data import unit_of
from dpcore.data.splits import Halves
from dpcore.experiments.classification_runs import (
    CENTRING,
    EXACT,
    PIPELINES,
    PRIVATE,
    RANDOM,
    RANDOM_PRIVATE,
    SHARE_STEPS,
    SUBSPACE,
    Best,
    ClassificationSpec,
    LearningProblem,
    Outcome,
    along_the_share,
    asked_about,
    at_delta,
    best_split,
    canonical,
    classification_recipe,
    confusion_matrix,
    mistakes,
    people_steps,
    plane_of,
    promised_stages,
    with_centring_share,
)
from dpcore.experiments.engine import Row
from dpcore.experiments.spec import PRIVATE_MEAN_MODES, PUBLISHED
from dpcore.experiments.summaries import counted, mean_in_words, percent
from dpcore.figures.components import component_strip, picture_strip
from dpcore.figures.families import (
    confusion,
    decision_plane,
    error_curves,
    share_curve,
)
from dpcore.params import EPSILONS
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.spectra import align_signs
from pages.server import background_jobs, family_caches
from pages.shell.controls import Selection, redraw_noise
from pages.shell.page import page
from pages.shell.parameters import ALL, BY_RULE, ERROR_VIEW, REST, SPLIT_VIEW, ask
from pages.shell.streamlit_internals import DeltaGenerator
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark, take_away, under_pictures
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.job_progress import live_figure
from pages.widgets.notices import (
    big_number,
    not_private,
    plainly,
)

# The controls of the classification page, turned into a frozen spec.


def choose_spec(selection: Selection, halves: Halves) -> ClassificationSpec:
    """Draw the page's controls and return what they say, with the sidebar's."""
    task, one, other, second, third = st.columns([3.8, 1, 1, 2, 2.4])
    classes = _classes(halves.label_names, task, one, other)
    protocol = ask("class_protocol", second)
    model = ask("class_model", third)
    spec = selection.spec
    with st.expander("Shares, rows, runs"):
        values = _more(len(asked_about(halves.labels, classes)), protocol)
    as_printed = values.pop("as_printed")
    components = min(spec.components or halves.default_components, halves.X.shape[1])
    return ClassificationSpec(
        dataset=spec.dataset,
        classes=classes,
        protocol=protocol,
        epsilon=spec.epsilon,
        delta=spec.delta,
        components=components,
        model=model,
        seed=spec.seed,
        **(PUBLISHED if as_printed else {}) | values,
    )


def redraw_button() -> None:
    st.button("Redraw noise", on_click=redraw_noise, help="New noise, same settings.")


def _classes(
    names: tuple[str, ...], task: DeltaGenerator, one: DeltaGenerator, other: DeltaGenerator
) -> tuple[int, ...]:
    if len(names) == 2:
        task.markdown(f"Tell **{plainly(names[1])}** from **{plainly(names[0])}**.")
        return ()
    kind = ask("class_task", task)
    if kind == ALL:
        return ()
    # 3 and 8 are the pair of numerals most alike; other data sets start at their first two.
    first, second = (3, 8) if len(names) > 8 else (0, 1)
    wanted = _named("class_one", names, names[first], one)
    if kind == REST:
        return (names.index(wanted),)
    others = tuple(name for name in names if name != wanted)
    against = _named("class_other", others, names[second], other)
    return (names.index(wanted), names.index(against))


def _named(key: str, names: tuple[str, ...], default: str, place: DeltaGenerator) -> str:
    index = names.index(default) if default in names else 0
    named: str = ask(key, place, options=names, index=index)
    return named


def _more(n_learners: int, protocol: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    left, middle, right = st.columns(3, gap="medium")
    values["pca_share"] = ask("class_pca_share", left)
    room = tuple(share for share in SHARE_STEPS if share + values["pca_share"] < 1)
    values["preparation"] = ask("class_preparation", left)
    if values["preparation"] in PRIVATE_MEAN_MODES:
        centring = ask("class_centring_share", left)
        if centring != BY_RULE:
            values["centring_share"] = min(centring, room[-1])
        if centring != BY_RULE and centring > room[-1]:
            left.caption(f"Centring gets {room[-1]:.0%}: training needs something.")
    people = {"everybody": None} | {f"{n:,}": n for n in people_steps(n_learners)[:-1]}
    values["samples"] = people[ask("class_people", middle, options=tuple(people), index=0)]
    if PROTOCOLS[protocol].is_distributed:
        values["sites"] = ask("class_sites", middle)
    values["regularization"] = ask("class_regularization", middle)
    values["repetitions"] = ask("class_draws", right)
    values["as_printed"] = ask("class_as_printed", right)
    return values


# The poster's experiment on a page: test error against ε, and what it promises.

CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if 0.01 <= epsilon <= 20)


def show_answer(spec: ClassificationSpec) -> None:
    """The finding in numbers: everything private, and what each part of it costs."""
    rows = family_caches.rows(replace(spec, pipeline=pipeline) for pipeline in PIPELINES)
    error = {
        pipeline: fmean(row["test_error"] for row in rows if row["pipeline"] == pipeline)
        for pipeline in PIPELINES
    }
    first = next(row for row in rows if row["pipeline"] == PRIVATE)
    unit = unit_of(spec.dataset)
    words = big_number(
        percent(error[PRIVATE]),
        f"of {first['tested']:,} test {unit.many} are misclassified when **everything "
        f"is private** at **ε\u00a0=\u00a0{spec.epsilon:g}**: subspace and classifier, learnt "
        f"from {unit.of(first['samples'])}.",
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
    points = family_caches.different(specs)
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
        f"Bands: spread of {spec.repetitions} runs. Colour says how the subspace was found, the "
        "line whether the classifier is private too."
    )
    not_private("Test errors", "are counted exactly on rows outside training, as in both papers.")
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
    outcome = family_caches.outcome(private)
    together = family_caches.guarantee_of(private)
    spec = with_centring_share(private, family_caches.problem(private.key()))
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
        st.caption("How many rows are of these two classes is taken as public.")
    if PROTOCOLS[spec.protocol].is_distributed:
        st.caption(
            "Sites protect the subspace themselves; training is done by one party that sees the "
            "projected rows and is trusted with them."
        )


def cards(spec: ClassificationSpec) -> None:
    """The guarantee cards of one pipeline: all stages together, then each."""
    outcome, together = family_caches.outcome(spec), family_caches.guarantee_of(spec)
    titles = ["Together", *(stage[0].upper() + stage[1:] for stage in outcome.guarantees)]
    stages = (at_delta(guarantee, spec.delta) for guarantee in outcome.guarantees.values())
    for tab, title, guarantee in zip(st.tabs(titles), titles, (together, *stages), strict=True):
        with tab:
            guarantee_card(guarantee, reads_rows_first=spec.reads_rows_first, where=title)
    if said := mean_in_words(spec, has_mean=CENTRING in outcome.guarantees):
        st.caption(said)


def charge(specs: Iterable[ClassificationSpec]) -> None:
    """Pay for the draws of some pipelines before they are shown."""
    charges = []
    for spec in map(canonical, specs):
        guarantees = promised_stages(spec, family_caches.problem(spec.key()))
        charges += spec.charges(guarantees)
        if spec.pipeline in (EXACT, SUBSPACE, RANDOM):
            session_ledger.uncovered(
                spec.dataset, "Classifiers trained without noise", "they were fitted to the rows"
            )
        session_ledger.uncovered_centring(spec.dataset, spec.reads_rows_first)
    session_ledger.charge(charges)


def carry_off(spec: ClassificationSpec) -> None:
    recipe = classification_recipe(replace(spec, pipeline=PRIVATE))
    drawn: Sequence[Row] = ()
    if session_ledger.cap() is None:
        points = family_caches.different(_along_epsilon(spec))
        drawn = background_jobs.live("class_curves", (points,)).progress().rows[0]
    take_away("class", drawn, script=recipe.script, notebook=recipe.notebook)


# Split the budget, on a page: the error over the share of PCA, and over three shares.


def two_parts(spec: ClassificationSpec) -> None:
    """Error over the share that PCA gets, the best one marked."""
    specs = along_the_share(spec)

    def draw(rows: Sequence[Row]) -> None:
        best = best_split(rows)
        share = best.share
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


def ties_said(best: Best, n_draws: float, of_draws: int) -> str:
    # Until all are there, another share may turn out the best and any mean another number.
    over = f"Over {of_draws} runs"
    if n_draws < of_draws:
        over = f"So far, over {int(n_draws)} of {of_draws} runs,"
    if not best.ties:
        return f"{over} no other share comes close."
    shares = ", ".join(_said(share) for share in best.ties)
    return f"{over} these cannot be told from it: {shares}."


def _said(share: float) -> str:
    return f"{share:.0%}".replace("%", "\u00a0%")


# A look inside one trained pipeline: its components, its mistakes, its plane.

_SHOWN = 10


def inside(spec: ClassificationSpec, halves: Halves, answer: DeltaGenerator) -> ClassificationSpec:
    """One trained pipeline: its components, its mistakes, its plane; returns which."""
    pipeline = ask("class_pipeline")
    spec = replace(spec, pipeline=pipeline)
    charge([spec, replace(spec, components=2, repetitions=1)])
    outcome = family_caches.outcome(spec)
    problem = family_caches.problem(spec.key())
    wrong, unit = round(outcome.test_error * len(problem.test_X)), unit_of(spec.dataset)
    # The number that the error curve has, so that one setting has one number.
    with answer:
        mean = fmean(row["test_error"] for row in family_caches.rows([spec]))
        big_number(
            percent(mean),
            f"of {len(problem.test_X):,} test {unit.many} are misclassified at "
            f"**ε\u00a0=\u00a0{spec.epsilon:g}**.",
            f"The mean of {counted(spec.repetitions, 'run')}. One of them is looked into below: "
            f"{percent(outcome.test_error)} wrong, {unit.of(wrong)}.",
        )
    if halves.image_shape is not None:
        _pictures(spec, outcome, problem, halves.image_shape)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("## Who is taken for whom")
        chart(
            confusion(confusion_matrix(outcome, problem), problem.class_names, dark=is_dark()),
            key="class_confusion",
            alt=f"Confusion matrix of {len(problem.class_names)} classes; "
            f"{percent(1 - outcome.test_error)} of the test {unit.many} are on its diagonal.",
        )
    with right:
        st.markdown("## The same pipeline with two components only")
        flat = family_caches.outcome(replace(spec, components=2))
        plane = plane_of(flat, problem)
        chart(
            decision_plane(
                plane.points,
                plane.classes,
                plane.regions,
                plane.axes,
                problem.class_names,
                dark=is_dark(),
            ),
            key="class_plane",
            alt=f"Test {unit.many} in the plane of the first two components, with the regions the "
            f"classifier gives to each class; {percent(flat.test_error)} are on the wrong side.",
        )
        st.caption(
            f"Where the tint changes lies the decision line. In this plane "
            f"{percent(flat.test_error)} are wrong. Its classifier is another than that of the "
            "pictures: training it is a release of its own."
        )
    not_private("Test rows, counts and pictures", "are shown as they are.")
    return spec


def _pictures(
    spec: ClassificationSpec,
    outcome: Outcome,
    problem: LearningProblem,
    image_shape: tuple[int, int],
) -> None:
    st.markdown("## The components it works with, and exact ones")
    exact = family_caches.outcome(replace(spec, pipeline=EXACT)).components[:_SHOWN]
    shown = align_signs(outcome.components[:_SHOWN], exact)
    for components, what in ((shown, "of this pipeline"), (exact, "exact, not private")):
        st.image(
            component_strip(components, image_shape),
            width="stretch",
            alt=f"The {len(components)} leading components, {what}.",
        )
    wrong = mistakes(outcome, problem, _SHOWN)
    if not len(wrong):
        return
    st.markdown("## The first it gets wrong")
    pictures = problem.test_X[wrong]
    st.image(
        picture_strip(pictures / pictures.max(axis=1, keepdims=True), image_shape),
        width="stretch",
        alt=f"{len(wrong)} test pictures that were taken for another class.",
    )
    names = problem.class_names
    taken = [f"{names[problem.test_y[row]]} → {names[outcome.predicted[row]]}" for row in wrong]
    st.html(under_pictures(taken, "margin-top:-.8rem"))


@page(reads=True, formulas="classification")
def show_classification(selection: Selection) -> None:
    """Classification."""
    halves = family_caches.halves(selection.spec.dataset)
    view = ask("class_view", label_visibility="collapsed")
    # In places of their own: the answer first, and what stood stays while it is worked out.
    answer, controls = st.container(), st.container(border=True, key="asked_of_classification")
    with controls:
        spec = choose_spec(selection, halves)
    if view == ERROR_VIEW:
        charge(replace(spec, pipeline=pipeline) for pipeline in PIPELINES)
        with answer:
            show_answer(spec)
            redraw_button()
        st.markdown("## Test error at every ε")
        if session_ledger.curves(spec.dataset):
            curves(spec)
        st.markdown("## What it promises")
        promises(spec)
        carry_off(spec)
    elif view == SPLIT_VIEW:
        charge([replace(spec, pipeline=PRIVATE)])
        if session_ledger.curves(spec.dataset):
            with answer:
                two_parts(spec)
        st.markdown("## What it promises")
        promises(spec)
    else:
        shown = inside(spec, halves, answer)
        redraw_button()
        st.markdown("## What it promises")
        cards(shown)
    session_ledger.enter(
        selection, "Test errors, test rows and their pictures", "they are shown as they are"
    )
    st.caption(family_caches.halves(spec.dataset, spec.key().preparation).statement)
