"""A deck: what is pinned comes back, moves, and leaves as files whose numbers are the runs'."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import replace
from io import BytesIO
from statistics import fmean
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE
from streamlit.runtime.context import ContextProxy

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.decision import ENOUGH_RUNS
from dpcore.experiments.pca import RunSpec, run
from dpcore.experiments.summaries import percent
from dpcore.experiments.sweep import RunCost
from dpcore.params import EPSILONS, largest_delta
from pages.shell import share
from pages.shell.presenting import Pin, PinnedRun, from_file, reordered, to_file
from pages.use.deck import page as running
from pages.use.deck.page import PinnedSearch, Told, one_file, powerpoint, told_of
from pages.widgets.charts import OPEN
from pages.widgets.energy_explorer import component
from pages.widgets.job_progress import JobRequest
from tests.pages.looking import gone

RUN = {"repetitions": "2", "epsilon": "2", "protocols": "DPdisPCA", "seed": "7"}


@pytest.fixture
def open_page(open_on_digits):
    return open_on_digits


def pinned(open_page, page: str = "explore/play", **query: str):
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
    assert first.page == "play" and second.page == "promise"
    assert first.written == {name: [value] for name, value in RUN.items()} | _DIGITS
    assert (first.caption, second.caption) == (
        "Play, digits, ε = 2",
        "What ε promises, ε = 2",
    )
    gone(at, "use/deck")
    # Each pin's own figure, small: what was run at its ε, and what is computed of its promise.
    ours, hers = thumbnails(at)
    assert "image/png" in ours and "image/svg+xml" in hers
    (said,) = re.findall(r'alt="(DPdisPCA at ε = 2 keeps \d+ % of the pattern)"', ours)
    assert any(said in plain(each.value) for each in at.caption)
    assert re.search(r'alt="At ε = 2, δ = 0.01 at most \d+ of 100', hers)
    at.button(key="deck_down_1").click().run()
    assert deck_of(at) == [second, first]
    (caption,) = (each for each in at.text_input if each.label == "1 · What ε promises")
    caption.set_value("For *one* person").run()
    assert deck_of(at)[0].caption == "For *one* person"
    at.button(key="deck_away_1").click().run()
    assert deck_of(at) == [first] and not at.exception


def thumbnails(at) -> list[str]:
    bodies = [each.proto.body for each in at.get("html")]
    return [body for body in bodies if body.startswith("<img src=")]


def plain(markdown: str) -> str:
    return markdown.replace("\\", "")


def test_a_pin_of_any_page_keeps_its_chart_and_its_message(open_page):
    """Decks held "Statistics, digits, ε = 1" and nothing to know a view by."""
    at = pinned(open_page, "explore/statistics")
    (pin,) = deck_of(at)
    big = next(each.proto.body for each in at.get("html") if "font-weight:700" in each.proto.body)
    number = re.search(r">([^<>]+)</div></div>", big)[1]
    assert pin.caption.startswith(number) and len(pin.caption) > 20
    gone(at, "use/deck")
    (drawn,) = thumbnails(at)
    svg = b64decode(drawn.split("base64,")[1].split('"')[0]).decode()
    assert svg.startswith("<svg") and "<rect" in svg and re.search(r'alt="[^"]*\d', drawn)
    # A deck from a file has settings alone: what nobody has run has no picture.
    at.session_state["_deck"] = [Pin("play", {"seed": ["99999"]}, "One")]
    assert not thumbnails(at.run()) and any(each.value == "Not run yet" for each in at.caption)


def test_a_slide_is_presented_under_its_message(open_page):
    at = open_page("learn/promise")
    at.session_state["_deck"] = [Pin("promise", {}, "What does it mean?"), Pin("promise", {}, "X")]
    at.toggle(key="present").set_value(True)
    for slide, title in ((1, "At ε = 1, δ = 10⁻⁵ at most "), (2, "X")):
        at.number_input(key="slide").set_value(slide).run()
        assert plain(at.title[0].value).startswith(title)
    # Keys move ε: what was found at another is no title of this.
    at.number_input(key="slide").set_value(1).run()
    at.select_slider(key="epsilon").set_value(5.0).run()
    assert at.title[0].value == "What ε promises" and not at.exception


PINS = [
    Pin("play", {"epsilon": ["2"], "protocols": ["DPdisPCA", "CAPE"]}, "One"),
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
        {"pins": [{"page": "promise", "written": {"epsilon": ["-3"]}, "caption": ""}]},
        {"pins": [{"page": "promise", "written": {"present": ["true"]}, "caption": ""}]},
        {"pins": [{"page": "promise", "written": {"epsilon": "1"}, "caption": ""}]},
        {"pins": [{"page": "promise", "written": {}, "caption": "x" * 201}]},
        {"pins": [{"page": "promise", "written": {}, "caption": "a\x00b"}]},
        {"pins": [{"page": ["promise"], "written": {}, "caption": ""}]},
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
    monkeypatch.setattr(running, "one_file", lambda deck: (told.append(deck), one_file(deck))[1])
    # The Playground itself gets no further than the next ε, however fast the machine.
    monkeypatch.setattr(component, "_SLICE_SECONDS", 0)
    at = pinned(open_page, **RUN | {"seed": "1041"})
    gone(at, "learn/promise").button(key="pin_it").click().run()
    gone(at, "use/deck")
    assert not told  # of most of its ε nothing has been run
    at.button(key="deck_run_all").click().run()
    assert not at.exception
    (deck,) = told[-1:]
    spec = RunSpec(protocols=("dpdis",), epsilon=2.0, repetitions=2, seed=1041,
                   components=10, intermediate_dim=20)  # fmt: skip
    kept = fmean(row["energy_ratio"] for row in run(spec))

    page = one_file(deck)
    assert len(page.encode()) < 3_000_000 and "default-src 'none'" in page
    (handed, promise) = json.loads(page.split('id="deck">')[1].split("</script>")[0])
    (view,) = handed["views"]
    assert [frame["epsilon"] for frame in view["frames"]] == list(EPSILONS)
    (frame,) = (frame for frame in view["frames"] if frame["epsilon"] == 2)
    assert fmean(frame["energies"]["dpdis"]) == pytest.approx(kept, abs=1e-4)
    assert "Seed: 1041" in handed["settings"] and "times as likely" in handed["promises"][0]
    # What stands beside the promise and is not covered by it goes along with it.
    assert OPEN in handed["promises"] and page.count(OPEN) == 2
    assert promise["views"] == [] and "guesses about you can be right at ε = 2" in page

    first, second = Presentation(BytesIO(powerpoint(deck))).slides
    (chart,) = (shape.chart for shape in first.shapes if shape.has_chart)
    series = {each.name: list(each.values) for each in chart.plots[0].series}
    assert series["DPdisPCA"][EPSILONS.index(2.0)] == pytest.approx(kept)
    assert series["Exact PCA"] == [1, 1] and len(series) == 3
    assert sum(shape.shape_type == MSO_SHAPE_TYPE.PICTURE for shape in first.shapes) == 2
    assert any(OPEN in shape.text for shape in first.shapes if shape.has_text_frame)
    notes = first.notes_slide.notes_text_frame.text
    assert "Seed: 1041" in notes and "times as likely" in notes and "seed=1041" in notes
    (guesses,) = (shape.chart for shape in second.shapes if shape.has_chart)
    assert list(guesses.plots[0].categories) == ["a coin", "a reader of the release"]


_DIGITS = {"dataset": ["digits"], "delta": ["0.01"]}
SWEPT = _DIGITS | {
    "tradeoffs_values_epsilon": ["1, 10"],
    "repetitions": ["1"],
    "protocols": ["DPdisPCA"],
}
PLANNED = _DIGITS | {"plan_protocol": ["DPdisPCA"], "plan_target": ["60"], "repetitions": ["1"]}


def test_a_sweep_and_a_search_are_run_for_the_files_as_their_pages_run_them(open_page, monkeypatch):
    told = []
    monkeypatch.setattr(running, "one_file", lambda deck: (told.append(deck), one_file(deck))[1])
    at = open_page("use/deck")
    at.session_state["_deck"] = [
        Pin("tradeoffs", SWEPT, "Which?"), Pin("plan", PLANNED, "How?"), Pin("promise", {}, "Me?"),
    ]  # fmt: skip
    at.run()
    assert not told
    at.button(key="deck_run_all").click().run()
    assert not at.exception and not at.error
    (deck,) = told[-1:]
    which, how, _ = deck
    base = RunSpec(protocols=("dpdis",), repetitions=1, components=10, intermediate_dim=20)
    kept = {e: fmean(row["energy_ratio"] for row in run(replace(base, epsilon=e))) for e in (1, 10)}
    swept, searched, guessed = (
        {each.name: list(each.values) for each in chart.plots[0].series}
        for chart in charts_of(deck)
    )
    assert swept["DPdisPCA"] == pytest.approx(list(kept.values()))
    assert which.number == percent(kept[10])
    assert which.promises[0].startswith("At ε = 1, DPdisPCA: ")
    assert how.number.startswith("ε = ") and searched["Target, 60%"] == [0.6, 0.6]
    assert max(searched["DPdisPCA"]) >= 0.6 and "60 % of the optimum" in how.said[0]
    assert list(guessed) == ["guesses about one person that are right"]
    assert "lives on its page" not in one_file(deck) and one_file(deck).count("<svg") == 3


def charts_of(deck):
    slides = Presentation(BytesIO(powerpoint(deck))).slides
    return [shape.chart for slide in slides for shape in slide.shapes if shape.has_chart]


def test_whoever_stops_leaves_no_search_going_on(monkeypatch):
    class Going:
        cancelled = 0

        def progress(self):
            return SimpleNamespace(goes_on=True)

        def rows_so_far(self):
            return [], True

        def cancel(self):
            self.cancelled += 1

    view = Going()
    monkeypatch.setattr(running.background_jobs, "start", lambda *asked: view)
    job = PinnedSearch(JobRequest("plan", "?", dict, RunCost()), "plan", lambda progress: "")

    def pressed(words: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        running._run(job, pressed)
    assert view.cancelled == 1


def test_charts_are_as_large_as_the_page_in_presenter_mode_and_small_again(open_page):
    at = open_page("learn/promise", present="1")
    for presents in (True, False):
        figure = json.loads(at.get("plotly_chart")[0].proto.spec)
        assert figure["layout"]["font"]["size"] == (1.6 * 14 if presents else 14)
        assert any("html { font-size" in each.proto.body for each in at.get("html")) == presents
        at.toggle(key="present").set_value(False).run()
    assert not at.exception


@pytest.mark.parametrize(
    ("opened_at", "listens_at", "said"),
    [
        (
            "http://127.0.0.1:8501/deck",
            "127.0.0.1",
            "after the server's address: /promise?epsilon=2",
        ),
        (
            "http://localhost:8501/deck",
            "127.0.0.1",
            "after the server's address: /promise?epsilon=2",
        ),
        ("http://127.0.0.1:8501/deck", "192.0.2.7", "http://192.0.2.7:8501/promise?epsilon=2"),
        ("https://lab.example/deck", "127.0.0.1", "https://lab.example/promise?epsilon=2"),
    ],
)
def test_a_file_names_no_address_that_means_its_reader_s_own_machine(
    monkeypatch, opened_at, listens_at, said
):
    """HTML decks said http://127.0.0.1:8501 to a board."""
    monkeypatch.setattr(ContextProxy, "url", opened_at)
    monkeypatch.setattr(share.st, "get_option", lambda name: listens_at)
    assert told_of(Pin("promise", {"epsilon": ["2"]}, "One")).link.endswith(said)
    assert not share.only_here(told_of(Pin("promise", {}, "One")).link)


def test_a_caption_cannot_leave_its_place():
    caption = "</script><script>alert(1)</script>"
    told = Told(caption, (), (caption,), (caption,), caption, caption, number=caption)
    assert "<script>alert" not in one_file([told])


def test_a_board_s_story_runs_on_named_features_or_on_what_was_brought(open_page):
    at = open_page("use/deck")
    at.button(key="board").click().run()
    pins = deck_of(at)
    assert {pin.stands("delta") for pin in pins if pin.page != "decide"} == {largest_delta(569)}
    assert len(pins) == 4 and not at.exception and from_file(to_file(pins).encode()) == pins
    gone(at, "learn/stories")
    own = at.session_state["_own_table"]
    status = dataset_status(own.held.name)
    said = PinnedRun(RunSpec(dataset=status.name, sites=12), (), status, "", "").guarantees()
    assert OPEN in said and said[-1].startswith("Computed on your own table")
    gone(at, "use/deck").button(key="board").click().run()
    assert at.session_state["_own_table"] is own


def test_a_decision_s_slide_is_titled_by_what_its_fresh_runs_found(open_page, monkeypatch):
    """The story for a board recommended what 4 of 10 fresh runs reached."""
    told = []
    monkeypatch.setattr(running, "one_file", lambda deck: (told.append(deck), one_file(deck))[1])
    asked = {"dataset": ["digits"], "components": ["5"], "decide_target": ["85"],
             "decide_trust": ["One team, with every row"]}  # fmt: skip
    at = open_page("use/deck")
    at.session_state["_deck"] = [Pin("decide", asked, "Which ε?"), Pin("decide", asked, "Mine")]
    at.run()
    at.button(key="deck_run_all").click().run()
    assert not at.exception and not at.error
    ((which, mine),) = told[-1:]
    (hits,) = re.findall(r"and (\d+) of 10 fresh runs reach 85 %\.$", which.title)
    assert int(hits) >= ENOUGH_RUNS and which.number in which.title
    assert mine.title == "Mine" and "δ = 10⁻⁵" in mine.settings
    # One δ and one ε: the sidebar's, which the options do not use, stood beside theirs; and a
    # board read "490 million times as likely".
    assert which.settings.count("δ") == 1 and "Protocols" not in which.settings
    assert "of 100 attackers who wrongly accuse 5 of 100" in which.promises[0]
    assert "times as likely" not in " ".join(which.promises) and OPEN in which.promises
    titles = [s.shapes.title.text for s in Presentation(BytesIO(powerpoint([which, mine]))).slides]
    assert titles == [which.title, "Mine"]
