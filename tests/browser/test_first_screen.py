"""What the software is for is one screen: move epsilon, and see, without scrolling."""

from __future__ import annotations

import pytest

from tests.browser.conftest import pages_of, settle

SLIDER, EPSILON, NUMBER = ".control input", ".control label", ".number"
MEANING, CURVE, PEOPLE = ".kept", ".curve svg[role=img]", ".people canvas"


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
            is_phone: opener(server, width=390 if is_phone else 1440, until_full=False)
            for is_phone in (False, True)
        }


@pytest.mark.parametrize("size", [(1440, 900), (1366, 768), (1024, 768), (390, 844)])
def test_people_epsilon_number_and_curve_are_in_view_together(screens, size):
    width, height = size
    page, watched = screens[width < 640]
    page.set_viewport_size({"width": width, "height": height})
    page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, 0)")
    settle(page, until_full=False)
    page.locator(CURVE).wait_for()
    for what in (PEOPLE, NUMBER, MEANING, SLIDER):
        assert is_in_view(page, what), what
    # The slider lies on the curve, and what says its epsilon is hidden by nothing.
    slider, curve, said = (page.locator(x).bounding_box() for x in (SLIDER, CURVE, EPSILON))
    assert curve["x"] <= slider["x"] and slider["y"] + slider["height"] <= height
    assert said["y"] + said["height"] <= curve["y"] + curve["height"] <= height
    assert (
        page.locator(MEANING)
        .inner_text()
        .endswith(
            "of the pattern survives. A random guess would get 14\u00a0%, "
            "no privacy at all 100\u00a0%."
        )
    )
    # As wide as the page.
    people = page.locator(PEOPLE).bounding_box()
    assert people["width"] > 0.9 * width
    watched.assert_quiet()


def test_epsilon_is_among_the_first_five_stops_of_the_keyboard(screens):
    page, _ = screens[False]
    page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, 0)")
    page.evaluate("document.activeElement.blur()")
    stops = []
    for _ in range(5):
        page.keyboard.press("Tab")
        stops.append(
            page.evaluate("""() => {
            let at = document.activeElement
            while (at.shadowRoot) at = at.shadowRoot.activeElement
            return at.type
        }""")
        )
    assert "range" in stops, stops


def test_nothing_moves_while_the_page_loads(server, browser):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script("""
        globalThis.shifted = 0
        new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) if (!entry.hadRecentInput) shifted += entry.value
        }).observe({ type: "layout-shift", buffered: true })
    """)
    page = context.new_page()
    page.goto(f"{server}/?repetitions=2&seed=97")
    page.locator(".explorer:not(.empty)").wait_for()
    settle(page)
    assert page.evaluate("shifted") <= 0.1
    context.close()
