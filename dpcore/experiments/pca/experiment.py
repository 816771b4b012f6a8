"""PCA as a family of the engine: what a sweep of `RunSpec` may vary, cannot run, and takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Experiment
from dpcore.experiments.pca.problem import Problem, local_problem
from dpcore.experiments.pca.public_knowledge import kept_features
from dpcore.experiments.pca.runs import PcaRow, run_repetitions
from dpcore.experiments.pca.spec import ProblemKey, RunSpec
from dpcore.pca.messages import check_encoding
from dpcore.pca.protocols.register import protocol

# R is at most the number of features, and that in the thousands.
_LARGEST_RATIO = 100_000
# Seconds, measured on one core of 2.8 GHz from digits (D = 64) to MNIST (D = 784), within a factor
# of two: what a draw takes at each site, and what moments take for each person.
_A_DRAW, _A_DRAW_OF_SQUARED_FEATURES = 5e-4, 4.5e-8
_A_MOMENT_OF_SQUARED_FEATURES = 3e-11


def check_feasible(spec: RunSpec) -> None:
    """Refuse, without reading any data, a spec that its data set cannot serve.

    Raises `ParameterError`: saying what is wrong with which parameter.
    """
    status = dataset_status(spec.dataset)
    if spec.samples is not None and spec.samples > status.n_samples:
        here = " in the part that is here" if status.is_part else ""
        most = f"at most the {status.n_samples:,} people of {spec.dataset}{here}"
        raise ParameterError("samples", most, spec.samples)
    settings = spec.settings(status.n_features, status.default_components)
    entries = [protocol(key) for key in spec.protocols]
    for entry in entries:
        for whole in (False,) * entry.wants_proxies + (True,) * entry.wants_average:
            check_encoding(spec.encoding, whole=whole)
    n_samples = status.n_samples if spec.samples is None else spec.samples
    if n_samples < 2 * spec.sites:
        raise ParameterError("sites", f"at most half the {n_samples:,} people", spec.sites)
    fewest, more = divmod(n_samples, spec.sites)
    sites = [fewest + 1] * more + [fewest] * (spec.sites - more)
    n_features = kept_features(spec.knowledge, status.n_features)
    for entry in entries:
        entry.promise(settings, sites, n_features)


def _with_values(base: RunSpec, values: dict[str, Any]) -> RunSpec:
    """Fields that a person thinks in, R = ratio K and N = people S, come after the others."""
    ratio = values.pop("intermediate_ratio", None)
    people = values.pop("people_per_site", None)
    if people is not None:
        values["samples"] = people * values.get("sites", base.sites)
    if ratio is not None:
        if not 0 < ratio <= _LARGEST_RATIO:
            constraint = f"greater than 0 and at most {_LARGEST_RATIO:,}"
            raise ParameterError("intermediate_ratio", constraint, ratio)
        components = values.get("components", base.components)
        if components is None:
            dataset = values.get("dataset", base.dataset)
            components = dataset_status(dataset).default_components
            if components is None:
                raise ParameterError("components", f"given for {dataset}", None)
        values["intermediate_dim"] = round(ratio * components)
    return replace(base, **values)


def _draw_seconds(spec: RunSpec) -> float:
    features = kept_features(spec.knowledge, dataset_status(spec.dataset).n_features)
    at_a_site = _A_DRAW + _A_DRAW_OF_SQUARED_FEATURES * features**2
    # Every site decomposes its own matrix where it sends proxies; elsewhere it adds noise alone.
    sites = sum(
        spec.sites if protocol(key).wants_proxies else 1 + spec.sites / 12 for key in spec.protocols
    )
    return sites * at_a_site


def _problem_seconds(key: ProblemKey) -> float:
    status = dataset_status(key.dataset)
    people = status.n_samples if key.samples is None else key.samples
    return _A_MOMENT_OF_SQUARED_FEATURES * people * status.n_features**2


PCA: Experiment[RunSpec, ProblemKey, Problem] = Experiment(
    row=PcaRow,
    outline=lambda spec: [{"protocol": key} for key in dict.fromkeys(spec.protocols)],
    run=run_repetitions,
    problem_key=RunSpec.problem_key,
    problem=local_problem,
    dataset=lambda spec: spec.dataset,
    data_of=lambda key: key.data,
    check=check_feasible,
    after_draw=("components", "intermediate_dim", "truncation", "encoding", "denoise"),
    derived_fields=("intermediate_ratio", "people_per_site"),
    with_values=_with_values,
    draw_seconds=_draw_seconds,
    problem_seconds=_problem_seconds,
)
VARIABLE_FIELDS = PCA.variable_fields(RunSpec())
