"""Trade-offs: one parameter varies, and what is kept is drawn while it is computed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from dpcore.data import DatasetStatus, dataset_status, unit_of
from dpcore.data.dataset import RowUnit, is_held
from dpcore.data.splits import MOST_SITES
from dpcore.errors import ParameterError
from dpcore.experiments.engine import Row, charges_of
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.spec import as_published
from dpcore.experiments.summaries import Curves, bytes_in_words, counted, crossing, percent
from dpcore.experiments.sweep import Sweep
from dpcore.experiments.targets import RatePoint, iso_energy_sweep, rate_points, rate_sweeps
from dpcore.figures.energy import (
    energy_frontier,
    energy_panel,
    legend_html,
    rows_needed,
    rows_needed_figure,
)
from dpcore.params import DELTAS, EPSILONS, LARGEST_COUNT, PEOPLE_PER_SITE
from dpcore.pca.protocols.register import PROTOCOLS
from pages.server import background_jobs
from pages.server.background_jobs import Progress, SweepProgress
from pages.shell.controls import Selection, n_components_of, set_controls
from pages.shell.page import page
from pages.shell.parameters import ADVANCED, AXES, DEFAULTS, EVERYBODY, SETTINGS, ask, plain
from pages.widgets import job_progress
from pages.widgets.charts import chart, is_dark, take_away
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.job_progress import (
    JobRequest,
    commands_of,
    point_clicked,
    started_job,
    take_away_sweep,
    watch_request,
    watch_sweeps,
)
from pages.widgets.notices import (
    big_number,
    dataset_ready,
    errors_shown,
)

# The Trade-offs page's controls, what they ask for, and how it is told.

MOST_VALUES = 30
TARGET = 0.9
PUBLISHED = "published choices"
MOST_SETTINGS = 6


def choose_sweeps(selection: Selection) -> tuple[tuple[Sweep, ...], tuple[DatasetStatus, ...]]:
    """Draw the page's own controls; the sweeps they ask for and the data sets these need.

    Raises `ParameterError` if the values cannot be read.
    """
    left, right = st.columns(2)
    field = ask("tradeoffs_field", left)
    text = ask(f"tradeoffs_values_{field}", right)
    beside = f"Beside {selection.dataset.title}, also on"
    also = ask("tradeoffs_datasets", left, label=beside)
    compare = ask("tradeoffs_published", right)
    picked = _choose_settings()
    sweeps = asked_sweeps(selection, field, text, also, picked, published=compare)
    names = dict(sweeps[0].vary)["dataset"]
    return sweeps, tuple(map(dataset_status, names))


def asked_sweeps(
    selection: Selection,
    field: str,
    text: str,
    also: Sequence[str],
    picked: Mapping[str, Sequence[str]],
    *,
    published: bool,
) -> tuple[Sweep, ...]:
    """What the page's controls ask for at these values.

    Raises `ParameterError` if the values cannot be read.
    """
    names = tuple(dict.fromkeys((selection.dataset.name, *also)))
    values = parse_values(field, text)
    base = _without(field, values[0], _for_any_dataset(selection))
    vary = (("dataset", names), (field, values))
    return tuple(Sweep(each, vary) for each in _bases(base, picked, published))


def _choose_settings() -> dict[str, list[str]]:
    with st.expander("Also with other calibrations, noise shapes and truncations"):
        columns = st.columns(len(SETTINGS))
        return {
            field: ask(f"tradeoffs_{field}", column)
            for column, field in zip(columns, SETTINGS, strict=True)
        }


def _bases(
    base: RunSpec, picked: Mapping[str, Sequence[str]], published: bool
) -> tuple[RunSpec, ...]:
    """The sidebar's settings, and beside them every other combination asked for, each once.

    Raises `ParameterError` if there are more combinations than anybody can tell apart.
    """
    choices = [picked.get(field) or [getattr(base, field)] for field in SETTINGS]
    others = [
        replace(base, **dict[str, Any](zip(SETTINGS, combination, strict=True)))
        for combination in itertools.product(*choices)
    ]
    bases = tuple(dict.fromkeys([base, *([as_published(base)] if published else []), *others]))
    if len(bases) > MOST_SETTINGS:
        most = f"at most {MOST_SETTINGS}, the sidebar's included"
        raise ParameterError("combinations of settings", most, len(bases))
    return bases


def name_of(sweep: Sweep, first: Sweep) -> str:
    """What tells a sweep's settings from the sidebar's, in a word or two."""
    if sweep.base == as_published(first.base):
        return PUBLISHED
    return ", ".join(
        getattr(sweep.base, field)
        for field in SETTINGS
        if getattr(sweep.base, field) != getattr(first.base, field)
    )


def parse_values(field: str, text: str) -> tuple[float, ...]:
    """The values in a text, in order, each once.

    Raises `ParameterError` naming what is not a number greater than 0, or not a whole one where it
        has to be.
    """
    axis = AXES[field]
    kind = "whole numbers" if axis.whole else "numbers"
    values = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            value = axis.kind(part)
        except ValueError as error:
            raise ParameterError(
                f"values of {axis.title}", f"{kind} separated by commas", part
            ) from error
        if not value >= axis.least:
            bound = "at least 0" if axis.least == 0 else "greater than 0"
            raise ParameterError(f"values of {axis.title}", bound, part)
        if value > LARGEST_COUNT:
            raise ParameterError(f"values of {axis.title}", f"at most {LARGEST_COUNT:,}", part)
        values.add(value)
    if not 2 <= len(values) <= MOST_VALUES:
        raise ParameterError(
            f"values of {axis.title}", f"2 to {MOST_VALUES} different {kind}", len(values)
        )
    return tuple(sorted(values))


def _for_any_dataset(selection: Selection) -> RunSpec:
    """The selection with K and R left to each data set where they are at their defaults."""
    spec, status = selection.spec, selection.dataset
    if spec.intermediate_dim == min(
        2 * n_components_of(spec.components, status), status.n_features
    ):
        spec = replace(spec, intermediate_dim=None)
    if spec.components == status.default_components:
        spec = replace(spec, components=None)
    return spec


def _without(field: str, first: float, base: RunSpec) -> RunSpec:
    """The base without what the sidebar says of the field that varies.

    Moving that control, as a click on a point does, then asks for the same sweep.
    """
    derived = {"people_per_site": "samples", "intermediate_ratio": "intermediate_dim"}
    return replace(base, **({derived[field]: None} if field in derived else {field: first}))


def field_of(sweep: Sweep) -> str:
    """What varies along the axis of a sweep's panels."""
    return sweep.vary[-1][0]


def finding(rows: Sequence[Row], field: str, title: str) -> tuple[str, str]:
    """The number that matters and its sentence: how the first protocol goes along the axis."""
    curves, axis = Curves(rows, field), AXES[field]
    unit = unit_of(rows[0]["dataset"])
    lead = rows[0]["protocol"]
    values = [value for value in curves.values if any(
        row["protocol"] == lead and row[field] == value for row in rows)]  # fmt: skip
    first, last = values[0], values[-1]
    sentence = (
        f"of the pattern survives with **{title}** on {_called(rows[0]['dataset'])} at "
        f"**{unit.name_in(axis.told(last))}**, and {percent(curves.mean(lead, first))} at "
        f"{unit.name_in(axis.told(first))}."
    )
    reached = crossing(curves.means(lead), TARGET) if axis.grows else None
    if reached is not None and reached > first:
        about = f"{reached:,.0f}" if axis.whole else f"{reached:.2g}"
        sentence += f" It reaches {percent(TARGET)} at about {axis.title} = {about}."
    return percent(curves.mean(lead, last)), sentence


def _called(name: str) -> str:
    return dataset_status(name).title if is_held(name) else name


def difference(rows: Sequence[Row], others: Mapping[str, Sequence[Row]], field: str) -> str:
    """Where other choices are furthest from ours, for the first protocol; a sentence each."""
    return " ".join(
        filter(None, (_against(name, rows, theirs, field) for name, theirs in others.items()))
    )


def _against(name: str, rows: Sequence[Row], other_rows: Sequence[Row], field: str) -> str:
    lead = rows[0]["protocol"]
    ours, theirs = Curves(rows, field), Curves(other_rows, field)
    both = [value for value in ours.values if value in theirs.values]
    gains = {value: ours.mean(lead, value) - theirs.mean(lead, value) for value in both}
    if not gains:
        return ""
    at = max(gains, key=lambda value: abs(gains[value]))
    return (
        f"Against {'the ' if name == PUBLISHED else ''}{name} that is "
        f"**{100 * gains[at]:+.0f} points** where it matters most, at {AXES[field].told(at)}."
    )


def rows_by_dataset(progress: SweepProgress) -> dict[str, tuple[list[Row], ...]]:
    """For each data set that has rows: ours, and those of every other choice of settings."""
    return {
        name: tuple([row for row in side if row["dataset"] == name] for side in progress.rows)
        for name in dict.fromkeys(row["dataset"] for row in progress.rows[0])
    }


def open_row(row: Row, **others: Any) -> None:
    """From a callback: set the shared controls to a row's settings, as near as they go.

    `others` are set as they are given; the rest stays.
    """
    status = dataset_status(row["dataset"])
    everybody = row["samples"] >= status.n_samples - row["sites"]
    people = min(PEOPLE_PER_SITE, key=lambda n: abs(n - row["people_per_site"]))
    kept = {name: st.session_state[name] for name in DEFAULTS}
    copied = ("dataset", *(name for name in ADVANCED if name in row))
    set_controls(
        **kept
        | {name: row[name] for name in copied}
        | {
            "epsilon": _nearest(EPSILONS, row["epsilon"]),
            "delta": _nearest(DELTAS, row["delta"]),
            "sites": min(row["sites"], MOST_SITES),
            "people": EVERYBODY if everybody else people,
            "components": min(row["components"], 100),
            "intermediate": row["intermediate_dim"],
        }
        | others
    )


def _nearest(options: Sequence[float], value: float) -> float:
    return min(options, key=lambda option: abs(math.log(option / value)))


# Panels of the Trade-offs page: one a data set, side by side, on one scale.

IN_A_ROW = 3
# Rows of one data set: under the sidebar's settings, then under each of the others.
Sides = tuple[list[Row], ...]


def draw_panels(sweeps: Sequence[Sweep], progress: SweepProgress) -> None:
    """The finding, and under it one panel a data set, side by side, on one scale."""
    sides = rows_by_dataset(progress)
    if not sides:
        nothing_yet(sweeps)
        return
    field, others = field_of(sweeps[0]), names_of_others(sweeps)
    ours, *theirs = next(iter(sides.values()))
    lead = PROTOCOLS[ours[0]["protocol"]].title
    more = difference(ours, dict(zip(others, theirs, strict=True)), field)
    big_number(*finding(ours, field, lead), more)
    several = len(sides) > 1
    figures = figures_of(sweeps, sides, legend=not several)
    if several:
        protocols = list(dict.fromkeys(row["protocol"] for row in ours))
        st.html(legend_html(protocols, others, dark=is_dark()))
    # Panels under each other on a telephone, three in a row elsewhere.
    in_a_row = min(len(sides), IN_A_ROW)
    columns = [column for _ in range(0, len(sides), in_a_row) for column in st.columns(in_a_row)]
    for column, (name, every) in zip(columns, sides.items(), strict=False):
        key = f"tradeoffs_do_panel_{name}"
        with column:
            st.markdown(f"**{dataset_status(name).title}**")
            chart(
                figures[name],
                key=key,
                alt=" ".join(finding(every[0], field, lead)),
                on_select=lambda key=key, every=every: _go_to_point(key, field, every),
                selection_mode="points",
            )
    st.caption(
        "Bands are the spread of the runs. Click a point to open it on Play, at the "
        "nearest settings its controls have."
    )


def nothing_yet(sweeps: Sequence[Sweep]) -> None:
    """The question over empty axes, which have the chart library loaded by the first curve."""
    st.markdown("## What does privacy cost as one thing changes?")
    _, names = sweeps[0].vary[0]
    nothing: dict[str, Sides] = {names[0]: ([],) * len(sweeps)}
    empty = figures_of(sweeps, nothing)[names[0]]
    chart(empty, key="tradeoffs_do_empty", alt="The axes of the curves to come.")


def names_of_others(sweeps: Sequence[Sweep]) -> list[str]:
    """Settings compared with the sidebar's."""
    return [name_of(sweep, sweeps[0]) for sweep in sweeps[1:]]


def figures_of(
    sweeps: Sequence[Sweep], sides: Mapping[str, Sides], *, legend: bool = True
) -> dict[str, go.Figure]:
    """One panel a data set, whose axes stand still while it fills in."""
    field, values = sweeps[0].vary[-1]
    others = names_of_others(sweeps)
    return {
        name: energy_panel(
            ours,
            field,
            others=dict(zip(others, theirs, strict=True)),
            axis_title=unit_of(name).name_in(AXES[field].axis),
            logarithmic=AXES[field].logarithmic,
            axis_range=(values[0], values[-1]),
            dark=is_dark(),
        ).update_layout(showlegend=legend)
        for name, (ours, *theirs) in sides.items()
    }


def _go_to_point(key: str, field: str, sides: Sides) -> None:
    """Callback of a click: the row under the point becomes the controls' settings."""
    for point in st.session_state[key].selection.points:
        value, protocol, *other = point["customdata"]
        for row in sides[other[0] if other else 0]:
            if row[field] == value and row["protocol"] == protocol:
                open_row(row)
                point_clicked()
                return


PAGE = "tradeoffs"


@page(
    ledger=True, formulas="pca",
    beside=("Exact PCA, the 100 % line", "reads the rows without any noise."),
)  # fmt: skip
def show_tradeoffs(selection: Selection) -> None:
    """Trade-offs."""

    def choose() -> tuple[Sweep, ...]:
        """The sweeps the controls ask for, once all their data are there."""
        chosen, datasets = choose_sweeps(selection)
        if not all([dataset_ready(dataset) for dataset in datasets]):
            st.stop()
        return chosen

    answer = st.container()
    sweeps: tuple[Sweep, ...] = ()
    job = None
    with errors_shown():
        with st.container(border=True):
            sweeps = choose()
            job = started_job(PAGE, sweeps, by_itself=True)
        if job is not None and not (ended := job.progress()).goes_on and ended.rows[0]:
            figures = figures_of(sweeps, rows_by_dataset(ended))
            take_away_sweep(PAGE, sweeps, ended, figures, commands_of(sweeps))
    with answer:
        if job is not None:
            watch_sweeps(PAGE, job, partial(draw_panels, sweeps))
        elif not job_progress.stands(PAGE) and sweeps:
            st.markdown("Press Run; everything but what varies is held as the sidebar says.")
            nothing_yet(sweeps)
    promised_cards(
        selection.spec,
        selection.dataset,
        selection.spec.protocols,
        "At the sidebar's settings. What holds at any other point is `exact_epsilon` in the rows.",
    )


# Energy against bytes on a page: the finding, and the points as they arrive.

_PARTS = ("whole", "proxies")
_ROUNDED = "step 1 σ"
_PRECISION = "float32"


def frontier_request(page: str, spec: RunSpec) -> JobRequest:
    """Both families of messages as a job, the shorter sweep first.

    Every message is computed from the same noise, which is what is charged.
    """
    proxies, whole = sweeps = rate_sweeps(spec)
    part = background_jobs.sweep_part
    return JobRequest(
        page,
        spec,
        lambda: {"whole": part(whole), "proxies": part(proxies)},
        background_jobs.cost_of(sweeps),
        lambda: charges_of(c.spec for sweep in sweeps for c in sweep.cells() if c.spec is not None),
    )


def frontier_count(progress: Progress) -> str:
    """How far a frontier is."""
    part = list(progress.arrived)[-1] if progress.arrived else _PARTS[0]
    words = {"whole": "Rounded matrices", "proxies": "Proxies"}[part]
    events = progress.arrived.get(part)
    count = f": {events[-1].done} of {events[-1].total} runs" if events else ""
    return f"{words}{count} …"


def frontier_rows(progress: Progress) -> list[Row]:
    """All rows that have arrived."""
    return [row for part in _PARTS for row in progress.rows_of(part)]


def frontier_finding(points: tuple[RatePoint, ...], spec: RunSpec, dataset: DatasetStatus) -> None:
    """The rounded matrix against the proxy as it is usually sent."""
    usual = min(2 * n_components_of(spec.components, dataset), dataset.n_features)
    proxies = {
        p.intermediate_dim: p
        for p in points
        if p.intermediate_dim is not None and p.encoding == _PRECISION
    }
    rounded = next((p for p in points if p.label == _ROUNDED), None)
    if rounded is None or not proxies:
        big_number(
            "… ×", "How many bytes does rounding save? Both kinds of messages are on the way."
        )
        return
    sent = min(proxies, key=lambda intermediate_dim: abs(intermediate_dim - usual))
    proxy = proxies[sent]
    ratio = proxy.bytes_per_site / rounded.bytes_per_site
    number, word = (ratio, "fewer") if ratio >= 1 else (1 / ratio, "more")
    big_number(
        f"{number:.2g} ×",
        f"{word} bytes: rounding the whole matrix at step 1σ lets **{percent(rounded.energy)}** "
        f"survive with **{bytes_in_words(rounded.bytes_per_site)}** a site; sending "
        f"R\u00a0=\u00a0{sent} directions in {_PRECISION} lets **{percent(proxy.energy)}** survive "
        f"with **{bytes_in_words(proxy.bytes_per_site)}**.",
    )


def frontier(
    progress: Progress, spec: RunSpec, dataset: DatasetStatus, precisions: Sequence[str]
) -> None:
    """The finding, and the figure of what has arrived, of proxies in some precisions."""
    rows = frontier_rows(progress)
    points = rate_points(rows)
    skipped = [row for part in _PARTS for row in progress.skipped_of(part)]
    if not points and skipped and not progress.goes_on:
        st.error(str(skipped[0]["skipped"]), icon="⚠️")
        return
    frontier_finding(points, spec, dataset)
    if not points:
        return
    shown = [row for row in rows if row["protocol"] == "full" or row["encoding"] in precisions]
    chart(
        energy_frontier(
            [point.as_row() for point in rate_points(shown)],
            byte_range=_byte_range(spec, dataset, points),
            floor=rows[0]["random_ratio"],
            dark=is_dark(),
        ),
        key="bytes_frontier",
        alt="What survives against bytes a site sends. Best for their bytes: "
        + "; ".join(f"{p.label}, {percent(p.energy)}" for p in points if p.is_best),
    )
    st.caption(
        f"Each point is the mean of {spec.repetitions} runs, its line their spread. Grey steps: "
        "the best result for each message size. Diamonds are labelled with the rounding step."
    )
    if skipped:
        with st.expander(f"{len(skipped)} settings skipped, and why"):
            st.dataframe(skipped, hide_index=True)


def best_for_their_bytes(rows: list[Row]) -> None:
    """Every way to send that no other beats with as few bytes, as a table."""
    best = [point for point in rate_points(rows) if point.is_best]
    if not best:
        return
    st.markdown("## The best for their bytes")
    st.dataframe(
        [
            {
                "message": f"{'proxy' if point.family == 'proxy' else 'matrix'}, "
                + point.label.replace("int8", "8 bits"),
                "bytes a site": point.bytes_per_site,
                "survives, %": 100 * point.energy,
                "runs, %": f"{100 * point.least:.0f} to {100 * point.greatest:.0f}",
            }
            for point in best
        ],
        # As wide as a phone.
        column_config={
            "message": st.column_config.TextColumn(width=135),
            "bytes a site": st.column_config.NumberColumn(format="%,.0f", width=80),
            "survives, %": st.column_config.NumberColumn(format="%.1f", width=60),
            "runs, %": st.column_config.TextColumn(width=75),
        },
        hide_index=True,
        height="content",  # all of it, for the last line was cut
    )


def _byte_range(
    spec: RunSpec, dataset: DatasetStatus, points: Sequence[RatePoint]
) -> tuple[float, float]:
    # From the smallest proxy to the largest, or to the whole matrix as it is. On the sphere a
    # private mean, where there is one, goes to the aggregator first and comes back.
    features, components = dataset.n_features, n_components_of(spec.components, dataset)
    for_the_mean = 16 * features if spec.on_sphere else 0
    smallest = features * max(1, components // 4) + for_the_mean
    largest = max(4 * features * (features + 1), 8 * features * 4 * components) + for_the_mean
    return 0.7 * min(smallest, *(p.bytes_per_site for p in points)), 1.5 * largest


# Energy per byte: what a site's message keeps for what it weighs.

BYTES_PAGE = "bytes"


@page(
    reads=True, ledger=True, formulas="bytes",
    beside=("The 100 % line and every share", "are measured on the rows, without any noise."),
)  # fmt: skip
def show_bytes(selection: Selection) -> None:
    """Energy per byte: what a site's message keeps for what it weighs."""
    # R and the protocols are what varies here.
    spec = replace(selection.spec, protocols=("dpdis",), intermediate_dim=None)
    answer = st.container()
    precisions = ask("bytes_precisions")
    with answer:
        watch_request(
            frontier_request(BYTES_PAGE, spec),
            selection.dataset,
            lambda progress: frontier(progress, spec, selection.dataset, precisions),
            frontier_count,
        )
    work = background_jobs.find(BYTES_PAGE, spec)
    rows = [] if work is None else frontier_rows(work.progress())
    best_for_their_bytes(rows)
    promised_cards(
        spec,
        selection.dataset,
        ("dpdis", "full"),
        "Cutting, rounding and coding come after the noise: every message promises the same.",
    )
    take_away(BYTES_PAGE, rows)


# How many rows of a site a share of the pattern needs, at every epsilon: an axis of Play.

_NEEDED_FOR = (0.75, 0.9)
_NEEDED_AT = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_NEEDED_RUNS = 3


def watch_needed(selection: Selection) -> None:
    """How many rows a site must have for a share to survive, at every ε."""
    spec, dataset = selection.spec, selection.dataset
    most = dataset.n_samples // spec.sites
    sizes = (*(n for n in PEOPLE_PER_SITE if 50 <= n < most), most)
    # Classic noise is proven up to 1.
    epsilons = tuple(e for e in _NEEDED_AT if e <= 1 or spec.calibration != "classic")
    lead = replace(spec, protocols=spec.protocols[:1], samples=None, repetitions=_NEEDED_RUNS)
    sweeps = (iso_energy_sweep(lead, epsilons, sizes),)
    place = st.container()
    job = started_job("play_needed", sweeps, by_itself=True)
    with place:
        if job is None:
            st.caption(f"Runs of up to {most:,} {dataset.unit.many} at each site answer it.")
        else:
            draw = partial(_draw_needed, lead, dataset.unit, epsilons, sizes)
            watch_sweeps("play_needed", job, draw)


def _draw_needed(
    spec: RunSpec,
    unit: RowUnit,
    epsilons: Sequence[float],
    sizes: Sequence[int],
    progress: SweepProgress,
) -> None:
    rows, key = [row for part in progress.rows for row in part], spec.protocols[0]
    found = {target: rows_needed(rows, target, sizes, spec.repetitions) for target in _NEEDED_FOR}
    least, greatest = (found[target] for target in _NEEDED_FOR)
    here = min(least, key=lambda epsilon: abs(math.log(epsilon / spec.epsilon)), default=None)
    if here is None:
        st.markdown("…")
    else:
        told = (
            f"more than {sizes[-1]:,}" if size is None else f"{size:,}"
            for size in (least[here], greatest[here])
        )
        fewer, more = told
        st.markdown(
            f"At ε = {plain(here)} **{PROTOCOLS[key].title}** needs **{fewer}** {unit.many} per "
            f"site for 75 % of the pattern to survive, **{more}** for 90 %."
        )
    chart(
        rows_needed_figure(found, epsilons, sizes, key=key, many=unit.many, dark=is_dark()),
        key="play_needed",
        alt=f"{unit.many.capitalize()} needed per site against ε, for 75 % and for 90 %.",
    )
    st.caption(
        f"The fewest of {len(sizes)} sizes from which on the mean of {spec.repetitions} runs "
        f"reaches the share, at {counted(spec.sites, 'site')}."
    )
