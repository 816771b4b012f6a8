"""What holds for every page, whoever wrote it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pages.shell.navigation import PAGES, WEBSITE, page_of
from tests.browser.conftest import pages_of, settle
from tests.browser.reachable import faults, unseen

# As the browser's own back button does, which loads nothing again.
GO_THERE = """path => {
    history.pushState({}, '', path)
    dispatchEvent(new PopStateEvent('popstate'))
}"""
# What every button says that reaches beyond a part of the page that hides what is beyond it.
CUT_OFF = """() => [...document.querySelectorAll('[data-testid=stMain] button')].filter(button => {
    const right = button.getBoundingClientRect().right
    for (let at = button.parentElement; at; at = at.parentElement)
        if (getComputedStyle(at).overflowX != 'visible'
                && right > at.getBoundingClientRect().right + 2) return true
    return false
}).map(button => button.innerText)"""

LEVELS = """() => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')]
    .filter(heading => heading.checkVisibility()).map(heading => +heading.tagName[1])"""


# What fills in looks as it does with more draws, each of which draws the charts again; and so do
# the pages on data that are quickly computed.
FEW = "dataset=digits&repetitions=2&class_draws=2&audit_trials_flawed=1000&plan_protocol=dpdis"


def go(page, address: str) -> None:
    page.evaluate(GO_THERE, address)
    settle(page)


each_page = pytest.mark.parametrize("place", PAGES.values(), ids=lambda place: place.name)


@pytest.fixture(scope="module")
def desk(server, browser):
    """Loading all of Streamlit again for every page takes longer than all that is looked at."""
    with pages_of(browser) as opener:
        yield opener(f"{server}/stories")


def test_the_bar_on_top_links_eleven_pages_and_an_old_address_leads_on(desk):
    page, watched = desk
    linked = [each.inner_text() for each in page.get_by_test_id("stTopNavLink").all()]
    for menu in page.get_by_test_id("stTopNavSection").all():
        menu.click()
        linked += [each.inner_text() for each in page.get_by_test_id("stTopNavDropdownLink").all()]
        page.keyboard.press("Escape")
    assert sorted(linked) == sorted(each.title for each in WEBSITE)
    go(page, "/start?epsilon=2")
    assert page.get_by_role("heading", level=1).text_content() == "Stories"
    assert page.url.endswith("?epsilon=2")
    watched.assert_quiet()


@each_page
def test_is_quiet_with_every_picture_described(place, desk):
    page, watched = desk
    go(page, f"/{place.address}?{FEW}")
    assert page.get_by_role("heading", level=1).text_content() == page_of(place).title
    assert page.locator("[data-testid=stException]").count() == 0
    assert page.get_by_test_id("stTopNavLink").first.is_visible()
    images = page.locator("[data-testid=stImage] img")
    assert all(images.nth(index).get_attribute("alt") for index in range(images.count()))
    assert page.evaluate(CUT_OFF) == []
    # One title, below what stays on top, and no level of headings left out.
    levels = page.evaluate(LEVELS)
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    header = page.locator("[data-testid=stHeader]").bounding_box()
    title = page.get_by_role("heading", level=1).bounding_box()
    assert title["y"] >= header["y"] + header["height"] - 1
    # Every chart has its table below it.
    assert page.locator(".figure-tools").count() == page.locator(".stPlotlyChart, .drawing").count()
    assert faults(page) == []
    assert unseen(page) == []
    watched.assert_quiet()


@pytest.fixture(scope="module")
def phone(server, browser):
    with pages_of(browser) as opener:
        yield opener(f"{server}/stories", width=390, dark=True)


@each_page
def test_fits_a_phone_in_the_dark(place, phone):
    page, watched = phone
    go(page, f"/{place.address}?{FEW}")
    assert page.get_by_role("heading", level=1).text_content() == page_of(place).title
    assert page.locator("[data-testid=stException]").count() == 0
    wider = page.evaluate(
        "() => document.querySelector('[data-testid=stMain]').scrollWidth - window.innerWidth"
    )
    assert wider <= 0
    background = page.evaluate(
        "() => getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    )
    assert max(int(part) for part in background.strip("rgb()").split(",")) < 60
    assert faults(page) == []
    watched.assert_quiet()


def _saved(page, button) -> Path:
    with page.expect_download() as download:
        button.click()
    return Path(download.value.path())


def test_a_chart_is_taken_away_as_a_table_and_as_pictures_with_its_guarantee(phone):
    page, watched = phone
    go(page, f"/promise?epsilon=2&{FEW}")
    tools = page.locator(".figure-tools").first
    tools.get_by_text("As a table").press("Enter")
    plotted = page.locator(".js-plotly-plot").first.evaluate(
        "plot => plot._fullData.flatMap(trace => [...trace.x]).length"
    )
    assert 0 < tools.locator("tr").count() - 1 <= plotted
    drawn = ElementTree.parse(_saved(page, tools.get_by_role("button", name="SVG"))).getroot()
    assert drawn.get("viewBox") == "0 0 1600 900"
    said = " ".join(drawn.itertext())
    assert "ε (smaller is more private): 2" in said and "taken alone" in said
    assert page.locator(".stPlotlyChart").first.get_attribute("aria-label") in said
    png = _saved(page, tools.get_by_role("button", name="PNG")).read_bytes()
    assert png.startswith(b"\x89PNG")
    assert [int.from_bytes(png[at : at + 4], "big") for at in (16, 20)] == [1600, 900]
    watched.assert_quiet()


def test_paper_has_the_whole_page_and_nothing_to_press(phone):
    page, _ = phone
    assert page.pdf().count(b"/Type /Page\n") > 1
    page.emulate_media(media="print")
    for part in ("stSidebar", "stHeader", "stTopNavLink", "stBaseButton-secondary"):
        assert not any(each.is_visible() for each in page.get_by_test_id(part).all()), part
    split = "figure => getComputedStyle(figure).breakInside"
    assert page.locator(".stPlotlyChart").first.evaluate(split) == "avoid"
    page.emulate_media(media="screen")
