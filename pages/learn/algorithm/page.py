"""How it works: one message on its way from the rows of a site to the result."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.arrays import IntArray
from dpcore.data import DatasetStatus
from dpcore.experiments.knowledge import NO_KNOWLEDGE
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.rebuilt_rows import INK
from dpcore.experiments.summaries import bytes_in_words, percent
from dpcore.figures.components import ink_strip, spectrum
from dpcore.teaching.algorithm1 import (
    AT_AGGREGATOR,
    AT_SITE,
    ON_THE_WIRE,
    STEP_TITLES,
    Panel,
    Walk,
)
from pages.server import caches, family_caches
from pages.server.family_caches import StepPictures
from pages.shell.controls import Selection
from pages.shell.fragments import in_browser
from pages.shell.page import page
from pages.shell.parameters import ask
from pages.shell.streamlit_internals import DeltaGenerator
from pages.widgets import charts, session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.guarantee_card import guarantee_card

# What is said of each step.

_HERE = Path(__file__).parent
_scroll = in_browser("walk", _HERE / "walk.js")
_LOOKS = (_HERE / "walk.css").read_text(encoding="utf-8")
_MOST_BARS = 300
_NUMBERS_SHOWN = 12
# Steps of one person that are shown side by side on top.
_FILM = ("rows", "moment", "noise", "denoising", "truncation", "components")
# Of the ten, the one on top: of numerals, the three.
_ON_TOP = 3


@dataclass(frozen=True)
class Words:
    """Two sentences of a step, filled in with its facts; its formula; who can know what of it.

    leaves, knows, cannot: What leaves the site, what the aggregator knows then, and what it cannot.
    """

    told: str
    formula: str
    leaves: str
    knows: str
    cannot: str


WORDS = {
    "rows": Words(
        "**Site {site} holds {people:,} {rows} of {features} numbers each.** Noise will hide "
        "any one {one}; none ever leaves the site.",
        r"X_s",
        "Nothing.",
        "How many rows the site holds.",
        "Any row.",
    ),
    "moment": Words(
        "**The site works out how each of the {features} columns goes with each other.** This "
        "table of {entries:,} numbers is exact, so it stays at the site.",
        r"A_s = \frac{1}{n_s} X_s^\top X_s",
        "Nothing.",
        "How many rows the site holds.",
        "The table.",
    ),
    "noise": Words(
        "**The site adds random noise to every number, σ = {sigma:.3g}: in size {noise_share} of "
        "the table.** All privacy of what follows is made here.",
        r"\hat A_s = A_s + E_s",
        "Nothing yet.",
        "σ, which is public; not the noise.",
        "Whether your row is among those of the site, beyond what ε and δ allow.",
    ),
    "denoising": Words(
        "**The site estimates the noise and takes it out again: {removed} of its size goes.** It "
        "uses public knowledge ({public}) and no row, so this costs no privacy.",
        r"\tilde A_s = \mathrm{E}\,[A_s \mid \hat A_s, \sigma]",
        "Nothing yet.",
        "Nothing more.",
        "The exact noise: what is taken out is an estimate.",
    ),
    "undenoised": Words(
        "**Denoising is off: the noisy table goes on as it is.** *Advanced*, at the side, turns "
        "it on; it costs no privacy.",
        r"\tilde A_s = \hat A_s",
        "Nothing yet.",
        "Nothing more.",
        "The exact noise.",
    ),
    "truncation": Words(
        "**The site sorts the table into {features} directions and keeps the strongest "
        "R = {kept}{negative_kept}.** The other {cut} are mostly noise and are never sent.",
        r"\tilde A_s = U \Sigma U^\top, \quad \text{keep } U_R, \Sigma_R",
        "Nothing yet.",
        "Nothing more.",
        "The directions that were cut.",
    ),
    "message": Words(
        "**The site sends {numbers:,} numbers, {bytes}.** Its rows would take {raw_bytes}.",
        r"P_s = U_R |\Sigma_R|^{1/2}",
        "$P_s$, how many rows there are, and σ.",
        "The directions that survived the noise.",
        "More about your row than ε and δ allow, whatever it computes and whatever it knew before.",
    ),
    "average": Words(
        "**The aggregator adds up what {sites} sent, weighed by how many {rows} each holds.** "
        "Their noises are independent and partly cancel; what the sites share stays.",
        r"A_c = \sum_s \frac{n_s}{N} P_s P_s^\top",
        "Nothing more.",
        "Every site's message, and so the sum.",
        "More about a site's rows than that site's own ε and δ allow.",
    ),
    "components": Words(
        "**The K = {components} strongest directions of the sum are the result.** {survives} of "
        "the pattern survives, and anyone may see them.",
        r"A_c = V \Lambda V^\top",
        "The result goes back to the sites and may be published.",
        "The components.",
        "The exact components.",
    ),
}
_PLACES = {AT_SITE: "at the site", ON_THE_WIRE: "on its way", AT_AGGREGATOR: "at the aggregator"}
# Panels as captions, which have no formulas, and what stands before each.
_PANELS = {
    "A_s": "A: exact",
    "E_s": "E: noise",
    r"\hat A_s": "A + E: noisy",
    r"\tilde A_s": "denoised",
    r"U_R |\Sigma_R| U_R^\top": "cut to R directions",
    r"P_s^\top": "the message P: R directions down, columns across",
    r"P_{1} P_{1}^\top": "from site 1",
    r"P_{2} P_{2}^\top": "from site 2",
    "A_c": "sum of all sites",
    "V": "K components down, columns across",
}
_BETWEEN = {
    "noise": ("+", "="),
    "denoising": ("→",),
    "truncation": ("→",),
    "average": ("+", "→"),
    "components": ("→",),
}


def words_of(key: str, facts: Mapping[str, Any]) -> str:
    """The sentences of a step with its numbers."""
    in_words: dict[str, Callable[[Any], str]] = {
        "bytes": bytes_in_words,
        "raw_bytes": bytes_in_words,
        "noise_share": lambda share: (
            f"{share:.1f} times the size" if share >= 1 else percent(share)
        ),
        "removed": percent,
        "survives": percent,
        "negative_kept": lambda count: f", {count} of them negative noise" if count else "",
        "sites": lambda count: "the one site" if count == 1 else f"all {count} sites",
    }
    said = {
        name: in_words[name](value) if name in in_words else value for name, value in facts.items()
    }
    return WORDS[key].told.format(**said)


# What is seen at each step: its matrices, and ten people as that step would rebuild them.


def _people(levels: IntArray, dataset: DatasetStatus, alt: str) -> str:
    """People side by side: pictures, or for a table a row of bars each."""
    if dataset.image_shape is None:
        bars = (
            "".join(f'<i style="height:{share:.0%}"></i>' for share in (person / 255).tolist())
            for person in levels
        )
        inside = "".join(f"<i>{each}</i>" for each in bars)
        return f'<div class="bars" role="img" aria-label="{escape(alt)}">{inside}</div>'
    dark = is_dark() if dataset.name in INK else True
    png = ink_strip(levels / 255, dataset.image_shape, dark=dark)
    return _picture(b64encode(png).decode(), alt)


def _picture(png: str, alt: str) -> str:
    return f'<img src="data:image/png;base64,{png}" alt="{escape(alt)}">'


def _film(dataset: DatasetStatus, seen: Sequence[tuple[str, IntArray, float]]) -> str:
    """One person along the steps, with what survives of everybody's pattern under each."""
    figures = "".join(
        f"<figure>{_people(people[[min(_ON_TOP, len(people) - 1)]], dataset, STEP_TITLES[key])}"
        f"<figcaption><b>{STEP_TITLES[key]}</b>{_unbroken(percent(ratio))}</figcaption></figure>"
        for key, people, ratio in seen
    )
    # Matrices are drawn on white: in the dark turned round, and their hues turned back.
    turned = ".walk .matrices img { filter: invert(1) hue-rotate(180deg); }" if is_dark() else ""
    return f'<style>{_LOOKS}{turned}</style><div class="film">{figures}</div>'


def _matrices(key: str, panels: Sequence[Panel], pictures: StepPictures) -> str:
    # One site has nothing to be added to.
    signs = ("", *_BETWEEN.get(key, ())[-(len(panels) - 1) :])
    parts = []
    for number, (panel, png) in enumerate(zip(panels, pictures.matrices, strict=True)):
        rows, columns = panel.matrix.shape
        wide = " class=wide" * (columns > 1.5 * rows)
        stays = "" if panel.private else ' <span class="stays">stays at the site</span>'
        named = escape(_PANELS[panel.name])
        alt = f"{_PANELS[panel.name]}: {rows} × {columns} numbers, blue below zero, red above."
        parts += [f"<b>{signs[number]}</b>"] * bool(number)
        parts.append(
            f"<figure{wide}>{_picture(png, alt)}<figcaption>{named}{stays}</figcaption></figure>"
        )
    return f'<div class="matrices">{"".join(parts)}</div>'


def _unbroken(text: str) -> str:
    return text.replace(" %", "\u00a0%")


def _section(key: str, where: str, told: str, formula: str, figure: str) -> DeltaGenerator:
    """One step: what happens, beside what it looks like; the place of its figure."""
    with st.container(key=f"walk_{where}_of_{key}"):
        words, seen = st.columns([5, 7], gap="large")
        with words:
            number = list(STEP_TITLES).index(key) + 1
            st.markdown(f"## {number}. {STEP_TITLES[key]}, {_PLACES[where]}")
            st.markdown(_unbroken(told))
            st.latex(formula)
        with seen:
            st.html(f'<div class="walk">{figure}</div>')
    return seen


def _who_knows(keys: Sequence[str]) -> None:
    """What leaves, what the aggregator knows and what it cannot, step by step."""
    with st.expander("Who knows what, step by step"):
        lines = (
            (STEP_TITLES[key], words.leaves, words.knows, words.cannot)
            for key, words in ((key, WORDS[key]) for key in keys)
        )
        head = ("Step", "Leaves the site", "The aggregator knows", "It cannot know")
        table = (head, ("--",) * len(head), *lines)
        st.markdown("\n".join(f"| {' | '.join(line)} |" for line in table))


def _first_numbers(found: Walk) -> None:
    """The beginning of what really travels."""
    values = found.message.values.ravel()
    shown = "  ".join(f"{value:+.4f}" for value in values[:_NUMBERS_SHOWN])
    left = max(values.size - _NUMBERS_SHOWN, 0)
    st.code(f"{shown}  … and {left:,} more", language=None, wrap_lines=True)


def _spectrum(found: Walk) -> None:
    """Eigenvalues before and after the noise, with those that are kept in colour."""
    count = min(len(found.eigenvalues), _MOST_BARS)
    chart(
        spectrum(
            found.eigenvalues[:count], found.exact_eigenvalues[:count], found.n_kept, dark=is_dark()
        ),
        key="step_spectrum",
        alt=f"Strength of each direction of the noisy table; the first {found.n_kept} are kept.",
    )


def _walk_through(spec: RunSpec, site: int, dataset: DatasetStatus, film: DeltaGenerator) -> None:
    """All steps under one another, and one person along them on top."""
    found = family_caches.steps(spec, site)
    pictures = family_caches.step_pictures(spec, site)
    shown = caches.people(spec)
    truth = shown.levels(shown.rows)
    steps = {step.key: (step, seen) for step, seen in zip(found.steps, pictures, strict=True)}
    film.html(
        _film(
            dataset,
            [
                (key, truth, 1.0)
                if key == "rows"
                else (key, steps[key][1].people, steps[key][0].energy_ratio)
                for key in _FILM
            ],
        )
    )
    rows, n_people = dataset.unit.many, int(steps["moment"][0].facts["people"])
    facts = {"site": site + 1, "people": n_people, "rows": rows}
    facts["one"] = dataset.unit.one
    facts["features"] = dataset.n_features
    ten = f"Ten of the data set's {rows} as they are."
    _section(
        "rows",
        AT_SITE,
        words_of("rows", facts),
        WORDS["rows"].formula,
        f'<div class="people">{_people(truth, dataset, ten)}</div><figcaption>{ten} Below, each '
        "step shows what could be rebuilt of them from there.</figcaption>",
    )
    for key in STEP_TITLES:
        if key == "rows":
            continue
        step, seen = steps[key]
        facts = {**step.facts, "rows": rows, "survives": step.energy_ratio}
        facts["features"] = dataset.n_features
        facts["entries"] = dataset.n_features**2
        facts["cut"] = dataset.n_features - found.n_kept
        facts["public"] = (
            "columns differ in variance"
            if dataset.image_shape is None
            else "pictures are smooth, columns differ in variance"
        )
        said = "undenoised" if key == "denoising" and spec.denoise == "none" else key
        survives = f"Rebuilt from here: {_unbroken(percent(step.energy_ratio))} survives."
        exact = "" if step.panels[0].private or key != "moment" else " Exact, so it stays here."
        place = _section(
            key,
            step.where,
            words_of(said, facts),
            WORDS[said].formula,
            f"{_matrices(key, step.panels, seen)}"
            f'<figure class="people">{_people(seen.people, dataset, survives)}'
            f"<figcaption>{survives}{exact}</figcaption></figure>",
        )
        with place:
            if key == "truncation":
                _spectrum(found)
            if key == "message":
                _first_numbers(found)
            if key == "components":
                charts.component_rows(
                    {"Exact PCA": found.exact_components, "DPdisPCA": found.components},
                    found.exact_components,
                    dataset,
                    caches.feature_names(spec),
                )
        if key == "moment" and found.centre is not None:
            st.caption(
                "Before this step each site has sent a noisy mean of its rows, and the average "
                "came back: rows are measured from it. The aggregator knows these means; the ε "
                "below covers them."
            )


@page(
    reads=True, ledger=True, formulas="pca",
    beside=(
        "Matrices before the noise, exact lines and every share that survives",
        "are computed on the rows themselves.",
    ),
)  # fmt: skip
def show_algorithm(selection: Selection) -> None:
    """How it works: one message from a site's rows to the result."""
    dataset = selection.dataset
    # Every site is walked through, in all dimensions.
    spec = replace(
        selection.spec, protocols=("dpdis",), repetitions=1, dropped_sites=0, knowledge=NO_KNOWLEDGE
    )

    session_ledger.charge_run(spec, what=("messages", "components"))
    film = st.container(key="walk_film")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        step, site = ask("step"), 0
        if spec.sites > 1:
            site = ask("step_site", max_value=spec.sites, width=160) - 1
    _walk_through(spec, site, dataset, film)
    titles = [{"key": key, "title": title} for key, title in STEP_TITLES.items()]
    _scroll(key="walk_scroll", data={"step": step, "steps": titles})
    _who_knows(list(STEP_TITLES))
    released = caches.subspaces(spec)
    guarantee_card(released["dpdis"].guarantee, reads_rows_first=spec.reads_rows_first)
