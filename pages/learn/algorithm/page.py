"""How it works: Algorithm 1, step by step, on real data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.experiments.pca import NO_KNOWLEDGE
from dpcore.experiments.summaries import bytes_in_words, percent
from dpcore.experiments.teaching.algorithm1 import AT_AGGREGATOR, AT_SITE, STEPS, Panel, Walk
from dpcore.figures.components import spectrum
from pages.server import caches, family_caches
from pages.shell.controls import current
from pages.shell.parameters import STEP_TITLES, ask
from pages.shell.streamlit_internals import DeltaGenerator
from pages.widgets import charts, session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.messages import dataset_ready, errors_shown, how_computed, not_private

# Words and pieces of the page that steps through Algorithm 1.

_SECONDS_A_STEP = 3.0
_MOST_BARS = 300
_NUMBERS_SHOWN = 24


@dataclass(frozen=True)
class Words:
    """What a step does, in plain words and in the field's, what leaves, and who can know what.

    `does` is filled in with the step's facts.
    """

    plainly: str
    does: str
    formula: str
    leaves: str
    knows: str
    cannot: str


WORDS = {
    "moment": Words(
        "A site writes down, for its own people alone, which features go together.",
        "The site averages the outer products of its **{people:,} people**: how each of the "
        "{features} features goes with each other.",
        r"A_s = \frac{1}{n_s} X_s^\top X_s",
        "Nothing.",
        "How many people the site holds.",
        "Anything of the matrix: it is exact, so it must not leave.",
    ),
    "noise": Words(
        "It adds noise to every number, so that nobody's row can be read out of them.",
        "The site draws symmetric Gaussian noise with **σ = {sigma:.3g}** and adds it. In size "
        "the noise is **{noise_share}** of the matrix. All privacy of what follows is made here.",
        r"\hat A_s = A_s + E_s",
        "Nothing yet, though from here on everything could.",
        "σ, which is public. Not the noise: whoever knew $E_s$ could take it off again.",
        "Whether any one person is among the people, beyond what ε and δ allow.",
    ),
    "denoising": Words(
        "What is likely to be noise is taken out again, by what everybody knows.",
        "How large the noise is, everybody knows, and how such data look: pictures are smooth, "
        "columns differ in variance. The site shrinks what noise alone would explain: "
        "**{removed}** of the size of the noise goes. Nobody's row is read for it.",
        r"\tilde A_s = \mathrm{E}\,[A_s \mid \hat A_s, \sigma]",
        "Nothing yet.",
        "Still nothing. Whatever is done to the noisy matrix costs no privacy.",
        "The noise itself: what is taken out is an estimate of it.",
    ),
    "decomposition": Words(
        "The noisy table is sorted into patterns, the strongest first.",
        "The matrix is split into directions and strengths. Noise has bent all of them, and "
        "**{negative} of {features}** eigenvalues are below zero, which no true second moment has.",
        r"\tilde A_s = U \Sigma U^\top",
        "Nothing yet.",
        "Still nothing. This only rewrites the noisy matrix, which costs no privacy.",
        "The exact directions: they cannot be had from the noisy matrix, by anybody.",
    ),
    "truncation": Words(
        "Only the strongest patterns are kept.",
        "Only the strongest **R = {kept} of {features}** directions stay{negative_kept}. The "
        "rest is mostly noise, and would be most of the message.",
        r"U_R |\Sigma_R| U_R^\top",
        "Nothing yet.",
        "Still nothing.",
        "What was cut away: it is never sent, so not even collaborating sites can recover it.",
    ),
    "message": Words(
        "These patterns are sent, and no row ever is.",
        "The partial square root leaves the site: **{numbers:,} numbers, {bytes}**. The raw rows "
        "would be {raw_bytes}.",
        r"P_s = U_R |\Sigma_R|^{1/2}",
        "The matrix $P_s$, how many people there are, and σ.",
        "$P_s P_s^\\top$, so the directions that the noise has left standing.",
        "More about any one person than ε and δ allow, whatever it computes and whatever it "
        "knows already: the noise was there before anything else was done.",
    ),
    "average": Words(
        "The aggregator lays the patterns of all sites on top of each other, and noise "
        "partly cancels.",
        "The aggregator averages what all **{sites} sites** sent, by how many people each has. "
        "The noises are independent and partly cancel, and what the sites share stays.",
        r"A_c = \sum_s \frac{n_s}{N} P_s P_s^\top",
        "Nothing more.",
        "Every site's message, and so the average.",
        "Which site's people made the average as it is, beyond each site's own promise.",
    ),
    "components": Words(
        "The strongest patterns that all sites share are the result.",
        "The top **K = {components}** directions of the average are the result, which anybody "
        "may have.",
        r"A_c = V \Lambda V^\top",
        "The result goes back to the sites and may be published.",
        "The components.",
        "The exact components; nor does anybody else.",
    ),
}


def words_of(step_facts: dict[str, float], key: str) -> str:
    """The sentence of a step with its numbers."""
    facts: dict[str, object] = dict(step_facts)
    for name in ("bytes", "raw_bytes"):
        if name in facts:
            facts[name] = bytes_in_words(step_facts[name])
    if "noise_share" in facts:
        share = step_facts["noise_share"]
        facts["noise_share"] = f"{share:.1f} times that" if share >= 1 else percent(share)
    if "removed" in facts:
        facts["removed"] = percent(step_facts["removed"])
    if "negative_kept" in facts:
        count = facts["negative_kept"]
        facts["negative_kept"] = f", {count} of them negative noise" if count else ""
    return WORDS[key].does.format(**facts)


def position(buttons: DeltaGenerator) -> int:
    """The step shown, with buttons in a place to move it; the step is part of the address."""
    state = st.session_state
    if "_next_step" in state:
        state["step"] = state.pop("_next_step")
    chosen = ask("step", label_visibility="collapsed")
    here = STEPS.index(chosen)
    with buttons:
        st.button("← Back", disabled=here == 0, on_click=_move, args=(here - 1,))
        st.button("Forward →", disabled=here == len(STEPS) - 1, on_click=_move, args=(here + 1,))
        playing = st.toggle("Play", key="step_playing")
    if playing:
        st.fragment(_play, run_every=_SECONDS_A_STEP)(here)
    else:
        state.pop("_played", None)
    return here


def matrices(panels: Sequence[Panel], picture: Callable[[int], bytes]) -> DeltaGenerator | None:
    """The matrices of a step side by side; the room beside a single square one, if there is."""
    wide = [panel.matrix.shape[1] > 1.5 * panel.matrix.shape[0] for panel in panels]
    alone = len(panels) == 1 and not wide[0]
    columns = st.columns([2 if is_wide else 1 for is_wide in wide] + [2] * alone, gap="medium")
    for number, panel in enumerate(panels):
        with columns[number]:
            badge = "" if panel.private else " :red-badge[stays at the site]"
            st.markdown(f"${panel.name}${badge}")
            st.image(
                picture(number),
                width="stretch",
                alt=f"A matrix of {' × '.join(map(str, panel.matrix.shape))} entries, blue below "
                "zero and red above.",
            )
            st.caption(_axes(panel.matrix))
    limits = dict.fromkeys(f"{panel.limit:.2g}" for panel in panels)
    st.caption(
        "One pixel an entry: blue is negative, red positive, and the strongest colours are at "
        f"±{' and ±'.join(limits)}."
    )
    return columns[-1] if alone else None


def _axes(matrix: FloatArray) -> str:
    """What a matrix has down and across: features both ways where it is symmetric."""
    down, across = matrix.shape
    is_symmetric = down == across and np.allclose(matrix, matrix.T)
    return f"{down} {'features' if is_symmetric else 'directions'} down, {across} features across"


def who_knows(words: Words, beside: DeltaGenerator | None) -> None:
    """What leaves, what the aggregator knows, what it cannot: in a row, or stacked in a place."""
    told = (
        ("What leaves the site", words.leaves),
        ("What the aggregator knows", words.knows),
        ("What it cannot know", words.cannot),
    )
    places = st.columns(len(told)) if beside is None else [beside] * len(told)
    for place, (title, text) in zip(places, told, strict=True):
        with place.container(border=True, height="stretch" if beside is None else "content"):
            st.markdown(f"**{title}**\n\n{text}")


def spectrum_shown(found: Walk, n_kept: int | None) -> None:
    """Eigenvalues before and after the noise, with those that are kept in colour."""
    count = min(len(found.eigenvalues), _MOST_BARS)
    chart(
        spectrum(
            found.eigenvalues[:count], found.exact_eigenvalues[:count], n_kept, dark=is_dark()
        ),
        key="step_spectrum",
        alt=f"Eigenvalues of the noisy matrix; the first {found.n_kept} are kept.",
    )


def first_numbers(found: Walk) -> None:
    """The beginning of what really travels."""
    values = found.message.values.ravel()
    shown = "  ".join(f"{value:+.4f}" for value in values[:_NUMBERS_SHOWN])
    st.code(f"{shown}  … and {values.size - _NUMBERS_SHOWN:,} more", language=None, wrap_lines=True)


def _move(step: int) -> None:
    st.session_state["step"] = STEPS[step]


def _play(here: int) -> None:
    # The first run of a fragment is the page's own; only later ones are the clock's.
    if st.session_state.get("_played") != here:
        st.session_state["_played"] = here
        return
    st.session_state["_next_step"] = STEPS[(here + 1) % len(STEPS)]
    st.rerun()


PLACES = {AT_SITE: "at the site", AT_AGGREGATOR: "at the aggregator"}


def show_algorithm() -> None:
    """How it works: Algorithm 1, step by step, on real data."""
    selection = current()
    dataset = selection.dataset
    # Every site is walked through, in all dimensions.
    spec = replace(
        selection.spec, protocols=("dpdis",), repetitions=1, dropped_sites=0, knowledge=NO_KNOWLEDGE
    )
    for note in selection.notes:
        st.warning(note)
    if not dataset_ready(dataset):
        st.stop()

    with errors_shown():
        session_ledger.pay_run(spec, what=("messages", "components"))
        steps, answer = st.container(), st.container()
        # Beside the figure that they change.
        buttons = st.container(horizontal=True, vertical_alignment="bottom")
        with steps:
            here = position(buttons)
        site = 0
        if spec.sites > 1:
            site = ask("step_site", buttons, max_value=spec.sites, width=160) - 1
        found = family_caches.steps(spec, site)
        step = found.steps[here]
        words = WORDS[step.key]

        answer.markdown(
            f"## {here + 1} of {len(found.steps)}: {STEP_TITLES[step.key]}, "
            f"{PLACES.get(step.where, 'on its way to the aggregator')}\n\n**{words.plainly}**"
        )
        told, measured = answer.columns([4, 1], vertical_alignment="center")
        told.markdown(words_of(step.facts, step.key))
        told.latex(words.formula)
        measured.metric(
            "If we stopped here",
            percent(step.energy_ratio),
            help="Energy that the top K directions of this matrix capture, as a share of exact "
            "PCA's.",
        )

        beside = matrices(
            step.panels, lambda number: family_caches.picture(spec, site, here, number)
        )
        if step.key in ("decomposition", "truncation"):
            spectrum_shown(found, found.n_kept if step.key == "truncation" else None)
        if step.key == "message":
            first_numbers(found)
        if step.key == "components":
            charts.component_rows(
                {"Exact PCA": found.exact_components, "DPdisPCA": found.components},
                found.exact_components,
                dataset,
                caches.feature_names(spec),
            )

        who_knows(words, beside)
        if found.has_mean:
            st.caption(
                "Before the first step each site has sent a noisy mean of its rows, and the "
                "average "
                "came back: rows are taken around it. The aggregator knows these means at every "
                "step, "
                "and the ε below has paid for them."
            )
        not_private(
            "Matrices before the noise, exact lines and energies", "read the rows themselves."
        )
        released = caches.subspaces(spec)
        guarantee_card(released["dpdis"].guarantee, preparation=spec.preparation)
        session_ledger.so_far(dataset.name, dataset.title, spec.delta)
    how_computed("algorithm", "pca")
