"""A plan on one page, for whoever decides: answer, certainty, promise, costs, assumptions."""

from __future__ import annotations

from html import escape
from pathlib import Path

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.analysis.recommendation import Recommendation
from dpcore.experiments.analysis.target_search import held_in_words
from dpcore.experiments.ledger.pca_charges import promised
from dpcore.experiments.pca.sentences import percent
from dpcore.privacy import describe
from pages.parameters.use import WANTED
from pages.sidebar import address
from pages.sidebar.foot.reachable import reachable
from pages.use.plan.panels import how_sure, trust_and_bytes
from pages.use.plan.question import shown_by
from pages.widgets import session_ledger
from pages.widgets.figure_tools.small_type import headline

_PAGE = (Path(__file__).parent / "summary.html").read_text(encoding="utf-8")
_NOT_IN_IT = "The search itself compared runs with exact results, which is not private."


def offer_summary(answer: Recommendation, dataset: DatasetStatus) -> None:
    """A button that hands over the page."""
    st.download_button(
        "Summary for a decision, one page to print (HTML)",
        summary(answer, dataset),
        "summary.html",
        "text/html",
        on_click="ignore",
        key="save_plan_summary",
    )


def summary(answer: Recommendation, dataset: DatasetStatus) -> str:
    """The page as HTML, all of it from the answer and what it promises."""
    spec = shown_by(answer)
    key = spec.protocols[0]
    guarantee = promised(spec, key, dataset)
    card = describe(guarantee)
    found = answer.best.ranked if answer.best is not None else answer.most.ranked[0]
    people = dataset.n_samples if spec.samples is None else spec.samples
    wanted = f"{WANTED[answer.field]} that keeps {percent(answer.target)} of the pattern"
    told = {
        "question": f"{dataset.title}: what is {wanted}?",
        "answer": answer.sentence,
        "certainty": how_sure(answer) if answer.best is not None else "Nothing tried reaches it.",
        "person": headline(guarantee, spec.preparation),
        "costs": f"{people:,} people at {spec.sites} sites take part, with {found.way.label}. "
        f"{trust_and_bytes(found)} With all else at {held_in_words(answer.base, answer.field)}.",
        "ledger": " ".join((
            session_ledger.sentence(dataset.name, dataset.title, spec.delta), _NOT_IN_IT,
        )).replace("**", ""),
        "made": f"Worked out live by DP-PCA Lab at seed {spec.seed}, with preparation "
        f"{spec.preparation}, calibration {spec.calibration}, noise {spec.noise}. "
        f"{reachable(st.context.url or '')}?{address.query()}",
    }  # fmt: skip
    lists = {
        "numbers": "".join(
            f"<dt>{escape(row.label)}</dt><dd>{escape(row.value)}</dd>" for row in card.rows
        ),
        "assumptions": "".join(f"<li>{escape(str(each))}</li>" for each in card.assumptions),
    }
    page = _PAGE
    for name, text in ({name: escape(text) for name, text in told.items()} | lists).items():
        page = page.replace(f"{{{name}}}", text)
    return page
