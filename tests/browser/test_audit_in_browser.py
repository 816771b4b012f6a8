"""One click attacks a published formula and breaks it, while the needle moves."""

from __future__ import annotations

from tests.browser.conftest import settle
from tests.browser.first_screen import (
    assert_first_screen_is_short,
    assert_text_on_the_primary_colour_can_be_read,
)

# Text in an SVG that is an image cannot use a typeface of the page.
IMAGES_WITH_TEXT = """async () => {
    const images = [...document.images].filter(image => image.src.includes("svg"))
    const sources = await Promise.all(images.map(async image => (await fetch(image.src)).text()))
    return sources.filter(source => source.includes("<text")).length
}"""


def test_the_attack_runs_by_itself_and_names_the_flaw_afterwards(server, open_page):
    page, watched = open_page(f"{server}/audit", height=900)
    assert_first_screen_is_short(page)
    assert_the_needle_has_the_typeface_of_the_page(page)
    assert_text_on_the_primary_colour_can_be_read(page, "[data-testid=stBaseButton-primary]")
    assert page.get_by_text("The flaw.").count() == 0
    page.get_by_role("button", name="Attack", exact=True).click()
    page.get_by_role("heading", level=1, name="Broken: the attack proves").wait_for()
    settle(page)
    assert page.get_by_text("The flaw.").count() == 1
    watched.assert_quiet()


def assert_the_needle_has_the_typeface_of_the_page(page) -> None:
    typeface = page.locator("h1").evaluate("h1 => getComputedStyle(h1).fontFamily")
    texts = page.locator(".st-key-audit_needle svg text")
    assert texts.count() == 4
    assert set(texts.evaluate_all("all => all.map(t => getComputedStyle(t).fontFamily)")) == {
        typeface
    }
    assert page.evaluate(IMAGES_WITH_TEXT) == 0
