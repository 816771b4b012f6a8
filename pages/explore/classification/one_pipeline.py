"""A look inside one trained pipeline: its components, its mistakes, its plane."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.data.held_out import Halves
from dpcore.experiments.learning.classification_runs import (
    Outcome,
    confusion_matrix,
    mistakes,
    plane_of,
)
from dpcore.experiments.learning.classification_spec import (
    EXACT,
    ClassificationSpec,
    LearningProblem,
)
from dpcore.experiments.pca.sentences import counted, percent
from dpcore.figures.components.images import component_strip, picture_strip
from dpcore.figures.families.classification import confusion, decision_plane
from dpcore.spectra import align_signs
from pages.explore.classification import panels
from pages.parameters.table import ask
from pages.server import learning_cache
from pages.widgets.charts import chart, is_dark
from pages.widgets.component_images import under_pictures
from pages.widgets.messages import big_number, not_private

_SHOWN = 10


def inside(spec: ClassificationSpec, halves: Halves, answer: DeltaGenerator) -> ClassificationSpec:
    """One trained pipeline: its components, its mistakes, its plane; returns which."""
    pipeline = ask("class_pipeline")
    spec = replace(spec, pipeline=pipeline)
    panels.pay([spec, replace(spec, components=2, repetitions=1)])
    outcome = learning_cache.outcome(spec)
    problem = learning_cache.problem(spec.key())
    wrong = round(outcome.test_error * len(problem.test_X))
    # The number that the error curve has, so that one setting has one number.
    with answer:
        mean = fmean(row["test_error"] for row in learning_cache.rows([spec]))
        big_number(
            percent(mean),
            f"of {len(problem.test_X):,} test people are taken for another class at "
            f"**ε\u00a0=\u00a0{spec.epsilon:g}**.",
            f"The mean of {counted(spec.repetitions, 'draw')}. One of them is looked into below: "
            f"{percent(outcome.test_error)} wrong, {wrong:,} people.",
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
            f"{percent(1 - outcome.test_error)} of the test people are on its diagonal.",
        )
    with right:
        st.markdown("## The same pipeline with two components only")
        flat = learning_cache.outcome(replace(spec, components=2))
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
            alt="Test people in the plane of the first two components, with the regions the "
            f"classifier gives to each class; {percent(flat.test_error)} are on the wrong side.",
        )
        st.caption(
            f"Where the tint changes lies the decision line. In this plane "
            f"{percent(flat.test_error)} are wrong. Its classifier is another than that of the "
            "pictures: training it is a release of its own."
        )
    not_private("Test people, counts and pictures", "are shown as they are.")
    return spec


def _pictures(
    spec: ClassificationSpec,
    outcome: Outcome,
    problem: LearningProblem,
    image_shape: tuple[int, int],
) -> None:
    st.markdown("## The components it works with, and exact ones")
    exact = learning_cache.outcome(replace(spec, pipeline=EXACT)).components[:_SHOWN]
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
