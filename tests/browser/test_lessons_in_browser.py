"""The pages of Learn lead to each other in one order."""

from __future__ import annotations

from pages.navigation import LESSONS


def test_next_leads_through_all_pages_in_order(server, open_page):
    page, _ = open_page(f"{server}/{LESSONS[0]}")
    for following in LESSONS[1:]:
        page.get_by_role("link", name="Next: ").click()
        page.wait_for_url(f"**/{following}*")
        page.locator("h1").first.wait_for()
