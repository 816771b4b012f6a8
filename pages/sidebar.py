"""Shared controls of the sidebar, bound to the address, and the specification that they select.

A control is declared once, as a field of `RunSpec` (`dpcore.params`). Each page lists the controls
that it shows in its constant `CONTROLS`. Values of controls that a page does not show stay in the
session.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.data.catalog import CATALOG
from dpcore.data.dataset import read_limits, written_limits
from dpcore.data.splits import MOST_SITES
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.engine.fields import GIVEN, SPLITS, VERSIONS, version_fields, version_of
from dpcore.experiments.engine.knowledge import (
    FREQUENCIES,
    NO_KNOWLEDGE,
    Knowledge,
    check_knowledge,
    count_directions,
)
from dpcore.experiments.pca import RunSpec
from dpcore.params import PEOPLE_PER_SITE, Param, kind_of, params
from dpcore.pca.protocols.register import PROTOCOLS
from pages import cached, links
from pages.number_format import plain

# The six controls of every analysis, in the order of the sidebar.
MAIN = ("dataset", "algorithm", "epsilon", "delta", "sites", "intermediate")
ADVANCED = (
    "people", "components", "compare", "repetitions", "seed", "calibration", "noise", "truncation",
    "denoise", "preparation", "split", "concentration", "masks", "dropped_sites", "knowledge",
)  # fmt: skip
ALL = (*MAIN, *ADVANCED)
ALL_SAMPLES = "all"
DEFAULT_VERSION = "published"
# Name of a visitor's table in the address.
_OWN = "your-table"
_FIELDS = {(parameter.address or name): name for name, parameter in params(RunSpec).items()}
_LABELS = {
    "algorithm": "Algorithm",
    "compare": "Compare with",
    "people": "Samples per site",
    "epsilon": "ε (privacy budget)",
    "delta": "δ (failure probability)",
    "sites": "Sites S",
    "intermediate": "Directions R",
    "components": "Components K",
}
# Streamlit has no public name for the type of its containers.
_Container = AbstractContextManager[object]
_SELECTION, _OFFERED = "_selection", "_offered_settings"
# Algorithms of the source documents; the others are under "More".
_AT_SITES = ("dpdis", "full", "local", "pooled")
_CENTRAL = ("ag", "ppca", "modsulq", "sulq")


@dataclass(frozen=True)
class Selection:
    """Settings of the sidebar in one run of the script.

    spec: Specification of the runs. Its first protocol is the chosen algorithm.
    dataset: Status of the chosen data set.
    notes: Sentences about settings that could not be met as they are.
    values: Values of all controls, by name.
    """

    spec: RunSpec
    dataset: DatasetStatus
    notes: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """A key of `dpcore.experiments.engine.fields.VERSIONS`, or `CUSTOM`."""
        return version_of(self.values)


def draw_sidebar(names: Sequence[str]) -> None:
    """Draw the shared controls of a page and store the selection for this run.

    names: Names of the controls, in any order; they are drawn in the order of `MAIN`, and those
        of `ADVANCED` in an expander.
    """
    side = st.sidebar
    _accept_offered_settings()
    _follow_version()
    dataset = _dataset(side if "dataset" in names else None)
    values: dict[str, Any] = {}
    for name in MAIN[1:]:
        values[name] = _draw(name, side if name in names else None, dataset, values)
    place = None
    if not set(ADVANCED).isdisjoint(names):
        expander = side.expander("Advanced", key="advanced", on_change="rerun")
        place = expander if expander.open else None
    for name in ADVANCED:
        is_shown = place is not None and name in names and _applies(name, dataset, values)
        values[name] = _draw(name, place if is_shown else None, dataset, values)
    is_own = dataset.name not in CATALOG
    links.write_option("dataset", _OWN if is_own else dataset.name, DEFAULTS["dataset"])
    links.write_option("version", st.session_state["version"], DEFAULT_VERSION)
    usual = defaults(dataset)
    links.write_option("algorithm", values["algorithm"], usual["algorithm"])
    for name in ADVANCED:
        if name in names:
            links.write_option(name, values[name], usual[name])
    st.session_state[_SELECTION] = select(dataset, values)


def selection() -> Selection:
    """Return the selection of this run of the script."""
    selection: Selection = st.session_state[_SELECTION]
    return selection


def set_controls(**values: Any) -> None:
    """Set controls from a callback. Controls that are not named keep their values."""
    for name, value in values.items():
        st.session_state[name] = value


def reset_controls(**values: Any) -> None:
    """Set controls from a callback. Controls that are not named get their defaults."""
    dataset = _status(values.get("dataset", DEFAULTS["dataset"]))
    set_controls(**(defaults(dataset) | values))


def offer_settings(values: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """Return the query of a link to a page with these values of the shared controls.

    A link of Streamlit changes the page without a callback. The session remembers the values, so
    that controls that are not in the query get their defaults when the link was followed.
    """
    query = _query_of(values)
    st.session_state[_OFFERED] = (query, dict(values))
    return query


def _accept_offered_settings() -> None:
    """Set the controls to the values of the offered link if the address is that of the link."""
    query, values = st.session_state.get(_OFFERED, ({}, {}))
    lists = {name: [text] if isinstance(text, str) else text for name, text in query.items()}
    controls = [name for name in st.query_params if name in DEFAULTS or name == "version"]
    if query and lists == {name: st.query_params.get_all(name) for name in controls}:
        del st.session_state[_OFFERED]
        reset_controls(**values)


def _query_of(values: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """Return the values of controls as the address contains them, without defaults.

    Each parameter that Streamlit removed from the address would be a step for Back.
    """
    dataset = _status(values["dataset"])
    present = st.session_state.get("version", DEFAULT_VERSION)
    every = defaults(dataset) | dict(values)
    version = version_of(every)
    version = version if version in VERSIONS else present
    usual: dict[str, Any] = defaults(dataset, version) | {"version": DEFAULT_VERSION}
    query: dict[str, str | list[str]] = {}
    for name, value in {**values, "version": version}.items():
        if value == usual[name]:
            continue
        if name in MAIN and name not in ("dataset", "algorithm"):
            label = _widget(name, dataset, every).arguments.get("format_func", str)
            query[name] = label(value)
        else:
            query[name] = links.text_of(value)
    return query


def set_version(version: str) -> None:
    """Set the controls to a version, from a callback. A delta that was moved is kept."""
    dataset = _status(st.session_state.get("dataset", DEFAULTS["dataset"]))
    usual = defaults(dataset)
    fields = version_fields(version, dataset.n_samples)
    if st.session_state.get("delta", usual["delta"]) != usual["delta"]:
        del fields["delta"]
    set_controls(version=version, **fields)


def _follow_version() -> None:
    """Take the version from the link, or from the controls if these were set to another one."""
    links.accept_option("version", tuple(VERSIONS), str, several=False)
    present = st.session_state.setdefault("version", DEFAULT_VERSION)
    values = {name: st.session_state.get(name, usual) for name, usual in VERSIONS[present].items()}
    if (version := version_of(values)) in VERSIONS:
        st.session_state["version"] = version


def new_noise() -> None:
    """Draw the noise again, from a callback: the next seed follows from the present one."""
    previous = st.session_state.get("seed", 0)
    st.session_state["seed"] = int(np.random.SeedSequence(previous).generate_state(1)[0] >> 1)


def defaults(dataset: DatasetStatus, version: str = "") -> dict[str, Any]:
    """Return the default of every control, for the data set and the version.

    version: The version of this session by default.
    """
    components = dataset.default_components or 1
    chosen: str = version or st.session_state.get("version", DEFAULT_VERSION)
    return (
        DEFAULTS
        | version_fields(chosen, dataset.n_samples)
        | {
            "components": components,
            "intermediate": min(2 * components, dataset.n_features),
        }
    )


def numeric_datasets() -> tuple[DatasetStatus, ...]:
    """Return the data sets on which PCA can run, including the visitor's own table."""
    statuses = tuple(
        status for status in cached.dataset_statuses() if status.default_components is not None
    )
    own_status = st.session_state.get("_own_status")
    return statuses if own_status is None else (*statuses, own_status)


def require_offered(name: str, value: str, offered: Collection[str]) -> str:
    """Return the value of a select box if it is among its options.

    Streamlit accepts any text of a browser whose label is the label of an option, and all tables
    of visitors have one label.

    Raises `ParameterError` otherwise.
    """
    if value not in offered:
        raise ParameterError(name, "a data set that this session is offered", "another")
    return value


def _status(name: str) -> DatasetStatus:
    statuses = {status.name: status for status in numeric_datasets()}
    return statuses[require_offered("dataset", name, statuses)]


def _dataset(place: _Container | None) -> DatasetStatus:
    statuses = {status.name: status for status in numeric_datasets()}
    name = st.session_state.get("dataset", DEFAULTS["dataset"])
    if name not in statuses:
        st.session_state["dataset"] = name = DEFAULTS["dataset"]
    links.accept_option(
        "dataset", tuple(statuses), lambda name: _label_of(statuses[name]), several=False
    )
    if place is not None:
        with place:
            name = st.selectbox(
                "Data set",
                list(statuses),
                index=list(statuses).index(DEFAULTS["dataset"]),
                key="dataset",
                format_func=lambda name: _label_of(statuses[name]),
                on_change=_follow_dataset,
                persist_state="session",
            )
    return statuses[require_offered("dataset", name, statuses)]


def _label_of(status: DatasetStatus) -> str:
    return status.title if status.ready else f"{status.title} · download"


def _follow_dataset() -> None:
    """Set δ, K and R to the defaults of the data set that was chosen."""
    usual = defaults(_status(st.session_state["dataset"]))
    set_controls(**{name: usual[name] for name in ("delta", "components", "intermediate")})


def _draw(
    name: str, place: _Container | None, dataset: DatasetStatus, values: Mapping[str, Any]
) -> Any:
    """Draw one control, or return its value if the page does not show it."""
    usual = defaults(dataset)[name]
    widget = _widget(name, dataset, values)
    if widget.options:
        label = widget.arguments["format_func"]
        links.accept_option(name, widget.options, label, isinstance(usual, list))
    else:
        low, high = widget.arguments["min_value"], widget.arguments["max_value"]
        links.accept_number(name, low, high, type(low), usual)
    _bring_into_range(name, widget, usual)
    if place is None:
        return st.session_state.get(name, usual)
    draw = getattr(st, widget.kind)
    # Streamlit binds a control to the address only while it is drawn, and by its label.
    is_bound = name in MAIN and name != "algorithm"
    bound = {"bind": "query-params"} if is_bound else {}
    with place:
        return draw(key=name, **widget.arguments, **bound, persist_state="session")


def _applies(name: str, dataset: DatasetStatus, values: Mapping[str, Any]) -> bool:
    """Return whether a control of *Advanced* changes anything, or was changed by a link."""
    usual = defaults(dataset)[name]
    if st.session_state.get(name, usual) != usual:
        return True
    compared = values.get("compare", DEFAULTS["compare"])
    entries = [PROTOCOLS[key] for key in (values["algorithm"], *compared)]
    read = {setting for entry in entries if entry.noise for setting in entry.noise.settings}
    has_sites = any(entry.has_sites for entry in entries) and values["sites"] > 1
    conditions = {
        "calibration": "calibration" in read,
        "noise": "noise" in read,
        "truncation": any(entry.wants_proxies for entry in entries),
        "denoise": any(entry.average is not None for entry in entries),
        "split": has_sites,
        "concentration": values.get("split") == "dirichlet",
        "masks": "masks" in read,
        "dropped_sites": has_sites and ("honest_sites" in read or any(e.is_chain for e in entries)),
        "knowledge": dataset.image_shape is not None,
    }
    return conditions.get(name, True)


@dataclass(frozen=True)
class _Widget:
    """Streamlit widget of one control.

    kind: Name of the Streamlit function.
    arguments: Arguments of that function.
    options: Values to choose from; empty for a number.
    """

    kind: str
    arguments: dict[str, Any]
    options: tuple[Any, ...] = ()


def _widget(name: str, dataset: DatasetStatus, values: Mapping[str, Any]) -> _Widget:
    usual = defaults(dataset)[name]
    declared = params(RunSpec)[_FIELDS[name]] if name in _FIELDS else Param(title=name)
    label = _LABELS.get(name) or dataset.unit.name_in(declared.title)
    # The labels of the main controls suffice; help marks would only fill the sidebar.
    shown_help = None if name in MAIN else declared.help or None
    common: dict[str, Any] = {"label": label, "help": shown_help}
    if name == "compare":
        return _choice("multiselect", common, protocols(), usual, _title)
    if name == "algorithm":
        return _choice("selectbox", common, protocols(), usual, _title_with_group)
    if name in ("sites", "intermediate") and (reason := _unused_because(name, values)):
        common |= {"disabled": True, "help": reason}
    if name == "delta" and st.session_state.get(name, usual) > 1 / dataset.n_samples:
        # Screen readers read a label with its markup.
        common["label"] = f"{label}, above 1/n"
    if name == "people":
        possible = (n for n in PEOPLE_PER_SITE if n * values["sites"] <= dataset.n_samples)
        return _choice("select_slider", common, (*possible, ALL_SAMPLES), usual, str)
    if declared.steps:
        # The private end is on the left.
        steps = sorted(declared.steps)
        return _choice("select_slider", common, steps, usual, declared.label or plain)
    if name == "split":
        splits = tuple(split for split in SPLITS if dataset.site_sizes or split != GIVEN)
        return _choice("selectbox", common, splits, usual, str)
    if options := (declared.offered or declared.choices):
        return _choice("selectbox", common, options, usual, declared.label or str)
    return _number_widget(name, declared, common, dataset, usual)


def _choice(
    kind: str,
    common: Mapping[str, Any],
    options: Sequence[Any],
    usual: Any,
    label: Callable[[Any], str],
) -> _Widget:
    if kind == "selectbox":
        chosen = {"index": list(options).index(usual)}
    else:
        chosen = {"value" if kind == "select_slider" else "default": usual}
    arguments = {**common, "options": list(options), "format_func": label, **chosen}
    return _Widget(kind, arguments, tuple(options))


def _number_widget(
    name: str, declared: Param, common: Mapping[str, Any], dataset: DatasetStatus, usual: Any
) -> _Widget:
    kind = kind_of(RunSpec, _FIELDS[name])
    low, high = declared.low or 0, declared.up_to or declared.high
    if name in ("components", "intermediate"):
        high = max(2, min(dataset.n_features, 100 if name == "components" else dataset.n_features))
    if name == "sites":
        high = MOST_SITES
    widget = "number_input" if declared.control == "number_input" else "slider"
    limits = {"min_value": kind(low), "max_value": kind(high), "value": kind(usual)}
    return _Widget(widget, {**common, **limits})


def _bring_into_range(name: str, widget: _Widget, usual: Any) -> None:
    """Replace a value of the session that the widget cannot take, as after another data set."""
    present = st.session_state.get(name)
    if present is None:
        return
    if widget.options:
        chosen = set(present) if isinstance(usual, list) else {present}
        if not chosen <= set(widget.options):
            st.session_state[name] = usual
        return
    low, high = widget.arguments["min_value"], widget.arguments["max_value"]
    if not low <= present <= high:
        st.session_state[name] = min(max(present, low), high)


def draw_compact(selected: Selection) -> None:
    """Draw the six main controls in the page, ε first, for screens without room for a sidebar."""
    dataset = selected.dataset
    values = defaults(dataset) | {name: selected.values[name] for name in MAIN if name != "dataset"}
    values["dataset"] = dataset.name
    for name in ("epsilon", *(name for name in MAIN if name != "epsilon")):
        key = f"compact_{name}"
        st.session_state[key] = values[name]
        if name == "dataset":
            labels = {status.name: _label_of(status) for status in numeric_datasets()}
            arguments = {
                "label": "Data set",
                "options": list(labels),
                "format_func": labels.__getitem__,
            }
            widget = _Widget("selectbox", arguments)
        else:
            widget = _widget(name, dataset, values)
        hidden = ("index", "value", "default")  # the session has the value
        arguments = {key: value for key, value in widget.arguments.items() if key not in hidden}
        draw = getattr(st, widget.kind)
        draw(key=key, on_change=_copy_compact, args=(name,), **arguments)


def _copy_compact(name: str) -> None:
    st.session_state[name] = st.session_state[f"compact_{name}"]
    if name == "dataset":
        _follow_dataset()


# ---- from values to a specification


def select(dataset: DatasetStatus, values: Mapping[str, Any]) -> Selection:
    """Build the selection from the values of all controls."""
    notes: list[str] = []
    fields = dict(values)
    algorithm, others = fields.pop("algorithm"), fields.pop("compare")
    fields["protocols"] = tuple(dict.fromkeys((algorithm, *others)))
    sites, people = fields["sites"], fields.pop("people")
    if people != ALL_SAMPLES:
        if sites * people > dataset.n_samples:
            notes.append(
                f"{sites} sites with {people:,} rows need {sites * people:,}; {dataset.title} has "
                f"{dataset.n_samples:,}. Each site gets {dataset.n_samples // sites:,}."
            )
        fields["samples"] = sites * min(people, dataset.n_samples // sites)
    fields["intermediate_dim"] = fields.pop("intermediate")
    if fields["intermediate_dim"] < fields["components"]:
        notes.append(
            f"R = {fields['intermediate_dim']} is below K = {fields['components']}: each site "
            "sends fewer directions than the result needs."
        )
    if fields["dropped_sites"] >= sites:
        notes.append(f"At most {sites - 1} of {sites} sites can drop out.")
        fields["dropped_sites"] = sites - 1
    fields["knowledge"], objection = _usable_knowledge(fields, dataset)
    notes += objection
    limits = st.session_state.get("limits", "")
    try:
        fields["limits"] = written_limits(read_limits(limits, dataset.ranges), dataset.ranges)
    except ParameterError as error:
        notes.append(f"The limits of the data set are used: {error}.")
    n_kept = count_directions(fields["knowledge"], dataset.n_features)
    fields["intermediate_dim"] = min(fields["intermediate_dim"], n_kept)
    spec = RunSpec(dataset=dataset.name, **fields)
    return Selection(spec, dataset, tuple(notes), values)


def _usable_knowledge(fields: Mapping[str, Any], dataset: DatasetStatus) -> tuple[str, list[str]]:
    name = fields["knowledge"]
    try:
        check_knowledge(name, dataset.name)
        knowledge = Knowledge.parse(name)
        is_learnt = knowledge is not None and knowledge.source != FREQUENCIES
        if knowledge is not None and is_learnt and not _status(knowledge.source).ready:
            raise ParameterError("knowledge", "a data set on this machine", name)
        n_kept, needed = count_directions(name, dataset.n_features), fields["components"]
        if n_kept < needed:
            raise ParameterError("knowledge", f"of at least K = {needed} directions", n_kept)
    except (ParameterError, DataUnavailable) as error:
        return NO_KNOWLEDGE, [f"No public knowledge is used: {error}."]
    return name, []


def protocols() -> tuple[str, ...]:
    """Return the keys of all algorithms that add noise: the documents' ones, then the others."""
    documented = (*_AT_SITES, *_CENTRAL)
    private = (key for key, entry in PROTOCOLS.items() if entry.has_sites or entry.noise)
    return tuple(dict.fromkeys((*documented, *private)))


def _title(key: str) -> str:
    return PROTOCOLS[key].title


def _title_with_group(key: str) -> str:
    if key in _AT_SITES:
        return _title(key)
    return f"{'Central' if key in _CENTRAL else 'More'}: {_title(key)}"


def _unused_because(name: str, values: Mapping[str, Any]) -> str:
    """Return why S or R has no effect on the chosen algorithm; "" if it has one."""
    entry = PROTOCOLS[values["algorithm"]]
    if not entry.has_sites:
        return f"{entry.title} runs where all rows are, so there are no sites."
    compared = st.session_state.get("compare", DEFAULTS["compare"])
    if name == "intermediate" and not any(
        PROTOCOLS[key].wants_proxies for key in (entry.key, *compared)
    ):
        return f"{entry.title} does not send R directions."
    return ""


def _usual(declared: Param, name: str) -> Any:
    return getattr(RunSpec, name) if declared.usual is None else declared.usual


DEFAULTS: dict[str, Any] = {
    "dataset": "mnist-small",
    "algorithm": "dpdis",
    "compare": ["pooled", "local"],
    "people": ALL_SAMPLES,
} | {
    address: _usual(params(RunSpec)[name], name)
    for address, name in _FIELDS.items()
    if address in ALL and address != "people"
}
DEFAULTS |= version_fields(DEFAULT_VERSION, 1)
