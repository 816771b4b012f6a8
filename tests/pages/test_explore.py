"""Explore: what the page delivers to the browser, its switches, its tabs and its axes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import groupby
from statistics import fmean
from types import SimpleNamespace

import numpy as np
import pytest

from dpcore.experiments.engine.fields import version_fields
from dpcore.experiments.engine.summaries import percent
from dpcore.experiments.pca import RunSpec, run
from dpcore.params import DELTAS, EPSILONS
from pages import cached
from pages.components.explorer import component
from pages.explore import axes, eigen_images, tabs
from tests.pages.opening import open_advanced, texts, wait_for_jobs

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
    keys = [element.key for element in at.sidebar if getattr(element, "key", None)]
    assert keys[:6] == ["dataset", "algorithm", "epsilon", "delta", "sites", "intermediate"]
    wait_for_jobs(at)
    assert re.search(r"would cost ε = [\d.]+, δ = 0\.01\.", texts(at)), "an ε without its δ"


def test_the_app_opens_with_the_algorithm_as_published(open_page):
    """Earlier it opened with the improved version, and the published one took four controls."""
    at = open_page("", repetitions="1")
    spec = at.session_state["_selection"].spec
    assert spec == replace(RunSpec.published(), **{name: getattr(spec, name) for name in (
        "dataset", "protocols", "components", "intermediate_dim", "repetitions")})  # fmt: skip
    assert (spec.dataset, spec.components, spec.delta) == ("mnist-small", 30, 0.01)


def test_every_step_arrives_with_floor_pictures_range_and_the_other_version(open_page):
    at = open_page("", **SMALL)
    wait_for_jobs(at)
    numbers = delivered(at, "explorer_numbers")
    assert numbers["count"] == ""
    frames = numbers["frames"]
    assert [frame["at"] for frame in frames] == list(range(15)) and len(numbers["steps"]) == 15
    names = [line["id"] for line in numbers["lines"]]
    assert names == ["dpdis", "pooled", "local", "dpdis improved"]
    assert [line["thin"] for line in numbers["lines"]] == [False] * 3 + [True]
    assert numbers["lines"][3]["colour"] == numbers["lines"][0]["colour"]
    assert all(len(frame["energies"][name]) == 2 for frame in frames for name in names)
    assert len({frame["floor"] for frame in frames}) == 1
    frame_at_one = frames[EPSILONS.index(1.0)]
    assert (
        frame_at_one["other"]
        == f"improved {percent(fmean(frame_at_one['energies']['dpdis improved']))}"
    )
    assert "Exact ε: 0.811" in frame_at_one["range"]
    exact = delivered(at, "explorer_exact")
    assert len(exact["names"]) == 10 and exact["ranks"] == [1, 2, 3, 4, 5]


def version_shown(at) -> str:
    return at.session_state["_selection"].version


def test_the_switch_sets_every_setting_and_one_changed_setting_makes_it_custom(open_page):
    at = open_page("", **SMALL)
    for version in ("improved", "published"):
        at.toggle(key="explore_improved").set_value(version == "improved").run()
        spec = at.session_state["_selection"].spec
        fields = version_fields(version, 1797)
        assert {name: getattr(spec, name) for name in fields} == fields
        assert version_shown(at) == version
    open_advanced(at).sidebar.selectbox(key="denoise").set_value("auto").run()
    assert version_shown(at) == "custom"
    assert any("Custom" in text.value for text in at.markdown)
    for is_improved in (True, False):
        at.toggle(key="explore_improved").set_value(is_improved).run()
    assert (version_shown(at), at.session_state["denoise"]) == ("published", "none")


def test_a_moved_delta_is_kept_by_the_switch_and_is_the_same_in_both_versions(open_page):
    at = open_page("", **SMALL, delta="0.001")
    at.toggle(key="explore_improved").set_value(True).run()
    selection = at.session_state["_selection"]
    assert selection.spec.delta == 0.001
    steps = axes.steps_of(selection, "epsilon").steps
    assert {step.other.delta for step in steps} == {0.001}


def test_a_link_to_the_improved_version_sets_it_and_short_names_stay_in_the_address(open_page):
    at = open_page("", **SMALL, version="improved", algorithm="ag")
    assert version_shown(at) == "improved"
    assert at.session_state["_selection"].spec.protocols[0] == "ag"
    assert at.query_params["dataset"] == "digits"
    assert at.query_params["algorithm"] == "ag" and at.query_params["version"] == "improved"
    at.sidebar.selectbox(key="dataset").set_value("breast-cancer").run()
    assert at.query_params["dataset"] == "breast-cancer"


@pytest.mark.parametrize("axis", [name for name in axes.SYMBOLS if name != "epsilon"])
def test_every_axis_changes_the_curve_in_place(open_page, axis):
    """Earlier the picker opened another page."""
    at = open_page("", **SMALL | {"repetitions": "1"}, axis=axis)
    wait_for_jobs(at)
    assert not at.exception
    numbers, selection = delivered(at, "explorer_numbers"), at.session_state["_selection"]
    steps = axes.steps_of(selection, axis)
    assert numbers["symbol"] == axes.SYMBOLS[axis]
    assert [frame["at"] for frame in numbers["frames"]] == list(range(len(steps.steps)))
    assert len({frame["where"] for frame in numbers["frames"]}) == len(steps.steps) >= 5
    # Each step is what its controls select, and the present one is the selection.
    assert steps.steps[steps.present].spec == selection.spec
    for name, value in steps.steps[0].controls:
        at.session_state[name] = value
    at.run()
    assert at.session_state["_selection"].spec == steps.steps[0].spec


def test_delta_has_its_private_end_on_the_left_and_says_where_it_is_above_one_in_n(open_page):
    at = open_page("", **SMALL)
    slider = at.sidebar.select_slider(key="delta")
    assert [float(option) for option in slider.options] == sorted(DELTAS)
    assert "above 1/n" in slider.label
    slider.set_value(1e-5).run()
    assert "above 1/n" not in at.sidebar.select_slider(key="delta").label


def test_a_central_algorithm_greys_sites_and_directions_with_the_reason(open_page):
    at = open_page("", **SMALL, algorithm="ag")
    for key in ("sites", "intermediate"):
        assert at.sidebar.slider(key=key).disabled
        assert "no sites" in at.sidebar.slider(key=key).help
    at.sidebar.selectbox(key="algorithm").set_value("dpdis").run()
    assert not any(at.sidebar.slider(key=key).disabled for key in ("sites", "intermediate"))


def test_algorithms_are_grouped_and_absent_data_say_download(open_page):
    at = open_page("", **SMALL)
    options = at.sidebar.selectbox(key="algorithm").options
    groups = [option.partition(": ")[0] if ": " in option else "sites" for option in options]
    assert [key for key, _ in groupby(groups)] == ["sites", "Central", "More"]
    assert groups.count("sites") == groups.count("Central") == 4
    datasets = at.sidebar.selectbox(key="dataset").options
    assert "MNIST 14 × 14" in datasets and "Fashion-MNIST · download" in datasets


def test_advanced_has_no_controls_that_change_nothing(open_page):
    """Earlier CAPE's masks, drop-outs and the concentration were always there."""
    at = open_advanced(open_page("", **SMALL))

    def shown() -> set[str]:
        return {element.key for element in at.sidebar if getattr(element, "key", None)}

    assert not shown() & {"masks", "dropped_sites", "concentration"}
    at.sidebar.selectbox(key="algorithm").set_value("cape").run()
    assert "masks" in shown()
    at.sidebar.selectbox(key="split").set_value("dirichlet").run()
    assert "concentration" in shown()


def in_address(at, name: str) -> list[str]:
    """Return the values of a control in the address; AppTest drops the list around a single one."""
    values = at.query_params.get(name, [])
    return [values] if isinstance(values, str) else values


def test_settings_of_advanced_stay_in_the_address_while_it_is_closed(open_page):
    """Drawn controls took half of the time of a page run, and a closed expander hid them."""
    at = open_page("", **SMALL, noise="isometric")
    assert "noise" not in {element.key for element in at.sidebar.selectbox}
    assert in_address(at, "noise") == ["isometric"]
    open_advanced(at).sidebar.multiselect(key="compare").set_value(["full"]).run()
    at.session_state["advanced"] = False
    at.run()
    assert in_address(at, "compare") == ["full"]
    assert at.session_state["_selection"].spec.protocols == ("dpdis", "full")
    at.toggle(key="explore_improved").set_value(True).run()
    at.toggle(key="explore_improved").set_value(False).run()
    assert version_shown(at) == "published"
    assert in_address(at, "noise") == [] and in_address(at, "compare") == ["full"]


def test_eigen_images_of_the_poster_have_signs_cosines_and_one_number_a_row(open_page):
    spec = RunSpec.published(dataset="digits", components=5, protocols=("dpdis",), repetitions=1)
    specs = [replace(spec, epsilon=epsilon) for epsilon in (50.0, 0.1)]
    exact, strong, weak = eigen_images.eigen_rows(specs, spec, (8, 8), dark=False)
    assert len(exact.tiles) == len(strong.tiles) == len(strong.cosines) == 5
    assert exact.share is None
    assert 1 >= strong.share > 0.95 > weak.share
    released = cached.subspaces(specs[1])["dpdis"].components
    overlap = released @ cached.problems(spec.problem_key()).exact_components[:5].T
    assert weak.share == pytest.approx(np.sum(overlap**2) / 5)
    assert weak.cosines == pytest.approx(np.abs(np.diag(overlap)))


def test_new_noise_draws_again_and_denoising_changes_no_noise(open_page):
    at = open_page("", **SMALL)
    seed = at.session_state["_selection"].spec.seed
    next(button for button in at.button if button.label == "New noise").click().run()
    assert at.session_state["_selection"].spec.seed != seed
    spec = RunSpec(dataset="digits", components=5, intermediate_dim=10)
    one = cached.one_run(spec, "dpdis")
    sigmas = {cached.rows_of_run(replace(one, denoise=d), 0)[0]["sigma"] for d in ("auto", "none")}
    assert len(sigmas) == 1


@pytest.mark.parametrize("tab", tabs.TITLES)
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
    at = open_page("", **SMALL, algorithm=algorithm, version="improved", denoise=denoise)
    at.session_state["explore_tab"] = "Spectrum"
    at.run()
    (figure,) = (json.loads(element.proto.spec) for element in at.get("plotly_chart"))
    assert bool(figure["layout"].get("shapes")) is has_edge
    assert ("Shaded" in texts(at)) is has_edge


def test_a_link_selects_the_algorithms(open_page):
    at = open_page("", epsilon="0.5", algorithm="pooled", compare=["full"], repetitions="2")
    assert at.session_state["algorithm"] == "pooled"
    assert at.session_state["compare"] == ["full"]
    assert [line["id"] for line in delivered(at, "explorer_numbers")["lines"][:2]] == [
        "pooled", "full",
    ]  # fmt: skip


def test_the_present_epsilon_is_charged_and_curves_are_recorded(open_page):
    at = open_page("", **SMALL, version="improved")
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
    drawn = {key: subspace.guarantee for key, subspace in cached.subspaces(spec).items()}
    assert cached.guarantees(spec) == drawn


def test_runs_of_two_protocols_do_not_depend_on_each_other():
    spec = RunSpec(dataset="digits", components=5, intermediate_dim=10, repetitions=1)
    together = {row["protocol"]: row["energy_ratio"] for row in run(spec)}
    for key in spec.protocols:
        assert cached.rows_of_run(cached.one_run(spec, key), 0)[0]["energy_ratio"] == together[key]
    assert fmean(together.values()) < 1


def test_the_score_plot_is_charged_in_addition_to_the_components(open_page):
    """The page shows the private picture next to the exact one, marked as not private."""
    at = open_page("", dataset="breast-cancer", version="improved", algorithm="pooled")
    at.session_state["explore_tab"] = "People"
    at.run()
    assert not at.exception
    assert "Not private" in texts(at) and "noisy counts" in texts(at)
    before = len(charges_of_session(at))
    at.select_slider(key="score_plot_epsilon").set_value(0.5).run()
    assert not at.exception and len(charges_of_session(at)) == before + 1


def charges_of_session(at):
    return at.session_state["_accountants"]["breast-cancer"].charges


@pytest.mark.parametrize(
    ("link", "label"),
    [
        ({}, "random directions"),
        ({"version": "improved"}, "without any data"),
        # Noise of the published shape is not denoised, whatever the control says.
        ({"denoise": "auto", "preparation": "sphere"}, "random directions"),
        # The floor is the same for all algorithms of a version.
        ({"version": "improved", "algorithm": "ppca"}, "without any data"),
    ],
)
def test_the_floor_is_that_of_the_version(open_page, link, label):
    at = open_page("", **SMALL, **link)
    assert delivered(at, "explorer_numbers")["floorLabel"] == label


VIEW = component.View(
    "present", "ε", "ε", (("1", True), ("2", True)), 0, ("", ""), (), "improved", "", "", "file"
)


@pytest.mark.parametrize(
    ("message", "step"),
    [
        ({"setting": "present", "at": 1}, 1),
        ({"setting": "present", "at": 7}, 1),
        ({"setting": "before", "at": 1}, None),
        ({"setting": "present"}, None),
        ({"setting": "present", "at": "1"}, None),
        ({"setting": "present", "at": None}, None),
        (0.5, None),
        ([], None),
        ("setting", None),
        (None, None),
    ],
)
def test_a_released_line_is_accepted_in_its_form_only(monkeypatch, message, step):
    state = {"explorer": SimpleNamespace(released=message)}
    monkeypatch.setattr(component.st, "session_state", state)

    def send(*, on_released_change, **_):
        on_released_change()
        return SimpleNamespace(narrow=False)

    monkeypatch.setattr(component, "_explorer", send)
    released = []
    component.draw_explorer(VIEW, released.append)
    assert released == ([] if step is None else [step])


def test_the_guarantee_names_who_faces_which_epsilon_and_who_is_trusted(open_page):
    """One sentence about "anyone" was also given for a trusted holder, who sees every row."""
    at = open_page("", version="improved", **SMALL)
    assert "The aggregator sees every site's message" in texts(at)
    assert "The aggregator sees the raw rows of all sites, and is trusted." in texts(at)
    assert "A reader of the result sees the result, and faces ε = 1." in texts(at)
