"""Menus and addresses: few entries, and every page has an address of its own."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from pages.navigation import ENTRIES, LESSONS


def test_the_bar_has_three_links_and_three_short_menus():
    listed = [entry for entry in ENTRIES if entry.is_listed]
    assert [entry.title for entry in listed if not entry.menu] == ["Explore", "Compare", "Papers"]
    menus = Counter(entry.menu for entry in listed if entry.menu)
    assert list(menus) == ["Analyses", "Learn", "Use"]
    assert max(menus.values()) <= 5


def test_addresses_and_titles_of_tabs_are_unique_and_parts_belong_to_listed_entries():
    """Earlier every tab of the browser had the same title."""
    for names in ([e.address for e in ENTRIES], [e.tab_title for e in ENTRIES]):
        assert max(Counter(names).values()) == 1
    listed = {entry.name for entry in ENTRIES if entry.is_listed}
    assert {entry.part_of for entry in ENTRIES if entry.part_of} <= listed


@pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if entry.part_of], ids=lambda entry: entry.name
)
def test_a_part_links_to_the_page_that_it_belongs_to(open_page, entry):
    at = open_page(entry.name, dataset="digits", repetitions="1", components="5")
    pages = {element.proto.page for element in at.get("page_link")}
    # The start page is at the server's own address.
    assert ("" if entry.part_of == ENTRIES[0].name else entry.part_of) in pages


@pytest.mark.parametrize(("name", "following"), [*pairwise(LESSONS)])
def test_a_lesson_links_to_the_next(open_page, name, following):
    links = [element.proto for element in open_page(name).get("page_link")]
    assert [link.page for link in links if link.label.startswith("Next: ")] == [following]
