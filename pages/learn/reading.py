"""Read the numeral: a person and a classifier read pictures rebuilt at smaller and smaller ε."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace

import numpy as np
import streamlit as st
from markupsafe import Markup

from dpcore.data import Prepared
from dpcore.experiments.engine.fields import PUBLISHED_DELTA, VERSIONS
from dpcore.experiments.engine.summaries import percent
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.rebuilt_rows import rebuild_rows_about
from dpcore.teaching.reading import EPSILONS, Reading, choose_pictures, read_numerals, score
from dpcore.templates import fill
from pages import cached
from pages.components import ledger, notices
from pages.components.picture_strip import draw_strip, strip_html
from pages.number_format import plain

TITLE = "Read the numeral"
_GAME = "_reading"
_SHAPE = (14, 14)
_SPEC = RunSpec(
    dataset="mnist-small", delta=PUBLISHED_DELTA, protocols=("dpdis",), repetitions=1,
    components=30, intermediate_dim=60, **VERSIONS["published"],
)  # fmt: skip
_FIGURES = """<style>
.read { display: grid; grid-template-columns: repeat(auto-fit, minmax(6rem, 1fr)); gap: 1rem; }
.read figure { margin: 0; } .read figcaption { font-size: .9rem; line-height: 1.4; }
.read img { width: 100%; max-width: 8rem; image-rendering: pixelated; }
</style><div class="read">
{%- for epsilon, image, caption in figures -%}
<figure>{{ image }}<figcaption><b>ε = {{ epsilon }}</b><br>{{ caption }}</figcaption></figure>
{%- endfor -%}
</div>"""


@dataclass
class Game:
    """A visitor's game.

    rows: Row of the picture at each of `EPSILONS`.
    answers: Answers of the visitor so far.
    """

    rows: tuple[int, ...]
    answers: list[int] = field(default_factory=list)

    def numerals(self) -> list[int]:
        """Return the true numeral of each picture."""
        return [int(_labels(_data())[row]) for row in self.rows]

    @property
    def is_over(self) -> bool:
        """Whether an answer was wrong or all pictures were read."""
        n = len(self.answers)
        return n == len(EPSILONS) or self.answers != self.numerals()[:n]


def show_reading() -> bool:
    """Draw the picture of the present ε, or the result of the game; return whether it is over."""
    if _GAME not in st.session_state:
        rng = np.random.default_rng(secrets.randbits(128))
        st.session_state[_GAME] = Game(choose_pictures(_labels(_data()), rng))
    game: Game = st.session_state[_GAME]
    if game.is_over:
        _show_result(game)
    else:
        _show_picture(game, len(game.answers))
    return game.is_over


def _show_picture(game: Game, number: int) -> None:
    epsilon = EPSILONS[number]
    ledger.charge_run(replace(_SPEC, epsilon=epsilon))
    st.title(f"ε = {plain(epsilon)}: which numeral is this?")
    st.markdown("Each right answer lowers ε; a wrong one ends the game. A machine plays too.")
    picture, words = st.columns([2, 3], gap="large")
    with picture:
        levels = _levels(epsilon, game.rows[number])
        draw_strip(levels, _SHAPE, alt="A rebuilt numeral.", height=320)
    with words:
        st.markdown(f"**Picture {number + 1} of {len(EPSILONS)}.** Your answer:")
        with st.container(horizontal=True):
            for numeral in range(10):
                key = f"reading_{number}_{numeral}"
                st.button(str(numeral), key=key, on_click=game.answers.append, args=(numeral,))
        notices.mark_not_private("The picture", "is rebuilt from a raw row.")


def _show_result(game: Game) -> None:
    numerals = game.numerals()
    readings = [_read(epsilon, row) for epsilon, row in zip(EPSILONS, game.rows, strict=True)]
    for epsilon in EPSILONS:
        ledger.charge_run(replace(_SPEC, epsilon=epsilon))
    read_by_visitor, machine = (
        _say_score(score(answers, numerals))
        for answers in (game.answers, [reading.answer for reading in readings])
    )
    st.title(f"You read {read_by_visitor}, the machine {machine}")
    st.html(fill(_FIGURES, figures=_figures(game, readings)))
    last = readings[-1]
    st.markdown(
        f"**Why does the machine read on?** At ε = {plain(EPSILONS[-1])} it still reads "
        f"{percent(last.share)} of a thousand other pictures. Each picture is drawn along private "
        "directions, without noise of its own. Even random directions keep pictures apart that "
        "differ. ε protects the people from whom the directions were computed, not the picture "
        "that is drawn."
    )
    notices.mark_not_private(
        "Pictures and labels", "are raw data; the machine knows 5,000 rebuilt pictures."
    )
    st.button("Play again", type="primary", on_click=st.session_state.pop, args=(_GAME,))


def _say_score(epsilon: float | None) -> str:
    return "no picture" if epsilon is None else f"down to ε = {plain(epsilon)}"


def _figures(game: Game, readings: list[Reading]) -> list[tuple[str, Markup, str]]:
    """Return (ε, picture, caption) of each picture."""
    figures = []
    for number, reading in enumerate(readings):
        epsilon, row, numeral = EPSILONS[number], game.rows[number], game.numerals()[number]
        answers = game.answers
        answer = str(answers[number]) if number < len(answers) else "–"
        caption = (
            f"{numeral}. You: {answer}. Machine: {reading.answer} (reads {percent(reading.share)})"
        )
        alt = f"Rebuilt at ε = {plain(epsilon)}: {caption}"
        figures.append(
            (plain(epsilon), strip_html(_levels(epsilon, row), _SHAPE, alt=alt), caption)
        )
    return figures


# ---- runs


def _data() -> Prepared:
    return cached.prepared(*_SPEC.problem_key().data)


def _labels(data: Prepared) -> np.ndarray:
    if data.labels is None:
        raise ValueError("pictures of numerals have labels")
    return data.labels


def _release(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the components of the first run at ε, and their centre."""
    subspace = cached.subspaces(replace(_SPEC, epsilon=epsilon))["dpdis"]
    n_features = subspace.components.shape[1]
    centre = np.zeros(n_features) if subspace.centre is None else np.asarray(subspace.centre)
    return subspace.components, centre


@cached.cached(256)
def _read(epsilon: float, row: int) -> Reading:
    data = _data()
    return read_numerals(np.asarray(data.X), _labels(data), *_release(epsilon), row)


@cached.cached(256)
def _levels(epsilon: float, row: int) -> bytes:
    rows = np.asarray(_data().X[[row]], dtype=np.float64)
    rebuilt = rebuild_rows_about(rows, *_release(epsilon))
    levels: bytes = cached.shown_rows(_SPEC).levels(rebuilt).tobytes()
    return levels
