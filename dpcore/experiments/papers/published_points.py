"""Published numbers, beside which a live run is put."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

from dpcore.data import dataset_status
from dpcore.errors import DataUnavailable
from dpcore.experiments.engine.experiment import Row

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
    """A live run against the published points it has values in common with.

    Parameters
    ----------
    points : int
        How many are compared.
    largest : float
        Largest absolute difference of means, in shares of the optimum.
    at : PublishedPoint
        Where.
    ours : float
        Our mean there.
    is_part : bool
        Only a part of the data set is on this machine: its other rows have other moments, and
        the curves can be compared in shape alone.
    """

    points: int
    largest: float
    at: PublishedPoint
    ours: float
    is_part: bool


@cache
def published_points() -> tuple[PublishedPoint, ...]:
    """The whole table.

    Raises
    ------
    DataUnavailable
        If the table is not there.
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
    """The points of one panel; none where the authors' numbers are not known."""
    return tuple(point for point in published_points() if point.figure == figure)


def published_citation() -> str:
    """Where the numbers come from, in one paragraph."""
    lines = TABLE.read_text().splitlines()
    return " ".join(line.removeprefix("# ") for line in lines if line.startswith("#"))


def compare_with_published(figure: str, rows: Sequence[Row]) -> Comparison | None:
    """The largest difference between our means and the published ones.

    Parameters
    ----------
    figure : str
        Name of the panel.
    rows : sequence of dict
        Of a live run of that panel; may be incomplete.

    Returns
    -------
    Comparison or None
        None where nothing can be compared.
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
    ours = {point: fmean(found) for point, found in ratios.items() if found}
    if not ours:
        return None
    worst = max(ours, key=lambda point: abs(ours[point] - point.mean))
    return Comparison(
        points=len(ours),
        largest=abs(ours[worst] - worst.mean),
        at=worst,
        ours=ours[worst],
        is_part=dataset_status(worst.dataset).is_part,
    )
