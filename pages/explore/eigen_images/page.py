"""Eigen-images: the components from no noise down to strict privacy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.data import DatasetStatus, Prepared
from dpcore.data.loading import CATALOG
from dpcore.experiments.export import recipe_of
from dpcore.experiments.knowledge import FREQUENCIES, sources_for
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.problem import Problem, knowledge_cost
from dpcore.experiments.summaries import counted, percent
from dpcore.figures.components import picture_strip, scree
from dpcore.figures.energy import knowledge_cost_curves
from dpcore.params import EPSILONS
from dpcore.pca import Subspace
from dpcore.pca.assessment import noise_edge
from dpcore.pca.protocols.protocol import Where
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import sites_that_answer
from dpcore.streams import Repetition
from dpcore.teaching.adversary_test import rebuild
from pages.learn.classroom.page import own_digit
from pages.server import caches, turns
from pages.server.caches import Frame, Pictures
from pages.server.turns import compute_for
from pages.shell.controls import Selection, n_components_of
from pages.shell.fragments import in_browser, part
from pages.shell.page import page
from pages.shell.parameters import ask, plain
from pages.shell.parameters import or_infinity as say
from pages.widgets import charts, session_ledger
from pages.widgets.charts import MOST_SHOWN, chart, is_dark, take_away
from pages.widgets.energy_explorer.component import along_epsilon, control
from pages.widgets.guarantee_card import guarantee_tabs
from pages.widgets.notices import big_number, not_private

# Rows rebuilt from components, as they were measured, and eigenvalues against the noise.

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
    one = dataset.unit.one
    person = ask("person", left, label=one.capitalize(), max_value=dataset.n_samples - 1)
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
        alt=f"{one.capitalize()} {person}, then rebuilt from {k} components: {', '.join(rebuilt)}.",
    )
    st.caption(f"The {one}, then rebuilt from components: " + ", ".join(rebuilt) + ".")


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
        caches.shown(key, build),
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
        subspace = caches.subspaces(wide)[method]
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
        noise=PROTOCOLS[method].shape or strictest.noise,
    )
    figure: go.Figure = scree(
        caches.shown(("before noise", strictest.problem_key()), problem.eigenvalues_before_noise)[
            :count
        ],
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
        + (", with every row at length one. " if strictest.on_sphere else ". ")
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
    return caches.prepared(*spec.problem_key().data)


def _centre(spec: RunSpec) -> np.ndarray:
    return caches.problem_of(spec.problem_key()).centre


# What the rows of eigen-images come to: the answer in words, ε falling, what one takes away.

_HERE = Path(__file__).parent
_CONTROL = _HERE.parents[1] / "widgets" / "energy_explorer"
_SLICE_SECONDS, _TICK_SECONDS = 0.2, 0.4
_falling = in_browser("falling", *_CONTROL.glob("control.*"), *_HERE.glob("falling.*"))


def headline(
    spec: RunSpec, method: str, found: Mapping[float, Subspace], exact: FloatArray
) -> None:
    """What is kept on average at the strictest ε, as every page says it, and in the draw shown."""
    kept = [row["energy_ratio"] for row in caches.rows(spec)]
    words = big_number(
        percent(fmean(kept)),
        f"of the pattern survives with **{PROTOCOLS[method].title}** at "
        f"**ε\u00a0=\u00a0{say(spec.epsilon)}**.",
        f"The mean of {counted(len(kept), 'run')}; in the one shown {percent(kept[0])} survives.",
    )
    of_epsilon = {f"ε = {say(epsilon)}": each.components for epsilon, each in found.items()}
    words.markdown(charts.recognisable(of_epsilon, exact))


def watch_it_fall(spec: RunSpec, dataset: DatasetStatus) -> None:
    """The pictures at every ε, under a slider that waits for nobody; Play lets ε fall."""
    if dataset.image_shape is None:
        return
    st.markdown("## Watch ε fall")
    if session_ledger.curves(dataset.name):
        _falling_images(spec, dataset)
        st.caption("Each step is a run of its own, computed before it is moved.")


def drawn(spec: RunSpec, private: Mapping[str, FloatArray], exact: FloatArray) -> None:
    """A digit that the visitor draws, rebuilt from exact and private components."""
    n_components = min(map(len, private.values()), default=MOST_SHOWN)
    st.markdown("## Draw your own digit")
    part("own_digit", own_digit)(
        "eigen_pad",
        {"exact ones": exact[:n_components]} | dict(private),
        as_row=partial(centred, spec),
        as_picture=partial(as_measured, spec),
    )


def carry_off(spec: RunSpec, found: Mapping[float, Subspace], exact: FloatArray) -> None:
    """Cosines and eigenvalues of every row, and the run at the strictest ε."""
    rows = [
        {"epsilon": epsilon, "component": k + 1, "cosine": cosine, "eigenvalue": eigenvalue}
        for epsilon, subspace in found.items()
        for k, (cosine, eigenvalue) in enumerate(
            zip(_cosines(subspace, exact).tolist(), subspace.eigenvalues.tolist(), strict=False)
        )
    ]
    take_away(
        "eigen-images", rows, script=recipe_of(spec).script, notebook=recipe_of(spec).notebook
    )


def _cosines(subspace: Subspace, exact: FloatArray) -> FloatArray:
    components = subspace.components
    cosines: FloatArray = np.abs(np.einsum("kd,kd->k", components, exact[: len(components)]))
    return cosines


def _falling_images(spec: RunSpec, dataset: DatasetStatus) -> None:
    """The slider and the pictures of a spec's first protocol, of one draw; filled as they come."""
    specs = along_epsilon(spec)
    unfinished = bool(caches.finished(specs, dataset)[1])
    every = turns.unhurried(_TICK_SECONDS) if unfinished else None
    st.fragment(_fill, run_every=every)(spec, specs, dataset, unfinished)


def _fill(
    spec: RunSpec, specs: tuple[RunSpec, ...], dataset: DatasetStatus, was_unfinished: bool
) -> None:
    frames, missing = caches.finished(specs, dataset)
    if missing:
        compute_for(missing, lambda item: item(), _SLICE_SECONDS)
        frames, missing = caches.finished(specs, dataset)
    title = PROTOCOLS[spec.protocols[0]].title
    exact = _picture(caches.exact_pictures(spec, dataset), "Exact PCA")
    count = f"{len(frames)} of {len(specs)} steps of ε so far." if missing else ""
    steps = [_frame(frame, title) for frame in frames]
    _falling(key="falling", data=control(spec) | {"exact": exact, "frames": steps, "count": count})
    if was_unfinished and not missing:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()


def _frame(frame: Frame, title: str) -> dict[str, Any]:
    epsilon, kept = frame.spec.epsilon, percent(frame.rows[0]["energy_ratio"])
    told = f"{title} at ε = {plain(epsilon)}: {kept} survives in this run. Above, exact PCA."
    cosines = [f"{cosine:.2f}" for cosine in frame.pictures.cosines]
    drawn = {"epsilon": epsilon, "told": told, "kept": kept, "cosines": cosines}
    return drawn | _picture(frame.pictures, told)


def _picture(pictures: Pictures, alt: str) -> dict[str, str]:
    return {"sprite": pictures.sprite, "alt": f"{alt} The components as pictures."}


@page(reads=True, ledger=True)
def show_eigen_images(selection: Selection) -> None:
    """Eigen-images: the components from no noise down to strict privacy."""
    dataset = selection.dataset
    answer = st.container(key="answer_of_eigen_images")
    # The controls follow the answer; with pills, what has no room in a line begins another.
    controls = st.container(border=True, key="asked_of_eigen")
    method = ask("method", controls)
    epsilons = ask("epsilons", controls)

    specs = {
        epsilon: replace(selection.spec, protocols=(method,), epsilon=epsilon)
        for epsilon in sorted(epsilons, reverse=True)
    }
    problem = caches.problem_of(selection.spec.problem_key())
    for epsilon, spec in specs.items():
        # On top is the mean of all draws at the strictest.
        draws = spec.repetitions if epsilon == min(specs) else 1
        session_ledger.charge_run(spec, draws, what=("components", "eigenvalues"))
    found = {epsilon: caches.subspaces(spec)[method] for epsilon, spec in specs.items()}
    if specs:
        strictest = min(specs)
        with answer:
            headline(specs[strictest], method, found, problem.exact_components)
    rows = {f"ε = {say(epsilon)}": subspace.components for epsilon, subspace in found.items()}
    n_components = n_components_of(selection.spec.components, dataset)
    with st.container(key="pictures_of_eigen"):
        charts.component_rows(
            {"Exact PCA": problem.exact_components[:n_components]} | rows,
            problem.exact_components,
            dataset,
            caches.feature_names(selection.spec),
            protocol=method,
        )
    of_all = f"The first {MOST_SHOWN} of {n_components} components. " * (n_components > MOST_SHOWN)
    st.caption(
        f"{of_all}Under each picture, its |cosine| to the exact one. One run; the number on "
        "top is the mean of all."
    )

    # Play starts where most is to be seen.
    most = max((epsilon for epsilon in specs if epsilon in EPSILONS), default=EPSILONS[-1])
    watch_it_fall(
        replace(selection.spec, protocols=(method,), epsilon=most, repetitions=1), dataset
    )

    st.markdown("## Rebuild a row from the first k components")
    rebuilt_rows(selection.spec, found, problem, dataset, say)
    not_private(f"The {dataset.unit.one} shown and the exact rows", "are the data themselves.")
    if dataset.name == "digits":
        drawn(selection.spec, rows, problem.exact_components)

    if dataset.image_shape is not None:
        st.markdown("## How far would patterns known in advance get us?")
        knowledge_of(selection.spec, problem, dataset)
        not_private("These curves", "are measured on the data themselves.")

    if found:
        st.markdown("## Eigenvalues against the edge of pure noise")
        scree_of(specs, method, problem, say)
        st.markdown("## What it promises")
        guarantee_tabs(
            {f"ε = {say(epsilon)}": subspace.guarantee for epsilon, subspace in found.items()},
            reads_rows_first=selection.spec.reads_rows_first,
            key="eigen_promises",
        )
        carry_off(specs[strictest], found, problem.exact_components)
