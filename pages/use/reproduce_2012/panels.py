"""A figure of the 2012 paper: what has arrived, and whether the paper's claims hold on it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, pstdev

import streamlit as st

from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.papers.nips2012_figures import FIGURES_2012, Figure2012
from dpcore.experiments.pca.export import csv_of
from dpcore.experiments.pca.sentences import percent
from dpcore.figures.tradeoffs.energy import energy_curves
from dpcore.pca.protocols.register import PROTOCOLS
from pages.server.visitors_jobs import SweepProgress
from pages.use.reproduce.panel_run import say
from pages.widgets.charts import chart, is_dark
from pages.widgets.messages import big_number

# Permutations of the people (Figure 1, Table 1) or draws (Figure 2) of a quick run.
QUICK = {name: 20 if name == "2012-fig2" else 1 for name in FIGURES_2012}


def draw(figure: Figure2012, progress: SweepProgress) -> None:
    """What has arrived, and the paper's claims once everything has."""
    (rows,) = progress.rows
    if not rows:
        claimed(figure, "The first draws are on their way.")
        return
    (_table if figure.field == "task" else _curves)(figure, rows)
    if progress.goes_on:
        return
    st.markdown(f"Ran on: {figure.ran_on}")
    st.markdown("## What the paper claims")
    for verdict in figure.judge(rows) if progress.state == "finished" else ():
        say("on this run", verdict)
    st.download_button("Rows (CSV)", csv_of(rows), f"{figure.name}.csv", on_click="ignore")


def claimed(figure: Figure2012, then: str) -> None:
    """The claim to be checked, and what the paper prints, until there is a run."""
    st.markdown(f"## The paper claims: {figure.claim}")
    if figure.published:
        _table(figure, ())
    st.caption(then)


def _curves(figure: Figure2012, rows: Sequence[Row]) -> None:
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


def _table(figure: Figure2012, rows: Sequence[Row]) -> None:
    printed = {(row["task"], row["protocol"]): row for row in figure.published}
    lines = []
    known = rows or figure.published
    for task in dict.fromkeys(row["task"] for row in known):
        line = {"Task": task}
        for key in dict.fromkeys(row["protocol"] for row in known):
            found = [
                row["accuracy"] for row in rows if (row["task"], row["protocol"]) == (task, key)
            ]
            cell = f"{100 * fmean(found):.2f} ± {100 * pstdev(found):.2f}" if found else "…"
            if (task, key) in printed:
                cell += f" (published {printed[task, key]['mean']:.2f})"
            line[PROTOCOLS[key].title] = cell
        lines.append(line)
    st.markdown("## Accuracy in percent, mean ± spread of the rounds")
    st.dataframe(lines, hide_index=True, width="stretch")
