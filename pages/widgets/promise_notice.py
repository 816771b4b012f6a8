"""What a run would promise, on pages that show many runs at once."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.errors import ParameterError
from dpcore.experiments.ledger.pca_charges import promised
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca.protocols.register import PROTOCOLS
from pages.server import result_cache
from pages.widgets.cards import guarantee_tabs


def promised_cards(
    spec: RunSpec, dataset: DatasetStatus, protocols: Sequence[str], where: str
) -> None:
    """The card of each protocol at these settings; no row is read for it."""
    st.markdown("##### What it promises")
    try:
        cards = {
            PROTOCOLS[key].title: result_cache.shown(
                ("promised", spec, key, dataset.n_samples),
                lambda key=key: promised(spec, key, dataset),
            )
            for key in protocols
        }
    except ParameterError as error:
        st.caption(f"Nothing at these settings, which cannot run: {error}.")
        return
    guarantee_tabs(cards, preparation=spec.preparation, key="promised")
    st.caption(where)
