"""What a page offers to be saved is made when it is asked for, outside of the session."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest
from streamlit.runtime.media_file_manager import MediaFileManager

from pages.shell.navigation import PAGES
from pages.shell.presenting import Pin, from_file
from tests.pages.looking import opened

FEW = {"repetitions": "1", "class_draws": "2", "audit_trials_flawed": "1000"}
DECISION = {
    "dataset": ["digits"],
    "decide_target": ["85"],
    "decide_trust": ["One team, with every row"],
}
PINS = [
    Pin("promise", {"epsilon": ["2"]}, "One"), Pin("decide", DECISION, "Two"),
]  # fmt: skip


@pytest.fixture
def deferred(monkeypatch):
    """What downloads will be made by, by the names of their files."""
    found = {}
    add = MediaFileManager.add_deferred

    def noted(self, data, mimetype, coordinates, file_name=None, **more):
        found[file_name] = data
        return add(self, data, mimetype, coordinates, file_name, **more)

    monkeypatch.setattr(MediaFileManager, "add_deferred", noted)
    return found


def saved(make) -> bytes:
    """As Streamlit makes it: in a thread that belongs to no session."""
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(make).result()
    return made.encode() if isinstance(made, str) else made


def test_a_deck_is_saved_with_its_pins(open_page, deferred):
    """It always held none."""
    at = open_page("use/deck")
    at.session_state["_deck"] = list(PINS)
    at.run()
    assert from_file(saved(deferred["deck.json"])) == PINS
    (caption,) = (each for each in at.text_input if each.label.startswith("1 ·"))
    caption.set_value("Another").run()
    assert [pin.caption for pin in from_file(saved(deferred["deck.json"]))] == ["Another", "Two"]


@pytest.mark.parametrize("place", PAGES.values(), ids=lambda place: place.name)
def test_no_download_asks_for_a_session(place, tmp_path, monkeypatch, deferred, caplog):
    """Streamlit has none where it makes them, gives nothing in its place, and says so in a log."""
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    at = opened(f"{place.section.lower()}/{place.name}/page", **FEW)
    at.session_state["_deck"] = list(PINS)
    if place.name == "deck":
        at.run()
    assert not at.exception
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        logging.getLogger("streamlit").propagate = True
        for make in deferred.values():
            assert saved(make)
    assert "ScriptRunContext" not in caplog.text and "Session state" not in caplog.text
