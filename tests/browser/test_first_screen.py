"""What the software is for is one screen: move epsilon, and see, without scrolling."""

from __future__ import annotations

import pytest

from tests.browser.conftest import pages_of, settle

SLIDER, NUMBER, MEANING = ".control input", ".number", ".kept"
CURVE, STRIPS = ".curve svg[role=img]", ".strip canvas"


def is_in_view(page, what: str, number: int = 0) -> bool:
    """Whether all of it is on the screen, below what stays on top and hidden by nothing."""
    return (
        page.locator(what)
        .nth(number)
        .evaluate(
            """element => {
            const box = element.getBoundingClientRect()
            const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
            const seen = element.getRootNode().elementFromPoint(x, y)
            return box.top >= 0 && box.bottom <= innerHeight && box.left >= 0
                && box.right <= innerWidth && element.contains(seen)
        }"""
        )
    )


@pytest.fixture(scope="module")
def screens(server, browser):
    """A desk whose windows change their size, and a phone, which has the sidebar closed."""
    with pages_of(browser) as opener:
        yield {
            is_phone: opener(server, width=390 if is_phone else 1440) for is_phone in (False, True)
        }


@pytest.mark.parametrize("size", [(1440, 900), (1366, 768), (1024, 768), (390, 844)])
def test_slider_answer_curve_and_pictures_are_in_view_together(screens, size):
    width, height = size
    page, watched = screens[width < 640]
    page.set_viewport_size({"width": width, "height": height})
    page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, 0)")
    settle(page)
    page.locator(CURVE).wait_for()
    for what in (SLIDER, NUMBER, MEANING):
        assert is_in_view(page, what), what
    assert "Pure chance would keep 21\u00a0%, no noise at all 100\u00a0%." in (
        page.locator(MEANING).inner_text()
    )
    # On a phone exact and private strips; the curve is under them.
    assert is_in_view(page, STRIPS, 0) and is_in_view(page, STRIPS, 1)
    assert width < 640 or is_in_view(page, CURVE)
    page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, 700)")
    page.wait_for_timeout(200)
    assert is_in_view(page, SLIDER) and not is_in_view(page, NUMBER)
    watched.assert_quiet()
