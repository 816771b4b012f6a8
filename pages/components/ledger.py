"""Session ledger: cost of the results of this visit, had the people been real, per data set.

A page charges a result before it shows it. The accountant merges charges of the same noise, so a
result that is shown again costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpcore.experiments.engine.charge_keys import COMPONENTS, compute_charges, reads_rows_first
from dpcore.experiments.engine.spec import PlannedSpec, Row, charges_of
from dpcore.experiments.engine.summaries import counted
from dpcore.experiments.pca import RunSpec
from dpcore.pca.protocols.protocol import Kind
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Accountant, BeyondCap, Cap, Charge
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from pages import cached

# Explanation of the share of a cap.
SHARES = (
    "Shares are counted in μ², or in ε while all releases are pure. Two equal releases use twice "
    "the share of one."
)
_ACCOUNTANTS, _CAP, _PROJECTS = "_accountants", "_cap", "_projects"


def accountant(dataset: str) -> Accountant:
    """Return this session's accountant of a data set."""
    by_dataset: dict[str, Accountant] = st.session_state.setdefault(_ACCOUNTANTS, {})
    return by_dataset.setdefault(dataset, Accountant(dataset, cap=cap()))


def accountants() -> dict[str, Accountant]:
    """Return the accountants of all data sets of which something was shown."""
    by_dataset: dict[str, Accountant] = st.session_state.get(_ACCOUNTANTS, {})
    return {
        name: account
        for name, account in by_dataset.items()
        if account.charges or account.uncovered
    }


def cap() -> Cap | None:
    """Return the visitor's cap on what may be spent per data set, or None."""
    return st.session_state.get(_CAP)


def set_cap(chosen: Cap | None) -> None:
    """Set or remove the cap, from a button."""
    st.session_state[_CAP] = chosen
    for account in st.session_state.get(_ACCOUNTANTS, {}).values():
        account.set_cap(chosen)


def clear(dataset: str) -> None:
    """Empty the accountant of a data set, from a button."""
    st.session_state[_ACCOUNTANTS].pop(dataset, None)


def rename(before: str, now: str) -> None:
    """Keep what was charged when the same people's table is read in another way."""
    by_dataset: dict[str, Accountant] = st.session_state.get(_ACCOUNTANTS, {})
    if (earlier := by_dataset.pop(before, None)) is not None:
        by_dataset[now] = earlier.with_dataset(now)


@dataclass(frozen=True)
class ProjectSummary:
    """Releases of real rows in one project, registered by the page that makes releases.

    used: Share of the cap that is used, in words.
    lifetime: Sentence that says how long the project's ledger is kept.
    releases: Lines of a table.
    """

    name: str
    used: str
    cap: Cap
    lifetime: str
    releases: tuple[dict[str, Any], ...]


def add_project(key: str, summarize: Callable[[], ProjectSummary]) -> None:
    """Register a project that this visit saw or in which it released something."""
    st.session_state.setdefault(_PROJECTS, {})[key] = summarize


def projects() -> tuple[ProjectSummary, ...]:
    """Return the projects that this visit saw or in which it released something."""
    summaries: dict[str, Callable[[], ProjectSummary]] = st.session_state.get(_PROJECTS, {})
    return tuple(summarize() for summarize in summaries.values())


def charge(charges: Iterable[Charge]) -> None:
    """Charge results before they are shown.

    Raises `BeyondCap` if a cap would be exceeded; the results must not be shown then.
    """
    by_dataset: dict[str, list[Charge]] = {}
    for new_charge in charges:
        by_dataset.setdefault(new_charge.release.dataset, []).append(new_charge)
    for dataset, charges_of_dataset in by_dataset.items():
        accountant(dataset).require(*charges_of_dataset)
    for dataset, charges_of_dataset in by_dataset.items():
        accountant(dataset).charge(*charges_of_dataset)


def charge_run(spec: RunSpec, quantities: tuple[str, ...] = (COMPONENTS,)) -> None:
    """Charge all repetitions of a PCA specification; noise that protocols share counts once."""
    problem = cached.problem_of(spec.problem_key())
    settings = spec.settings(problem.n_features, problem.default_components)
    sites = problem.moments.n_samples.tolist()
    guarantees = {
        key: PROTOCOLS[key].guarantee(settings, sites, problem.moments.n_features)
        for key in spec.protocols
    }
    charge(spec.charges(guarantees, spec.repetitions, quantities))
    _record_raw_reads(spec.dataset, spec.reads_rows_first)


def charge_specs(specs: Iterable[PlannedSpec]) -> None:
    """Charge specifications of any family before they run."""
    charge(charges_of(specs))


def charge_rows(rows: Sequence[Row]) -> None:
    """Charge the runs behind PCA rows, as they arrive from a background job."""
    without_guarantee = [row for row in rows if _has_lost_guarantee(row)]
    if cap() is not None and without_guarantee:
        raise BeyondCap("one of these releases has no guarantee, which no cap admits")
    charge(compute_charges(rows))
    for dataset, first in dict.fromkeys((row["dataset"], reads_rows_first(row)) for row in rows):
        _record_raw_reads(dataset, first)
    for row in without_guarantee:
        record_uncovered(
            row["dataset"], PROTOCOLS[row["protocol"]].title, "a run without guarantee"
        )


def _has_lost_guarantee(row: Row) -> bool:
    is_private = PROTOCOLS[row["protocol"]].kind is not Kind.NONE
    requested = is_private and math.isfinite(row["epsilon"])
    return requested and math.isinf(row["exact_epsilon"])


def record_uncovered(dataset: str, name: str, reason: str) -> None:
    """Record something shown that no guarantee covers."""
    accountant(dataset).uncovered[name] = reason


def may_show_curves(dataset: str) -> bool:
    """Return whether curves may be drawn that the visitor did not request.

    They are recorded as not covered. Under a cap they are left out.
    """
    if cap() is not None:
        st.caption("Curves are left out under a cap: each of their runs would be a release.")
        return False
    record_uncovered(dataset, "Curves next to the result", "each of their runs would be a release")
    return True


def total_sentence(dataset: str, title: str, delta: float) -> str:
    """Return the cost of this visit's results of a data set as one sentence."""
    account = accountant(dataset)
    if not account.charges:
        return f"Nothing private has been shown of {title} yet."
    total = account.composed()
    epsilon = total.basic_bound(delta) if total.is_mixed else total.epsilon(delta)
    most = "at most " if total.is_mixed else ""
    releases = counted(account.n_releases, "release")
    return (
        f"On real data, {releases} would cost {most}ε = {say_number(epsilon)}, "
        f"δ = {say_delta(delta)}."
    )


def _record_raw_reads(dataset: str, reads_first: bool) -> None:
    record_uncovered(
        dataset, "Exact components, lines and energies", "they read rows without noise"
    )
    if reads_first:
        record_uncovered(dataset, "Published centring and scaling", "they read every row")
