"""What an address asks for and cannot have is named, on the page, beside what is shown instead."""

from __future__ import annotations

import pytest

from pages.shell import share
from pages.shell.parameters import DEFAULTS, SIDEBAR
from tests.pages.looking import gone, shared_link


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("epsilon", "-3", "1"),
        ("delta", "2", "0.00001"),
        ("sites", "5000", "5"),
        ("components", "1000", "20"),
        ("dataset", "nonesuch", "mnist-small"),
        ("calibration", "hopeful", "analytic"),
        ("seed", "-1", "0"),
    ],
)
def test_a_value_out_of_range_is_named(open_page, name, value, shown):
    at = open_page("explore/play", **{name: value})
    assert not at.exception
    (sentence,) = (warning.value for warning in at.warning)
    assert sentence.startswith(
        f"In the address, {name} must be {SIDEBAR[name].offered}, got {value}: "
    )
    assert sentence.endswith(f"showing {shown}.")


def test_the_sentence_goes_when_the_control_is_moved(open_page):
    at = open_page("explore/play", epsilon="-3").run()
    assert len(at.warning) == 1
    at.select_slider(key="epsilon").set_value(2.0).run()
    assert not at.warning


def test_a_page_s_own_controls_are_watched_too(open_page):
    at = open_page("explore/cca", cca_pairs="-7")
    assert any(
        "cca_pairs must be" in warning.value and "got -7" in warning.value for warning in at.warning
    )


def test_a_link_followed_by_a_browser_that_lags_behind_keeps_epsilon(open_page):
    at = open_page("use/own_data", epsilon="2")
    # What a browser still sends of a control out of sight as the link is followed.
    at.select_slider(key="epsilon").set_value(1.0)
    assert gone(at, "explore/play").select_slider(key="epsilon").value == 2.0


def test_what_a_page_does_not_draw_is_told_as_long_as_one_is_there(open_page):
    at = open_page("explore/statistics", stat_bins="1_000")
    for _ in range(2):
        assert any("stat_bins must be" in warning.value for warning in at.warning)
        at.run()
    assert not gone(at, "learn/stories").warning


def test_a_good_address_is_not_commented_on(open_page):
    assert not open_page(
        "explore/play", epsilon="0.5", dataset="digits", repetitions="2", sites="5"
    ).warning


def test_every_shared_control_is_in_the_table():
    assert set(SIDEBAR) == set(DEFAULTS) | {"components", "intermediate"}
    assert all(parameter.offered for parameter in SIDEBAR.values())


def test_a_page_that_stops_early_says_it_too(open_page):
    at = open_page("explore/eigen_images", dataset="kddcup99", method="none", sites="x")
    told = [warning.value for warning in at.warning]
    assert any(each.startswith("In the address, method must be") for each in told)
    assert any(each.startswith("In the address, sites must be") for each in told)


@pytest.mark.parametrize("page", ["explore/central", "explore/sample_complexity"])
def test_the_link_restores_what_has_been_moved_since_the_page_was_opened(open_page, page):
    at = open_page(page, delta="0.001")
    at.select_slider(key="epsilon").set_value(0.5).run()
    assert shared_link(at) == "/?delta=0.001&epsilon=0.5"


# Of the sidebar, of these pages, of others, and of a control that is drawn for histograms alone.
EVERYWHERE = {
    "epsilon": "0.5", "sites": "7", "protocols": "Full matrices", "people": "100", "seed": "3",
    "complexity_gap": "0.1", "plan_target": "60", "stat_bins": "12", "tradeoffs_published": "true",
    "epsilons": ["2", "0.1"], "promise_prior": "20",
}  # fmt: skip
CHEAP = ("learn/stories", "learn/promise", "explore/sample_complexity", "use/ledger", "learn/audit")


@pytest.mark.parametrize("page", CHEAP)
def test_a_page_keeps_what_the_address_says_of_others(open_page, page):
    at = open_page(page, **EVERYWHERE)
    assert at.query_params == EVERYWHERE
    assert gone(at, "explore/sample_complexity").query_params == EVERYWHERE
    assert at.select_slider(key="complexity_gap").value == 0.1
    at.select_slider(key="complexity_gap").set_value(0.2).run()
    assert gone(at, page).query_params == EVERYWHERE | {"complexity_gap": "0.2"}
    assert gone(at, "explore/sample_complexity").select_slider(key="complexity_gap").value == 0.2


def test_delta_follows_the_data_set_until_one_is_chosen(open_page):
    at = open_page("use/ledger", dataset="synthetic")
    assert at.select_slider(key="delta").value == 1e-6
    for name, delta in (("digits", 1e-5), ("census", 1e-7), ("mnist-small", 1e-5)):
        at.selectbox(key="dataset").select(name).run()
        assert at.select_slider(key="delta").value == delta
        assert "delta" not in at.query_params and not at.exception
    at.select_slider(key="delta").set_value(1e-4).run()
    at.selectbox(key="dataset").select("census").run()
    assert at.query_params == {"dataset": "census", "delta": "0.0001"}


def test_an_address_keeps_the_delta_it_gives(open_page):
    at = open_page("use/ledger", dataset="census", delta="0.00001")
    assert at.select_slider(key="delta").value == 1e-5
    assert at.query_params == {"dataset": "census", "delta": "0.00001"}


def test_a_control_that_another_hides_keeps_its_value(open_page):
    at = open_page("explore/statistics", stat_kind="Histogram", stat_bins="12")
    at.button_group(key="stat_kind").set_value("mean").run()
    assert at.query_params == {"stat_bins": "12"}
    at.button_group(key="stat_kind").set_value("histogram").run()
    assert at.slider(key="stat_bins").value == 12


def test_explanations_open_under_the_present_settings(open_page):
    at = open_page("explore/statistics", epsilon="5", stat_kind="Variance")
    told = [element.proto.body for element in at.get("html")]
    assert any('href="promise?epsilon=5&amp;stat_kind=Variance#requested"' in each for each in told)


@pytest.mark.parametrize(
    ("listens_at", "visited", "shared"),
    [
        ("127.0.0.1", "http://localhost:8501/plan", "http://localhost:8501/plan"),
        (None, "http://localhost:8501/plan", "http://192.0.2.7:8501/plan"),
        ("0.0.0.0", "http://127.0.0.1:8501", "http://192.0.2.7:8501/"),
        ("192.0.2.8", "http://localhost:8501/", "http://192.0.2.8:8501/"),
        ("0.0.0.0", "https://lab.example/app/plan", "https://lab.example/app/plan"),
    ],
)
def test_a_link_carries_an_address_that_others_reach(monkeypatch, listens_at, visited, shared):
    monkeypatch.setattr(share.st, "get_option", {"server.address": listens_at}.get)
    monkeypatch.setattr(share, "internal_ip", lambda: "192.0.2.7")
    assert share.reachable(visited) == shared


def test_a_link_has_the_name_that_the_servers_owner_gave_it(monkeypatch):
    """It had the first interface's number, which need not be the one that phones are on."""
    given = {"server.address": "0.0.0.0", "browser.serverAddress": "lab.local"}
    monkeypatch.setattr(share.st, "get_option", given.get)
    monkeypatch.setattr(share, "internal_ip", lambda: "192.0.2.7")
    assert share.reachable("http://localhost:8501/plan") == "http://lab.local:8501/plan"
    monkeypatch.setitem(given, "server.address", "127.0.0.1")
    assert share.reachable("http://localhost:8501/plan") == "http://localhost:8501/plan"
