"""Components on a page: as pictures where a row is a picture, else as bars."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.figures.images import component_strip
from dpcore.figures.loadings import loading_bars
from dpcore.spectra import align_signs
from pages.shared import runs
from pages.shared.cards import chart, is_dark

MOST_SHOWN = 10


def component_rows(
    rows: Mapping[str, np.ndarray],
    exact: np.ndarray,
    dataset: DatasetStatus,
    feature_names: tuple[str, ...],
) -> None:
    """Rows of components under each other, the exact ones first, signs aligned to them."""
    if dataset.image_shape is None:
        _bars(rows, exact, feature_names)
        return
    for title, components in rows.items():
        _strip(title, components[:MOST_SHOWN], exact, dataset.image_shape)


def _strip(
    title: str, components: np.ndarray, exact: np.ndarray, image_shape: tuple[int, int]
) -> None:
    aligned = align_signs(components, exact[: len(components)])
    cosines = np.abs(np.einsum("kd,kd->k", aligned, exact[: len(aligned)]))
    st.markdown(f"**{title}**")
    st.image(
        runs.shown((aligned.tobytes(), image_shape), lambda: component_strip(aligned, image_shape)),
        width="stretch",
        alt=f"{title}: the {len(aligned)} leading components as pictures. Mean |cosine| to the "
        f"exact ones {cosines.mean():.2f}.",
    )
    cells = "".join(f"<span>{cosine:.2f}</span>" for cosine in cosines)
    st.html(
        f'<div style="display:grid;grid-template-columns:repeat({len(cosines)},1fr);'
        f'text-align:center;font-size:.8rem;opacity:.75;margin-top:-.8rem">{cells}</div>'
    )


def _bars(
    rows: Mapping[str, np.ndarray], exact: np.ndarray, feature_names: tuple[str, ...]
) -> None:
    count = min(MOST_SHOWN, *(len(components) for components in rows.values()))
    component = st.segmented_control(
        "Component", range(1, count + 1), default=1, required=True, key="component_shown"
    )
    loadings = {
        title: align_signs(components[:count], exact[:count])[component - 1]
        for title, components in rows.items()
    }
    chart(
        loading_bars(loadings, feature_names, dark=is_dark()),
        key="loadings",
        alt=f"Loadings of component {component}, exact and private, by feature.",
    )
