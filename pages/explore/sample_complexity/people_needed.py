"""People needed for one component, on a page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.experiments.central.people_needed import (
    DIMENSIONS,
    MECHANISMS,
    ComplexitySpec,
    bounds,
    growth,
    is_covered_by_theorem_4,
)
from dpcore.experiments.engine.experiment import Row
from dpcore.figures.families.central import people_needed
from pages.parameters.words import plain
from pages.server import visitors_jobs
from pages.server.visitors_jobs import SweepProgress
from pages.widgets.charts import chart, is_dark
from pages.widgets.live_figure import live_figure
from pages.widgets.messages import big_number

_FIGURE = "complexity"


def rows_there(spec: ComplexitySpec) -> Sequence[Row]:
    """Measurements finished so far."""
    return visitors_jobs.live(_FIGURE, (spec.sweep(),)).progress().rows[0]


def headline(spec: ComplexitySpec, place: DeltaGenerator) -> None:
    """The two slopes, once both can be told."""
    rows = rows_there(spec)
    slopes = _slopes(rows)
    with place:
        if len(slopes) < len(MECHANISMS) or len(rows) < len(spec.sweep().cells()):
            big_number(
                "d : d<sup>1.5</sup>",
                "is how the people needed grow with **PPCA** and with **MOD-SuLQ**, the theorems "
                "say. Measuring …",
            )
            return
        last = {row["protocol"]: row["samples"] for row in rows}
        times = last["modsulq"] / last["ppca"]
        big_number(
            f"{times:,.0f} ×" if times >= 10 else f"{times:.1f} ×",
            f"as many people are needed by **MOD-SuLQ** as by **PPCA** at d = {DIMENSIONS[-1]}, "
            f"for a correlation of {spec.correlation:g} at ε = {plain(spec.epsilon)}.",
            f"A hospital that measures {DIMENSIONS[-1]} things of everybody needs about "
            f"**{last['ppca']:,.0f}** patients with PPCA and **{last['modsulq']:,.0f}** with "
            "MOD-SuLQ. "
            f"People needed grow as $d^{{{slopes['ppca']:.2f}}}$ with PPCA and as "
            f"$d^{{{slopes['modsulq']:.2f}}}$ with MOD-SuLQ; the theorems say $d$ and "
            "$d^{3/2}$, up to logarithms.",
        )


def curves(spec: ComplexitySpec) -> None:
    """Bounds and measurements, filling in."""

    def draw(there: SweepProgress) -> None:
        rows = there.rows[0]
        slopes = _slopes(rows)
        figure = people_needed(
            rows,
            bounds(spec, DIMENSIONS, rows),
            slopes,
            dimensions=(DIMENSIONS[0], DIMENSIONS[-1]),
            dark=is_dark(),
        )
        told = ", ".join(f"{key} grows as d^{slope:.2f}" for key, slope in slopes.items())
        chart(figure, key=_FIGURE, alt=f"People needed against dimension: {told}.")

    live_figure(_FIGURE, (spec.sweep(),), draw, noun="measurements")


def what_is_silent(spec: ComplexitySpec) -> None:
    """Which theorem says nothing at these settings."""
    if not any(is_covered_by_theorem_4(spec, d) for d in DIMENSIONS):
        st.caption(
            "Theorem 4 speaks of correlations above about 0.992 alone; take ρ = 0.998 to see it."
        )
    st.caption(
        "The spectrum is given and nobody's rows are read, so nothing here enters the ledger."
    )


def _slopes(rows: Sequence[Row]) -> dict[str, float]:
    return {
        key: growth(rows, key)
        for key in MECHANISMS
        if sum(row["protocol"] == key for row in rows) > 1
    }
