"""What holds for every page, whoever wrote it."""

from __future__ import annotations

import pytest

from pages.sidebar.navigation import PAGES

NAMES = [place.address for place in PAGES.values()]
# What every button says that reaches beyond a part of the page that hides what is beyond it.
CUT_OFF = """() => [...document.querySelectorAll('[data-testid=stMain] button')].filter(button => {
    const right = button.getBoundingClientRect().right
    for (let at = button.parentElement; at; at = at.parentElement)
        if (getComputedStyle(at).overflowX != 'visible'
                && right > at.getBoundingClientRect().right + 2) return true
    return false
}).map(button => button.innerText)"""


@pytest.mark.parametrize("name", NAMES)
def test_opens_quietly_with_every_picture_described(name, server, open_page):
    page, watched = open_page(f"{server}/{name}")
    assert page.locator("[data-testid=stException]").count() == 0
    assert page.get_by_role("link", name="Start here").is_visible()
    images = page.locator("[data-testid=stImage] img")
    assert all(images.nth(index).get_attribute("alt") for index in range(images.count()))
    assert page.evaluate(CUT_OFF) == []
    watched.assert_quiet()


@pytest.mark.parametrize("name", NAMES)
def test_fits_a_phone_in_the_dark(name, server, open_page):
    page, watched = open_page(f"{server}/{name}", width=390, dark=True)
    assert page.locator("[data-testid=stException]").count() == 0
    wider = page.evaluate(
        "() => document.querySelector('[data-testid=stMain]').scrollWidth - window.innerWidth"
    )
    assert wider <= 0
    background = page.evaluate(
        "() => getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    )
    assert max(int(part) for part in background.strip("rgb()").split(",")) < 60
    watched.assert_quiet()
