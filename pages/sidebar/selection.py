"""What the controls say: a frozen spec, what is to be noted about it, and the address of it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from dpcore.data import DatasetStatus
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca.protocols.register import PROTOCOLS

EVERYBODY = "all"
DEFAULTS: dict[str, object] = {
    "dataset": "digits",
    "protocols": ["dpdis", "full", "local", "pooled"],
    "epsilon": 1.0,
    "delta": 1e-2,
    "sites": 5,
    "people": EVERYBODY,
    "calibration": "analytic",
    "noise": "isometric",
    "truncation": "psd",
    "preparation": "published",
    "split": "equal",
    "concentration": 1.0,
    "masks": "published",
    "dropped_sites": 0,
    "repetitions": 10,
    "seed": 0,
    "compare": False,
}


@dataclass(frozen=True)
class Choice:
    """What the sidebar says at this moment: a spec, and the data set it stands on.

    `notes` are sentences about settings that cost something or could not be met; `compare` asks
    for the published choices beside the chosen ones; `query` restores every control.
    """

    spec: RunSpec
    dataset: DatasetStatus
    notes: tuple[str, ...]
    compare: bool = False
    query: str = ""


def as_choice(dataset: DatasetStatus, values: dict[str, object]) -> Choice:
    """The choice that the values of all shared controls make."""
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
    if not fields["protocols"]:
        fields["protocols"] = ("dpdis",)
        notes.append("No protocol is picked: showing DPdisPCA.")
    compare = fields.pop("compare")
    return Choice(RunSpec(dataset=dataset.name, **fields), dataset, tuple(notes), compare)


def query_of(dataset: DatasetStatus, values: dict[str, object]) -> str:
    """The part of the address that restores these controls; defaults are left out."""
    defaults = defaults_for(dataset)
    pairs: list[tuple[str, str]] = []
    if dataset.name != defaults["dataset"]:
        pairs.append(("dataset", dataset.name))
    for name, value in values.items():
        if name == "protocols":
            if list(value) != defaults[name]:
                pairs.extend((name, PROTOCOLS[key].title) for key in value)
        elif value != defaults[name]:
            pairs.append((name, _in_address(value)))
    return urlencode(pairs)


def _in_address(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return plain(value) if isinstance(value, float) else str(value)


def defaults_for(dataset: DatasetStatus) -> dict[str, object]:
    """Every control's default; K and R depend on the data set."""
    return DEFAULTS | {
        "components": dataset.default_components,
        "intermediate": min(2 * dataset.default_components, dataset.n_features),
    }


def plain(number: float) -> str:
    """A number as people write it: no exponent, no trailing zeros."""
    return f"{number:,.10f}".rstrip("0").rstrip(".")
