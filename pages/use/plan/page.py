"""What would it take? A target energy, and what it costs."""

from __future__ import annotations

import streamlit as st

from pages.formulas.plans import HOW_A_PLAN_IS_FOUND
from pages.server.background_jobs import Progress
from pages.sidebar.controls import current
from pages.use.plan import panels, target_maps
from pages.widgets import session_ledger
from pages.widgets.downloads import take_away
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.messages import dataset_ready, errors_shown, how_computed, not_private

PAGE = "plan"


def draw(progress: Progress) -> None:
    """The answer, the maps, and every run behind it."""
    panels.answer_shown(question, progress)
    left, right = st.columns(2, gap="large")
    with left:
        if "map" in progress.arrived:
            st.markdown("## Every ε and number of people")
            target_maps.people_map(question, progress.rows("map"))
            st.caption(
                f"Percent kept. White line: {question.target:.0%} is reached to its right. "
                "Cross: the present setting. Other numbers of people are other people, so every "
                f"cell is run: the mean of at most {panels.MAP_DRAWS} draws."
            )
    with right:
        if "curve" in progress.arrived:
            st.markdown("## Every ε and δ, from one curve")
            target_maps.budget_map(question, progress.rows("curve"))
            st.caption(
                "With the people, sites, K, R, noise shape and truncation held, energy depends on "
                "ε, δ and n only through σ. So one curve of energy against σ gives every (ε, δ), "
                "of one calibration: exact where its points are, interpolated between them."
            )
    panels.tried_table(question, progress)


selection = current()
for note in selection.notes:
    st.warning(note)
if not dataset_ready(selection.dataset):
    st.stop()
answer = st.container()
with errors_shown():
    with st.container(border=True):
        question = panels.choose_question(selection.spec, selection.dataset)
    with answer:
        panels.watch(
            PAGE,
            question,
            question.parts,
            question.cost(),
            selection.dataset,
            draw,
            lambda progress: panels.count_of(question, progress),
        )
    promised_cards(
        question.spec,
        selection.dataset,
        question.spec.protocols,
        "At the sidebar's settings; a run of the search changes the one that is looked for.",
    )
    session_ledger.so_far(selection.dataset.name, selection.dataset.title, selection.spec.delta)
    take_away(PAGE, panels.rows_of(PAGE, question))
not_private(
    "The search",
    "compares real runs with exact PCA on the same people. To plan a release without spending "
    "anything, run it on public data of the same kind.",
)
how_computed("plan", HOW_A_PLAN_IS_FOUND)
