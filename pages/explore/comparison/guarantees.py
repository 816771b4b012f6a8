"""Guarantees of the algorithms, and whether the chains of PPCA converged."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from dpcore.experiments.central import VARIANTS, CentralSpec
from dpcore.pca import Subspace
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.guarantee_in_words import say_number
from pages.explore.comparison.runs import batch_of
from pages.number_format import plain


def draw_guarantees(variants: Mapping[str, CentralSpec]) -> None:
    """Write the guarantee of each algorithm's first run."""
    subspaces = {key: batch_of(variant).subspaces[0] for key, variant in variants.items()}
    st.dataframe(
        [_guarantee_row(key, subspace) for key, subspace in subspaces.items()], hide_index=True
    )
    if "ppca" in subspaces:
        _draw_chain_state(subspaces["ppca"])


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
