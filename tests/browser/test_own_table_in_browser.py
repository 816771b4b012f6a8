"""From a file on somebody's disk to a release that verifies, by hand."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from dpcore.releases.dictionary import parsed_dictionary
from dpcore.releases.verification import verify
from tests.browser.conftest import settle
from tests.browser.reachable import faults


def _cell(page, what: str, column: str):
    return page.get_by_role("textbox", name=f"{what} of {column}", exact=True)


def _limits_saved(page) -> dict[str, dict]:
    """What the dictionary says that the page saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a dictionary (TOML)").click()
    text = Path(download.value.path()).read_bytes()
    return parsed_dictionary(text, "dictionary.toml").as_dict()["columns"]


NAMES = ("one", "two", "three", "four", "five")
TYPED = {name: (f"{-10 - k}.5", f"{120 + k}.25") for k, name in enumerate(NAMES)}


def _bring(page, names=NAMES) -> None:
    content = "".join(
        f"{','.join(str((i + k) % 7) for k in range(len(names)))}\n" for i in range(60)
    )
    table = f"{','.join(names)}\n{content}".encode()
    handed = {"name": "people.csv", "mimeType": "text/csv", "buffer": table}
    page.locator("input[type=file]").first.set_input_files(handed)
    page.get_by_text(f"60 rows, {len(names)} columns").wait_for()


@pytest.mark.parametrize("delay", [15, 60, 150], ids="{}_ms_a_key".format)
def test_limits_stay_as_typed_however_fast(server, open_page, delay):
    """Of ten cells four were lost: every entry draws the page again, and the grid with it."""
    page, watched = open_page(f"{server}/own_data")
    _bring(page)
    _cell(page, "Lowest", "one").click()
    for texts in TYPED.values():
        for text in texts:
            page.keyboard.type(text, delay=delay)
            page.keyboard.press("Tab")
        for _ in ("middle", "levels"):
            page.keyboard.press("Tab")
    settle(page)
    found = _limits_saved(page)
    assert {n: (each["lower"], each["upper"]) for n, each in found.items()} == {
        name: (float(low), float(high)) for name, (low, high) in TYPED.items()
    }
    for name, texts in TYPED.items():
        shown = tuple(_cell(page, what, name).input_value() for what in ("Lowest", "Highest"))
        assert shown == texts
    # What is typed last counts, though the button is pressed at once.
    _cell(page, "Highest", "five").fill("300")
    page.get_by_role("button", name="Use it on every page").click()
    page.get_by_text("Every page now has").wait_for()
    assert _limits_saved(page)["five"]["upper"] == 300.0
    watched.assert_quiet()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_what_cannot_be_pressed_yet_can_be_read(server, open_page, dark):
    """The page's first button was white on white until all limits were typed."""
    page, _ = open_page(f"{server}/own_data", dark=dark)
    _bring(page)
    _cell(page, "Lowest", "one").wait_for()
    settle(page)
    assert page.get_by_role("button", name="Use it on every page").is_disabled()
    assert faults(page) == []


def test_limits_go_down_by_enter_and_come_from_a_spreadsheet_at_once(server, open_page):
    page, watched = open_page(f"{server}/own_data")
    _bring(page)
    _cell(page, "Lowest", "one").evaluate(
        """input => {
            const clipboardData = new DataTransfer()
            clipboardData.setData('text', '0\\t6\\n-1\\t7\\n')
            input.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }))
        }"""
    )
    _cell(page, "Lowest", "three").click()
    for number in "012":
        page.keyboard.type(number)
        page.keyboard.press("Enter")
    _cell(page, "Highest", "three").click()
    for number in ("9", "oops", "11"):
        page.keyboard.type(number)
        page.keyboard.press("Enter")
    page.get_by_text(
        "highest value of 'four' must be a number such as -12.5, got 'oops'"
    ).wait_for()
    _cell(page, "Highest", "four").fill("")
    _cell(page, "Lowest", "four").fill("")
    _cell(page, "Or levels", "four").fill('yes; no; "a;b"')
    page.keyboard.press("Enter")
    page.get_by_text("Not ready yet").wait_for(state="detached")
    settle(page)
    found = _limits_saved(page)
    assert [(found[n]["lower"], found[n]["upper"]) for n in NAMES if n != "four"] == [
        (0, 6), (-1, 7), (0, 9), (2, 11),
    ]  # fmt: skip
    assert found["four"] == {"levels": ["yes", "no", "a;b"]}
    assert faults(page) == []
    watched.assert_quiet()


def test_a_table_is_brought_looked_at_and_released(server, open_page, tmp_path):
    page, watched = open_page(f"{server}/own_data")
    _bring(page, ("one", "two"))
    for name, ends in {"one": ("0", "6"), "two": ("0", "4")}.items():
        for what, end in zip(("Lowest", "Highest"), ends, strict=True):
            _cell(page, what, name).fill(end)
    page.get_by_text("2 features, of people").wait_for()
    page.get_by_role("button", name="Use it on every page").click()
    page.get_by_text("Every page now has").wait_for()
    page.get_by_test_id("stMain").get_by_role("link", name="Playground").click()
    page.get_by_test_id("stSidebar").get_by_text("60 people × 2 features").wait_for()
    settle(page)
    assert "dataset=your-table" in page.url and "one" not in page.url
    page.go_back()
    page.get_by_test_id("stMain").get_by_role("link", name="Release it").last.click()
    page.get_by_role("button", name="Release …").click()
    page.get_by_role("button", name="Release now").click()
    page.get_by_text("verified").wait_for()
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Release (ZIP)").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(tmp_path)
    assert verify(tmp_path / "release-1").holds
    assert page.locator("[data-testid=stException]").count() == 0 and faults(page) == []
    watched.assert_quiet()
