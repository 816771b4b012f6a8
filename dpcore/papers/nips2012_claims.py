"""Claims of the 2012 paper, checked on rows.

Means are compared by Welch's one-sided test at 0.001, given the people drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev, variance

from scipy.special import stdtrit

from dpcore.experiments.engine.spec import Row, group_by_key
from dpcore.experiments.engine.summaries import Difference, percent
from dpcore.papers.dpdispca_claims import ClaimVerdict
from dpcore.papers.nips2012_draws import PROTOCOLS

_LEVEL = 0.001
# "Not much better than random": below this share of the way from random to exact.
_NEAR_RANDOM = 0.1
# "Approaches": at least this share of the optimum.
_NEAR_OPTIMUM = 0.9
# Largest difference of accuracies, in percentage points.
_CLOSE = 1.0


def welch(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Return the difference of the means of two independent series, with its `chance_limit`."""
    mean = fmean(first) - fmean(second)
    if min(len(first), len(second)) < 2:
        return Difference(mean, math.inf)
    parts = [variance(series) / len(series) for series in (first, second)]
    if sum(parts) == 0:
        return Difference(mean, 0.0)
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(series) - 1) for part, series in zip(parts, (first, second), strict=True)
    )
    chance_limit = float(stdtrit(freedom, 1 - _LEVEL)) * math.sqrt(sum(parts))
    return Difference(mean, chance_limit)


def check_sample_curve(
    rows: Sequence[Row], *, is_low_dimensional: bool
) -> tuple[ClaimVerdict, ...]:
    """Check that PPCA grows with n and is at least as good as MOD-SuLQ.

    MOD-SuLQ must be near random.

    rows: Rows of protocols exact, ppca, modsulq and random at several `samples`.
    is_low_dimensional: Whether this is the data set for which the paper makes an exception.
    """
    series = _series(rows, "samples")
    values = sorted({value for _, value in series})
    last = values[-1]
    first = fmean(series["ppca", values[0]])
    final = fmean(series["ppca", last])
    growth = welch(series["ppca", last], series["ppca", values[0]])
    grows = ClaimVerdict(
        "PPCA approaches exact PCA as n grows.",
        None if not math.isfinite(growth.chance_limit) else growth.sign > 0,
        f"PPCA keeps {percent(first)} at {values[0]:,} people and {percent(final)} at {last:,}.",
    )
    gain = {value: _gain(series, "modsulq", value) for value in values}
    at = f"at {last:,} people MOD-SuLQ comes {percent(max(gain[last], 0))} of the way up"
    if is_low_dimensional:
        exception = ClaimVerdict(
            "MOD-SuLQ does better than random here, where the dimension is low.",
            welch(series["modsulq", last], series["random", last]).sign > 0,
            f"From random to exact, {at}.",
        )
    else:
        exception = ClaimVerdict(
            "MOD-SuLQ is not much better than random.",
            max(gain.values()) < _NEAR_RANDOM,
            f"From random to exact, {at}, and {percent(max(0, *gain.values()))} at most.",
        )
    return _check_order(series, values, "{:,} people"), grows, exception


def check_privacy_curve(rows: Sequence[Row]) -> tuple[ClaimVerdict, ...]:
    """Check that PPCA is above MOD-SuLQ at every epsilon, and that both end near the optimum."""
    series = _series(rows, "epsilon")
    values = sorted({value for _, value in series})
    right = {key: fmean(series[key, values[-1]]) for key in ("ppca", "modsulq")}
    both = ClaimVerdict(
        "Both approach exact PCA as ε grows.",
        min(right.values()) > _NEAR_OPTIMUM,
        f"At ε = {values[-1]:g} PPCA keeps {percent(right['ppca'])} and MOD-SuLQ "
        f"{percent(right['modsulq'])}.",
    )
    return _check_order(series, values, "ε = {:g}"), both


def check_accuracies(
    title: str, published: Mapping[str, float], rows: Sequence[Row]
) -> Iterator[ClaimVerdict]:
    """Check that PPCA is almost as accurate as exact PCA.

    The other algorithms must be a little less accurate.

    title: Title of the line.
    published: Printed accuracies in percent by protocol.
    rows: Rows of that line, with `accuracy`.
    """
    accuracies = {
        protocol: [100 * row["accuracy"] for row in rows if row["protocol"] == protocol]
        for protocol in PROTOCOLS
    }
    means = {protocol: fmean(series) for protocol, series in accuracies.items()}
    loss = welch(accuracies["exact"], accuracies["ppca"])
    yield ClaimVerdict(
        f"{title}: PPCA is almost as good as PCA without privacy.",
        loss.mean < _CLOSE,
        f"{title}: a linear SVM is right for {means['ppca']:.2f} % with PPCA and "
        f"{means['exact']:.2f} % with exact PCA.",
    )
    others = [f"{means[key]:.2f} ± {stdev(accuracies[key]):.2f} %" for key in PROTOCOLS[2:]]
    signs = {welch(accuracies["ppca"], accuracies[key]).sign for key in PROTOCOLS[2:]}
    yield ClaimVerdict(
        f"{title}: MOD-SuLQ and random projections are a little worse.",
        None if signs == {0} else min(signs) >= 0,
        f"{title}: MOD-SuLQ {others[0]}, random {others[1]}, PPCA {means['ppca']:.2f} ± "
        f"{stdev(accuracies['ppca']):.2f} %.",
    )
    if published:
        worst = max(published, key=lambda protocol: abs(means[protocol] - published[protocol]))
        yield ClaimVerdict(
            f"{title}: within {_CLOSE:g} point of the published row.",
            abs(means[worst] - published[worst]) <= _CLOSE,
            f"{title}: "
            + ", ".join(
                f"{key} {means[key]:.2f} (published {published[key]:.2f})" for key in PROTOCOLS
            )
            + ".",
        )


def _series(rows: Sequence[Row], field: str) -> dict[tuple[str, float], list[float]]:
    return group_by_key(((row["protocol"], row[field]), row["energy_ratio"]) for row in rows)


def _gain(series: Mapping[tuple[str, float], list[float]], protocol: str, value: float) -> float:
    low, high = fmean(series["random", value]), fmean(series["exact", value])
    return (fmean(series[protocol, value]) - low) / (high - low)


def _check_order(
    series: Mapping[tuple[str, float], list[float]], values: Sequence[float], at: str
) -> ClaimVerdict:
    claim = "PPCA keeps at least what MOD-SuLQ keeps, everywhere."
    leads = {value: welch(series["ppca", value], series["modsulq", value]) for value in values}
    widest = max(leads, key=lambda value: leads[value].mean)
    narrowest = min(leads, key=lambda value: leads[value].mean)
    if not math.isfinite(leads[widest].chance_limit):
        return ClaimVerdict(claim, None, "One draw cannot tell this from luck.")
    ahead = [value for value in values if leads[value].sign > 0]
    is_behind = any(lead.sign < 0 for lead in leads.values())
    return ClaimVerdict(
        claim,
        not is_behind if ahead or is_behind else None,
        f"PPCA is ahead at {len(ahead)} of {len(values)} values beyond luck: by "
        f"{_points(leads[widest].mean)} at {at.format(widest)} and "
        f"{_points(leads[narrowest].mean)} at {at.format(narrowest)}.",
    )


def _points(difference: float) -> str:
    return f"{100 * difference:.2g} points"
