"""The 2012 paper's figures on a page."""

from __future__ import annotations

import time

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.privacy import Cap
from pages.widgets import session_ledger
from tests.pages.looking import opened

PAGE = "use/reproduce_2012"


@pytest.fixture(autouse=True)
def no_data_files(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))


def words(at: AppTest) -> str:
    return "\n".join(element.value for element in at.markdown)


def test_figure_2_runs_and_says_whether_the_claims_hold():
    at = opened(PAGE)
    assert not at.exception
    # Nobody has to ask for what takes a moment.
    for _ in range(1500):
        at.run()
        if "What the paper claims" in words(at):
            break
        time.sleep(0.2)
    assert not at.exception
    assert "survives with **PPCA**" in words(at)
    assert "✓ holds" in words(at)


def test_whoever_has_a_cap_spends_by_hand(monkeypatch):
    monkeypatch.setattr(session_ledger, "cap", lambda: Cap(1.0, 0.01))
    at = opened(PAGE)
    assert not at.exception
    assert "The paper claims" in words(at) and "survives with **PPCA**" not in words(at)
    assert not any(button.label == "Stop" for button in at.button)


def test_a_figure_without_its_data_says_how_to_get_them():
    at = opened(PAGE)
    box = at.selectbox(key="reproduce_2012_figure")
    assert box.options[0].startswith("Figure 1: ")
    box.set_value("2012-fig1-kddcup").run()
    assert not at.exception
    assert "kddcup.data_10_percent" in at.info[0].value
    assert next(button for button in at.button if button.label == "Run").disabled
