"""Components on a page: as pictures where a row is a picture, else as bars."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.figures.components.charts import loading_bars
from dpcore.figures.components.images import component_strip
from dpcore.spectra import align_signs
from pages.parameters.table import ask
from pages.server import result_cache
from pages.widgets.charts import chart, is_dark

MOST_SHOWN = 10


def component_rows(
    rows: Mapping[str, np.ndarray],
    exact: np.ndarray,
    dataset: DatasetStatus,
    feature_names: tuple[str, ...],
    *,
    protocol: str = "exact",
) -> None:
    """Rows of components under each other, the exact ones first, signs aligned to them.

    Bars of rows that are not called after a protocol take the colour of `protocol`.
    """
    if dataset.image_shape is None:
        _bars(rows, exact, feature_names, protocol)
        return
    strips = (
        _strip(title, components[:MOST_SHOWN], exact, dataset.image_shape)
        for title, components in rows.items()
    )
    st.html("".join(strips))


def _strip(
    title: str, components: np.ndarray, exact: np.ndarray, image_shape: tuple[int, int]
) -> str:
    """One row of pictures with its title and cosines, the picture inside: nothing to fetch."""
    aligned = align_signs(components, exact[: len(components)])
    cosines = np.abs(np.einsum("kd,kd->k", aligned, exact[: len(aligned)]))
    png = result_cache.shown(
        (aligned.tobytes(), image_shape),
        lambda: b64encode(component_strip(aligned, image_shape)).decode(),
    )
    return (
        f'<figure style="margin:0 0 1rem"><figcaption style="font-weight:600;margin-bottom:.4rem">'
        f'{escape(title)}</figcaption><img src="data:image/png;base64,{png}" '
        f'style="width:100%;border-radius:4px" alt="{escape(title)}: the {len(aligned)} leading '
        f'components as pictures. Mean |cosine| to the exact ones {cosines.mean():.2f}.">'
        f"{under_pictures([f'{cosine:.2f}' for cosine in cosines], 'opacity:.75')}</figure>"
    )


def under_pictures(words: Sequence[str], style: str) -> str:
    """A line of small type, a word under each picture of a strip."""
    cells = "".join(f"<span>{word}</span>" for word in words)
    return (
        f'<div style="display:grid;grid-template-columns:repeat({len(words)},1fr);'
        f'text-align:center;font-size:.8rem;{style}">{cells}</div>'
    )


def _bars(
    rows: Mapping[str, np.ndarray], exact: np.ndarray, feature_names: tuple[str, ...], protocol: str
) -> None:
    count = min(MOST_SHOWN, *(len(components) for components in rows.values()))
    component = ask("component_shown", options=range(1, count + 1))
    loadings = {
        title: align_signs(components[:count], exact[:count])[component - 1]
        for title, components in rows.items()
    }
    chart(
        loading_bars(loadings, feature_names, protocol=protocol, dark=is_dark()),
        key="loadings",
        alt=f"Loadings of component {component}, exact and private, by feature.",
    )
