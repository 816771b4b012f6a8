"""The ledger: what has been released to this visitor, and what it would have cost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import streamlit as st

from dpcore.experiments.export import csv_of
from dpcore.experiments.summaries import counted, percent
from dpcore.figures.privacy import running_total
from dpcore.params import DELTAS, EPSILONS
from dpcore.privacy import Accountant, Cap
from dpcore.privacy.accountant import spoken_down
from dpcore.privacy.guarantee_in_words import one_in, round_up, say_delta, say_number
from dpcore.release.certificate_label import share_in_words
from dpcore.release.project import Project
from pages.server import caches
from pages.shell.controls import current
from pages.shell.navigation import PAGES, linked_page
from pages.shell.parameters import plain
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.notices import big_number, errors_shown, formulas, not_private, plainly

# Sections of the ledger page: the total of one data set, its entries, and what none covers.

Row = dict[str, Any]

_WHERE_ONE_SPENDS = ("play", "statistics", "classification", "central")

# What a narrow screen has room for comes first.
_COLUMNS: dict[str, Any] = {
    "what": st.column_config.TextColumn("Released", width=195),
    "epsilon": st.column_config.NumberColumn("ε of one", format="%.3g", width=75),
    "total_epsilon": st.column_config.NumberColumn(
        "Total ε",
        format="%.3g",
        width=75,
        help="Of a plan of exactly these releases: this line and all above it.",
    ),
    "delta": st.column_config.NumberColumn("δ of one", format="%.2g"),
    "who_pays": "Who pays",
    "seen_as": "By",
    "noise_on": "Noise added to",
    "mu": "μ",
}


def dataset_titles() -> dict[str, str]:
    """What people call the data sets that have a name."""
    return {status.name: status.title for status in caches.dataset_statuses()}


def total(accountant: Accountant, rows: list[Row], title: str) -> None:
    """The total of a plan as the biggest thing, and of one that stops as it suits."""
    delta, last = rows[-1]["total_delta"], rows[-1]
    words = big_number(
        f"ε = {say_number(last['total_epsilon'])}",
        f"is what a plan of exactly these {counted(accountant.n_releases, 'release')}, fixed "
        f"beforehand, would have cost each person in {title} at δ\u00a0=\u00a0{say_delta(delta)} "
        f"({one_in(delta)}), were they real and every release drawn with fresh noise.",
        f"**If you decide as you go when to stop: ε = "
        f"{say_number(accountant.total(delta, stopping=True))}.** If you look at each result "
        "before choosing the next, the first number does not apply to you; use the second.",
    )
    words.markdown(f"Adding up every ε would say {say_number(last['sum_of_epsilons'])}.")


def nothing_yet() -> None:
    """That nothing was spent, and where something is."""
    big_number("ε = 0", "Nothing private has been shown in this visit yet, and nothing was spent.")
    st.markdown("Each of these computes a private result, and it is entered here:")
    with st.container(horizontal=True):
        for name in _WHERE_ONE_SPENDS:
            st.page_link(linked_page(name), label=PAGES[name].title)


def real_releases(project: Project) -> None:
    """Releases of real rows: what each cost the people in them, and what is left for good."""
    made, cap, total = project.releases(), project.cap, project.total()
    st.markdown(
        f"## Released for real: {plainly(project.folder.name)}\n\n{counted(len(made), 'release')} "
        f"of your own table used **{share_in_words(total.share)}** of the cap, ε = "
        f"{say_number(cap.epsilon)} at δ = {say_delta(cap.delta)}. The project's ledger outlives "
        "this visit, and nothing here loses it. Everything else on this page is simulation."
    )
    st.dataframe(
        [
            {
                "Released": each.name,
                "ε of one": round_up(each.epsilon, 3),
                "δ of one": each.delta,
                "When (UTC)": each.charged,
            }
            for each in made
        ],
        hide_index=True,
        width="stretch",
        column_config={"δ of one": st.column_config.NumberColumn(format="%.2g")},
    )


def compared(rows: list[Row]) -> None:
    """What one of these releases costs alone, and what somebody else spent."""
    alone = max(row["epsilon"] for row in rows)
    st.markdown(
        f"**To compare:** any one of these releases alone costs ε = {say_number(alone)} at most. A "
        "page here runs over and over, to show the spread; a publication runs once. "
        "The US census of 2020 published its redistricting tables about people at ε = 17.14, "
        "δ = 10⁻¹⁰ (Abowd et al. 2022, Harvard Data Science Review)."
    )


def cap_controls(delta: float) -> None:
    """Set a cap, or say which one there is."""
    chosen = session_ledger.cap()
    with st.container(border=True):
        if chosen is None:
            st.markdown(
                "**Set a cap beforehand.** Every page whose runs are entered here then refuses "
                "what would exceed it."
            )
        else:
            st.markdown(
                f"**Cap: ε = {plain(chosen.epsilon)} at δ = {say_delta(chosen.delta)}** "
                f"({one_in(chosen.delta)}) for each person of any one data set, whenever you stop. "
                "It counts what has been released since it was set, in this visit, but for what "
                "was forgotten, and takes the noise of each release as fresh. Exact lines and "
                "whatever else has a red badge are beyond it."
            )
        if session_ledger.is_going_on():
            st.caption("A run goes on beside the pages; a cap can be set once it has ended.")
            return
        with st.container(horizontal=True):
            with st.popover("Set a cap" if chosen is None else "Set another"):
                _choose_cap(delta)
            if chosen is not None:
                st.button("Remove the cap", on_click=session_ledger.set_cap, args=(None,))


def _choose_cap(delta: float) -> None:
    epsilon = st.select_slider(
        "Cap on ε", EPSILONS, value=2.0, format_func=plain, key="cap_epsilon"
    )
    cap_delta = st.select_slider(
        "Cap on δ", DELTAS, value=delta, format_func=lambda value: f"{value:g}", key="cap_delta"
    )
    if any(accountant.charges for accountant in session_ledger.accountants().values()):
        st.caption(
            "A cap set now counts from now on. It promises nothing about what was shown before, "
            "which comes on top."
        )
    st.button(
        "Set it",
        type="primary",
        on_click=session_ledger.set_cap,
        args=(Cap(epsilon, cap_delta),),
        key="cap_set",
    )


def under_cap(accountant: Accountant) -> None:
    """How much of the cap is spent, as a bar, and what came before it."""
    cap = accountant.cap
    if cap is None:
        return
    bound = accountant.bound_under_cap()
    left = f"One more Gaussian release may have ε = {spoken_down(cap.left(bound))} at most"
    if 0 < bound.epsilon < math.inf:
        left += f", a pure one ε = {spoken_down(cap.left_pure(bound))} while all is pure"
    share = cap.share(bound)
    st.progress(min(1.0, share), f"{percent(share)} of the cap spent. {left}.")
    if accountant.before:
        before = sum(charge.draws for charge in accountant.before.values())
        st.caption(
            f"{counted(before, 'release')} came before the cap. What they cost is not in the bar, "
            "and comes on top of it."
        )


def held(accountant: Accountant, others: Iterable[Accountant]) -> None:
    """What the laboratory did that a deployment must not, where it did."""
    if accountant.holds_noise(others):
        not_private(
            "Noise that was held",
            "several of these results reused the same noise, so that settings can be compared, "
            "while the total takes fresh noise for each. From A + σE and A + τE anyone can solve "
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
    """One line a charge; what bounds a risk is rounded up, as everywhere."""
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


def by_site(accountant: Accountant, delta: float) -> None:
    """What the people of each site of the latest split have spent."""
    if not accountant.has_sites:
        return
    found = accountant.epsilon_by_site(delta)
    if len(set(found.values())) < 2:
        st.markdown("**By site:** everybody has spent the same, whichever site is theirs.")
        return
    said = "; ".join(
        ("people of the other sites" if site is None else f"people of site {site + 1}")
        + f" ε = **{say_number(epsilon)}**"
        for site, epsilon in found.items()
    )
    st.markdown(f"**By site,** in the latest split: {said}.")


def beyond(accountant: Accountant) -> None:
    """What was shown that no budget covers."""
    if accountant.uncovered:
        lines = [f"- **{what}**: {why}" for what, why in accountant.uncovered.items()]
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
            on_click=session_ledger.forget,
            args=(name,),
            help="With real people this would be forgetting, not undoing. No cap would start anew.",
        )


def show_ledger() -> None:
    """The ledger: what has been released to this visitor, and what it would have cost."""
    selection = current()
    answer = st.container()
    cap_controls(selection.spec.delta)
    accountants, projects = session_ledger.accountants(), session_ledger.projects()
    with answer:
        for project in projects:
            with errors_shown():
                real_releases(project)
        if not accountants and not projects:
            nothing_yet()
    titles = dataset_titles()
    in_order = sorted(accountants, key=lambda name: name != selection.dataset.name)
    for number, name in enumerate(in_order):
        title = titles.get(name, name)
        if len(accountants) > 1:
            st.markdown(f"## {title[0].upper()}{title[1:]}")
        accountant = accountants[name]
        rows = accountant.rows(selection.spec.delta)
        if rows:
            # The first number stands above everything else.
            with answer if number == 0 else st.container():
                total(accountant, rows, title)
                compared(rows)
            held(accountant, accountants.values())
            under_cap(accountant)
            running(rows, name)
            table(rows)
            by_site(accountant, selection.spec.delta)
        beyond(accountant)
        carry_off(rows, name, title)
    with st.expander("What is counted"):
        st.markdown(formulas("ledger_counts"))
    with st.expander("How it adds up"):
        st.markdown(formulas("ledger_adds"))
    with st.expander("A plan, a cap, or stopping when it suits"):
        st.markdown(formulas("ledger_stops"))
