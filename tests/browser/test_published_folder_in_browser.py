"""The folder opened from a disk with the network off: slider, keyboard, phone, dark, axe."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from dpcore.experiments.published_folder import Grid, publish


@pytest.fixture(scope="module")
def first_page(tmp_path_factory) -> str:
    grid = Grid(datasets=("digits",), repetitions=2)
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
    ("width", "height", "dark"), [(1920, 1080, False), (1440, 900, True), (390, 844, False)]
)
def test_it_answers_from_a_disk_and_is_clean(first_page, open_offline, width, height, dark):
    page = open_offline(first_page, width, height, dark=dark)
    for name in ("#people", "#number", "#epsilon"):
        box = page.locator(name).bounding_box()
        assert box["y"] + box["height"] <= height, name
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.faults == []  # axe itself asks for the style sheet, which a disk does not give
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
    page.get_by_text("Where this number comes from").click()
    assert "--sites 10" in page.locator("#command").inner_text()
    page.get_by_role("heading", name="2. A common choice").click()
    assert page.locator("#value").inner_text() == "ε = 1"
    assert page.locator("#number").inner_text() == before
    assert page.faults == []
