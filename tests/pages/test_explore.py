"""Explore: what the page delivers to the browser, its switches, its tabs and its link to axes."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import fmean

import pytest

from dpcore.experiments.pca import RunSpec, run
from pages import cached
from pages.explore import explore
from tests.pages.opening import texts, visit, wait_for_jobs

SMALL = {"dataset": "digits", "repetitions": "2", "components": "5", "intermediate": "10"}


def delivered(at, name: str):
    """Return the data that the page handed to one element of the explorer."""
    elements = at.get("bidi_component")
    for element in elements:
        if name in element.proto.id:
            return json.loads(element.proto.bytes)
    raise AssertionError(f"no {name} among {len(elements)} elements")


def test_the_page_opens_with_the_six_controls_in_order_and_no_exception(open_page):
    at = open_page("", **SMALL)
    assert not at.exception
    keys = [each.key for each in at.sidebar if getattr(each, "key", None)]
    assert keys[:6] == ["dataset", "algorithm", "epsilon", "delta", "sites", "intermediate"]


def test_all_epsilons_arrive_with_floor_pictures_and_range(open_page):
    at = open_page("", **SMALL)
    wait_for_jobs(at)
    numbers = delivered(at, "explorer_numbers")
    assert numbers["count"] == ""
    frames = {frame["epsilon"]: frame for frame in numbers["frames"]}
    assert len(frames) == len(numbers["epsilons"]) == 15
    assert all(len(frame["energies"]["dpdis"]) == 2 for frame in frames.values())
    (floor,) = {frame["floor"] for frame in frames.values()}
    assert 0 < floor < 1
    assert "With no data at all" in frames[1.0]["floorText"]
    exact = delivered(at, "explorer_exact")
    assert len(exact["names"]) == 10 and exact["ranks"] == [1, 2, 3, 4, 5]


def test_the_switch_below_the_curve_and_the_sidebar_are_one_state(open_page):
    at = open_page("", **SMALL)
    assert at.toggle(key="explore_denoise").value is True
    at.toggle(key="explore_denoise").set_value(False).run()
    assert at.session_state["denoise"] == "none"
    at.sidebar.selectbox(key="denoise").set_value("auto").run()
    assert at.toggle(key="explore_denoise").value is True


def test_new_noise_draws_again_and_denoising_changes_no_noise(open_page):
    at = open_page("", **SMALL)
    seed = at.session_state["seed"]
    next(each for each in at.button if each.label == "New noise").click().run()
    assert at.session_state["seed"] != seed
    spec = RunSpec(dataset="digits", components=5, intermediate_dim=10)
    one = cached.one_run(spec, "dpdis")
    sigmas = {cached.rows_of_run(replace(one, denoise=d), 0)[0]["sigma"] for d in ("auto", "none")}
    assert len(sigmas) == 1


@pytest.mark.parametrize("tab", explore.TABS)
def test_every_tab_shows_something(open_page, tab):
    at = open_page("", **SMALL, explore_tab=tab)
    assert not at.exception
    assert at.main.children


@pytest.mark.parametrize(
    ("algorithm", "denoise", "has_edge"),
    [("full", "none", True), ("full", "auto", False), ("dpdis", "none", False)],
)
def test_the_edge_of_noise_is_drawn_where_it_holds(open_page, algorithm, denoise, has_edge):
    """The edge of undenoised noise was drawn over denoised eigenvalues, which it does not bound."""
    at = open_page("", **SMALL, algorithm=algorithm, denoise=denoise)
    at.session_state["explore_tab"] = "Spectrum"
    at.run()
    (figure,) = (json.loads(each.proto.spec) for each in at.get("plotly_chart"))
    assert bool(figure["layout"].get("shapes")) is has_edge
    assert ("Shaded" in texts(at)) is has_edge


def test_a_link_selects_the_algorithms(open_page):
    at = open_page("", epsilon="0.5", algorithm="pooled", compare=["full"], repetitions="2")
    assert at.session_state["algorithm"] == "pooled"
    assert at.session_state["compare"] == ["full"]
    assert [look["key"] for look in delivered(at, "explorer_numbers")["looks"]] == [
        "pooled", "full",
    ]  # fmt: skip


def test_the_present_epsilon_is_charged_and_curves_are_recorded(open_page):
    at = open_page("", **SMALL)
    account = at.session_state["_accountants"]["digits"]
    assert account.n_releases == 6  # two runs of three protocols
    assert "Curves next to the result" in account.uncovered


def test_a_table_is_drawn_as_named_columns(open_page):
    at = open_page("", dataset="breast-cancer", repetitions="1")
    exact = delivered(at, "explorer_exact")
    assert exact["kind"] == "bars"
    assert len(exact["columns"]) == 8 and "worst radius" in exact["columns"]
    assert {"malignant", "benign"} == set(exact["names"])


@pytest.mark.parametrize("dropped_sites", [0, 2])
def test_guarantees_without_a_draw_are_those_of_the_runs(dropped_sites):
    spec = RunSpec(
        dataset="digits", protocols=("dpdis", "pooled", "local", "full", "sequential"),
        sites=5, components=5, dropped_sites=dropped_sites,
    )  # fmt: skip
    drawn = {key: each.guarantee for key, each in cached.subspaces(spec).items()}
    assert cached.guarantees(spec) == drawn


def test_runs_of_two_protocols_do_not_depend_on_each_other():
    spec = RunSpec(dataset="digits", components=5, intermediate_dim=10, repetitions=1)
    together = {row["protocol"]: row["energy_ratio"] for row in run(spec)}
    for key in spec.protocols:
        assert cached.rows_of_run(cached.one_run(spec, key), 0)[0]["energy_ratio"] == together[key]
    assert fmean(together.values()) < 1


def test_the_axis_picker_opens_trade_offs(open_page):
    at = open_page("", **SMALL)
    at.selectbox(key="explore_axis").set_value("sites").run()
    assert not at.exception
    assert at.session_state["tradeoffs_field"] == "sites"
    visit(at, "tradeoffs")
    assert "captures" in texts(at) or "Waiting" in texts(at)


def test_the_score_plot_is_charged_in_addition_to_the_components(open_page):
    """The private picture stands next to the exact one, which is marked as not private."""
    at = open_page("", dataset="breast-cancer", protocols="pooled")
    at.session_state["explore_tab"] = "People"
    at.run()
    assert not at.exception
    assert "Not private" in texts(at) and "noisy counts" in texts(at)
    before = len(charges_of_session(at))
    at.select_slider(key="score_plot_epsilon").set_value(0.5).run()
    assert not at.exception and len(charges_of_session(at)) == before + 1


def charges_of_session(at):
    return at.session_state["_accountants"]["breast-cancer"].charges
