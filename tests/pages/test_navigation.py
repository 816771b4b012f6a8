"""Menus and addresses: few entries, and every page has an address of its own."""

from __future__ import annotations

from collections import Counter

import pytest

from pages.navigation import ENTRIES


def test_the_menus_have_at_most_ten_entries():
    listed = [entry for entry in ENTRIES if not entry.part_of]
    assert len(listed) <= 10
    # Entries without a menu are links in the bar itself.
    assert len({entry.menu for entry in listed if entry.menu}) <= 4


def test_addresses_are_unique_and_parts_belong_to_listed_entries():
    addresses = [entry.address for entry in ENTRIES]
    assert max(Counter(addresses).values()) == 1
    listed = {entry.name for entry in ENTRIES if not entry.part_of}
    assert {entry.part_of for entry in ENTRIES if entry.part_of} <= listed


@pytest.mark.parametrize(
    "entry", [each for each in ENTRIES if each.part_of], ids=lambda each: each.name
)
def test_a_part_links_to_the_page_that_it_belongs_to(open_page, entry):
    at = open_page(entry.name, dataset="digits", repetitions="1", components="5")
    pages = {each.proto.page for each in at.get("page_link")}
    # The start page is at the server's own address.
    assert ("" if entry.part_of == ENTRIES[0].name else entry.part_of) in pages
