"""Stories: what is asked is answered from rows, and the visitor gets back what was theirs."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from statistics import fmean

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpcore.data import list_datasets
from dpcore.experiments.pca import RunSpec, run_repetitions
from dpcore.privacy import PrivacyBudget, gaussian_epsilon, gaussian_sigma
from pages.server import caches
from pages.shell.lessons import STORIES, Finding, SceneDifference, Story, judged
from pages.shell.parameters import SIDEBAR
from pages.shell.story_card import spec_of
from tests.pages import looking

DOCUMENT = looking.APP.parent / "docs" / "teaching.md"
each_story = pytest.mark.parametrize("name", STORIES)


@pytest.fixture(autouse=True)
def no_data_files(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    monkeypatch.setattr(caches, "dataset_statuses", list_datasets)


def opened(page: str = "explore/play", **query: str) -> AppTest:
    at = looking.opened(page, **query)
    assert not at.exception
    return at


def run(at: AppTest) -> AppTest:
    assert not at.run().exception
    return at


def words(at: AppTest) -> str:
    told = "\n".join(element.value for element in (*at.markdown, *at.caption))
    return told.replace("\u00a0", " ")


def large(at: AppTest) -> str:
    """The number that decides; empty where there is none yet."""
    shown = (element.proto.body for element in at.get("html"))
    return next((body.split(">")[-3].split("<")[0] for body in shown if "cqw" in body), "")


def shows_results(at: AppTest) -> bool:
    names = {part.proto.component_name for part in at.get("bidi_component")}
    return bool(names & {"energy_frames", "energy_picture"})


def own_settings(at: AppTest) -> dict[str, object]:
    return {name: at.session_state[name] for name in SIDEBAR}


def rows_at(story: Story, seed: int):
    """The rows of a story without any page."""
    return lambda moved: drawn(spec_of(story, seed, moved))


@cache
def drawn(spec: RunSpec):
    alone, problem = replace(spec, repetitions=1), caches.problems(spec.problem_key())
    draws = (run_repetitions([alone], problem, draw)[0] for draw in range(spec.repetitions))
    return [row for rows in draws for row in rows]


def test_every_story_is_told_one_after_the_other_and_leaves_what_was_there(monkeypatch):
    """Asked, guessed right, guessed wrong, on to the next; each verdict is what its rows say."""

    def as_selectbox(label, options, *, key, format_func, on_click, **_):
        """Streamlit's harness cannot press a menu."""
        return st.selectbox(label, options, None, format_func, key=key, on_change=on_click)

    monkeypatch.setattr(st, "menu_button", as_selectbox)
    at = opened(epsilon="0.5", sites="7", people="50", noise="triangle", repetitions="2")
    before = own_settings(at)
    for number, (name, story) in enumerate(STORIES.items()):
        if number:
            at.button(key="story_next").click()
        else:
            at.selectbox(key="stories").select(name)
        run(at)
        assert story.question in words(at) and not shows_results(at) and not large(at)
        truth = judged(story, story.finding(rows_at(story, 0)))
        run(at.button(key=f"guess_{truth.true}").click())
        assert "## You were right" in words(at)
        assert f"The answer: **“{story.choices[truth.true].text}”**" in words(at)
        assert truth.finding.sentence in words(at) and large(at) == truth.finding.number
        assert shows_results(at)
        at.session_state["_story_guess"] = (truth.true + 1) % len(story.choices)
        assert "## Not what you said" in words(run(at))
    assert own_settings(at) != before
    assert any(link.proto.page.endswith("ledger") for link in at.get("page_link"))
    run(at.button(key="story_ended").click())
    assert own_settings(at) == before
    assert shows_results(at) and "story" not in at.query_params


@each_story
def test_the_verdict_is_the_same_for_other_seeds(name):
    """And where it is not, the draws say that they cannot tell."""
    story = STORIES[name]
    usual = judged(story, story.finding(rows_at(story, 0)))
    assert not usual.is_close
    for seed in (1, 2):
        other = judged(story, story.finding(rows_at(story, seed)))
        assert usual.true in other.admitted


@each_story
def test_each_choice_names_the_numbers_it_is_true_between(name):
    ends = [choice.below for choice in STORIES[name].choices]
    assert ends == sorted(ends) and ends[-1] == math.inf
    for choice, low, high in zip(STORIES[name].choices, [-math.inf, *ends], ends, strict=False):
        named = {float(number) for number in re.findall(r"\d+\.?\d*", choice.text)}
        assert {round(abs(end), 1) for end in (low, high) if math.isfinite(end)} <= named


@each_story
def test_the_large_number_is_the_difference_of_what_rows_keep(name):
    story = STORIES[name]
    if isinstance(story.finding, SceneDifference):
        finding = story.finding(rows_at(story, 0))
        shown = float(re.sub(r" points?", "", finding.number).replace("−", "-"))
        assert shown == pytest.approx(fmean(finding.values), abs=1.0)


def test_close_draws_admit_both_sides_and_one_exact_number_admits_one():
    story = STORIES["preparation"]
    close = judged(story, Finding((4.0, 6.5, 5.5, 4.5), "", ""))
    assert close.is_close and close.admitted == (1, 2) and close.true == 2
    assert close.n_agreeing == 2
    clear = judged(story, Finding((9.0, 10.0, 11.0), "", ""))
    assert clear.admitted == (2,) and clear.n_agreeing == 3
    assert judged(story, Finding((4.999,), "", "")).admitted == (1,)


def test_what_is_called_close_holds_the_truth_as_often_as_it_says():
    """Of 4,000 means of ten draws about a twentieth miss by more: 200, give or take five
    standard deviations of 14.
    """
    draws = np.random.default_rng(7).normal(size=(4_000, 10))
    reaches = (Finding(tuple(each), "", "").reach for each in draws)
    missed = sum(not low <= 0 <= high for low, high in reaches)
    assert abs(missed - 0.047 * 4_000) < 5 * math.sqrt(0.047 * 4_000)


def test_free_energy_is_compared_at_one_exact_epsilon():
    story = STORIES["free-energy"]
    sentence = story.finding(rows_at(story, 0)).sentence
    assert sentence.count("at an exact ε of 1") == 2


def test_ten_looks_cost_what_ten_gaussian_releases_compose_to():
    story = STORIES["ten-looks"]
    sigma = gaussian_sigma(PrivacyBudget(1.0, 0.01), 1.0)
    exact = gaussian_epsilon(0.01, sigma / math.sqrt(10), 1.0)
    assert story.finding(rows_at(story, 0)).values == pytest.approx((exact,), rel=1e-6)


@pytest.mark.parametrize("page", ["explore/play", "use/ledger"])
def test_a_link_opens_the_story_from_anywhere(page):
    at = opened(page, story="delta")
    assert STORIES["delta"].question in words(at)
    assert at.session_state["delta"] == 1e-6
    assert not shows_results(at)
    assert at.session_state["dataset"] == "digits"
    run(at.button(key="story_left").click())
    assert (at.session_state["delta"], at.session_state["dataset"]) == (1e-5, "mnist-small")


def test_a_link_with_settings_is_a_view_of_the_story():
    at = opened(story="delta", epsilon="2", seed="5")
    assert at.session_state["delta"] == 1e-5
    assert at.session_state["epsilon"] == 2.0
    run(at.button(key="guess_0").click())
    # A verdict about other settings would stand over what they do not show.
    assert "the controls have been moved since" in words(at) and "The answer:" not in words(at)
    run(next(b for b in at.button if b.label == "Back to the story's settings").click())
    assert "The answer:" in words(at)
    at = opened(story="delta", seed="5")
    assert (at.session_state["delta"], at.session_state["seed"]) == (1e-6, 5)


def test_a_story_nobody_tells_is_said():
    at = opened(story="nonsense")
    (sentence,) = (warning.value for warning in at.warning)
    assert sentence.startswith("In the address, story must be none or one of people, ")
    assert sentence.endswith("got nonsense: showing none.")
    assert shows_results(at)


def test_the_teacher_has_a_section_on_every_story():
    sections = re.split(r"^## ", DOCUMENT.read_text(), flags=re.MULTILINE)
    by_title = {section.partition("\n")[0]: section for section in sections}
    for name, story in STORIES.items():
        section = " ".join(by_title[story.title].split())
        assert f"`?story={name}`" in section
        assert story.question in section
        for part in ("Aim.", "Minutes.", "They see.", "Discuss.", "What goes wrong."):
            assert f"**{part}**" in section, (name, part)
