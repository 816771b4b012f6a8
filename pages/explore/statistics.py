"""Statistics: one private number about a column, and the law of its error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from dpcore.data import DatasetStatus, unit_of
from dpcore.data.dataset import PEOPLE, RowUnit, is_held
from dpcore.errors import ParameterError
from dpcore.experiments import statistic_runs
from dpcore.experiments.classification_runs import statistic_recipe
from dpcore.experiments.engine import Row
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.statistic_runs import (
    HISTOGRAM,
    MEAN,
    TYPED_NUMBERS,
    StatisticSpec,
    numbers_in,
)
from dpcore.figures.families import (
    bounds_figure,
    error_law_figure,
    histogram_bars,
    people_figure,
)
from dpcore.statistics import PrivateStatistic
from pages.server import family_caches
from pages.shell.controls import Selection, redraw_noise
from pages.shell.page import page
from pages.shell.parameters import ask, plain
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark, take_away
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.notices import (
    big_number,
    dataset_ready,
    errors_shown,
    not_private,
    plainly,
    said,
)

# The statistics page's controls and figures.

COLUMN, TYPED = "column", "typed"
# How the laboratory scales a visitor's own columns.
_OWN_LIMITS = (-1.0, 1.0)
_MISTAKE = "stat_mistake"


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers, one a row, what they are called, and what caches know them by."""

    values: np.ndarray
    name: str
    identity: tuple[Any, ...]
    dataset: str | None

    @property
    def unit(self) -> RowUnit:
        """Whose numbers they are; typed ones are taken for people's."""
        return PEOPLE if self.dataset is None else unit_of(self.dataset)


def choose_source() -> str:
    source: str = ask("stat_source", label_visibility="collapsed")
    return source


def choose_values(source: str, dataset: DatasetStatus) -> Values | None:
    """The column or the typed numbers; None, with a sentence, if there are none."""
    if source == TYPED:
        try:
            numbers = numbers_in(ask("stat_numbers", height=80))
        except ParameterError as error:
            st.error(_sentence(error), icon="⚠️")
            return None
        return Values(numbers, "the numbers", ("typed", *numbers.tolist()), None)
    names = family_caches.columns(dataset.name)
    if is_held(dataset.name):
        # By its number: an address says nothing of what is in somebody's table.
        index = st.selectbox("Column", range(len(names)), format_func=names.__getitem__)
        name = names[index]
    else:
        name = ask(
            f"stat_column_{dataset.name}",
            options=names,
            index=len(names) // 2 - 4 if dataset.image_shape else 0,
        )
        index = names.index(name)
    values = family_caches.column(dataset.name, index)
    return Values(values, name, (dataset.name, index), dataset.name)


def choose_spec(run: RunSpec, data: Values) -> StatisticSpec | None:
    """Statistic, mechanism and public bounds; None, with a sentence, if they cannot be."""
    first, second, third, fourth = st.columns([2, 2, 1, 1], gap="medium")
    kind = ask("stat_kind", first)
    mechanism = ask("stat_mechanism", second)
    # Keyed by the source, so that another column starts from its own usual bounds.
    key = data.dataset or TYPED
    low, high = _OWN_LIMITS
    if is_held(key):
        st.caption("Of your own table a column goes from −1 to 1, between the limits you gave.")
    else:
        low, high = ask(f"stat_low_{key}", third), ask(f"stat_high_{key}", fourth)
    bins = ask("stat_bins") if kind == HISTOGRAM else 10
    try:
        return StatisticSpec(
            kind, low, high, run.epsilon, run.delta, mechanism, bins, run.seed, _column_of(data)
        )
    except ParameterError as error:
        st.error(_sentence(error), icon="⚠️")
        return None


def show_answer(data: Values, spec: StatisticSpec, release: PrivateStatistic) -> None:
    """The private number, biggest, and the true one beside it."""
    exact = statistic_runs.truth(data.values, spec)
    n = len(data.values)
    if spec.kind == HISTOGRAM:
        errors = np.abs(release.value - exact)
        words = big_number(
            f"±{errors.mean():.3g}",
            f"{data.unit.many} is how far a private count is from the true one, on average over "
            f"{spec.bins} bins of **{plainly(data.name)}** ({data.unit.of(n)}, "
            f"ε = {spec.epsilon:g}); at most {errors.max():.3g} in this run.",
        )
        moves = f"One {data.unit.one} moves two counts by one each"
    else:
        error = f"{release.value - exact:+.2g}".replace("-", "−")
        words = big_number(
            f"{release.value:.4g}",
            f"is the private {spec.kind} of **{plainly(data.name)}** over {data.unit.of(n)} at "
            f"**ε\u00a0=\u00a0{spec.epsilon:g}**. This is one run; the true one is {exact:.4g}: an "
            f"error of {error}.",
        )
        moves = f"One {data.unit.one} can move it by at most {release.sensitivity:.3g}"
    words.markdown(
        f"{moves}; the noise has scale {release.noise_scale:.3g}. Values outside [{spec.low:g}, "
        f"{spec.high:g}] are moved to the nearer bound: "
        f"{statistic_runs.n_outside(data.values, spec):,} of {n:,}. That count and the true value "
        "are for you alone, no part of the release."
    )


def histogram(data: Values, spec: StatisticSpec, release: PrivateStatistic) -> None:
    """True and private counts; with a toggle, the mistake of reading edges from the data."""
    st.markdown("## Counts, true and private")
    mistaken = ask(_MISTAKE)
    edges, private = spec.edges, np.asarray(release.value)
    if mistaken:
        edges = statistic_runs.data_driven_edges(data.values, spec)
        spec = replace(spec, low=float(edges[0]), high=float(edges[-1]))
        private = np.asarray(statistic_runs.release(data.values, spec).value)
        not_private(
            "Edges read from the data",
            f"they publish the smallest and the largest value, **{edges[0]:g}** and "
            f"**{edges[-1]:g}**, exactly, with no noise. The value of one {data.unit.one} is "
            f"there for all to read, whatever ε says about the counts, and one {data.unit.one} can "
            "move every edge.",
        )
    exact = np.asarray(statistic_runs.truth(data.values, spec))
    chart(
        histogram_bars(edges, exact, private, dark=is_dark()),
        key="stat_histogram",
        alt=f"Private counts of {data.name} in {len(exact)} bins as bars, true ones as an outline.",
    )


def law(data: Values, spec: StatisticSpec, release: PrivateStatistic) -> None:
    """Errors of many draws, the density that theory gives over them."""
    draws = statistic_runs.affordable_draws(len(data.values), spec)
    st.markdown(f"## The law of the error, over {draws:,} runs")
    errors = family_caches.errors_of(data.identity, spec, draws)
    marker = None
    if spec.kind != HISTOGRAM:
        bounded = np.clip(data.values, spec.low, spec.high)
        marker = float(release) - float(statistic_runs.truth(bounded, spec))
    chart(
        error_law_figure(
            errors,
            statistic_runs.error_density(spec, float(release.noise_scale)),
            _unit(spec, data.unit),
            marker=marker,
            dark=is_dark(),
        ),
        key="stat_law",
        alt=f"Errors of {draws} runs follow the {spec.mechanism} law of scale "
        f"{release.noise_scale:.3g}.",
    )
    reached = statistic_runs.error_reached(spec, float(release.noise_scale))
    st.caption(
        f"Theory: 95 % of errors below {plain(float(f'{reached:.3g}'))}. "
        f"In these {draws:,} simulations: {100 * np.mean(np.abs(errors) <= reached):.1f} %."
    )


def trade_off(data: Values, spec: StatisticSpec) -> Sequence[Row]:
    """What the upper bound costs in bias and in noise; its rows."""
    st.markdown("## What a wrong upper bound costs")
    if spec.kind == HISTOGRAM:
        st.markdown(
            "Counts keep their noise whatever the edges are: values beyond the outermost edges "
            "are counted in the outermost bins, which only the reader of the histogram pays for."
        )
        exact = np.asarray(statistic_runs.truth(data.values, spec))
        private = np.asarray(statistic_runs.release(data.values, spec).value)
        return [
            {"from": low, "to": high, "true": true, "private": count}
            for low, high, true, count in zip(
                spec.edges[:-1].tolist(),
                spec.edges[1:].tolist(),
                exact.tolist(),
                private.tolist(),
                strict=True,
            )
        ]
    rows = statistic_runs.bound_trade_off(data.values, spec)
    best = min(rows, key=lambda row: row["error"])
    chart(
        bounds_figure(rows, _unit(spec, data.unit), marker=spec.high, dark=is_dark()),
        key="stat_bounds",
        alt=f"Bias falls and noise grows with the upper bound; least error at {best['high']:.3g}.",
    )
    st.caption(
        f"Too low and values are moved: bias. Too high and everybody needs more noise. Least at "
        f"{best['high']:.3g} here, but that was read from the values: choosing it so is a mistake."
    )
    return rows


def people(data: Values, spec: StatisticSpec) -> None:
    """How many people an error one can live with takes."""
    st.markdown(f"## How many {data.unit.many} do you need for an acceptable error?")
    reach = statistic_runs.error_range(spec)
    what = f"of all {data.unit.many}, in each bin" if spec.kind == HISTOGRAM else "of the range"
    share = ask("stat_error", label=f"Error, as a share {what}")
    error = share * reach
    needed = statistic_runs.people_for(spec, error)
    st.markdown(
        f"**{data.unit.of(needed)}** are needed for an error below {plain(error)} in 95 runs "
        f"of 100 at ε = {spec.epsilon:g}; there are {len(data.values):,}. "
        + ("That is enough." if len(data.values) >= needed else "That is not enough.")
    )
    chart(
        people_figure(
            statistic_runs.people_rows(spec),
            _unit(spec, data.unit, is_share=True),
            wanted=(error, needed),
            present=len(data.values),
            many=data.unit.many,
        ),
        key="stat_people",
        alt=f"{data.unit.many.capitalize()} needed against the acceptable error; {needed:,} for "
        f"{error:.3g}.",
    )


def charge(data: Values, spec: StatisticSpec, release: PrivateStatistic) -> None:
    """Pay for the release before it is shown."""
    session_ledger.charge([spec.charge(data.dataset, data.identity, data.name, release.guarantee)])


def enter(data: Values, spec: StatisticSpec, selection: Selection) -> None:
    """Put into the ledger what is shown beside the release."""
    dataset = data.dataset or TYPED_NUMBERS
    session_ledger.uncovered(
        dataset,
        "True values, errors, bias and how many values were moved to a bound",
        "they read the values without noise",
    )
    if spec.kind == HISTOGRAM and st.session_state[_MISTAKE]:
        session_ledger.uncovered(
            dataset, "Edges read from the data", "they are the smallest and the largest value"
        )
    session_ledger.so_far(dataset, selection.dataset.title if data.dataset else dataset, spec.delta)


def carry_off(data: Values, spec: StatisticSpec, rows: Sequence[Row]) -> None:
    """The figure's rows, and this release as a script and a notebook."""
    origin = data.identity if data.dataset else data.values.tolist()
    recipe = statistic_recipe(spec, origin)
    take_away("statistic", rows, script=recipe.script, notebook=recipe.notebook)


def _column_of(data: Values) -> str:
    # Nothing of typed numbers is public but that they were typed.
    return "/".join(map(str, data.identity)) if data.dataset else TYPED


def _unit(spec: StatisticSpec, counted: RowUnit, *, is_share: bool = False) -> str:
    if spec.kind == HISTOGRAM:
        return f"share of all {counted.many}" if is_share else f"{counted.many} in a bin"
    return "units of the values" if spec.kind == MEAN else "units of the values, squared"


def _sentence(error: ParameterError) -> str:
    text = said(error)
    return text[0].upper() + text[1:] + "."


@page(
    formulas="statistics",
    beside=(
        "True values, errors, bias and how many values were moved to a bound",
        "read the values without any noise.",
    ),
)
def show_statistics(selection: Selection) -> None:
    """Statistics: one private number about a column, and the law of its error."""
    answer = st.container(key="answer_of_statistics")
    figures = st.container()
    controls = st.container(border=True, key="asked_of_statistics")
    with controls:
        source = choose_source()
    if source == COLUMN and not dataset_ready(selection.dataset):
        st.stop()
    data = spec = None
    with errors_shown(), controls:
        data = choose_values(source, selection.dataset)
        spec = choose_spec(selection.spec, data) if data is not None else None
    if data is None or spec is None:
        st.stop()

    release = statistic_runs.release(data.values, spec)
    charge(data, spec, release)
    with answer:
        show_answer(data, spec, release)
        st.button("Redraw noise", on_click=redraw_noise, help="New noise, same settings.")
    with figures:
        if spec.kind == HISTOGRAM:
            histogram(data, spec, release)
        left, right = st.columns(2, gap="large")
    with left:
        if session_ledger.curves(data.dataset or TYPED_NUMBERS):
            law(data, spec, release)
    with right:
        rows = trade_off(data, spec)
    people(data, spec)
    st.markdown("## What it promises")
    guarantee_card(release.guarantee)
    enter(data, spec, selection)
    st.caption(
        "This is for one release. Mean, variance and histogram of the same people are three, "
        "and their ε add up."
    )
    carry_off(data, spec, rows)
