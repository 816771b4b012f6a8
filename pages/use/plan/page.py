"""What would it take? A target energy, and what it costs."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dpcore.experiments.pca.sentences import percent
from pages.server.background_jobs import Progress
from pages.sidebar.controls import current
from pages.use.plan import panels
from pages.use.plan.question import (
    MAP_DRAWS,
    Question,
    answer_of,
    budget_map,
    choose_question,
    people_map,
    shown_by,
)
from pages.widgets import session_ledger
from pages.widgets.downloads import take_away
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.messages import dataset_ready, errors_shown, how_computed, not_private
from pages.widgets.sweep_panel import go_where_clicked
from pages.widgets.watched_job import Request, watch

PAGE = "plan"


def draw(question: Question, progress: Progress) -> None:
    """The answer, the maps around it, and every run behind it."""
    go_where_clicked()
    panels.answer_shown(question, progress)
    answer = answer_of(progress)
    if answer is None:
        return
    panels.tried_table(question, progress)
    around = shown_by(answer)
    left, right = st.columns(2, gap="large")
    with left:
        if "map" in progress.arrived:
            st.markdown("## Every ε and number of people")
            people_map(around, question.target, progress.rows("map"))
            st.caption(
                f"Percent kept in the answer's way. White line: {percent(question.target)} is "
                "reached to its right. Frame: the answer. Other numbers of people are other "
                f"people, so every cell is run: the mean of at most {MAP_DRAWS} draws."
            )
    with right:
        if "curve" in progress.arrived:
            st.markdown("## Every ε and δ, from one curve")
            budget_map(around, question.target, progress.rows("curve"))
            st.caption(
                "With all else held, energy depends on ε, δ and n only through σ. So one curve of "
                "energy against σ gives every (ε, δ): exact where its points are, interpolated "
                "between them."
            )


selection = current()
for note in selection.notes:
    st.warning(note)
if not dataset_ready(selection.dataset):
    st.stop()
with errors_shown():
    with st.container(border=True):
        question = choose_question(selection.spec)
    watch(
        Request(PAGE, question, question.parts, question.cost()),
        selection.dataset,
        partial(draw, question),
        panels.count_of,
        is_there=lambda progress: answer_of(progress) is not None,
    )
    answer, rows = panels.found_so_far(PAGE, question)
    promising = question.base if answer is None else shown_by(answer)
    promised_cards(
        promising,
        selection.dataset,
        promising.protocols,
        "Of the answer." if answer else f"Of ε = {promising.epsilon:g}, until there is an answer.",
    )
    session_ledger.so_far(selection.dataset.name, selection.dataset.title, selection.spec.delta)
    take_away(PAGE, rows)
    if answer is not None:
        panels.offer_summary(answer, selection.dataset)
not_private(
    "The search",
    "compares real runs with exact PCA on the same people. To plan a release without spending "
    "anything, run it on public data of the same kind.",
)
how_computed("plan")
