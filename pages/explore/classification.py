"""Other analyses, classification: private components, a classifier on them, one budget for both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
import streamlit as st

from dpcore.data import unit_of
from dpcore.data.splits import Halves
from dpcore.errors import ParameterError
from dpcore.experiments.classification import (
    ClassificationSpec,
    Outcome,
    classification_recipe,
    confusion_matrix,
    mistakes,
    run_pipeline,
)
from dpcore.experiments.classification.budget_split import best_split, specs_by_share
from dpcore.experiments.classification.problem import (
    LearningKey,
    LearningProblem,
    local_halves,
    local_learning_problem,
    people_steps,
    rows_of_classes,
)
from dpcore.experiments.classification.spec import (
    EXACT,
    PIPELINES,
    PRIVATE,
    RANDOM,
    SUBSPACE,
    canonical,
)
from dpcore.experiments.classification.stages import (
    CENTRING,
    stage_guarantees,
    total_guarantee,
    with_centring_share,
)
from dpcore.experiments.engine.fields import PUBLISHED
from dpcore.experiments.engine.grid import Points
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.summaries import mean_in_words, percent
from dpcore.figures.classification import confusion_chart, error_curves, share_curve
from dpcore.figures.images import component_strip, picture_strip
from dpcore.params import EPSILONS, params
from dpcore.pca.protocols.protocol import Where
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Guarantee
from dpcore.spectra import align_signs
from pages import links, navigation, sidebar, sweeps
from pages.cached import cached
from pages.components import charts, downloads, guarantee, ledger, notices
from pages.number_format import plain
from pages.sidebar import Selection

CONTROLS = ("dataset", "epsilon", "delta", "components", "seed")
CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if 0.01 <= epsilon <= 20)
TASKS = {"two": "Two classes", "rest": "One against the rest", "all": "All classes"}
_N_PICTURES = 10
_FIGURE_HEIGHT = 480


def show(selection: Selection) -> None:
    """Draw the error curve first, then the controls, the split of the budget and one run."""
    if not selection.dataset.ready or not _has_labels(selection.spec.dataset):
        _show_heading("Classification")
        notices.require_dataset(selection.dataset)
        st.info("This data set has no labels. Choose one with labels in the sidebar.")
        return
    answer = notices.reserve_container("class_answer")
    notices.require_dataset(selection.dataset)
    spec = _choose_spec(selection, local_halves(selection.spec.dataset, "bounded"))
    for pipeline in PIPELINES:
        _charge(replace(spec, pipeline=pipeline))
    with answer:
        _show_curves(spec)
    share, one_run, guarantee_tab = st.tabs(["Split the budget", "One run", "Guarantee"])
    with share:
        _show_split(spec)
    with one_run:
        _show_one_run(spec, selection.dataset.image_shape)
    with guarantee_tab:
        _show_guarantee(spec)
    notices.mark_not_private("Test errors", "are counted on rows that were not used for training.")
    st.button("New noise", on_click=sidebar.new_noise)
    recipe = classification_recipe(replace(spec, pipeline=PRIVATE))
    downloads.offer_downloads("classification", (), script=recipe.script, notebook=recipe.notebook)
    notices.explain_computation("classification")


def _show_heading(sentence: str) -> None:
    st.title(sentence)
    navigation.link_to_parts("classification")


def _has_labels(dataset: str) -> bool:
    try:
        local_halves(dataset, "bounded")
    except ParameterError:
        return False
    return True


# ---- controls


def _choose_spec(selection: Selection, halves: Halves) -> ClassificationSpec:
    declared = params(ClassificationSpec)
    first, second, third = st.columns([3, 2, 2])
    with first:
        classes = _choose_classes(halves.label_names)
    protocols = _subspace_protocols()
    links.accept_option("class_protocol", protocols, _title, several=False)
    protocol = second.selectbox(
        "Private subspace by", protocols, format_func=_title, key="class_protocol",
        bind="query-params",
    )  # fmt: skip
    models = tuple(declared["model"].choices)
    label = declared["model"].label or str
    links.accept_option("class_model", models, label, several=False)
    model = third.selectbox(
        "Classifier", models, format_func=label, key="class_model", bind="query-params"
    )
    with st.expander("Shares, rows, runs"):
        values = _choose_details(len(rows_of_classes(halves.labels, classes)), protocol)
    run = selection.spec
    components = min(run.components or halves.default_components, halves.X.shape[1])
    return ClassificationSpec(
        dataset=run.dataset,
        classes=classes,
        protocol=protocol,
        epsilon=run.epsilon,
        delta=run.delta,
        components=components,
        model=model,
        seed=run.seed,
        **values,
    )


def _choose_classes(names: tuple[str, ...]) -> tuple[int, ...]:
    if len(names) == 2:
        st.markdown(f"Classes: {', '.join(map(notices.escape_markdown, names))}.")
        return ()
    task = st.segmented_control(
        "Classes", list(TASKS), format_func=TASKS.__getitem__, default="two", required=True,
        key="class_task",
    )  # fmt: skip
    if task == "all":
        return ()
    # 3 and 8 are the numerals that are most alike.
    first, second = (3, 8) if len(names) > 8 else (0, 1)
    left, right = st.columns(2)
    first_class = names.index(left.selectbox("Class", names, index=first, key="class_one"))
    if task == "rest":
        return (first_class,)
    others = [name for name in names if name != names[first_class]]
    usual = others.index(names[second]) if names[second] in others else 0
    second_class = right.selectbox("From", others, index=usual, key="class_other")
    return first_class, names.index(second_class)


def _choose_details(n_rows: int, protocol: str) -> dict[str, Any]:
    declared = params(ClassificationSpec)
    values: dict[str, Any] = {}
    left, middle, right = st.columns(3)
    for name, place in (("pca_share", left), ("regularization", middle)):
        steps = tuple(declared[name].steps)
        usual = getattr(ClassificationSpec, name)
        values[name] = place.select_slider(
            declared[name].title, steps, value=usual, format_func=declared[name].label or plain,
            key=f"class_{name}", help=declared[name].help or None, bind="query-params",
        )  # fmt: skip
    sizes = ("all", *people_steps(n_rows)[:-1])
    size = middle.selectbox("Rows to learn from", sizes, key="class_people")
    values["samples"] = None if size == "all" else size
    values["preparation"] = left.selectbox(
        "Preparation", declared["preparation"].choices, key="class_preparation",
        index=list(declared["preparation"].choices).index(ClassificationSpec.preparation),
        bind="query-params",
    )  # fmt: skip
    if PROTOCOLS[protocol].is_distributed:
        values["sites"] = right.slider("Sites S", 1, 20, 5, key="class_sites")
    values["repetitions"] = right.slider("Runs", 1, 20, 5, key="class_draws", bind="query-params")
    if right.toggle("PCA noise as published", key="class_as_printed", bind="query-params"):
        values |= PUBLISHED
    return values


def _subspace_protocols() -> tuple[str, ...]:
    """Return the protocols that find a subspace of all rows; Analyze Gauss comes first."""
    places = (Where.HOLDER, Where.EVERY_SITE)
    keys = [key for key, entry in PROTOCOLS.items() if entry.noise and entry.where in places]
    return ("ag", *(key for key in keys if key != "ag"))


def _title(key: str) -> str:
    return PROTOCOLS[key].title


# ---- error against ε


def _show_curves(spec: ClassificationSpec) -> None:
    if not ledger.may_show_curves(spec.dataset):
        _show_heading("Classification")
        return
    specs = _different(
        replace(spec, pipeline=pipeline, epsilon=epsilon)
        for epsilon in _nearest_first(spec.epsilon)
        for pipeline in PIPELINES
    )
    sweeps.watch((Points(specs),), partial(_draw_curves, spec))


def _draw_curves(spec: ClassificationSpec, rows_of_sweeps: sweeps.RowsOfSweeps) -> None:
    rows = rows_of_sweeps[0]
    errors = {pipeline: _mean_error(rows, spec, pipeline) for pipeline in PIPELINES}
    private, not_private = errors[PRIVATE], errors[EXACT]
    unit = unit_of(spec.dataset)
    sentence = "Classification: the first runs have started"
    if private is not None and not_private is not None:
        sentence = (
            f"{percent(private)} of test {unit.many} are misclassified at "
            f"ε = {plain(spec.epsilon)}; {percent(not_private)} without privacy"
        )
    _show_heading(sentence)
    with st.container(height=_FIGURE_HEIGHT, border=False):
        if rows:
            figure = error_curves(
                rows,
                protocol=spec.protocol,
                chance=rows[0]["chance_error"],
                axis_range=(CURVE_EPSILONS[0], CURVE_EPSILONS[-1]),
                marker=spec.epsilon,
                dark=charts.is_dark(),
            )
            charts.show_figure(figure, key="class_curves", alt=sentence, height="stretch")
    subspace, random = errors[SUBSPACE], errors[RANDOM]
    if subspace is not None and random is not None:
        st.caption(
            f"Only the subspace private: {percent(subspace)}. Random subspace: {percent(random)}. "
            f"Bands: range of {spec.repetitions} runs."
        )


def _mean_error(rows: Sequence[Row], spec: ClassificationSpec, pipeline: str) -> float | None:
    errors = [
        row["test_error"]
        for row in rows
        if row["pipeline"] == pipeline and row["epsilon"] in (spec.epsilon, np.inf)
    ]
    return fmean(errors) if errors else None


def _nearest_first(epsilon: float) -> tuple[float, ...]:
    return tuple(sorted(CURVE_EPSILONS, key=lambda value: (abs(np.log(value / epsilon)), value)))


def _different(specs: Iterable[ClassificationSpec]) -> tuple[ClassificationSpec, ...]:
    """Return the specifications that differ in a setting that their pipeline reads."""
    return tuple(dict.fromkeys(map(canonical, specs)))


# ---- how to split the budget


def _show_split(spec: ClassificationSpec) -> None:
    if ledger.may_show_curves(spec.dataset):
        specs = _different(specs_by_share(spec))
        sweeps.watch((Points(specs),), partial(_draw_split, spec))
        notices.mark_not_private("The best share", "was found with the help of test errors.")


def _draw_split(spec: ClassificationSpec, rows_of_sweeps: sweeps.RowsOfSweeps) -> None:
    rows = rows_of_sweeps[0]
    if not rows:
        st.caption("The first runs have started.")
        return
    best = best_split(rows)
    sentence = (
        f"{percent(best.share)} of ε = {plain(spec.epsilon)} for PCA and the rest for training "
        f"gives the smallest error: {percent(best.error)}"
    )
    st.markdown(f"### {sentence}")
    ties = ", ".join(f"{100 * share:g} %" for share in best.close_shares)
    st.caption(f"Indistinguishable from it: {ties}." if ties else "No other share comes close.")
    figure = share_curve(
        rows,
        protocol=spec.protocol,
        chance=rows[0]["chance_error"],
        best=best.share,
        marker=spec.pca_share,
        dark=charts.is_dark(),
    )
    charts.show_figure(figure, key="class_split", alt=f"{sentence}.")


# ---- one run


def _show_one_run(spec: ClassificationSpec, image_shape: tuple[int, int] | None) -> None:
    private = replace(spec, pipeline=PRIVATE)
    outcome, problem = _outcome(private), _problem(private.problem_key())
    st.markdown(f"### One run: {percent(outcome.test_error)} of the test rows are misclassified")
    charts.show_figure(
        confusion_chart(
            confusion_matrix(outcome, problem), problem.class_names, dark=charts.is_dark()
        ),
        key="class_confusion",
        alt=f"Confusion matrix: {percent(1 - outcome.test_error)} of the test rows are right.",
    )
    if image_shape is not None:
        _show_pictures(private, outcome, problem, image_shape)


def _show_pictures(
    spec: ClassificationSpec,
    outcome: Outcome,
    problem: LearningProblem,
    image_shape: tuple[int, int],
) -> None:
    exact = _outcome(replace(spec, pipeline=EXACT)).components[:_N_PICTURES]
    private = align_signs(outcome.components[:_N_PICTURES], exact)
    for components, title in ((exact, "Exact components, not private"), (private, "Private ones")):
        st.markdown(f"**{title}**")
        strip = component_strip(components, image_shape, dark=charts.is_dark())
        st.image(strip, width="stretch", alt=title)
    wrong = mistakes(outcome, problem, _N_PICTURES)
    if not len(wrong):
        return
    names = problem.class_names
    pairs = [f"{names[problem.test_y[row]]} → {names[outcome.predicted[row]]}" for row in wrong]
    st.markdown(f"**Misclassified test pictures:** {', '.join(pairs)}")
    pictures = problem.test_X[wrong]
    scaled = pictures / pictures.max(axis=1, keepdims=True)
    st.image(
        picture_strip(scaled, image_shape), width="stretch", alt=f"{len(wrong)} test pictures."
    )
    notices.mark_not_private("Test pictures", "are shown as they are.")


@cached(48, message="Training the classifier")
def _trained(spec: ClassificationSpec) -> Outcome:
    return run_pipeline(spec, _problem(spec.problem_key()))


def _outcome(spec: ClassificationSpec) -> Outcome:
    return _trained(replace(canonical(spec), repetitions=1))


def _problem(key: LearningKey) -> LearningProblem:
    return local_learning_problem(key)


# ---- guarantee


def _charge(spec: ClassificationSpec) -> None:
    settings = canonical(spec)
    stages = stage_guarantees(settings, _problem(settings.problem_key()))
    ledger.charge(settings.charges(stages))
    if settings.pipeline in (EXACT, SUBSPACE, RANDOM):
        ledger.record_uncovered(
            settings.dataset, "Classifiers trained without noise", "they were fitted to the rows"
        )
    if settings.reads_rows_first:
        ledger.record_uncovered(
            settings.dataset, "Published centring and scaling", "they read every row"
        )


def _show_guarantee(spec: ClassificationSpec) -> None:
    private = replace(spec, pipeline=PRIVATE)
    shared = with_centring_share(private, _problem(private.problem_key()))
    parts = (
        ("centring", shared.centring_share),
        ("PCA", shared.pca_share),
        ("training", shared.training_share),
    )
    shares = ", ".join(f"{percent(share)} for {stage}" for stage, share in parts if share)
    st.markdown(f"ε = {plain(spec.epsilon)} is split: {shares}.")
    total = _total_guarantee(private)
    guarantee.show_card(total, reads_rows_first=private.reads_rows_first)
    stages = _outcome(private).guarantees
    if centring := mean_in_words(private, has_mean=CENTRING in stages):
        st.caption(centring)
    if PROTOCOLS[spec.protocol].is_distributed:
        st.caption(
            "Sites protect the subspace themselves. One trusted party trains the classifier on "
            "the projected rows."
        )
    if len(spec.classes) == 2:
        st.caption("The number of rows in the two classes is taken as public.")


def _total_guarantee(spec: ClassificationSpec) -> Guarantee:
    return total_guarantee(spec, _outcome(spec).guarantees)
