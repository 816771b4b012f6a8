"""Trade-offs: captured energy along one parameter, drawn while the runs arrive."""

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
from dpcore.data.dataset import RowUnit
from dpcore.data.splits import MOST_SITES
from dpcore.errors import ParameterError
from dpcore.experiments.engine.fields import as_published
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.summaries import Curves, bytes_in_words, crossing, percent
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.equal_noise import iso_energy_sweep
from dpcore.experiments.pca.message_bytes import RatePoint, rate_points, rate_sweeps
from dpcore.figures.energy import energy_panel
from dpcore.figures.tradeoffs import energy_frontier, rows_needed, rows_needed_figure
from dpcore.params import DELTAS, EPSILONS, LARGEST_COUNT, PEOPLE_PER_SITE, axes, params
from dpcore.pca.protocols.register import PROTOCOLS
from pages import links, navigation, sidebar, sweeps
from pages.components import charts, ledger, notices
from pages.number_format import plain
from pages.sidebar import Selection
from pages.sweeps import RowsOfSweeps

CONTROLS = (*sidebar.MAIN, *sidebar.ADVANCED)
AXES = axes(RunSpec)
BYTES, NEEDED = "bytes", "needed"
# Titles in the axis picker.
TITLES = {
    "epsilon": "ε",
    "delta": "δ",
    "sites": "S",
    "intermediate_ratio": "R",
    "components": "K",
    "people_per_site": "samples",
    BYTES: "bytes",
    "dropped_sites": "drop-outs",
}
_ALL_TITLES = TITLES | {NEEDED: "samples needed"}
# Settings that can be compared with those of the sidebar.
_SETTINGS = {
    name: (declared.compared, declared.choices)
    for name, declared in params(RunSpec).items()
    if declared.compared
}
_PUBLISHED = "published choices"
_MAX_VALUES, _MAX_COMBINATIONS = 30, 6
_TARGET = 0.9
_FIGURE_HEIGHT = 420
_OPENED = "_tradeoffs_opened"
# Samples per site; larger values are those of all rows.
_SAMPLES = "20, 50, 100, 200, 500, 1000, 2000, 5000, 10000"
# Rows of one data set: with the sidebar's settings, then with each of the others.
Sides = tuple[list[Row], ...]


def show(selection: Selection) -> None:
    """Draw the page."""
    if st.session_state.pop(_OPENED, False):
        navigation.go_to("explore")
    st.title("Trade-offs")
    navigation.link_to_parts("tradeoffs")
    notices.show_notes(selection.notes)
    notices.require_dataset(selection.dataset)
    links.accept_option(
        "tradeoffs_field", list(_ALL_TITLES), _ALL_TITLES.__getitem__, several=False
    )
    field = st.selectbox(
        "Axis",
        list(_ALL_TITLES),
        index=list(_ALL_TITLES).index("sites"),
        format_func=_ALL_TITLES.__getitem__,
        key="tradeoffs_field",
        bind="query-params",
        persist_state="session",
        width=190,
    )
    if field == BYTES:
        _show_bytes(selection)
    elif field == NEEDED:
        _show_needed(selection)
    else:
        _show_sweep(selection, field)
    notices.mark_not_private("Exact PCA, the 100 % line,", "reads the rows without noise.")
    notices.explain_computation("bytes" if field == BYTES else "pca")


# ---- a parameter of the specification


def _show_sweep(selection: Selection, field: str) -> None:
    place = st.container()
    with st.expander("Values, data sets, settings"):
        text = st.text_input(
            f"Values of {AXES[field].title}, separated by commas",
            _SAMPLES if field == "people_per_site" else AXES[field].values,
            key=f"tradeoffs_values_{field}",
            bind="query-params",
        )
        names = [each.name for each in sidebar.numeric_datasets()]
        also = st.multiselect(
            "Also on", names, key="tradeoffs_datasets", bind="query-params", persist_state="session"
        )
        is_published = st.toggle(
            "Also with the published choices",
            key="tradeoffs_published",
            bind="query-params",
            persist_state="session",
            help="Calibration, noise and truncation of Algorithm 1 as printed, as dotted lines.",
        )
        picked = {
            name: st.pills(
                title,
                list(choices),
                selection_mode="multi",
                key=f"tradeoffs_{name}",
                bind="query-params",
                persist_state="session",
            )
            for name, (title, choices) in _SETTINGS.items()
        }
    with place:
        chosen = make_sweeps(selection, field, text, also, picked, published=is_published)
        for name in also:
            notices.require_dataset(dataset_status(name))
        sweeps.watch(chosen, partial(_draw_panels, chosen))


def make_sweeps(
    selection: Selection,
    field: str,
    text: str,
    also: Sequence[str] = (),
    picked: Mapping[str, Sequence[str]] | None = None,
    *,
    published: bool = False,
) -> tuple[Sweep, ...]:
    """Return the sweeps of an axis: one with the sidebar's settings, then those to compare.

    field: Parameter that varies.
    text: Its values, separated by commas.
    also: Other data sets.
    picked: Other values of each setting that can be compared.
    Raises `ParameterError` if the values cannot be read or there are too many combinations.
    """
    names = tuple(dict.fromkeys((selection.dataset.name, *also)))
    values = parse_values(field, text)
    if field == "people_per_site":
        most = min(dataset_status(name).n_samples for name in names) // selection.spec.sites
        values = tuple(sorted({min(value, most) for value in values}))
    base = _without(field, values[0], _for_any_dataset(selection))
    vary = (("dataset", names), (field, values))
    return tuple(Sweep(each, vary) for each in _bases(base, picked or {}, published))


def parse_values(field: str, text: str) -> tuple[float, ...]:
    """Return the values in a text in ascending order, each once.

    Raises `ParameterError` if one is not a number that the parameter can take.
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
    if not 2 <= len(values) <= _MAX_VALUES:
        raise ParameterError(
            f"values of {axis.title}", f"2 to {_MAX_VALUES} different {kind}", len(values)
        )
    return tuple(sorted(values))


def _for_any_dataset(selection: Selection) -> RunSpec:
    """Return the selection with K and R left to each data set where they are the defaults."""
    spec, status = selection.spec, selection.dataset
    usual = sidebar.defaults(status)
    if spec.intermediate_dim == usual["intermediate"]:
        spec = replace(spec, intermediate_dim=None)
    if spec.components == status.default_components:
        spec = replace(spec, components=None)
    return spec


def _without(field: str, first: float, base: RunSpec) -> RunSpec:
    """Return the base without the sidebar's value of the field that varies.

    Two values of that control then give the same sweep, which is computed once.
    """
    derived = {"people_per_site": "samples", "intermediate_ratio": "intermediate_dim"}
    return replace(base, **({derived[field]: None} if field in derived else {field: first}))


def _bases(
    base: RunSpec, picked: Mapping[str, Sequence[str]], published: bool
) -> tuple[RunSpec, ...]:
    choices = [picked.get(field) or [getattr(base, field)] for field in _SETTINGS]
    others = [
        replace(base, **dict[str, Any](zip(_SETTINGS, combination, strict=True)))
        for combination in itertools.product(*choices)
    ]
    bases = tuple(dict.fromkeys([base, *([as_published(base)] if published else []), *others]))
    if len(bases) > _MAX_COMBINATIONS:
        most = f"at most {_MAX_COMBINATIONS}, the sidebar's included"
        raise ParameterError("combinations of settings", most, len(bases))
    return bases


def _name_of(sweep: Sweep, first: Sweep) -> str:
    """Return the settings in which a sweep differs from the first one."""
    if sweep.base == as_published(first.base):
        return _PUBLISHED
    return ", ".join(
        getattr(sweep.base, field)
        for field in _SETTINGS
        if getattr(sweep.base, field) != getattr(first.base, field)
    )


def _draw_panels(chosen: Sequence[Sweep], rows: RowsOfSweeps) -> None:
    """Draw the finding and one panel per data set on one scale."""
    field, values = chosen[0].vary[-1]
    names = dict(chosen[0].vary)["dataset"]
    others = [_name_of(sweep, chosen[0]) for sweep in chosen[1:]]
    for each in rows:
        ledger.charge_rows(each)
    sides: dict[str, Sides] = {
        name: tuple([row for row in side if row["dataset"] == name] for side in rows)
        for name in names
    }
    first = sides[names[0]]
    if first[0]:
        st.markdown(describe(first, field, others))
    else:
        st.markdown("Waiting for the first run.")
    for column, (name, every) in zip(st.columns(len(sides)), sides.items(), strict=True):
        figure = energy_panel(
            every[0],
            field,
            others=dict(zip(others, every[1:], strict=True)),
            axis_title=unit_of(name).name_in(AXES[field].axis),
            logarithmic=AXES[field].logarithmic,
            axis_range=values,
            dark=charts.is_dark(),
        )
        _draw_panel(column, name, figure, field, every, is_titled=len(sides) > 1)
    st.caption("Bands: range of runs. Click a point to explore it.")


def _draw_panel(
    place: Any, name: str, figure: go.Figure, field: str, sides: Sides, *, is_titled: bool
) -> None:
    key = f"tradeoffs_panel_{name}"
    if is_titled:
        place.markdown(f"**{dataset_status(name).title}**")
    with place.container(height=_FIGURE_HEIGHT, border=False):
        charts.show_figure(
            figure,
            key=key,
            height="stretch",
            alt=describe(sides, field) if sides[0] else "Axes of the curves to come.",
            on_select=partial(_open_point, key, field, sides),
            selection_mode="points",
        )


def describe(sides: Sides, field: str, others: Sequence[str] = ()) -> str:
    """Return the captured energy at both ends of the axis, and the largest differences."""
    rows, axis = sides[0], AXES[field]
    curves, lead = Curves(rows, field), rows[0]["protocol"]
    unit = unit_of(rows[0]["dataset"])
    values = sorted({row[field] for row in rows if row["protocol"] == lead})
    first, last = values[0], values[-1]
    title = PROTOCOLS[lead].title
    sentence = (
        f"**{title}** captures **{percent(curves.mean(lead, last))}** of the energy at "
        f"{unit.name_in(axis.describe(last))}, and {percent(curves.mean(lead, first))} at "
        f"{unit.name_in(axis.describe(first))}."
    )
    reached = crossing(curves.means(lead), _TARGET) if axis.grows else None
    if reached is not None and reached > first:
        about = axis.describe(round(reached) if axis.whole else float(f"{reached:.2g}"))
        sentence += f" It reaches {percent(_TARGET)} at about {unit.name_in(about)}."
    for name, theirs in zip(others, sides[1:], strict=True):
        sentence += _difference(name, curves, Curves(theirs, field), lead, field)
    return sentence


def _difference(name: str, ours: Curves, theirs: Curves, lead: str, field: str) -> str:
    both = [value for value in ours.values if value in theirs.values]
    if not both:
        return ""
    gains = {value: ours.mean(lead, value) - theirs.mean(lead, value) for value in both}
    at = max(gains, key=lambda value: abs(gains[value]))
    return (
        f" The largest difference to {name} is **{100 * gains[at]:+.0f} points**, at "
        f"{AXES[field].describe(at)}."
    )


def _open_point(key: str, field: str, sides: Sides) -> None:
    """Set the sidebar to the settings of the point that was clicked, and leave for Explore."""
    for point in st.session_state[key].selection.points:
        value, protocol, *other = point["customdata"]
        for row in sides[other[0] if other else 0]:
            if row[field] == value and row["protocol"] == protocol:
                set_controls_to(row)
                st.session_state[_OPENED] = True
                return


def set_controls_to(row: Row) -> None:
    """Set the sidebar to the settings of a row, or to the nearest that its controls offer."""
    status = dataset_status(row["dataset"])
    is_all = row["samples"] >= status.n_samples - row["sites"]
    people = min(PEOPLE_PER_SITE, key=lambda n: abs(n - row["people_per_site"]))
    advanced = {name: row[name] for name in sidebar.ADVANCED if name in row}
    sidebar.set_controls(
        **advanced
        | {
            "dataset": row["dataset"],
            "epsilon": _nearest(EPSILONS, row["epsilon"]),
            "delta": _nearest(DELTAS, row["delta"]),
            "sites": min(row["sites"], MOST_SITES),
            "people": sidebar.ALL_SAMPLES if is_all else people,
            "components": min(row["components"], 100),
            "intermediate": row["intermediate_dim"],
        }
    )


def _nearest(options: Sequence[float], value: float) -> float:
    return min(options, key=lambda option: abs(math.log(option / value)))


# ---- bytes

_ROUNDED, _PRECISION = "step 1 σ", "float32"
_SHOWN_PRECISIONS = ("float32", "int8")


def _show_bytes(selection: Selection) -> None:
    """Draw captured energy against the bytes that one site sends."""
    spec = replace(selection.spec, protocols=("dpdis",), intermediate_dim=None)
    chosen = rate_sweeps(spec)
    sweeps.watch(chosen, partial(_draw_bytes, spec, selection.dataset))


def _draw_bytes(spec: RunSpec, dataset: DatasetStatus, found: RowsOfSweeps) -> None:
    rows = [row for each in found for row in each]
    ledger.charge_rows(rows)
    points = rate_points(rows) if rows else ()
    st.markdown(describe_bytes(points, spec, dataset))
    with st.container(height=_FIGURE_HEIGHT, border=False):
        if points:
            is_shown = [
                row
                for row in rows
                if row["protocol"] == "full" or row["encoding"] in _SHOWN_PRECISIONS
            ]
            best = "; ".join(f"{p.label}, {percent(p.energy)}" for p in points if p.is_best)
            charts.show_figure(
                energy_frontier(
                    [point.as_row() for point in rate_points(is_shown)],
                    byte_range=_byte_range(spec, dataset, points),
                    floor=rows[0]["floor"],
                    dark=charts.is_dark(),
                ),
                key="tradeoffs_bytes",
                height="stretch",
                alt=f"Captured energy against bytes per site. Best for their size: {best}.",
            )
    st.caption("Every message has the same guarantee: rounding and cutting come after the noise.")
    _draw_best_messages(points)


def describe_bytes(points: Sequence[RatePoint], spec: RunSpec, dataset: DatasetStatus) -> str:
    """Compare the rounded matrix with the usual message of R directions."""
    components = spec.components or dataset.default_components or 1
    usual = min(2 * components, dataset.n_features)
    proxies = {
        p.intermediate_dim: p
        for p in points
        if p.intermediate_dim is not None and p.encoding == _PRECISION
    }
    rounded = next((p for p in points if p.label == _ROUNDED), None)
    if rounded is None or not proxies:
        return "Waiting for messages of both kinds: R directions, and rounded matrices."
    intermediate_dim = min(proxies, key=lambda each: abs(each - usual))
    proxy = proxies[intermediate_dim]
    ratio = proxy.bytes_per_site / rounded.bytes_per_site
    number, word = (ratio, "fewer") if ratio >= 1 else (1 / ratio, "more")
    return (
        f"A rounded matrix needs **{number:.2g} times {word} bytes**: it captures "
        f"**{percent(rounded.energy)}** with {bytes_in_words(rounded.bytes_per_site)} per site. "
        f"R = {intermediate_dim} directions capture **{percent(proxy.energy)}** with "
        f"{bytes_in_words(proxy.bytes_per_site)}."
    )


def _draw_best_messages(points: Sequence[RatePoint]) -> None:
    best = [point for point in points if point.is_best]
    if not best:
        return
    st.markdown("**Messages that no smaller one beats**")
    st.dataframe(
        [
            {
                "message": f"{'R directions' if point.family == 'proxy' else 'matrix'}, "
                + point.label.replace("int8", "8 bits"),
                "bytes per site": point.bytes_per_site,
                "captured energy, %": 100 * point.energy,
                "range, %": f"{100 * point.least:.0f} to {100 * point.greatest:.0f}",
            }
            for point in best
        ],
        column_config={
            "bytes per site": st.column_config.NumberColumn(format="%,.0f"),
            "captured energy, %": st.column_config.NumberColumn(format="%.1f"),
        },
        hide_index=True,
        height="content",
    )


def _byte_range(
    spec: RunSpec, dataset: DatasetStatus, points: Sequence[RatePoint]
) -> tuple[float, float]:
    """Return the range of the axis, from the smallest message to the whole matrix."""
    features, components = dataset.n_features, spec.components or dataset.default_components or 1
    # On the sphere a private mean is sent to the aggregator and back.
    mean_bytes = 16 * features if spec.on_sphere else 0
    smallest = features * max(1, components // 4) + mean_bytes
    largest = max(4 * features * (features + 1), 8 * features * 4 * components) + mean_bytes
    return 0.7 * min(smallest, *(p.bytes_per_site for p in points)), 1.5 * largest


# ---- samples needed

_NEEDED_FOR = (0.75, 0.9)
_NEEDED_AT = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_NEEDED_RUNS, _LEAST_SAMPLES = 3, 50


def _show_needed(selection: Selection) -> None:
    """Draw the samples that each site needs to reach a captured energy, at every ε."""
    spec, dataset = selection.spec, selection.dataset
    most = dataset.n_samples // spec.sites
    sizes = (*(n for n in PEOPLE_PER_SITE if _LEAST_SAMPLES <= n < most), most)
    # The classic calibration is proven up to ε = 1.
    epsilons = tuple(e for e in _NEEDED_AT if e <= 1 or spec.calibration != "classic")
    lead = replace(spec, protocols=spec.protocols[:1], samples=None, repetitions=_NEEDED_RUNS)
    chosen = (iso_energy_sweep(lead, epsilons, sizes),)
    sweeps.watch(chosen, partial(_draw_needed, lead, dataset.unit, epsilons, sizes))


def _draw_needed(
    spec: RunSpec,
    unit: RowUnit,
    epsilons: Sequence[float],
    sizes: Sequence[int],
    rows_of_sweeps: RowsOfSweeps,
) -> None:
    rows, key = rows_of_sweeps[0], spec.protocols[0]
    ledger.charge_rows(rows)
    found = {target: rows_needed(rows, target, sizes, spec.repetitions) for target in _NEEDED_FOR}
    least, greatest = (found[target] for target in _NEEDED_FOR)
    here = min(least, key=lambda epsilon: abs(math.log(epsilon / spec.epsilon)), default=None)
    if here is None:
        st.markdown("Waiting for the first runs.")
    else:
        fewer, more = (
            f"more than {sizes[-1]:,}" if size is None else f"{size:,}"
            for size in (least[here], greatest[here])
        )
        st.markdown(
            f"At ε = {plain(here)} **{PROTOCOLS[key].title}** needs **{fewer}** "
            f"{unit.many} per site to capture 75 % of the energy, and **{more}** for 90 %."
        )
    with st.container(height=_FIGURE_HEIGHT, border=False):
        charts.show_figure(
            rows_needed_figure(
                found, epsilons, sizes, key=key, many=unit.many, dark=charts.is_dark()
            ),
            key="tradeoffs_needed",
            height="stretch",
            alt=f"{unit.many.capitalize()} needed per site against ε, for 75 % and for 90 %.",
        )
    st.caption(f"The smallest of {len(sizes)} sizes from which on the mean reaches the share.")
