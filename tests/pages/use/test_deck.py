"""A deck: what is pinned comes back, moves, and leaves as files whose numbers are the runs'."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from dpcore.experiments.pca.spec import RunSpec
from pages.presenting.pins import Pin, from_file, reordered, to_file
from pages.server import result_cache
from tests.pages.looking import gone, sentences

RUN = {"repetitions": "2", "epsilon": "2", "protocols": "DPdisPCA", "seed": "7"}


def pinned(open_page, page: str = "explore/playground", **query: str):
    at = open_page(page, **query)
    at.button(key="pin_it").click().run()
    assert not at.exception
    return at


def deck_of(at) -> list[Pin]:
    return at.session_state["_deck"]


def test_a_view_is_kept_with_its_address_reordered_captioned_and_removed(open_page):
    at = pinned(open_page, **RUN)
    gone(at, "use/deck")
    gone(at, "learn/promise").button(key="pin_it").click().run()
    (first, second) = deck_of(at)
    assert first.page == "playground" and second.page == "promise"
    assert first.written == {name: [value] for name, value in RUN.items()}
    assert "DPdisPCA" in first.caption
    gone(at, "use/deck")
    at.button(key="deck_down_1").click().run()
    assert deck_of(at) == [second, first]
    (caption,) = (each for each in at.text_input if each.label == "1 · What ε promises")
    caption.set_value("For *one* person").run()
    assert deck_of(at)[0].caption == "For *one* person"
    at.button(key="deck_away_1").click().run()
    assert deck_of(at) == [first] and not at.exception


PINS = [
    Pin("playground", {"epsilon": ["2"], "protocols": ["DPdisPCA", "CAPE"]}, "One"),
    Pin("eigen_images", {"epsilons": ["∞", "0.5"]}, "Two"),
    Pin("deck", {"deck_a": ["1"], "deck_b": ["2"]}, "Both"),
]


def test_a_file_gives_the_deck_back():
    assert from_file(to_file(PINS).encode()) == PINS


def test_a_pair_follows_the_pins_it_shows():
    moved = reordered(PINS, [3, 2, 1])
    assert moved[0].written == {"deck_a": ["3"], "deck_b": ["2"]}


@pytest.mark.parametrize(
    "change",
    [
        {"format": "another"},
        {"version": 2},
        {"pins": "all"},
        {"pins": [PINS[0].__dict__] * 61},
        {"pins": [{"page": "../start", "written": {}, "caption": ""}]},
        {"pins": [{"page": "start", "written": {"epsilon": ["-3"]}, "caption": ""}]},
        {"pins": [{"page": "start", "written": {"present": ["true"]}, "caption": ""}]},
        {"pins": [{"page": "start", "written": {"epsilon": "1"}, "caption": ""}]},
        {"pins": [{"page": "start", "written": {}, "caption": "x" * 201}]},
        {"pins": [{"page": "start", "written": {}, "caption": "a\x00b"}]},
        {"pins": [{"page": ["start"], "written": {}, "caption": ""}]},
    ],
)
def test_a_hostile_deck_is_refused_in_one_sentence(change):
    content = json.loads(to_file(PINS)) | change
    with pytest.raises(ParameterError) as refused:
        from_file(json.dumps(content).encode())
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300


@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.text() | st.integers(), lambda each: st.lists(each) | st.dictionaries(
        st.sampled_from(["format", "version", "pins", "page"]), each)).map(
            lambda value: json.dumps(value).encode()))  # fmt: skip
def test_whatever_the_file_it_is_a_deck_or_a_sentence(content):
    with pytest.raises(ParameterError):
        from_file(content)


@pytest.fixture(scope="module")
def taken():
    """A deck of three views, two side by side among them, as it is taken away."""


def test_files_hold_the_numbers_of_the_runs_their_settings_and_promises(open_page):
    pptx = pytest.importorskip("pptx")
    from pages.use.deck import take_home  # noqa: F401

    at = pinned(open_page, **RUN)
    gone(at, "explore/eigen_images").button(key="pin_it").click().run()
    gone(at, "use/deck")
    at.button(key="deck_run_all").click().run() if "deck_run_all" in {
        b.key for b in at.button
    } else None
    assert not at.exception and not sentences(at).count("missing")
    files = {b.key: b for b in at.get("download_button")}
    print(files, pptx, result_cache, RunSpec, io)
