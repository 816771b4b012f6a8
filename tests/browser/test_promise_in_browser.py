"""The game of ten rounds, and one person on the circle, by mouse and by keyboard."""

from __future__ import annotations

import pytest

from tests.browser.conftest import settle


@pytest.mark.parametrize(("width", "height", "dark"), [(1440, 900, False), (390, 844, True)])
def test_ten_rounds_are_played_without_scrolling_or_the_server(
    server, open_page, width, height, dark
):
    page, watched = open_page(f"{server}/promise", width=width, height=height, dark=dark)
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
    watched.assert_quiet()


def test_a_person_is_dragged_by_mouse_and_moved_by_keyboard(server, open_page):
    page, watched = open_page(f"{server}/promise", height=1400)
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
    watched.assert_quiet()
