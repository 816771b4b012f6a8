"""Steps of DPdisPCA: one message on its way from the rows of a site to the result."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from markupsafe import Markup

from dpcore.data import DatasetStatus
from dpcore.experiments.engine.knowledge import NO_KNOWLEDGE
from dpcore.experiments.engine.summaries import bytes_in_words, percent
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.rebuilt_rows import INK, rebuild_rows_about
from dpcore.figures.components import spectrum
from dpcore.figures.images import matrix_png
from dpcore.papers import algorithm1
from dpcore.teaching.algorithm1 import (
    AT_AGGREGATOR,
    AT_SITE,
    ON_THE_WIRE,
    STEP_TITLES,
    Step,
    Walk,
    walk,
)
from dpcore.templates import fill
from pages import cached, links, navigation
from pages.components import guarantee as cards
from pages.components import ledger, notices
from pages.components.charts import is_dark, show_figure
from pages.components.picture_strip import strip_html
from pages.sidebar import Selection

CONTROLS = ("dataset", "epsilon", "sites", "intermediate", "components", "denoise", "preparation")
# Steps whose picture of one row is at the top of the page.
_FILM = ("rows", "moment", "noise", "denoising", "truncation", "components")
# Number of the row at the top: among the numerals it is the three.
_ROW = 3
_MOST_BARS, _N_NUMBERS = 300, 12
# Place of the numbers at the step that was drawn last, and positions on the way to the aggregator.
_PLACE = "_step_place"
_POSITIONS = {AT_SITE: 0, ON_THE_WIRE: 0.5, AT_AGGREGATOR: 1}
_PLACES = {AT_SITE: "at the site", ON_THE_WIRE: "on its way", AT_AGGREGATOR: "at the aggregator"}


@dataclass(frozen=True)
class Words:
    """Texts of one step.

    text: Template of two sentences.
    formula: LaTeX.
    leaves, knows, unknown: Data that leave the site, knowledge of the aggregator, and data that it
        cannot know.
    """

    text: str
    formula: str
    leaves: str
    knows: str
    unknown: str


WORDS = {
    "rows": Words(
        "Site {site} has {people:,} {rows} of {features} numbers each. No row leaves the site.",
        r"X_s",
        "–",
        "number of rows",
        "any row",
    ),
    "moment": Words(
        "The site computes how its {features} columns vary together: {entries:,} exact numbers. "
        "They stay at the site.",
        r"A_s = \frac{1}{n_s} X_s^\top X_s",
        "–",
        "number of rows",
        "the matrix",
    ),
    "noise": Words(
        "The noise is {noise_share} as strong as the data.",
        r"\hat A_s = A_s + E_s",
        "–",
        "σ, which is public",
        "whether your row is at the site, beyond ε and δ",
    ),
    "denoising": Words(
        "The site removes {removed} of the noise again. It uses only public facts ({public}), so "
        "this costs no privacy.",
        r"\tilde A_s = \mathrm{E}\,[A_s \mid \hat A_s, \sigma]",
        "–",
        "nothing more",
        "the exact noise",
    ),
    "undenoised": Words(
        "Denoising is off. *Advanced* in the sidebar turns it on, at no cost in privacy.",
        r"\tilde A_s = \hat A_s",
        "–",
        "nothing more",
        "the exact noise",
    ),
    "truncation": Words(
        "The site keeps the strongest R = {kept} of {features} directions{negative_kept}. The "
        "other {cut} are mostly noise.",
        r"\tilde A_s = U \Sigma U^\top, \quad \text{keep } U_R, \Sigma_R",
        "–",
        "nothing more",
        "the dropped directions",
    ),
    "message": Words(
        "The site sends {numbers:,} numbers, {bytes}. Its rows would take {raw_bytes}.",
        r"P_s = U_R |\Sigma_R|^{1/2}",
        "$P_s$, number of rows, σ",
        "the directions of the noisy matrix",
        "more about your row than ε and δ allow",
    ),
    "average": Words(
        "The aggregator adds the messages of {sites}, weighted by their {rows}. The independent "
        "noises partly cancel.",
        r"A_c = \sum_s \frac{n_s}{N} P_s P_s^\top",
        "–",
        "the message of each site",
        "more about a site's rows than ε and δ allow",
    ),
    "components": Words(
        "The K = {components} strongest directions of the sum are the result. Their captured "
        "energy is {captured}.",
        r"A_c = V \Lambda V^\top",
        "–",
        "the components, which may be published",
        "the exact components",
    ),
}
_PANELS = {
    "A_s": "A: exact",
    "E_s": "E: noise",
    r"\hat A_s": "A + E: noisy",
    r"\tilde A_s": "denoised",
    r"U_R |\Sigma_R| U_R^\top": "R directions",
    r"P_s^\top": "message P: R directions (rows), columns of the data (columns)",
    r"P_{1} P_{1}^\top": "from site 1",
    r"P_{2} P_{2}^\top": "from site 2",
    "A_c": "sum of all sites",
    "V": "K components (rows), columns of the data (columns)",
}
# Signs between the panels of a step.
_SIGNS = {
    "noise": ("+", "="),
    "denoising": ("→",),
    "truncation": ("→",),
    "average": ("+", "→"),
    "components": ("→",),
}
# Source of Algorithm 1, and the numbers of the paper's steps that belong to a step of the page.
_PAPER = inspect.getsource(algorithm1.dpdispca)
_PAPER_STEPS = {
    "moment": (2,), "noise": (3, 4), "truncation": (5, 6), "message": (7,), "average": (9,),
    "components": (10, 11),
}  # fmt: skip
_STYLE = """<style>
.walk { display: flex; align-items: center; gap: .6rem; }
.walk figure { margin: 0; min-width: 0; flex: 0 1 13rem; }
.walk figure.wide { flex: 1 1 100%; }
.walk img { display: block; width: 100%; image-rendering: pixelated; border-radius: 6px; }
.walk .wide img { min-height: 3rem; }
.walk b.sign { font-size: 1.6rem; font-weight: 400; }
.walk figcaption { font-size: .85rem; }
.film { display: grid; grid-template-columns: repeat(6, minmax(0, 1fr)); gap: .5rem 1.25rem;
  max-width: 60rem; min-height: 9rem; }
.film figure { margin: 0; position: relative; min-width: 0; text-align: center; }
.film figure + figure::before { content: "→"; position: absolute; left: -1.1rem; top: 35%; }
.film img { width: 100%; aspect-ratio: 1; object-fit: contain; image-rendering: pixelated; }
.film figcaption { font-size: .9rem; }
.route { position: relative; display: flex; justify-content: space-between; align-items: center;
  gap: .6rem; max-width: 40rem; height: 2.4rem; font-size: .9rem; }
.route > i { position: relative; flex: 1; border-top: 2px dashed currentColor; }
.route img { position: absolute; top: -1.1rem; left: calc(var(--to) * (100% - 2.2rem));
  width: 2.2rem; height: 2.2rem; image-rendering: pixelated; border-radius: 4px; }
@media (prefers-reduced-motion: no-preference) {
  .route img { animation: travel .9s ease-in-out; }
  @keyframes travel { from { left: calc(var(--from) * (100% - 2.2rem)); } }
}
.bars { display: flex; gap: .6rem; height: 4rem; width: 100%; }
.bars > i { flex: 1; display: flex; align-items: flex-end; gap: 1px;
  border-bottom: 1px solid currentColor; }
.bars > i > i { flex: 1; background: light-dark(#0072B2, #62b6ee); }
@media (max-width: 640px) {
  .film { grid-template-columns: repeat(3, minmax(0, 1fr)); }
  .film figure:nth-child(4)::before { content: none; }
}
</style>"""
_FILM_HTML = """
<div class="film">
{%- for image, title, captured in figures -%}
<figure>{{ image }}<figcaption><b>{{ title }}</b><br>{{ captured }}</figcaption></figure>
{%- endfor -%}
</div>"""
_ROWS_HTML = '<div class="walk"><figure class="wide">{{ rows }}</figure></div>'
_BARS_HTML = """
<div class="bars" role="img" aria-label="{{ alt }}">
{%- for heights in groups -%}
<i>{% for height in heights %}<i style="height:{{ height }}"></i>{% endfor %}</i>
{%- endfor -%}
</div>"""
_ROUTE_HTML = """
<div class="route"><span>Site {{ site }}</span><i><img src="{{ picture | data_uri }}"
alt="The numbers are {{ place }}." style="--from:{{ start }};--to:{{ end }};
{%- if is_dark %}filter:invert(1) hue-rotate(180deg){% endif %}"></i>
{#- #}<span>Aggregator</span></div>"""
_MATRICES_HTML = """
<div class="walk">
{%- for sign, png, name, alt, is_wide in figures -%}
{%- if not loop.first %}<b class="sign">{{ sign }}</b>{% endif -%}
<figure{% if is_wide %} class=wide{% endif %}><img src="{{ png | data_uri }}" alt="{{ alt }}"
{%- if is_dark %} style="filter:invert(1) hue-rotate(180deg)"{% endif %}>
{#- #}<figcaption>{{ name }}</figcaption></figure>
{%- endfor -%}
</div>"""


def show(selection: Selection) -> None:
    """Draw the page."""
    dataset = selection.dataset
    notices.show_notes(selection.notes)
    notices.require_dataset(dataset)
    # The walk follows all sites, in all dimensions.
    spec = replace(
        selection.spec, protocols=("dpdis",), repetitions=1, dropped_sites=0, knowledge=NO_KNOWLEDGE
    )
    ledger.charge_run(spec, quantities=("messages", "components"))
    finding, site = st.container(), 0
    with st.container(horizontal=True, vertical_alignment="bottom"):
        links.accept_option("step", list(STEP_TITLES.values()), _key_of_step, several=False)
        title = st.select_slider(
            "Step", list(STEP_TITLES.values()), "Noise", key="step", bind="query-params"
        )
        if spec.sites > 1:
            number = st.number_input(
                "Site", 1, spec.sites, 1, key="step_site", width=120, bind="query-params"
            )
            site = number - 1
    walk, pictures = _steps(spec, site), _pictures(spec, site)
    captured = {step.key: step.energy_ratio for step in walk.steps}
    with finding:
        st.title(say_finding(captured, spec.sites, is_denoised=_is_denoised(walk)))
        st.html(_film(dataset, pictures, walk))
    key = _key_of_step(title)
    _show_step(key, dataset, walk, pictures, site)
    notices.mark_not_private("Matrices and percentages", "use raw data.")
    with st.expander("Details"):
        code, knowledge = st.tabs(["Algorithm 1 in NumPy", "Knowledge and guarantee"])
    with code:
        st.code(_PAPER, language="python", wrap_lines=True)
        st.download_button(
            "Download",
            Path(algorithm1.__file__).read_text(encoding="utf-8"),
            "algorithm1.py",
            "text/x-python",
            on_click="ignore",
        )
    with knowledge:
        _show_knowledge()
        released = cached.subspaces(spec)["dpdis"]
        cards.show_card(released.guarantee, reads_rows_first=spec.reads_rows_first)
        notices.show_formulas("pca")
    navigation.link_to_next("how_it_works")


def _key_of_step(title: str) -> str:
    return next(key for key, text in STEP_TITLES.items() if text == title)


def _is_denoised(walk: Walk) -> bool:
    # Rows prepared as published are not denoised, whatever the setting.
    (step,) = (step for step in walk.steps if step.key == "denoising")
    return step.facts["removed"] > 0


def say_finding(captured: Mapping[str, float], n_sites: int, *, is_denoised: bool) -> str:
    """Return the effect of denoising and of other sites as a sentence.

    captured: Captured energy after each step.
    """
    noisy, denoised, aggregated = (
        percent(captured[key]) for key in ("noise", "denoising", "components")
    )
    who = "a site" if n_sites > 1 else "the site"
    finding = f"Noise leaves {who} {noisy} of the energy"
    if is_denoised:
        verb = "lifts" if captured["denoising"] > captured["noise"] else "takes"
        finding = f"Denoising {verb} {who} from {noisy} to {denoised}"
    return f"{finding}, {n_sites} sites reach {aggregated}" if n_sites > 1 else finding


@cached.cached(3, megabytes=128)
def _steps(spec: RunSpec, site: int) -> Walk:
    return walk(spec, cached.problem_of(spec.problem_key()), site)


@dataclass(frozen=True)
class StepPictures:
    """Pictures of one step.

    matrices: PNG file of each panel.
    rows: Rows rebuilt from the directions of the step, one byte per pixel.
    n_rows: Number of these rows.
    """

    matrices: tuple[bytes, ...]
    rows: bytes
    n_rows: int


@cached.cached(12, message="Drawing the steps")
def _pictures(spec: RunSpec, site: int) -> dict[str, StepPictures]:
    walk, examples = _steps(spec, site), cached.shown_rows(spec)
    centre = np.zeros(examples.rows.shape[1]) if walk.centre is None else walk.centre
    pictures = {
        step.key: StepPictures(
            tuple(matrix_png(panel.matrix, panel.limit) for panel in step.panels),
            examples.levels(rebuild_rows_about(examples.rows, step.directions, centre)).tobytes(),
            len(examples.rows),
        )
        for step in walk.steps
    }
    originals = examples.levels(examples.rows).tobytes()
    return {"rows": StepPictures((), originals, len(examples.rows))} | pictures


# ---- pictures


def _film(dataset: DatasetStatus, pictures: Mapping[str, StepPictures], walk: Walk) -> Markup:
    captured = {"rows": 1.0} | {step.key: step.energy_ratio for step in walk.steps}
    figures = []
    for key in _FILM:
        rows = np.frombuffer(pictures[key].rows, dtype=np.uint8).reshape(pictures[key].n_rows, -1)
        row = rows[min(_ROW, len(rows) - 1)]
        image = _rows_html(row.tobytes(), 1, dataset, STEP_TITLES[key])
        figures.append((image, STEP_TITLES[key], percent(captured[key])))
    return fill(_STYLE + _FILM_HTML, figures=figures)


def _rows_html(levels: bytes, n_rows: int, dataset: DatasetStatus, alt: str) -> Markup:
    """Return rows next to each other: pictures, or a group of bars per row of a table."""
    if dataset.image_shape is not None:
        return strip_html(levels, dataset.image_shape, alt=alt, on_paper=dataset.name in INK)
    rows = np.frombuffer(levels, dtype=np.uint8).reshape(n_rows, -1) / 255
    groups = [[f"{share:.0%}" for share in row] for row in rows]
    return fill(_BARS_HTML, groups=groups, alt=alt)


def _matrices_html(step: Step, pictures: StepPictures, *, is_denoised: bool) -> Markup:
    # A single site has no sum with another one.
    signs = ("", *_SIGNS.get(step.key, ())[-(len(step.panels) - 1) :])
    figures = []
    for number, (panel, png) in enumerate(zip(step.panels, pictures.matrices, strict=True)):
        n_rows, n_columns = panel.matrix.shape
        is_noisy = panel.name == r"\tilde A_s" and not is_denoised
        name = "not denoised" if is_noisy else _PANELS[panel.name]
        alt = f"{name}: {n_rows} × {n_columns} numbers, blue below zero, orange above."
        figures.append((signs[number] if number else "", png, name, alt, n_columns > 1.5 * n_rows))
    return fill(_MATRICES_HTML, figures=figures, is_dark=is_dark())


# ---- one step


def _draw_route(place: str, picture: bytes, site: int) -> None:
    """Draw where the numbers are, as a picture that moves from the place of the step before."""
    before = st.session_state.get(_PLACE, place)
    st.session_state[_PLACE] = place
    st.html(
        fill(
            _ROUTE_HTML,
            site=site + 1,
            picture=picture,
            place=_PLACES[place],
            start=_POSITIONS[before],
            end=_POSITIONS[place],
            is_dark=is_dark(),
        )
    )


def _show_step(
    key: str,
    dataset: DatasetStatus,
    walk: Walk,
    pictures: Mapping[str, StepPictures],
    site: int,
) -> None:
    step = next((step for step in walk.steps if step.key == key), walk.steps[0])
    texts = WORDS["undenoised" if key == "denoising" and not _is_denoised(walk) else key]
    facts = dict(step.facts) | {
        "site": site + 1,
        "people": int(walk.steps[0].facts["people"]),
        "rows": dataset.unit.many,
        "features": dataset.n_features,
        "entries": dataset.n_features**2,
        "cut": dataset.n_features - walk.n_kept,
        "captured": step.energy_ratio,
        "public": "variances of columns" if dataset.image_shape is None else "pictures are smooth",
    }
    place = AT_SITE if key == "rows" else step.where
    _draw_route(place, pictures["moment" if key == "rows" else key].matrices[-1], site)
    words, figure = st.columns([2, 3], gap="large")
    with words:
        st.subheader(STEP_TITLES[key])
        st.markdown(_unbroken(texts.text.format(**_in_words(facts))))
        st.latex(texts.formula)
        if lines := _lines_of(key):
            st.code(lines, language="python", wrap_lines=True)
        if key == "moment" and walk.centre is not None:
            st.caption("Before this step each site sent a noisy mean of its rows, covered by ε.")
    with figure, st.container(key="step_figure"):
        if key != "rows":
            st.html(_matrices_html(step, pictures[key], is_denoised=_is_denoised(walk)))
        alt = "Ten known rows." if key == "rows" else "Ten known rows rebuilt after this step."
        rows = _rows_html(pictures[key].rows, pictures[key].n_rows, dataset, alt)
        st.html(fill(_ROWS_HTML, rows=rows))
        if key == "truncation":
            _show_spectrum(walk)
        if key == "message":
            values = walk.message.values.ravel()
            start = "  ".join(f"{value:+.4f}" for value in values[:_N_NUMBERS])
            rest = max(values.size - _N_NUMBERS, 0)
            st.code(f"{start}  … and {rest:,} more", language=None, wrap_lines=True)


def _lines_of(key: str) -> str:
    """Return the lines of Algorithm 1 that compute a step; empty if the paper has no such step."""
    number, lines = 0, []
    for line in _PAPER.splitlines():
        if starts := re.search(r"# (\d+)", line):
            number = int(starts[1])
        if number in _PAPER_STEPS.get(key, ()):
            lines.append(line.strip())
    return "\n".join(lines)


def _in_words(facts: Mapping[str, Any]) -> dict[str, Any]:
    in_words: dict[str, Callable[[Any], str]] = {
        "bytes": bytes_in_words,
        "raw_bytes": bytes_in_words,
        "noise_share": lambda share: (
            f"{share:.1f} times" if share >= 1 else f"only {percent(share)}"
        ),
        "removed": percent,
        "captured": percent,
        "negative_kept": lambda count: f" ({count} of them are negative noise)" if count else "",
        "sites": lambda count: "the one site" if count == 1 else f"all {count} sites",
    }
    return {
        name: in_words[name](value) if name in in_words else value for name, value in facts.items()
    }


def _unbroken(text: str) -> str:
    return text.replace(" %", "\u00a0%")


def _show_spectrum(walk: Walk) -> None:
    count = min(len(walk.eigenvalues), _MOST_BARS)
    show_figure(
        spectrum(
            walk.eigenvalues[:count], walk.exact_eigenvalues[:count], walk.n_kept, dark=is_dark()
        ),
        key="step_spectrum",
        alt=f"Strength of each direction of the noisy matrix; the first {walk.n_kept} are kept.",
    )


def _show_knowledge() -> None:
    head = "| Step | Leaves the site | The aggregator knows | It cannot know |\n|--|--|--|--|"
    lines = [
        f"| {STEP_TITLES[key]} | {words.leaves} | {words.knows} | {words.unknown} |"
        for key, words in WORDS.items()
        if key in STEP_TITLES
    ]
    st.markdown("\n".join((head, *lines)))
