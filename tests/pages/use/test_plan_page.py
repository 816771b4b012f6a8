"""What would it take? Answers, maps, and targets nobody reaches."""

from __future__ import annotations

import json
import re
import time
from html import unescape

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.data import dataset_status
from dpcore.experiments import targets
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.targets import recommend
from dpcore.privacy import describe
from pages.use.plan import page as plan
from pages.use.plan.page import how_sure, question_of


@pytest.fixture
def open_page(open_on_digits):
    return open_on_digits


def find_best(*question, **options):
    *_, answer = recommend(*question, **options)
    return answer


def finished(at: AppTest) -> AppTest:
    """The page once its search has ended; small data begin by themselves."""
    latest = time.monotonic() + 300
    while any(button.label == "Stop" for button in at.button):
        assert time.monotonic() < latest, "the search did not end"
        time.sleep(0.1)
        at.run()
        assert not at.exception
    return at


def texts(at: AppTest) -> str:
    return "\n".join(element.value for element in at.markdown).replace("\u00a0", " ")


def charts(at: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]


QUICK = {"repetitions": "2", "components": "5"}


@pytest.fixture
def few_protocols(monkeypatch):
    """Chains take longer than all the others."""
    keys = ("dpdis", "full", "pooled", "cape")
    few = {key: targets.PROTOCOLS[key] for key in keys}
    monkeypatch.setattr(targets, "PROTOCOLS", few)


def test_the_cheapest_way_with_its_own_guarantee_and_what_was_tried(open_page, few_protocols):
    at = finished(open_page("use/plan", **QUICK, epsilon="20", plan_target="70"))
    assert not at.error
    answer = find_best(RunSpec(repetitions=2, components=5, intermediate_dim=20), 0.7)
    epsilon = answer.best.value
    assert epsilon < 20
    assert (
        f"that keeps 70 % of what exact PCA captures: with **{answer.best.ranked.way.label}**"
        in (texts(at))
    )
    assert "In 2 fresh runs that had no part in the search" in texts(at)
    assert f"**Runner-up:** {answer.runner_up.ranked.way.label} at ε = " in texts(at)
    assert [block.value for block in at.code if "70 % of the optimum" in block.value] == [
        answer.sentence
    ]
    # The card is the answer's and not the sidebar's.
    (card,) = [each.proto.body for each in at.get("html") if "<dl" in each.proto.body]
    assert f"ε = {epsilon:g}" in card and "ε = 20" not in card
    (tried,) = charts(at)
    assert tried["layout"]["shapes"][-1]["y0"] == 0.7
    assert any(len(trace.get("x", ())) > 1 for trace in tried["data"])
    table = at.dataframe[0].value
    assert table["reaches the target"].any() and not table["reaches the target"].all()


def test_one_click_opens_the_answer(open_page, few_protocols):
    at = finished(open_page("use/plan", **QUICK, plan_target="70", preparation="published"))
    answer = find_best(RunSpec(repetitions=2, components=5, intermediate_dim=20), 0.7)
    label = f"Open {answer.runner_up.ranked.way.label}"
    next(button for button in at.button if button.label == label).click().run()
    assert not at.exception and at.title[0].value == "Play"
    way = answer.runner_up.ranked.way
    asked = {"epsilon": answer.runner_up.value, "protocols": [way.protocol], "seed": 0,
             "preparation": way.preparation, "knowledge": way.knowledge, "components": 5,
             "intermediate": 20, "calibration": "analytic", "repetitions": 2}  # fmt: skip
    assert {name: at.session_state[name] for name in asked} == asked


def test_out_of_reach_says_the_most_there_is(open_page, few_protocols):
    at = finished(open_page("use/plan", **QUICK, plan_target="99", plan_find="the smallest R"))
    assert not at.error
    assert "is the most within reach, with **DPdisPCA" in texts(at)
    assert any("is out of reach: the most is" in block.value for block in at.code)


def test_what_has_no_r_does_not_blank_the_page(open_page, few_protocols):
    query = QUICK | {"plan_find": "the smallest R", "plan_protocol": "CAPE", "plan_target": "60"}
    at = finished(open_page("use/plan", **query))
    assert not at.error
    assert "CAPE sends no leading directions" in at.warning[0].value
    assert "is the smallest R that keeps 60 %" in texts(at)


def test_moving_what_is_looked_for_asks_nothing_anew():
    asked = [
        [question_of(RunSpec(epsilon=epsilon), 0.7, field, "every") for epsilon in (1.0, 2.0)]
        for field in ("epsilon", "sites")
    ]
    assert asked[0][0] == asked[0][1] and asked[1][0] != asked[1][1]


def test_larger_data_wait_to_be_asked(open_page):
    at = open_page("use/plan", dataset="synthetic")
    assert not at.exception
    assert any(button.label == "Run" for button in at.button)


def test_a_summary_for_a_decision_says_what_the_page_found(open_page, few_protocols, monkeypatch):
    pages: list[str] = []
    made = plan.summary
    monkeypatch.setattr(plan, "summary", lambda *of: pages.append(made(*of)) or pages[-1])
    finished(open_page("use/plan", **QUICK, epsilon="20", plan_target="70", seed="3"))
    spec = RunSpec(repetitions=2, components=5, intermediate_dim=20, seed=3)
    answer = find_best(spec, 0.7)
    said = unescape(pages[-1])
    assert answer.sentence in said and how_sure(answer) in said
    best = answer.best.spec
    card = describe(best.promise(best.protocols[0], dataset_status("digits")))
    assert card.headline in said and "at seed 3" in said and "1,797 pictures at 5 sites" in said
    assert all(str(each) in said for each in card.assumptions)
    assert "would have used up" in said and not re.search(r"\{\w+\}", said.split("</style>")[1])
