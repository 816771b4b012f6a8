"""Energy per byte: content of a point, best points, and rounding compared with truncation."""

from __future__ import annotations

import pytest

from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.message_bytes import rate_points, rate_sweeps
from dpcore.pca.messages import message_length


def points_of(spec, **choices):
    sweeps = rate_sweeps(spec, **choices)
    return rate_points([row for sweep in sweeps for row in collect(sweep, workers=2).rows])


def test_points_are_means_over_draws_with_real_lengths():
    spec = RunSpec(repetitions=2, preparation="published")
    points = {p.label: p for p in points_of(spec, ratios=(1, 2), precisions=("float32", "int8"),
                                            steps=(1,))}  # fmt: skip
    assert set(points) == {
        "R = 10, float32", "R = 20, float32", "R = 10, int8", "R = 20, int8", "step 1 σ",
        "as it is",
    }  # fmt: skip
    assert points["R = 10, float32"].bytes_per_site == message_length(64, 10, 4, whole=False)
    assert points["R = 20, int8"].bytes_per_site == message_length(64, 20, 1, whole=False) + 80
    assert points["as it is"].bytes_per_site == message_length(64, 64, 8, whole=True)
    for point in points.values():
        assert point.least <= point.energy <= point.greatest


def test_the_frontier_has_no_point_that_another_beats():
    points = points_of(RunSpec(repetitions=2, truncation="psd"))
    lengths = [point.bytes_per_site for point in points]
    assert lengths == sorted(lengths)
    for point in points:
        beaten = any(
            other.bytes_per_site <= point.bytes_per_site and other.energy >= point.energy
            for other in points
            if other is not point
        )
        assert point.is_best == (not beaten)


def test_on_mnist_rounding_beats_truncation_with_a_quarter_of_the_bytes(datasets_home, monkeypatch):
    """N = 60000, S = 10, K = 50, epsilon = 1, isometric, psd: a step of one sigma, R = 100."""
    monkeypatch.setenv("DPCORE_DATA", str(datasets_home))
    spec = RunSpec(dataset="mnist", sites=10, preparation="published", repetitions=1)
    points = {p.label: p for p in points_of(spec, ratios=(2,), precisions=("float32",), steps=(1,))}
    proxy, rounded = points["R = 100, float32"], points["step 1 σ"]
    assert proxy.bytes_per_site == pytest.approx(313_636, abs=100)
    assert rounded.bytes_per_site < proxy.bytes_per_site / 4
    assert rounded.energy > proxy.energy > 0.69
