"""What a release would be worth: tried on rows that a dictionary makes up, nothing private read."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Any

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.figures.tradeoffs.energy import energy_curves
from dpcore.privacy.card import say_delta
from dpcore.releases.dictionary import Dictionary, parsed_dictionary
from dpcore.releases.examples import EXAMPLES, example
from dpcore.releases.planning import plan
from pages.server import page_lock
from pages.server.result_cache import counted_out
from pages.widgets.charts import chart, is_dark
from pages.widgets.messages import big_number
from pages.widgets.plain_text import said

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_DELTA, _DRAWS, _MOST_ROWS = 1e-6, 2, 10_000_000
_TRIED, _FILE = "_plan_tried", "plan_dictionary"


@dataclass(frozen=True)
class _Asked:
    dictionary: str
    n_rows: int
    n_components: int


def dictionary_alone() -> None:
    """Plan without a table: from a dictionary's file, or an example's."""
    left, right = st.columns([3, 2], gap="large")
    uploaded = left.file_uploader("A data dictionary (TOML)", "toml", key=_FILE)
    name = right.selectbox("Or that of an example", EXAMPLES, key="plan_example")
    try:
        dictionary = (
            example(name)[1]
            if uploaded is None
            else parsed_dictionary(uploaded.getvalue(), uploaded.name)
        )
    except ParameterError as error:
        st.error(said(error), icon="⚠️")
    else:
        plan_for(dictionary)


def plan_for(dictionary: Dictionary) -> None:
    """Ask for public numbers, try every ε, and say which is enough."""
    left, middle, right = st.columns(3, gap="large")
    n_rows = left.number_input(
        "Rows, as far as that is public", 10, _MOST_ROWS, 1_000, key="plan_rows",
        help="Nobody's table is counted for it: type what everybody knows, or what you hope for.",
    )  # fmt: skip
    most = min(dictionary.n_features, 20)
    n_components = 1
    if most > 1:
        n_components = middle.slider("Components K", 1, most, min(3, most), key="plan_components")
    target = right.slider(
        "Wanted: % of what the best K directions capture", 50, 99, 90, key="plan_wanted"
    )
    asked = _Asked(dictionary.toml(), n_rows, n_components)
    if st.button("Try it on made-up rows", key="plan_try"):
        with page_lock.others():
            st.session_state[_TRIED] = asked, _tried(dictionary, asked)
    before, rows = st.session_state.get(_TRIED, (None, []))
    if rows and before == asked:
        _answer(rows, asked, target / 100)
    else:
        st.caption(
            "Rows are made up from the limits and levels alone, three hidden traits behind them; "
            "the noise is a release's own. Whether your people look like that, only their release "
            "tells."
        )


def _tried(dictionary: Dictionary, asked: _Asked) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for epsilon in counted_out(EPSILONS, "steps of ε"):
        tried = plan(
            dictionary, n_rows=asked.n_rows, epsilon=epsilon, delta=_DELTA,
            n_components=asked.n_components, n_draws=_DRAWS,
            n_factors=min(3, dictionary.n_features),
        )  # fmt: skip
        best = tried.best[:, -1]
        rows += [
            {
                "protocol": "ag",
                "epsilon": epsilon,
                "energy_ratio": float(ratio),
                "best": float(best.mean()),
                "visible": tried.visible_share,
            }
            for ratio in tried.captured[:, -1] / best
        ]
    # One floor: around each noisy centre the best is a little another.
    around = fmean(float(row["best"]) for row in rows)
    floor = asked.n_components / dictionary.n_features / around
    return [row | {"random_ratio": floor} for row in rows]


def _answer(rows: list[dict[str, Any]], asked: _Asked, target: float) -> None:
    enough = [
        epsilon
        for epsilon in EPSILONS
        if min(row["energy_ratio"] for row in rows if row["epsilon"] == epsilon) >= target
    ]
    what = f"{target:.0%} of what the best {asked.n_components} would capture"
    size = f"with {asked.n_rows:,} rows like these, made up from the dictionary"
    if enough:
        visible = next(row["visible"] for row in rows if row["epsilon"] == enough[0])
        big_number(
            f"ε = {enough[0]:g}",
            f"is enough for {what}, {size}.",
            f"Nothing private was read. At this ε a direction is lost in the noise if it carries "
            f"less than **{visible:.1%}** of the variation: more components than there are such "
            "directions release noise. Twice the rows halve that.",
        )
    else:
        big_number("ε > 10", f"would be needed for {what}, {size}.", "Nothing private was read.")
    chart(
        energy_curves(
            rows, "epsilon", axis_title="ε of one release (left is more private)", dark=is_dark()
        ),
        key="plan_curve",
        alt="Energy captured on made-up rows, relative to the best, against ε.",
    )
    st.caption(f"At δ = {say_delta(_DELTA)}; two draws of the noise at each ε.")
