"""Every item of the card has an explanation, and every explanation has an address."""

from __future__ import annotations

import re

import pytest

from dpcore.privacy import ASSUMED, EXPLANATIONS, STATED, Assumption, explanation_of

EVERYTHING = (*STATED.values(), *ASSUMED.values())


def test_whatever_the_card_states_or_assumes_is_explained():
    assert set(STATED) == set(EXPLANATIONS)
    assert set(ASSUMED) == set(Assumption)
    assert explanation_of("requested") is STATED["requested"]
    assert explanation_of(Assumption.PUBLIC_BOUND) is ASSUMED[Assumption.PUBLIC_BOUND]


@pytest.mark.parametrize("paragraph", EVERYTHING, ids=lambda paragraph: paragraph.anchor)
def test_an_anchor_is_what_any_browser_makes_of_the_title(paragraph):
    assert re.fullmatch(r"[A-Z][a-z]*( [a-z]+)*", paragraph.title)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", paragraph.anchor)


def test_no_two_share_an_anchor():
    assert len({paragraph.anchor for paragraph in EVERYTHING}) == len(EVERYTHING)


@pytest.mark.parametrize("paragraph", EVERYTHING, ids=lambda paragraph: paragraph.anchor)
def test_a_paragraph_is_sentences(paragraph):
    assert re.fullmatch(r"[A-Z][^\n]*\.", paragraph.text)
    assert paragraph.text.count(". ") >= 1
    assert "$" not in paragraph.text
