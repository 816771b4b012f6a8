"""Stories: each opens from its address, asks for a guess and is decided by its own runs."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import replace
from functools import cache, partial
from urllib.parse import parse_qs

import numpy as np
import pytest

from dpcore.experiments.pca import RunSpec, run_repetitions
from dpcore.experiments.pca.problem import local_problem
from dpcore.privacy import PrivacyBudget, gaussian_epsilon, gaussian_sigma
from dpcore.teaching.stories import STORIES, EnergyDifference, Finding, judge
from pages import cached, sidebar
from pages.learn import stories
from tests.pages.opening import texts, visit

each_story = pytest.mark.parametrize("name", STORIES)


@cache
def rows_of(spec: RunSpec):
    one, problem = replace(spec, repetitions=1), local_problem(spec.problem_key())
    runs = (run_repetitions([one], problem, number)[0] for number in range(spec.repetitions))
    return [row for rows in runs for row in rows]


def finding_of(name: str, seed: int = 0) -> Finding:
    story = STORIES[name]
    return story.finding.after(story.spec(seed), rows_of)


def bars_of(at) -> int:
    (figure,) = at.get("plotly_chart")
    return sum(trace["type"] == "bar" for trace in json.loads(figure.proto.spec)["data"])


@each_story
def test_a_guess_shows_the_finding_of_the_runs(open_page, name, monkeypatch):
    monkeypatch.setattr(cached, "rows", rows_of)
    at = open_page("stories", story=name)
    assert bars_of(at) == 1
    verdict = judge(STORIES[name], finding_of(name))
    text = texts(at)
    assert STORIES[name].question in text
    assert verdict.finding.number not in text and verdict.finding.sentence not in text
    at.button(key=f"guess_{verdict.true}").click().run()
    assert not at.exception
    assert bars_of(at) >= 2
    assert at.subheader[0].value == f"{verdict.finding.number}: you were right"
    assert at.title[0].value == verdict.finding.sentence.rstrip(".")
    is_measured = STORIES[name].finding.axis != "ε"
    assert ("not private" in texts(at)) is is_measured
    assert at.query_params["story"] == name


def test_a_story_names_the_adversaries_of_its_algorithms(open_page):
    at = open_page("stories", story="people").button(key="guess_0").click().run()
    captions = [caption.value for caption in at.caption]
    named = "Protects against: the aggregator; a participating site; a reader of the result"
    assert f"DPdisPCA: exact ε = 1. {named}." in captions


def test_a_wrong_guess_is_reported_as_such(open_page):
    at = open_page("stories", story="people")
    at.button(key="guess_0").click().run()
    assert at.subheader[0].value == "+57 points: surprised?"


def test_every_card_and_every_lesson_link_names_its_story(open_page):
    links = [element.proto for element in open_page("stories").get("page_link")]
    result = Counter((link.label, link.query_string) for link in links)
    in_lesson = Counter(goal for goal, *_ in stories.LESSON)
    for name, story in STORIES.items():
        assert result[story.title, f"story={name}"] == 1 + in_lesson[name]


def test_an_unknown_story_shows_all_stories_with_a_sentence(open_page):
    at = open_page("stories", story="<b>nonsense")
    assert "There is no story" in at.warning[0].value
    assert len(at.get("page_link")) > len(STORIES)


def test_a_guess_is_remembered_when_the_visitor_returns(open_page):
    at = open_page("stories", story="people")
    at.button(key="guess_2").click().run()
    visit(at, "audit")
    at.query_params["story"] = "people"
    visit(at, "stories")
    assert at.subheader[0].value.startswith("+57 points")


@each_story
def test_the_controls_of_a_story_select_its_specification(name, monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    spec = STORIES[name].spec(seed=3)
    status = sidebar._status(spec.dataset)
    values = sidebar.defaults(status) | stories._control_values(spec)
    del values["dataset"]
    assert sidebar.select(status, values).spec == spec


@each_story
def test_the_link_of_a_story_opens_its_settings_in_a_new_session(open_page, name):
    """The link to Explore once left the address empty, so that a reload showed other data."""
    at = open_page("stories", story=name, seed="3")
    at.button(key="guess_0").click().run()
    links = [element.proto for element in at.get("page_link")]
    queries = [link.query_string for link in links if link.label.startswith("Open these settings")]
    if not queries:  # the story continues on another page
        return
    again = open_page("", **parse_qs(queries[0], keep_blank_values=True))
    assert not again.exception
    assert again.session_state["_selection"].spec == STORIES[name].spec(seed=3)


@each_story
def test_the_verdict_holds_for_another_seed(name):
    usual = judge(STORIES[name], finding_of(name))
    assert not usual.is_close
    assert usual.true in judge(STORIES[name], finding_of(name, seed=1)).possible


@each_story
def test_each_choice_names_the_ends_of_its_range(name):
    ends = [choice.below for choice in STORIES[name].choices]
    assert ends == sorted(ends) and ends[-1] == math.inf
    for choice, low, high in zip(STORIES[name].choices, [-math.inf, *ends], ends, strict=False):
        named = {float(number) for number in re.findall(r"\d+\.?\d*", choice.text)}
        assert {round(abs(end), 1) for end in (low, high) if math.isfinite(end)} <= named


@pytest.mark.parametrize(
    "name", [n for n, story in STORIES.items() if isinstance(story.finding, EnergyDifference)]
)
def test_the_number_is_the_difference_of_the_first_two_bars(name):
    finding = finding_of(name)
    points = float(finding.number.split()[0].replace("−", "-"))
    first, second = (np.mean(outcome.values) for outcome in finding.outcomes[:2])
    assert points == pytest.approx(100 * (second - first), abs=1.0)


def test_runs_on_both_sides_of_an_end_admit_both_choices():
    story = STORIES["preparation"]
    close = judge(story, Finding((4.0, 6.5, 5.5, 4.5), "", ""))
    assert close.is_close and close.possible == (1, 2) and close.true == 2
    assert close.n_agreeing == 2
    clear = judge(story, Finding((9.0, 10.0, 11.0), "", ""))
    assert clear.possible == (2,) and clear.n_agreeing == 3
    assert judge(story, Finding((4.999,), "", "")).possible == (1,)


def test_the_interval_misses_as_often_as_stated():
    """About 5 % of 4,000 means of five runs; five standard deviations are 69."""
    draws = np.random.default_rng(7).normal(size=(4_000, 5))
    intervals = (Finding(tuple(draw), "", "").interval for draw in draws)
    missed = sum(not low <= 0 <= high for low, high in intervals)
    assert abs(missed - 0.05 * 4_000) < 69


@pytest.mark.parametrize("name", ["broken-promise", "ten-looks"])
def test_an_epsilon_is_rounded_alike_in_figure_and_heading(open_page, name):
    """The bar said 20.1 where the heading said 20.2."""
    at = open_page("stories", story=name)
    at.button(key="guess_1").click().run()
    number = finding_of(name).number
    (figure,) = at.get("plotly_chart")
    labels = [load["text"] for load in json.loads(figure.proto.spec)["layout"]["annotations"]]
    assert f"<b>{number.removeprefix('ε = ')}</b>" in labels


def test_more_energy_is_compared_at_one_exact_epsilon():
    assert finding_of("free-energy").sentence.count("at an exact ε of 0.2") == 2


def test_ten_looks_cost_what_ten_gaussian_releases_compose_to():
    sigma = gaussian_sigma(PrivacyBudget(1.0, 0.01), 1.0)
    exact = gaussian_epsilon(0.01, sigma / math.sqrt(10), 1.0)
    assert finding_of("ten-looks").values == pytest.approx((exact,), rel=1e-6)


def test_a_story_is_charged_when_it_is_shown(open_page, monkeypatch):
    computed = []
    monkeypatch.setattr(cached, "rows", partial(_record, computed, cached.rows))
    at = open_page("stories", story="ten-looks")
    assert not computed
    at.button(key="guess_1").click().run()
    account = at.session_state["_accountants"]["mnist-small"]
    assert account.total(0.01) == pytest.approx(finding_of("ten-looks").mean, rel=1e-6)


def _record(computed: list[RunSpec], rows, spec: RunSpec):
    computed.append(spec)
    return rows(spec)
