"""A digit is drawn by mouse or chosen by keyboard, and ten rounds are played."""

from __future__ import annotations

from tests.browser.conftest import settle
from tests.browser.first_screen import assert_first_screen_is_short


def test_a_digit_is_drawn_chosen_and_cleared(server, open_page):
    page, watched = open_page(f"{server}/drawing", width=1440, height=900)
    assert_first_screen_is_short(page)
    choose_an_example_and_stop_blinking_by_keyboard(page)
    clear_the_results_of_the_previous_drawing(page)
    draw_a_digit_and_play_ten_rounds(page, 1440)
    watched.assert_quiet()


def test_a_digit_is_drawn_on_a_phone(server, open_page):
    page, watched = open_page(f"{server}/drawing", width=390, height=900, dark=True)
    page.locator(".seated summary").click()
    draw_a_digit_and_play_ten_rounds(page, 390)
    watched.assert_quiet()


def draw_a_digit_and_play_ten_rounds(page, width: int) -> None:
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


def choose_an_example_and_stop_blinking_by_keyboard(page) -> None:
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


def clear_the_results_of_the_previous_drawing(page) -> None:
    captions = page.locator(".seated .tiles figure:not(:first-child) > figcaption span")
    assert all(captions.all_inner_texts())
    page.get_by_role("button", name="Clean sheet").click()
    assert captions.all_inner_texts() == ["", ""]
    assert page.locator(".seated [aria-pressed=true]").count() == 0
    assert page.locator(".seated .suspects canvas").count() == 0
