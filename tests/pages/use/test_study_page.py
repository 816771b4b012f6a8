"""A study across sites: guards of their own, watched to its end from the page."""

from __future__ import annotations

import time

import pytest

from dpcore.federated.rehearsal import digits_plan
from pages.use import study as studies


@pytest.fixture(autouse=True)
def nobody_before():
    studies._LAST.clear()


def finished(at):
    for _ in range(900):
        assert not at.exception
        study = studies.shown()
        if study is not None and not study.goes_on:
            return at.run()
        time.sleep(0.1)
    pytest.fail("the study did not end")


@pytest.mark.parametrize("silent", [False, True])
def test_a_study_is_started_and_watched_to_its_end(open_page, silent):
    at = open_page("use/study", study_sites="3", study_epsilon="5", study_silent=str(silent))
    assert "What holds" in " ".join(each.value for each in at.markdown)
    at.button(key="study_start").click().run()
    assert not at.exception
    if studies.shown().goes_on:
        assert not [button for button in at.button if button.key == "study_start"]
    finished(at)
    study = studies.shown()
    assert study.state.phase == "done", study.state.why
    told = " ".join(each.value for each in at.markdown)
    assert f"from {2 if silent else 3} hospitals" in told
    assert study.state.attempt == (2 if silent else 1)
    # An odometer's number for two attempts; a plan of two at ε = 5 has 7.54.
    assert ("2 attempts were drawn" in told and "ε = 8.2" in told) is silent
    assert not at.error and at.button(key="study_start").label.startswith("Start it again")
    assert study.result["components"].shape == (10, 64)


def test_one_at_a_time(open_page, monkeypatch):
    at = open_page("use/study")
    monkeypatch.setattr(studies, "shown", lambda: studies.Shown(digits_plan(3), ""))
    monkeypatch.setattr(studies, "_LAST", [studies._Study(digits_plan(3), "")])
    with pytest.raises(studies.ParameterError, match="no other goes on"):
        studies.begin(digits_plan(3))
    at.run()
    assert "Guards are starting" in at.info[0].value
    assert not [button for button in at.button if button.key == "study_start"]
