"""A deck: what is pinned comes back, moves, and leaves as files whose numbers are the runs'."""

from __future__ import annotations

import json
from io import BytesIO
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE

from dpcore.errors import ParameterError
from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.experiments.pca.runs import run
from dpcore.experiments.pca.spec import RunSpec
from pages.presenting.pins import Pin, from_file, reordered, to_file
from pages.use.deck import take_home
from pages.use.deck.one_file import one_file
from pages.use.deck.powerpoint import powerpoint
from pages.use.deck.told import Told
from tests.pages.looking import gone

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


def test_files_hold_the_numbers_of_the_runs_their_settings_and_promises(open_page, monkeypatch):
    told = []
    monkeypatch.setattr(take_home, "one_file", lambda deck: (told.append(deck), one_file(deck))[1])
    at = pinned(open_page, **RUN)
    gone(at, "learn/promise").button(key="pin_it").click().run()
    gone(at, "use/deck")
    assert not told
    at.button(key="deck_run_all").click().run()
    assert not at.exception
    (deck,) = told[-1:]
    spec = RunSpec(protocols=("dpdis",), epsilon=2.0, repetitions=2, seed=7,
                   components=10, intermediate_dim=20)  # fmt: skip
    kept = fmean(row["energy_ratio"] for row in run(spec))

    page = one_file(deck)
    assert len(page.encode()) < 3_000_000 and "default-src 'none'" in page
    (handed, promise) = json.loads(page.split('id="deck">')[1].split("</script>")[0])
    (view,) = handed["views"]
    assert [frame["epsilon"] for frame in view["frames"]] == list(EPSILONS)
    (frame,) = (frame for frame in view["frames"] if frame["epsilon"] == 2)
    assert fmean(frame["energies"]["dpdis"]) == pytest.approx(kept, abs=1e-4)
    assert "Seed: 7" in handed["settings"] and "times as likely" in handed["promises"][0]
    assert promise["views"] == []

    first, second = Presentation(BytesIO(powerpoint(deck))).slides
    (chart,) = (shape.chart for shape in first.shapes if shape.has_chart)
    series = {each.name: list(each.values) for each in chart.plots[0].series}
    assert series["DPdisPCA"][EPSILONS.index(2.0)] == pytest.approx(kept)
    assert series["Exact PCA"] == [1, 1] and len(series) == 3
    assert sum(shape.shape_type == MSO_SHAPE_TYPE.PICTURE for shape in first.shapes) == 2
    notes = first.notes_slide.notes_text_frame.text
    assert "Seed: 7" in notes and "times as likely" in notes and "seed=7" in notes
    assert not any(shape.has_chart for shape in second.shapes)


def test_a_caption_cannot_leave_its_place():
    caption = "</script><script>alert(1)</script>"
    told = Told(caption, (), (caption,), (caption,), caption, caption, "")
    assert "<script>alert" not in one_file([told])


def test_a_board_s_story_runs_on_named_features_or_on_what_was_brought(open_page):
    at = open_page("use/deck")
    at.button(key="board").click().run()
    pins = deck_of(at)
    assert len(pins) == 6 and not at.exception and from_file(to_file(pins).encode()) == pins
    gone(at, "learn/start")
    own = at.session_state["_own_table"]
    gone(at, "use/deck").button(key="board").click().run()
    assert at.session_state["_own_table"] is own
