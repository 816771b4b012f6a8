"""Published numbers beside live runs, and how the panels that were run on this machine came out."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

from dpcore.data import dataset_status
from dpcore.errors import DataUnavailable
from dpcore.experiments.engine.experiment import Row, gathered
from dpcore.experiments.engine.result_store import Store
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.engine.work_units import Finished, Unit, units_of
from dpcore.experiments.papers.dpdispca_claims import Verdict, check_claims
from dpcore.experiments.papers.dpdispca_figures import PaperFigure

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

    points: How many are compared.
    largest: Largest absolute difference of means, in shares of the optimum.
    at: Where.
    ours: Our mean there.
    is_part: Only a part of the data set is on this machine: its other rows have other moments, and
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

    Raises `DataUnavailable` if the table is not there.
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

    figure: Name of the panel.
    rows: Of a live run of that panel; may be incomplete.
    Returns: None where nothing can be compared.
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


@dataclass(frozen=True)
class PanelState:
    """What the rows kept on disk say of a panel.

    draws: How many draws are there for every value of its axis; 0 if it has not been run.
    means: tuple of (protocol, value, mean energy ratio)
    comparison: With the published points, where there are any.
    verdicts: On the paper's claims; none without draws.
    """

    figure: PaperFigure
    draws: int
    means: tuple[tuple[str, float, float], ...] = ()
    comparison: Comparison | None = None
    verdicts: tuple[Verdict, ...] = ()

    @property
    def agrees(self) -> bool | None:
        """Whether every claim holds; None while that cannot be told."""
        holds = [verdict.holds for verdict in self.verdicts]
        if False in holds:
            return False
        return None if None in holds or not holds else True


def panel_state(figure: PaperFigure, store: Store) -> PanelState:
    """Look a panel up, as far as its draws are whole; nothing is computed."""
    draws, rows = stored_draws(figure.sweep, store)
    if not rows:
        return PanelState(figure, 0)
    ratios = gathered(((row["protocol"], row[figure.field]), row["energy_ratio"]) for row in rows)
    return PanelState(
        figure,
        draws,
        tuple((*key, fmean(found)) for key, found in ratios.items()),
        compare_with_published(figure.name, rows),
        check_claims(figure, rows),
    )


def stored_draws(sweep: Sweep, store: Store) -> tuple[int, tuple[Row, ...]]:
    """How many draws of a sweep are whole in a store, from the first on, and their rows."""
    units: dict[int, list[Unit]] = {}
    feasible = {i: cell.spec for i, cell in enumerate(sweep.cells()) if cell.spec is not None}
    for unit in units_of(feasible):
        units.setdefault(unit.repetition, []).append(unit)
    whole: list[Finished] = []
    for draws in range(len(units)):
        found: list[Finished] = []
        for unit in units[draws]:
            if (finished := store.look_up(unit)) is None:
                return draws, _rows(whole)
            found += finished
        whole += found
    return len(units), _rows(whole)


def _rows(finished: list[Finished]) -> tuple[Row, ...]:
    return tuple(row for one in finished for row in one.rows)
