"""Charts and component images on a page, with their tables and pictures below."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.data.dataset import is_held
from dpcore.experiments.engine import Row
from dpcore.experiments.export import csv_of
from dpcore.figures.components import component_strip, loading_bars
from dpcore.figures.style import ink
from dpcore.privacy import Guarantee, describe
from dpcore.spectra import align_signs
from pages.server import caches
from pages.shell.fragments import in_browser, part
from pages.shell.navigation import Place
from pages.shell.parameters import FIRST, ask, known
from pages.shell.streamlit_internals import DeltaGenerator

# What stands in small type on a picture that somebody takes away: settings and guarantees.

_PROMISES = "_promises_of_figures"
# The page's first chart, by its key, for a small picture of what is pinned.
_LEADING = "_leading_figure"
# A figure shows many releases: its points at other settings promise something else.
_OF_ONE = "Each private result at these settings, taken alone:"
OPEN = "Exact results, and every share or error measured against them, are not private."


def forget_promises() -> None:
    """A new run of the script shows releases of its own."""
    st.session_state[_PROMISES] = {}
    st.session_state.pop(_LEADING, None)


def leading_figure() -> tuple[go.Figure, str] | None:
    """The first chart of the page as it stands, and its alternative text."""
    drawn = st.session_state.get(_LEADING)
    return None if drawn is None else drawn[1:]


def promise(guarantee: Guarantee, reads_rows_first: bool, title: str = "") -> None:
    """Remember what a release that the page shows promises, and which it is."""
    said = headline(guarantee, reads_rows_first)
    titles = st.session_state.setdefault(_PROMISES, {}).setdefault(said, [])
    if title not in titles:
        titles.append(title)


def headline(guarantee: Guarantee, reads_rows_first: bool = False) -> str:
    """What a release promises in one sentence, and what of it no promise covers."""
    said = caches.shown(guarantee, lambda: describe(guarantee)).headline
    if reads_rows_first and guarantee.is_private:
        return f"Centring and scaling are not private. From there on: {said}"
    return said


def promises() -> list[str]:
    """What the releases on the page promise, those that promise the same together."""
    told = [
        f"{', '.join(filter(None, titles))}: {said}".removeprefix(": ")
        for said, titles in st.session_state.get(_PROMISES, {}).items()
    ]
    return [f"{_OF_ONE} {told[0]}", *told[1:], OPEN] if told else []


def settings(place: Place) -> str:
    """The page's shared controls in words; the address has all the others."""
    state = st.session_state
    # The Playground has its epsilon on the page.
    shown = [n for n in FIRST if n in place.controls or (n == "epsilon" and place.is_default)]
    words = [
        f"{known(name).title}: {', '.join(known(name).spelled(state[name]))}"
        for name in shown
        if name in state
    ]
    return f"{place.title}. {'; '.join(words)}".strip()


# Every chart's table and pictures, made in the browser from what it was drawn from.

_HERE = Path(__file__).parent / "figure_tools"
_tools = in_browser(
    "figure_tools", *(_HERE / f"{name}.js" for name in ("picture", "markup", "figures"))
)


def figure_tools(place: Place) -> None:
    """Put a table and pictures under every chart there is and comes; called once the page ran."""
    part("figure_tools", _tell)(place)


def _tell(place: Place) -> None:
    _tools(key="figure_tools", data=[{"settings": settings(place), "promises": promises()}])


# Figures on a page: readable in both themes; `figure_tools` adds their tables and pictures.

# The table and the pictures below a chart are ours, so that they have settings and a promise.
_CONFIG = {"displayModeBar": False}
# As the page's letters are, by mode.css; and what a screen of 720 lines has room for.
_LARGER, _HIGHEST = 1.6, 320
# On a slide of a deck, where the message is the title and no number stands above the chart.
_ON_SLIDE = 460
# Of a name beside its row.
_LINE = 34


def is_dark() -> bool:
    """Whether the page is dark, for lines that have to stand out from it."""
    return st.context.theme.type == "dark"


def is_presented() -> bool:
    """Whether the page is on a projector."""
    return bool(st.session_state.get("present"))


def enlarged(figure: go.Figure) -> go.Figure:
    """A copy with letters as large as the page's are in presenter mode, and room for them."""
    copy = go.Figure(figure)
    layout = copy.layout
    room = {side: _LARGER * (getattr(layout.margin, side) or 0) for side in "lrtb"}
    names = [name.replace("<br>", " ") for name in layout.yaxis.ticktext or ()]
    high = min(layout.height or _HIGHEST, _HIGHEST)
    if st.session_state.get("slide"):
        high = _ON_SLIDE
    high = max(high, _LINE * len(names))
    copy.update_layout(font_size=_LARGER * (layout.font.size or 12), margin=room, height=high)
    # The page is black or white there, whatever its theme.
    copy.update_layout(paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)")
    copy.for_each_annotation(lambda note: note.update(font_size=_LARGER * (note.font.size or 12)))
    copy.update_traces(textfont_size=_LARGER * 11, selector={"mode": "text"})
    copy.for_each_xaxis(lambda axis: axis.update(automargin=True))
    copy.for_each_yaxis(lambda axis: axis.update(automargin=True))
    if names:
        copy.update_layout(yaxis_ticktext=names)
    return copy


def chart(
    figure: go.Figure, *, key: str, alt: str, place: DeltaGenerator | None = None, **options: Any
) -> None:
    """A figure with readable labels.

    Streamlit's own chart theme draws axis labels in a grey of less than AA contrast.
    """
    if figure.layout.xaxis.tickfont.color is None:
        colour = ink(is_dark())
        figure.update_layout(font={"color": colour}, legend={"font": {"color": colour}})
        for axes in (figure.update_xaxes, figure.update_yaxes):
            axes(tickfont={"color": colour}, title={"font": {"color": colour}})
    # A part of the page that is drawn again has a newer one of the same key.
    if st.session_state.get(_LEADING, (key,))[0] == key:
        st.session_state[_LEADING] = key, figure, alt
    if is_presented():
        figure = enlarged(figure)
    draw = (st if place is None else place).plotly_chart
    draw(figure, key=key, alt=alt, config=_CONFIG, **options)


# Components on a page: as pictures where a row is a picture, else as bars.

MOST_SHOWN = 10
_NO_BREAK = "\N{NO-BREAK SPACE}"
# |cosine| to the exact component from which a picture is recognised: within 37 degrees.
_RECOGNISED_FROM = 0.8


def recognisable(rows: Mapping[str, np.ndarray], exact: np.ndarray) -> str:
    """How many of the components shown are near the exact ones of the same rank, row by row."""
    counts = []
    for title, components in rows.items():
        shown = components[:MOST_SHOWN]
        cosines = np.abs(np.einsum("kd,kd->k", shown, exact[: len(shown)]))
        found = int(np.count_nonzero(cosines >= _RECOGNISED_FROM))
        of_all = f"{found} of {len(shown)}" if found else "none"
        counts.append(f"**{of_all}** at {title.replace(' ', _NO_BREAK)}")
    return f"Still recognisable: {', '.join(counts)} (|cosine| {_RECOGNISED_FROM} or more)."


def component_rows(
    rows: Mapping[str, np.ndarray],
    exact: np.ndarray,
    dataset: DatasetStatus,
    feature_names: tuple[str, ...],
    *,
    protocol: str = "exact",
) -> None:
    """Rows of components under each other, the exact ones first, signs aligned to them.

    Bars of rows that are not called after a protocol take the colour of `protocol`.
    """
    if dataset.image_shape is None:
        _bars(rows, exact, feature_names, protocol)
        return
    strips = (
        _strip(title, components[:MOST_SHOWN], exact, dataset.image_shape)
        for title, components in rows.items()
    )
    st.html("".join(strips))


def _strip(
    title: str, components: np.ndarray, exact: np.ndarray, image_shape: tuple[int, int]
) -> str:
    """One row of pictures with its title and cosines, the picture inside: nothing to fetch."""
    aligned = align_signs(components, exact[: len(components)])
    cosines = np.abs(np.einsum("kd,kd->k", aligned, exact[: len(aligned)]))
    png = caches.shown(
        (aligned.tobytes(), image_shape),
        lambda: b64encode(component_strip(aligned, image_shape)).decode(),
    )
    return (
        f'<figure style="margin:0 0 1rem"><figcaption style="font-weight:600;margin-bottom:.4rem">'
        f'{escape(title)}</figcaption><img src="data:image/png;base64,{png}" '
        f'style="width:100%;border-radius:4px" alt="{escape(title)}: the {len(aligned)} leading '
        f'components as pictures. Mean |cosine| to the exact ones {cosines.mean():.2f}.">'
        f"{under_pictures([f'{cosine:.2f}' for cosine in cosines], 'opacity:.75')}</figure>"
    )


def under_pictures(words: Sequence[str], style: str) -> str:
    """A line of small type, a word under each picture of a strip."""
    cells = "".join(f"<span>{word}</span>" for word in words)
    return (
        f'<div style="display:grid;grid-template-columns:repeat({len(words)},1fr);'
        f'text-align:center;font-size:.8rem;{style}">{cells}</div>'
    )


def _bars(
    rows: Mapping[str, np.ndarray], exact: np.ndarray, feature_names: tuple[str, ...], protocol: str
) -> None:
    import pandas  # noqa: F401  whole, before Plotly looks for it

    count = min(MOST_SHOWN, *(len(components) for components in rows.values()))
    component = ask("component_shown", options=range(1, count + 1))
    loadings = {
        title: align_signs(components[:count], exact[:count])[component - 1]
        for title, components in rows.items()
    }
    chart(
        loading_bars(loadings, feature_names, protocol=protocol, dark=is_dark()),
        key="loadings",
        alt=f"Loadings of component {component}, exact and private, by feature.",
    )


# What to take away from a page: rows, figures, a script, a notebook.


def take_away(
    name: str,
    rows: Sequence[Row],
    *,
    figures: Mapping[str, go.Figure | Callable[[], go.Figure]] | None = None,
    script: Callable[[], str] | None = None,
    notebook: Callable[[], str] | None = None,
    commands: Sequence[str] = (),
    dataset: str | None = None,
) -> None:
    """Buttons for what there is, made when somebody presses one.

    name: What the files are called after.
    figures: mapping of str to Figure, or to what makes one. Each by what tells it from the others,
        "" where it is alone.
    commands: Command lines that give the same rows.
    dataset: Whose rows they are of, where that is not the sidebar's.
    """
    is_own = is_held(dataset or st.session_state.get("dataset"))
    if is_own:
        script = notebook = None
        commands = ()
    offered: list[tuple[str, Callable[[], str], str, str]] = []
    if rows:
        offered.append(("Rows (CSV)", partial(csv_of, rows), "rows.csv", "text/csv"))
    for which, figure in (figures or {}).items():
        offered.append(
            (
                f"Figure{which and f', {which}'} (HTML)",
                partial(_html, figure),
                f"{which or 'figure'}.html",
                "text/html",
            )
        )
    if script is not None:
        offered.append(("Script (Python)", script, "run.py", "text/x-python"))
    if notebook is not None:
        offered.append(("Notebook", notebook, "run.ipynb", "application/x-ipynb+json"))
    # Paper leaves it out.
    with st.container(key=f"take_away_{name}"):
        st.markdown("## Download")
        with st.container(horizontal=True):
            for label, data, ending, mime in offered:
                file = f"{name}-{ending}"
                st.download_button(label, data, file, mime, on_click="ignore", key=f"save_{file}")
        if is_own:
            st.caption("A script would need your table, which stays here: none is offered.")
        if commands:
            st.caption("The same rows from the command line:")
            st.code("\n".join(commands), language=None, wrap_lines=True)


def _html(figure: go.Figure | Callable[[], go.Figure]) -> str:
    import pandas  # noqa: F401  whole, before Plotly looks for it

    made = figure() if callable(figure) else figure
    return str(made.to_html(include_plotlyjs=True, full_html=True))
