"""What the controls say: a frozen spec, and what is to be noted about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpcore.data import DatasetStatus, dataset_status
from dpcore.data.column_limits import read_limits, written_limits
from dpcore.errors import ParameterError
from dpcore.experiments.pca.public_knowledge import (
    FREQUENCIES,
    NO_KNOWLEDGE,
    Knowledge,
    check_knowledge,
    kept_features,
)
from dpcore.experiments.pca.spec import RunSpec
from pages.parameters.sidebar import DEFAULTS
from pages.parameters.words import EVERYBODY
from pages.widgets.plain_text import said


@dataclass(frozen=True)
class Selection:
    """What the sidebar says at this moment: a spec, and the data set it stands on.

    `notes` are sentences about settings that cost something or could not be met; `compare` asks
    for the published choices beside the chosen ones.
    """

    spec: RunSpec
    dataset: DatasetStatus
    notes: tuple[str, ...]
    compare: bool = False


def selected(dataset: DatasetStatus, values: Mapping[str, Any]) -> Selection:
    """The selection that the values of all shared controls make."""
    notes = []
    fields = dict(values)
    sites, people = fields["sites"], fields.pop("people")
    if people != EVERYBODY:
        if sites * people > dataset.n_samples:
            notes.append(
                f"{sites} sites × {people:,} people need {sites * people:,}, and {dataset.title} "
                f"has {dataset.n_samples:,}: each site gets {dataset.n_samples // sites:,}."
            )
        fields["samples"] = sites * min(people, dataset.n_samples // sites)
    fields["intermediate_dim"] = fields.pop("intermediate")
    if fields["intermediate_dim"] < fields["components"]:
        notes.append(
            f"R = {fields['intermediate_dim']} is below K = {fields['components']}: each site "
            "sends fewer directions than are wanted, and only different sites can make up for it."
        )
    if fields["dropped_sites"] >= sites:
        notes.append(f"Of {sites} sites at most {sites - 1} can drop out: somebody has to answer.")
        fields["dropped_sites"] = sites - 1
    fields["knowledge"], objection = _usable_knowledge(fields, dataset)
    notes += objection
    try:
        limits = read_limits(fields["limits"], dataset.ranges)
        fields["limits"] = written_limits(limits, dataset.ranges)
    except ParameterError as error:
        notes.append(f"The catalogue's own limits of columns are used: {said(error)}.")
        fields["limits"] = ""
    fields["protocols"] = tuple(fields["protocols"])
    if not fields["protocols"]:
        fields["protocols"] = ("dpdis",)
        notes.append("No protocol is picked: showing DPdisPCA.")
    left = kept_features(fields["knowledge"], dataset.n_features)
    fields["intermediate_dim"] = min(fields["intermediate_dim"], left)
    compare = fields.pop("compare")
    return Selection(RunSpec(dataset=dataset.name, **fields), dataset, tuple(notes), compare)


def _usable_knowledge(fields: Mapping[str, Any], dataset: DatasetStatus) -> tuple[str, list[str]]:
    """The public subspace asked for, or none and why."""
    asked = fields["knowledge"]
    try:
        check_knowledge(asked, dataset.name)
        knowledge = Knowledge.parse(asked)
        is_data_set = knowledge is not None and knowledge.source != FREQUENCIES
        if is_data_set and not dataset_status(asked.partition(":")[0]).ready:
            raise ParameterError("knowledge", "of a data set on this machine", asked)
        left, needed = kept_features(asked, dataset.n_features), fields["components"]
        if left < needed:
            raise ParameterError("knowledge", f"of at least K = {needed} directions", left)
    except ParameterError as error:
        return NO_KNOWLEDGE, [f"No public knowledge is used: {error}."]
    return asked, []


def defaults_for(dataset: DatasetStatus) -> dict[str, Any]:
    """Every control's default; K and R depend on the data set."""
    components = n_components_of(None, dataset)
    return DEFAULTS | {
        "components": components,
        "intermediate": min(2 * components, dataset.n_features),
    }


def n_components_of(asked: int | None, dataset: DatasetStatus) -> int:
    """K of a spec: what it asks for, or else the data set's own.

    Raises `ParameterError` if the data set has none, which is then nothing to do PCA on.
    """
    n_components = asked or dataset.default_components
    if n_components is None:
        raise ParameterError("dataset", "a table of numbers", dataset.name)
    return n_components
