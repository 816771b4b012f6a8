"""Figures in the browser: typeface, place on the first screen, and labels on a phone."""

from __future__ import annotations

import pytest

BOXES = """texts => texts.map(text => {
    const { left, right, top, bottom } = text.getBoundingClientRect()
    return [left, right, top, bottom]
})"""
# Text in an SVG that is an image cannot use a typeface of the page.
IMAGES_WITH_TEXT = """async () => {
    const images = [...document.images].filter(image => image.src.includes("svg"))
    const sources = await Promise.all(images.map(async image => (await fetch(image.src)).text()))
    return sources.filter(source => source.includes("<text")).length
}"""


def test_the_needle_has_the_typeface_of_the_page(server, open_page):
    page, watched = open_page(f"{server}/audit")
    typeface = page.locator("h1").evaluate("h1 => getComputedStyle(h1).fontFamily")
    texts = page.locator(".st-key-audit_needle svg text")
    assert texts.count() == 4
    assert set(texts.evaluate_all("all => all.map(t => getComputedStyle(t).fontFamily)")) == {
        typeface
    }
    assert page.evaluate(IMAGES_WITH_TEXT) == 0
    watched.assert_quiet()


@pytest.mark.parametrize(
    "address",
    [
        "classification?dataset=breast-cancer&class_draws=1",
        "release",
    ],
)
def test_the_first_figure_is_whole_on_a_small_laptop(server, open_page, address):
    page, _ = open_page(f"{server}/{address}", width=1366, height=768)
    box = page.locator(".js-plotly-plot").first.bounding_box()
    assert box["y"] + box["height"] <= 768


def test_titles_of_panels_do_not_overlap_on_a_phone(server, open_page):
    # The chosen panel below has no data here, so that only the overview is drawn.
    address = f"{server}/papers?papers_figure=2012-fig1-census"
    page, _ = open_page(address, width=390, height=844)
    figure = page.locator(".st-key-papers_overview")
    boxes = figure.locator(".annotation-text, .legendtext").evaluate_all(BOXES)
    assert len(boxes) == 19
    for i, (left, right, top, bottom) in enumerate(boxes):
        assert 0 <= left and right <= 390
        for other in boxes[:i]:
            is_beside = right <= other[0] or left >= other[1]
            is_apart = bottom <= other[2] or top >= other[3]
            assert is_beside or is_apart


FIRST_LABEL = """([...document.querySelectorAll(".stPlotlyChart .xtick text")]
    .map(label => getComputedStyle(label).fill)[0])"""


def test_figures_follow_a_switch_of_the_theme_and_have_no_toolbar_on_a_phone(server, open_page):
    page, watched = open_page(
        f"{server}/classification?dataset=breast-cancer&class_draws=1", width=390
    )
    assert page.evaluate(FIRST_LABEL) == "rgb(26, 26, 26)"
    assert not any(bar.is_visible() for bar in page.locator(".modebar-container").all())
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"{FIRST_LABEL} === 'rgb(242, 242, 242)'")
    watched.assert_quiet()


# Distances of both ends of each name from the line of ε.
DISTANCES = """curve => {
    const line = curve.querySelector(".now > path").getBoundingClientRect().x
    return [...curve.querySelectorAll("text.reference")].map((name) => {
        const { left, right } = name.getBoundingClientRect()
        return [left - line, right - line]
    })
}"""


@pytest.mark.parametrize("width", [1366, 390])
def test_the_line_of_epsilon_crosses_no_name_of_a_level(server, open_page, width):
    address = f"{server}/?dataset=digits&repetitions=1&epsilon=5"
    page, _ = open_page(address, width=width, height=768)
    page.get_by_role("slider", name="Privacy parameter ε").focus()
    for key, epsilon in (("", "5"), ("Home", "0.001"), ("End", "50")):
        if key:
            page.keyboard.press(key)
        page.locator(".control output").get_by_text(epsilon, exact=True).wait_for()
        distances = page.locator(".curve").evaluate(DISTANCES)
        assert distances and all(left > 1 or right < -1 for left, right in distances), epsilon
