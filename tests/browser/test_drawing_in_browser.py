"""A digit is drawn by mouse or chosen by keyboard, and ten rounds are played."""

from __future__ import annotations

import pytest

from tests.browser.conftest import settle


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True)])
def test_a_digit_is_drawn_and_ten_rounds_are_played(server, open_page, width, dark):
    page, watched = open_page(f"{server}/drawing", width=width, height=900, dark=dark)
    box = page.locator(".seated .board").bounding_box()
    side = box["width"]
    page.mouse.move(box["x"] + 0.3 * side, box["y"] + 0.2 * side)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * side, box["y"] + 0.2 * side, steps=4)
    page.mouse.move(box["x"] + 0.4 * side, box["y"] + 0.8 * side, steps=4)
    page.mouse.up()
    page.locator(".seated .examples [aria-pressed=true]").wait_for(state="detached")
    page.locator(".seated figcaption").get_by_text("likeness").wait_for()
    likeness = page.locator(".seated canvas.exact + figcaption span").inner_text()
    assert float(likeness.split()[-1]) > 0.8
    page.locator(".seated summary").click()
    for round_ in range(10):
        assert f"Round {round_ + 1} of 10" in page.locator(".seated .question").inner_text()
        page.locator(".seated .with").click()
        assert "your drawing was" in page.locator(".seated .verdict").inner_text()
    assert "times in 10" in page.locator(".seated .question").inner_text()
    page.locator(".seated .fill").click()
    page.get_by_text("times in 90").wait_for()
    edges = page.locator(".seated *").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect().right)"
    )
    assert max(edges) <= width
    watched.assert_quiet()


def test_an_example_is_chosen_and_blinking_stopped_by_keyboard(server, open_page):
    page, watched = open_page(f"{server}/drawing")
    page.get_by_role("button", name="Take a drawn 7").focus()
    page.keyboard.press("Enter")
    page.locator('.seated [aria-label="Take a drawn 7"][aria-pressed=true]').wait_for()
    settle(page)
    page.locator(".seated summary").click()
    page.locator(".seated .stop").focus()
    if page.locator(".seated .stop").inner_text() == "Stop blinking":
        page.keyboard.press("Enter")
    assert page.locator(".seated .stop").inner_text() == "Blink"
    before = page.locator(".seated .which").inner_text()
    page.locator(".seated .swap").focus()
    page.keyboard.press("Enter")
    assert page.locator(".seated .which").inner_text() != before
    watched.assert_quiet()


def test_a_clean_sheet_clears_the_results_of_the_previous_drawing(server, open_page):
    page, _ = open_page(f"{server}/drawing")
    captions = page.locator(".seated .tiles figure:not(:first-child) > figcaption span")
    assert all(captions.all_inner_texts())
    page.get_by_role("button", name="Clean sheet").click()
    assert captions.all_inner_texts() == ["", ""]
    assert page.locator(".seated [aria-pressed=true]").count() == 0
    assert page.locator(".seated .suspects canvas").count() == 0
