"""Algorithms compared: views, order and labels, the difference to Explore, signs, charges."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from dpcore.data import dataset_status
from dpcore.experiments.central import central_spec
from dpcore.experiments.pca import RunSpec
from pages.explore import compare
from pages.explore.comparison.components import comparable_components
from pages.explore.comparison.runs import feasible_variants
from tests.pages.opening import texts

QUICK = {"dataset": "digits", "repetitions": "2", "components": "3"}


@pytest.mark.parametrize("view", compare.VIEWS)
def test_every_view_opens(open_page, view):
    at = open_page("compare", **QUICK)
    at.session_state["compare_tab"] = view
    at.run()
    assert not at.exception


def labels_and_levels(at) -> tuple[list[str], dict[str, float]]:
    (figure,) = (json.loads(element.proto.spec) for element in at.get("plotly_chart"))
    layout = figure["layout"]
    names = [text.replace("<br>", " ") for text in layout["yaxis"]["ticktext"]]
    return names[::-1], {level["text"]: level["x"] for level in layout["annotations"]}


def test_the_documents_algorithms_come_first_without_denoising(open_page):
    at = open_page("compare", **QUICK)
    labels, levels = labels_and_levels(at)
    random = levels["without any data"]
    assert [label.partition(",")[0] for label in labels] == [
        "PPCA", "MOD-SuLQ", "SuLQ", "Analyze Gauss",
    ]  # fmt: skip
    assert not any("denoised" in label for label in labels)
    at.toggle(key="compare_denoise").set_value(True)
    at.toggle(key="compare_beyond").set_value(True).run()
    labels, levels = labels_and_levels(at)
    # Only denoising uses prior knowledge about pictures.
    assert levels["without any data"] > 2 * random
    assert [("denoised" in label) for label in labels] == [False, True, True, True, False]


def test_the_title_is_the_finding_and_the_difference_to_explore_is_said(open_page):
    at = open_page("compare", **QUICK)
    assert re.fullmatch(
        r"PPCA captures [\d.]+\s% at pure ε = 1; Analyze Gauss captures [\d.]+\s% with δ = [\d.]+",
        at.title[0].value,
    )
    assert "as on Explore" in texts(at)
    improved = texts(open_page("compare", **QUICK, version="improved"))
    assert "Numbers differ from Explore" in improved


def test_components_have_the_signs_of_the_exact_ones():
    spec = central_spec(RunSpec(dataset="digits", components=4, repetitions=1, epsilon=5.0))
    variants = feasible_variants(replace(spec, denoise="none"), dataset_status("digits"))
    (_, exact), *others = comparable_components(spec, variants)
    assert len(others) == 4
    for title, components in others:
        assert ((components * exact[:4]).sum(axis=1) >= 0).all(), title


def test_every_run_is_charged(open_page):
    at = open_page("compare", **QUICK)
    assert at.session_state["_accountants"]["digits"].n_releases == 2 * 4


def test_a_table_is_compared_by_the_strongest_columns(open_page):
    at = open_page("compare", dataset="breast-cancer", repetitions="2")
    at.session_state["compare_tab"] = "Components"
    at.run()
    assert not at.exception


def test_published_centring_is_marked_and_the_adversary_named(open_page):
    at = open_page("compare")
    assert re.search(r"not private\] \*\*Published centring", texts(at))
    assert "against every reader" in texts(at)
