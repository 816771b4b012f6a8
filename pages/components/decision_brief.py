"""Memo and slides of a decision, filled from the runs of its options."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.decide.decision import Answer, Option, epsilon_of_breach
from dpcore.experiments.decide.ranking import Trusted
from dpcore.experiments.engine.summaries import bytes_in_words, percent
from dpcore.experiments.pca import RunSpec
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Guarantee
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.privacy.label import Label, label_of
from pages.components.annex import offer_annex
from pages.components.brief import (
    POWERPOINT,
    Brief,
    OptionSummary,
    make_presentation,
    render_memo,
)
from pages.components.decision_grid import (
    name_of,
    rebuilt_strips,
    strongest_loadings,
    utility,
)


@dataclass(frozen=True)
class Decision:
    """Answer to a question, with the data and the trust that it is about.

    spec: Runs of the options, at any ε.
    reason: Two sentences that say why.
    """

    spec: RunSpec
    trusted: Trusted
    dataset: DatasetStatus
    answer: Answer
    reason: str

    @property
    def rows_in_words(self) -> str:
        """Number of rows and sites, as in "569 patients at 5 sites"."""
        sites = "1 site" if self.spec.sites == 1 else f"{self.spec.sites} sites"
        return f"{self.dataset.unit.of(self.dataset.n_samples)} at {sites}"

    def guarantee(self, option: Option) -> Guarantee:
        """Return the guarantee of an option."""
        return guarantee_of(option.spec, self.dataset, option.epsilon)


def guarantee_of(spec: RunSpec, dataset: DatasetStatus, epsilon: float) -> Guarantee:
    """Return the guarantee of a specification at an ε."""
    return replace(spec, epsilon=epsilon).guarantee(spec.protocols[0], dataset)


def trust_in_words(trusted: Trusted, guarantee: Guarantee) -> tuple[str, str]:
    """Return sentences on the trusted party, and on the ε that remains if it breaks the trust."""
    remaining = epsilon_of_breach(guarantee)
    sentence = "You trust only the site that holds a row."
    if trusted is not Trusted.NOBODY:
        sentence = f"You trust {trusted}."
    if math.isinf(remaining):
        return sentence, "If that trust is broken, every row is exposed."
    if say_number(remaining) == say_number(guarantee.epsilon):
        return sentence, f"Even if all other sites are hacked, ε = {say_number(remaining)} holds."
    weaker = f"ε = {say_number(remaining)} instead of {say_number(guarantee.epsilon)}"
    return sentence, f"If all others break it, {weaker} holds."


def brief_of(decision: Decision, title: str, link: str) -> Brief:
    """Return the content of the memo and the slides.

    title: The answer as a title, without a full stop.
    Raises `ValueError` if nothing can be released.
    """
    answer = decision.answer
    chosen = answer.chosen
    if chosen is None:
        raise ValueError("a brief needs an option")
    spec, guarantee = chosen.spec, decision.guarantee(chosen)
    name, algorithm = decision.dataset.title, PROTOCOLS[spec.protocols[0]].title
    summaries = tuple(_summary(decision, option) for option in answer.options)
    now = datetime.now(UTC)
    label = label_for(decision, chosen, now)
    return Brief(
        question=f"{name}: which ε may we take?",
        harm=f"Even with this release, a guess about one person is right at most "
        f"{chosen.most_right} of 100 times; a coin is right 50 times.",
        answer=f"{title}.",
        reason=decision.reason,
        options=summaries,
        chosen=next(summary for summary in summaries if summary.epsilon == chosen.epsilon),
        is_recommended=answer.do_meet,
        target=answer.target,
        trust=trust_in_words(decision.trusted, guarantee)[0],
        least_share=chosen.least_share(answer.target),
        rules=(
            (
                f"Were these runs selected? No: the choice used {len(chosen.searched)} other runs, "
                f"and {chosen.hits(answer.target)} of {len(chosen.fresh)} fresh ones agree."
            ),
            (
                "Does it hold for our data? For data like these. A plan on public data of the "
                "same kind costs no privacy."
            ),
        ),
        label=label,
        foot=f"Source: DP-PCA Lab {label.version}, improved version, {name}, {algorithm}, "
        f"{decision.rows_in_words}, δ = {say_delta(spec.delta)}, seed {spec.seed}. Simulation. "
        f"{now:%Y-%m-%d}. {link}",
        loadings=strongest_loadings(spec, chosen.runs[0])
        if decision.dataset.image_shape is None
        else None,
    )


def label_for(decision: Decision, option: Option, now: datetime) -> Label:
    """Return the privacy label of an option."""
    algorithm = PROTOCOLS[option.spec.protocols[0]].title
    return label_of(
        decision.guarantee(option),
        f"{algorithm} on {decision.dataset.title}",
        is_simulation=True,
        people=decision.dataset.n_samples,
        sites=option.spec.sites,
        made=now.isoformat(timespec="seconds"),
    )


def _summary(decision: Decision, option: Option) -> OptionSummary:
    target = decision.answer.target
    return OptionSummary(
        title=f"ε = {option.epsilon:g}: {name_of(decision.answer, option).lower()}",
        epsilon=option.epsilon,
        mean=option.mean,
        energies=tuple(row["energy_ratio"] for row in option.fresh),
        hits=option.hits(target),
        utility=utility(option).sentence,
        most_right=option.most_right,
        message_size=bytes_in_words(option.bytes_per_site),
        breach=trust_in_words(decision.trusted, decision.guarantee(option))[1],
        pictures=()
        if decision.dataset.image_shape is None
        else rebuilt_strips(decision.dataset, option, dark=False),
    )


def offer_brief(decision: Decision, title: str) -> None:
    """Offer the memo and the slides as files."""
    address = _address()  # a file is made outside the page's run, where there is no address

    def make(render: Callable[[Brief], Any]) -> Any:
        return render(brief_of(decision, title, address))

    files: tuple[tuple[str, Callable[[Brief], Any], str, str], ...] = (
        ("Memo", render_memo, "memo.html", "text/html"),
        ("Slides", make_presentation, "decision.pptx", POWERPOINT),
    )
    with st.container(horizontal=True):
        for label, render, name, kind in files:
            st.download_button(label, partial(make, render), name, kind, on_click="ignore")


def offer_decision_annex(decision: Decision, title: str) -> None:
    """Offer the annex of an impact assessment for a decision."""
    address = _address()
    offer_annex(
        lambda: brief_of(decision, title, address).label,
        f"Choose ε for a release of principal components: {decision.dataset.title}, "
        f"{percent(decision.answer.target)} of the captured energy wanted.",
    )


def _address() -> str:
    """Return the address of the page with its controls."""
    query = "&".join(f"{key}={value}" for key, value in st.query_params.to_dict().items())
    return f"{st.context.url or '/decide'}{'?' if query else ''}{query}"
