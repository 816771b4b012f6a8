"""The Trade-offs page's controls, what they ask for, and how it is told."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus, dataset_status
from dpcore.data.held_tables import is_held
from dpcore.data.sites import MOST_SITES
from dpcore.errors import ParameterError
from dpcore.experiments.engine.control_ranges import (
    DELTAS,
    EPSILONS,
    LARGEST_COUNT,
    PEOPLE_PER_SITE,
)
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.pca.paired_curves import Curves, crossing
from dpcore.experiments.pca.sentences import percent
from dpcore.experiments.pca.spec import RunSpec, as_published
from pages.explore.tradeoffs.axes import AXES, SETTINGS
from pages.parameters.sidebar import DEFAULTS
from pages.parameters.table import ask
from pages.parameters.words import EVERYBODY
from pages.server.visitors_jobs import SweepProgress
from pages.sidebar.controls import set_controls
from pages.sidebar.selection import Selection, n_components_of

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
    choices = [picked[field] or [getattr(base, field)] for field in SETTINGS]
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
    lead = rows[0]["protocol"]
    values = [value for value in curves.values if any(
        row["protocol"] == lead and row[field] == value for row in rows)]  # fmt: skip
    first, last = values[0], values[-1]
    sentence = (
        f"of the energy that exact PCA captures is kept by **{title}** on "
        f"{_called(rows[0]['dataset'])} at **{axis.told(last)}**, and "
        f"{percent(curves.mean(lead, first))} at {axis.told(first)}."
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


def open_row(row: Row, **others: Any) -> None:
    """From a callback: set the shared controls to a row's settings, as near as they go.

    `others` are set as they are given; the rest stays.
    """
    status = dataset_status(row["dataset"])
    everybody = row["samples"] >= status.n_samples - row["sites"]
    people = min(PEOPLE_PER_SITE, key=lambda n: abs(n - row["people_per_site"]))
    kept = {name: st.session_state[name] for name in DEFAULTS}
    copied = ("dataset", "calibration", "noise", "truncation", "preparation", "split", "masks",
              "knowledge",
              "dropped_sites")  # fmt: skip
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
