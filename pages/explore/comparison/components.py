"""First components of each algorithm, with the signs of the exact ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.data import DatasetStatus
from dpcore.experiments.central import CentralSpec, nearest_basis
from dpcore.figures.images import component_strip
from dpcore.spectra import align_signs
from dpcore.templates import fill
from pages.components import charts
from pages.explore.comparison.runs import batch_of, problem_of, title_of

_N_PICTURED = 5
_STRIP = """
<div style="display:flex;gap:1rem;align-items:center"><span style="width:9rem">{{ title }}</span>
<img alt="First {{ count }} components of {{ title }}" src="{{ png | data_uri }}"></div>"""


def draw_components(
    spec: CentralSpec, dataset: DatasetStatus, variants: Mapping[str, CentralSpec]
) -> None:
    """Draw the components of exact PCA and of the first run of each algorithm."""
    count = min(spec.components or dataset.default_components or 1, _N_PICTURED)
    drawn = {
        title: components[:count] for title, components in comparable_components(spec, variants)
    }
    if dataset.image_shape is None:
        names = problem_of(spec.problem_key()).about.feature_names
        st.dataframe(
            [
                {"Algorithm": title, "Component 1": _strongest(components[0], names)}
                for title, components in drawn.items()
            ],
            hide_index=True,
        )
    else:
        for title, components in drawn.items():
            _draw_strip(title, components, dataset.image_shape)
    if "ppca" in variants:
        st.caption("PPCA releases a subspace; its basis is rotated towards the exact components.")


def comparable_components(
    spec: CentralSpec, variants: Mapping[str, CentralSpec]
) -> list[tuple[str, FloatArray]]:
    """Return titles with components: the exact ones, then those of each algorithm's first run."""
    exact = problem_of(spec.problem_key()).exact_components
    titled = [("Exact PCA", exact)]
    for key, variant in variants.items():
        components = batch_of(variant).subspaces[0].components
        own_exact = exact[: len(components)]
        # PPCA's components are arbitrary within their span.
        aligned = nearest_basis(components, own_exact) if key == "ppca" else components
        titled.append((title_of(key), align_signs(aligned, own_exact)))
    return titled


def _draw_strip(title: str, components: FloatArray, shape: tuple[int, int]) -> None:
    png = component_strip(components, shape, tile_pixels=56, dark=charts.is_dark())
    st.html(fill(_STRIP, title=title, count=len(components), png=png))


def _strongest(component: Sequence[float], names: Sequence[str]) -> str:
    order = sorted(range(len(names)), key=lambda column: -abs(component[column]))
    return ", ".join(f"{names[column]} {component[column]:+.2f}" for column in order[:4])
