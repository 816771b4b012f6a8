"""Algorithms compared: SuLQ, MOD-SuLQ, Analyze Gauss, PPCA and Wishart on pooled rows."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments import central
from dpcore.experiments.central import (
    PURE,
    VARIANTS,
    Batch,
    CentralSpec,
    central_spec,
    nearest_basis,
)
from dpcore.experiments.central.chain_traces import (
    MAX_R_HAT,
    MIN_ESS,
    WatchedChains,
    running_diagnostics,
    watch,
)
from dpcore.experiments.central.sample_sizes import (
    DIMENSIONS,
    MECHANISMS,
    ComplexitySpec,
    bounds,
    growth,
)
from dpcore.experiments.engine.fields import ProblemKey
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.summaries import percent
from dpcore.experiments.engine.sweep import Points
from dpcore.experiments.pca.problem import Problem
from dpcore.figures.central import energy_traces, people_needed, running_diagnostic, variant_dots
from dpcore.figures.energy import energy_curves
from dpcore.figures.images import component_strip
from dpcore.params import EPSILONS, params
from dpcore.pca import Subspace
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.guarantee_in_words import say_number
from pages import cached, navigation, sweeps
from pages.components import charts, downloads, ledger, notices
from pages.number_format import plain
from pages.sidebar import Selection
from pages.sweeps import RowsOfSweeps

CONTROLS = (
    "dataset", "epsilon", "delta", "components", "repetitions", "seed", "calibration", "noise",
    "denoise", "preparation",
)  # fmt: skip
_VIEWS = (
    "Every run", "Along ε", "Along samples", "Components", "Guarantees", "Samples needed",
    "Inside the sampler",
)  # fmt: skip
_CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if 0.01 <= epsilon <= 20)
_SAMPLES = tuple(step * 10**power for power in range(1, 6) for step in (1, 2, 5))
_MAX_SAMPLE_VALUES, _LEAST_SAMPLES = 9, 50
# Chains of many coordinates take seconds a draw; four are the fewest that can be diagnosed.
_LARGE, _FEW_DRAWS = 10_000, 4
_N_PICTURED = 5
_SWEEPS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
_CHAINS = (4, 8, 16)
_R_HATS = (1, 1.2, 1.5, 2, 3, 5, 10)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)


def show(selection: Selection) -> None:
    """Draw the page."""
    notices.show_notes(selection.notes)
    notices.require_dataset(selection.dataset)
    st.title("Algorithms compared")
    navigation.link_to_parts("compare")
    spec = replace(central_spec(selection.spec), samples=None)
    variants = feasible_variants(spec, selection.dataset)
    rows = [row for each in variants.values() for row in _rows(each)]
    ledger.charge_rows(rows)
    st.markdown(summarize(rows, spec))
    draw: tuple[Callable[[], None], ...] = (
        lambda: _draw_runs(rows),
        lambda: _draw_along_epsilon(spec, selection.dataset),
        lambda: _draw_along_samples(spec, selection.dataset),
        lambda: _draw_components(spec, selection.dataset, variants),
        lambda: _draw_guarantees(variants),
        lambda: _draw_samples_needed(selection),
        lambda: _draw_sampler(spec, selection.dataset),
    )
    view = st.selectbox("View", _VIEWS, key="compare_tab", width=240)
    draw[_VIEWS.index(view)]()
    notices.mark_not_private("Exact PCA, captured energies", "")
    downloads.offer_downloads("compare", rows)
    notices.explain_computation("central")


# ---- cached computations


@cached.cached(4, megabytes=64, message="Reading the data set")
def _problem(key: ProblemKey) -> Problem:
    return central.central_problem(key, cached.problems.prepared(*key.data))


@cached.cached(36, message="Running the algorithms")
def _batch(spec: CentralSpec) -> Batch:
    """Return the rows of all runs, and the first subspace."""
    found = central.run_batch(spec, _problem(spec.problem_key()))
    return replace(found, subspaces=found.subspaces[:1])


@cached.cached(24, message="Running the chains")
def _chains(spec: CentralSpec, n_chains: int, n_sweeps: int | None) -> WatchedChains:
    """Return chains of a fixed number of sweeps, or until the diagnostics pass."""
    problem = _problem(spec.problem_key())
    return watch(spec, problem, n_chains=n_chains, n_sweeps=n_sweeps)


def _rows(spec: CentralSpec) -> Sequence[Row]:
    _problem(spec.problem_key())
    return central.central_rows(spec, _batch(spec))


# ---- which algorithms


def feasible_variants(spec: CentralSpec, dataset: DatasetStatus) -> dict[str, CentralSpec]:
    """Return the specification of each algorithm that can run with these settings."""
    n_components = spec.components or dataset.default_components or 1
    is_large = n_components * dataset.n_features > _LARGE
    few = replace(spec, repetitions=min(spec.repetitions, _FEW_DRAWS))
    keys = (*PURE, f"ag-{spec.calibration}-{spec.noise}", "modsulq", "sulq")
    specs = [VARIANTS[key].of(few if is_large and key == "ppca" else spec) for key in keys]
    cells = Points(tuple(specs)).cells()
    return {key: cell.spec for key, cell in zip(keys, cells, strict=True) if cell.spec}


def summarize(rows: Sequence[Row], spec: CentralSpec) -> str:
    """Return the captured energy of each algorithm, and how the runs differ from Explore's."""
    means = {
        key: fmean(row["energy_ratio"] for row in rows if row["variant"] == key)
        for key in dict.fromkeys(row["variant"] for row in rows)
    }
    best = max(means, key=means.__getitem__)
    kind = f"pure ε = {plain(spec.epsilon)}"
    pure = [key for key in means if key in PURE]
    best_pure = max(pure, key=means.__getitem__)
    sentence = f"**{_title(best_pure)}** captures **{percent(means[best_pure])}** at {kind}"
    if best != best_pure:
        sentence += (
            f"; **{_title(best)}** captures **{percent(means[best])}** with δ = {plain(spec.delta)}"
        )
    centring = (
        "Rows are centred and scaled as published, as on Explore."
        if spec.reads_rows_first
        else "Unlike Explore, directions are around zero, because these algorithms release no mean."
    )
    return f"{sentence}. {centring}"


def _title(variant: str) -> str:
    return PROTOCOLS[VARIANTS[variant].protocol].title


# ---- views


def _draw_runs(rows: Sequence[Row]) -> None:
    ordered = [row for key in VARIANTS for row in rows if row["variant"] == key]
    charts.show_figure(
        variant_dots(ordered, dark=charts.is_dark()),
        key="compare_runs",
        alt="Captured energy of each algorithm, one dot per run.",
    )


def _draw_along_epsilon(spec: CentralSpec, dataset: DatasetStatus) -> None:
    specs = [replace(spec, epsilon=epsilon) for epsilon in _CURVE_EPSILONS]
    ends = (_CURVE_EPSILONS[0], _CURVE_EPSILONS[-1])
    _draw_curves(specs, dataset, "epsilon", "ε", ends)


def _draw_along_samples(spec: CentralSpec, dataset: DatasetStatus) -> None:
    most = dataset.n_samples
    values = [n for n in _SAMPLES if _LEAST_SAMPLES <= n < most][-_MAX_SAMPLE_VALUES:]
    specs = [replace(spec, samples=n) for n in values] + [replace(spec, samples=None)]
    _draw_curves(specs, dataset, "samples", dataset.unit.many, (values[0], most))


def _draw_curves(
    specs: Sequence[CentralSpec],
    dataset: DatasetStatus,
    field: str,
    axis: str,
    ends: tuple[float, float],
) -> None:
    if not ledger.may_show_curves(dataset.name):
        return
    points = [feasible_variants(spec, dataset) for spec in specs]
    # PPCA takes longer than the others, so its points come last.
    quick = [spec for point in points for key, spec in point.items() if key != "ppca"]
    slow = [point["ppca"] for point in points if "ppca" in point]

    def draw(found: RowsOfSweeps) -> None:
        rows = [row for each in found for row in each]
        with st.container(height=440, border=False):
            if rows:
                figure = energy_curves(
                    rows, field, axis_title=axis, axis_range=ends, dark=charts.is_dark()
                )
                alt = f"Captured energy of each algorithm along {axis}."
                charts.show_figure(figure, key=f"compare_{field}", alt=alt)

    sweeps.watch((Points(tuple(quick)), Points(tuple(slow))), draw)


def _draw_components(
    spec: CentralSpec, dataset: DatasetStatus, variants: dict[str, CentralSpec]
) -> None:
    exact = _problem(spec.problem_key()).exact_components
    count = min(spec.components or dataset.default_components or 1, _N_PICTURED)
    components_by_title = {"Exact PCA": exact[:count]}
    for key, each in variants.items():
        components = _batch(each).subspaces[0].components
        # PPCA releases a subspace: its basis is rotated to the exact components.
        turned = nearest_basis(components, exact) if key == "ppca" else components
        components_by_title[_title(key)] = turned[:count]
    if dataset.image_shape is None:
        names = _problem(spec.problem_key()).about.feature_names
        st.dataframe(
            [
                {"Algorithm": title, "Component 1": _strongest(found[0], names)}
                for title, found in components_by_title.items()
            ],
            hide_index=True,
        )
        return
    for title, found in components_by_title.items():
        png = component_strip(found, dataset.image_shape, tile_pixels=56, dark=charts.is_dark())
        st.html(
            '<div style="display:flex;gap:1rem;align-items:center">'
            f'<span style="width:9rem">{title}</span>'
            f'<img alt="First {count} components of {title}" '
            f'src="data:image/png;base64,{b64encode(png).decode()}"></div>'
        )
    st.caption("PPCA releases a subspace; its basis is rotated towards the exact components.")


def _strongest(component: Sequence[float], names: Sequence[str]) -> str:
    order = sorted(range(len(names)), key=lambda column: -abs(component[column]))
    return ", ".join(f"{names[column]} {component[column]:+.2f}" for column in order[:4])


def _draw_guarantees(variants: dict[str, CentralSpec]) -> None:
    found = {key: _batch(each).subspaces[0] for key, each in variants.items()}
    st.dataframe([_guarantee_row(key, each) for key, each in found.items()], hide_index=True)
    if "ppca" in found:
        _draw_chain_state(found["ppca"])


def _guarantee_row(key: str, subspace: Subspace) -> dict[str, str]:
    guarantee = subspace.guarantee
    return {
        "Algorithm": VARIANTS[key].label,
        "Kind": str(PROTOCOLS[VARIANTS[key].protocol].kind),
        "Exact ε": say_number(guarantee.epsilon),
        "δ": plain(guarantee.delta) if guarantee.delta else "0",
        "Noise σ": f"{guarantee.sigma:.2g}" if guarantee.sigma else "–",
        "Assumptions": "; ".join(guarantee.assumptions),
    }


def _draw_chain_state(subspace: Subspace) -> None:
    """Write whether the chains of PPCA converged."""
    state = subspace.diagnostics
    if state.get("method") != "rotation":
        st.markdown(":green-badge[exact draw] One component is drawn exactly, without chains.")
        return
    numbers = (
        f"{state['chains']} chains of {state['sweeps']:,} sweeps, split R-hat "
        f"{state['r_hat']:.3f}, effective sample size "
        f"{min(state['ess_bulk'], state['ess_tail']):,.0f}"
    )
    badge = ":green-badge[converged]" if state["converged"] else ":red-badge[not converged, ε = ∞]"
    st.markdown(f"{badge} PPCA: {numbers}. These numbers are computed from the rows.")


# ---- samples needed


def _draw_samples_needed(selection: Selection) -> None:
    """Draw the samples that the first component needs, by dimension."""
    left, right = st.columns(2)
    correlation = _complexity_control(left, "correlation")
    gap = _complexity_control(right, "gap")
    shared = selection.spec
    spec = ComplexitySpec(
        epsilon=shared.epsilon, delta=shared.delta, gap=gap, correlation=correlation
    )
    sweeps.watch((spec.sweep(),), partial(_draw_complexity, spec))
    st.caption("The spectrum is given and no rows are read, so the ledger records nothing.")


def _complexity_control(place: Any, name: str) -> float:
    declared = params(ComplexitySpec)[name]
    value: float = place.select_slider(
        declared.title,
        list(declared.steps),
        getattr(ComplexitySpec, name),
        key=f"complexity_{name}",
        bind="query-params",
    )
    return value


def _draw_complexity(spec: ComplexitySpec, found: RowsOfSweeps) -> None:
    rows = found[0]
    slopes = {
        key: growth(rows, key)
        for key in MECHANISMS
        if sum(row["protocol"] == key for row in rows) > 1
    }
    last = {row["protocol"]: row["samples"] for row in rows if row["features"] == DIMENSIONS[-1]}
    if len(last) == len(MECHANISMS):
        st.markdown(
            f"With {DIMENSIONS[-1]} features MOD-SuLQ needs **{last['modsulq']:,.0f}** rows and "
            f"PPCA **{last['ppca']:,.0f}** for a correlation of {spec.correlation:g}."
        )
    else:
        st.markdown("The theorems say: rows grow as d with PPCA and as d^1.5 with MOD-SuLQ.")
    with st.container(height=440, border=False):
        figure = people_needed(
            rows,
            bounds(spec, DIMENSIONS, rows),
            slopes,
            dimensions=(DIMENSIONS[0], DIMENSIONS[-1]),
            dark=charts.is_dark(),
        )
        slope = ", ".join(f"{key} grows as d^{value:.2f}" for key, value in slopes.items())
        alt = f"Rows needed against the number of features: {slope}."
        charts.show_figure(figure, key="compare_complexity", alt=alt)


# ---- the sampler


def _draw_sampler(spec: CentralSpec, dataset: DatasetStatus) -> None:
    """Draw the Markov chains of PPCA and their diagnostics."""
    if (spec.components or dataset.default_components) == dataset.n_features:
        st.info("With K at the number of features the subspace is the whole space.")
        return
    left, right = st.columns([3, 1])
    n_sweeps = left.select_slider(
        "Sweeps", list(_SWEEPS), 128, key="sampler_sweeps", bind="query-params"
    )
    n_chains = right.segmented_control(
        "Chains", list(_CHAINS), default=4, required=True, key="sampler_chains", bind="query-params"
    )
    chains, enough = _chains(spec, n_chains, n_sweeps), _chains(spec, n_chains, None)
    what = "Traces of PPCA's chains"
    ledger.record_uncovered(dataset.name, what, "they are functions of the rows")
    st.markdown(describe_chains(chains, enough))
    has_stopped = enough.converged and enough.n_sweeps <= chains.n_sweeps
    traces = energy_traces(
        chains.shares,
        chains.starts,
        chains.random_share,
        stopped=enough.n_sweeps if has_stopped else None,
        dark=charts.is_dark(),
    )
    alt = "Captured energy along chains that start at random and at exact PCA."
    charts.show_figure(traces, key="sampler_traces", alt=alt)
    rows = running_diagnostics(chains)
    for place, field, title, threshold, passes, ticks in zip(
        st.columns(2),
        ("r_hat", "ess"),
        ("split R-hat", "effective sample size"),
        (MAX_R_HAT, MIN_ESS),
        (f"passes below {MAX_R_HAT:g}", f"passes above {MIN_ESS:g}"),
        (_R_HATS, _SIZES),
        strict=True,
    ):
        figure = running_diagnostic(
            rows, field, title=title, threshold=threshold, passes=passes, ticks=ticks,
            dark=charts.is_dark(),
        )  # fmt: skip
        with place:
            charts.show_figure(figure, key=f"sampler_{field}", alt=f"{title} against sweeps.")
    notices.explain_computation("sampler")


def describe_chains(chains: WatchedChains, enough: WatchedChains) -> str:
    """Return split R-hat, whether the draw has a guarantee, and when the sampler would stop."""
    verdict = (
        "The chains agree, so the draw can be released."
        if chains.converged
        else "The chains do not agree, so the draw has no guarantee."
    )
    end = (
        f"The sampler stops by itself after {enough.n_sweeps:,} sweeps."
        if enough.converged
        else f"Even {enough.n_sweeps:,} sweeps are not enough here."
    )
    return (
        f"Split R-hat is **{chains.r_hat:.2f}** after {chains.n_sweeps:,} sweeps. {verdict} {end}"
    )
