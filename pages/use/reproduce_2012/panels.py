"""A figure of the 2012 paper: what has arrived, and whether the paper's claims hold on it."""

from __future__ import annotations

import os
from statistics import fmean, pstdev

import streamlit as st

from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.result_store import Store
from dpcore.experiments.engine.run_cost import RunCost
from dpcore.experiments.papers.nips2012_figures import LiveFigure
from dpcore.experiments.pca.export import csv_of
from dpcore.experiments.pca.sentences import percent
from dpcore.figures.tradeoffs.energy import energy_curves
from dpcore.pca.protocols.register import PROTOCOLS
from pages.server.background_jobs import Parts, View
from pages.use.reproduce.panel_run import say
from pages.widgets.charts import chart, is_dark
from pages.widgets.messages import big_number
from pages.widgets.plain_text import said

# Permutations of the people (Figure 1, Table 1) or draws (Figure 2) of a quick run, and how many
# seconds a row of it takes.
_QUICK = {
    "2012-fig1-census": (1, 0.02),
    "2012-fig1-kddcup": (1, 0.006),
    "2012-fig1-localization": (1, 0.001),
    "2012-fig1-insurance": (1, 0.003),
    "2012-fig2": (20, 0.001),
    "2012-table1": (1, 0.3),
}
_DATA = {
    "2012-fig1-census": ("census",),
    "2012-fig1-kddcup": ("kddcup99",),
    "2012-fig1-localization": ("localization",),
    "2012-fig1-insurance": ("insurance",),
    "2012-fig2": ("synthetic-2012",),
    "2012-table1": ("kddcup99", "localization"),
}


def data_of(name: str) -> tuple[str, ...]:
    """The data sets a figure reads."""
    return _DATA[name]


def repetitions_of(name: str, *, quick: bool) -> int | None:
    """How many times a figure is run; None stands for the paper's own number."""
    return _QUICK[name][0] if quick else None


def parts_of(figure: LiveFigure, repetitions: int | None) -> Parts:
    """A figure as the one part of a job."""
    store = Store()
    return {figure.name: lambda _: figure.rows(repetitions=repetitions, store=store)}


def cost_of(figure: LiveFigure, repetitions: int | None) -> RunCost:
    """What a run takes, on one processor as it does."""
    total = figure.total(repetitions)
    return RunCost(total, total, total * _QUICK[figure.name][1] * (os.cpu_count() or 1))


def watch(figure: LiveFigure, total: int, job: View, went_on: bool) -> None:
    """Draw what has arrived, again and again while more arrives."""
    progress = job.progress()
    rows = list(progress.arrived.get(figure.name, ()))
    if progress.sentence:
        st.error(said(progress.sentence), icon="⚠️")
    if progress.goes_on:
        bar, button = st.columns([5, 1], vertical_alignment="center")
        waits = ", waiting for another run to end" * (progress.state == "waiting")
        bar.progress(len(rows) / total, f"{len(rows):,} of {total:,} rows{waits}")
        button.button("Cancel", on_click=job.cancel)
    if rows:
        (_table if figure.field == "task" else _curves)(figure, rows)
    if rows and not progress.goes_on:
        st.markdown(f"Ran on: {figure.ran_on}")
        st.markdown("##### What the paper claims")
        for verdict in figure.check(rows) if len(rows) == total else ():
            say("on this run", verdict)
        st.download_button("Rows (CSV)", csv_of(rows), f"{figure.name}.csv", on_click="ignore")
    for row in figure.skipped():
        st.caption(f"{figure.axis} = {row[figure.field]:,} is left out: {row['skipped']}.")
    if went_on and not progress.goes_on:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()


def _curves(figure: LiveFigure, rows: list[Row]) -> None:
    right = max(row[figure.field] for row in rows)
    kept = {
        key: fmean(found)
        for key in ("ppca", "modsulq")
        if (found := [r["energy_ratio"] for r in rows
                      if r["protocol"] == key and r[figure.field] == right])
    }  # fmt: skip
    if "ppca" in kept:
        other = f"; MOD-SuLQ keeps {percent(kept['modsulq'])}" if "modsulq" in kept else ""
        big_number(
            percent(kept["ppca"]),
            f"of the energy that exact PCA captures is kept by **PPCA** at {figure.axis} = "
            f"{right:,g}{other}.",
        )
    chart(
        energy_curves(
            [row for row in rows if row["protocol"] in ("ppca", "modsulq")] or rows,
            figure.field,
            axis_title=figure.axis,
            axis_range=(figure.values[0], figure.values[-1]),
            height=460,
            dark=is_dark(),
        ),
        key="reproduce_2012_panel",
        alt=f"{figure.title}: PPCA and MOD-SuLQ, share of what exact PCA captures.",
    )


def _table(figure: LiveFigure, rows: list[Row]) -> None:
    printed = {(row["task"], row["protocol"]): row for row in figure.published}
    lines = []
    for task in dict.fromkeys(row["task"] for row in rows):
        line = {"Task": task}
        for key in dict.fromkeys(row["protocol"] for row in rows):
            found = [
                row["accuracy"] for row in rows if (row["task"], row["protocol"]) == (task, key)
            ]
            cell = f"{100 * fmean(found):.2f} ± {100 * pstdev(found):.2f}" if found else "…"
            if (task, key) in printed:
                cell += f" (published {printed[task, key]['mean']:.2f})"
            line[PROTOCOLS[key].title] = cell
        lines.append(line)
    st.markdown("#### Accuracy in percent, mean ± spread of the rounds")
    st.dataframe(lines, hide_index=True, width="stretch")
