"""All options of a question: the smallest ε of each algorithm, preparation and kind of trust."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from dpcore.experiments.decide.decision import (
    CODED,
    Option,
    is_recommended_for_bytes,
    with_coded_messages,
)
from dpcore.experiments.decide.run_statistics import FRESH_RUNS, reaches_target
from dpcore.experiments.decide.targets import Recommendation, SearchRound, recommend
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.summaries import bytes_in_words, percent
from dpcore.experiments.pca import RunSpec
from dpcore.pca.protocols.register import PROTOCOLS
from pages import background, cached
from pages.components import ledger, notices


def draw_all_options(spec: RunSpec, target: float) -> None:
    """Draw the search over every algorithm and preparation, when it is requested."""
    key = ("all options", spec, target)
    job = background.find(key)
    if job is None and not st.button("Compare every algorithm"):
        st.caption("Finds the smallest ε for each algorithm, preparation and kind of trust.")
        return
    job = background.start(key, partial(_search_all, spec, target))
    background.watch(job, partial(_draw_search, target), "rounds")


def draw_message_sizes(option: Option) -> None:
    """Draw whether coded matrices are recommended for their size, when it is requested.

    option: Option of DPdisPCA.
    """
    key = ("coded messages", option.spec)
    job = background.find(key)
    if job is None and not st.button("Compare smaller messages"):
        st.caption("Sends coded matrices in place of R directions, in the same runs.")
        return
    job = background.start(key, partial(_run_coded, option))
    background.watch(job, partial(_draw_coded, option), "comparison")


def _run_coded(option: Option) -> Iterator[Option]:
    yield with_coded_messages(option, workers=1, store=Store(), problems=cached.problems)


def _draw_coded(option: Option, options: Sequence[Option]) -> None:
    for coded in options:
        ledger.charge_rows(list(coded.searched))
        st.markdown(message_advice(coded, option))


def message_advice(coded: Option, option: Option) -> str:
    """Return which message to send where bytes matter, with the numbers of both."""
    title = PROTOCOLS[CODED].title
    numbers = ", ".join(
        f"{name} capture {percent(option.mean)} with "
        f"{bytes_in_words(option.bytes_per_site)} per site"
        for name, option in ((title, coded), ("R directions", option))
    )
    advice = "Send R directions."
    if is_recommended_for_bytes(coded, option):
        advice = f"Where bytes matter, send {title.lower()}."
    return f"**{advice}** {numbers}. The guarantee is the same."


def _search_all(spec: RunSpec, target: float) -> Iterator[SearchRound | Recommendation]:
    base = replace(spec, repetitions=FRESH_RUNS)
    options: dict[str, Any] = {"workers": 1, "store": Store(), "problems": cached.problems}
    return recommend(base, target, **options)


def _draw_search(target: float, steps: Sequence[SearchRound | Recommendation]) -> None:
    rows: list[Row] = [row for step in steps for row in step.rows]
    with notices.errors_as_messages():
        ledger.charge_rows(rows)
        for step in steps:
            if isinstance(step, Recommendation):
                st.markdown(step.sentence)
        lines = _table_of(target, [step for step in steps if isinstance(step, SearchRound)])
        if lines:
            whole = st.column_config.NumberColumn(format="%,.0f")
            st.dataframe(lines, hide_index=True, column_config={"Bytes per site": whole})


def _table_of(target: float, rounds: Sequence[SearchRound]) -> list[dict[str, Any]]:
    """Return one line per algorithm and preparation that reaches the target: its smallest ε."""
    smallest: dict[Any, dict[str, Any]] = {}
    for step in sorted(rounds, key=lambda search_round: search_round.value, reverse=True):
        for option in step.ranked:
            if not reaches_target(option.energies, target):
                continue
            smallest[option.configuration] = {
                "Option": option.configuration.label,
                "ε": step.value,
                "Captured energy": f"{100 * option.mean:.0f} %",
                "Trusted": str(option.trusted),
                "Bytes per site": option.bytes_per_site,
            }
    return sorted(smallest.values(), key=lambda line: line["ε"])
