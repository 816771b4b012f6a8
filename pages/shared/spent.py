"""What this visitor's views would have cost, kept for each data set until reset by hand.

A page enters what it shows. Runs that go on beside a page are followed, and looked at whenever
somebody asks what was spent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

import streamlit as st

from dpcore.experiments.findings import counted
from dpcore.experiments.payments import COMPONENTS, of_rows, of_run
from dpcore.experiments.run import Row
from dpcore.experiments.spec import RunSpec
from dpcore.experiments.spending import Account, Payment
from dpcore.pca import Subspace
from dpcore.privacy.card import say_number
from pages.shared.navigation import page_path

_ACCOUNTS, _FOLLOWED, _ENTERED = "_spent", "_spent_followed", "_spent_entered"

# The rows of a run as far as it is, and whether it goes on.
Look = Callable[[], tuple[Sequence[Row], bool]]


def account(dataset: str) -> Account:
    """The account of a data set in this session."""
    return st.session_state.setdefault(_ACCOUNTS, {}).setdefault(dataset, Account(dataset))


def accounts() -> dict[str, Account]:
    """Accounts of all data sets anything has been shown of."""
    _look_at_followed()
    return {
        name: found
        for name, found in st.session_state.get(_ACCOUNTS, {}).items()
        if found.payments or found.uncovered
    }


def record(payments: Iterable[Payment]) -> None:
    """Enter something shown; what is known already is not paid again."""
    for payment in payments:
        account(payment.release.dataset).pay(payment)


def record_run(
    spec: RunSpec,
    subspaces: Mapping[str, Subspace],
    n_samples: int,
    draws: int = 1,
    what: tuple[str, ...] = (COMPONENTS,),
) -> None:
    """Enter the components of a run; noise that several protocols read is paid once."""
    guarantees = {key: subspace.guarantee for key, subspace in subspaces.items()}
    record(of_run(spec, guarantees, n_samples, draws, what))
    _record_what_read_rows(spec.dataset, spec.preparation)


def record_rows(rows: Sequence[Row]) -> None:
    """Enter the runs behind tidy rows."""
    record(of_rows(rows))
    for dataset, preparation in dict.fromkeys((r["dataset"], r["preparation"]) for r in rows):
        _record_what_read_rows(dataset, preparation)


def follow(key: Hashable, look: Look) -> None:
    """Enter what a run beside the page has drawn so far, and what it will have drawn later."""
    st.session_state.setdefault(_FOLLOWED, {})[key] = look


def uncovered(dataset: str, what: str, why: str) -> None:
    """Enter something shown that no guarantee covers."""
    account(dataset).uncovered[what] = why


def curves(dataset: str) -> None:
    """Enter that curves were drawn which nobody asked for; sweeps that somebody runs are paid."""
    uncovered(dataset, "Curves beside the result", "each of their draws would be a release")


def forget(dataset: str) -> None:
    """Empty the account of a data set; only ever called by a button."""
    st.session_state[_ACCOUNTS].pop(dataset, None)
    # What a page goes on showing is entered again when somebody looks at it again.
    st.session_state.pop(_ENTERED, None)


def so_far(dataset: str, title: str, delta: float) -> None:
    """One sentence at the foot of the sidebar."""
    _look_at_followed()
    with st.sidebar:
        st.caption(sentence(dataset, title, delta))
        st.page_link(page_path("ledger"), label="See what was spent")


def sentence(dataset: str, title: str, delta: float) -> str:
    """What has been shown of a data set, and what it would have cost at this delta."""
    book = account(dataset)
    if not book.payments:
        return f"Nothing private has been shown of {title} yet."
    # Mixed ledgers get the quick bound here and the exact one on their page.
    spent = book.spent_by_person()
    epsilon = spent.added_up(delta) if spent.is_mixed else spent.epsilon(delta)
    most = "at most " if spent.is_mixed else ""
    return (
        f"Shown so far of {title}: {counted(book.n_releases, 'release')}. Were these real people, "
        f"each would have spent {most}ε = **{say_number(epsilon)}** at δ = {delta:g}."
    )


def _look_at_followed() -> None:
    followed = st.session_state.get(_FOLLOWED, {})
    entered = st.session_state.setdefault(_ENTERED, {})
    for key, look in list(followed.items()):
        rows, goes_on = look()
        if entered.get(key) != len(rows):
            record_rows(rows)
            entered[key] = len(rows)
        if not goes_on:
            # A run and all its rows are let go of once they are in the books.
            del followed[key]


def _record_what_read_rows(dataset: str, preparation: str) -> None:
    uncovered(dataset, "Exact components, lines and energies", "they read rows without noise")
    if preparation == "published":
        uncovered(dataset, "The published preparation", "its centre and scale read every row")
