"""Charts of captured energy: values, fixed axes, titles and looks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import plotly.graph_objects as go
import pytest

from dpcore.figures.energy import energy_curves, protocol_dots
from dpcore.figures.style import (
    FREE_LOOKS,
    PERCENT_RANGE,
    error_range,
    log_axis,
    look_of,
    sparse_ticks,
    with_opacity,
)
from dpcore.figures.tradeoffs import harm_and_use
from dpcore.pca.protocols.register import PROTOCOLS

ROOT = Path(__file__).parents[2]
EPSILONS = (0.1, 1.0, 10.0)
RATIOS = {"dpdis": (0.2, 0.5, 0.9), "pooled": (0.6, 0.8, 1.0)}


def rows_at(epsilons=EPSILONS, protocols=tuple(RATIOS), repetitions=2):
    return [
        {
            "protocol": protocol,
            "epsilon": epsilon,
            "energy_ratio": RATIOS[protocol][EPSILONS.index(epsilon)] + 0.01 * repetition,
            "floor": 0.15,
            "repetition": repetition,
        }
        for epsilon in epsilons
        for protocol in protocols
        for repetition in range(repetitions)
    ]


@pytest.mark.parametrize("dark", [False, True])
def test_parts_that_are_taken_as_they_are_pass_plotlys_own_check(dark):
    several_k = [
        row | {"components": k, "floor": k / 10} for k in (1, 2) for row in rows_at((1.0,))
    ]
    for figure in (
        protocol_dots(rows_at((1.0,)), dark=dark),
        energy_curves(rows_at(), "epsilon", axis_title="ε", marker=1.0, dark=dark),
        energy_curves(several_k, "components", axis_title="K", logarithmic=False, dark=dark),
    ):
        checked = go.Figure(figure.to_dict())
        assert json.loads(checked.to_json()) == json.loads(figure.to_json())


def levels(figure, axis):
    """Return the positions of the straight lines across the plot."""
    return sorted({shape[f"{axis}0"] for shape in figure.layout.shapes})


@pytest.mark.parametrize("dark", [False, True])
def test_dots_show_every_draw_and_the_mean(dark):
    rows = rows_at(epsilons=(1.0,), repetitions=3)
    figure = protocol_dots(rows, dark=dark)
    draws, means = figure.data
    # Drawn from the bottom up, so that the first protocol comes out on top.
    for place, key in enumerate(("pooled", "dpdis")):
        expected = [row["energy_ratio"] for row in rows if row["protocol"] == key]
        assert [x for x, y in zip(draws.x, draws.y, strict=True) if y == place] == expected
        assert means.x[place] == pytest.approx(sum(expected) / 3)
        assert means.text[place].strip() == f"{100 * means.x[place]:.0f}\u00a0%"
        assert means.marker.color[place] == look_of(key).colour
    assert list(figure.layout.yaxis.ticktext) == ["Pooled, trusted", "DPdisPCA"]
    assert figure.layout.xaxis.title.text
    assert levels(figure, "x") == [0.15, 1]


@pytest.mark.parametrize("dark", [False, True])
def test_curves_have_floor_ceiling_titles_and_a_point_a_value(dark):
    rows = rows_at()
    figure = energy_curves(rows, "epsilon", axis_title="requested ε", marker=1.0, dark=dark)
    lines = {trace.name: trace for trace in figure.data if trace.name}
    for key, ratios in RATIOS.items():
        assert list(lines[look_of(key).label].x) == list(EPSILONS)
        assert list(lines[look_of(key).label].y) == pytest.approx([r + 0.005 for r in ratios])
    assert {0.15, 1.0} <= set(levels(figure, "y"))
    assert 1.0 in [shape.x0 for shape in figure.layout.shapes if shape.x0 == shape.x1]
    assert figure.layout.xaxis.title.text == "requested ε"
    assert figure.layout.xaxis.type == "log"
    assert "captured energy" in figure.layout.yaxis.title.text


def test_ranges_do_not_move_while_a_curve_fills_in():
    """Keep the ranges independent of the rows, and the ticks independent of their number."""
    whole = energy_curves(rows_at(), "epsilon", axis_title="ε", axis_range=(0.1, 10.0))
    for epsilons in (EPSILONS[:1], EPSILONS[:2]):
        part = energy_curves(rows_at(epsilons), "epsilon", axis_title="ε", axis_range=(0.1, 10.0))
        for figure in (part, whole):
            assert tuple(figure.layout.yaxis.range) == PERCENT_RANGE
        assert part.layout.xaxis.tickvals == whole.layout.xaxis.tickvals
        assert part.layout.xaxis.range == whole.layout.xaxis.range
        assert part.layout.xaxis.range is not None
    dots = protocol_dots(rows_at(epsilons=(0.1,)))
    assert tuple(dots.layout.xaxis.range) == PERCENT_RANGE


def test_one_draw_has_no_band():
    figure = energy_curves(rows_at(repetitions=1), "epsilon", axis_title="ε")
    assert not [trace for trace in figure.data if trace.fill]


def test_every_algorithm_has_a_look_that_does_not_rest_on_colour():
    looks = [look_of(key) for key, entry in PROTOCOLS.items() if entry.look]
    marks = [(look.symbol, look.dash) for look in (*looks, *FREE_LOOKS[::2])]
    assert len(set(marks)) == len(marks)
    assert not {look.colour for look in looks} & {look.colour for look in FREE_LOOKS}
    assert look_of("exact", dark=True).colour != look_of("exact").colour


def test_titles_on_figures_and_in_the_register_agree():
    assert {key: entry.title for key, entry in PROTOCOLS.items()} == {
        key: look_of(key).label for key in PROTOCOLS
    }


def test_faded_is_the_same_colour():
    assert with_opacity("#0072B2", 0.25) == "rgba(0,114,178,0.25)"


def test_ticks_are_powers_of_ten_with_plain_labels():
    axis = log_axis([0.001, 1000.0])
    assert axis["tickvals"] == pytest.approx([10.0**e for e in range(-3, 4)])
    assert axis["ticktext"] == ["0.001", "0.01", "0.1", "1", "10", "100", "1,000"]
    assert log_axis([2.0, 5.0]) == {"type": "log", "tickvals": [2, 5], "ticktext": ["2", "5"]}
    assert log_axis([1e-6, 1e-4])["ticktext"] == ["0.000001", "0.00001", "0.0001"]


def test_no_draw_leaves_an_axis_of_errors():
    low, high = error_range(0.43, [{"test_error": error} for error in (0.1, 0.71)])
    assert low < 0.1 and high > 0.71
    # Errors near or below chance do not move the axis.
    assert error_range(0.43, [{"test_error": 0.1}]) == error_range(0.43, [{"test_error": 0.5}])


def test_an_axis_says_where_it_ends():
    """Ends between powers of ten have a label, unless it would touch the label of a power."""
    assert log_axis([0.05, 2.0])["ticktext"] == ["0.05", "0.1", "1", "2"]
    assert log_axis([1_000.0, 9_822.0])["ticktext"] == ["1,000", "9,822"]
    assert log_axis([0.002518354702, 20.0])["ticktext"] == ["0.00252", "0.01", "0.1", "1", "10"]
    assert log_axis([0.09, 100.0])["ticktext"] == ["0.1", "1", "10", "100"]


def test_ticks_are_at_the_values_of_a_sweep_as_far_as_their_labels_have_space():
    assert sparse_ticks([1, 2, 4, 8, 16, 32])["tickvals"] == [1, 2, 4, 8, 16, 32]
    steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
    assert sparse_ticks(steps)["ticktext"] == ["0.001", "0.01", "0.1", "1", "10"]


def test_the_floor_is_that_of_the_rows_and_not_of_a_random_subspace():
    rows = [row | {"random_ratio": 0.1, "floor": 0.4} for row in rows_at()]
    figure = energy_curves(rows, "epsilon", axis_title="ε")
    assert levels(figure, "y") == pytest.approx([0.4, 1.0])


def test_where_k_is_on_the_axis_every_value_has_its_floor():
    rows = [
        {"protocol": "dpdis", "components": k, "energy_ratio": 0.5, "floor": k / 10}
        for k in (1, 2, 5)
    ]
    figure = energy_curves(rows, "components", axis_title="K", logarithmic=False)
    [floor] = [trace for trace in figure.data if trace.name == "Floor"]
    assert list(floor.y) == [0.1, 0.2, 0.5]
    assert len(figure.layout.shapes) == 1  # only the exact level is a straight line


# Replacement of pandas, whose import takes a quarter of a second.
SLOW_PANDAS = """
import time
time.sleep(1)
class Series: pass
class Index: pass
"""
FIGURE_DURING_IMPORT = """
import sys, threading, time
from dpcore.figures.energy import protocol_dots
from tests.figures.test_charts import rows_at
assert "pandas" not in sys.modules
threading.Thread(target=__import__, args=("pandas",)).start()
while "pandas" not in sys.modules:
    time.sleep(0.01)
protocol_dots(rows_at((1.0,)))
"""


def test_a_figure_can_be_made_while_another_thread_imports_pandas(tmp_path):
    (tmp_path / "pandas.py").write_text(SLOW_PANDAS)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", FIGURE_DURING_IMPORT],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_names_of_close_epsilons_do_not_overlap():
    points = [
        {"epsilon": epsilon, "right": right, "energy": energy}
        for epsilon, right, energy in (
            (0.1, 51, 0.3), (0.2, 52, 0.43), (0.5, 53, 0.46), (5, 72, 0.93), (20, 96, 0.96),
            (50, 100, 0.985),
        )
    ]  # fmt: skip
    (curve,) = harm_and_use(points, most_right=75, target=0.9).data
    assert list(curve.text) == ["", "ε 0.2", "", "ε 5", "ε 20", ""]
