"""Charts of CCA show the given values on fixed axes."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.figures.cca import correlation_curves, correlation_dots, direction_bars
from dpcore.figures.components import people_scatter
from dpcore.figures.style import PERCENT_RANGE

TITLES = {"pooled": "Pooled", "full": "Full"}


@pytest.mark.parametrize("dark", [False, True])
def test_correlations_show_every_draw_their_mean_and_the_references(dark):
    exact, random = np.array([0.9, 0.8]), np.array([0.3, 0.1])
    measured = np.array([[0.8, 0.5], [0.6, 0.7]])
    figure = correlation_dots(
        exact, measured, np.array([0.7, 0.4]), random, protocol="full", title="Full", dark=dark
    )
    bars, draws, *marks = figure.data
    assert list(bars.y) == [0.7, 0.6]
    assert list(zip(draws.x, draws.y, strict=True)) == [(1, 0.8), (2, 0.5), (1, 0.6), (2, 0.7)]
    assert [list(mark.y) for mark in marks] == [[0.9, 0.8], [0.3, 0.1], [0.7, 0.4]]
    assert tuple(figure.layout.yaxis.range) == PERCENT_RANGE


def curve_rows(sizes):
    return [
        {"protocol": p, "samples": n, "epsilon": e, "correlation_share": s + 0.1 * r}
        for p in TITLES
        for n in sizes
        for e, s in ((0.1, 0.3), (1.0, 0.7))
        for r in (0, 1)
    ]


@pytest.mark.parametrize(("sizes", "names"), [((50,), "Pooled"), ((50, 100), "Pooled, 100 people")])
def test_a_curve_for_each_protocol_and_number_of_people(sizes, names):
    figure = correlation_curves(
        curve_rows(sizes),
        "epsilon",
        titles=TITLES,
        axis_title="ε",
        axis_range=(0.01, 10),
        floor=0.2,
        marker=1.0,
    )
    lines = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert len(lines) == 2 * len(sizes)
    assert lines[0].name == names
    assert lines[0].y == pytest.approx([0.35, 0.75])
    low, high = figure.layout.xaxis.range
    assert low < -2 and high > 1
    assert {shape.y0 for shape in figure.layout.shapes} >= {0.2, 1.0}


def test_small_chances_are_labelled_as_powers_of_ten():
    rows = [{"protocol": "full", "samples": 5, "delta": 1e-9, "correlation_share": 0.5}]
    figure = correlation_curves(
        rows, "delta", titles=TITLES, axis_title="δ", axis_range=(1e-9, 0.1), floor=0.2
    )
    assert figure.layout.xaxis.ticktext[0] == "10<sup>−1</sup>"
    assert figure.layout.xaxis.tickvals[-1] == pytest.approx(1e-9)


def test_a_direction_by_its_strongest_columns():
    exact = np.arange(20.0)
    names = [f"c{j}" * 9 for j in range(20)]
    figure = direction_bars(exact, -exact, names, protocol="pooled", titles=("exact", "private"))
    private, true = figure.data
    assert true.customdata[-1] == "c19" * 9 and len(true.y) == 12
    assert figure.layout.yaxis.ticktext[-1] == "c19c19c19c19c19c19c19c1…"
    assert true.x[-1] == pytest.approx(19 / np.sqrt((exact**2).sum()))
    assert np.allclose(private.x, -np.array(true.x))


@pytest.mark.parametrize("dark", [False, True])
def test_people_by_group_and_without(dark):
    x, y = np.arange(12.0), np.arange(12.0)[::-1]
    labels = np.arange(12)
    figure = people_scatter(
        x, y, labels, [f"g{k}" for k in labels], axis_titles=("a", "b"), dark=dark
    )
    looks = {(trace.marker.color, trace.marker.symbol) for trace in figure.data}
    assert len(looks) == len(figure.data) == 12
    assert figure.data[3].name == "g3" and list(figure.data[3].y) == [8.0]
    alone = people_scatter(x, y, None, None, axis_titles=("a", "b"), dark=dark)
    assert len(alone.data) == 1 and not alone.layout.showlegend
