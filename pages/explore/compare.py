"""Algorithms compared: PPCA, MOD-SuLQ, SuLQ and Analyze Gauss on the same rows at one epsilon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

import streamlit as st

from dpcore.experiments.central import PURE, CentralSpec, central_spec
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.summaries import percent
from pages import links
from pages.components import downloads, ledger, notices
from pages.explore.comparison.components import draw_components
from pages.explore.comparison.curves import draw_along_epsilon, draw_along_samples
from pages.explore.comparison.guarantees import draw_guarantees
from pages.explore.comparison.runs import draw_runs, feasible_variants, rows_of, title_of
from pages.explore.comparison.sample_sizes import draw_samples_needed
from pages.explore.comparison.sampler import draw_sampler
from pages.number_format import plain
from pages.sidebar import Selection

CONTROLS = (
    "dataset", "epsilon", "delta", "components", "repetitions", "seed", "calibration", "noise",
    "preparation",
)  # fmt: skip
VIEWS = (
    "Every run", "Along ε", "Along samples", "Components", "Guarantees", "Samples needed",
    "Inside the sampler",
)  # fmt: skip


def show(selection: Selection) -> None:
    """Draw the page."""
    dataset = selection.dataset
    notices.show_notes(selection.notes)
    notices.require_dataset(dataset)
    finding = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = st.selectbox("View", VIEWS, key="compare_tab", width=240)
        is_denoised = _toggle("compare_denoise", "Denoise (costs no ε)")
        with_wishart = _toggle("compare_beyond", "Also Wishart (pure ε)")
    # "auto" would denoise only algorithms whose noise is not the published one.
    denoiser = "columns" if dataset.image_shape is None else "cosines"
    spec = replace(
        central_spec(selection.spec), samples=None, denoise=denoiser if is_denoised else "none"
    )
    variants = feasible_variants(spec, dataset, with_wishart=with_wishart)
    rows = [row for variant in variants.values() for row in rows_of(variant)]
    ledger.charge_rows(rows)
    with finding:
        st.title(say_finding(rows, spec))
    if not rows:
        return
    draw: tuple[Callable[[], None], ...] = (
        lambda: draw_runs(rows),
        lambda: draw_along_epsilon(spec, dataset, with_wishart=with_wishart),
        lambda: draw_along_samples(spec, dataset, with_wishart=with_wishart),
        lambda: draw_components(spec, dataset, variants),
        lambda: draw_guarantees(variants),
        lambda: draw_samples_needed(selection),
        lambda: draw_sampler(spec, dataset),
    )
    draw[VIEWS.index(view)]()
    st.caption("One trusted holder; requested ε, against every reader.")
    if spec.reads_rows_first:
        raw = "Published centring (as on Explore), exact PCA, energies"
    else:
        raw = "Exact PCA, energies"
        st.caption("Numbers differ from Explore: no mean is removed.")
    notices.mark_not_private(raw, "read raw rows.")
    downloads.offer_downloads("compare", rows)
    notices.explain_computation("central")


def _toggle(key: str, label: str) -> bool:
    links.accept_option(key, (True, False), str, several=False)
    return st.toggle(label, key=key, bind="query-params")


def say_finding(rows: Sequence[Row], spec: CentralSpec) -> str:
    """Return the captured energy of the best algorithm of each kind of guarantee."""
    means = {
        key: fmean(row["energy_ratio"] for row in rows if row["variant"] == key)
        for key in dict.fromkeys(row["variant"] for row in rows)
    }
    pure = {key: mean for key, mean in means.items() if key in PURE}
    others = {key: mean for key, mean in means.items() if key not in PURE}
    kinds = (
        (pure, f"at pure ε = {plain(spec.epsilon)}"),
        (others, f"with δ = {plain(spec.delta)}"),
    )
    parts = []
    for means_of_kind, kind in kinds:
        if means_of_kind:
            best = max(means_of_kind, key=means_of_kind.__getitem__)
            parts.append(f"{title_of(best)} captures {percent(means_of_kind[best])} {kind}")
    return "; ".join(parts) or "No algorithm can run with these settings"
