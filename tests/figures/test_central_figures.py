"""Figures of central algorithms: variants, accuracies, rows needed and Markov chains."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.figures.central import (
    accuracy_dots,
    energy_traces,
    people_needed,
    running_diagnostic,
    variant_dots,
)


def variant_row(label, protocol, share):
    return {"label": label, "protocol": protocol, "energy_ratio": share, "floor": 0.2}


@pytest.mark.parametrize("dark", [False, True])
def test_one_line_a_variant_in_order_from_the_top(dark):
    rows = [variant_row("PPCA", "ppca", share) for share in (0.4, 0.5)]
    rows += [variant_row("Analyze Gauss, analytic, isometric", "ag", 0.9)]
    figure = variant_dots(rows, dark=dark)
    assert figure.layout.yaxis.ticktext == ("Analyze Gauss,<br>analytic, isometric", "PPCA")
    texts = [trace.text[0].strip() for trace in figure.data if trace.mode == "text"]
    assert texts == ["90\u00a0%", "45\u00a0%"]


def test_the_mean_is_written_outside_the_range_of_the_dots():
    figure = variant_dots([variant_row("PPCA", "ppca", share) for share in (0.2, 0.4)])
    (text,) = (trace for trace in figure.data if trace.mode == "text")
    assert text.x == (0.4,)
    assert text.textposition == "middle right"


def test_published_accuracies_are_at_their_line():
    rows = [
        {"task": task, "protocol": key, "accuracy": share}
        for task in ("kddcup", "localization")
        for key, share in (("exact", 0.99), ("random", 0.97))
    ]
    published = [{"task": "kddcup", "protocol": "random", "mean": 98.23, "std": 0.49}]
    figure = accuracy_dots(rows, published)
    assert len(figure.layout.yaxis.ticktext) == 4
    (printed,) = (trace for trace in figure.data if trace.name == "published")
    assert printed.x == pytest.approx((0.9823,))
    # Lines from the bottom: 2 random, 2 exact, 1 random, 1 exact.
    assert 2 < printed.y[0] < 2.5


def test_people_needed_name_their_slopes():
    measured = [
        {"protocol": "ppca", "features": d, "samples": 10 * d, "mean_correlation": 0.9}
        for d in (10, 20)
    ]
    bounds = [{"bound": "theorem 3", "features": d, "samples": 90 * d} for d in (10, 20)]
    figure = people_needed(measured, bounds, {"ppca": 1.0}, dimensions=(10, 20))
    names = [trace.name for trace in figure.data]
    assert names == ["PPCA: sufficient (theorem 3)", "PPCA, measured, grows as d<sup>1.00</sup>"]
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert figure.layout.xaxis.ticktext == ("10", "20")


def test_each_kind_of_start_is_named_once(rng):
    shares = rng.random((4, 30))
    starts = ("random", "random", "mode", "mode")
    figure = energy_traces(shares, starts, 0.2, stopped=20)
    assert [trace.name for trace in figure.data if trace.showlegend] == [
        "started at random",
        "started at exact PCA",
    ]
    np.testing.assert_array_equal(figure.data[0].x, np.arange(1, 31))


def test_the_threshold_has_its_text():
    rows = [{"sweeps": t, "r_hat": 1 + 1 / t} for t in (8, 16, 32)]
    figure = running_diagnostic(
        rows, "r_hat", title="R-hat", threshold=1.05, passes="passes below 1.05", ticks=(1, 2)
    )
    assert figure.layout.annotations[0].text == "passes below 1.05"
    assert figure.layout.yaxis.ticktext == ("1", "2")
