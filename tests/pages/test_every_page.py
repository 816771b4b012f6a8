"""All pages: they open whole, survive any link, and charge the private results that they show."""

from __future__ import annotations

import pytest

from dpcore.experiments.engine.charge_keys import compute_charges
from dpcore.experiments.engine.fields import version_fields
from pages import cached, sidebar
from pages.navigation import ENTRIES
from tests.pages.opening import texts, visit

NAMES = [entry.name for entry in ENTRIES]
# Quick settings for pages that run the experiments of the sidebar.
QUICK = {"dataset": "digits", "repetitions": "1", "components": "5"}
# Ten columns, so that K and R of a page have to be limited.
NARROW = {"dataset": "diabetes", "repetitions": "1"}
WITH_CONTROLS = ("explore", "compare", "how_it_works", "decide")
EXTREME_SETTINGS = (
    {"epsilon": "0.001", "delta": "1e-9", "sites": "1", "components": "1", "intermediate": "1"},
    {"epsilon": "50", "delta": "0.1", "sites": "100", "components": "64", "intermediate": "64"},
    {"people": "10", "sites": "2", "components": "10", "intermediate": "1"},
    {"dropped_sites": "4", "masks": "wide", "algorithm": "cape", "split": "dirichlet"},
    {"calibration": "published", "noise": "triangle", "truncation": "svd", "denoise": "none"},
    {"preparation": "published", "calibration": "classic", "epsilon": "5"},
)


@pytest.mark.parametrize("address", NAMES)
def test_every_address_opens_a_whole_page(open_page, address):
    at = open_page(address, **NARROW)
    assert not at.exception, [exception.value for exception in at.exception]
    assert not at.error, [error.value for error in at.error]
    # The start page's heading is in its figure.
    assert len(at.title) == (address != NAMES[0])
    assert texts(at)


@pytest.mark.parametrize(
    ("address", "absent"),
    [
        ("statistics", {"stat_source": "kddcup99"}),
        ("classification", {"dataset": "kddcup99"}),
        ("classification", {"dataset": "synthetic"}),
        ("cca", {"cca_data": "mfeat"}),
    ],
)
def test_an_analysis_without_a_result_has_a_heading_above_its_notice(open_page, address, absent):
    at = open_page(address, **absent)
    assert len(at.title) == len(at.info) == 1 and not at.exception


def test_moving_between_pages_keeps_the_shared_controls(open_page):
    at = open_page("explore", **QUICK, sites="7")
    at.select_slider(key="epsilon").set_value(0.5).run()
    for name in NAMES:
        visit(at, name)
        assert not at.exception, name
    visit(at, "explore")
    assert at.select_slider(key="epsilon").value == 0.5
    assert at.session_state["_selection"].spec.sites == 7
    assert at.selectbox(key="dataset").value == "digits"


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        # Sites are the only shared control that Decide uses.
        (name, setting)
        for name in WITH_CONTROLS
        for setting in EXTREME_SETTINGS
        if name != "decide" or "sites" in setting
    ],
)
def test_extreme_settings_give_a_page_or_one_sentence(open_page, name, setting):
    at = open_page(name, **(QUICK | setting))
    assert not at.exception, [exception.value for exception in at.exception]
    assert len(at.error) <= 1
    assert texts(at)


@pytest.mark.parametrize("name", ["explore", "compare", "decide"])
def test_absent_data_are_explained(open_page, name):
    at = open_page(name, dataset="fashion-mnist", decide_data="fashion-mnist")
    assert not at.exception
    assert any("not on this machine" in notice.value for notice in at.info)


@pytest.mark.parametrize("name", NAMES)
def test_private_results_are_charged_before_they_are_shown(open_page, monkeypatch, name):
    """Rows that a page reads are in its ledger, or its curves are recorded as not covered."""
    collected = []
    original = cached.rows_of_run

    def rows_of_run(spec, repetition):
        rows = original(spec, repetition)
        collected.extend(rows)
        return rows

    rows_of_run.peek = original.peek
    monkeypatch.setattr(cached, "rows_of_run", rows_of_run)
    at = open_page(name, **QUICK)
    assert not at.exception and not at.error
    accounts = at.session_state["_accountants"] if "_accountants" in at.session_state else {}
    for charge in compute_charges(collected):
        account = accounts[charge.release.dataset]
        charged = {charge.release.identity for charge in account.charges.values()}
        assert charge.release.identity in charged or account.uncovered, name


def test_the_published_settings_are_the_defaults():
    fields = version_fields("published", 1000)
    assert {name: sidebar.DEFAULTS[name] for name in fields} == fields


@pytest.mark.parametrize("name", ["own_table", "release", "classroom"])
def test_a_public_demo_closes_pages_that_take_data(open_page, monkeypatch, name):
    monkeypatch.setenv("DPCORE_PUBLIC_DEMO", "1")
    at = open_page(name)
    assert not at.exception
    assert "public demo" in texts(at)
    assert not at.get("file_uploader")
    assert "release_now" not in {button.key for button in at.button}
