"""Sections of the ledger page: the total of one data set, its entries, and what none covers."""

from __future__ import annotations

import math

import streamlit as st

from dpcore.experiments.findings import counted
from dpcore.experiments.recipes import csv_of
from dpcore.experiments.spending import Account
from dpcore.figures.spending import running_total
from dpcore.privacy.card import one_in, say_number
from pages.shared import runs, spent
from pages.shared.cards import big_number, chart, is_dark, not_private

Row = dict[str, object]

_COLUMNS = {
    "released": "Released",
    "draws": "Draws",
    "epsilon": st.column_config.NumberColumn("ε of one", format="%.3g"),
    "total_epsilon": st.column_config.NumberColumn(
        "Total ε", format="%.3g", help="After this line and all above it."
    ),
    "delta": st.column_config.NumberColumn("δ of one", format="%.2g"),
    "who_pays": "Who pays",
    "seen_as": "By",
    "noise_on": "Noise added to",
    "mechanism": "Noise",
    "mu": "μ",
}


def titles() -> dict[str, str]:
    """What people call the data sets that have a name."""
    return {status.name: status.title for status in runs.dataset_statuses()}


def total(account: Account, rows: list[Row], title: str) -> None:
    """What each person would have spent, as the biggest thing."""
    delta, last = rows[-1]["total_delta"], rows[-1]
    big_number(
        f"ε = {say_number(last['total_epsilon'])}",
        f"is what each person in {title} would have spent by now, at δ\u00a0=\u00a0{delta:g} "
        f"({one_in(delta)}), were they real and every release drawn with fresh noise.",
        f"{counted(account.n_releases, 'release')}. Adding up every ε would say "
        f"{say_number(last['sum_of_epsilons'])}.",
    )


def held(account: Account) -> None:
    """What the laboratory did that a deployment must not, where it did."""
    if account.holds_noise:
        not_private(
            "Noise that was held",
            "several of these results scale one draw of noise, so that settings can be compared, "
            "while the total takes fresh noise for each. From A + σE and A + τE anybody can solve "
            "for A, without the seed: what was really shown here has an infinite ε, not a sum.",
        )


def running(rows: list[Row], name: str) -> None:
    """The total after each release, once there is more than one."""
    if len(rows) < 2:
        return
    chart(
        running_total(rows, dark=is_dark()),
        key=f"running_{name}",
        alt=f"Epsilon after each release, up to {say_number(rows[-1]['total_epsilon'])}.",
    )


def table(rows: list[Row]) -> None:
    """One line a payment; what bounds a risk is rounded up, as everywhere."""
    st.dataframe(
        [
            row
            | {name: _rounded_up(row[name]) for name in ("epsilon", "total_epsilon")}
            | {"mu": "–" if row["mu"] is None else f"{row['mu']:.3g}"}
            for row in rows
        ],
        hide_index=True,
        width="stretch",
        column_order=tuple(_COLUMNS),
        column_config=_COLUMNS,
    )


def _rounded_up(epsilon: float) -> float:
    return float(say_number(epsilon)) if math.isfinite(epsilon) else epsilon


def by_site(account: Account, delta: float) -> None:
    """What the people of each site of the latest split have spent."""
    if not account.has_sites:
        return
    found = account.epsilon_by_site(delta)
    if len(set(found.values())) < 2:
        st.markdown("**By site:** everybody has spent the same, whichever site is theirs.")
        return
    said = "; ".join(
        ("people of the other sites" if site is None else f"people of site {site + 1}")
        + f" ε = **{say_number(epsilon)}**"
        for site, epsilon in found.items()
    )
    st.markdown(f"**By site,** in the latest split: {said}.")


def beyond(account: Account) -> None:
    """What was shown that no budget covers."""
    if account.uncovered:
        lines = [f"- **{what}**: {why}" for what, why in account.uncovered.items()]
        st.markdown(
            ":red-badge[not private] Beyond any budget, and none of it in the total:\n\n"
            + "\n".join(lines)
        )


def carry_off(rows: list[Row], name: str, title: str) -> None:
    """The entries as a file, and the only way to be rid of them."""
    with st.container(horizontal=True):
        if rows:
            st.download_button(
                "Ledger (CSV)", csv_of(rows), f"ledger-{name}.csv", "text/csv", key=f"csv_{name}"
            )
        st.button(
            f"Forget everything shown of {title}",
            key=f"forget_{name}",
            on_click=spent.forget,
            args=(name,),
            help="With real people this would be forgetting, not undoing.",
        )
