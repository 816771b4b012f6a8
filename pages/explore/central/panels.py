"""Central algorithms on a page: dots, curves that fill in, promises, the state of the chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.central.runs import VARIANTS, CentralSpec, nearest_basis
from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Points
from dpcore.experiments.pca.sentences import percent
from dpcore.figures.families.central import variant_dots
from dpcore.figures.tradeoffs.energy import energy_curves
from dpcore.pca import Subspace
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.card import say_number
from pages.learn.sampler.chain_panels import VERDICT_IS_NOT_PRIVATE
from pages.parameters.words import plain
from pages.server import family_cache
from pages.server.visitors_jobs import SweepProgress
from pages.sidebar.selection import n_components_of
from pages.widgets import component_images
from pages.widgets.charts import chart, is_dark
from pages.widgets.guarantee_card import assumed, guarantee_tabs
from pages.widgets.live_figure import live_figure
from pages.widgets.messages import big_number

CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if 0.01 <= epsilon <= 20)
_PEOPLE = tuple(step * 10**power for power in range(1, 6) for step in (1, 2, 5))
_MOST_PEOPLE_VALUES = 9
# Chains of many coordinates take seconds a draw; four are the fewest that can be diagnosed.
_LARGE, _FEW_DRAWS = 10_000, 4


def chosen_variant(spec: CentralSpec) -> str:
    """Analyze Gauss as the sidebar has it."""
    return f"ag-{spec.calibration}-{spec.noise}"


def feasible(
    spec: CentralSpec, dataset: DatasetStatus, variants: Sequence[str]
) -> dict[str, CentralSpec]:
    """The spec of each variant that can run with these settings, cheap ones first."""
    n_components = n_components_of(spec.components, dataset)
    is_large = n_components * dataset.n_features > _LARGE
    few = replace(spec, repetitions=min(spec.repetitions, _FEW_DRAWS))
    specs = {
        key: VARIANTS[key].of(few if is_large and key == "ppca" else spec)
        for key in sorted(variants, key=lambda key: key == "ppca")
    }
    cells = Points(tuple(specs.values())).cells()
    return {key: cell.spec for key, cell in zip(specs, cells, strict=True) if cell.spec}


def answer(rows: Sequence[Row], spec: CentralSpec) -> None:
    """What PPCA keeps, and the others beside it."""
    means = {
        key: fmean(row["energy_ratio"] for row in rows if row["variant"] == key)
        for key in dict.fromkeys(row["variant"] for row in rows)
    }
    ag = chosen_variant(spec)
    others = [f"MOD-SuLQ {percent(means['modsulq'])}", f"SuLQ {percent(means['sulq'])}"]
    if ag in means:
        others.insert(0, f"Analyze Gauss {percent(means[ag])}, for the weaker (ε, δ)")
    others.insert(0, f"Wishart difference, pure as well, {percent(means['wishart'])}")
    big_number(
        percent(means["ppca"]),
        "of the energy that exact PCA captures is kept by **PPCA** at pure "
        f"**ε = {plain(spec.epsilon)}**, with {rows[0]['samples']:,} people and "
        f"K = {rows[0]['components']}.",
        f"{'; '.join(others)}. A random subspace: {percent(rows[0]['random_ratio'])}.",
    )


def dots(rows: Sequence[Row]) -> None:
    """Every draw of every variant."""
    ordered = [row for key in VARIANTS for row in rows if row["variant"] == key]
    chart(
        variant_dots(ordered, dark=is_dark()),
        key="central_dots",
        alt="Captured energy of each central algorithm as a share of exact PCA, a dot a draw.",
    )


def epsilon_curve(spec: CentralSpec, dataset: DatasetStatus) -> None:
    """Energy against ε, filling in."""
    _curve(
        "central_epsilon",
        [replace(spec, epsilon=epsilon) for epsilon in CURVE_EPSILONS],
        dataset,
        "epsilon",
        "← more private     asked ε     less private →",
        (CURVE_EPSILONS[0], CURVE_EPSILONS[-1]),
        spec.epsilon,
    )


def people_curve(spec: CentralSpec, dataset: DatasetStatus) -> None:
    """Energy against the number of people, filling in."""
    most = dataset.n_samples
    values = [*[n for n in _PEOPLE if 50 <= n < most][-_MOST_PEOPLE_VALUES:], most]
    specs = [replace(spec, samples=None if n == most else n) for n in values]
    _curve("central_people", specs, dataset, "samples", "people n", (values[0], most), None)


def _curve_variants(spec: CentralSpec) -> tuple[str, ...]:
    return "ppca", "wishart", chosen_variant(spec), "modsulq", "sulq"


def _curve(
    name: str,
    specs: Sequence[CentralSpec],
    dataset: DatasetStatus,
    field: str,
    axis: str,
    ends: tuple[float, float],
    marker: float | None,
) -> None:
    points = [feasible(spec, dataset, _curve_variants(spec)) for spec in specs]
    # Cheap ones of every value first: the curves are there early, PPCA's draws follow.
    cheap = [spec for point in points for key, spec in point.items() if key != "ppca"]
    chains = [point["ppca"] for point in points if "ppca" in point]

    def draw(progress: SweepProgress) -> None:
        if rows := [row for sweep in progress.rows for row in sweep]:
            figure = energy_curves(
                rows, field, axis_title=axis, axis_range=ends, marker=marker, dark=is_dark()
            )
            chart(figure, key=name, alt=f"Captured energy of central algorithms against {field}.")

    live_figure(name, (Points(tuple(cheap)), Points(tuple(chains))), draw, noun="points")


def components(spec: CentralSpec, dataset: DatasetStatus, found: dict[str, Subspace]) -> None:
    """The components as pictures or bars, beside the exact ones."""
    problem = family_cache.central_problem(spec.problem_key())
    exact = problem.exact_components
    shown = {"Exact PCA": exact[: n_components_of(spec.components, dataset)]} | {
        PROTOCOLS[VARIANTS[key].protocol].title: nearest_basis(subspace.components, exact)
        if key == "ppca"
        else subspace.components
        for key, subspace in found.items()
    }
    component_images.component_rows(shown, exact, dataset, problem.about.feature_names)


def promises(found: dict[str, Subspace], spec: CentralSpec) -> None:
    """What kind of promise each makes, asked and exact, and what it leans on."""
    everywhere = set.intersection(*(set(s.guarantee.assumptions) for s in found.values()))
    besides, lines = [], [("Algorithm", "Promise", "What holds", "Noise σ"), ("--",) * 4]
    for key, subspace in found.items():
        guarantee, method = subspace.guarantee, PROTOCOLS[VARIANTS[key].protocol]
        besides += [
            f"{method.title} also assumes {assumed(each)}"
            for each in guarantee.assumptions
            if each not in everywhere
        ]
        holds = f"ε = {say_number(guarantee.epsilon)}"
        if guarantee.delta:
            holds += f" at δ = {plain(guarantee.delta)}"
        lines.append((VARIANTS[key].label, str(method.kind), holds, _sigma(guarantee.sigma)))
    st.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))
    st.caption(f"Each was asked for ε = {plain(spec.epsilon)}. σ is in units of the second moment.")
    for sentence in besides:
        st.markdown(sentence)
    if any(subspace.guarantee.epsilon == 0 for subspace in found.values()):
        st.caption(
            "Exact ε = 0: the noise is so large that δ alone covers all that a release can tell. "
            "Its bound grows with the dimension; what it has to hide does not."
        )
    guarantee_tabs(
        {VARIANTS[key].label: subspace.guarantee for key, subspace in found.items()},
        preparation=spec.preparation,
        key="central_promises",
    )


def chain_state(subspace: Subspace) -> None:
    """Whether PPCA's chains converged, in one line."""
    state = subspace.diagnostics
    if state.get("method") != "rotation":
        st.markdown(":green-badge[exact draws] One component is drawn exactly: no chains.")
        return
    numbers = (
        f"{state['chains']} chains of {state['sweeps']:,} sweeps in {state['seconds']:.1f} s: "
        f"split R-hat {state['r_hat']:.3f}, effective sample size "
        f"{min(state['ess_bulk'], state['ess_tail']):,.0f}"
    )
    if state["converged"]:
        st.markdown(f":green-badge[chains converged] PPCA: {numbers}. {VERDICT_IS_NOT_PRIVATE}")
    else:
        st.markdown(
            f":red-badge[not converged] PPCA: {numbers}. **Nothing is promised (ε = ∞).** "
            f"{VERDICT_IS_NOT_PRIVATE}"
        )


def _sigma(sigma: float | None) -> str:
    return f"{sigma:.2g}" if sigma else "–"
