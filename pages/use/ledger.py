"""The ledger: what has been released to this visitor, and what it would have cost."""

from __future__ import annotations

import streamlit as st

from dpcore.data import list_datasets
from dpcore.experiments.findings import counted
from dpcore.experiments.recipes import csv_of
from dpcore.figures.spending import running_total
from dpcore.privacy.card import one_in, say_number
from pages.shared import spent
from pages.shared.cards import CHART_CONFIG, is_dark, not_private
from pages.shared.controls import current
from pages.shared.formulas_privacy import HOW_SPENDING_COMPOSES, WHAT_IS_COUNTED

COLUMNS = (
    "released",
    "draws",
    "epsilon",
    "delta",
    "total_epsilon",
    "who_pays",
    "seen_as",
    "mechanism",
    "mu",
)

choice = current()
delta = choice.spec.delta
st.title("What was spent")
accounts = spent.accounts()
if not accounts:
    st.info(
        "Nothing private has been shown in this session yet. Look at some components in the "
        "Playground or at the eigen-images, and come back."
    )
titles = {status.name: status.title for status in list_datasets()}
order = sorted(accounts, key=lambda name: name != choice.dataset.name)
for name in order:
    account, title = accounts[name], titles.get(name, name)
    if len(order) > 1:
        st.subheader(title)
    if account.payments:
        rows = account.rows(delta)
        total = rows[-1]["total_epsilon"]
        number, words = st.columns([2, 5], gap="large", vertical_alignment="center")
        number.html(
            '<div style="font-size:clamp(2.5rem,4vw,4rem);font-weight:700;line-height:1;'
            f'white-space:nowrap">ε = {say_number(total)}</div>'
        )
        words.markdown(
            f"#### is what each person in {title} would have spent by now, at "
            f"δ\u00a0=\u00a0{delta:g} ({one_in(delta)}), were they real and "
            "every release drawn with fresh noise."
        )
        words.markdown(
            f"{counted(account.n_releases, 'release')}. Adding up every ε would say "
            f"{say_number(rows[-1]['sum_of_epsilons'])}."
        )
        st.plotly_chart(
            running_total(rows, dark=is_dark()),
            key=f"running_{name}",
            config=CHART_CONFIG,
            alt=f"Epsilon after each release, up to {say_number(total)}.",
        )
        st.dataframe(
            rows,
            hide_index=True,
            width="stretch",
            column_order=COLUMNS,
            column_config={
                "released": "Noise added to",
                "draws": "Draws",
                "epsilon": st.column_config.NumberColumn("ε of one", format="%.3g"),
                "delta": st.column_config.NumberColumn("at δ", format="%.2g"),
                "total_epsilon": st.column_config.NumberColumn("Total ε", format="%.3g"),
                "who_pays": "Who pays",
                "seen_as": "Seen as",
                "mechanism": "Noise",
                "mu": st.column_config.NumberColumn("μ", format="%.3f"),
            },
        )
        spent.by_site(account, delta)
    for what, why in account.uncovered.items():
        not_private(what, f"{why}, so no budget covers it.")
    with st.container(horizontal=True):
        if account.payments:
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
with st.expander("What is counted"):
    st.markdown(WHAT_IS_COUNTED)
with st.expander("How it adds up"):
    st.markdown(HOW_SPENDING_COMPOSES)
