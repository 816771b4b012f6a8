"""Explore: what the first screen contains, dragging without the server, one state of ε."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from dpcore.experiments.engine.summaries import percent
from tests.browser.conftest import ROOT, Watched, pages_of, settle
from tests.browser.first_screen import (
    LARGEST_SHIFT,
    MAX_SHIFT,
    assert_first_screen_is_short,
    assert_phone_has_a_named_menu,
)

SLIDER = ".curve input[type=range]"
CONTROLS = ("dataset", "algorithm", "epsilon", "delta", "sites", "intermediate")
IN_VIEW = """element => {
    const box = element.getBoundingClientRect()
    return box.width > 0 && box.top >= 0 && box.bottom <= innerHeight
        && box.left >= 0 && box.right <= innerWidth
}"""
COUNT_SENT = """() => {
    const send = WebSocket.prototype.send
    window.sent = 0
    WebSocket.prototype.send = function (...data) { window.sent += 1; send.apply(this, data) }
}"""


def are_in_view(page, selector: str) -> list[bool]:
    return [element.evaluate(IN_VIEW) for element in page.locator(selector).all()]


def values_shown(page) -> tuple[str, str, str, str, str]:
    """Return ε, the headline, the marker, a rebuilt row and a private component as shown."""
    return (
        page.locator(".control output").inner_text(),
        page.locator("h1 .number").inner_text(),
        page.locator(".now > path").first.get_attribute("d"),
        page.locator(".rows .private canvas").nth(2).evaluate("canvas => canvas.toDataURL()"),
        page.locator(".components .private canvas").nth(3).evaluate("c => c.toDataURL()"),
    )


class Screen(NamedTuple):
    """A page at one size of the window, and how far it moved while it opened."""

    page: object
    watched: Watched
    shift: float


@pytest.fixture(scope="module")
def screens(server, browser):
    """Return pages at several sizes of the window, light and dark."""
    with pages_of(browser) as opener:
        # The same settings as in test_first_screens.py, so that one server computes the curve once.
        address = f"{server}/?repetitions=2&seed=97"

        def screen(width: int, height: int, *, dark: bool) -> Screen:
            page, watched = opener(address, width=width, height=height, dark=dark, new_tab=True)
            return Screen(page, watched, page.evaluate(LARGEST_SHIFT))

        yield {
            1440: screen(1440, 900, dark=False),
            1366: screen(1366, 768, dark=True),
            390: screen(390, 844, dark=False),
        }


@pytest.mark.parametrize("width", [1440, 390])
def test_the_page_does_not_move_while_it_opens(screens, width):
    assert screens[width].shift <= MAX_SHIFT


def test_the_first_screen_is_short_and_a_phone_has_a_named_menu(screens):
    assert_first_screen_is_short(screens[1440].page)
    assert_phone_has_a_named_menu(screens[390].page)


@pytest.mark.parametrize("width", [1440, 1366])
def test_the_first_screen_contains_what_was_ordered(screens, width):
    page, watched, _ = screens[width]
    for name in CONTROLS:
        assert are_in_view(page, f".stSidebar .st-key-{name}") == [True], name
    tops = [page.locator(f".stSidebar .st-key-{name}").bounding_box()["y"] for name in CONTROLS]
    assert tops == sorted(tops)
    for block in ("rows", "components"):
        for kind in ("exact", "private"):
            assert are_in_view(page, f".{block} .{kind} canvas") == [True] * 10
            box = page.locator(f".{block} .{kind} canvas").first.bounding_box()
            assert min(box["width"], box["height"]) >= 48
    assert are_in_view(page, ".components .foot span") == [True] * 10
    for selector in ("h1", ".context", ".curve > svg", SLIDER, ".floor-line", ".exact-line"):
        assert all(are_in_view(page, selector)), selector
    assert "captured energy at ε" in page.locator("h1").inner_text()
    assert "Random directions" in page.locator(".context").inner_text()
    assert "improved" in page.locator("h1 .other").inner_text()
    assert all(are_in_view(page, ".st-key-axis input"))
    switch = page.locator(".st-key-version_switch")
    assert switch.inner_text().split() == ["As", "published", "Improved"]
    assert all(are_in_view(page, ".st-key-version_switch"))
    assert not switch.locator("input").is_checked()
    tops = [
        page.locator(selector).bounding_box()["y"] for selector in (".st-key-version_switch", "h1")
    ]
    assert 0 <= tops[1] - tops[0] < 60
    watched.assert_quiet()


def test_pictures_are_drawn_and_differ_from_each_other(screens):
    page = screens[1366].page
    drawn = page.locator(".tiles canvas").evaluate_all("all => all.map(c => c.toDataURL())")
    assert len(set(drawn)) == 40


def test_a_narrow_screen_has_the_controls_under_the_figure_with_epsilon_first(screens):
    page, watched, _ = screens[390]
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    keys = [f".stMain .st-key-compact_{name}" for name in CONTROLS]
    tops = {key: page.locator(key).bounding_box()["y"] for key in keys}
    assert min(tops, key=tops.__getitem__).endswith("epsilon")
    curve = page.locator(".curve > svg").bounding_box()
    assert min(tops.values()) > curve["y"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    watched.assert_quiet()


def test_epsilon_is_among_the_first_stops_of_the_keyboard_in_the_page(screens):
    page = screens[1440].page
    slider = page.get_by_role("slider", name="Privacy parameter ε")
    slider.focus()
    assert slider.evaluate("element => element.getRootNode().activeElement === element")


@pytest.fixture(scope="module")
def opened(server, browser):
    """Return one page, whose ε and version a test may leave changed."""
    with pages_of(browser) as opener:
        page, watched = opener(f"{server}/?dataset=digits&repetitions=2&seed=97")
        page.evaluate(COUNT_SENT)
        yield page
        watched.assert_quiet()


@pytest.fixture
def explore(opened):
    """Return the settled page, which counts the messages that it sends from now on."""
    settle(opened)
    # The last poll of a job is over.
    opened.wait_for_function("performance.now() - globalThis.sentAt > 1500")
    opened.evaluate("window.sent = 0")
    return opened


def test_everything_follows_the_dragged_line_without_the_server(explore):
    page = explore
    box = page.locator(SLIDER).bounding_box()
    y = box["y"] + box["height"] / 2

    def at(step: int) -> float:
        return box["x"] + 22 + (box["width"] - 44) * step / 14

    page.mouse.move(at(9), y)
    page.mouse.down()
    before = values_shown(page)
    # At smaller ε the captured energy is the floor, which is the same at neighbouring steps.
    for step in (8, 6, 10, 12):
        page.mouse.move(at(step), y)
        for _ in range(100):
            now = values_shown(page)
            if all(map(str.__ne__, now, before)):
                break
            page.wait_for_timeout(10)
        assert all(map(str.__ne__, now, before))
        before = now
    assert page.evaluate("window.sent") == 0
    page.mouse.up()
    settle(page)
    # The server returns what the browser showed, and the sidebar has the same ε.
    assert "epsilon=10" in page.url
    assert values_shown(page)[:2] == before[:2]
    assert "10" in page.locator(".stSidebar .st-key-epsilon").inner_text()


def test_arrow_keys_move_the_line_and_release_it_once(explore):
    page = explore
    slider = page.get_by_role("slider", name="Privacy parameter ε")
    slider.focus()
    page.keyboard.press("End")  # Sends nothing if another test has left the line there.
    settle(page)
    page.wait_for_function("performance.now() - globalThis.sentAt > 1500")
    page.evaluate("window.sent = 0")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext").startswith("ε = 5: ")
    page.wait_for_function("window.sent > 0")
    settle(page)
    assert page.evaluate("window.sent") == 1
    assert "epsilon=5" in page.url


def test_animate_stops_where_reading_ends_and_comes_back(opened):
    page = opened
    page.locator(SLIDER).focus()
    page.keyboard.press("End")  # At a small ε nothing can be read, so that nothing is animated.
    settle(page)
    before = page.locator(".control output").inner_text()
    page.get_by_role("button", name="Animate").click()
    page.get_by_role("button", name="Stop").wait_for()
    page.get_by_role("button", name="Animate").wait_for()
    assert page.locator(".control output").inner_text() == before


def test_a_deep_link_and_six_actions_open_the_ordered_view(server, open_page):
    """The numbers of the view are those of the command line."""
    page, watched = open_page(f"{server}/?dataset=digits&epsilon=0.5&sites=3&repetitions=1")
    assert page.locator(".control output").inner_text() == "0.5"
    assert "3" in page.locator(".stSidebar .st-key-sites").inner_text()
    watched.assert_quiet()
    page, watched = open_page(f"{server}/?repetitions=3", until_full=False)

    def choose(name: str, option: str) -> None:
        page.locator(f".stSidebar .st-key-{name} input").click()
        page.get_by_role("option", name=option, exact=True).click()
        settle(page, until_full=False)

    def move(name: str, value: str) -> None:
        """Move a slider to a value with the arrow keys, without a pause."""
        control = page.locator(f".stSidebar .st-key-{name}")
        slider = control.get_by_role("slider")
        slider.focus()
        for _ in range(70):
            shown = slider.get_attribute("aria-valuetext") or slider.get_attribute("aria-valuenow")
            if shown == value:
                break
            is_above = float(shown or 0) > float(value)
            page.keyboard.press("ArrowLeft" if is_above else "ArrowRight")
        assert shown == value
        settle(page, until_full=False)

    choose("dataset", "Digits 8 × 8")
    choose("algorithm", "DPdisPCA")
    move("epsilon", "0.5")
    move("delta", "0.00001")
    move("sites", "10")
    move("intermediate", "20")
    runs = page.locator(".context .range", has_text="3 runs")
    runs.wait_for()
    command = [sys.executable, "-m", "dpcore", "run", "--dataset", "digits", "--protocol", "dpdis"]
    command += ["--epsilon", "0.5", "--delta", "1e-5", "--sites", "10", "--intermediate-dim", "20"]
    command += ["--repetitions", "3", "--version", "published", "--json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    energies = [row["energy_ratio"] for row in json.loads(answer.stdout)["rows"]]
    assert len(energies) == 3
    headline = page.locator("h1 .number").inner_text()
    assert headline == percent(sum(energies) / len(energies))
    text = runs.inner_text()
    assert f"3 runs, {percent(min(energies))} to {percent(max(energies))}." in text
    watched.assert_quiet()


def test_the_axis_changes_in_place_and_its_line_sets_the_sidebar(server, open_page):
    """Earlier the picker opened another page without pictures."""
    page, watched = open_page(f"{server}/?dataset=digits&repetitions=1&seed=97")
    page.locator(".stMain .st-key-axis input").click()
    page.get_by_role("option", name="Axis: S", exact=True).click()
    page.locator("h1 .where", has_text="S\u00a0=\u00a05").wait_for()
    settle(page)
    page.locator(SLIDER).focus()
    page.keyboard.press("ArrowRight")
    page.locator("h1 .where", has_text="S\u00a0=\u00a010").wait_for()
    page.wait_for_url("**sites=10**")
    settle(page)
    assert "10" in page.locator(".stSidebar .st-key-sites").inner_text()
    assert "axis=sites" in page.url
    assert page.locator(".components .private canvas").count() == 10
    watched.assert_quiet()


def test_the_switch_exchanges_both_curves_and_is_in_the_address(explore):
    page = explore
    published = page.locator("h1 .number").inner_text()
    page.locator(".st-key-version_switch label").click()
    page.locator("h1 .other", has_text="published").wait_for()
    settle(page)
    assert "version=improved" in page.url
    assert page.locator("h1 .other").inner_text().endswith(published)
    assert page.locator("[data-line='dpdis published']").count() == 1
    page.locator(".st-key-version_switch label").click()
    page.locator("h1 .other", has_text="improved").wait_for()
    settle(page)
    assert page.locator("h1 .number").inner_text() == published


def test_every_value_is_read_by_mouse_and_keyboard_and_a_name_hides_its_line(explore):
    """Earlier the curve had no values and no menu."""
    page = explore
    box = page.locator(SLIDER).bounding_box()
    page.mouse.move(box["x"] + 22 + (box["width"] - 44) * 12 / 14, box["y"] + box["height"] / 2)
    values = page.locator(".values")
    names = ["Pooled, trusted", "DPdisPCA", "One site alone", "DPdisPCA, improved"]
    assert values.locator("tr").count() == 5
    assert "ε\u00a0=\u00a010" in values.inner_text()
    assert sorted(values.locator("tr:not(:first-child) th").all_inner_texts()) == sorted(names)
    page.mouse.move(0, 0)
    assert not values.is_visible()
    page.locator(SLIDER).focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert "ε\u00a0=\u00a00.002" in values.inner_text()
    page.locator(".line-names [role=button]", has_text="One site alone").click()
    assert page.locator("[data-line=local]").count() == 0
    page.locator(SLIDER).focus()
    page.keyboard.press("ArrowRight")
    assert "One site alone" not in values.inner_text()
    page.locator(".line-names [role=button]", has_text="One site alone").press("Enter")
    assert page.locator("[data-line=local]").count() == 1


def test_the_figure_is_saved_as_png_svg_and_csv(opened):
    page = opened
    page.locator(".curve").hover()
    saved = {}
    for kind in ("png", "svg", "csv"):
        with page.expect_download() as download:
            page.get_by_label("Save the figure").select_option(kind)
        assert download.value.suggested_filename == f"captured-energy-digits-epsilon.{kind}"
        saved[kind] = Path(download.value.path()).read_bytes()
    assert saved["png"].startswith(b"\x89PNG")
    assert saved["svg"].count(b"<path") > 20
    (title,) = re.findall(r">([^<]*captured energy[^<]*)<", saved["svg"].decode())
    assert title.startswith("Digits")
    rows = list(csv.DictReader(saved["csv"].decode().splitlines()))
    assert len(rows) == 15 * 4 and {row["runs"] for row in rows} == {"2"}


def test_first_steps_are_dismissed_for_good(server, open_page):
    page, _ = open_page(f"{server}/?dataset=digits&repetitions=1&seed=97")
    bubble = page.locator(".first-step")
    for number in (1, 2, 3):
        assert bubble.inner_text().startswith(f"{number}/3")
        bubble.click()
    assert not bubble.is_visible()
    page.reload()
    settle(page)
    assert not bubble.is_visible()


def test_pictures_curve_and_epsilon_are_on_one_screen_of_a_phone_and_epsilon_stays(screens):
    page = screens[390].page
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 0)")
    assert are_in_view(page, ".rows .private canvas") == [True] * 10
    assert are_in_view(page, ".components .foot span") == [True] * 10
    for selector in ("h1", ".curve > svg", ".stMain .st-key-compact_epsilon"):
        assert all(are_in_view(page, selector)), selector
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 1500)")
    assert all(are_in_view(page, ".stMain .st-key-compact_epsilon"))


def test_bars_of_a_table_have_names_of_columns_and_labels_of_rows(server, open_page):
    """Earlier the rows of a table were ten barcodes without a name."""
    page, watched = open_page(f"{server}/?dataset=breast-cancer&repetitions=1", height=900)
    names = page.locator(".rows .exact .names span")
    assert names.count() == 8 and "worst radius" in names.all_inner_texts()
    bars = page.locator(".rows .exact canvas")
    top, height = (bars.first.bounding_box()[key] for key in ("y", "height"))
    for number, name in enumerate(names.all()):
        box = name.bounding_box()
        middle = top + height * (number + 0.5) / names.count()
        assert box["width"] > 0 and box["y"] <= middle <= box["y"] + box["height"]
    assert page.locator(".components .private .names span").all_inner_texts() == (
        names.all_inner_texts()
    )
    labels = page.locator(".rows .foot > span")
    assert labels.all_inner_texts() == ["malignant"] * 2 + ["benign"] * 2
    assert are_in_view(page, ".rows .foot > span") == [True] * bars.count()
    watched.assert_quiet()


# Distances of both ends of each name from the line of ε.
DISTANCES = """curve => {
    const line = curve.querySelector(".now > path").getBoundingClientRect().x
    return [...curve.querySelectorAll("text.reference")].map((name) => {
        const { left, right } = name.getBoundingClientRect()
        return [left - line, right - line]
    })
}"""


def test_the_line_of_epsilon_crosses_no_name_of_a_level(server, open_page):
    page, _ = open_page(f"{server}/?dataset=digits&repetitions=2&seed=97", width=1366, height=768)
    curve = page.locator(".curve > svg")
    keys = ("Home", "0.001"), ("End", "50"), *(("ArrowLeft", text) for text in ("20", "10", "5"))
    for width in (1366, 390):
        page.set_viewport_size({"width": width, "height": 768})
        settle(page)
        assert curve.bounding_box()["width"] < width
        page.get_by_role("slider", name="Privacy parameter ε").focus()
        for key, epsilon in keys:
            page.keyboard.press(key)
            page.locator(".control output").get_by_text(epsilon, exact=True).wait_for()
            distances = page.locator(".curve").evaluate(DISTANCES)
            assert distances and all(left > 1 or right < -1 for left, right in distances), epsilon
