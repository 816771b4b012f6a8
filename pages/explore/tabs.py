"""Tabs below the curve of the start page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.experiments.engine.summaries import bytes_in_words, percent
from dpcore.experiments.pca import RunSpec, is_denoised, reference_bytes
from dpcore.figures.components import released_variances, scree
from dpcore.pca.assessment import Estimate, noise_edge
from dpcore.pca.protocols.protocol import Where
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import sites_that_answer
from dpcore.privacy import describe
from dpcore.streams import Repetition
from pages import cached, navigation
from pages.components import charts, guarantee, ledger, notices
from pages.components.score_plot import draw_score_plot
from pages.explore import eigen_images, message_bytes, rows_needed
from pages.number_format import plain
from pages.sidebar import Selection

TITLES = (
    "Guarantee",
    "Eigen-images",
    "People",
    "Messages and bytes",
    "Rows needed",
    "Spectrum",
    "How it is computed",
    "Own estimate",
)
_WIDEST_INTERVAL = 0.9
_MAX_EIGENVALUES = 60
# Ratios from this one on are written as multiples, and smaller ones in percent.
_MANY_TIMES = 2.0


def draw_tabs(selection: Selection) -> None:
    """Draw the tabs; only the open one is computed."""
    spec = selection.spec
    tabs = st.tabs(TITLES, key="explore_tab", on_change="rerun", bind="query-params")
    draw: tuple[Callable[[], None], ...] = (
        lambda: _draw_guarantees(spec),
        lambda: eigen_images.draw_eigen_images(selection),
        lambda: draw_score_plot(spec),
        lambda: _draw_messages(selection),
        lambda: rows_needed.draw_rows_needed(selection),
        lambda: _draw_spectrum(spec),
        lambda: notices.show_formulas("pca"),
        lambda: _draw_own_estimate(spec),
    )
    for tab, draw_tab in zip(tabs, draw, strict=True):
        if tab.open:
            with tab:
                draw_tab()


def _draw_guarantees(spec: RunSpec) -> None:
    groups: dict[str, list[str]] = {}
    for key, released in cached.guarantees(spec).items():
        headline = guarantee.headline(released, reads_rows_first=spec.reads_rows_first)
        groups.setdefault(headline, []).append(PROTOCOLS[key].title)
    for headline, titles in groups.items():
        st.markdown(f"**{' · '.join(titles)}**  \n{headline}")
    sights = (
        f"- **{PROTOCOLS[key].title}**: {' '.join(describe(released).sights)}"
        for key, released in cached.guarantees(spec).items()
        if released.is_private
    )
    st.markdown("\n".join(sights))
    st.page_link(navigation.link("promise"), label="What ε promises")


def _draw_messages(selection: Selection) -> None:
    spec = selection.spec
    rows = [cached.rows_of_run(cached.one_run(spec, key), 0)[0] for key in spec.protocols]
    whole, raw = reference_bytes(spec, cached.problem_of(spec.problem_key()))
    st.dataframe(
        [
            {
                "Protocol": PROTOCOLS[row["protocol"]].title,
                "One site sends": bytes_in_words(row["bytes_per_site"]),
                "All sites send": bytes_in_words(row["bytes_sent"]),
                "Rounds": row["n_rounds"],
                "Of full matrices": _multiple(row["bytes_sent"] / whole),
                "Of raw rows": _multiple(row["bytes_sent"] / raw),
            }
            for row in rows
        ],
        hide_index=True,
    )
    message_bytes.draw_frontier(selection)


def _multiple(ratio: float) -> str:
    return percent(ratio) if ratio < _MANY_TIMES else f"{ratio:.0f} times"


def _draw_spectrum(spec: RunSpec) -> None:
    """Draw exact and private eigenvalues against those of noise without data."""
    lead = spec.protocols[0]
    entry = PROTOCOLS[lead]
    if not entry.noise or lead == "pooled":
        st.caption(f"{entry.title} releases no noisy matrix, so it has no spectrum to show.")
        return
    problem = cached.problem_of(spec.problem_key())
    n_features = problem.moments.n_features
    count = min(n_features, _MAX_EIGENVALUES)
    wide = replace(
        cached.one_run(spec, lead),
        components=count,
        intermediate_dim=max(count, spec.intermediate_dim or 1),
    )
    ledger.charge_run(wide, quantities=("components", "eigenvalues"))
    subspace = cached.subspaces(wide)[lead]
    weights: FloatArray = np.ones(1)
    if entry.where is Where.EVERY_SITE:
        settings = wide.settings(problem.n_features, problem.default_components)
        sites = sites_that_answer(settings, spec.sites, Repetition(spec.seed))
        weights = problem.moments.at(sites).weights
    noise = entry.shape or spec.noise
    # Denoising and the cut of each message move the edge, and how far depends on the rows.
    is_raw = not is_denoised(spec, n_features, problem.default_components)
    is_noisy = is_raw and not entry.wants_proxies
    edge = noise_edge(subspace.sigma, weights, n_features, noise=noise) if is_noisy else 0.0
    requested = plain(spec.epsilon)
    figure = scree(
        problem.eigenvalues_before_noise()[:count],
        {f"ε = {requested}": subspace.eigenvalues},
        edge,
        protocol=lead,
        dark=charts.is_dark(),
    )
    band = f"; noise without data reaches {edge:.2g}" if is_noisy else ""
    alt = f"Exact and private eigenvalues by rank{band}."
    charts.show_figure(figure, key="spectrum", alt=alt)
    if is_noisy:
        st.caption("Shaded: eigenvalues of noise without data.")


def _draw_own_estimate(spec: RunSpec) -> None:
    """Draw the captured variance that a recipient can estimate from the release."""
    assessment = cached.self_assessed(spec)
    rows = []
    for key in spec.protocols:
        own_estimate = assessment[key].assessment if key in assessment else None
        true = percent(assessment[key].energy / assessment[key].total) if key in assessment else "–"
        estimate = (
            "no estimate" if own_estimate is None else _with_interval(own_estimate.captured_share)
        )
        above = None if own_estimate is None else own_estimate.n_above_noise
        rows.append(
            {
                "Protocol": PROTOCOLS[key].title,
                "Own estimate (90 % interval)": estimate,
                "True value (not private)": true,
                "Components above noise": "–" if above is None else str(above),
            }
        )
    st.markdown(
        "A recipient can estimate the explained variance from the release, because the amount of "
        "noise is public. This costs no ε."
    )
    st.dataframe(rows, hide_index=True)
    lead = spec.protocols[0]
    own_estimate = assessment[lead].assessment if lead in assessment else None
    if own_estimate is not None and np.isfinite(own_estimate.captured_share.value):
        variance, total = own_estimate.explained_variance, assessment[lead].total
        figure = released_variances(
            variance.value / total, variance.interval / total, dark=charts.is_dark()
        )
        alt = f"Estimated share of the variance along each component of {PROTOCOLS[lead].title}."
        charts.show_figure(figure, key="own_estimate", alt=alt)


def _with_interval(share: Estimate) -> str:
    low, high = (float(end) for end in share.interval)
    if high - low > _WIDEST_INTERVAL:
        return "too noisy"
    middle = min(max(float(share.value), low), high)
    return f"{percent(middle)} ({percent(low)} to {percent(high)})"
