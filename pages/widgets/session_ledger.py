"""What this visitor's views would have cost, kept for each data set until reset by hand.

A page pays for what it shows, before it shows it: `charge` refuses what would exceed a cap. Runs
that go on beside a page are followed, and looked at whenever somebody asks what was spent; under
a cap they are paid before they begin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path

import streamlit as st

from dpcore.experiments.charge_keys import COMPONENTS, compute_charges, reads_rows_first
from dpcore.experiments.engine import Row
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.summaries import counted, percent
from dpcore.pca.protocols.protocol import Kind
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Accountant, BeyondCap, Cap, Charge
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.release.project import Project
from pages.server import caches
from pages.shell.controls import Selection
from pages.shell.navigation import linked_page
from pages.shell.streamlit_internals import DeltaGenerator
from pages.widgets.notices import say_refused

_ACCOUNTANTS, _CAP = "_spent", "_spent_cap"
_FOLLOWED, _ENTERED = "_spent_followed", "_spent_entered"
_PROJECTS = "_spent_projects"

# The rows of a run as far as it is, and whether it goes on.
Look = Callable[[], tuple[Sequence[Row], bool]]


def accountant(dataset: str) -> Accountant:
    """The accountant of a data set in this session."""
    found: dict[str, Accountant] = st.session_state.setdefault(_ACCOUNTANTS, {})
    return found.setdefault(dataset, Accountant(dataset, cap=cap()))


def cap() -> Cap | None:
    """The most that this visitor lets be spent on a person of any data set."""
    return st.session_state.get(_CAP)


def set_cap(chosen: Cap | None) -> None:
    """Cap what is spent from now on, or no longer; only ever called by a button."""
    _look_at_followed()
    st.session_state[_CAP] = chosen
    for each in st.session_state.get(_ACCOUNTANTS, {}).values():
        each.set_cap(chosen)


def accountants() -> dict[str, Accountant]:
    """Those of all data sets anything has been shown of."""
    _look_at_followed()
    return {
        name: found
        for name, found in st.session_state.get(_ACCOUNTANTS, {}).items()
        if found.charges or found.uncovered
    }


def remember_project(project: Project) -> None:
    """A release of real rows was charged to this project in this visit."""
    found: dict[Path, Project] = st.session_state.setdefault(_PROJECTS, {})
    found[project.folder] = project


def projects() -> tuple[Project, ...]:
    """Projects that this visit has made releases in; their ledgers outlive it."""
    return tuple(st.session_state.get(_PROJECTS, {}).values())


def charge(charges: Iterable[Charge]) -> None:
    """Enter what is about to be shown; what is known already is not paid again.

    Raises `BeyondCap` if there is a cap that this would exceed: it must not be shown then.
    """
    by_dataset = _by_dataset(charges)
    for dataset, theirs in by_dataset.items():
        accountant(dataset).require(*theirs)
    for dataset, theirs in by_dataset.items():
        accountant(dataset).charge(*theirs)


def charge_run(spec: RunSpec, draws: int = 1, what: tuple[str, ...] = (COMPONENTS,)) -> None:
    """Charge the components of a run; noise that several protocols read is charged once.

    Nothing of it is drawn yet: what it promises is known from its settings and the sites' sizes.
    """
    problem = caches.problem_of(spec.problem_key())
    settings = spec.settings(problem.n_features, problem.default_components)
    sites = problem.moments.n_samples.tolist()
    guarantees = {
        key: PROTOCOLS[key].promise(settings, sites, problem.moments.n_features)
        for key in spec.protocols
    }
    charge(spec.charges(guarantees, draws, what))
    _record_what_read_rows(spec.dataset, spec.reads_rows_first)


def charge_rows(rows: Sequence[Row]) -> None:
    """Charge the runs behind tidy rows."""
    if cap() is not None and any(map(_broke_its_promise, rows)):
        raise BeyondCap("One of these releases promises nothing, which no cap admits.")
    charge(compute_charges(rows))
    for dataset, first in dict.fromkeys((row["dataset"], reads_rows_first(row)) for row in rows):
        _record_what_read_rows(dataset, first)
    for row in filter(_broke_its_promise, rows):
        uncovered(row["dataset"], PROTOCOLS[row["protocol"]].title, "a draw that promises nothing")


# Gives what a whole run will cost; None where that depends on what it finds.
Planned = Callable[[], Iterable[Charge]] | None


def has_room(planned: Planned) -> bool:
    """Whether a run that goes on beside the page fits under the cap; says so if it does not.

    planned: Gives what the whole run costs; None where that depends on what it finds.
    """
    if cap() is None:
        return True
    try:
        if planned is None:
            raise BeyondCap(
                "What this run will cost is not known before it ends, and no cap can admit that."
            )
        for dataset, charges in _by_dataset(planned()).items():
            accountant(dataset).require(*charges)
    except BeyondCap as refused:
        say_refused(refused)
        return False
    return True


def charge_ahead(planned: Planned) -> None:
    """Under a cap, charge a run that has room before it begins."""
    if cap() is not None and planned is not None:
        charge(planned())


def _by_dataset(charges: Iterable[Charge]) -> dict[str, list[Charge]]:
    found: dict[str, list[Charge]] = {}
    for charge in charges:
        found.setdefault(charge.release.dataset, []).append(charge)
    return found


def _broke_its_promise(row: Row) -> bool:
    promises = PROTOCOLS[row["protocol"]].kind is not Kind.NONE
    asked = promises and math.isfinite(row["epsilon"])
    return asked and math.isinf(row["exact_epsilon"])


def follow(key: Hashable, look: Look) -> None:
    """Enter what a run beside the page has drawn so far, and what it will have drawn later.

    Raises `BeyondCap` if there is a cap that what it has drawn would exceed: it must not be shown.
    """
    followed = st.session_state.setdefault(_FOLLOWED, {})
    followed[key] = look
    if cap() is not None:
        try:
            _look_at(key)
        except BeyondCap:
            del followed[key]
            raise


def is_going_on(besides: Hashable = None) -> bool:
    """Whether some run of this visitor is still to be paid for, besides that of one question."""
    _look_at_followed()
    return any(besides not in key for key in st.session_state.get(_FOLLOWED, ()))


def uncovered(dataset: str, what: str, why: str) -> None:
    """Enter something shown that no guarantee covers."""
    accountant(dataset).uncovered[what] = why


def enter(selection: Selection, what: str, why: str) -> None:
    """Enter what a page shows beside its releases, and say what has been shown so far."""
    dataset = selection.dataset
    uncovered(dataset.name, what, why)
    so_far(dataset.name, dataset.title, selection.spec.delta)


def curves(dataset: str) -> bool:
    """Whether curves may be drawn that nobody asked for; they are entered as beyond any budget.

    Sweeps that somebody runs are paid. Under a cap there is no such thing as beyond it.
    """
    if cap() is not None:
        st.caption(
            "Left out under a cap: curves you did not ask for. Each of their runs would be a "
            "release."
        )
        return False
    uncovered(dataset, "Curves beside the result", "each of their runs would be a release")
    return True


def forget(dataset: str) -> None:
    """Empty the account of a data set; only ever called by a button."""
    st.session_state[_ACCOUNTANTS].pop(dataset, None)
    # What a page goes on showing is entered again when somebody looks at it again.
    st.session_state.pop(_ENTERED, None)


def same_people(before: str, now: str) -> None:
    """A data set is another's people read in another way: what they have paid stays paid."""
    found = st.session_state.get(_ACCOUNTANTS, {})
    if (earlier := found.pop(before, None)) is not None:
        found[now] = earlier.goes_on_as(now)


def so_far(dataset: str, title: str, delta: float, place: DeltaGenerator | None = None) -> None:
    """One sentence at the foot of the sidebar, or at its place there."""
    _look_at_followed()
    with place or st.sidebar:
        st.caption(sentence(dataset, title, delta))
        st.page_link(linked_page("ledger"), label="See what was spent")


def sentence(dataset: str, title: str, delta: float) -> str:
    """What has been shown of a data set, and what it would have cost at this delta."""
    kept = accountant(dataset)
    if not kept.charges:
        return f"Nothing private has been shown of {title} yet."
    # Mixed ledgers get the quick bound here and the exact one on their page.
    total = kept.composed()
    epsilon = total.added_up(delta) if total.is_mixed else total.epsilon(delta)
    most = "at most " if total.is_mixed else ""
    words = (
        f"On real data {counted(kept.n_releases, 'release')} of {title} would have used up "
        f"{most}ε = **{say_number(epsilon)}** of everyone's privacy budget at "
        f"δ = {say_delta(delta)} (**{say_number(kept.total(delta, stopping=True))}** if you decide "
        "as you go when to stop)."
    )
    if kept.holds_noise(accountants().values()):
        words += (
            " Several results reused the same noise, so together they would hide no one; the "
            "figure assumes fresh noise each time."
        )
    if kept.cap is None:
        return words
    return (
        f"{words} Of the cap of ε = {kept.cap.epsilon:g}, "
        f"{percent(kept.cap.share(kept.bound_under_cap()))} is spent."
    )


def _look_at_followed() -> None:
    for key in list(st.session_state.get(_FOLLOWED, {})):
        _look_at(key)


def _look_at(key: Hashable) -> None:
    followed = st.session_state[_FOLLOWED]
    entered = st.session_state.setdefault(_ENTERED, {})
    rows, goes_on = followed[key]()
    if entered.get(key) != len(rows):
        charge_rows(rows)
        entered[key] = len(rows)
    if not goes_on:
        # A run and all its rows are let go of once they are charged.
        del followed[key]


def uncovered_centring(dataset: str, reads_rows_first: bool) -> None:
    """List centring and scaling as published, where they read rows before any promise starts."""
    if reads_rows_first:
        uncovered(dataset, "Published centring and scaling", "they read every row")


def _record_what_read_rows(dataset: str, reads_rows_first: bool) -> None:
    uncovered(dataset, "Exact components, lines and energies", "they read rows without noise")
    uncovered_centring(dataset, reads_rows_first)
