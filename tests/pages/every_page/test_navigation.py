"""Eleven pages on top, their parts on the page, and old addresses."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.shell.lessons import STORIES
from pages.shell.navigation import MOVED, PAGES, WEBSITE, page_of, place_at
from tests.pages.looking import APP, opened, texts


def test_eleven_pages_have_every_part_once():
    assert len(WEBSITE) == 11
    parts = [part for page in WEBSITE for part in page.parts]
    assert sorted(parts) == sorted(PAGES)


@pytest.mark.parametrize("page", [page for page in WEBSITE if len(page.parts) > 1])
def test_the_parts_of_a_page_are_linked_on_each_of_them(page):
    for part in page.parts[:2]:
        at = opened(f"{PAGES[part].section.lower()}/{part}", repetitions="1")
        labels = [link.proto.label for link in at.main.get("page_link")]
        assert labels[: len(page.parts)] == [PAGES[part].title for part in page.parts]
        assert at.title[0].value == page.title


@pytest.mark.parametrize("old", MOVED)
def test_an_old_address_leads_on_with_its_parameters(old):
    at = AppTest.from_file(APP, default_timeout=60)
    at.query_params["epsilon"] = "2"
    at._page_hash = calc_hash(old)
    at.run()
    assert at.title[0].value == page_of(place_at(old)).title
    assert at.session_state["epsilon"] == 2
    assert not at.exception


def test_the_readme_names_every_page_and_part():
    readme = (APP.parent / "README.md").read_text()
    titles = {page.title for page in WEBSITE} | {place.title for place in PAGES.values()}
    assert [title for title in titles if title not in readme] == []


def test_stories_shows_every_story_and_a_lesson_of_45_minutes():
    said = "\n".join(texts(opened("learn/stories")))
    assert all(story.title in said for story in STORIES.values())
    assert "A lesson of 45 minutes" in said
