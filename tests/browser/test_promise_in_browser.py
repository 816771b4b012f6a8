"""The game of ten rounds, and one person on the circle, by mouse and by keyboard."""

from __future__ import annotations

from tests.browser.conftest import settle
from tests.browser.first_screen import (
    assert_first_screen_is_short,
    assert_page_did_not_move,
    assert_phone_has_a_named_menu,
)


def test_rounds_are_played_a_person_is_moved_and_the_next_page_has_no_empty_sidebar(
    server, open_page
):
    page, watched = open_page(f"{server}/promise", width=1440, height=900, new_tab=True)
    assert_page_did_not_move(page)
    assert_first_screen_is_short(page)
    play_ten_rounds_without_scrolling_or_the_server(page, 900)
    page.set_viewport_size({"width": 1440, "height": 1400})
    settle(page)
    move_a_person_by_mouse_and_keyboard(page)
    assert page.locator("[data-testid=stSidebar]").is_visible()
    page.get_by_test_id("stTopNavSection").filter(has_text="Use").click()
    page.get_by_role("menuitem", name="Your table").click()
    page.wait_for_url("**/own_table*")
    settle(page)
    assert not page.locator("[data-testid=stSidebar]").is_visible()
    watched.assert_quiet()


def test_rounds_are_played_on_a_phone_whose_page_did_not_move(server, open_page):
    """The page once moved by .12."""
    size = {"width": 390, "height": 844}
    page, watched = open_page(f"{server}/promise", **size, dark=True, new_tab=True)
    assert_page_did_not_move(page)
    assert_phone_has_a_named_menu(page)
    play_ten_rounds_without_scrolling_or_the_server(page, 844)
    watched.assert_quiet()


def play_ten_rounds_without_scrolling_or_the_server(page, height: int) -> None:
    for name in (".game canvas", ".game .with", ".game .without"):
        box = page.locator(name).bounding_box()
        assert box["y"] + box["height"] <= height
    page.evaluate("globalThis.askedAt = null")
    for round_ in range(10):
        assert f"Round {round_ + 1} of 10" in page.locator(".game .question").inner_text()
        page.locator(".game .with").click()
        assert "she was" in page.locator(".game .verdict").inner_text()
    assert page.evaluate("globalThis.askedAt") is None
    assert "times in 10" in page.locator(".game .question").inner_text()
    page.locator(".game .fill").click()
    page.get_by_text("of 100 right").wait_for()
    right = page.locator(".game .dots i.right").count()
    assert f"{right} of 100 right" in page.locator(".game .score").inner_text()
    page.locator(".game .again").click()
    settle(page)
    assert "Round 1 of 10" in page.locator(".game .question").inner_text()


def move_a_person_by_mouse_and_keyboard(page) -> None:
    circle = page.locator(".circle svg").bounding_box()
    x, y = circle["x"] + circle["width"] / 2, circle["y"] + circle["height"] / 2
    radius = min(circle["width"], circle["height"]) / 2.5
    page.mouse.move(x + 10, y)
    page.mouse.down()
    page.mouse.move(x, y - radius, steps=5)
    exact = page.locator(".circle .exact")
    # The needle is within five degrees of upright, as is the person.
    assert abs(float(exact.get_attribute("x2"))) < 0.09
    page.mouse.move(x + radius, y, steps=5)
    assert page.locator(".circle output").inner_text() == "0°"
    page.mouse.up()
    page.locator(".circle input").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".circle output").inner_text() == "2°"
