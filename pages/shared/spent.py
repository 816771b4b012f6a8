"""What this visitor's views would have cost, kept for each data set until reset by hand."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.findings import counted
from dpcore.experiments.spec import RunSpec
from dpcore.experiments.spending import Account, Payment, payments_of
from dpcore.pca import Subspace
from dpcore.privacy import Guarantee, Release
from dpcore.privacy.card import say_number
from pages.shared.navigation import page_path

_STATE = "_spent"


def account(dataset: str) -> Account:
    """The account of a data set in this session."""
    return st.session_state.setdefault(_STATE, {}).setdefault(dataset, Account(dataset))


def accounts() -> dict[str, Account]:
    """Accounts of all data sets anything has been shown of."""
    return {
        name: found
        for name, found in st.session_state.get(_STATE, {}).items()
        if found.payments or found.uncovered
    }


def record(dataset: str, label: str, guarantee: Guarantee, key: str, draws: int = 1) -> None:
    """Enter something shown that everybody in the data set pays for.

    Parameters
    ----------
    dataset : str
    label : str
        What a person would call it.
    guarantee : Guarantee
        One without a promise is listed as covered by no budget.
    key : str
        Settings and seed: the same key is the same result and is paid once.
    draws : int
        Independent results with this key; a later, larger number pays for the difference.
    """
    if guarantee.mechanism == "data-independent":
        return
    if not guarantee.is_private:
        uncovered(dataset, label, "no noise protects it")
        return
    release = Release.of(guarantee, key=key, label=label, dataset=dataset)
    account(dataset).pay(Payment(release, draws, (label,)))


def record_run(spec: RunSpec, subspaces: Mapping[str, Subspace], draws: int = 1) -> None:
    """Enter the components of a run; noise that several protocols read is paid once."""
    guarantees = {key: subspace.guarantee for key, subspace in subspaces.items()}
    book = account(spec.dataset)
    for payment in payments_of(spec, guarantees, draws):
        book.pay(payment)
    uncovered(spec.dataset, "Exact components, lines and energies", "they read rows without noise")
    if spec.preparation == "published":
        uncovered(spec.dataset, "The published preparation", "its centre and scale read every row")


def uncovered(dataset: str, what: str, why: str) -> None:
    """Enter something shown that no guarantee covers."""
    account(dataset).uncovered[what] = why


def forget(dataset: str) -> None:
    """Empty the account of a data set; only ever called by a button."""
    st.session_state[_STATE].pop(dataset, None)


def so_far(dataset: DatasetStatus, delta: float) -> None:
    """One sentence at the foot of the sidebar."""
    with st.sidebar:
        st.caption(sentence(dataset, delta))
        st.page_link(page_path("ledger"), label="See what was spent")


def sentence(dataset: DatasetStatus, delta: float) -> str:
    """What has been shown of a data set, and what it would have cost at this delta."""
    book = account(dataset.name)
    if not book.payments:
        return f"Nothing private has been shown of {dataset.title} yet."
    # Mixed ledgers get the quick bound here and the exact one on their page.
    epsilon = book.spent_by_person().added_up(delta)
    return (
        f"Shown so far of {dataset.title}: {counted(book.n_releases, 'release')}. Were these "
        f"real people, each would have spent ε = **{say_number(epsilon)}** at δ = {delta:g}."
    )


def by_site(book: Account, delta: float) -> None:
    """What the people of each site of the latest split have spent."""
    found = book.epsilon_by_site(delta)
    if len(set(found.values())) == 1:
        st.markdown("By site, in the latest split: people of every site have spent the same.")
    elif found:
        said = "; ".join(
            ("people of the other sites" if site is None else f"people of site {site + 1}")
            + f" ε = **{say_number(epsilon)}**"
            for site, epsilon in found.items()
        )
        st.markdown(f"By site, in the latest split: {said}.")
