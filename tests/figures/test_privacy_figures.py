"""Figures of privacy, audits, matrices and spectra show the given numbers."""

from __future__ import annotations

import io
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from dpcore.figures.audit import (
    adversary_view_svg,
    adversary_view_words,
    bound_growth,
    score_histogram,
)
from dpcore.figures.components import spectrum
from dpcore.figures.images import diverging_colours, matrix_png
from dpcore.figures.privacy import beliefs, running_total, trade_off_plot, two_densities


def test_a_matrix_is_a_pixel_an_entry():
    matrix = np.array([[1.0, -2.0], [0.0, 0.5]])
    sheet = np.asarray(Image.open(io.BytesIO(matrix_png(matrix, 2.0))).convert("RGB"), dtype=int)
    assert sheet.shape == (2, 2, 3)
    # Colours have 127 levels, so each is at most half a level off.
    assert np.abs(sheet - diverging_colours(matrix, 2.0)).max() <= 3


def test_a_matrix_too_wide_for_a_page_is_thinned():
    sheet = Image.open(io.BytesIO(matrix_png(np.zeros((30, 5000)), 1.0)))
    assert sheet.width <= 280


def test_the_spectrum_separates_what_is_kept():
    figure = spectrum(np.array([3.0, 1.0, -2.0]), np.array([2.0, 1.0, 0.0]), 2)
    selected, discarded, exact = figure.data
    assert (list(selected.y), list(discarded.y), list(exact.y)) == ([3, 1], [-2], [2, 1, 0])


def test_shaded_errors_meet_at_the_threshold():
    x = np.linspace(-4, 5, 181)
    columns = {"release": x, "with_you": np.exp(-((x - 1) ** 2)), "without_you": np.exp(-(x**2))}
    alarm, miss = two_densities(columns, 0.5, dark=True).data[:2]
    assert min(alarm.x) == pytest.approx(0.5)
    assert max(miss.x) == pytest.approx(0.5)


def test_curves_without_a_label_are_left_out():
    rows = [
        {"curve": name, "type_one": np.array([0.0, 1.0]), "type_two": np.array([1.0, 0.0])}
        for name in ("blind", "pure", "approximate", "gaussian")
    ]
    figure = trade_off_plot(rows, {"blind": "blind guess", "gaussian": "measured"}, (0.2, 0.7))
    assert [trace.name for trace in figure.data] == ["blind guess", "measured", "this threshold"]
    assert (figure.data[-1].x[0], figure.data[-1].y[0]) == (0.2, 0.7)


def test_beliefs_draw_both_bands_and_the_median():
    prior = np.array([0.1, 0.9])
    columns = dict.fromkeys(("prior", "least", "greatest", "low", "median", "high"), prior)
    assert len(beliefs(columns, 0.3, pure_label="pure").data) == 4


def test_the_claim_stays_in_the_picture():
    rows = [{"trials": 100, "epsilon_exact": 7.0, "epsilon": 12.0}]
    figure = bound_growth(rows, 1.0, 1000)
    assert figure.layout.yaxis.range[1] >= 12
    assert [line.name for line in figure.data] == ["exact limit", "nominal limit"]
    exact = bound_growth([rows[0] | {"epsilon": 7.0}], 1.0, 1000)
    assert [line.name for line in exact.data] == ["exact limit"]
    assert bound_growth([], 1.0, 1000).layout.yaxis.range[1] > 1


@pytest.mark.parametrize(
    ("adversary", "holder", "visible", "hatched"),
    [
        ("outsider", "", 1, 1),
        ("aggregator", "", 2, 1),
        ("site", "", 2, 1),
        ("outsider", "trusted holder", 1, 2),
        ("site", "trusted holder", 2, 2),
    ],
)
def test_an_adversarys_view_is_filled_and_the_trusted_hatched(adversary, holder, visible, hatched):
    """Boxes have one legend entry each. The result is always visible, the person's site never."""
    root = ET.fromstring(adversary_view_svg(adversary, "the result", trusted_holder=holder))
    boxes = root.findall("{http://www.w3.org/2000/svg}rect")
    fills = [box.get("fill") for box in boxes]
    assert fills.count("url(#trusted)") == hatched + 1
    assert sum(fill.startswith("rgba(213") for fill in fills) == visible + 1
    words = adversary_view_words(adversary, "the result", trusted_holder=holder)
    assert root.get("aria-label") == words
    assert words.endswith("your own site." if not holder else "the trusted holder.")


def test_histogram_bars_are_the_shares():
    columns = {
        "centre": np.array([0.5, 1.5]),
        "width": np.ones(2),
        "with_you": np.array([0.2, 0.8]),
        "without_you": np.array([0.7, 0.3]),
    }
    other, you = score_histogram(columns, 1.0).data
    assert list(you.y) == [0.2, 0.8]
    assert list(other.y) == [0.7, 0.3]


def test_totals_step_with_the_releases():
    rows = [
        {"draws": 10, "total_epsilon": 2.0, "sum_of_epsilons": 10.0, "released": "a"},
        {"draws": 1, "total_epsilon": 2.5, "sum_of_epsilons": 11.0, "released": "b"},
    ]
    plain_sum, composed = running_total(rows).data
    assert list(composed.x) == [0, 10, 11]
    assert list(composed.y) == [0, 2, 2.5]
    assert list(plain_sum.y) == [0, 10, 11]
