"""Cards and lesson links open their stories. tests/pages/test_stories.py opens every story."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from dpcore.teaching.stories import STORIES
from pages.learn.stories import LESSON
from tests.browser.conftest import settle
from tests.browser.first_screen import assert_first_screen_is_short


# A difference of captured energy, and an axis of ε.
@pytest.mark.parametrize("name", ["people", "ten-looks"])
def test_a_card_opens_its_story_and_a_guess_shows_the_verdict(server, open_page, name):
    page, _ = open_page(f"{server}/stories", height=900)
    # The middle of a card is its sketch.
    page.locator(f".st-key-story_{name}").click()
    page.get_by_role("heading", level=1, name=STORIES[name].title).wait_for()
    settle(page)
    assert page.url.endswith(f"/stories?story={name}")
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    assert_first_screen_is_short(page)
    bars = page.locator(".js-plotly-plot .bars .point")
    n_known = bars.count()
    page.locator(".st-key-guess_0 button").click()
    page.get_by_role("heading", name="surprised?").or_(
        page.get_by_role("heading", name="you were right")
    ).wait_for()
    settle(page)
    assert n_known == 1 and bars.count() >= 2
    assert page.url.endswith(f"/stories?story={name}")
    page.get_by_role("button", name="All stories").click()
    page.get_by_role("heading", level=1, name="Ten experiments").wait_for()
    settle(page)
    assert page.url.endswith("/stories")


def test_back_leads_from_explore_to_the_story_in_one_step(server, open_page):
    """The parameters were first written into the story's address, which was a step of its own."""
    page, _ = open_page(f"{server}/?epsilon=2&dataset=digits", height=900, until_full=False)
    page.get_by_test_id("stTopNavSection").filter(has_text="Learn").click()
    page.get_by_role("menuitem", name="Stories").click()
    page.locator(".st-key-story_people").click()
    page.get_by_text(STORIES["people"].question).wait_for()
    page.locator(".st-key-guess_0 button").click()
    page.get_by_role("link", name="Open these settings in Explore").click()
    page.wait_for_url("**/?*people=200*")
    settle(page, until_full=False)
    values = parse_qs(urlsplit(page.url).query)
    # Settings that the story leaves at their defaults do not keep the visitor's values.
    assert "epsilon" not in values and "dataset" not in values
    page.go_back()
    page.get_by_text(STORIES["people"].question).wait_for()
    assert page.url.endswith("/stories?story=people")


IS_OPEN = """() => {
    const drawer = document.querySelector("details[open]")
    return drawer && !drawer.getAnimations({ subtree: true }).some(
        (each) => each.playState === "running")
}"""


def test_a_lesson_link_opens_its_story(server, open_page):
    name = next(goal for goal, *_ in LESSON if goal in STORIES)
    page, _ = open_page(f"{server}/stories", height=900)
    assert_first_screen_is_short(page)
    page.locator("summary").filter(has_text="-minute lesson").click()
    # The drawer moves its links while it opens, so that an earlier click ends on another element.
    page.wait_for_function(IS_OPEN)
    page.locator("details").get_by_role("link", name=STORIES[name].title).click()
    page.get_by_text(STORIES[name].question).wait_for()
    assert page.url.endswith(f"/stories?story={name}")
