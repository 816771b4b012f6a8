"""One click attacks a published formula and breaks it, while the needle moves."""

from __future__ import annotations

from tests.browser.conftest import settle


def test_the_attack_runs_by_itself_and_names_the_flaw_afterwards(server, open_page):
    page, watched = open_page(f"{server}/audit", height=900)
    assert page.get_by_text("The flaw.").count() == 0
    page.get_by_role("button", name="Attack", exact=True).click()
    page.get_by_role("heading", level=1, name="Broken: the attack proves").wait_for()
    settle(page)
    assert page.get_by_text("The flaw.").count() == 1
    watched.assert_quiet()
