"""Rows rebuilt from components, as they were measured, and eigenvalues against the noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.data import DatasetStatus, Prepared
from dpcore.data.catalog import CATALOG
from dpcore.experiments.pca.problem import Problem
from dpcore.experiments.pca.public_knowledge import FREQUENCIES, knowledge_cost, sources_for
from dpcore.experiments.pca.sentences import percent
from dpcore.experiments.pca.spec import RunSpec
from dpcore.experiments.teaching.one_person import rebuild
from dpcore.figures.components.charts import scree
from dpcore.figures.components.images import picture_strip
from dpcore.figures.tradeoffs.frontier import knowledge_cost_curves
from dpcore.pca import Subspace
from dpcore.pca.noise_field import noise_edge
from dpcore.pca.protocols.entry import Where
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import sites_that_answer
from dpcore.streams import Repetition
from pages.parameters.table import ask
from pages.server import result_cache
from pages.sidebar.selection import n_components_of
from pages.widgets.charts import chart, is_dark

_MOST_EIGENVALUES = 60


def rebuilt_rows(
    spec: RunSpec,
    found: Mapping[float, Subspace],
    problem: Problem,
    dataset: DatasetStatus,
    say: Callable[[float], str],
) -> None:
    """One person, rebuilt from exact and private components, with the error of each."""
    left, right = st.columns(2)
    n_components = n_components_of(spec.components, dataset)
    person = ask("person", left, max_value=dataset.n_samples - 1)
    k = 1
    if n_components > 1:
        k = ask("rebuilt_from", right, max_value=n_components, value=n_components)
    original, row = _row_of(spec, person)
    rebuilt = {"exact": rebuild(row, problem.exact_components, k)} | {
        f"ε = {say(epsilon)}": rebuild(row, subspace.components, k)
        for epsilon, subspace in found.items()
    }
    errors = {title: error for title, (_, error) in rebuilt.items()}
    st.markdown(
        f"Missing from {k} components: "
        + ", ".join(
            f"**{percent(error)}** {'with exact ones' if title == 'exact' else f'at {title}'}"
            for title, error in errors.items()
        )
        + "."
    )
    if dataset.image_shape is None:
        return
    shown = [original, *(as_measured(spec, rebuilt_row) for rebuilt_row, _ in rebuilt.values())]
    st.image(
        picture_strip(np.array(shown) / original.max(), dataset.image_shape),
        alt=f"Person {person}, then rebuilt from {k} components: {', '.join(rebuilt)}.",
    )
    st.caption("The person, then rebuilt from components: " + ", ".join(rebuilt) + ".")


def knowledge_of(spec: RunSpec, problem: Problem, dataset: DatasetStatus) -> None:
    """What public subspaces would leave of the exact components' energy."""
    k, dark = n_components_of(spec.components, dataset), is_dark()
    titles = {
        source: "Lowest frequencies" if source == FREQUENCIES else CATALOG[source].title
        for source in sources_for(spec.dataset)
    }

    def build() -> go.Figure:
        rows = knowledge_cost(problem, spec.dataset, k)
        return knowledge_cost_curves(rows, titles, dark=dark)

    key = ("knowledge", spec.problem_key(), k, tuple(titles), dark)
    chart(
        result_cache.shown(key, build),
        key="knowledge_cost",
        alt="Energy of the exact optimum within public subspaces against their share.",
    )
    st.caption(
        "No noise here: what a subspace leaves out is lost at every ε, and what it leaves gets "
        "noise in fewer dimensions. Choose one under Advanced, Public knowledge."
    )


def scree_of(
    specs: Mapping[float, RunSpec], method: str, problem: Problem, say: Callable[[float], str]
) -> None:
    """Scree plot of the exact and the private eigenvalues of each asked ε."""
    count = min(problem.moments.n_features, _MOST_EIGENVALUES)
    private = {}
    for epsilon, spec in specs.items():
        wide = replace(
            spec, components=count, intermediate_dim=max(count, spec.intermediate_dim or 1)
        )
        subspace = result_cache.subspaces(wide)[method]
        private[f"ε = {say(epsilon)}"] = subspace.eigenvalues
    strictest = specs[min(specs)]
    weights: FloatArray = np.ones(1)
    if PROTOCOLS[method].where is Where.EVERY_SITE:
        settings = wide.settings(problem.n_features, problem.default_components)
        there = sites_that_answer(settings, spec.sites, Repetition(spec.seed))
        weights = problem.moments.at(there).weights
    edge = noise_edge(
        subspace.sigma,
        weights,
        problem.moments.n_features,
        noise="wishart" if method == "wishart" else strictest.noise,
    )
    figure: go.Figure = scree(
        result_cache.shown(
            ("before noise", strictest.problem_key()), problem.eigenvalues_before_noise
        )[:count],
        private,
        edge,
        protocol=method,
        dark=is_dark(),
    )
    chart(
        figure,
        key="scree",
        alt=f"Exact and private eigenvalues by rank; noise alone reaches {edge:.2g}.",
    )
    st.caption(
        "All of one matrix, the one that noise was added to"
        + (", with every row at length one. " if strictest.preparation == "sphere" else ". ")
        + f"Shaded: what noise alone gives at ε = {say(min(specs))}, out to the edge of its "
        "spectrum. Eigenvalues inside it say nothing about the data."
    )


def _row_of(spec: RunSpec, index: int) -> tuple[np.ndarray, np.ndarray]:
    """One person's row as measured, and as the algorithms see it once centred."""
    data = _data_of(spec)
    row = np.asarray(data.X[index], dtype=float)
    return row * data.scale + data.mean, row - _centre(spec)


def as_measured(spec: RunSpec, row: np.ndarray) -> np.ndarray:
    """A centred row back in the units it was measured in."""
    data = _data_of(spec)
    measured: np.ndarray = (row + _centre(spec)) * data.scale + data.mean
    return measured


def centred(spec: RunSpec, measured: np.ndarray) -> np.ndarray:
    """A row in the units it was measured in, as the algorithms see it once centred."""
    data = _data_of(spec)
    row: np.ndarray = (measured - data.mean) / data.scale - _centre(spec)
    return row


def _data_of(spec: RunSpec) -> Prepared:
    return result_cache.prepared(*spec.problem_key().data)


def _centre(spec: RunSpec) -> np.ndarray:
    return result_cache.problem(spec.problem_key()).centre
