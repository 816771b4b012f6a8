"""Published points of the DPdisPCA paper, and their differences from a run."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

from dpcore.data import dataset_status
from dpcore.errors import DataUnavailable
from dpcore.experiments.engine.spec import Row

TABLE = Path(__file__).with_name("published_curves.csv")


@dataclass(frozen=True)
class PublishedPoint:
    """One point of a published curve: mean and standard deviation of the authors' ten runs."""

    figure: str
    dataset: str
    field: str
    value: float
    protocol: str
    mean: float
    std: float


@dataclass(frozen=True)
class Comparison:
    """Comparison of a live run with published points at the same values.

    points: Number of compared points.
    largest: Largest absolute difference of means, relative to exact PCA.
    at: Published point of that difference.
    live_mean: Mean of the live run at this point.
    is_part: Whether only a part of the data set is on this machine, so that only the shape of the
        curves can be compared.
    """

    points: int
    largest: float
    at: PublishedPoint
    live_mean: float
    is_part: bool


@cache
def published_points() -> tuple[PublishedPoint, ...]:
    """Return all published points.

    Raises `DataUnavailable` if the table is missing.
    """
    try:
        lines = TABLE.read_text().splitlines()
    except FileNotFoundError as error:
        raise DataUnavailable(f"The table of published curves belongs at {TABLE}.") from error
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return tuple(
        PublishedPoint(
            row["panel"],
            row["dataset"],
            row["field"],
            float(row["value"]),
            row["protocol"],
            float(row["mean"]),
            float(row["std"]),
        )
        for row in rows
    )


def published_points_of(figure: str) -> tuple[PublishedPoint, ...]:
    """Return the points of one panel; empty if the authors' numbers are not known."""
    return tuple(point for point in published_points() if point.figure == figure)


def published_citation() -> str:
    """Return the source of the published points, in one paragraph."""
    lines = TABLE.read_text().splitlines()
    return " ".join(line.removeprefix("# ") for line in lines if line.startswith("#"))


def compare_with_published(figure: str, rows: Sequence[Row]) -> Comparison | None:
    """Return the largest difference between our means and the published ones.

    figure: Name of the panel.
    rows: Rows of a live run of that panel; may be incomplete.
    Returns None if no point can be compared.
    """
    points = published_points_of(figure)
    ratios: dict[PublishedPoint, list[float]] = {
        point: [
            row["energy_ratio"]
            for row in rows
            if (row["protocol"], row[point.field]) == (point.protocol, point.value)
        ]
        for point in points
    }
    live_means = {point: fmean(values) for point, values in ratios.items() if values}
    if not live_means:
        return None
    worst = max(live_means, key=lambda point: abs(live_means[point] - point.mean))
    return Comparison(
        points=len(live_means),
        largest=abs(live_means[worst] - worst.mean),
        at=worst,
        live_mean=live_means[worst],
        is_part=dataset_status(worst.dataset).is_part,
    )
