"""The ledger: what has been released to this visitor, and what it would have cost."""

from __future__ import annotations

import streamlit as st

from pages.sidebar.controls import current
from pages.use.ledger import panels
from pages.widgets import session_ledger
from pages.widgets.messages import formulas

selection = current()
answer = st.container()
panels.cap_controls(selection.spec.delta)
accounts = session_ledger.accounts()
if not accounts:
    with answer:
        panels.nothing_yet()
titles = panels.titles()
in_order = sorted(accounts, key=lambda name: name != selection.dataset.name)
for number, name in enumerate(in_order):
    title = titles.get(name, name)
    if len(accounts) > 1:
        st.markdown(f"## {title[0].upper()}{title[1:]}")
    account = accounts[name]
    rows = account.rows(selection.spec.delta)
    if rows:
        # The first number stands above everything else.
        with answer if number == 0 else st.container():
            panels.total(account, rows, title)
            panels.compared(rows)
        panels.held(account, accounts.values())
        panels.under_cap(account)
        panels.running(rows, name)
        panels.table(rows)
        panels.by_site(account, selection.spec.delta)
    panels.beyond(account)
    panels.carry_off(rows, name, title)
with st.expander("What is counted"):
    st.markdown(formulas("ledger_counts"))
with st.expander("How it adds up"):
    st.markdown(formulas("ledger_adds"))
with st.expander("A plan, a cap, or stopping when it suits"):
    st.markdown(formulas("ledger_stops"))
