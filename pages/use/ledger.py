"""Ledger: the total of a visit's results per data set, the cap, and real releases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import streamlit as st

from dpcore.experiments.engine.summaries import counted, percent
from dpcore.figures.privacy import running_total
from dpcore.params import DELTAS, EPSILONS
from dpcore.privacy import (
    Accountant,
    Cap,
    PrivacyBudget,
    composed_mu,
    gaussian_epsilon,
    gaussian_mu,
)
from dpcore.privacy.cap import say_rounded_down
from dpcore.privacy.guarantee_in_words import one_in, round_up, say_delta, say_number
from pages import cached
from pages.components import ledger, notices
from pages.components.charts import is_dark, show_figure
from pages.components.notices import escape_markdown
from pages.navigation import link_to_parts
from pages.number_format import plain
from pages.sidebar import Selection

CONTROLS = ()
Row = dict[str, Any]
_N_EXAMPLES = 10
_COLUMNS: dict[str, Any] = {
    "what": st.column_config.TextColumn("Released"),
    "epsilon": st.column_config.NumberColumn("ε of one", format="%.3g"),
    "total_epsilon": st.column_config.NumberColumn(
        "Total ε",
        format="%.3g",
        help="Total of a plan of this line and all lines above it.",
    ),
    "delta": st.column_config.NumberColumn("δ of one", format="%.2g"),
    "who_pays": "Charged to",
    "seen_as": "Algorithm",
    "noise_on": "Noise added to",
    "mu": "μ",
}


def show(selection: Selection) -> None:
    """Draw the total of one data set with its lines, the cap, and releases of real rows."""
    accountants, projects = ledger.accountants(), ledger.projects()
    delta = selection.spec.delta
    if not accountants:
        if projects:
            _draw_title(_say_used(projects))
            _draw_cap(None, delta)
        else:
            _draw_example(delta)
    else:
        titles = _titles()
        names = sorted(accountants, key=lambda name: name != selection.dataset.name)
        name = names[0]
        heading = st.container()
        if len(names) > 1:
            name = st.selectbox(
                "Data set",
                names,
                format_func=lambda name: titles.get(name, "a former table"),
                key="ledger_data",
            )
        title = titles.get(name, "a former table")
        _draw_total(heading, accountants[name], title, delta, projects)
        _draw_lines(accountants, name, delta)
    for project in projects:
        _draw_project(project)
    notices.explain_computation("ledger")


def _titles() -> dict[str, str]:
    """Return the titles of all data sets, including the visitor's own table."""
    own_status = st.session_state.get("_own_status")
    statuses = (
        cached.dataset_statuses()
        if own_status is None
        else (*cached.dataset_statuses(), own_status)
    )
    return {status.name: status.title for status in statuses}


# ---- the total


def _draw_title(title: str) -> None:
    st.title(title, anchor=False)
    link_to_parts("ledger")


def _draw_example(delta: float) -> None:
    """Draw the total of an example, because nothing was charged in this visit."""
    mu = gaussian_mu(PrivacyBudget(1.0, delta))
    rows: list[Row] = [
        {
            "draws": 1,
            "released": "components at ε = 1",
            "total_epsilon": gaussian_epsilon(delta, 1.0, composed_mu(*[mu] * count)),
            "sum_of_epsilons": float(count),
        }
        for count in range(1, _N_EXAMPLES + 1)
    ]
    _draw_title("ε = 0: nothing was spent in this visit")
    total = say_number(rows[-1]["total_epsilon"])
    curve, words = st.columns([3, 2], gap="large")
    with curve:
        _draw_running_total(rows)
    with words:
        st.markdown(
            f"An example: {_N_EXAMPLES} releases at ε = 1 cost ε = {total} together, not "
            f"{_N_EXAMPLES}, at δ = {say_delta(delta)}: independent noises do not add up in full."
        )
        _draw_cap(None, delta)


def _say_used(projects: Sequence[ledger.ProjectSummary]) -> str:
    parts = (
        f"“{escape_markdown(project.name)}” used {project.used} of its cap" for project in projects
    )
    return ", ".join(parts)


def _draw_total(
    heading: Any,
    accountant: Accountant,
    title: str,
    delta: float,
    projects: Sequence[ledger.ProjectSummary],
) -> None:
    rows = accountant.rows(delta)
    with heading:
        if not rows:
            nothing = f"ε = 0: nothing private was shown of {escape_markdown(title)}"
            _draw_title(_say_used(projects) if projects else nothing)
            _draw_cap(accountant, delta)
            return
        last = rows[-1]
        _draw_title(f"ε = {say_number(last['total_epsilon'])} spent on {escape_markdown(title)}")
    curve, words = st.columns([3, 2], gap="large")
    with curve:
        _draw_running_total(rows)
    with words:
        stopping = say_number(accountant.total(delta, stopping=True))
        st.markdown(
            f"On real data, {counted(accountant.n_releases, 'release')} would cost each person "
            f"this much at δ = {say_delta(delta)}. **If you choose adaptively: ε = {stopping}.**",
            help="The first number holds for a plan that was fixed beforehand. The plain sum would "
            f"be ε = {say_number(last['sum_of_epsilons'])}.",
        )
        _draw_cap(accountant, delta)
        if accountant.holds_noise(ledger.accountants().values()):
            notices.mark_not_private(
                "Shared noise.",
                "Several results reused the same noise, so together they hide no one; the total "
                "assumes fresh noise for each.",
            )


def _draw_running_total(rows: list[Row]) -> None:
    total = say_number(rows[-1]["total_epsilon"])
    show_figure(
        running_total(rows, dark=is_dark()),
        key="ledger_total",
        alt=f"ε after each release, up to {total}.",
    )


# ---- the cap


def _draw_cap(accountant: Accountant | None, delta: float) -> None:
    cap = ledger.cap()
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Set a cap" if cap is None else "Change the cap"):
            _choose_cap(delta)
        if cap is not None:
            st.button("Remove the cap", on_click=ledger.set_cap, args=(None,))
    if cap is None or accountant is None:
        return
    bound = accountant.bound_under_cap()
    share = cap.share(bound)
    gaussian = say_rounded_down(cap.remaining(bound))
    remaining = f"One more Gaussian release may have ε = {gaussian} at most"
    if 0 < bound.epsilon < math.inf:
        remaining += f", a pure one ε = {say_rounded_down(cap.remaining_pure(bound))}"
    st.markdown(
        f"{percent(share)} of the cap ε = {plain(cap.epsilon)}, δ = {say_delta(cap.delta)}, is "
        f"used. {remaining}.",
        help=ledger.SHARES,
    )
    st.progress(min(1.0, share))
    if accountant.before:
        before = sum(charge.draws for charge in accountant.before.values())
        st.caption(f"{counted(before, 'release')} came before the cap and are not in this share.")


def _choose_cap(delta: float) -> None:
    st.markdown(
        "Pages then refuse every result that would exceed the cap. It counts from now on, for "
        "each data set, whenever you stop."
    )
    epsilon = st.select_slider(
        "ε", EPSILONS, value=2.0, format_func=plain, key="ledger_cap_epsilon"
    )
    cap_delta = st.select_slider(
        "δ", DELTAS, value=delta, format_func=say_delta, key="ledger_cap_delta"
    )
    st.caption(f"δ is {one_in(cap_delta)}.")
    st.button(
        "Set the cap",
        type="primary",
        on_click=ledger.set_cap,
        args=(Cap(epsilon, cap_delta),),
        key="ledger_cap_set",
    )


# ---- lines


def _draw_lines(accountants: dict[str, Accountant], name: str, delta: float) -> None:
    accountant = accountants[name]
    rows = accountant.rows(delta)
    if rows:
        draw_table(rows)
    _draw_sites(accountant, delta)
    if accountant.uncovered:
        lines = [f"- **{what}**: {why}" for what, why in accountant.uncovered.items()]
        st.markdown(":red-badge[not private] No total includes these:\n\n" + "\n".join(lines))
    st.button(
        "Clear these lines",
        on_click=ledger.clear,
        args=(name,),
        help="With real people, clearing the lines would not undo the releases.",
    )


def draw_table(rows: list[Row]) -> None:
    """Draw one line per charge; its toolbar saves them as CSV. Each ε is rounded up."""
    st.dataframe(
        [
            row
            | {name: _rounded_up(row[name]) for name in ("epsilon", "total_epsilon")}
            | {"what": f"{row['draws']} × {row['released']}, {row['mechanism']}"}
            | {"mu": "–" if row["mu"] is None else f"{row['mu']:.3g}"}
            for row in rows
        ],
        hide_index=True,
        width="stretch",
        column_order=tuple(_COLUMNS),
        column_config=_COLUMNS,
    )


def _rounded_up(epsilon: float) -> float:
    return round_up(epsilon, 3) if math.isfinite(epsilon) else epsilon


def _draw_sites(accountant: Accountant, delta: float) -> None:
    """Write the total of the people of each site, if the totals differ."""
    if not accountant.has_sites:
        return
    totals = accountant.epsilon_by_site(delta)
    if len(set(totals.values())) < 2:
        return
    parts = (
        ("other sites" if site is None else f"site {site + 1}") + f": ε = {say_number(epsilon)}"
        for site, epsilon in totals.items()
    )
    st.markdown(f"**By site,** in the latest split: {', '.join(parts)}.")


# ---- real releases


def _draw_project(project: ledger.ProjectSummary) -> None:
    st.subheader(f"Released: {escape_markdown(project.name)}", anchor=False)
    cap = project.cap
    st.markdown(
        f"{counted(len(project.releases), 'release')} used **{project.used}** of the cap "
        f"ε = {say_number(cap.epsilon)} at δ = {say_delta(cap.delta)}.",
        help=ledger.SHARES,
    )
    st.dataframe(
        list(project.releases),
        hide_index=True,
        width="stretch",
        column_config={"δ": st.column_config.NumberColumn(format="%.2g")},
    )
    st.caption(project.lifetime)
