"""First screen of every page at 1440 x 900: at most 60 words and ten controls, one h1."""

from __future__ import annotations

import pytest

from pages.navigation import ENTRIES
from tests.browser.conftest import settle
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


def test_a_page_without_controls_has_no_empty_sidebar_after_one_with_controls(server, open_page):
    page, _ = open_page(f"{server}/promise", width=1440, height=900)
    assert page.locator("[data-testid=stSidebar]").is_visible()
    page.get_by_role("link", name="Your table").first.click()
    page.wait_for_url("**/own_table*")
    settle(page)
    assert not page.locator("[data-testid=stSidebar]").is_visible()


CONTRAST = r"""button => {
    const light = (colour) => {
        const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255).map(
            (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const text = button.querySelector("p") ?? button
    const [low, high] = [light(getComputedStyle(text).color),
        light(getComputedStyle(button).backgroundColor)].sort((a, b) => a - b)
    return (high + 0.05) / (low + 0.05)
}"""


@pytest.mark.parametrize("dark", [False, True])
def test_a_primary_button_can_be_read(server, open_page, dark):
    page, _ = open_page(f"{server}/audit", dark=dark)
    assert page.get_by_role("button", name="Attack", exact=True).evaluate(CONTRAST) >= 4.5
