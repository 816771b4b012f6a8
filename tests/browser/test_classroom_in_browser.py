"""A lesson in four real pages: the teacher's console, the wall, and two phones."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from tests.browser.conftest import pages_of
from tests.browser.reachable import faults

PHONE = {"width": 360, "height": 740}
WIDER = "() => document.querySelector('[data-testid=stMain]').scrollWidth - window.innerWidth"


@pytest.fixture(scope="module")
def lesson(server, browser):
    """(teacher, wall, phones) of a room in which two have joined, and what all pages were."""
    with pages_of(browser, apart=True) as opener:
        teacher, watched = opener(f"{server}/classroom")
        teacher.get_by_role("button", name="Open a room").click()
        teacher.get_by_text("Start an activity").wait_for()
        code = re.search(r"room=(\w+)", teacher.url)[1]
        wall = teacher.context.new_page()
        wall.goto(f"{server}/classroom?room={code}&projector=true&present=true")
        phones, all_watched = [], [watched]
        for number, nickname in enumerate(("Ana", "")):
            # A form asks nothing again and again: it comes to rest.
            phone, seen = opener(f"{server}/classroom?room={code}", **PHONE, dark=bool(number))
            phone.get_by_label("A nickname, if you like").fill(nickname)
            phone.get_by_role("button", name="Join").click()
            phone.get_by_text("You are in").wait_for()
            phones.append(phone)
            all_watched.append(seen)
        wall.get_by_text("2 phones here so far").wait_for()
        yield teacher, wall, phones
        for each in all_watched:
            each.assert_quiet()


def start(teacher, activity: str) -> None:
    teacher.locator(".st-key-classroom_activity").get_by_text(activity, exact=True).click()
    # The console is drawn again under the next click.
    teacher.locator(".st-key-classroom_activity [aria-checked=true], "
                    ".st-key-classroom_activity [kind$=Active]").get_by_text(
        activity, exact=True).wait_for()  # fmt: skip
    teacher.locator(".st-key-classroom_start button").click()


def reveal(teacher) -> None:
    teacher.get_by_role("button", name="Reveal").click()


def test_hospitals_sharpen_on_the_wall_and_a_reload_goes_on(lesson):
    teacher, wall, (ana, nobody) = lesson
    start(teacher, "We are the hospitals")
    ana.get_by_role("button", name="Send at ε = 1", exact=True).click()
    wall.get_by_text("found by 1 hospital together").wait_for()
    nobody.get_by_role("button", name="Send at").wait_for()
    assert all(page.evaluate(WIDER) <= 0 for page in (ana, nobody))
    nobody.get_by_role("button", name="Send at").click()
    wall.get_by_text("found by 2 hospitals together").wait_for()
    # Whoever reloads is who they were.
    ana.reload()
    ana.get_by_text("you are Ana (1)").wait_for()
    ana.get_by_text("never left").wait_for()
    reveal(teacher)
    teacher.locator("[class*=st-key-class_opened] input").click()
    teacher.get_by_role("option", name="Ana (1)").click()
    wall.get_by_text("All that the aggregator has of Ana (1)").wait_for()
    pad = ana.locator(".pad canvas")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    ana.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    ana.mouse.down()
    ana.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 20, steps=5)
    ana.mouse.up()
    ana.get_by_text("Your digit, then rebuilt").wait_for()
    assert list(chain(*map(faults, (teacher, wall, nobody)))) == []


def test_answers_guesses_and_a_budget_go_from_phones_to_the_wall(lesson):
    teacher, wall, (ana, nobody) = lesson
    start(teacher, "Guess")
    for phone in (ana, nobody):
        phone.get_by_role("button", name="Yes", exact=True).click()
        phone.get_by_text("Your phone said").wait_for()
    reveal(teacher)
    wall.get_by_text("±").first.wait_for()
    start(teacher, "Attack")
    for number in (1, 2, 3):
        ana.get_by_text(f"Release {number} of 10").wait_for()
        ana.get_by_role("button", name="With her", exact=True).click()
    wall.get_by_text("3 guesses by 1 student").wait_for()
    reveal(teacher)
    wall.get_by_text("no adversary is right more").wait_for()
    start(teacher, "Spend")
    nobody.get_by_role("button", name="Ask, for ε = 0.1").click()
    wall.get_by_text("1 question answered, 0 refused").wait_for()
    assert faults(ana) == []
    teacher.get_by_text("The room itself").click()
    # While it opens, the button moves away between a press and its end.
    teacher.wait_for_function(
        "() => document.getAnimations().every(each => each.playState !== 'running')"
    )
    teacher.get_by_role("button", name="End the room").click()
    for page in (teacher, wall, ana):
        page.get_by_text("No room has this code").wait_for()
