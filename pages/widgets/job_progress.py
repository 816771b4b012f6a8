"""A background job on a page: its cost, its button, its progress, its rows.

A job is watched in one way: how far it is, Stop, what has arrived; until enough of it is there,
what stood in its place before, greyed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.errors import ParameterError
from dpcore.experiments.engine import Row, charges_of
from dpcore.experiments.export import recipe_of_sweeps
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.summaries import counted
from dpcore.experiments.sweep import RunCost, Sweep
from dpcore.privacy import BeyondCap
from pages.server import background_jobs, caches, turns
from pages.server.background_jobs import (
    SCHEDULER_VARIABLE,
    JobView,
    Parts,
    Progress,
    SweepProgress,
    Sweeps,
    SweepsView,
)
from pages.server.caches import Cell
from pages.server.turns import compute_for
from pages.shell.fragments import and_nothing_else, ask_again, draw_again
from pages.shell.navigation import linked_page
from pages.widgets import session_ledger
from pages.widgets.charts import is_presented, take_away
from pages.widgets.notices import said

# A sweep as the commands that run it elsewhere.


def commands_of(sweeps: Sequence[Sweep]) -> list[str]:
    """The command lines that give the rows of sweeps, each in a file of its own."""
    return [command_of(sweep, number) for number, sweep in enumerate(sweeps, start=1)]


def command_of(sweep: Sweep, number: int = 1) -> str:
    """The command line that gives a sweep's rows, in a file of this number."""
    # The command line asks for the published one.
    default = RunSpec.published()
    words = ["python", "-m", "dpcore", "sweep", "--vary"]
    words += [f"{field}={','.join(map(_plain, values))}" for field, values in sweep.vary]
    varied = {field for field, _ in sweep.vary}
    for field in fields(RunSpec):
        value = getattr(sweep.base, field.name)
        if field.name in varied or value == getattr(default, field.name):
            continue
        if field.name == "protocols":
            words += ["--protocol", ",".join(value)]
        elif value is True:
            words.append(f"--{field.name}")
        else:
            words += [f"--{field.name.replace('_', '-')}", _plain(value)]
    return shlex.join([*words, "--csv", f"rows-{number}.csv"])


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# A job as it goes on: how far it is, Stop, what has arrived, and what stood there before.

_STOOD = "_stood"
_GREYED = "Below, greyed: what the settings before gave."


def watch(
    name: str,
    job: JobView,
    draw: Callable[[Any], object],
    count: Callable[[Any], str],
    *,
    is_there: Callable[[Any], bool],
    on: str = "Run",
    restart: Callable[[], None] | None = None,
) -> None:
    """Draw a job again and again while it goes on.

    Until `is_there`, what stood there before stays, greyed.

    name: Of what is drawn, by which what it showed last is kept for this visitor.
    draw: Draws the job's progress: all, or a part, or nothing yet.
    count: How far it is, in words.
    on: The button that goes on with what was stopped.
    restart: Of a figure that began by itself: what a button beside its count does then. The count
        stands below the figure, so that this does not move when it is done.
    """
    went_on = job.progress().goes_on

    def look() -> None:
        go_where_clicked()
        progress = job.progress()
        if progress.state == "running" and not progress.arrived:
            # Instead of coming back in a while: the first rows are drawn the moment they are there.
            job.wait_for_rows(job.every)
            progress = job.progress()
        is_new = is_there(progress)
        waits = not is_new and (progress.goes_on or not progress.arrived) and name in _stood()
        above = st.container()
        figure = above if restart else st.container()
        with figure:
            if waits:
                stands(name)
            else:
                draw(progress)
        with st.container() if restart else above:
            words = count(progress) + f". {_GREYED}" * (waits and not restart)
            _say_how_far(name, job, progress, words, on, restart)
        if is_new:
            keep(name, partial(draw, progress))
        if went_on != progress.goes_on:
            # The whole page once more, so that the fragment stops asking to be run again.
            st.rerun()

    st.fragment(look, run_every=job.every if went_on else None)()


def _say_how_far(
    name: str,
    job: JobView,
    progress: Progress,
    words: str,
    on: str,
    restart: Callable[[], None] | None,
) -> None:
    is_stopped = progress.state in ("cancelled", "unseen")
    kept = f"What had arrived ({words}) is kept; {on} goes on from there."
    if progress.goes_on or (is_stopped and restart):
        if progress.state == "waiting":
            words += ", waiting for another run to end"
        left, button = st.columns([5, 1], vertical_alignment="center")
        if progress.share is None:
            left.caption(words)
        else:
            left.progress(progress.share, words)
        if progress.goes_on:
            button.button("Stop", on_click=job.cancel, key=f"stop_{name}")
        else:
            button.button("Go on", on_click=restart, key=f"go_on_{name}")
    elif is_stopped:
        why = ", because nobody had looked for two minutes" if progress.state == "unseen" else ""
        st.info(f"Stopped{why}. {kept}")
    elif progress.state == "failed":
        sentence = said(progress.sentence.rstrip("."))
        st.error(f"{sentence}. {kept}" if progress.arrived else f"{sentence}.", icon="⚠️")


def _stood() -> dict[str, Callable[[], object]]:
    found: dict[str, Callable[[], object]] = st.session_state.setdefault(_STOOD, {})
    return found


def keep(name: str, draw: Callable[[], object]) -> None:
    """What is shown under a name, for when its successor keeps one waiting."""
    _stood()[name] = draw


def stands(name: str) -> bool:
    """Draw what was shown last, greyed; False, and nothing, if nothing has been shown yet."""
    last = _stood().get(name)
    if last is None:
        return False
    # The style of what is greyed goes by this key.
    with st.container(key=f"stood_{name}"):
        last()
    return True


# Figures that fill in while one looks: sweeps beside the page, with a count and Stop.


def live_figure(
    name: str, sweeps: Sweeps, draw: Callable[[SweepProgress], object], *, noun: str = "runs"
) -> None:
    """Compute sweeps beside the page from now on, and draw their rows as they arrive.

    They begin by themselves and go on where they were, from the rows on disk. What the figure of
    this name showed before stays, greyed, until half of the new one is there.

    name: Of the figure; one of a name on a server. A page's figures share the first word, up to an
        underscore: those of the page that was looked at before give way.
    sweeps: The first comes first.
    noun: What is counted.
    """
    try:
        job = background_jobs.live(name, sweeps)
    except ParameterError as error:  # too many go on
        st.caption(said(f"{error}."))
        return

    def restart() -> None:
        # Where there is no room for it just now, it stays as it is.
        with suppress(ParameterError):
            background_jobs.live(name, sweeps, anew=True)

    def count(progress: SweepProgress) -> str:
        return f"{progress.done} of {progress.total} {noun}"

    watch(name, job, draw, count, is_there=_half, restart=restart)


def _half(progress: SweepProgress) -> bool:
    return 2 * progress.done >= max(progress.total, 1)


# A page's own question as a job beside it: what it takes, begun if wanted, watched, paid for.

# Nobody is asked about a minute. Two hours of everybody's server are for the command line, and so
# are rows beyond about 200 MB.
_ASKED_SECONDS, _MOST_SECONDS = 60, 2 * 3600
_MOST_ROWS = 100_000
# So short that a page had rather open with its figure than ask.
_UNASKED_SECONDS = 3
_UNASKED = "_unasked"
# Numbers in a data set up to which an answer is there before one would press a button.
_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class JobRequest:
    """A page's question as a job.

    page, question, parts: As for `visitors_jobs.start`.
    cost: What it takes. More than a minute is started only once that has been confirmed.
    charge: Gives what the whole run is charged; None where that depends on what it finds. What a
        cap has no room for does not start.
    """

    page: str
    question: Hashable
    parts: Callable[[], Parts]
    cost: RunCost
    charge: session_ledger.Planned = None


def of_sweeps(page: str, sweeps: Sweeps, charge: session_ledger.Planned = None) -> JobRequest:
    """The question that is these sweeps."""
    parts = partial(background_jobs.parts_of_sweeps, sweeps)
    return JobRequest(page, sweeps, parts, background_jobs.cost_of(sweeps), charge)


def start_button(
    request: JobRequest,
    *,
    label: str = "Run",
    disabled: bool = False,
    caption: str = "",
    help: str | None = None,
) -> None:
    """The button that starts a run, and under it what keeps it from starting.

    label, caption, help: Of the button, and beside it.
    """
    page, cost = request.page, request.cost
    refused = too_much(cost)
    seconds = _seconds(cost)
    asked = st.session_state.get(f"_{page}_asked") == request.question
    joins = background_jobs.goes_on(page, request.question)
    start_now: Callable[..., Any] = start
    begin = _ask if seconds > _ASKED_SECONDS and not joins else start_now
    disabled = disabled or bool(refused) or not session_ledger.has_room(request.charge)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            label,
            type="primary",
            icon="▶️",
            on_click=begin,
            args=(request,),
            key=f"{page}_do_run",
            disabled=disabled,
        )
        if seconds > _ASKED_SECONDS and not refused:
            caption += f"; up to about {time_in_words(seconds)}"
        if joins:
            caption += f". It is being computed already: {label} shows it"
        st.caption(caption, help=help)
    if refused:
        st.warning(refused)
    elif asked and not joins:
        st.warning(
            f"This run makes {counted(cost.draws, 'run')} and takes up to about "
            f"{time_in_words(seconds)}. It ends by itself two minutes after nobody looks at it any "
            "more, and keeps what arrived."
        )
        st.button(
            "Start it",
            on_click=start_now,
            args=(request,),
            key=f"{page}_do_start",
            disabled=disabled,
        )
    if refused := st.session_state.pop(f"_{page}_refused", None):
        st.error(said(refused))


def start(request: JobRequest) -> JobView | None:
    """Start a run and, under a cap, pay for it; what keeps it from starting is said at its button.

    It is paid once it has its place, and before anything of it can be seen.
    """
    page = request.page
    st.session_state.pop(f"_{page}_asked", None)
    try:
        view = background_jobs.start(page, request.question, request.parts)
    except ParameterError as error:
        st.session_state[f"_{page}_refused"] = f"{error}."
        return None
    try:
        session_ledger.charge_ahead(request.charge)
    except BeyondCap as beyond:
        view.cancel()
        st.session_state[f"_{page}_refused"] = f"Not drawn. {beyond}"
        return None
    return view


def start_unasked(request: JobRequest) -> None:
    """Start a run of a moment, so that a page opens with its figure.

    Whoever has a cap spends by hand, and a run that goes on elsewhere does not give way to one
    that nobody asked for, unless nobody asked for it either.
    """
    # In presenter mode there is no button to press.
    most = _ASKED_SECONDS if is_presented() else _UNASKED_SECONDS
    is_short = _seconds(request.cost) <= most and not too_much(request.cost)
    before = st.session_state.get(_UNASKED)
    if is_short and session_ledger.cap() is None and not session_ledger.is_going_on(before):
        st.session_state[_UNASKED] = request.question
        start(request)


def starts_by_itself(cost: RunCost) -> bool:
    """Whether a run is so short that nobody need be asked."""
    return _seconds(cost) <= _ASKED_SECONDS and not too_much(cost)


def too_much(cost: RunCost) -> str:
    """Why a run is too much for a page, and what to do; empty where it is not."""
    instead = "Choose fewer runs, values or settings, or run it from the command line."
    if cost.rows > _MOST_ROWS:
        most = f"{_MOST_ROWS:,}"
        return f"This run would give {cost.rows:,} rows; a page takes at most {most}. {instead}"
    if _seconds(cost) > _MOST_SECONDS:
        return (
            f"This run would take about {time_in_words(_seconds(cost))}; a page takes at most "
            f"{time_in_words(_MOST_SECONDS)}. {instead}"
        )
    return ""


def time_in_words(seconds: float) -> str:
    """A time in whole seconds, minutes or hours."""
    if seconds < 100:
        return counted(round(seconds), "second")
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.0f} hours"


def _seconds(cost: RunCost) -> float:
    # How fast a cluster is, is not known here.
    return 0.0 if background_jobs.scheduler() else cost.seconds / (os.cpu_count() or 1)


def _ask(request: JobRequest) -> None:
    st.session_state[f"_{request.page}_asked"] = request.question


def watch_request(
    request: JobRequest,
    dataset: DatasetStatus,
    draw: Callable[[Progress], object],
    count: Callable[[Progress], str],
    *,
    is_there: Callable[[Progress], bool] = lambda progress: bool(progress.arrived),
) -> None:
    """Watch a page's question; of small data it begins by itself, else by its button.

    Until `is_there`, what stood on the page before stays, greyed.
    """
    page = request.page
    job = background_jobs.find(page, request.question)
    if job is None and not session_ledger.has_room(request.charge):
        return
    is_small = dataset.n_samples * dataset.n_features <= _AT_ONCE
    if job is None and is_small and starts_by_itself(request.cost):
        job = start(request)
    if job is not None:
        session_ledger.follow((page, request.question), job.rows_so_far)
    is_idle = job is None or job.progress().state in ("cancelled", "unseen", "failed")
    label = "Run" if job is None else "Go on"
    if is_idle:
        caption = f"Real runs on {dataset.title}, which take a while; Stop keeps what arrived"
        start_button(request, label=label, caption=caption)
    if job is not None:
        watch(page, job, draw, count, is_there=is_there, on=label)
    elif page in _stood():
        st.caption(_GREYED)
        stands(page)


# A sweep on a page: its button, its count, what was skipped, and its rows to take away.

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
    asked = of_sweeps(background_jobs.SWEEPS, sweeps, lambda: charges_of(specs))
    cost = asked.cost
    job = background_jobs.find_sweeps(sweeps)
    if by_itself and job is None and cost.draws:
        start_unasked(asked)
        job = background_jobs.find_sweeps(sweeps)
    if job is not None:
        session_ledger.follow((page, sweeps), job.rows_so_far)
    start_button(
        asked,
        disabled=not cost.draws,
        caption=f"{counted(len(specs), 'setting')}, {counted(cost.draws, 'run')} of the "
        "noise"
        + (f"; {counted(skipped, 'setting')} cannot run" if skipped else "")
        + f", {_where(background_jobs.scheduler())}",
        help=_HELP_ON_CLUSTERS,
    )
    if too_much(cost):
        st.code("\n".join(commands_of(sweeps)), language=None, wrap_lines=True)
    if not cost.draws:
        skipped_table([cell.as_row() for cell in cells])
    if job is None:
        background_jobs.read_ahead(sweeps)
    return job


def watch_sweeps(
    page: str, job: SweepsView, draw: Callable[[SweepProgress], object], noun: str = "run"
) -> None:
    """Watch what has arrived of sweeps; `noun` says what is counted."""

    def count(progress: SweepProgress) -> str:
        words = f"{progress.done:,} of {counted(progress.total, noun)}"
        if progress.state != "running":
            return words
        left = progress.seconds_left
        return words + (
            ", reading the data" if left is None else f", about {time_in_words(left)} left"
        )

    def drawn(progress: SweepProgress) -> None:
        draw(progress)
        if progress.done and not progress.goes_on:
            st.caption(_origin(job, progress, noun))
        skipped_table(progress.skipped)

    watch(page, job, drawn, count, is_there=_half)


def point_clicked(page: str = "play") -> None:
    """From a callback that has set the controls: go to the page that shows them."""
    st.session_state[_CLICKED] = page


def go_where_clicked() -> None:
    """In a figure's fragment: leave, if something in it was clicked."""
    if page := st.session_state.pop(_CLICKED, None):
        # No parameters given means "clear them", which Streamlit refuses while widgets are bound.
        st.switch_page(linked_page(page), query_params={})


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


# The draws that an answer is still without.

# Long enough to get somewhere, short enough that a slider moved meanwhile answers at once.
_SLICE_SECONDS = 0.2
# Leaves the browser time to draw between two slices.
_TICK_SECONDS = 0.3
_BEGUN = "_draws_begun"


def make_the_rest(spec: RunSpec, to_come: Sequence[Cell]) -> None:
    """Make the draws that are still to come while the page stands, and draw the answer again then.

    to_come: sequence of cells. Those of its draws that what stands below has not.
    """
    st.fragment(and_nothing_else()(_wait_for_draws))(spec, bool(to_come))


def _wait_for_draws(spec: RunSpec, is_short: bool) -> None:
    begun = st.session_state.get(_BEGUN)
    st.session_state[_BEGUN] = spec if is_short else None
    if not is_short:
        if begun is not None:
            ask_again(None)
        return
    to_come = caches.finished_rows((spec,))[1]
    if to_come and begun == spec:
        compute_for(to_come, caches.cell_rows, _SLICE_SECONDS)
        to_come = caches.finished_rows((spec,))[1]
    if begun == spec and not to_come:
        draw_again("answer")
    if to_come:
        done = spec.repetitions - len(to_come)
        st.progress(done / spec.repetitions, f"From {done} of {spec.repetitions} runs so far")
    # Also where somebody else has made them since: the answer above is without them.
    ask_again(turns.unhurried(_TICK_SECONDS))
