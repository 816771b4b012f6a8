"""Components on a page: as pictures where a row is a picture, else as bars."""

from __future__ import annotations

import numpy as np
import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.figures.images import component_strip
from dpcore.spectra import align_signs


def component_row(
    title: str, components: np.ndarray, exact: np.ndarray, dataset: DatasetStatus
) -> None:
    """One labelled row of components, each turned to point along the exact one."""
    shown = align_signs(components, exact[: len(components)])
    cosines = np.abs(np.einsum("kd,kd->k", shown, exact[: len(shown)]))
    st.markdown(f"**{title}**")
    st.image(
        component_strip(shown, dataset.image_shape),
        width="stretch",
        alt=f"{title}: {len(shown)} leading components; mean |cosine| to the exact ones "
        f"{cosines.mean():.2f}",
    )
    st.caption("|cosine| to the exact one: " + " · ".join(f"{c:.2f}" for c in cosines))
