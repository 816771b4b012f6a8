"""Annex of an impact assessment: the facts of the label under an officer's headings."""

from html import unescape

import pytest

from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.privacy.impact_annex import annex_page, annex_text
from dpcore.privacy.label import label_of

GUARANTEE = Guarantee(PrivacyBudget(1.0, 1e-6), 0.98, 1e-6, "gaussian", "the holder")


@pytest.fixture
def label():
    return label_of(GUARANTEE, "Patients <b>2026</b>", is_simulation=False, people=569)


def test_page_and_text_hold_the_same_facts_in_the_same_order(label):
    page = unescape(annex_page(label, purpose="Find shared factors."))
    text = annex_text(label, purpose="Find shared factors.")
    facts = (
        "Find shared factors.",
        "569",
        "What leaves the site",
        "Against whom",
        "ε = 0.98 at δ =",
        f"right at most {label.right_with} of 100 times",
        label.total,
        label.not_protected[0],
        "Who decides",
    )
    for document in (page, text):
        places = [document.index(fact) for fact in facts]
        assert places == sorted(places)


def test_titles_are_escaped_and_nothing_is_loaded(label):
    page = annex_page(label, purpose="<script>alert(1)</script>")
    assert "<script" not in page and "<b>2026" not in page
    assert "default-src 'none'" in page
