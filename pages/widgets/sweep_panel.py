"""A sweep on a page: its button, its count, what was skipped, and its rows to take away."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import plotly.graph_objects as go
import streamlit as st

from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.ledger.pca_charges import of_plan
from dpcore.experiments.pca.export import recipe_of_sweeps
from dpcore.experiments.pca.sentences import counted
from pages.explore.tradeoffs.sweep_controls import commands_of
from pages.server import visitors_jobs
from pages.server.visitors_jobs import SCHEDULER_VARIABLE, SweepProgress, SweepsView
from pages.sidebar.navigation import page_path
from pages.widgets import live_figure, session_ledger
from pages.widgets.downloads import take_away
from pages.widgets.plain_text import said
from pages.widgets.watched_job import (
    of_sweeps,
    start_button,
    start_unasked,
    time_in_words,
    too_much,
)

_POLL_SECONDS = 0.25
_CLICKED = "_point_clicked"
_HELP_ON_CLUSTERS = (
    f"A server started with `{SCHEDULER_VARIABLE}=tcp://host:8786` computes sweeps on the Dask "
    "cluster of that scheduler. Its workers read the data sets themselves; the rows are the same."
)


def started_job(
    page: str, sweeps: tuple[Sweep, ...], *, by_itself: bool = False
) -> SweepsView | None:
    """The Run button, and the run of these sweeps if there is one.

    A short one may begin by itself, but under a cap, which pays for nothing that nobody asked for.
    """
    cells = [cell for sweep in sweeps for cell in sweep.cells()]
    specs = [cell.spec for cell in cells if cell.spec is not None]
    skipped = len(cells) - len(specs)
    asked = of_sweeps(visitors_jobs.SWEEPS, sweeps, lambda: of_plan(specs))
    cost = asked.cost
    job = visitors_jobs.find_sweeps(sweeps)
    if by_itself and job is None and cost.draws:
        start_unasked(asked)
        job = visitors_jobs.find_sweeps(sweeps)
    if job is not None:
        session_ledger.follow((page, sweeps), job.view.rows_so_far)
    start_button(
        asked,
        disabled=not cost.draws,
        caption=f"{counted(len(specs), 'setting')}, {counted(cost.draws, 'draw')} of the "
        "noise"
        + (f"; {counted(skipped, 'setting')} cannot run" if skipped else "")
        + f", {_where(visitors_jobs.scheduler())}",
        help=_HELP_ON_CLUSTERS,
    )
    if too_much(cost):
        st.code("\n".join(commands_of(sweeps)), language=None, wrap_lines=True)
    if not cost.draws:
        skipped_table([cell.as_row() for cell in cells])
    if job is None:
        visitors_jobs.read_ahead(sweeps)
    return job


def watch(
    page: str, job: SweepsView, draw: Callable[[SweepProgress], None], noun: str = "draw"
) -> None:
    """Draw what has arrived, again and again while more arrives; `noun` says what is counted."""
    goes_on = job.progress().goes_on
    # Large figures are drawn less often: everybody's pages share one interpreter.
    every = max(_POLL_SECONDS, visitors_jobs.cost_of(job.sweeps).rows / 20_000) if goes_on else None
    st.fragment(_watch, run_every=every)(page, job, draw, noun, goes_on)


def point_clicked(page: str = "play") -> None:
    """From a callback that has set the controls: go to the page that shows them."""
    st.session_state[_CLICKED] = page


def go_where_clicked() -> None:
    """In a figure's fragment: leave, if something in it was clicked."""
    if page := st.session_state.pop(_CLICKED, None):
        # No parameters given means "clear them", which Streamlit refuses while widgets are bound.
        st.switch_page(page_path(page), query_params={})


def _watch(
    page: str, job: SweepsView, draw: Callable[[SweepProgress], None], noun: str, went_on: bool
) -> None:
    go_where_clicked()
    progress = job.progress()
    _say_how_far(page, job, progress, noun)
    if progress.state == "running" and not progress.done:
        # Instead of coming back in a while: the first rows are drawn the moment they are there.
        job.view.wait_for_rows(_POLL_SECONDS)
        progress = job.progress()
    live_figure.drawn(page, progress, draw)
    if progress.done and not progress.goes_on:
        st.caption(_origin(job, progress, noun))
    skipped_table(progress.skipped)
    if went_on and not progress.goes_on:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()


def _say_how_far(page: str, job: SweepsView, progress: SweepProgress, noun: str) -> None:
    count = f"{progress.done:,} of {counted(progress.total, noun)}"
    if progress.goes_on:
        bar, button = st.columns([5, 1], vertical_alignment="center")
        if progress.state == "waiting":
            left = ", waiting for another run to end"
        elif progress.seconds_left is None:
            left = ", reading the data"
        else:
            left = f", about {time_in_words(progress.seconds_left)} left"
        bar.progress(progress.done / max(progress.total, 1), count + left)
        button.button("Cancel", on_click=job.view.cancel, key=f"{page}_do_cancel")
    elif progress.state == "cancelled":
        st.info(f"Cancelled after {count}. What had arrived is kept; Run goes on from there.")
    elif progress.state == "unseen":
        st.info(
            f"Ended after {count}, because nobody had looked for two minutes. What had arrived is "
            "kept; Run goes on from there."
        )
    elif progress.state == "failed":
        kept = f" {count} had arrived and are kept; Run goes on from there." * bool(progress.done)
        st.error(f"{said(progress.sentence.rstrip('.'))}.{kept}", icon="⚠️")


def _where(scheduler: str | None) -> str:
    if scheduler is not None:
        return f"on the Dask cluster at {scheduler}"
    return f"on this server's {counted(os.cpu_count() or 1, 'processor')}"


def _origin(job: SweepsView, progress: SweepProgress, noun: str) -> str:
    draws, here = counted(progress.done, noun), f"computed {_where(job.scheduler)}"
    if not progress.stored:
        return f"{draws}, {here}."
    if progress.stored == progress.done:
        return f"{draws}, kept on disk from earlier runs."
    return f"{draws}, {progress.stored:,} kept on disk from earlier runs, the others {here}."


def skipped_table(skipped: Sequence[Row]) -> None:
    """Settings that could not run, each with its reason."""
    if skipped:
        with st.expander(f"{counted(len(skipped), 'setting')} skipped, and why"):
            st.dataframe(
                [{key: str(value) for key, value in row.items()} for row in skipped],
                hide_index=True,
            )


def take_away_sweep(
    page: str,
    sweeps: Sequence[Sweep],
    progress: SweepProgress,
    figures: dict[str, go.Figure],
    commands: Sequence[str],
) -> None:
    """Rows, figures, what gives the same elsewhere, and the link to the page."""
    take_away(
        page,
        [row for side in progress.rows for row in side],
        figures=figures,
        script=recipe_of_sweeps(sweeps).script,
        notebook=recipe_of_sweeps(sweeps).notebook,
        commands=commands,
    )
