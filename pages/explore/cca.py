"""CCA: what two views of the same people share, found privately."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.cca_findings import captured, cca_comparison, cca_headline
from dpcore.experiments.findings import percent
from dpcore.experiments.payments_pairs import dataset_of
from pages.shared import cca_panels, runs_cca, spent
from pages.shared.cards import big_number, errors_shown, how_computed, not_private
from pages.shared.cca import choose_run, choose_views
from pages.shared.cca_curves import three_curves
from pages.shared.cca_formulas import HOW_CCA_IS_COMPUTED, ONLY_DIRECTIONS
from pages.shared.controls import current

shared = current()
answer = st.container()
with errors_shown():
    with st.container(border=True):
        source, values = choose_views()
        if source is None:
            st.stop()
        views = runs_cca.views(source)
        choice = choose_run(shared, source, views, values)
    spec, lead = choice.spec, choice.lead
    problem = runs_cca.problem(source, spec)
    cca_panels.pay(source, spec, problem)
    draws = {key: runs_cca.found(source, spec, key) for key in spec.protocols}
    rows = [row for found in draws.values() for _, row in found]
    private = [found for found, _ in draws[lead]]
    exact = runs_cca.exact(source, spec)

    with answer:
        words = big_number(
            percent(captured(rows, lead)), cca_headline(rows, lead), cca_comparison(rows, lead)
        )
        if shared.compare:
            printed = replace(spec.as_published(), protocols=(lead,))
            cca_panels.pay(source, printed, problem)
            published = runs_cca.found(source, printed, lead)
            share = captured([row for _, row in published], lead)
            words.markdown(
                f"With the poster's noise it is **{percent(share)}**, for an exact ε of "
                f"{published[0][1]['exact_epsilon']:.2g}."
            )

    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("##### Correlations found")
        figure = cca_panels.correlations(private, problem, lead)
    with right:
        st.markdown("##### What it promises")
        cca_panels.promises(draws, spec)

    st.markdown("##### The directions")
    cca_panels.directions(views, exact, private[0], lead)

    if choice.only_directions:
        st.info(ONLY_DIRECTIONS, icon="🔒")
    else:
        st.markdown("##### The same people along exact and along private directions")
        not_private(
            "Projecting and clustering people",
            "the directions are private, people's own scores along them are not. "
            "“Release only the directions” above leaves them out.",
        )
        cca_panels.people(
            views,
            runs_cca.people(source, spec, None),
            runs_cca.people(source, spec, lead),
            lead,
        )
        spent.uncovered(
            dataset_of(source), "People's scores along directions", "they are computed from rows"
        )
    cca_panels.so_far(source, shared.spec.delta)

    st.markdown("##### More ε, more people, more δ")
    if spent.curves(dataset_of(source)):
        three_curves(choice, problem.random_share)

    not_private(
        "Exact correlations, the captured share and the agreement of directions",
        "read the rows without any noise.",
    )
    if spec.preparation == "published":
        not_private("Published preparation", problem.statement)
    st.caption(views.provenance)
    st.markdown("##### Take it away")
    cca_panels.carry_off(choice, rows, figure)
    how_computed("cca", HOW_CCA_IS_COMPUTED)
