"""Decide: a recommendation that fresh runs support, with memo and slides that agree with it."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from io import BytesIO

import pytest
from pptx import Presentation
from streamlit.testing.v1 import AppTest

from dpcore.data import dataset_status
from dpcore.experiments.decide.decision import Option, asked_spec, decide
from dpcore.experiments.decide.ranking import Trusted
from dpcore.experiments.decide.run_statistics import ENOUGH_RUNS
from dpcore.experiments.engine.summaries import percent
from dpcore.experiments.pca import RunSpec
from pages.components.brief import Brief, make_presentation, render_memo, slides_of
from pages.use.decide import Question, answer_of, brief_of, reason_of
from tests.pages.opening import texts, wait_for_jobs

TABLE, PICTURES = "breast-cancer", "digits"


def grid_of(at: AppTest) -> str:
    return next(each.proto.body for each in at.get("html") if "Captured energy" in each.proto.body)


@pytest.mark.parametrize("data", [TABLE, PICTURES])
def test_it_opens_with_a_recommendation_that_its_fresh_runs_support(open_page, data):
    at = open_page("decide", decide_data=data, decide_trust="holder")
    wait_for_jobs(at)
    assert not at.exception and not at.error
    epsilon = re.search(r"Take ε = (\S+):", at.title[0].value)[1]
    grid = grid_of(at)
    hits = [int(each) for each in re.findall(r"<div>(\d+)/10</div>", grid)]
    assert len(hits) == 3 and max(hits) >= ENOUGH_RUNS
    (head,) = re.findall(r"<div>([^<]*<b>\w+</b>[^<]*)<b style", grid)
    assert head.replace("\u00a0", " ").endswith(f"ε = {epsilon} ")
    assert "reaches 90" in texts(at) and "of 10 fresh runs" in texts(at)
    assert not any(each.label.startswith("ε") for each in at.select_slider)
    files = {each.label for each in at.get("download_button")}
    assert {"Memo", "Slides"} <= files


def test_the_default_is_a_table_of_patients_and_sites_and_target_change_the_answer(open_page):
    at = open_page("decide")
    wait_for_jobs(at)
    assert at.selectbox(key="decide_data").value == TABLE
    before = grid_of(at)
    at.slider(key="decide_target").set_value(60).run()
    wait_for_jobs(at)
    assert not at.exception and grid_of(at) != before and "Reach 60" in grid_of(at)


# ---- memo and slides

SPEC = asked_spec(RunSpec(dataset=TABLE), Trusted.HOLDER, 569)
QUESTION = Question(SPEC, Trusted.HOLDER, 0.85, dataset_status(TABLE))


@pytest.fixture(scope="module")
def options() -> tuple[Option, ...]:
    return tuple(each for each in decide(SPEC, 0.85) if isinstance(each, Option))


def brief(options: tuple[Option, ...]) -> Brief:
    return brief_of(QUESTION, options, "/decide")


def test_slides_have_sentences_with_numbers_a_figure_a_foot_and_notes(options):
    made = slides_of(brief(options))
    slides = Presentation(BytesIO(make_presentation(brief(options)))).slides
    assert len(slides) == len(made) == 5
    for slide, source in zip(slides, made, strict=True):
        title = slide.shapes.title.text
        assert title == source.title and title.endswith(".") and len(title) < 200
        assert re.search(r"\d", title) or "every row is exposed" in title
        assert [s for s in slide.shapes if s.has_chart or s.shape_type in (1, 13)], title
        words = [s.text_frame.text for s in slide.shapes if s.has_text_frame]
        assert any("seed 0" in each and re.search(r"20\d\d-\d\d-\d\d", each) for each in words)
        assert len(source.notes) >= 2
    first = slides[0]
    (chart,) = (shape.chart for shape in first.shapes if shape.has_chart)
    assert list(chart.plots[0].series[0].values) == pytest.approx([o.mean for o in options])
    words = [shape.text_frame.text for shape in first.shapes if shape.has_text_frame]
    assert brief(options).reason in words


def test_the_memo_gives_the_reason_and_every_option_and_loads_nothing(options):
    page = render_memo(brief(options))
    text = unescape(page)
    for sentence in (brief(options).answer, brief(options).reason, brief(options).foot):
        assert sentence in text
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert not re.search(r"\{\w+\}", text.split("</style>")[1])
    (script,) = re.findall(r"<script>(.*?)</script>", page)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'\"" in page
    for each in options:
        assert f"{each.hits} of 10</td>" in text and percent(each.mean) in text


def test_the_reason_names_the_numbers_of_the_other_options():
    def option(name, epsilon, energies):
        rows = tuple({"energy_ratio": e, "repetition": n} for n, e in enumerate(energies))
        return Option(name, RunSpec(epsilon=epsilon), 0.9, rows)

    cautious = option("cautious", 1.0, [0.95] * 8 + [0.8] * 2)
    balanced = option("balanced", 5.0, [0.95] * 9 + [0.8])
    detailed = option("detailed", 20.0, [0.99] * 10)
    reason = reason_of((cautious, balanced, detailed), balanced).replace("\u00a0", " ")
    assert reason == ("Cautious reaches 90 % in 8 of 10 fresh runs. Detailed costs 4 times the ε.")
    assert reason_of((cautious,), None).startswith("The closest is cautious: 8 of 10")
    assert answer_of((cautious,), None).replace("\u00a0", " ") == "No option reaches 90 %"


def test_the_memo_marks_no_option_if_none_reaches_the_target(options):
    missed = (options[0],)
    assert not missed[0].has_reached
    rejected = brief(missed)
    assert not rejected.is_recommended and 'class="best"' not in render_memo(rejected)


# ---- all options


def test_all_options_lists_the_smallest_epsilon_of_each_algorithm(open_page, monkeypatch):
    from dpcore.experiments.decide import ranking

    few = {key: ranking.PROTOCOLS[key] for key in ("dpdis", "securesum", "pooled")}
    monkeypatch.setattr(ranking, "PROTOCOLS", few)
    at = open_page("decide")
    at.session_state["decide_all"] = True
    wait_for_jobs(at)
    (start,) = (each for each in at.button if each.label == "Compare every algorithm")
    start.click().run()
    wait_for_jobs(at)
    assert not at.exception and "fresh runs reach it" in texts(at)
    table = at.dataframe[0].value
    assert table["ε"].is_monotonic_increasing and len(set(table["Option"])) == len(table)
