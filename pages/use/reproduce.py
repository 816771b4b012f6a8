"""Reproduce the paper: every published panel, run live, beside the published points."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from statistics import fmean, pstdev
from urllib.parse import urlencode

import plotly.graph_objects as go
import streamlit as st

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.engine import Row
from dpcore.experiments.export import csv_of
from dpcore.experiments.summaries import counted, percent
from dpcore.experiments.sweep import Sweep
from dpcore.figures.energy import energy_curves, energy_panel, legend_html
from dpcore.figures.svg import energy_thumbnail
from dpcore.papers.dpdispca import (
    FIGURES,
    ClaimVerdict,
    PanelState,
    PaperFigure,
    check_claims,
    check_cost_of_sending,
    check_dimension,
    check_orders,
    compare_with_published,
    published_citation,
    published_points_of,
)
from dpcore.papers.nips2012 import CITATION, FIGURES_2012, Figure2012
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.teaching.tutorials import CODE, TUTORIALS, tutorial_notebook
from pages.server import background_jobs, family_caches
from pages.server.background_jobs import SWEEPS, SweepProgress, Sweeps
from pages.shell.controls import Selection
from pages.shell.page import page
from pages.shell.parameters import PANEL_DRAWS, REPAIRED, ask, panel_groups, panel_label
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.guarantee_card import guarantee_card, promised_cards
from pages.widgets.job_progress import (
    commands_of,
    of_sweeps,
    start_button,
    start_unasked,
    started_job,
    take_away_sweep,
    watch_sweeps,
)
from pages.widgets.notices import (
    big_number,
    dataset_ready,
    dataset_table,
    not_private,
)

# A published figure run live: what is asked for, its curves over the published ones, claims.

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
    if background_jobs.find_sweeps(sweeps, page) is None:
        start_unasked(of_sweeps(page, sweeps))


def as_published_rows(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["truncation"] == "svd"]


def verdicts(figure: PaperFigure, sides: Sequence[Sequence[Row]]) -> list[tuple[str, ClaimVerdict]]:
    """What the paper claims, under its own choices and under repaired ones."""
    published = as_published_rows(sides[0])
    told = [("as published", verdict) for verdict in check_claims(figure, published)]
    if len(sides) > 1:
        psd = [row for row in sides[0] if row["truncation"] == "psd"]
        told.append(("with psd truncation", check_cost_of_sending(figure, published, psd)))
        told += [(f"with {REPAIRED}", verdict) for verdict in check_orders(figure, sides[1])]
    return told


def say(under: str, verdict: ClaimVerdict) -> None:
    """One verdict: the claim, whether it holds in words, and the numbers."""
    st.markdown(f"- **{_MARKS[verdict.holds]}**, {under}: *{verdict.claim}* {verdict.sentence}")


def say_across_panels(figure: PaperFigure) -> None:
    """That a lower dimension needs less ε takes all three panels that vary ε."""
    if figure.name not in _DIMENSION_PANELS:
        return
    rows = {}
    for name in _DIMENSION_PANELS:
        panel = FIGURES[name].varied(repetitions=figure.base.repetitions)
        jobs = (
            background_jobs.find_sweeps(sweeps_of(panel, repaired)) for repaired in (False, True)
        )
        ended = [job.progress() for job in jobs if job is not None]
        whole = [progress for progress in ended if progress.state == "finished"]
        if not whole:
            st.caption(
                "That a lower dimension needs less ε is judged when "
                f"{', '.join(_DIMENSION_PANELS)} have all run as often."
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
                f"of the pattern survives with **{PROTOCOLS[lead].title}** at the right end of "
                f"{figure.name}."
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
        published_shown(figure, "This lab's own first runs are on their way.")
        return
    number, sentence, caveat = comparison(figure, rows)
    big_number(number, sentence, caveat)
    chart(
        _panel(figure, progress.rows),
        key="reproduce_do_panel",
        alt=f"{figure.title}: {number} {sentence}",
    )
    st.caption(
        "Lines and bands: this run, mean and spread of its repetitions. Hollow markers with bars: "
        "the authors' ten runs."
    )
    st.markdown("## What the paper claims")
    if progress.state != "finished":
        st.caption(f"*{figure.claim}* The verdict comes once every run is there.")
        return
    if figure.base.repetitions < ENOUGH_DRAWS:
        st.caption(
            f"{figure.base.repetitions} runs tell only large differences from luck; run it as "
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


# All published panels at a glance: which have been run, and how they came out.

# Three in a row, as the paper has them, and two on a telephone.
_COLUMNS = "repeat(auto-fill,minmax(max(9.5rem,30%),1fr))"
_GRID = f"display:grid;grid-template-columns:{_COLUMNS};gap:1.2rem"


def overview_shown() -> None:
    """A sentence on all panels, and a thumbnail of each that leads to it."""
    states = family_caches.panel_states()
    # Rows that anybody has left on this machine; this visitor has not asked for them.
    kept = dict.fromkeys(state.figure.base.dataset for state in states if state.draws)
    if not all(session_ledger.curves(dataset) for dataset in kept):
        return
    st.markdown(f"## All {len(states)} panels\n{summary(states)}")
    tiles = "".join(_tile(state, is_dark()) for state in states)
    legend = legend_html(states[0].figure.base.protocols, (), dark=is_dark())
    st.html(f'{legend}<div style="{_GRID}">{tiles}</div>')
    st.caption(
        "Lines: rows kept on this machine, from pages and from the command line. Hollow: the "
        "authors' own. `python -m dpcore reproduce all --out results` runs whatever is missing."
    )


def summary(states: Sequence[PanelState]) -> str:
    """How many have been run, how close they came, and on which the paper's claims hold."""
    ran = [state for state in states if state.draws]
    if not ran:
        return "None has been run on this machine yet."
    agree = sum(state.agrees is True for state in ran)
    fail = sum(state.agrees is False for state in ran)
    compared = [s.comparison for s in ran if s.comparison is not None and not s.comparison.is_part]
    closeness = ""
    if compared:
        worst = max(compared, key=lambda comparison: comparison.largest)
        closeness = (
            f" The largest difference to the published points of {counted(len(compared), 'panel')}"
            f" is **{worst.largest:.3f}**."
        )
    untold = len(ran) - agree - fail
    outcomes = (
        (agree, "every claim of the paper holds on"),
        (fail, "a claim fails on"),
        (untold, "it cannot be told from luck on"),
    )
    told = "; ".join(f"{words} **{count}**" for count, words in outcomes if count)
    return f"**{len(ran)} of {len(states)}** have been run: {told}.{closeness}"


def _tile(state: PanelState, dark: bool) -> str:
    figure = state.figure
    published = [(p.protocol, p.value, p.mean) for p in published_points_of(figure.name)]
    svg = energy_thumbnail(
        state.means,
        ends=(min(figure.values), max(figure.values)),
        logarithmic=figure.field not in LINEAR,
        published=published,
        dark=dark,
    )
    words = verdict_in_words(state)
    data = base64.b64encode(svg.encode()).decode()
    title = f"{figure.name}: {dataset_status(figure.base.dataset).title}"
    along = figure.axis.partition(",")[0]
    return (
        f'<a href="?{escape(urlencode(query_of(figure.name)))}" target="_self" '
        'style="color:inherit;text-decoration:none">'
        f'<img src="data:image/svg+xml;base64,{data}" style="width:100%" '
        f'alt="{escape(f"{title}, {along}. {words}")}">'
        f'<div style="font-size:.9rem"><b>{escape(title)}</b>, {escape(along)}</div>'
        f'<div style="font-size:.85rem">{escape(words)}</div></a>'
    )


def verdict_in_words(state: PanelState) -> str:
    """How a panel came out, in a line."""
    if not state.draws:
        return "Not run yet."
    holds = sum(verdict.holds is True for verdict in state.verdicts)
    fails = sum(verdict.holds is False for verdict in state.verdicts)
    mark = {True: "✓", False: "✗", None: "–"}[state.agrees]
    words = f"{mark} {holds} of {counted(len(state.verdicts), 'claim')} hold"
    if fails:
        words += f", {fails} not"
    words += f" in {counted(state.draws, 'run')}"
    if state.comparison is None:
        return f"{words}."
    part = ", of a part of the data" if state.comparison.is_part else ""
    return f"{words}; {state.comparison.largest:.3f} from the published{part}."


PAGE = "reproduce"


@page(formulas="pca")
def show_reproduce(selection: Selection) -> None:
    """Reproduce the paper."""
    answer = st.container()
    with st.container(border=True):
        figure, repaired = choose_figure()
        if not dataset_ready(dataset_status(figure.base.dataset)):
            with answer:
                published_shown(figure, "Without its data nothing can be run here.")
            st.stop()
        sweeps = sweeps_of(figure, repaired)
        open_with_figure(SWEEPS, sweeps)
        job = started_job(PAGE, sweeps)
    if job is not None and not (ended := job.progress()).goes_on and ended.rows[0]:
        take_away(figure, sweeps, ended)
    with answer:
        if job is None:
            published_shown(figure, "Press Run for this lab's own curves.")
        else:
            watch_sweeps(PAGE, job, lambda progress: draw(figure, progress))
    dataset = dataset_status(figure.base.dataset)
    promised_cards(
        figure.base,
        dataset,
        figure.base.protocols,
        "As published, at the figure's base setting; `exact_epsilon` in the rows says what "
        "holds at each point.",
    )
    session_ledger.so_far(dataset.name, dataset.title, selection.spec.delta, st.container())
    overview_shown()
    with st.expander("Data sets on this machine"):
        dataset_table()


# A figure of the 2012 paper: what has arrived, and whether the paper's claims hold on it.

# Permutations of the people (Figure 1, Table 1) or draws (Figure 2) of a quick run.
QUICK = {name: 20 if name == "2012-fig2" else 1 for name in FIGURES_2012}


def draw_2012(figure: Figure2012, progress: SweepProgress) -> None:
    """What has arrived, and the paper's claims once everything has."""
    (rows,) = progress.rows
    if not rows:
        claimed(figure, "The first runs are on their way.")
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
        other = f"; with MOD-SuLQ {percent(kept['modsulq'])}" if "modsulq" in kept else ""
        big_number(
            percent(kept["ppca"]),
            f"of the pattern survives with **PPCA** at {figure.axis} = {right:,g}{other}.",
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


# The 2012 paper's figures and table, run live.

PAGE_2012 = "reproduce_2012"


def show_reproduce_2012(selection: Selection) -> None:
    """The 2012 paper's figures and table, run live."""
    answer = st.container()
    with st.container(border=True):
        name = ask("reproduce_2012_figure")
        quick = ask("reproduce_2012_draws") == "quick"
        figure = FIGURES_2012[name].varied(repetitions=QUICK[name] if quick else None)
        sweeps = (figure.sweep,)
        ready = all([dataset_ready(dataset_status(dataset)) for dataset in figure.datasets])
        if ready:
            open_with_figure(PAGE_2012, sweeps)
        start_button(of_sweeps(PAGE_2012, sweeps), disabled=not ready)
    with answer:
        job = background_jobs.find_sweeps(sweeps, PAGE_2012)
        if job is None:
            then = "Press Run to check it." if ready else "It takes data that are not here."
            claimed(figure, then)
        else:
            session_ledger.follow((PAGE_2012, sweeps), job.rows_so_far)
            watch_sweeps(PAGE_2012, job, lambda progress: draw_2012(figure, progress), noun="run")
    dataset = dataset_status(figure.base.dataset)
    promised_cards(
        figure.base,
        dataset,
        ("ppca", "modsulq"),
        "At the figure's base setting. MOD-SuLQ's bound grows with the dimension, so that what "
        "holds is much stronger than what was asked.",
    )
    session_ledger.so_far(dataset.name, dataset.title, selection.spec.delta, st.container())
    not_private("Exact PCA and every share", "are measured on the rows, without any noise.")
    st.caption(f"{figure.note} Source: {CITATION}")
    st.code(
        f"python -m dpcore reproduce {name} --json > {name}.json",
        language="bash",
        wrap_lines=True,
    )


# Tutorials: a short text, code, and what it gives, for each function.


def show_tutorials() -> None:
    """Tutorials: a short text, code, and what it gives, for each function."""
    st.markdown(
        "Six functions, a few lines each. Everything below was just run on this server; the "
        "notebook holds the same cells."
    )
    key = ask("tutorial", label_visibility="collapsed")
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    epsilon = ask("tutorial_epsilon", left)
    chosen = TUTORIALS[key]
    right.download_button(
        "Notebook (.ipynb)",
        lambda: tutorial_notebook(key, epsilon),
        f"{key}.ipynb",
        "application/x-ipynb+json",
        on_click="ignore",
        width="stretch",
    )
    st.markdown(f"## {chosen.title}")
    st.markdown(chosen.about)
    if key == "pca":
        session_ledger.uncovered("digits", "The PCA tutorial", "examples are not paid for")
    all_outputs = family_caches.tutorial_outputs(key, epsilon)
    outputs = iter(all_outputs)
    for number, (kind, source) in enumerate(chosen.filled(epsilon)):
        if kind != CODE:
            st.markdown(source)
            continue
        st.code(source, language="python", wrap_lines=True)
        output = next(outputs)
        if output.printed:
            st.code(output.printed, language=None, wrap_lines=True)
        if isinstance(output.value, go.Figure):
            chart(
                output.value,
                key=f"tutorial_figure_{number}",
                alt="Private counts as bars, true counts as a dashed outline.",
            )
    promises = {
        name: guarantee
        for output in all_outputs
        for name, guarantee in output.promises.items()
        if guarantee.is_private
    }
    st.markdown("## What it promises")
    several = len(promises) > 1
    places = st.tabs([f"`{name}`" for name in promises]) if several else [st.container()]
    for place, (name, guarantee) in zip(places, promises.items(), strict=True):
        with place:
            guarantee_card(guarantee, where=name)
    st.caption(
        "Examples do not enter the ledger. To run the notebook elsewhere: put it in the folder "
        "that holds `dpcore` and install `requirements.txt`. The noise of some cells is seeded, so "
        "that you see the same numbers; real releases keep their seed secret."
    )
