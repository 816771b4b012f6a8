"""What Play says of its settings: drawn again by itself when epsilon is let go."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.pca.export import recipe_of
from dpcore.experiments.pca.runs import reference_bytes
from dpcore.experiments.pca.sentences import percent, spread_of
from dpcore.experiments.pca.spec import RunSpec, as_published
from dpcore.figures.tradeoffs.energy import protocol_dots
from dpcore.pca.protocols.register import PROTOCOLS
from pages.explore.play.limits_table import limits_table
from pages.explore.play.message_sizes import travelled
from pages.explore.play.own_estimate import own_estimate
from pages.server import page_lock, result_cache
from pages.sidebar.controls import current
from pages.sidebar.parts import is_alone
from pages.widgets import component_images, session_ledger
from pages.widgets.downloads import take_away
from pages.widgets.draws_to_come import make_the_rest
from pages.widgets.energy_explorer.component import fill
from pages.widgets.figure_tools.small_type import forget_promises
from pages.widgets.guarantee_card import guarantee_tabs
from pages.widgets.messages import errors_shown, how_computed, not_private


def answer() -> None:
    """Everything under the explorer, and what the explorer shows."""
    forget_promises()
    # There in every run, also in one that an error ends: its place at the side is kept.
    spent = st.sidebar.container()
    selection = current()
    with page_lock.taken(), errors_shown():
        spec, dataset = selection.spec, selection.dataset
        titles = {key: PROTOCOLS[key].title for key in spec.protocols}
        session_ledger.pay_run(spec, spec.repetitions)
        rows, to_come = result_cache.first_rows(spec)
        fill(spec, dataset, rows)
        make_the_rest(spec, to_come)
        if not is_alone():  # whoever let the slider go has seen the number
            page_lock.breath()
        everything = result_cache.subspaces(spec)
        problem = result_cache.problem(spec.problem_key())
        if selection.compare:
            lead = spread_of(rows, spec.protocols[0])
            st.markdown(against_published(spec, lead.mean))

        limits_table(selection, problem.about)
        if "local" in spec.protocols[1:]:
            # The other end of the scale, for whoever chose to see it.
            component_images.component_rows(
                {titles["local"]: everything["local"].components},
                problem.exact_components,
                dataset,
                result_cache.feature_names(spec),
            )
        st.markdown("## What travelled")
        one_draw = replace(spec, repetitions=1)
        travelled(result_cache.rows(one_draw), *reference_bytes(spec, problem))

        own_estimate(spec, problem.n_features)

        st.markdown("## What it promises")
        session_ledger.so_far(dataset.name, dataset.title, spec.delta, spent)
        guarantee_tabs(
            {titles[key]: subspace.guarantee for key, subspace in everything.items()},
            preparation=spec.preparation,
            key="play_promises",
        )
        not_private("Exact PCA, the 100 % line and the cosines", "read the rows without any noise.")
        if spec.preparation == "published":
            not_private("Published preparation", result_cache.statement(spec))

        take_away(
            "play",
            rows,
            figures={"": lambda: protocol_dots(rows)},
            script=recipe_of(spec).script,
            notebook=recipe_of(spec).notebook,
        )
        how_computed("play", "pca")


def against_published(spec: RunSpec, mean: float) -> str:
    """What the published choices keep, beside the first protocol's mean; paid for like the rest."""
    printed = replace(as_published(spec), protocols=spec.protocols[:1])
    session_ledger.pay_run(printed, spec.repetitions)
    before = spread_of(result_cache.rows(printed), spec.protocols[0])
    return (
        f"The published choices (published calibration, triangle noise, svd truncation) keep "
        f"**{percent(before.mean)}**: a difference of "
        f"**{100 * (mean - before.mean):+.0f} points** for a promise that is kept."
    )
