"""Other analyses, statistics: one private number about a column and the law of its error."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from dpcore.data import dataset_status, load_dataset, unit_of
from dpcore.data.catalog import CATALOG
from dpcore.data.dataset import PEOPLE, RowUnit, limits_of
from dpcore.experiments import statistics
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.summaries import counted
from dpcore.experiments.engine.units import run_unit, units_of
from dpcore.experiments.statistics import (
    HISTOGRAM,
    MEAN,
    TYPED_NUMBERS,
    ErrorsSpec,
    StatisticSpec,
    local_values,
    numbers_in,
    statistic_recipe,
    usual_bounds,
)
from dpcore.figures.statistics import bounds_figure, error_law_figure, histogram_bars, people_figure
from dpcore.params import params
from dpcore.statistics import PrivateStatistic
from pages import links, navigation, sidebar
from pages.cached import cached
from pages.components import charts, downloads, guarantee, ledger, notices
from pages.number_format import plain
from pages.sidebar import Selection

CONTROLS = ("epsilon", "delta", "seed")
TYPED = "typed"
_EXAMPLE = "23, 35, 41, 62, 58, 30, 71, 47, 19, 52, 38, 66, 44, 29, 55, 60, 33, 48, 26, 50"
_FIGURE_HEIGHT = 450
_ERRORS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers of a column, one per row.

    values: The numbers.
    name: Name of the column.
    identity: Key of the caches: data set and position, or the typed numbers themselves.
    dataset: Name of the data set; None for typed numbers.
    bounds: Public bounds to start from.
    """

    values: np.ndarray
    name: str
    identity: tuple[Any, ...]
    dataset: str | None
    bounds: tuple[float, float]

    @property
    def unit(self) -> RowUnit:
        """Noun for one row; typed numbers are numbers of people."""
        return PEOPLE if self.dataset is None else unit_of(self.dataset)


def show(selection: Selection) -> None:
    """Draw the answer, the figure of its error, and the controls of the statistic."""
    answer = notices.reserve_container("answer")
    with notices.heading_of_error(answer, _show_heading):
        column = _choose_column(answer)
        spec = _choose_statistic(selection, column)
        release = statistics.release(column.values, spec)
        charge = spec.charge(column.dataset, column.identity, column.name, release.guarantee)
        ledger.charge([charge])
    ledger.record_uncovered(
        column.dataset or TYPED_NUMBERS,
        "True values, errors and bias",
        "they read the values without noise",
    )
    with answer:
        _show_answer(column, spec, release)
        if spec.kind == HISTOGRAM:
            _show_histogram(column, spec, release)
        else:
            _show_error_law(column, spec, release)
    _show_rows_needed(column, spec)
    rows = _show_bound_cost(column, spec)
    notices.mark_not_private("True values, errors and bias", "read the values without noise.")
    guarantee.summarize(release.guarantee)
    st.caption("Each further statistic of the same rows is another release; their ε add up.")
    origin = column.identity if column.dataset else column.values.tolist()
    recipe = statistic_recipe(spec, origin)
    downloads.offer_downloads("statistic", rows, script=recipe.script, notebook=recipe.notebook)
    notices.explain_computation("statistics")


def _show_heading() -> None:
    st.title("Statistics")
    navigation.link_to_parts("statistics")


# ---- controls


def _choose_column(answer: Any) -> Column:
    left, right = st.columns(2)
    data_sets = [status.name for status in sidebar.numeric_datasets()]
    sources = ["diabetes", *(name for name in data_sets if name != "diabetes"), TYPED]
    links.accept_option("stat_source", sources, _source_title, several=False)
    source = left.selectbox(
        "Data",
        sources,
        format_func=_source_title,
        key="stat_source",
        bind="query-params",
        persist_state="session",
    )
    sidebar.require_offered("stat_source", source, sources)
    if source == TYPED:
        text = right.text_area(
            "One number per person",
            _EXAMPLE,
            max_chars=10_000,
            height=80,
            key="stat_numbers",
            persist_state="session",
        )
        numbers = numbers_in(text)
        return Column(numbers, "the numbers", (TYPED, *numbers.tolist()), None, usual_bounds(None))
    status = dataset_status(source)
    if not status.ready:
        with answer:
            _show_heading()
            notices.require_dataset(status)
    notices.require_dataset(status)
    names = _column_names(source)
    first = len(names) // 2 - 4 if status.image_shape else 0
    name = right.selectbox(
        "Column",
        names,
        index=first,
        key=f"stat_column_{source}",
        bind="query-params" if source in CATALOG else None,
        persist_state="session",
    )
    index = names.index(name)
    values = local_values((source, index))
    return Column(values, name, (source, index), source, _public_bounds(source, index))


def _public_bounds(source: str, index: int) -> tuple[float, float]:
    """Return the documented limits of a column, or usual bounds of the data set."""
    limits = limits_of(dataset_status(source).ranges)
    if source not in CATALOG or limits is None or not np.isfinite(limits[index]).all():
        return (-1.0, 1.0) if source not in CATALOG else usual_bounds(source)
    return float(limits[index, 0]), float(limits[index, 1])


def _source_title(source: str) -> str:
    if source == TYPED:
        return "Typed numbers"
    return CATALOG[source].title if source in CATALOG else "Your table"


@cached(8, message="Reading the data set")
def _column_names(dataset: str) -> tuple[str, ...]:
    return load_dataset(dataset, download=False).feature_names


def _choose_statistic(selection: Selection, column: Column) -> StatisticSpec:
    declared = params(StatisticSpec)
    place = st.expander("Statistic, noise, bounds")
    first, second, third, fourth = place.columns(4, vertical_alignment="bottom")
    kind = first.selectbox(
        declared["kind"].title, declared["kind"].choices, key="stat_kind", bind="query-params"
    )
    mechanism = second.selectbox(
        declared["mechanism"].title,
        declared["mechanism"].choices,
        key="stat_mechanism",
        bind="query-params",
        help=declared["mechanism"].help or None,
    )
    # Keys contain the column, so that another column starts from its own public bounds.
    key = f"{column.identity[0]}_{column.name}" if column.dataset else TYPED
    low = third.number_input("Lower public bound", value=column.bounds[0], key=f"stat_low_{key}")
    high = fourth.number_input("Upper public bound", value=column.bounds[1], key=f"stat_high_{key}")
    bins = 10
    if kind == HISTOGRAM:
        bins = place.slider("Bins", 2, 50, 10, key="stat_bins", bind="query-params")
    run = selection.spec
    source = "/".join(map(str, column.identity)) if column.dataset else TYPED
    return StatisticSpec(kind, low, high, run.epsilon, run.delta, mechanism, bins, run.seed, source)


# ---- the answer and its figures


def _show_answer(column: Column, spec: StatisticSpec, release: PrivateStatistic) -> None:
    exact = statistics.truth(column.values, spec)
    rows = column.unit.of(len(column.values))
    name = notices.escape_markdown(column.name)
    answer = st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    )
    if spec.kind == HISTOGRAM:
        error = float(np.abs(release.value - exact).mean())
        answer.title(
            f"Private counts of {name} are off by {plain(error, 2)} of {rows} on average "
            f"at ε = {plain(spec.epsilon)}",
            width="content",
        )
    else:
        private, true = _with_equal_decimals(float(release.value), float(exact))
        answer.title(
            f"The private {spec.kind} of {name} is {private} at "
            f"ε = {plain(spec.epsilon)}; the true one is {true}",
            width="content",
        )
    answer.button("New noise", on_click=sidebar.new_noise)
    navigation.link_to_parts("statistics")
    outside = statistics.n_outside(column.values, spec)
    st.caption(
        f"{rows}, one run, noise scale {plain(float(release.noise_scale), 3)}."
        + (f" {counted(outside, 'value')} moved to the bounds." if outside else "")
    )


def _with_equal_decimals(*numbers: float) -> tuple[str, ...]:
    """Format numbers with the same decimals, at most four significant digits of the largest."""
    largest = max(map(abs, numbers))
    decimals = max(0, 3 - math.floor(math.log10(largest))) if largest else 0
    while decimals and all(f"{number:.{decimals}f}".endswith("0") for number in numbers):
        decimals -= 1
    return tuple(f"{number:,.{decimals}f}".replace("-", "−") for number in numbers)


def _show_histogram(column: Column, spec: StatisticSpec, release: PrivateStatistic) -> None:
    mistaken = st.toggle("Take the edges from the data instead", key="stat_mistake")
    edges, private = spec.edges, np.asarray(release.value)
    if mistaken:
        edges = statistics.data_driven_edges(column.values, spec)
        spec = replace(spec, low=float(edges[0]), high=float(edges[-1]))
        private = np.asarray(statistics.release(column.values, spec).value)
        ledger.record_uncovered(
            column.dataset or TYPED_NUMBERS,
            "Edges read from the data",
            "they are the smallest and the largest value",
        )
        notices.mark_not_private(
            "Edges from the data",
            f"publish the smallest and the largest value, {edges[0]:g} and {edges[-1]:g}, exactly.",
        )
    exact = np.asarray(statistics.truth(column.values, spec))
    charts.show_figure(
        histogram_bars(edges, exact, private, dark=charts.is_dark()),
        key="stat_histogram",
        alt=f"Private counts of {column.name} in {len(exact)} bins; the true ones as an outline.",
    )


def _show_error_law(column: Column, spec: StatisticSpec, release: PrivateStatistic) -> None:
    if not ledger.may_show_curves(column.dataset or TYPED_NUMBERS):
        return
    draws = statistics.affordable_draws(len(column.values), spec)
    errors = _errors(column.identity, spec, draws)
    bounded = np.clip(column.values, spec.low, spec.high)
    marker = float(release) - float(statistics.truth(bounded, spec))
    reached = statistics.error_reached(spec, float(release.noise_scale))
    charts.show_figure(
        error_law_figure(
            errors,
            statistics.error_density(spec, float(release.noise_scale)),
            _unit(spec, column),
            marker=marker,
            dark=charts.is_dark(),
        ),
        key="stat_law",
        alt=f"Errors of {draws} runs follow the {spec.mechanism} law: "
        f"95 % below {plain(reached, 3)}.",
        height=_FIGURE_HEIGHT,
    )
    share = 100 * np.mean(np.abs(errors) <= reached)
    st.caption(
        f"Theory: 95 % of errors are below {plain(reached, 3)}. "
        f"In these {draws:,} simulated runs: {share:.1f} %."
    )


@cached(64, message="Drawing the errors")
def _errors(identity: tuple[Any, ...], spec: StatisticSpec, draws: int) -> np.ndarray:
    (unit,) = units_of({0: ErrorsSpec(spec, identity, draws)})
    ((row,),) = (finished.rows for finished in run_unit(unit))
    return np.array(row["errors"])


def _show_rows_needed(column: Column, spec: StatisticSpec) -> None:
    many = column.unit.many
    st.markdown(f"## How many {many} are needed?")
    share = st.select_slider(
        "Acceptable error, as a share of the range",
        _ERRORS,
        value=0.01,
        format_func=lambda value: f"{100 * value:g} %",
        key="stat_error",
        bind="query-params",
    )
    error = share * statistics.error_range(spec)
    needed, present = statistics.people_for(spec, error), len(column.values)
    st.markdown(
        f"**{column.unit.of(needed)}** for an error below {plain(error)} in 95 of 100 runs. "
        f"There are {present:,}: {'enough' if present >= needed else 'not enough'}."
    )
    charts.show_figure(
        people_figure(
            statistics.people_rows(spec),
            _unit(spec, column, is_share=True),
            selected=(error, needed),
            present=present,
            many=many,
        ),
        key="stat_people",
        alt=f"{many.capitalize()} needed against the acceptable error; "
        f"{needed:,} for {plain(error, 3)}.",
    )


def _show_bound_cost(column: Column, spec: StatisticSpec) -> Sequence[Row]:
    if spec.kind == HISTOGRAM:
        exact = np.asarray(statistics.truth(column.values, spec))
        private = np.asarray(statistics.release(column.values, spec).value)
        values = (spec.edges[:-1], spec.edges[1:], exact, private)
        names = ("from", "to", "true", "private")
        columns = (column.tolist() for column in values)
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    rows = statistics.bound_trade_off(column.values, spec)
    best = min(rows, key=lambda row: row["error"])
    st.markdown("## What a wrong upper bound costs")
    charts.show_figure(
        bounds_figure(rows, _unit(spec, column), marker=spec.high, dark=charts.is_dark()),
        key="stat_bounds",
        alt="Bias falls and noise grows with the upper bound; "
        f"least error at {plain(best['high'], 3)}.",
    )
    st.caption(
        f"A bound that is too low causes bias; one that is too high causes more noise. The error "
        f"is smallest at {plain(best['high'], 3)}. Choosing it from this figure would read the "
        "data."
    )
    return rows


def _unit(spec: StatisticSpec, column: Column, *, is_share: bool = False) -> str:
    if spec.kind == HISTOGRAM:
        many = column.unit.many
        return f"share of all {many}" if is_share else f"{many} in a bin"
    named = re.search(r"\(([^()]+)\)$", column.name)
    unit = named[1] if named else "units of the values"
    return unit if spec.kind == MEAN else f"{unit}, squared"
