"""A hostile address in a real browser: no foreign request, no link, no picture, no icon."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from tests.pages.looking import HOSTILE


@pytest.mark.parametrize("page_name", ["", "statistics"])
def test_nothing_in_an_address_becomes_more_than_letters(server, open_page, page_name):
    names = ("sites", "seed", "components", "split", "masks", "dataset", "epsilon", "noise")
    address = dict(zip(names, HOSTILE, strict=True)) | {HOSTILE[0]: "1", HOSTILE[4]: "1"}
    page, watched = open_page(f"{server}/{page_name}?{urlencode(address)}")
    alerts = page.get_by_test_id("stAlert")
    alerts.first.wait_for()
    assert alerts.count() >= len(names)
    assert "In the address, sites must be" in alerts.all_inner_texts()[0]
    main = page.get_by_test_id("stMain")
    for made in (
        "a[href*=foreign]", "img[src*=foreign]", "script:has-text('foreign')", ".katex",
        "strong:has-text('foreign')", "del", "[data-testid=stIconMaterial]:has-text('foreign')",
        "span[style*=color]:has-text('foreign')", "h1:has-text('foreign')",
    ):  # fmt: skip
        inside = "[data-testid=stAlert], [data-testid=stCaptionContainer]"
        found = main.locator(inside).locator(made)
        assert found.count() == 0, (made, found.first.inner_text())
    watched.assert_quiet()
