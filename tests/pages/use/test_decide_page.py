"""Decide: three columns, a recommendation that its own runs bear out, reports to step through."""

from __future__ import annotations

import re
import time

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.experiments.decision import ENOUGH_RUNS, Option
from dpcore.experiments.pca import RunSpec
from pages.use.decide.page import conclusion


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


def finished(at: AppTest) -> AppTest:
    for _ in range(600):
        assert not at.exception
        if not any(button.label == "Stop" for button in at.button):
            return at
        time.sleep(0.1)
        at.run()
    pytest.fail("the decision did not end")


def texts(at: AppTest) -> str:
    return "\n".join(element.value for element in at.markdown)


def test_it_recommends_what_its_fresh_runs_reached_and_steps_through_reports(open_page):
    at = finished(open_page("use/decide", dataset="digits", components="5",
                            decide_trust="holder", decide_target="85"))  # fmt: skip
    assert not at.error
    said = texts(at).replace("\N{NO-BREAK SPACE}", " ")
    (hits,) = re.findall(r"Take “\w+”, ε = .* and (\d+) of 10 fresh runs reach 85 %", said)
    assert int(hits) >= ENOUGH_RUNS
    heads = re.findall(r"## (Cautious|Balanced|Detailed): ε = \S+(.*)", said)
    assert [name for name, _ in heads] == ["Cautious", "Balanced", "Detailed"]
    reached = [int(n) for n in re.findall(r"in this report\. (\d+) of 10 fresh runs", said)]
    for (_, badges), count in zip(heads, reached, strict=True):
        assert ("misses the target" in badges) == (count < ENOUGH_RUNS)
    assert sum("recommended" in badges for _, badges in heads) == 1
    assert "at δ = 10⁻⁵" in said and "every row is seen" in said
    assert len(re.findall(r"recognises \d+ of 100 digits", said)) == 3

    before = [element.proto.body for element in at.get("html") if "rebuilt" in element.proto.body]
    at.segmented_control(key="decide_report").set_value(2).run()
    after = [element.proto.body for element in at.get("html") if "rebuilt" in element.proto.body]
    assert len(before) == len(after) == 3 and not set(before) & set(after)


def test_where_no_option_reached_the_target_nothing_is_recommended():
    rows = tuple({"energy_ratio": 0.95, "repetition": n} for n in range(8))
    rows += tuple({"energy_ratio": 0.85, "repetition": n} for n in (8, 9))
    said = conclusion((Option("detailed", RunSpec(), 0.9, rows),))
    assert said.startswith("Nothing is recommended") and "8 of 10 fresh runs reach 90 %" in said
