"""Papers and code: the published figures, run live next to the published points."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, pstdev
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from dpcore.data import dataset_status
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.summaries import counted, percent
from dpcore.figures.energy import energy_curves, energy_panel
from dpcore.figures.overview import SmallPanel, panel_overview
from dpcore.papers.dpdispca import FIGURES, PanelState, PaperFigure, panel_state, paper_figure
from dpcore.papers.dpdispca_claims import (
    ClaimVerdict,
    check_claims,
    check_cost_of_sending,
    check_orders,
)
from dpcore.papers.nips2012 import CITATION, FIGURES_2012, Figure2012
from dpcore.papers.published_points import (
    compare_with_published,
    published_citation,
    published_points_of,
)
from dpcore.pca.protocols.register import PROTOCOLS
from pages import links, navigation, sweeps
from pages.cached import cached
from pages.components import charts, downloads, ledger, notices
from pages.sidebar import Selection

RUNS = {"quick": 3, "as published": 10}
# Repetitions of a quick run of the 2012 paper's figures.
_QUICK_2012 = {name: 20 if name == "2012-fig2" else 1 for name in FIGURES_2012}
_LINEAR_FIELDS = ("intermediate_ratio",)
_SYMBOLS = {
    "epsilon": "ε",
    "delta": "δ",
    "samples": "N",
    "sites": "S",
    "intermediate_ratio": "R",
}
# The comparison of claims uses a t test at 0.001; fewer runs detect large differences only.
_RUNS_FOR_CLAIMS = 5
_REPAIRED = {"calibration": "analytic", "noise": "isometric", "truncation": "psd"}
_REPAIRED_NAME = "analytic, isometric, psd"
_VERDICTS = {True: "✓ holds", False: "✗ does not hold", None: "– undecided"}


def show(selection: Selection) -> None:  # noqa: ARG001  every page has this signature
    """Draw the overview of all panels, then the chosen one."""
    title = st.empty()
    navigation.link_to_parts("papers")
    _show_overview(title)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    links.accept_option("papers_figure", [*FIGURES, *FIGURES_2012], _figure_title, several=False)
    name = left.selectbox(
        "Figure",
        [*FIGURES, *FIGURES_2012],
        format_func=_figure_title,
        key="papers_figure",
        bind="query-params",
    )
    links.accept_option("papers_runs", list(RUNS), str, several=False)
    runs = right.segmented_control(
        "Runs",
        list(RUNS),
        default="quick",
        required=True,
        key="papers_runs",
        bind="query-params",
    )
    if name in FIGURES:
        _show_panel(paper_figure(name).with_changes(repetitions=RUNS[runs]))
    else:
        quick = _QUICK_2012[name] if runs == "quick" else None
        _show_figure_2012(FIGURES_2012[name].with_changes(repetitions=quick))


def _figure_title(name: str) -> str:
    if name in FIGURES_2012:
        return f"{name}: {FIGURES_2012[name].title.removeprefix('2012, ')}"
    figure = FIGURES[name]
    return f"{name}: {dataset_status(figure.base.dataset).title}, {figure.axis.partition(',')[0]}"


# ---- all panels


def _show_overview(title: Any) -> None:
    states = _panel_states(int(time.monotonic() // 20))
    finding, _, rest = summarize_panels(states).partition(". ")
    title.title(finding.rstrip("."))
    if rest:
        st.markdown(rest)
    for dataset in {state.figure.base.dataset for state in states if state.draws}:
        if not ledger.may_show_curves(dataset):
            return
    figure = panel_overview([_small_panel(state) for state in states], dark=charts.is_dark())
    charts.show_figure(figure, key="papers_overview", alt=summarize_panels(states))
    st.caption("Lines: runs on this machine. Hollow markers: the authors' ten runs.")
    figures = [
        figure for figure in map(paper_figure, FIGURES) if dataset_status(figure.base.dataset).ready
    ]
    missing = tuple(figure.with_changes(repetitions=RUNS["quick"]).sweep for figure in figures)
    with st.expander(f"Run all {len(missing)} panels"):
        sweeps.watch(missing, lambda _: None, by_button="Run all")


@cached(2)
def _panel_states(_: int) -> tuple[PanelState, ...]:
    """Return the state of all panels in the store, read again every 20 seconds."""
    return tuple(panel_state(paper_figure(name), Store()) for name in FIGURES)


def _small_panel(state: PanelState) -> SmallPanel:
    figure = state.figure
    published = [(p.protocol, p.value, p.mean) for p in published_points_of(figure.name)]
    number = figure.name.removeprefix("fig").removesuffix(f"-{figure.base.dataset}")
    title = f"{number.replace('-', '')} {figure.base.dataset}, {_SYMBOLS[figure.field]}"
    if figure.rows_here:
        title += f"<br><span style='font-size:9px'>{figure.rows_here}</span>"
    return SmallPanel(title, state.means, published, figure.field not in _LINEAR_FIELDS)


def summarize_panels(states: Sequence[PanelState]) -> str:
    """Return a sentence on the panels that were run: distance to the paper, claims that hold."""
    ran = [state for state in states if state.draws]
    if not ran:
        return f"The {len(states)} published panels, ready to run on this machine."
    compared = [s.comparison for s in ran if s.comparison is not None and not s.comparison.is_part]
    closeness = ""
    if compared:
        largest = max(comparison.largest for comparison in compared)
        closeness = f" Our curves match the published ones to within **{_points(largest)}**."
    agree = sum(state.agrees is True for state in ran)
    return (
        f"{len(ran)} of {len(states)} published panels were run here; all claims hold on {agree}."
        f"{closeness}"
    )


def _points(difference: float) -> str:
    """Return a difference of two shares in percentage points."""
    return f"{100 * difference:.1f} points"


# ---- one panel of the DPdisPCA paper


def _show_panel(figure: PaperFigure) -> None:
    notices.require_dataset(dataset_status(figure.base.dataset))
    links.accept_option("papers_repaired", (True, False), str, several=False)
    repaired = st.toggle(
        f"Also with {_REPAIRED_NAME}",
        key="papers_repaired",
        bind="query-params",
        help="The exact calibration, the smaller noise, and a cut that removes negative noise.",
    )
    requested = _sweeps_of(figure, repaired)
    job = sweeps.watch(requested, partial(_draw_panel, figure))
    if job is not None and job.is_complete:
        rows = sweeps.rows_of(job.results, len(requested))[0]
        commands = [f"python -m dpcore reproduce {figure.name} --json"]
        downloads.offer_downloads("papers", rows, commands=commands)
    notices.mark_not_private("Captured energy", "is measured on the rows without noise.")
    notices.mark_not_private(
        "Published centring",
        "reads all rows. After it, the aggregator of *Pooled, trusted* is trusted, and the other "
        "algorithms hold against the aggregator too. ε is the requested one; each row of the CSV "
        "has the exact one.",
    )
    st.caption(published_citation())
    notices.explain_computation("pca")


def _sweeps_of(figure: PaperFigure, repaired: bool) -> tuple[Sweep, ...]:
    if not repaired:
        return (figure.sweep,)
    truncations = (("truncation", ("svd", "psd")), *figure.sweep.vary)
    return replace(figure.sweep, vary=truncations), figure.with_changes(**_REPAIRED).sweep


def _draw_panel(figure: PaperFigure, rows: sweeps.RowsOfSweeps) -> None:
    for rows_of_sweep in rows:
        ledger.charge_rows(rows_of_sweep)
    published = [row for row in rows[0] if row["truncation"] == "svd"]
    sentence = _comparison(figure, published)
    st.markdown(f"### {sentence}")
    points = [(p.protocol, p.value, p.mean, p.std) for p in published_points_of(figure.name)]
    chart: go.Figure = energy_panel(
        published,
        figure.field,
        others=dict(zip((_REPAIRED_NAME,), rows[1:], strict=False)),
        published=points,
        axis_title=figure.axis,
        logarithmic=figure.field not in _LINEAR_FIELDS,
        axis_range=figure.values,
        height=440,
        dark=charts.is_dark(),
    )
    charts.show_figure(chart, key="papers_panel", alt=f"{figure.title}. {sentence}")
    st.caption("Lines and bands: mean and range of our runs. Hollow markers: the authors' runs.")
    st.markdown(f"**The paper claims:** {figure.claim}")
    if not published or figure.base.repetitions < _RUNS_FOR_CLAIMS:
        st.caption("Ten runs, as published, are needed to check the claim.")
        return
    for choices, verdict in _verdicts(figure, rows):
        _write_verdict(choices, verdict)


def _comparison(figure: PaperFigure, rows: Sequence[Row]) -> str:
    compared = compare_with_published(figure.name, rows)
    if compared is None:
        return "Published points; our runs follow."
    at = compared.at
    farthest = (
        f"{100 * compared.live_mean:.1f}\u00a0% against {100 * at.mean:.1f}\u00a0% "
        f"({PROTOCOLS[at.protocol].title}, {_at(figure, at.value)})."
    )
    if compared.is_part:
        return (
            f"On {figure.rows_here} our {compared.points} means differ from the published ones by "
            f"up to {_points(compared.largest)}: {farthest}"
        )
    return (
        f"Our {compared.points} means match the published ones to within "
        f"{_points(compared.largest)}. The farthest: {farthest}"
    )


def _at(figure: PaperFigure, value: float) -> str:
    return f"{_SYMBOLS[figure.field]} = {value:,g}"


def _verdicts(figure: PaperFigure, rows: sweeps.RowsOfSweeps) -> list[tuple[str, ClaimVerdict]]:
    published = [row for row in rows[0] if row["truncation"] == "svd"]
    verdicts = [("as published", verdict) for verdict in check_claims(figure, published)]
    if len(rows) > 1:
        psd = [row for row in rows[0] if row["truncation"] == "psd"]
        verdicts.append(("with psd truncation", check_cost_of_sending(figure, published, psd)))
        verdicts += [
            (f"with {_REPAIRED_NAME}", verdict) for verdict in check_orders(figure, rows[1])
        ]
    return verdicts


def _write_verdict(choices: str, verdict: ClaimVerdict) -> None:
    st.markdown(f"- **{_VERDICTS[verdict.holds]}**, {choices}: {verdict.claim} {verdict.sentence}")


# ---- one figure of the 2012 paper


def _show_figure_2012(figure: Figure2012) -> None:
    for dataset in figure.datasets:
        notices.require_dataset(dataset_status(dataset))
    if ledger.cap() is not None:
        ledger.charge_specs(figure.specs)
    sweeps.watch((figure.sweep,), partial(_draw_figure_2012, figure))
    notices.mark_not_private("Captured energy and accuracy", "are measured without noise.")
    st.caption(f"{figure.note} {figure.data_in_words} Source: {CITATION}")
    st.code(f"python -m dpcore reproduce {figure.name} --json", language="bash", wrap_lines=True)


def _draw_figure_2012(figure: Figure2012, rows_of_sweeps: sweeps.RowsOfSweeps) -> None:
    rows = rows_of_sweeps[0]
    if rows:
        ledger.charge_specs(figure.specs)
    if figure.field == "task":
        _draw_accuracies(figure, rows)
    elif rows:
        _draw_curves_2012(figure, rows)
    st.markdown(f"**The paper claims:** {figure.claim}")
    if len(rows) >= sum(spec.n_repetitions() for spec in figure.specs):
        for verdict in figure.judge(rows):
            _write_verdict("on this run", verdict)


def _draw_curves_2012(figure: Figure2012, rows: Sequence[Row]) -> None:
    right = max(row[figure.field] for row in rows)
    means = {
        key: fmean(ratios)
        for key in ("ppca", "modsulq")
        if (
            ratios := [
                row["energy_ratio"]
                for row in rows
                if row["protocol"] == key and row[figure.field] == right
            ]
        )
    }
    sentence = ", ".join(f"{PROTOCOLS[key].title} {percent(mean)}" for key, mean in means.items())
    st.markdown(f"### Captured energy at {figure.axis} = {right:,g}: {sentence}")
    chart = energy_curves(
        rows,
        figure.field,
        axis_title=figure.axis,
        axis_range=(figure.values[0], figure.values[-1]),
        height=440,
        dark=charts.is_dark(),
    )
    charts.show_figure(chart, key="papers_2012", alt=f"{figure.title}: {sentence}.")


def _draw_accuracies(figure: Figure2012, rows: Sequence[Row]) -> None:
    printed = {(row["task"], row["protocol"]): row for row in figure.published}
    table_rows = rows or figure.published
    lines = []
    for task in dict.fromkeys(row["task"] for row in table_rows):
        line = {"Task": task}
        for key in dict.fromkeys(row["protocol"] for row in table_rows):
            accuracies = [r["accuracy"] for r in rows if (r["task"], r["protocol"]) == (task, key)]
            cell = (
                f"{100 * fmean(accuracies):.2f} ± {100 * pstdev(accuracies):.2f}"
                if accuracies
                else "…"
            )
            if (task, key) in printed:
                cell += f" (published {printed[task, key]['mean']:.2f})"
            line[PROTOCOLS[key].title] = cell
        lines.append(line)
    tasks = counted(len(lines), "task")
    st.markdown(f"### Accuracy in % on {tasks}, mean ± standard deviation")
    st.dataframe(lines, hide_index=True, width="stretch")
