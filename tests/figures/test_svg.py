"""Standalone SVG curves: well formed, every point where its numbers say."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest

from dpcore.figures.components import variances_svg
from dpcore.figures.svg import (
    accuracy_dots_svg,
    energy_curves_svg,
    energy_thumbnail,
    figure_thumbnail,
)

SVG = "{http://www.w3.org/2000/svg}"


def rows(field, values, protocols=("dpdis", "pooled")):
    return [
        {"protocol": p, field: v, "energy_ratio": 0.1 * (i + 1) + 0.01 * d, "random_ratio": 0.05}
        for p in protocols
        for i, v in enumerate(values)
        for d in range(3)
    ]


def drawn(table, field, **options):
    text = energy_curves_svg(table, field, title="A < B & C", axis_title="ε", **options)
    return ElementTree.fromstring(text)


def test_it_is_well_formed_and_says_what_it_shows():
    root = drawn(rows("epsilon", (0.1, 1.0, 10.0)), "epsilon")
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text == "A < B & C"
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for expected in ("A < B & C", "ε", "DPdisPCA", "Pooled, trusted", "0.1", "1", "10", "100%"):
        assert expected in texts


@pytest.mark.parametrize("logarithmic", [True, False])
def test_points_are_where_their_numbers_say(logarithmic):
    values = (1.0, 10.0, 100.0) if logarithmic else (1.0, 2.0, 3.0)
    root = drawn(rows("x", values, ("dpdis",)), "x", logarithmic=logarithmic)
    (line,) = root.iter(f"{SVG}polyline")
    points = [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
    assert points[1][0] - points[0][0] == pytest.approx(points[2][0] - points[1][0], abs=0.2)
    assert points[0][1] - points[1][1] == pytest.approx(points[1][1] - points[2][1], abs=0.2)
    assert points[0][1] > points[1][1] > points[2][1]


def test_published_points_are_drawn_hollow():
    table = rows("epsilon", (0.1, 1.0))
    root = drawn(table, "epsilon", published=[("dpdis", 0.1, 0.2), ("pooled", 1.0, 0.3)])
    hollow = [e for e in root.iter(f"{SVG}circle") if e.get("fill") == "none"]
    assert len(hollow) == 3  # two points and the legend
    assert "published" in [element.text for element in root.iter(f"{SVG}text")]


def test_one_value_and_nothing_from_outside():
    text = energy_curves_svg(rows("epsilon", (1.0,)), "epsilon", title="t", axis_title="ε")
    ElementTree.fromstring(text)
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert "nan" not in text


def test_accuracies_are_dots_with_the_published_ones_above():
    table = [
        {"task": task, "protocol": key, "accuracy": 0.9 + 0.01 * number}
        for task in ("one", "two < three")
        for key in ("exact", "ppca")
        for number in range(3)
    ]
    published = [{"task": "one", "protocol": "ppca", "mean": 91.0, "std": 0.5}]
    text = accuracy_dots_svg(table, title="accuracies", published=published)
    root = ElementTree.fromstring(text)
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"one", "two < three", "Exact PCA", "91.00%"} <= set(texts)
    circles = list(root.iter(f"{SVG}circle"))
    assert len(circles) == 2 * 2 * (3 + 1)
    # The mean of 90, 91 and 92 % is the published 91 %.
    mean = next(float(c.get("cx")) for c in circles if c.get("r") == "6")
    bar = next(e for e in root.iter(f"{SVG}line") if e.get("stroke-width") == "2.5")
    assert mean == pytest.approx(float(bar.get("x1")), abs=0.1)


def test_a_thumbnail_has_a_line_a_protocol_and_no_text():
    points = [("dpdis", 0.1, 0.2), ("dpdis", 10.0, 0.8), ("pooled", 1.0, 0.9)]
    text = energy_thumbnail(points, ends=(0.1, 10.0), published=points[:1])
    root = ElementTree.fromstring(text)
    assert len(list(root.iter(f"{SVG}polyline"))) == 2 and not list(root.iter(f"{SVG}text"))
    (circle,) = root.iter(f"{SVG}circle")
    first = next(root.iter(f"{SVG}polyline")).get("points").split()[0]
    assert first == f"{circle.get('cx')},{circle.get('cy')}"
    assert ElementTree.fromstring(energy_thumbnail([], ends=(1, 2), logarithmic=False)) is not None


def _marks(true, *, estimated=None, reach=0.1):
    """Of each component: where it stands across in percent, dot, interval's ends and truth down."""
    true = np.array(true)
    estimated = true if estimated is None else np.array(estimated)
    ends = np.array([(estimated - reach).clip(0), estimated + reach])
    root = ElementTree.fromstring(
        variances_svg(estimated, ends, true, colour="#123456", alt="A < B").replace(
            "<svg ", f'<svg xmlns="{SVG[1:-1]}" ', 1
        )
    )
    assert root.get("aria-label") == "A < B"
    for mark in (each for each in root.iter(f"{SVG}svg") if each.find(f"{SVG}title") is not None):
        interval, truth = (each.get("d") for each in mark.iter(f"{SVG}path"))
        low, high = map(float, re.fullmatch(r".*M0,(.*)V(.*)", interval).groups())
        down = float(mark.find(f"{SVG}circle").get("cy")), low, high
        yield float(mark.get("x").rstrip("%")), *down, float(truth.split(",")[1].split("h")[0])


def test_energies_stand_where_their_numbers_say_at_any_width():
    marks = list(_marks([4.0, 2.0, 0.0, 1.0], estimated=[4.0, 2.5, -1.0, 1.0], reach=0.5))
    assert [mark[0] for mark in marks] == [12.5, 37.5, 62.5, 87.5]
    _, dots, lows, highs, truths = np.array(marks).T
    unit = (truths[2] - truths[0]) / 4
    assert unit > 0
    assert truths == pytest.approx(truths[2] - unit * np.array([4, 2, 0, 1]), abs=0.1)
    assert dots == pytest.approx(truths[2] - unit * np.array([4, 2.5, -1, 1]), abs=0.1)
    assert lows == pytest.approx(truths[2] - unit * np.array([3.5, 2, 0, 0.5]), abs=0.1)
    assert highs == pytest.approx(truths[2] - unit * np.array([4.5, 3, -0.5, 1.5]), abs=0.1)


@pytest.mark.parametrize(("true", "reach"), [([0.0, 0.0], 0.0), ([1.0], np.inf), ([1e-9], 1e-12)])
def test_nothing_at_all_and_no_knowledge_are_drawn_too(true, reach):
    assert np.isfinite(list(_marks(true, reach=reach))).all()


def test_a_chart_s_stamp_has_its_points_where_the_chart_has_them():
    figure = go.Figure()
    figure.add_scatter(x=[1, 10, 100], y=[0.0, 0.5, 1.0], mode="lines+markers",
                       line={"color": "#d55e00", "dash": "dash"})  # fmt: skip
    figure.add_scatter(x=[1, 0, None], y=[1.0, 0.3, 0.2], mode="markers")  # one has a logarithm
    figure.update_xaxes(type="log")
    root = ElementTree.fromstring(figure_thumbnail(figure))
    places = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter(f"{SVG}circle")]
    left, middle, right, alone = places
    assert middle[0] == pytest.approx((left[0] + right[0]) / 2)
    assert left[1] > middle[1] > right[1] and alone == (left[0], right[1])
    (line,) = root.iter(f"{SVG}polyline")
    assert line.get("stroke") == "#d55e00" and line.get("stroke-dasharray") == "7 4"


def test_bars_of_a_stamp_stand_on_zero_and_a_map_has_no_stamp():
    figure = go.Figure(go.Bar(x=["a", "b"], y=[1.0, 2.0]))
    boxes = list(ElementTree.fromstring(figure_thumbnail(figure)).iter(f"{SVG}rect"))[1:]
    assert float(boxes[1].get("height")) == pytest.approx(2 * float(boxes[0].get("height")))
    assert figure_thumbnail(go.Figure(go.Heatmap(z=[[1, 2]]))) == ""
