"""The DPdisPCA paper (Imtiaz & Sarwate 2018): figures as sweeps, claims, published points.

Rows of panels of Figure 1 vary epsilon (a-c), the people per site (d-f), the number of sites (g-i)
and R for each K (j-l); columns are synthetic, MNIST, COVTYPE. Figure 2 varies delta. Captured
energy is measured, as the authors did, on the whole data set and relative to the exact subspace of
the people drawn. Settings that the text does not give are those of the authors' runs, whose result
arrays are public.

All cells of a sweep use the same draws of noise, so protocols and neighbouring values are compared
draw by draw. A difference of means counts if a one-sided t test at 0.001 finds it. A claim holds if
no difference contradicts it and at least one supports it.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from dpcore.data import dataset_status
from dpcore.data.loading import rows_here
from dpcore.errors import DataUnavailable, require_one_of
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.spec import Row, group_by_key
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.summaries import Curves, crossing, percent
from dpcore.experiments.engine.units import Finished, Unit, units_of
from dpcore.experiments.pca import RunSpec

# A curve has levelled off if the remaining change is below this share of the whole change.
_LEVEL_PART = 0.1
ORDERS = (("dpdis", "local"), ("full", "dpdis"), ("pooled", "full"))
_TITLES = {
    "dpdis": "DPdisPCA",
    "full": "sending full matrices",
    "local": "a single site",
    "pooled": "pooling",
}
_AXES = {
    "epsilon": "ε = {:g}",
    "delta": "δ = {:g}",
    "samples": "{:,g} people",
    "sites": "{:g} sites",
    "intermediate_ratio": "R = {:g} K",
}


@dataclass(frozen=True)
class ClaimVerdict:
    """Verdict on a claim in a live run.

    claim: The claim in a few words.
    holds: None if the rows cannot decide: fewer than two draws, or no significant difference.
    sentence: Result of the run with numbers.
    """

    claim: str
    holds: bool | None
    sentence: str


def check_claim(figure: PaperFigure, rows: Sequence[Row]) -> ClaimVerdict:
    """Check how the captured energy of DPdisPCA changes along the axis of a panel.

    rows: Rows of a complete run of the panel, or of the values that could run.
    """
    curves = Curves(rows, figure.field)
    direction = -1 if figure.trend.startswith("falls") else 1
    values = curves.values
    first, last = values[0], values[-1]
    whole = curves.step("dpdis", first, last)
    sentence = (
        f"{_TITLES['dpdis']} goes from {percent(curves.mean('dpdis', first))} at "
        f"{_say_point(figure.field, first)} to {percent(curves.mean('dpdis', last))} at "
        f"{_say_point(figure.field, last)}"
    )
    if not math.isfinite(whole.chance_limit):
        return ClaimVerdict(figure.claim, None, f"{sentence}; one draw cannot tell this from luck.")
    steps = {s: curves.step("dpdis", *s) for s in pairwise(values)}
    against = {s: step for s, step in steps.items() if step.sign == -direction}
    if against:
        start, stop = max(against, key=lambda s: abs(against[s].mean))
        sentence += (
            f", but {'gains' if direction < 0 else 'loses'} "
            f"{_points(abs(against[start, stop].mean))} from {_say_point(figure.field, start)} to "
            f"{_say_point(figure.field, stop)}"
        )
    elif whole.sign == 0:
        return ClaimVerdict(figure.claim, None, f"{sentence}, which is within luck.")
    holds = whole.sign == direction and not against
    if "levels off" in figure.trend:
        level = _level_from(curves)
        holds = holds and level is not None
        sentence += (
            f" and stays within a tenth of that change from {_say_point(figure.field, level)} on"
            if level is not None
            else " and has not levelled off there"
        )
    return ClaimVerdict(figure.claim, holds, f"{sentence}.")


def check_orders(figure: PaperFigure, rows: Sequence[Row]) -> tuple[ClaimVerdict, ...]:
    """Check that distributed beats local, full beats DPdisPCA, and pooled beats full."""
    curves = Curves(rows, figure.field)
    return tuple(
        _check_order(curves, first, second)
        for first, second in ORDERS
        if first in curves.protocols and second in curves.protocols
    )


def check_claims(figure: PaperFigure, rows: Sequence[Row]) -> tuple[ClaimVerdict, ...]:
    """Check every claim of a panel that its own rows can decide."""
    return check_claim(figure, rows), *check_orders(figure, rows)


def check_dimension(rows_of_figure: Mapping[str, Sequence[Row]]) -> ClaimVerdict:
    """Check that a lower dimension needs less epsilon, across the three panels that vary epsilon.

    Compares the epsilons at which the curves are halfway from a random subspace to the optimum.

    rows_of_figure: Rows of fig1-a, fig1-b and fig1-c.
    """
    claim = "A lower dimension needs less ε."
    needed = []
    for name, n_features in (("fig1-c", 54), ("fig1-a", 200), ("fig1-b", 784)):
        rows = rows_of_figure[name]
        floor = fmean(row["random_ratio"] for row in rows)
        epsilon = crossing(Curves(rows, "epsilon").means("dpdis"), (1 + floor) / 2)
        needed.append((n_features, rows[0]["dataset"], epsilon))
    sentence = ", ".join(
        f"{dataset} (D = {n_features}) at ε = {epsilon:.2g}"
        if epsilon is not None
        else f"{dataset} (D = {n_features}) not within the panel"
        for n_features, dataset, epsilon in needed
    )
    reached = [math.inf if epsilon is None else epsilon for _, _, epsilon in needed]
    return ClaimVerdict(
        claim,
        reached == sorted(reached) and math.isfinite(reached[0]),
        f"DPdisPCA comes 50 % of the way from a random subspace to the optimum: {sentence}.",
    )


def check_cost_of_sending(
    figure: PaperFigure, rows: Sequence[Row], psd_rows: Sequence[Row]
) -> ClaimVerdict:
    """Check that full beats DPdisPCA under psd truncation, which keeps positive eigenvalues only.

    rows, psd_rows: Rows of the panel as published, and with `truncation="psd"`.
    """
    published, psd = Curves(rows, figure.field), Curves(psd_rows, figure.field)
    at = max(published.values, key=lambda value: published.difference("full", "dpdis", value).mean)
    before, after = (curves.difference("full", "dpdis", at).mean for curves in (published, psd))
    order = _check_order(psd, "full", "dpdis")
    return ClaimVerdict(
        order.claim,
        order.holds,
        f"Where sending P costs most, at {_say_point(figure.field, at)}, it costs "
        f"{_points(before)} as published and {_points(after)} with psd truncation. "
        f"{order.sentence}",
    )


def _check_order(curves: Curves, first: str, second: str) -> ClaimVerdict:
    claim = f"{_TITLES[first]} beats {_TITLES[second]}"
    claim = claim[0].upper() + claim[1:]
    leads = {value: curves.difference(first, second, value) for value in curves.values}
    ahead = [value for value, lead in leads.items() if lead.sign > 0]
    behind = [value for value, lead in leads.items() if lead.sign < 0]
    best = max(leads, key=lambda value: leads[value].mean)
    if not math.isfinite(leads[best].chance_limit):
        return ClaimVerdict(f"{claim}.", None, "One draw cannot tell this from luck.")
    by = f"{_points(leads[best].mean)} at {_say_point(curves.field, best)}"
    sentence = (
        f"{claim} at {len(ahead)} of {len(leads)} values, by up to {by}"
        if ahead
        else f"{claim} nowhere beyond luck; it leads by at most {by}"
    )
    if behind:
        worst = min(behind, key=lambda value: leads[value].mean)
        sentence += (
            f", but falls behind at {len(behind)}, by up to {_points(-leads[worst].mean)} "
            f"at {_say_point(curves.field, worst)}"
        )
    elif 0 < len(ahead) < len(leads):
        sentence += "; elsewhere the two are equal within luck"
    holds = bool(ahead) and not behind if ahead or behind else None
    return ClaimVerdict(f"{claim}.", holds, f"{sentence}.")


def _level_from(curves: Curves) -> float | None:
    """Return the first value from which the curve stays close to its end.

    Returns: None if only the last value is close
    """
    means = [mean for _, mean in curves.means("dpdis")]
    near = _LEVEL_PART * abs(means[-1] - means[0])
    far = [i for i, mean in enumerate(means) if abs(mean - means[-1]) > near]
    return curves.values[far[-1] + 1] if far[-1] + 2 < len(means) else None


def _say_point(field: str, value: float) -> str:
    return _AXES[field].format(value)


def _points(difference: float) -> str:
    points = 100 * difference
    return f"{points:.1f} points" if points < 9.95 else f"{points:.0f} points"


EPSILONS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
SAMPLES = (1000, 2000, 5000, 10000, 20000, 30000, 40000, 50000, 60000)
SITES = (5, 10, 20, 50, 100)
# The authors round a quarter and three quarters of K up: 13 and 38 of 50, 3 and 8 of 10.
RATIOS = (0.26, 0.5, 0.76, 1.0, 2.0, 4.0)
RATIOS_OF_TEN = (0.3, 0.5, 0.8, 1.0, 2.0, 4.0)
DELTAS = (1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2)


@dataclass(frozen=True)
class PaperFigure:
    """One published panel: a base specification and the field that varies.

    name: Name on the command line.
    field: Field of a sweep that varies.
    claim: Claim of the paper about the panel.
    trend: {"grows", "falls and levels off", "grows and levels off"}. The claim as `check_claim`
        reads it.
    axis: Title of the axis.
    """

    name: str
    title: str
    base: RunSpec
    field: str
    values: tuple[Any, ...]
    claim: str
    trend: str
    axis: str

    @property
    def sweep(self) -> Sweep:
        return Sweep(self.base, ((self.field, self.values),))

    def cells(self) -> Iterator[RunSpec]:
        """Yield the specifications of the panel that can run, in the order of its axis."""
        return (cell.spec for cell in self.sweep.cells() if cell.spec is not None)

    def judge(self, rows: Sequence[Row]) -> tuple[ClaimVerdict, ...]:
        """Return the verdicts on the paper's claims about the panel."""
        return check_claims(self, rows)

    @property
    def rows_here(self) -> str:
        """Such as "10,000 of 60,000 rows"; empty if the whole data set is on this machine."""
        return rows_here(self.base.dataset)

    def on_this_machine(self) -> PaperFigure:
        """Return the panel with no more people in all than this machine has rows."""
        n_here, n_people = dataset_status(self.base.dataset).n_samples, self.base.samples
        if n_people is None or n_people <= n_here:
            return self
        axis = self.axis.replace(f"{n_people:,}", f"{n_here:,}")
        return replace(self, base=replace(self.base, samples=n_here), axis=axis)

    def with_changes(self, **changes: Any) -> PaperFigure:
        """Return the panel with other settings, such as another seed or fewer repetitions."""
        return replace(self, base=replace(self.base, **changes))


_BASE = RunSpec.published(
    protocols=("dpdis", "full", "local", "pooled"),
    delta=0.01,
    sites=10,
    samples=10000,
    components=50,
    intermediate_dim=100,
    reference="all",
    repetitions=10,
)
_SYNTHETIC = replace(_BASE, dataset="synthetic", epsilon=0.5)
_MNIST = replace(_BASE, dataset="mnist", epsilon=1.0)
_COVTYPE = replace(_BASE, dataset="covtype", epsilon=0.1, components=10, intermediate_dim=20)


def _row(
    letters: str,
    what: str,
    axis: str,
    field: str,
    values: tuple[float, ...] | dict[int | None, tuple[float, ...]],
    claim: str,
    trend: str,
    bases: Sequence[RunSpec],
) -> Iterator[PaperFigure]:
    """Yield three panels; `values` may depend on K."""
    for letter, base in zip(letters, bases, strict=True):
        title = f"Captured energy against {what}, {base.dataset}"
        axis_values = values[base.components] if isinstance(values, dict) else values
        yield PaperFigure(f"fig1-{letter}", title, base, field, axis_values, claim, trend, axis)


def _dpdispca() -> Iterator[PaperFigure]:
    bases = (_SYNTHETIC, _MNIST, _COVTYPE)
    fewer = (_SYNTHETIC, _MNIST, replace(_COVTYPE, samples=5000))
    yield from _row(
        "abc",
        "ε",
        "requested ε",
        "epsilon",
        EPSILONS,
        "Captured energy grows with ε; a lower dimension needs less ε.",
        "grows",
        fewer,
    )
    yield from _row(
        "def",
        "people",
        "people in all, at ten sites",
        "samples",
        SAMPLES,
        "Captured energy grows with the people per site.",
        "grows",
        tuple(replace(base, resample=True) for base in bases),
    )
    yield from _row(
        "ghi",
        "number of sites",
        "sites, with 20,000 people in all",
        "sites",
        SITES,
        "With N held, captured energy falls with the number of sites and levels off.",
        "falls and levels off",
        tuple(replace(base, samples=20000) for base in bases),
    )
    yield from _row(
        "jkl",
        "directions each site sends",
        "directions a site sends for each one wanted, R : K",
        "intermediate_ratio",
        {50: RATIOS, 10: RATIOS_OF_TEN},
        "Captured energy grows with the directions each site sends and soon levels off.",
        "grows and levels off",
        fewer,
    )
    for base, epsilon in zip(fewer, (1.0, 2.0, 0.5), strict=True):
        components = 50 if base.dataset == "synthetic" else 10
        yield PaperFigure(
            f"fig2-{base.dataset}",
            f"Captured energy against δ, {base.dataset}",
            replace(base, epsilon=epsilon, components=components, intermediate_dim=2 * components),
            "delta",
            DELTAS,
            "Captured energy grows with δ: if δ is not too small, utility is good.",
            "grows",
            "requested δ",
        )


FIGURES: dict[str, PaperFigure] = {figure.name: figure for figure in _dpdispca()}


def paper_figure(name: str) -> PaperFigure:
    """Return the published panel with this name, with as many people as this machine has.

    Raises `ParameterError` naming the known ones.
    """
    require_one_of("figure", name, FIGURES)
    return FIGURES[name].on_this_machine()


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


@dataclass(frozen=True)
class PanelState:
    """State of a panel in the store of finished rows.

    draws: Number of complete draws for every value of its axis.
    means: Tuples of protocol, value and mean captured energy.
    comparison: Comparison with the published points, if there are any.
    verdicts: Verdicts on the paper's claims; empty without draws.
    """

    figure: PaperFigure
    draws: int
    means: tuple[tuple[str, float, float], ...] = ()
    comparison: Comparison | None = None
    verdicts: tuple[ClaimVerdict, ...] = ()

    @property
    def agrees(self) -> bool | None:
        """True if every claim holds; None if that cannot be decided."""
        holds = [verdict.holds for verdict in self.verdicts]
        if False in holds:
            return False
        return None if None in holds or not holds else True


def panel_state(figure: PaperFigure, store: Store) -> PanelState:
    """Return the state of a panel from its complete draws in a store; nothing is computed."""
    draws, rows = stored_draws(figure.sweep, store)
    if not rows:
        return PanelState(figure, 0)
    ratios = group_by_key(
        ((row["protocol"], row[figure.field]), row["energy_ratio"]) for row in rows
    )
    return PanelState(
        figure,
        draws,
        tuple((*key, fmean(values)) for key, values in ratios.items()),
        compare_with_published(figure.name, rows),
        check_claims(figure, rows),
    )


def stored_draws(sweep: Sweep, store: Store) -> tuple[int, tuple[Row, ...]]:
    """Return the number of complete draws of a sweep in a store, and their rows."""
    units: dict[int, list[Unit]] = {}
    feasible = {i: cell.spec for i, cell in enumerate(sweep.cells()) if cell.spec is not None}
    for unit in units_of(feasible):
        units.setdefault(unit.repetition, []).append(unit)
    whole: list[Finished] = []
    for draws in range(len(units)):
        of_draw: list[Finished] = []
        for unit in units[draws]:
            if (finished := store.look_up(unit)) is None:
                return draws, _rows(whole)
            of_draw += finished
        whole += of_draw
    return len(units), _rows(whole)


def _rows(finished: list[Finished]) -> tuple[Row, ...]:
    return tuple(row for result in finished for row in result.rows)
