"""Eigen-images along ε: exact components above private ones, one row per ε."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from markupsafe import Markup

from dpcore.arrays import FloatArray
from dpcore.experiments.pca import RunSpec
from dpcore.figures.images import component_strip
from dpcore.params import EPSILONS
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.spectra import align_signs, principal_angles
from dpcore.templates import fill
from pages import cached, links
from pages.components import charts, ledger
from pages.number_format import plain
from pages.sidebar import Selection

# Values of ε of the eigen-images on the poster.
_POSTER = (10.0, 2.0, 0.1)
_MOST_TILES = 8
_SHARE = (
    "Mean squared cosine of the principal angles between the private and the exact subspace of all "
    "K components. 1 is the same subspace; random directions have about K / D."
)
_GRID = """<style>
.eigen { display: grid; gap: .15rem .6rem; align-items: center; overflow-x: auto; }
.eigen img { width: 100%; image-rendering: pixelated; display: block; }
.eigen .cosine { text-align: center; font-size: .75rem; font-variant-numeric: tabular-nums; }
.eigen .share { font-weight: 600; font-variant-numeric: tabular-nums; }
.eigen .of { text-decoration: underline dotted 1px; cursor: help; font-size: .8rem; }
</style>
<div class="eigen"
style="grid-template-columns: 5rem repeat({{ n_tiles }}, minmax(2rem, 6rem)) 7rem">
{%- for row in rows -%}
<strong>{{ row.label }}</strong>
{%- for tile in row.tiles %}
{%- set cosine = "%.2f" | format(row.cosines[loop.index0]) if row.cosines else "" -%}
<span><img style="{{ ratio }}" src="{{ tile | data_uri }}"
alt="component {{ loop.index }}, {{ row.label }}
{%- if cosine %}, |cosine| {{ cosine }}{% endif %}"><span class="cosine" style="display:block">
{{- cosine }}</span></span>
{%- endfor %}
{%- for _ in range(n_tiles - row.tiles | length) %}<span></span>{% endfor %}
{%- if row.share is none -%}
<span class="of" title="{{ share_in_words }}">subspace (1 = same)</span>
{%- else -%}
<span class="share" title="{{ share_in_words }}">{{ "%.2f" | format(row.share) }}</span>
{%- endif %}
{%- endfor -%}
</div>"""


@dataclass(frozen=True)
class Row:
    """One row of eigen-images.

    tiles: PNG of each component.
    cosines: |cosine| of each component and the exact one; empty for exact components.
    share: Mean squared cosine of the principal angles between the subspaces; None if exact.
    """

    label: str
    tiles: tuple[bytes, ...]
    cosines: tuple[float, ...] = ()
    share: float | None = None


def draw_eigen_images(selection: Selection) -> None:
    """Draw the choice of ε and one row of components for each."""
    spec = cached.single(selection.spec)
    links.accept_option("eigen_epsilons", EPSILONS, plain, several=True)
    chosen = st.multiselect(
        "Rows: exact, and at ε =",
        EPSILONS,
        default=list(_POSTER),
        format_func=plain,
        key="eigen_epsilons",
        bind="query-params",
        persist_state="session",
    )
    specs = [replace(spec, epsilon=e, protocols=spec.protocols[:1]) for e in sorted(chosen)[::-1]]
    for row_spec in specs:
        ledger.charge_run(row_spec)
    shape = selection.dataset.image_shape
    with st.spinner("Drawing components"):
        rows = eigen_rows(specs, spec, shape, dark=charts.is_dark())
    st.html(_grid(rows, are_pictures=shape is not None))
    st.caption(
        f"{PROTOCOLS[spec.protocols[0]].title}, one run per ε. Signs are those of the exact "
        "components, which are not private. Under each tile: |cosine| (1 = same direction)."
    )


def eigen_rows(
    specs: Sequence[RunSpec],
    exact_spec: RunSpec,
    image_shape: tuple[int, int] | None,
    *,
    dark: bool,
) -> tuple[Row, ...]:
    """Return the row of exact components and one row per specification."""
    exact = _exact(exact_spec)
    rows = [Row("exact", _tiles(exact[:_MOST_TILES], exact_spec, image_shape, dark=dark))]
    for spec in specs:
        exact = _exact(spec)
        (subspace,) = cached.subspaces(spec).values()
        private = align_signs(subspace.components, exact)
        cosines = np.abs(np.einsum("kd,kd->k", private, exact))[:_MOST_TILES]
        share = float(np.mean(np.cos(principal_angles(private, exact)) ** 2))
        tiles = _tiles(private[:_MOST_TILES], spec, image_shape, dark=dark)
        rows.append(Row(f"ε = {plain(spec.epsilon)}", tiles, tuple(map(float, cosines)), share))
    return tuple(rows)


def _exact(spec: RunSpec) -> FloatArray:
    problem = cached.problem_of(spec.problem_key())
    settings = spec.settings(problem.n_features, problem.default_components)
    exact: FloatArray = problem.exact_components[: settings.n_components]
    return exact


def _tiles(
    components: FloatArray, spec: RunSpec, image_shape: tuple[int, int] | None, *, dark: bool
) -> tuple[bytes, ...]:
    columns = cached.shown_rows(spec).columns
    shape = image_shape or (len(columns), 1)
    drawn = components[:, columns]
    return tuple(component_strip(component[None], shape, dark=dark) for component in drawn)


def _grid(rows: Sequence[Row], *, are_pictures: bool) -> Markup:
    return fill(
        _GRID,
        rows=rows,
        n_tiles=max(len(row.tiles) for row in rows),
        ratio="aspect-ratio: 1;" if are_pictures else "height: 8rem;",
        share_in_words=_SHARE,
    )
