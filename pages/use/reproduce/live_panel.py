"""A panel that runs live: its curves over the published points, the claims, what to take away."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.papers.dpdispca_figures import PaperFigure
from dpcore.experiments.papers.published_points import published_citation, published_points_of
from dpcore.figures.tradeoffs.panels import energy_panel
from pages.explore.tradeoffs.sweep_controls import command_of
from pages.parameters.use import REPAIRED
from pages.server.visitors_jobs import SweepProgress
from pages.use.reproduce.panel_run import (
    ENOUGH_DRAWS,
    LINEAR,
    as_published_rows,
    comparison,
    say,
    say_across_panels,
    verdicts,
)
from pages.widgets.charts import chart, is_dark
from pages.widgets.messages import big_number
from pages.widgets.sweep_panel import take_away_sweep


def draw(figure: PaperFigure, progress: SweepProgress) -> None:
    """The live curves over the published points, and what becomes of the paper's claims."""
    rows = as_published_rows(progress.rows[0])
    if not rows:
        published_shown(figure, "The first draws of this lab's own are on their way.")
        return
    number, sentence, caveat = comparison(figure, rows)
    big_number(number, sentence, caveat)
    chart(
        _panel(figure, progress.rows),
        key="reproduce_do_panel",
        alt=f"{figure.title}: {number} {sentence}",
    )
    st.caption(
        "Lines and bands: this run, mean and spread of its draws. Hollow markers with bars: the "
        "authors' ten runs."
    )
    st.markdown("## What the paper claims")
    if progress.state != "finished":
        st.caption(f"*{figure.claim}* Whether it holds is said once every draw is there.")
        return
    if figure.base.repetitions < ENOUGH_DRAWS:
        st.caption(
            f"{figure.base.repetitions} draws tell only large differences from luck; run it as "
            "published to know."
        )
    for under, verdict in verdicts(figure, progress.rows):
        say(under, verdict)
    say_across_panels(figure)


def published_shown(figure: PaperFigure, then: str) -> None:
    """The authors' own points, and the claim they carry, until there is a run beside them."""
    st.markdown(f"## The paper claims: {figure.claim}")
    if published_points_of(figure.name):
        chart(
            _panel(figure, ()),
            key="reproduce_do_panel",
            alt=f"{figure.title}: the authors' points, with no run of this lab's own beside them.",
        )
        then = f"Hollow markers with bars: the authors' ten runs. {then}"
    st.caption(then)


def _panel(figure: PaperFigure, sides: Sequence[Sequence[Row]]) -> go.Figure:
    published = published_points_of(figure.name)
    return energy_panel(
        as_published_rows(sides[0]) if sides else (),
        figure.field,
        others=dict(zip((REPAIRED,), sides[1:], strict=False)),
        published=[(p.protocol, p.value, p.mean, p.std) for p in published],
        axis_title=figure.axis,
        logarithmic=figure.field not in LINEAR,
        axis_range=(figure.values[0], figure.values[-1]),
        height=460,
        dark=is_dark(),
    )


def take_away(figure: PaperFigure, sweeps: Sequence[Sweep], progress: SweepProgress) -> None:
    """The rows, the panel and the commands, and whose numbers ours are put beside."""
    commands = [
        (
            f"python -m dpcore reproduce {figure.name} --repetitions {figure.base.repetitions} "
            f"--out {figure.name}"
        )
    ]
    if len(sweeps) > 1:
        commands += [command_of(sweep, n) for n, sweep in enumerate(sweeps, start=1)]
    rows = [row for side in progress.rows for row in side]
    take_away_sweep(
        "reproduce", tuple(sweeps), rows, {figure.name: _panel(figure, progress.rows)}, commands
    )
    st.caption(published_citation())
