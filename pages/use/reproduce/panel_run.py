"""A published figure run live: what is asked for, its curves over the published ones, claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import plotly.graph_objects as go
import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.papers.dpdispca_claims import (
    Verdict,
    check_claims,
    check_cost_of_sending,
    check_dimension,
    check_orders,
)
from dpcore.experiments.papers.dpdispca_figures import FIGURES, PaperFigure
from dpcore.experiments.papers.published_points import (
    compare_with_published,
    published_citation,
    published_points_of,
)
from dpcore.experiments.pca.sentences import percent
from dpcore.figures.tradeoffs.panels import energy_panel
from dpcore.pca.protocols.register import PROTOCOLS
from pages.explore.tradeoffs.sweep_controls import commands_of
from pages.parameters.table import ask
from pages.parameters.use import PANEL_DRAWS, REPAIRED, panel_groups, panel_label
from pages.server import visitors_jobs
from pages.server.visitors_jobs import SweepProgress, Sweeps
from pages.widgets.charts import chart, is_dark
from pages.widgets.messages import big_number
from pages.widgets.sweep_panel import take_away_sweep
from pages.widgets.watched_job import of_sweeps, start_unasked

LINEAR = ("intermediate_ratio",)
# With fewer, the t test at 0.001 asks for differences far beyond their spread.
ENOUGH_DRAWS = 5
_REPAIR = {"calibration": "analytic", "noise": "isometric", "truncation": "psd"}
_MARKS = {True: "✓ holds", False: "✗ does not hold", None: "– cannot be told"}
_DIMENSION_PANELS = ("fig1-a", "fig1-b", "fig1-c")


def choose_figure() -> tuple[PaperFigure, bool]:
    """Draw the page's controls; the figure, and whether repaired choices are wanted too."""
    left, right = st.columns(2)
    group = ask("reproduce_group", left)
    name = ask(f"reproduce_panel_{list(panel_groups()).index(group)}", right)
    draws = ask("reproduce_draws", left)
    repaired = ask("reproduce_repaired", right)
    return FIGURES[name].varied(repetitions=PANEL_DRAWS[draws]), repaired


def query_of(name: str) -> dict[str, str]:
    """What the address says when a panel is chosen."""
    for number, (group, names) in enumerate(panel_groups().items()):
        if name in names:
            return {"reproduce_group": group, f"reproduce_panel_{number}": panel_label(name)}
    raise ParameterError("figure", f"one of {', '.join(FIGURES)}", name)


def sweeps_of(figure: PaperFigure, repaired: bool) -> tuple[Sweep, ...]:
    """As published; with psd truncation, on the same draws; and with every repair."""
    if not repaired:
        return (figure.sweep,)
    truncations = (("truncation", ("svd", "psd")), *figure.sweep.vary)
    return replace(figure.sweep, vary=truncations), figure.varied(**_REPAIR).sweep


def open_with_figure(page: str, sweeps: Sweeps) -> None:
    """Start what takes a moment, so that nobody meets an empty page."""
    if visitors_jobs.find_sweeps(sweeps, page) is None:
        start_unasked(of_sweeps(page, sweeps))


def as_published_rows(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["truncation"] == "svd"]


def verdicts(figure: PaperFigure, sides: Sequence[Sequence[Row]]) -> list[tuple[str, Verdict]]:
    """What the paper claims, under its own choices and under repaired ones."""
    published = as_published_rows(sides[0])
    told = [("as published", verdict) for verdict in check_claims(figure, published)]
    if len(sides) > 1:
        psd = [row for row in sides[0] if row["truncation"] == "psd"]
        told.append(("with psd truncation", check_cost_of_sending(figure, published, psd)))
        told += [(f"with {REPAIRED}", verdict) for verdict in check_orders(figure, sides[1])]
    return told


def say(under: str, verdict: Verdict) -> None:
    """One verdict: the claim, whether it holds in words, and the numbers."""
    st.markdown(f"- **{_MARKS[verdict.holds]}**, {under}: *{verdict.claim}* {verdict.sentence}")


def say_across_panels(figure: PaperFigure) -> None:
    """That a lower dimension needs less ε takes all three panels that vary ε."""
    if figure.name not in _DIMENSION_PANELS:
        return
    rows = {}
    for name in _DIMENSION_PANELS:
        panel = FIGURES[name].varied(repetitions=figure.base.repetitions)
        jobs = (visitors_jobs.find_sweeps(sweeps_of(panel, repaired)) for repaired in (False, True))
        ended = [job.progress() for job in jobs if job is not None]
        whole = [progress for progress in ended if progress.state == "finished"]
        if not whole:
            st.caption(
                "That a lower dimension needs less ε is judged when "
                f"{', '.join(_DIMENSION_PANELS)} have all run with as many draws."
            )
            return
        rows[name] = as_published_rows(whole[0].rows[0])
    say("across the three panels", check_dimension(rows))


def comparison(figure: PaperFigure, rows: Sequence[Row]) -> tuple[str, str, str]:
    """Largest difference to the published points: number, sentence, caveat."""
    compared = compare_with_published(figure.name, rows)
    if compared is None:
        lead = rows[0]["protocol"]
        last = max(row[figure.field] for row in rows)
        return (
            percent(_mean(rows, lead, figure.field, last)),
            (
                "of the energy that exact PCA captures is kept by "
                f"**{PROTOCOLS[lead].title}** at the right end of {figure.name}."
            ),
            "No published number is known for this panel.",
        )
    at = compared.at
    caveat = (
        "Only a part of this data set is on this machine: its other rows have other moments, so "
        "the curves can be compared **in shape alone**."
        if compared.is_part
        else ""
    )
    return (
        f"{compared.largest:.3f}",
        (
            "is the largest difference between our means and the "
            f"{compared.points} published ones: {compared.ours:.3f} against {at.mean:.3f} for "
            f"**{PROTOCOLS[at.protocol].title}** at {figure.axis} = {at.value:g}."
        ),
        caveat,
    )


def _mean(rows: Sequence[Row], protocol: str, field: str, value: float) -> float:
    return fmean(
        row["energy_ratio"] for row in rows if row["protocol"] == protocol and row[field] == value
    )


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
        commands += commands_of(sweeps)
    figures = {figure.name: _panel(figure, progress.rows)}
    take_away_sweep("reproduce", sweeps, progress, figures, commands)
    st.caption(published_citation())
