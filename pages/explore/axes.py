"""Axes of the start page's curve: the steps of the upright line, each with its specification."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dpcore.experiments.engine.fields import VERSIONS, version_fields
from dpcore.experiments.pca import RunSpec
from dpcore.params import DELTAS, EPSILONS, PEOPLE_PER_SITE
from dpcore.pca.protocols.register import PROTOCOLS
from pages import cached, sidebar
from pages.number_format import plain
from pages.sidebar import ALL_SAMPLES, Selection

# Symbols of the axes, by the name of the control that moves along them.
SYMBOLS = {
    "epsilon": "ε",
    "delta": "δ",
    "sites": "S",
    "intermediate": "R",
    "components": "K",
    "people": "rows",
    "bytes": "bytes",
}
TITLES = {
    "epsilon": "Privacy parameter ε",
    "delta": "Failure probability δ",
    "sites": "Sites S",
    "intermediate": "Directions R",
    "components": "Components K",
    "people": "Rows per site",
    "bytes": "Bytes per site",
}
_SITES = (1, 2, 3, 5, 10, 20, 30)
_COMPONENTS = (1, 2, 5, 10, 20, 30, 50, 100)
# R in multiples of K.
_RATIOS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
_LARGEST_CLASSIC_EPSILON = 1.0


@dataclass(frozen=True)
class Step:
    """One step of an axis.

    label: Value at this step, as on the axis.
    is_major: Whether narrow figures name it.
    controls: Values of the controls that select this step.
    spec, other: Specification at this step, and in the other version; `other` is None on pages
        that show one version.
    """

    label: str
    is_major: bool
    controls: tuple[tuple[str, Any], ...]
    spec: RunSpec
    other: RunSpec


@dataclass(frozen=True)
class Steps:
    """All steps of one axis.

    axis: A key of `SYMBOLS`.
    present: Number of the present step.
    other_version: Version of `Step.other`.
    """

    axis: str
    steps: tuple[Step, ...]
    present: int
    other_version: str

    @property
    def symbol(self) -> str:
        return SYMBOLS[self.axis]


def axes_of(selection: Selection) -> tuple[str, ...]:
    """Return the axes along which the chosen algorithm can change."""
    entry = PROTOCOLS[selection.spec.protocols[0]]
    unused = () if entry.has_sites else ("sites", "intermediate", "bytes")
    if not entry.wants_proxies:
        unused = (*unused, "intermediate", "bytes")
    return tuple(axis for axis in SYMBOLS if axis not in unused)


def steps_of(selection: Selection, axis: str) -> Steps:
    """Return the steps of an axis from the most private or smallest value to the largest."""
    control = "intermediate" if axis == "bytes" else axis
    present = selection.values[control]
    values = _values(selection, axis)
    if present not in values:
        values = sorted({*values, present}, key=_order)
    other_version = "improved" if selection.version == "published" else "published"
    spec, dataset = selection.spec, selection.dataset
    others = tuple(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in selection.values.items()
        if name != control
    )
    # The name of the data set leads to the cache of a visitor's own table.
    key = (axis, tuple(values), dataset.name, dataset, spec.knowledge, spec.limits, others)
    steps: tuple[Step, ...] = cached.axis_steps(
        *key, make=lambda: tuple(_step(selection, axis, value, other_version) for value in values)
    )
    return Steps(axis, steps, list(values).index(present), other_version)


def _order(value: Any) -> float:
    return float("inf") if value == ALL_SAMPLES else float(value)


def _values(selection: Selection, axis: str) -> list[Any]:
    dataset, values = selection.dataset, selection.values
    if axis == "epsilon":
        is_limited = values["calibration"] == "classic"
        most = _LARGEST_CLASSIC_EPSILON if is_limited else EPSILONS[-1]
        return [epsilon for epsilon in EPSILONS if epsilon <= most]
    if axis == "delta":
        return sorted(DELTAS)
    if axis == "sites":
        return [sites for sites in _SITES if sites * 2 <= dataset.n_samples]
    if axis == "components":
        return [k for k in _COMPONENTS if k <= dataset.n_features]
    if axis == "people":
        most = dataset.n_samples // values["sites"]
        return [*(n for n in PEOPLE_PER_SITE if 2 <= n < most), ALL_SAMPLES]
    ratios = (max(1, round(ratio * values["components"])) for ratio in _RATIOS)
    return sorted({min(ratio, dataset.n_features) for ratio in ratios})


def _step(selection: Selection, axis: str, value: Any, other_version: str) -> Step:
    dataset, values = selection.dataset, selection.values
    control = "intermediate" if axis == "bytes" else axis
    changed = {control: value}
    if axis == "components" and values["intermediate"] == 2 * values["components"]:
        changed["intermediate"] = min(2 * value, dataset.n_features)
    spec = sidebar.select(dataset, {**values, **changed}).spec
    if axis == "people":
        value = spec.samples or dataset.n_samples
        value //= spec.sites
    label = plain(value)
    is_power = label.replace(".", "").replace(",", "").strip("0") == "1"
    is_major = is_power or axis not in ("epsilon", "delta", "people")
    other = in_version(spec, other_version, selection, keep_delta=axis == "delta")
    return Step(label, is_major, tuple(changed.items()), spec, other)


def in_version(
    spec: RunSpec, version: str, selection: Selection, *, keep_delta: bool = False
) -> RunSpec:
    """Return the specification in another version, with that version's default of delta.

    A delta that the visitor moved, or that is the axis, is kept.
    """
    n_rows = selection.dataset.n_samples
    fields = version_fields(version, n_rows)
    present = selection.version if selection.version in VERSIONS else "published"
    if keep_delta or spec.delta != version_fields(present, n_rows)["delta"]:
        del fields["delta"]
    return replace(spec, **fields)
