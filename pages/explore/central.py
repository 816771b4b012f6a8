"""Central algorithms: SuLQ, MOD-SuLQ, Analyze Gauss, PPCA, Wishart difference side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import streamlit as st

from dpcore.data import DatasetStatus, unit_of
from dpcore.experiments.central_runs import (
    DIMENSIONS,
    MAX_R_HAT,
    MECHANISMS,
    MIN_ESS,
    PURE,
    VARIANTS,
    CentralSpec,
    ComplexitySpec,
    WatchedChains,
    bounds,
    central_spec,
    growth,
    is_covered_by_theorem_4,
    nearest_basis,
    running_diagnostics,
)
from dpcore.experiments.engine import Row
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.summaries import percent
from dpcore.experiments.sweep import Points
from dpcore.figures.energy import energy_curves
from dpcore.figures.families import energy_traces, people_needed, running_diagnostic, variant_dots
from dpcore.params import EPSILONS
from dpcore.pca import Subspace
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.protocols.trusted_holder import ppca_guarantee
from dpcore.privacy import PrivacyBudget
from dpcore.privacy.guarantee_in_words import say_number
from pages.server import background_jobs, family_caches
from pages.server.background_jobs import SweepProgress
from pages.shell.controls import Selection, n_components_of, redraw_noise
from pages.shell.navigation import linked_page
from pages.shell.page import page
from pages.shell.parameters import ask, plain
from pages.shell.streamlit_internals import DeltaGenerator
from pages.widgets import charts, session_ledger
from pages.widgets.charts import chart, is_dark, take_away
from pages.widgets.guarantee_card import assumed, guarantee_card, guarantee_tabs
from pages.widgets.job_progress import live_figure
from pages.widgets.notices import (
    big_number,
    not_private,
)

# PPCA's chains on a page.

_R_HATS = (1, 1.2, 1.5, 2, 3, 5, 10)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
# Beside every verdict on chains, whatever it is.
VERDICT_IS_NOT_PRIVATE = (
    "The verdict and these numbers are worked out from the rows: no ε covers them, and with real "
    "people they would stay with the holder of the rows."
)


def watched(spec: CentralSpec, n_chains: int, n_sweeps: int) -> tuple[WatchedChains, WatchedChains]:
    """The chains for the sweeps asked for, and for as many as the sampler itself would run."""
    return (
        family_caches.chains(spec, n_chains, n_sweeps),
        family_caches.chains(spec, n_chains, None),
    )


def chain_headline(chains: WatchedChains, enough: WatchedChains, spec: RunSpec) -> None:
    """Split R-hat as the number, and whether the draw may be released."""
    verdict = (
        "the chains agree, and the result may be released"
        if chains.converged
        else "the chains fail the check again, and nothing is promised"
        if _passed(chains, enough)
        else "the chains do not agree yet, and nothing is promised"
    )
    big_number(
        f"{chains.r_hat:.2f}",
        f"is split R-hat after **{chains.n_sweeps:,} sweeps** at ε = {plain(spec.epsilon)}: "
        f"{verdict}.",
        f"Chains that started at random hold {percent(chains.mean_of('random'))} of exact PCA's "
        f"energy, those that started at exact PCA {percent(chains.mean_of('mode'))}. "
        f"{stops(chains, enough)}",
    )


def stops(chains: WatchedChains, enough: WatchedChains) -> str:
    """Where the sampler left to itself stops, and how that goes with what is seen here."""
    if not enough.converged:
        return f"Even {enough.n_sweeps:,} sweeps are not enough here."
    if chains.converged or not _passed(chains, enough):
        return f"Left to itself the sampler stops after {enough.n_sweeps:,} sweeps."
    misses = (
        f"split R-hat is {chains.r_hat:.3f}, and {MAX_R_HAT:g} would pass"
        if chains.r_hat >= MAX_R_HAT
        else f"the chains are worth {chains.ess:.0f} draws, and {MIN_ESS:.0f} would pass"
    )
    return (
        f"Left to itself the sampler stops after {enough.n_sweeps:,} sweeps, the first time that "
        f"its check passed. Here, later, {misses}: a check on random chains can pass and fail "
        "again, so that one that passed is evidence and no proof."
    )


def _passed(chains: WatchedChains, enough: WatchedChains) -> bool:
    """Whether the sampler left to itself would have stopped by now."""
    return enough.converged and enough.n_sweeps <= chains.n_sweeps


def show_promise_of_chains(chains: WatchedChains, spec: RunSpec, dataset: DatasetStatus) -> None:
    """The card of the last state of one chain, which nobody is shown here."""
    st.markdown("## What it promises")
    guarantee_card(
        ppca_guarantee(PrivacyBudget(spec.epsilon), is_chain=True, converged=chains.converged),
        reads_rows_first=spec.reads_rows_first,
    )
    session_ledger.uncovered(
        dataset.name, "Traces of PPCA's chains", "they are functions of the rows"
    )


def show_traces(chains: WatchedChains, enough: WatchedChains) -> None:
    """Energy of every chain from its start on."""
    passed = _passed(chains, enough)
    chart(
        energy_traces(
            chains.shares,
            chains.starts,
            chains.random_share,
            stopped=enough.n_sweeps if passed else None,
            dark=is_dark(),
        ),
        key="sampler_traces",
        alt="What survives along chains started at random and at exact PCA, which meet.",
    )
    if passed:
        st.caption(f"The line marks where the sampler would stop: {enough.n_sweeps:,} sweeps.")


def diagnostics(chains: WatchedChains) -> None:
    """R-hat and effective sample size as they would have read earlier."""
    rows = running_diagnostics(chains)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("## Split R-hat: do the chains tell the same story?")
        chart(
            running_diagnostic(
                rows,
                "r_hat",
                title="split R-hat",
                threshold=MAX_R_HAT,
                passes=f"passes below {MAX_R_HAT:g}",
                ticks=_R_HATS,
                dark=is_dark(),
            ),
            key="sampler_r_hat",
            alt=f"Split R-hat against sweeps, {rows[-1]['r_hat']:.2f} in the end.",
        )
    with right:
        st.markdown("## Effective sample size: worth how many draws?")
        chart(
            running_diagnostic(
                rows,
                "ess",
                title="effective draws",
                threshold=MIN_ESS,
                passes=f"passes above {MIN_ESS:g}",
                ticks=_SIZES,
                dark=is_dark(),
            ),
            key="sampler_ess",
            alt=f"Effective sample size against sweeps, {rows[-1]['ess']:.0f} in the end.",
        )


def what_it_means(chains: WatchedChains, enough: WatchedChains, spec: RunSpec) -> None:
    """Burn-in and the promise, in three sentences."""
    st.markdown("## What burn-in means for the promise")
    st.markdown(
        f"Pure ε = {plain(spec.epsilon)} is a theorem about an exact draw. A chain started at "
        "exact PCA and stopped at once releases exact PCA, and promises nothing; one started at "
        "random and stopped at once keeps every secret and knows nothing. In between the draw "
        "still remembers where it began, and the promise holds as far as that is forgotten."
    )
    if chains.converged:
        st.markdown(
            ":green-badge[passed] Both kinds of start give the same energies. That is evidence, "
            "not proof: the guarantee card names exact draws as an assumption."
        )
    else:
        st.markdown(
            f":red-badge[not passed] Released now, the guarantee card would say ε = ∞. "
            f"{stops(chains, enough)}"
        )
    st.markdown(VERDICT_IS_NOT_PRIVATE)


# Central algorithms on a page: dots, curves that fill in, promises, the state of the chains.

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
    pure = (VARIANTS[key] for key in PURE if key != "ppca")
    rows_in_words = unit_of(rows[0]["dataset"]).of(rows[0]["samples"])
    others[:0] = [f"{each.label}, pure as well, {percent(means[each.key])}" for each in pure]
    big_number(
        percent(means["ppca"]),
        f"of the pattern survives with **PPCA** at pure **ε = {plain(spec.epsilon)}**, with "
        f"{rows_in_words} and K = {rows[0]['components']}.",
        f"{'; '.join(others)}. A random subspace: {percent(rows[0]['random_ratio'])}.",
    )


def dots(rows: Sequence[Row]) -> None:
    """Every draw of every variant."""
    ordered = [row for key in VARIANTS for row in rows if row["variant"] == key]
    chart(
        variant_dots(ordered, dark=is_dark()),
        key="central_dots",
        alt="What survives of exact PCA with each central algorithm, a dot a run.",
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
    _curve(
        "central_people",
        specs,
        dataset,
        "samples",
        f"{dataset.unit.many} n",
        (values[0], most),
        None,
    )


def _curve_variants(spec: CentralSpec) -> tuple[str, ...]:
    return *PURE, chosen_variant(spec), "modsulq", "sulq"


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
            chart(figure, key=name, alt=f"What survives with central algorithms against {field}.")

    live_figure(name, (Points(tuple(cheap)), Points(tuple(chains))), draw, noun="points")


def components(spec: CentralSpec, dataset: DatasetStatus, found: dict[str, Subspace]) -> None:
    """The components as pictures or bars, beside the exact ones."""
    problem = family_caches.central_problem(spec.problem_key())
    exact = problem.exact_components
    shown = {"Exact PCA": exact[: n_components_of(spec.components, dataset)]} | {
        PROTOCOLS[VARIANTS[key].protocol].title: nearest_basis(subspace.components, exact)
        if key == "ppca"
        else subspace.components
        for key, subspace in found.items()
    }
    charts.component_rows(shown, exact, dataset, problem.about.feature_names)


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
        reads_rows_first=spec.reads_rows_first,
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


@page(reads=True, formulas="central")
def show_central(selection: Selection) -> None:
    """Central algorithms."""
    dataset = selection.dataset

    spec = replace(central_spec(selection.spec), samples=None)
    answered, chosen = st.container(), st.container()
    every = ask("central_variants", chosen)
    variants = tuple(VARIANTS) if every else _curve_variants(spec)
    specs = feasible(spec, dataset, variants)
    # In a place of its own: what stands below stays, greyed, until its successor is there.
    with st.container():
        rows = family_caches.central_rows(tuple(specs.values()))
    session_ledger.charge_rows(rows)
    with answered:
        answer(rows, spec)
        st.button("Redraw noise", on_click=redraw_noise, help="New noise, same settings.")
        st.markdown("## Every run")
    dots(rows)
    if spec.epsilon > 1 and (every or spec.calibration == "classic"):
        st.caption("Classic calibration is proven up to ε = 1 alone, and is left out above.")
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("## The same at every ε")
        if session_ledger.curves(dataset.name):
            epsilon_curve(spec, dataset)
    with right:
        st.markdown(f"## The same with fewer {dataset.unit.many}")
        if session_ledger.curves(dataset.name):
            people_curve(spec, dataset)
    not_private("These curves and exact PCA", "are measured on the data themselves.")

    shown = _curve_variants(spec)
    found = {key: family_caches.batch(each).subspaces[0] for key, each in specs.items()}
    st.markdown("## What the components look like")
    components(spec, dataset, {key: found[key] for key in shown[:4] if key in found})
    st.caption(
        "PPCA's are turned within their span to the exact ones: only the span is drawn. How "
        f"good it is PPCA cannot tell: {PROTOCOLS['ppca'].silent_because}."
    )

    st.markdown("## What each promises")
    chain_state(found["ppca"])
    promises({key: found[key] for key in shown if key in found}, spec)
    session_ledger.enter(
        selection, "How PPCA's chains went", "R-hat and sample sizes are functions of the rows"
    )
    if spec.reads_rows_first:
        not_private(
            "Published centring and scaling",
            family_caches.central_problem(spec.problem_key()).about.statement,
        )
    else:
        st.caption(
            "Nothing is centred here: directions and variation are about zero, not the mean."
        )
    st.page_link(linked_page("sampler"), label="Watch PPCA's chains")

    take_away("central", rows)


# People needed for one component, on a page.

_FIGURE = "complexity"


def rows_there(spec: ComplexitySpec) -> Sequence[Row]:
    """Measurements finished so far."""
    return background_jobs.live(_FIGURE, (spec.sweep(),)).progress().rows[0]


def people_headline(spec: ComplexitySpec, place: DeltaGenerator) -> None:
    """The two slopes, once both can be told."""
    rows = rows_there(spec)
    slopes = _slopes(rows)
    with place:
        if len(slopes) < len(MECHANISMS) or len(rows) < len(spec.sweep().cells()):
            big_number(
                "d : d<sup>1.5</sup>",
                "is how the people needed grow with **PPCA** and with **MOD-SuLQ**, the theorems "
                "say. Measuring …",
            )
            return
        last = {row["protocol"]: row["samples"] for row in rows}
        times = last["modsulq"] / last["ppca"]
        big_number(
            f"{times:,.0f} ×" if times >= 10 else f"{times:.1f} ×",
            f"as many people are needed by **MOD-SuLQ** as by **PPCA** at d = {DIMENSIONS[-1]}, "
            f"for a correlation of {spec.correlation:g} at ε = {plain(spec.epsilon)}.",
            f"A hospital that measures {DIMENSIONS[-1]} things of everybody needs about "
            f"**{last['ppca']:,.0f}** patients with PPCA and **{last['modsulq']:,.0f}** with "
            "MOD-SuLQ. "
            f"People needed grow as $d^{{{slopes['ppca']:.2f}}}$ with PPCA and as "
            f"$d^{{{slopes['modsulq']:.2f}}}$ with MOD-SuLQ; the theorems say $d$ and "
            "$d^{3/2}$, up to logarithms.",
        )


def people_curves(spec: ComplexitySpec) -> None:
    """Bounds and measurements, filling in."""

    def draw(there: SweepProgress) -> None:
        rows = there.rows[0]
        slopes = _slopes(rows)
        figure = people_needed(
            rows,
            bounds(spec, DIMENSIONS, rows),
            slopes,
            dimensions=(DIMENSIONS[0], DIMENSIONS[-1]),
            dark=is_dark(),
        )
        told = ", ".join(f"{key} grows as d^{slope:.2f}" for key, slope in slopes.items())
        chart(figure, key=_FIGURE, alt=f"People needed against dimension: {told}.")

    live_figure(_FIGURE, (spec.sweep(),), draw, noun="measurements")


def what_is_silent(spec: ComplexitySpec) -> None:
    """Which theorem says nothing at these settings."""
    if not any(is_covered_by_theorem_4(spec, d) for d in DIMENSIONS):
        st.caption(
            "Theorem 4 speaks of correlations above about 0.992 alone; take ρ = 0.998 to see it."
        )
    st.caption(
        "The spectrum is given and nobody's rows are read, so nothing here enters the ledger."
    )


def _slopes(rows: Sequence[Row]) -> dict[str, float]:
    return {
        key: growth(rows, key)
        for key in MECHANISMS
        if sum(row["protocol"] == key for row in rows) > 1
    }


# How many people a private first component needs: theorems and measurements.


@page(formulas="sample_complexity")
def show_sample_complexity(selection: Selection) -> None:
    """How many people a private first component needs: theorems and measurements."""
    shared = selection.spec
    answer = st.container(key="answer_of_complexity")
    left, right = st.columns(2)
    correlation = ask("complexity_correlation", left)
    gap = ask("complexity_gap", right)
    spec = ComplexitySpec(
        epsilon=shared.epsilon, delta=shared.delta, gap=gap, correlation=correlation
    )
    people_headline(spec, answer)
    people_curves(spec)
    what_is_silent(spec)
    take_away("complexity", rows_there(spec))


# Inside the sampler: PPCA's Markov chains, and what their burn-in means for the promise.


@page(reads=True, formulas="sampler")
def show_sampler(selection: Selection) -> None:
    """Inside the sampler."""
    if selection.spec.components == selection.dataset.n_features:
        st.info(
            "With K at the number of features the subspace is the whole space: nothing is drawn."
        )
        st.stop()
    st.caption(
        "For experts: PPCA's private directions come out of a random walk, and its promise holds "
        "once the walk has forgotten where it began. Here one sees when that is."
    )
    answer = st.container()
    left, right = st.columns([3, 1], gap="large")
    n_sweeps = ask("sampler_sweeps", left)
    n_chains = ask("sampler_chains", right)
    spec = replace(central_spec(selection.spec), samples=None)
    chains, enough = watched(spec, n_chains, n_sweeps)
    with answer:
        chain_headline(chains, enough, spec)
        st.button("Redraw the chains", on_click=redraw_noise, help="New chains, same settings.")
    not_private(
        "Traces, R-hat, effective sample sizes, the number of sweeps and the verdict",
        "are functions of the data and are not released: the last state of one chain is.",
    )
    show_traces(chains, enough)
    diagnostics(chains)
    what_it_means(chains, enough, spec)
    show_promise_of_chains(chains, spec, selection.dataset)
