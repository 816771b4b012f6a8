"""The poster's three curves, filling in while one looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from dpcore.experiments.cca.sentences import TITLES, half_captured, half_in_words
from dpcore.experiments.cca.spec import CcaSpec
from dpcore.experiments.engine.control_ranges import DELTAS, EPSILONS
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Points
from dpcore.figures.families.cca import correlation_curves
from pages.explore.cca.controls import CcaChoice
from pages.server import visitors_jobs
from pages.server.visitors_jobs import SweepProgress
from pages.widgets.charts import chart, is_dark
from pages.widgets.live_figure import live_figure

CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.01)
_DRAWS = 5
_FEWEST_PEOPLE = 50
_TITLES = {
    "epsilon": ("Against ε", "← more private     asked ε     less private →"),
    "samples": ("Against the number of people", "people N"),
    "delta": ("Against δ", "← more private     δ     less private →"),
}


def three_curves(selection: CcaChoice, floor: float) -> None:
    """Total correlation captured against ε (at three numbers of people), N and δ."""
    spec = replace(selection.spec, repetitions=min(_DRAWS, selection.spec.repetitions))
    least = max(_FEWEST_PEOPLE, 2 * spec.sites)
    sizes = [n for n in (round(spec.samples / 2**half) for half in range(6)) if n >= least]
    panels = {
        "epsilon": [
            # The lead at fewer people too; the others would make a thicket of it.
            replace(
                spec,
                epsilon=epsilon,
                samples=n,
                protocols=spec.protocols if n == spec.samples else spec.protocols[:1],
            )
            for n in sizes[:6:2]
            for epsilon in CURVE_EPSILONS
        ],
        "samples": [replace(spec, samples=n) for n in sizes],
        "delta": [replace(spec, delta=delta) for delta in DELTAS],
    }
    sweeps = {field: Points(tuple(specs)) for field, specs in panels.items() if specs}

    def draw(progress: SweepProgress) -> None:
        rows_of = dict(zip(sweeps, progress.rows, strict=True))
        _half(sweeps.get("epsilon"), rows_of.get("epsilon", ()), spec)
        for column, (field, rows) in zip(st.columns(3), rows_of.items(), strict=False):
            with column:
                _panel(field, rows, sweeps[field].specs, spec, floor)

    live_figure("cca_curves", tuple(sweeps.values()), draw)


def _half(curve: Points | None, rows: Sequence[Row], spec: CcaSpec) -> None:
    if curve is not None and len(rows) == visitors_jobs.cost_of((curve,)).rows > 0:
        reached = half_captured(rows, spec.protocols[0])
        st.markdown(half_in_words(reached, CURVE_EPSILONS[0], CURVE_EPSILONS[-1]))
    else:
        st.markdown("Half of the exact correlation is captured … (the first curve is filling in)")


def _panel(
    field: str, rows: Sequence[Row], specs: Sequence[CcaSpec], spec: CcaSpec, floor: float
) -> None:
    title, axis_title = _TITLES[field]
    st.markdown(f"**{title}**")
    if not rows:
        st.caption("Waiting for its turn.")
        return
    values = [getattr(each, field) for each in specs]
    chart(
        correlation_curves(
            rows,
            field,
            titles=TITLES,
            axis_title=axis_title,
            axis_range=(min(values), max(values)),
            floor=floor,
            marker=getattr(spec, field),
            dark=is_dark(),
        ),
        key=f"cca_curve_{field}",
        alt=f"Share of the exact total correlation captured, {title.lower()}.",
    )
