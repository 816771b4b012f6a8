"""First screen of every page at 1440 x 900: at most 60 words and ten controls, one h1.

Pages with a browser test of their own are checked there, because each opening takes two to four
seconds of a processor.
"""

from __future__ import annotations

import pytest

from pages.navigation import ENTRIES
from tests.browser.conftest import settle
from tests.browser.first_screen import (
    assert_first_screen_is_short,
    assert_page_did_not_move,
    assert_phone_has_a_named_menu,
    assert_text_on_the_primary_colour_can_be_read,
)

# Few runs, so that the pages settle soon, with a seed that no other test uses; no data for the
# panel below the first screen of Papers.
FEW_RUNS = "repetitions=2&seed=97&class_draws=1&papers_figure=2012-fig1-census"
# Checked by test_start_page.py, test_promise_in_browser.py and so on.
ELSEWHERE = {"", "promise", "drawing", "audit", "stories", "classroom", "own_table"}
PAGES = [entry.address for entry in ENTRIES if entry.address not in ELSEWHERE]

LOOK = """each => {
    const { color, fontSize, fontWeight, borderRadius, height } = getComputedStyle(each)
    return { color, fontSize, fontWeight, borderRadius, height }
}"""
BOXES = """texts => texts.map(text => {
    const { left, right, top, bottom } = text.getBoundingClientRect()
    return [left, right, top, bottom]
})"""
IS_WHOLE = """() => {
    const box = document.querySelector(".js-plotly-plot")?.getBoundingClientRect()
    return box && box.height > 100 && box.right <= innerWidth && box.bottom <= innerHeight
}"""
FITS_A_PHONE = """() => {
    const texts = [...document.querySelectorAll(
        ".st-key-papers_overview :is(.annotation-text, .legendtext)")]
    return texts.length > 0
        && texts.every((text) => text.getBoundingClientRect().right <= innerWidth)
}"""


@pytest.mark.parametrize("name", PAGES)
def test_a_first_screen_has_few_words_and_controls(server, open_page, name):
    is_still = name == "decide"  # Tutorials and Release move more at this width.
    address = f"{server}/{name}?{FEW_RUNS}"
    page, _ = open_page(address, width=1440, height=900, new_tab=is_still)
    assert_first_screen_is_short(page)
    # Checks of the same pages.
    if is_still:
        assert_page_did_not_move(page)
    if name in ("classification", "release"):
        assert_first_figure_is_whole_on_a_small_laptop(page)
    if name == "papers":
        assert_titles_of_panels_do_not_overlap_on_a_phone(page)
    if name == "cca":
        assert_links_and_segments_look_like_tabs(page)
        assert_text_on_the_primary_colour_can_be_read(page, "[data-tag]:visible")
    if name == "release":
        button = "[data-testid=stPopoverButton][kind=primary]"
        assert_text_on_the_primary_colour_can_be_read(page, button)


def assert_first_figure_is_whole_on_a_small_laptop(page) -> None:
    """Wait for it, because the figure is drawn again at the new size."""
    page.set_viewport_size({"width": 1366, "height": 768})
    page.wait_for_function(IS_WHOLE)


def assert_titles_of_panels_do_not_overlap_on_a_phone(page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(FITS_A_PHONE)
    settle(page)
    figure = page.locator(".st-key-papers_overview")
    boxes = figure.locator(".annotation-text, .legendtext").evaluate_all(BOXES)
    assert len(boxes) == 19
    for i, (left, right, top, bottom) in enumerate(boxes):
        assert 0 <= left and right <= 390
        for other in boxes[:i]:
            is_beside = right <= other[0] or left >= other[1]
            is_apart = bottom <= other[2] or top >= other[3]
            assert is_beside or is_apart


def assert_links_and_segments_look_like_tabs(page) -> None:
    tab = page.get_by_role("tab", selected=True).evaluate(LOOK)
    segment = page.get_by_role("radio", checked=True)
    assert segment.evaluate(LOOK) == tab
    assert page.locator(".st-key-parts span").filter(has_text="CCA").evaluate(LOOK) == tab


@pytest.mark.parametrize(
    "address",
    ["stories", "audit", "statistics"]
    + [f"{name}?{FEW_RUNS}" for name in ("decide", "cca", "classification")],
)
def test_a_page_on_a_phone_has_a_named_menu_and_does_not_move(server, open_page, address):
    """Stories once moved by .42, Break it by .19 and CCA by .18."""
    page, watched = open_page(f"{server}/{address}", width=390, height=844, new_tab=True)
    assert_page_did_not_move(page)
    assert_phone_has_a_named_menu(page)
    if address.startswith("classification"):
        assert_figures_follow_the_theme_and_have_no_toolbar(page)
    watched.assert_quiet()


FIRST_LABEL = """([...document.querySelectorAll(".stPlotlyChart .xtick text")]
    .map(label => getComputedStyle(label).fill)[0])"""


def assert_figures_follow_the_theme_and_have_no_toolbar(page) -> None:
    assert page.evaluate(FIRST_LABEL) == "rgb(26, 26, 26)"
    assert not any(bar.is_visible() for bar in page.locator(".modebar-container").all())
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"{FIRST_LABEL} === 'rgb(242, 242, 242)'")
