"""Classroom: a teacher with the wall in one browser, and two phones."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from tests.browser.conftest import pages_of, settle
from tests.browser.first_screen import assert_first_screen_is_short


def test_two_phones_send_and_the_wall_shows_captured_energy(server, browser, open_page):
    with pages_of(browser, apart=True) as open_phone:
        teacher, _ = open_page(f"{server}/classroom", height=900)
        assert_first_screen_is_short(teacher)
        teacher.get_by_role("button", name="Open a room").click()
        teacher.wait_for_url("**room=**")
        code = parse_qs(urlsplit(teacher.url).query)["room"][0]
        address = f"{server}/classroom?room={code}"
        phones = []
        for name in ("Ana", "Ben"):
            phone, _ = open_phone(address, width=390, height=844)
            nickname = phone.get_by_label("Nickname (optional)")
            nickname.fill(name)
            nickname.press("Tab")
            settle(phone)
            phone.get_by_role("button", name="Join").click()
            phones.append(phone)
        teacher.get_by_role("button", name="Start", exact=True).click()
        wall, watched = open_page(f"{address}&projector=true&present=1")
        for phone in phones:
            phone.get_by_role("button", name=re.compile("^Send at")).click()
        wall.get_by_text(re.compile(r"\d+\s*%")).first.wait_for()
        wall.get_by_text("captured energy").first.wait_for()
        watched.assert_quiet()
