"""First screen of every page at 1440 x 900: at most 60 words and ten controls, one h1."""

from __future__ import annotations

import pytest

from pages.navigation import ENTRIES
from tests.browser.first_screen import words_and_controls

MAX_WORDS, MAX_CONTROLS = 60, 10
PAGES = ["", *(entry.name for entry in ENTRIES[1:]), "stories?story=people"]


@pytest.mark.parametrize("address", PAGES)
def test_a_first_screen_has_few_words_and_controls(server, open_page, address):
    page, _ = open_page(f"{server}/{address}", width=1440, height=900)
    words, controls = words_and_controls(page)
    assert page.locator("h1").count() == 1
    assert len(words) <= MAX_WORDS, words
    assert len(controls) <= MAX_CONTROLS, controls
