"""Figures of what reaches a target: nothing lies on the numbers, and the best are on top."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from dpcore.figures.energy import (
    dots_by_protocol,
    rows_needed,
    rows_needed_figure,
)


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
