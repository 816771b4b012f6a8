"""What is best for my ε? Every private way to the components, ranked by real runs."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.sidebar.controls import current
from pages.use.best import panels
from pages.widgets import session_ledger
from pages.widgets.downloads import take_away
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.messages import dataset_ready, errors_shown, how_computed, not_private
from pages.widgets.watched_job import watch

PAGE = "best"

selection = current()
for note in selection.notes:
    st.warning(note)
if not dataset_ready(selection.dataset):
    st.stop()
question = panels.question_of(selection.spec)
with errors_shown():
    watch(
        panels.request_of(PAGE, question),
        selection.dataset,
        partial(panels.draw, question),
        panels.count_of,
        is_there=lambda progress: bool(panels.ranking_of(progress)),
    )
    found = panels.found_so_far(PAGE, question)
    leader = found[0].way if found else question.ways[0]
    promised_cards(
        leader.spec(question.base),
        selection.dataset,
        (leader.protocol,),
        f"Of {leader.label}. Every other way promises that ε or less, to whoever its row says.",
    )
    session_ledger.so_far(selection.dataset.name, selection.dataset.title, selection.spec.delta)
    take_away(PAGE, [row for each in found for row in each.rows], commands=[question.command])
not_private(
    "The 100 % line, every share and the order of ways",
    "are measured on the rows, without any noise: what is best for a table tells of its rows.",
)
how_computed("best")
