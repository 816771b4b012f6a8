"""Markov chains of PPCA and their diagnostics."""

from __future__ import annotations

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.central import CentralSpec
from dpcore.experiments.central.chain_traces import (
    MAX_R_HAT,
    MIN_ESS,
    WatchedChains,
    running_diagnostics,
    watch,
)
from dpcore.figures.central import energy_traces, running_diagnostic
from pages import cached
from pages.components import charts, ledger, notices
from pages.explore.comparison.runs import problem_of

_SWEEPS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
_CHAINS = (4, 8, 16)
_R_HATS = (1, 1.2, 1.5, 2, 3, 5, 10)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)


@cached.cached(24, message="Running the chains")
def _chains(spec: CentralSpec, n_chains: int, n_sweeps: int | None) -> WatchedChains:
    """Return chains of a fixed number of sweeps, or until the diagnostics pass."""
    problem = problem_of(spec.problem_key())
    return watch(spec, problem, n_chains=n_chains, n_sweeps=n_sweeps)


def draw_sampler(spec: CentralSpec, dataset: DatasetStatus) -> None:
    """Draw the Markov chains of PPCA and their diagnostics."""
    if (spec.components or dataset.default_components) == dataset.n_features:
        st.info("With K at the number of features the subspace is the whole space.")
        return
    wide, narrow = st.columns([3, 1])
    n_sweeps = wide.select_slider(
        "Sweeps", list(_SWEEPS), 128, key="sampler_sweeps", bind="query-params"
    )
    n_chains = narrow.segmented_control(
        "Chains", list(_CHAINS), default=4, required=True, key="sampler_chains", bind="query-params"
    )
    chains, enough = _chains(spec, n_chains, n_sweeps), _chains(spec, n_chains, None)
    traces = "Traces of PPCA's chains"
    ledger.record_uncovered(dataset.name, traces, "they are functions of the rows")
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
