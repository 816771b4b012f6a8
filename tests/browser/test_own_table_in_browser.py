"""From a file on somebody's disk to a release that verifies, by hand."""

from __future__ import annotations

import zipfile
from contextlib import suppress

from playwright import sync_api

from dpcore.release.verification import verify
from tests.browser.conftest import running_server, settle
from tests.browser.reachable import faults

ROWS = "".join(f"{i % 7},{i % 5}\n" for i in range(60))


def _type_limits(page, limits: dict[int, tuple[str, str]]) -> None:
    """Into the editor's table, by keyboard: its cells are a drawing."""
    for row, ends in limits.items():
        for column, end in enumerate(ends):
            settle(page)  # what was typed before redraws the table
            _open_cell(page, row, column + 2, end)
            page.keyboard.press("Enter")
            page.locator("#portal input").wait_for(state="detached")
    settle(page)


def _open_cell(page, row: int, column: int, first: str) -> None:
    """Type into a cell, once more where the table was drawn anew in between."""
    for _ in range(20):
        page.keyboard.press("Escape")  # a menu or an editor that the last try left open
        table = page.get_by_test_id("stDataFrame")
        table.scroll_into_view_if_needed()
        box = table.bounding_box()
        page.mouse.click(box["x"] + 20, box["y"] + 35 * (row + 1) + 17)
        for _ in range(column):
            page.keyboard.press("ArrowRight")
        page.keyboard.press(first)
        with suppress(sync_api.TimeoutError):
            page.locator("#portal input").wait_for(timeout=3_000)
            return
    raise AssertionError(f"row {row}, column {column} did not open")


def test_a_table_is_brought_looked_at_and_released(server, open_page, tmp_path):
    page, watched = open_page(f"{server}/own_data")
    table = {"name": "people.csv", "mimeType": "text/csv", "buffer": f"one,two\n{ROWS}".encode()}
    page.locator("input[type=file]").first.set_input_files(table)
    page.get_by_text("60 rows, 2 columns").wait_for()
    _type_limits(page, {0: ("0", "6"), 1: ("0", "4")})
    page.get_by_role("button", name="Use it on every page").click()
    page.get_by_text("Every page now has").wait_for()
    page.get_by_test_id("stMain").get_by_role("link", name="Play").click()
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebar").get_by_text("60 people × 2 features").wait_for()
    settle(page)
    assert "dataset=your-table" in page.url and "one" not in page.url
    page.go_back()
    settle(page, until_full=False)
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


def test_a_server_that_was_started_again_says_that_the_table_is_gone(open_page, tmp_path):
    """The page went on saying that every page has the table, until somebody clicked."""
    table = {"name": "people.csv", "mimeType": "text/csv", "buffer": f"one,two\n{ROWS}".encode()}
    with running_server(tmp_path) as address:
        page, _ = open_page(f"{address}/own_data")
        page.locator("input[type=file]").first.set_input_files(table)
        page.get_by_text("60 rows, 2 columns").wait_for()
    with running_server(tmp_path, int(address.rpartition(":")[2])):
        page.get_by_text("has nothing of this visit").wait_for(timeout=30_000)
        page.get_by_text("60 rows, 2 columns").wait_for(state="detached")
        assert page.locator("[data-testid=stException]").count() == 0
