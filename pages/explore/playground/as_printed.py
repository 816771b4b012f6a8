"""Captured energy beside what the paper printed."""

from __future__ import annotations

from dataclasses import replace

from dpcore.experiments.pca.sentences import percent, spread_of
from dpcore.experiments.pca.spec import RunSpec, as_published
from pages.server import result_cache
from pages.widgets import session_ledger


def against_published(spec: RunSpec, mean: float) -> str:
    """What the published choices keep, beside the first protocol's mean; paid for like the rest."""
    printed = replace(as_published(spec), protocols=spec.protocols[:1])
    session_ledger.pay_run(printed, spec.repetitions)
    before = spread_of(result_cache.rows(printed), spec.protocols[0])
    return (
        f"The published choices (published calibration, triangle noise, svd truncation) keep "
        f"**{percent(before.mean)}**: a difference of "
        f"**{100 * (mean - before.mean):+.0f} points** for a promise that is kept."
    )
