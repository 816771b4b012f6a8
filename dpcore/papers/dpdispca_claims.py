"""Claims of the DPdisPCA paper, judged on rows of a run.

All cells of a sweep use the same draws of noise, so protocols and neighbouring values are compared
draw by draw. A difference of means counts if a one-sided t test at 0.001 finds it. A claim holds if
no difference contradicts it and at least one supports it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Protocol

from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.summaries import Curves, crossing, percent

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


class Panel(Protocol):
    """Panel of the paper: the field that varies, and the claim about it with its trend."""

    @property
    def field(self) -> str: ...

    @property
    def claim(self) -> str: ...

    @property
    def trend(self) -> str: ...


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


def check_claim(figure: Panel, rows: Sequence[Row]) -> ClaimVerdict:
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


def check_orders(figure: Panel, rows: Sequence[Row]) -> tuple[ClaimVerdict, ...]:
    """Check that distributed beats local, full beats DPdisPCA, and pooled beats full."""
    curves = Curves(rows, figure.field)
    return tuple(
        _check_order(curves, first, second)
        for first, second in ORDERS
        if first in curves.protocols and second in curves.protocols
    )


def check_claims(figure: Panel, rows: Sequence[Row]) -> tuple[ClaimVerdict, ...]:
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
    figure: Panel, rows: Sequence[Row], psd_rows: Sequence[Row]
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
