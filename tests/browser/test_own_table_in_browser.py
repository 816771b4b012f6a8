"""Steps of a visitor from a file on disk to a release that verifies."""

from __future__ import annotations

import zipfile

from dpcore.release.verification import verify
from tests.browser.conftest import settle
from tests.browser.first_screen import assert_first_screen_is_short
from tests.browser.reachable import faults

NAMES = ("age", "one", "two", "three")
ROWS = "".join(f"{20 + i},{i % 7},{i % 5},{i % 3}\n" for i in range(60))
TABLE = {
    "name": "people.csv",
    "mimeType": "text/csv",
    "buffer": f"{','.join(NAMES)}\n{ROWS}".encode(),
}


def bring(page) -> None:
    page.locator("input[type=file]").first.set_input_files(TABLE)
    page.get_by_role("heading", name="How small and large").wait_for()
    settle(page)


def test_a_file_becomes_a_release_that_verifies(open_page, server, tmp_path):
    page, watched = open_page(f"{server}/own_table?repetitions=1", height=900)
    assert_first_screen_is_short(page)
    bring(page)
    type_limits_as_fast_as_a_keyboard_allows(page)
    page.get_by_role("button", name="Use these facts").click()
    page.get_by_role("heading", name="captured energy at ε = 1").wait_for()
    settle(page)
    assert faults(page) == []
    page.get_by_test_id("stMain").get_by_role("link", name="Release").last.click()
    page.get_by_role("heading", name="A release would have").wait_for()
    page.get_by_role("button", name="Release …").click()
    page.get_by_role("button", name="Release now").click()
    page.get_by_text("verified").wait_for()
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the release").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(tmp_path)
    assert verify(tmp_path / "release-1").holds
    assert page.locator("[data-testid=stException]").count() == 0
    assert watched.foreign == []


def type_limits_as_fast_as_a_keyboard_allows(page) -> None:
    lowest, highest = page.get_by_label("Lowest"), page.get_by_label("Highest")
    # The limits of "age" are offered from its name.
    assert (lowest.nth(0).input_value(), highest.nth(0).input_value()) == ("0", "120")
    lowest.nth(1).click()
    for number in range(1, len(NAMES)):
        page.keyboard.type("0")
        page.keyboard.press("Tab")
        page.keyboard.type(str(10 + number))
        page.keyboard.press("Tab")
    typed = [field.input_value() for field in (*lowest.all(), *highest.all())]
    assert typed == ["0", "0", "0", "0", "120", "11", "12", "13"]
