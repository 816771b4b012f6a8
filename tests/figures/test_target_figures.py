"""Figures of what reaches a target: nothing lies on the numbers, and the best are on top."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from dpcore.figures.energy import (
    dots_by_protocol,
    energy_map,
    rows_needed,
    rows_needed_figure,
)


def test_line_and_frame_run_between_the_cells():
    """They went through the middle of the cells, where the numbers stand that decide."""
    energies = np.array([[0.2, 0.5, 0.8, 0.9], [0.5, 0.8, np.nan, 0.9], [0.8, 0.9, 0.9, 0.9]])
    figure = energy_map(
        (0.1, 0.2, 0.5, 1.0), (10, 20, 50), energies, 0.7,
        x_title="ε", y_title="people", here=(0.2, 20),
    )  # fmt: skip
    heat, *lines = figure.data
    for line in lines:
        points = [(x, y) for x, y in zip(line.x, line.y, strict=True) if x is not None]
        assert points
        # A point of the line is on an edge of every cell it touches, so never at a centre.
        assert not any(x in heat.x and y in heat.y for x, y in points)
        for start, end in zip(points[::2], points[1::2], strict=True):
            assert (start[0] == end[0]) != (start[1] == end[1])
    # Every number is black or white, whichever can be read; Plotly's dark grey had 3 : 1 at 0.6.
    inks = {note.text: note.font.color for note in figure.layout.annotations}
    assert inks == {"20": "#ffffff", "50": "#000000", "80": "#000000", "90": "#000000"}
    (frame,) = figure.layout.shapes
    assert frame.x0 < np.log10(0.2) < frame.x1 and frame.y0 < np.log10(20) < frame.y1
    # Reached: ..xx, .x.x, xxxx, the cell that nobody knows counting as not. Upright sides: one,
    # three and none; level ones: two and two.
    assert sum(x is None for x in lines[0].x) == 4 + 4


@dataclass(frozen=True)
class Way:
    protocol: str
    prepared: str
    energies: tuple[float, ...]

    @property
    def mean(self) -> float:
        return sum(self.energies) / len(self.energies)


def test_a_row_a_protocol_the_best_on_top_with_its_spread():
    ways = (
        Way("pooled", "sphere", (0.9, 0.94)),
        Way("dpdis", "sphere", (0.7, 0.8)),
        Way("pooled", "bounded", (0.6,)),
    )
    figure = dots_by_protocol(ways, 0.2)
    go.Figure(figure.to_dict())  # Plotly checks every part
    assert [trace.name for trace in figure.data] == ["Pooled, trusted", "DPdisPCA"]
    pooled, dpdis = figure.data
    assert pooled.y[0] > dpdis.y[0]
    assert [data[0] for data in pooled.customdata] == [0, 2]
    np.testing.assert_allclose(pooled.error_x.array, [0.02, 0])
    np.testing.assert_allclose(pooled.error_x.arrayminus, [0.02, 0])
    assert {shape.x0 for shape in figure.layout.shapes} == {1.0, 0.2}


def test_rows_needed_are_the_fewest_from_which_on_the_mean_reaches_the_target():
    means = {0.1: (0.2, 0.3, 0.4), 1.0: (0.8, 0.7, 0.9), 10.0: (0.8, 0.9, 0.9)}
    sizes, rows = (50, 100, 200), []
    for epsilon, at in means.items():
        for size, mean in zip(sizes, at, strict=True):
            rows += [
                {"epsilon": epsilon, "people_per_site": size, "energy_ratio": mean + luck}
                for luck in (-0.1, 0.1)
            ]
    # At 1 the smallest is above by luck: one between stays below.
    found = rows_needed(rows, 0.75, sizes, 2)
    assert found == {0.1: None, 1.0: 200, 10.0: 50}
    # One run is missing, of the smallest at 0.1.
    assert rows_needed(rows[1:], 0.75, sizes, 2) == {1.0: 200, 10.0: 50}
    figure = rows_needed_figure(
        {0.75: found}, tuple(means), sizes, key="dpdis", many="pictures", dark=False
    )
    assert list(figure.data[0].x) == [1.0, 10.0] and list(figure.data[0].y) == [200, 50]
    assert figure.layout.yaxis.title.text == "pictures needed per site"
