"""PPCA's chains on a page."""

from __future__ import annotations

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.central.chain_runs import (
    MAX_R_HAT,
    MIN_ESS,
    WatchedChains,
    running_diagnostics,
)
from dpcore.experiments.central.runs import CentralSpec
from dpcore.experiments.pca.sentences import percent
from dpcore.experiments.pca.spec import RunSpec
from dpcore.figures.families.central import energy_traces, running_diagnostic
from dpcore.pca.central import ppca_guarantee
from dpcore.privacy import PrivacyBudget
from pages.parameters.words import plain
from pages.server import family_cache
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.messages import big_number

_R_HATS = (1, 1.2, 1.5, 2, 3, 5, 10)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
# Beside every verdict on chains, whatever it is.
VERDICT_IS_NOT_PRIVATE = (
    "The verdict and these numbers are worked out from the rows: no ε covers them, and with real "
    "people they would stay with the holder of the rows."
)


def watched(spec: CentralSpec, n_chains: int, n_sweeps: int) -> tuple[WatchedChains, WatchedChains]:
    """The chains for the sweeps asked for, and for as many as the sampler itself would run."""
    return (
        family_cache.chains(spec, n_chains, n_sweeps),
        family_cache.chains(spec, n_chains, None),
    )


def headline(chains: WatchedChains, enough: WatchedChains, spec: RunSpec) -> None:
    """Split R-hat as the number, and whether the draw may be released."""
    verdict = (
        "the chains agree, and the draw may be released"
        if chains.converged
        else "the chains fail the check again, and nothing is promised"
        if _passed(chains, enough)
        else "the chains do not agree yet, and nothing is promised"
    )
    big_number(
        f"{chains.r_hat:.2f}",
        f"is split R-hat after **{chains.n_sweeps:,} sweeps** at ε = {plain(spec.epsilon)}: "
        f"{verdict}.",
        f"Chains that started at random hold {percent(chains.mean_of('random'))} of exact PCA's "
        f"energy, those that started at exact PCA {percent(chains.mean_of('mode'))}. "
        f"{stops(chains, enough)}",
    )


def stops(chains: WatchedChains, enough: WatchedChains) -> str:
    """Where the sampler left to itself stops, and how that goes with what is seen here."""
    if not enough.converged:
        return f"Even {enough.n_sweeps:,} sweeps are not enough here."
    if chains.converged or not _passed(chains, enough):
        return f"Left to itself the sampler stops after {enough.n_sweeps:,} sweeps."
    misses = (
        f"split R-hat is {chains.r_hat:.3f}, and {MAX_R_HAT:g} would pass"
        if chains.r_hat >= MAX_R_HAT
        else f"the chains are worth {chains.ess:.0f} draws, and {MIN_ESS:.0f} would pass"
    )
    return (
        f"Left to itself the sampler stops after {enough.n_sweeps:,} sweeps, the first time that "
        f"its check passed. Here, later, {misses}: a check on random chains can pass and fail "
        "again, so that one that passed is evidence and no proof."
    )


def _passed(chains: WatchedChains, enough: WatchedChains) -> bool:
    """Whether the sampler left to itself would have stopped by now."""
    return enough.converged and enough.n_sweeps <= chains.n_sweeps


def promise(chains: WatchedChains, spec: RunSpec, dataset: DatasetStatus) -> None:
    """The card of the last state of one chain, which nobody is shown here."""
    st.markdown("## What it promises")
    guarantee_card(
        ppca_guarantee(PrivacyBudget(spec.epsilon), is_chain=True, converged=chains.converged),
        preparation=spec.preparation,
    )
    session_ledger.uncovered(
        dataset.name, "Traces of PPCA's chains", "they are functions of the rows"
    )


def traces(chains: WatchedChains, enough: WatchedChains) -> None:
    """Energy of every chain from its start on."""
    passed = _passed(chains, enough)
    chart(
        energy_traces(
            chains.shares,
            chains.starts,
            chains.random_share,
            stopped=enough.n_sweeps if passed else None,
            dark=is_dark(),
        ),
        key="sampler_traces",
        alt="Captured energy of chains started at random and at exact PCA, which meet.",
    )
    if passed:
        st.caption(f"The line marks where the sampler would stop: {enough.n_sweeps:,} sweeps.")


def diagnostics(chains: WatchedChains) -> None:
    """R-hat and effective sample size as they would have read earlier."""
    rows = running_diagnostics(chains)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("## Split R-hat: do the chains tell the same story?")
        chart(
            running_diagnostic(
                rows,
                "r_hat",
                title="split R-hat",
                threshold=MAX_R_HAT,
                passes=f"passes below {MAX_R_HAT:g}",
                ticks=_R_HATS,
                dark=is_dark(),
            ),
            key="sampler_r_hat",
            alt=f"Split R-hat against sweeps, {rows[-1]['r_hat']:.2f} in the end.",
        )
    with right:
        st.markdown("## Effective sample size: worth how many draws?")
        chart(
            running_diagnostic(
                rows,
                "ess",
                title="effective draws",
                threshold=MIN_ESS,
                passes=f"passes above {MIN_ESS:g}",
                ticks=_SIZES,
                dark=is_dark(),
            ),
            key="sampler_ess",
            alt=f"Effective sample size against sweeps, {rows[-1]['ess']:.0f} in the end.",
        )


def what_it_means(chains: WatchedChains, enough: WatchedChains, spec: RunSpec) -> None:
    """Burn-in and the promise, in three sentences."""
    st.markdown("## What burn-in means for the promise")
    st.markdown(
        f"Pure ε = {plain(spec.epsilon)} is a theorem about an exact draw. A chain started at "
        "exact PCA and stopped at once releases exact PCA, and promises nothing; one started at "
        "random and stopped at once keeps every secret and knows nothing. In between the draw "
        "still remembers where it began, and the promise holds as far as that is forgotten."
    )
    if chains.converged:
        st.markdown(
            ":green-badge[passed] Both kinds of start give the same energies. That is evidence, "
            "not proof: the guarantee card names exact draws as an assumption."
        )
    else:
        st.markdown(
            f":red-badge[not passed] Released now, the guarantee card would say ε = ∞. "
            f"{stops(chains, enough)}"
        )
    st.markdown(VERDICT_IS_NOT_PRIVATE)
