"""The published folder in a browser, opened from a disk with the network off."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from dpcore.experiments.publish.folder import PublishedGrid, publish


@pytest.fixture(scope="module")
def first_page(tmp_path_factory) -> str:
    grid = PublishedGrid(datasets=("digits",), components=(5, 10), repetitions=2)
    return publish(tmp_path_factory.mktemp("site"), grid, progress=lambda _: None).as_uri()


@pytest.fixture
def open_offline(browser):
    contexts = []

    def open_(address: str, width: int, height: int, *, dark: bool = False):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            offline=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.faults = []
        page.on("console", lambda m: m.type == "error" and page.faults.append(m.text))
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on(
            "request",
            lambda r: not r.url.startswith(("file:", "data:")) and page.faults.append(r.url),
        )
        page.goto(address)
        page.wait_for_function("document.getElementById('number').textContent.includes('%')")
        return page

    yield open_
    for context in contexts:
        context.close()


@pytest.mark.parametrize(
    ("width", "height", "dark"),
    [(1920, 1080, False), (1440, 900, True), (390, 844, False), (390, 844, True)],
)
def test_it_answers_from_a_disk_and_is_clean(first_page, open_offline, width, height, dark):
    page = open_offline(first_page, width, height, dark=dark)
    for name in ("#people", "#number", "#epsilon"):
        box = page.locator(name).bounding_box()
        assert box["y"] + box["height"] <= height, name
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.faults == []  # axe requests the style sheet, which Chromium refuses for file:
    assert Axe().run(page).response["violations"] == []


def test_slider_pickers_and_article_move_the_figure(first_page, open_offline):
    page = open_offline(first_page, 1440, 900)
    before = page.locator("#number").inner_text()
    page.locator("#epsilon").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    assert page.locator("#value").inner_text() == "ε = 0.05"
    assert page.locator("#number").inner_text() != before
    page.locator("#sites").select_option("10")
    page.locator("#components").select_option("5")
    page.get_by_text("Where this number comes from").click()
    assert "--sites 10 --components 5" in page.locator("#command").inner_text()
    page.get_by_role("heading", name="A common choice").click()
    assert page.locator("#value").inner_text() == "ε = 1"
    assert page.locator("#number").inner_text() == before
    assert page.faults == []


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_figure_follows_the_section_next_to_it(first_page, open_offline, width, height):
    page = open_offline(first_page, width, height)
    section = page.locator("article section.told")
    for name in ("Only one site", "Add up in secret"):
        page.get_by_role("heading", name=name).scroll_into_view_if_needed()
        place = page.get_by_role("heading", name=name).bounding_box()["y"]
        page.evaluate(f"scrollBy(0, {place - (0.6 if width <= 896 else 0.45) * height})")
        page.wait_for_function(
            "(name) => document.querySelector('article section.told h3')?.textContent === name",
            arg=name,
        )
        assert page.locator("#number").inner_text() == section.locator("[data-said]").inner_text()
        box, heading = page.locator("#shown").bounding_box(), section.locator("h3").bounding_box()
        assert box["y"] >= 0
        assert width > 896 or box["y"] + box["height"] <= heading["y"]
    assert page.faults == []


def test_original_rows_replace_the_rebuilt_ones(first_page, open_offline):
    page = open_offline(first_page, 1440, 900)
    assert "rebuilt" in page.locator("#people").get_attribute("aria-label")
    page.get_by_label("As they are").check()
    assert "as they are" in page.locator("#people").get_attribute("aria-label")


def test_it_prints_the_figure_and_the_whole_article(first_page, open_offline):
    page = open_offline(first_page, 1440, 900)
    page.emulate_media(media="print")
    for name in ("#people", "#number", "#curve", "article"):
        assert page.locator(name).is_visible()
    assert not page.locator("#epsilon").is_visible()
    assert page.locator("#shown").evaluate("(it) => getComputedStyle(it).position") == "static"
