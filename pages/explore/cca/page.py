"""CCA: what two views of the same people share, found privately."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.cca.sentences import captured, cca_comparison, cca_headline
from dpcore.experiments.ledger.family_charges import dataset_of
from dpcore.experiments.pca.sentences import percent
from dpcore.experiments.pca.spec import as_published
from dpcore.privacy.card import say_number
from pages.explore.cca import panels
from pages.explore.cca.controls import choose_run, choose_views
from pages.explore.cca.curves import three_curves
from pages.server import family_cache
from pages.sidebar.controls import current
from pages.widgets import session_ledger
from pages.widgets.messages import big_number, errors_shown, formulas, how_computed, not_private

shared = current()
answer = st.container()
with errors_shown():
    with st.container(border=True):
        source = choose_views()
        if source is None:
            st.stop()
        views = family_cache.views(source)
        selection = choose_run(shared.spec, source, views)
    spec, lead = selection.spec, selection.lead
    # In a place of its own: what stands below stays, greyed, until its successor is there.
    with st.container():
        problem = family_cache.cca_problem(spec)
        panels.pay(spec, problem)
        draws = {key: family_cache.found_pairs(spec, key) for key in spec.protocols}
    rows = [row for found in draws.values() for _, row in found]
    private = [found for found, _ in draws[lead]]
    exact = family_cache.exact_pairs(spec)

    with answer:
        words = big_number(
            percent(captured(rows, lead)), cca_headline(rows, lead), cca_comparison(rows, lead)
        )
        if shared.compare:
            printed = replace(as_published(spec), protocols=(lead,))
            panels.pay(printed, problem)
            published = family_cache.found_pairs(printed, lead)
            share = captured([row for _, row in published], lead)
            words.markdown(
                f"With the poster's noise it is **{percent(share)}**, for an exact ε of "
                f"{say_number(published[0][1]['exact_epsilon'])}."
            )

    # One idea a tab.
    found, directions, people, curves, promised = st.tabs(
        ["Correlations", "Directions", "People", "More ε, people, δ", "What it promises"]
    )
    with found:
        figure = panels.correlations(private, problem, lead)
    with directions:
        panels.directions(views, exact, private[0], lead)
    with people:
        if selection.only_directions:
            st.info(formulas("cca_directions"), icon="🔒")
        else:
            not_private(
                "Projecting and clustering people",
                "the directions are private, people's own scores along them are not. "
                "“Release only the directions” above leaves them out.",
            )
            panels.people(
                views, family_cache.people(spec, None), family_cache.people(spec, lead), lead
            )
            session_ledger.uncovered(
                dataset_of(source),
                "People's scores along directions",
                "they are computed from rows",
            )
    with curves:
        if session_ledger.curves(dataset_of(source)):
            three_curves(selection, problem.random_share)
    with promised:
        panels.promises(draws, spec)
    panels.so_far(source, shared.spec.delta)

    not_private(
        "Exact correlations, the captured share and the agreement of directions",
        "read the rows without any noise.",
    )
    if spec.preparation == "published":
        not_private("Published preparation", problem.statement)
    st.caption(views.provenance)
    panels.carry_off(selection, rows, figure)
    how_computed("cca")
