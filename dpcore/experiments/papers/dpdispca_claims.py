"""What a paper says of its figures, checked on the rows of a live run.

Every cell of a sweep meets the same draws of noise, so protocols and neighbouring values of the
axis are compared draw by draw, and the luck that they share cancels. A mean difference counts
where it is beyond what its spread explains: the one-sided t test at 0.001, for each comparison
on its own. A claim holds if nothing speaks against it beyond that, and something for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.pca.paired_curves import Curves, crossing
from dpcore.experiments.pca.sentences import percent

if TYPE_CHECKING:
    from dpcore.experiments.papers.dpdispca_figures import PaperFigure

# A curve has levelled off where less than this part of its whole change is left.
_LEVEL_PART = 0.1
ORDERS = (("dpdis", "local"), ("full", "dpdis"), ("pooled", "full"))
_TITLES = {
    "dpdis": "DPdisPCA",
    "full": "sending full matrices",
    "local": "one site alone",
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
class Verdict:
    """Whether a claim holds in a live run.

    claim: A few words.
    holds: None where the rows cannot tell: fewer than two draws, or nothing beyond luck.
    sentence: What the run shows, with numbers.
    """

    claim: str
    holds: bool | None
    sentence: str


def check_claim(figure: PaperFigure, rows: Sequence[Row], protocol: str = "dpdis") -> Verdict:
    """The panel's own claim: how energy goes along its axis.

    rows: Of a complete run of the panel, or of the values that could run.
    protocol: Whose curve is judged.
    """
    curves = Curves(rows, figure.field)
    direction = -1 if figure.trend.startswith("falls") else 1
    values = curves.values
    first, last = values[0], values[-1]
    whole = curves.step(protocol, first, last)
    sentence = (
        f"{_TITLES[protocol]} goes from {percent(curves.mean(protocol, first))} at "
        f"{_at(figure.field, first)} to {percent(curves.mean(protocol, last))} at "
        f"{_at(figure.field, last)}"
    )
    if not math.isfinite(whole.luck):
        return Verdict(figure.claim, None, f"{sentence}; one draw cannot tell this from luck.")
    steps = {s: curves.step(protocol, *s) for s in pairwise(values)}
    against = {s: step for s, step in steps.items() if step.sign == -direction}
    if against:
        start, stop = max(against, key=lambda s: abs(against[s].mean))
        sentence += (
            f", but {'gains' if direction < 0 else 'loses'} "
            f"{_points(abs(against[start, stop].mean))} from {_at(figure.field, start)} to "
            f"{_at(figure.field, stop)}"
        )
    elif whole.sign == 0:
        return Verdict(figure.claim, None, f"{sentence}, which is within luck.")
    holds = whole.sign == direction and not against
    if "levels off" in figure.trend:
        level = _level_from(curves, protocol)
        holds = holds and level is not None
        sentence += (
            f" and stays within a tenth of that change from {_at(figure.field, level)} on"
            if level is not None
            else " and has not levelled off there"
        )
    return Verdict(figure.claim, holds, f"{sentence}.")


def check_orders(figure: PaperFigure, rows: Sequence[Row]) -> tuple[Verdict, ...]:
    """Distributed beats local, full beats DPdisPCA, pooled beats full; one verdict each."""
    curves = Curves(rows, figure.field)
    return tuple(
        _order(curves, first, second)
        for first, second in ORDERS
        if first in curves.protocols and second in curves.protocols
    )


def check_claims(figure: PaperFigure, rows: Sequence[Row]) -> tuple[Verdict, ...]:
    """Every claim of a panel that its own rows can answer."""
    return check_claim(figure, rows), *check_orders(figure, rows)


def check_dimension(rows_of_figure: Mapping[str, Sequence[Row]], level: float = 0.5) -> Verdict:
    """A lower dimension needs less epsilon: across the three panels that vary epsilon.

    rows_of_figure: Rows of fig1-a, fig1-b and fig1-c.
    level: The share of the optimum to be reached. Energies of different data start from different
        floors, so it is counted from the random subspace of each: 0.5 is half way up.
    """
    claim = "A lower dimension needs less ε."
    needed = []
    for name, n_features in (("fig1-c", 54), ("fig1-a", 200), ("fig1-b", 784)):
        rows = rows_of_figure[name]
        floor = fmean(row["random_ratio"] for row in rows)
        epsilon = crossing(Curves(rows, "epsilon").means("dpdis"), floor + level * (1 - floor))
        needed.append((n_features, rows[0]["dataset"], epsilon))
    sentence = ", ".join(
        f"{dataset} (D = {n_features}) at ε = {epsilon:.2g}"
        if epsilon is not None
        else f"{dataset} (D = {n_features}) not within the panel"
        for n_features, dataset, epsilon in needed
    )
    reached = [math.inf if epsilon is None else epsilon for _, _, epsilon in needed]
    return Verdict(
        claim,
        reached == sorted(reached) and math.isfinite(reached[0]),
        f"DPdisPCA comes {percent(level)} of the way from a random subspace to the optimum: "
        f"{sentence}.",
    )


def check_cost_of_sending(
    figure: PaperFigure, rows: Sequence[Row], psd_rows: Sequence[Row]
) -> Verdict:
    """How much of the cost of sending proxies is left when truncation keeps what is positive.

    rows, psd_rows: Of the panel as published, and with `truncation="psd"`.
    Checks the paper's claim that full beats DPdisPCA, under psd truncation.
    """
    published, psd = Curves(rows, figure.field), Curves(psd_rows, figure.field)
    at = max(published.values, key=lambda value: published.lead("full", "dpdis", value).mean)
    before, after = (curves.lead("full", "dpdis", at).mean for curves in (published, psd))
    order = _order(psd, "full", "dpdis")
    return Verdict(
        order.claim,
        order.holds,
        f"Where sending P costs most, at {_at(figure.field, at)}, it costs {_points(before)} as "
        f"published and {_points(after)} with psd truncation. {order.sentence}",
    )


def _order(curves: Curves, first: str, second: str) -> Verdict:
    claim = f"{_TITLES[first]} beats {_TITLES[second]}"
    claim = claim[0].upper() + claim[1:]
    leads = {value: curves.lead(first, second, value) for value in curves.values}
    ahead = [value for value, lead in leads.items() if lead.sign > 0]
    behind = [value for value, lead in leads.items() if lead.sign < 0]
    best = max(leads, key=lambda value: leads[value].mean)
    if not math.isfinite(leads[best].luck):
        return Verdict(f"{claim}.", None, "One draw cannot tell this from luck.")
    by = f"{_points(leads[best].mean)} at {_at(curves.field, best)}"
    sentence = (
        f"{claim} at {len(ahead)} of {len(leads)} values, by up to {by}"
        if ahead
        else f"{claim} nowhere beyond luck; it leads by at most {by}"
    )
    if behind:
        worst = min(behind, key=lambda value: leads[value].mean)
        sentence += (
            f", but falls behind at {len(behind)}, by up to {_points(-leads[worst].mean)} "
            f"at {_at(curves.field, worst)}"
        )
    elif 0 < len(ahead) < len(leads):
        sentence += "; elsewhere the two are equal within luck"
    holds = bool(ahead) and not behind if ahead or behind else None
    return Verdict(f"{claim}.", holds, f"{sentence}.")


def _level_from(curves: Curves, protocol: str) -> float | None:
    """The first value from which the curve stays close to where it ends; None if only there."""
    means = [mean for _, mean in curves.means(protocol)]
    near = _LEVEL_PART * abs(means[-1] - means[0])
    far = [i for i, mean in enumerate(means) if abs(mean - means[-1]) > near]
    return curves.values[far[-1] + 1] if far[-1] + 2 < len(means) else None


def _at(field: str, value: float) -> str:
    return _AXES[field].format(value)


def _points(difference: float) -> str:
    points = 100 * difference
    return f"{points:.1f} points" if points < 9.95 else f"{points:.0f} points"
