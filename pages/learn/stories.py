"""Stories: ten questions as cards, the 45-minute path through the lab, and the words it uses."""

from __future__ import annotations

import streamlit as st

from dpcore.figures.style import ink
from pages.shell import story_card
from pages.shell.lessons import STORIES
from pages.shell.navigation import DEFAULT_PAGE, PAGES, linked_page, page_of
from pages.widgets.charts import is_dark
from pages.widgets.glossary import GLOSSARY

_INK, _ORANGE, _BLUE = "currentColor", "#D55E00", "#0072B2"
_COLUMNS = 5
# A lesson from the pages alone: a page or a story, its minutes, what the class does there.
PATH = (
    ("promise", 8, "Ten rounds of *Was she in it?* at ε = 1, then at ε = 5."),
    (DEFAULT_PAGE, 5, "Drag ε until nobody can read the digits."),
    ("small-epsilon", 4, "Guess first, hands up, then look."),
    ("people", 4, "Why do more patients help?"),
    ("one-against-fifty", 4, "Why should hospitals work together?"),
    ("algorithm", 8, "Follow one message from the rows to the sum."),
    ("broken-promise", 4, "Is a formula in print always right?"),
    ("audit", 5, "Attack it, and watch the needle."),
    ("ten-looks", 3, "What do ten looks cost?"),
)


def _dots(count: int, colour: str, left: float, columns: int) -> str:
    return "".join(
        f'<circle cx="{left + 8 * (n % columns):g}" cy="{10 + 8 * (n // columns)}" r="2.8" '
        f'fill="{colour}"/>'
        for n in range(count)
    )


def _line(points: str, colour: str, dash: str = "") -> str:
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="3" '
        f'stroke-linecap="round" stroke-linejoin="round" stroke-dasharray="{dash}"/>'
    )


def _bars(heights: tuple[int, ...], colour: str, left: float) -> str:
    return "".join(
        f'<rect x="{left + 12 * n:g}" y="{58 - height}" width="9" height="{height}" rx="1.5" '
        f'fill="{colour}"/>'
        for n, height in enumerate(heights)
    )


# What a story is about, in 120 x 64.
_EMBLEMS = {
    "people": _dots(4, _BLUE, 16, 2) + _dots(36, _ORANGE, 62, 6),
    "one-against-fifty": _dots(1, _BLUE, 20, 1) + _dots(42, _ORANGE, 56, 7),
    "small-epsilon": _line("8,52 24,30 34,44 46,20 58,50 70,26 82,42 96,22 112,48", _INK),
    "delta": _line("8,20 40,22 70,27 90,37 104,50 112,58", _BLUE) + _line("8,58 112,58", _INK),
    "skewed-sites": _bars((46, 8, 5), _ORANGE, 8)
    + _bars((6, 44, 8), _BLUE, 46)
    + _bars((5, 9, 42), _INK, 84),
    "preparation": f'<circle cx="60" cy="32" r="25" fill="none" stroke="{_BLUE}" stroke-width="3"/>'
    + _line("60,32 78,14", _ORANGE)
    + _line("60,32 36,40", _ORANGE)
    + _line("60,32 66,56", _ORANGE),
    "r-too-small": _bars((48, 40, 32), _ORANGE, 10)
    + f'<g opacity=".3">{_bars((26, 21, 17, 13, 10), _INK, 48)}</g>',
    "broken-promise": _line("10,54 52,36 60,44 112,8", _ORANGE)
    + _line("10,54 112,30", _INK, "2 7"),
    "free-energy": _bars((24, 28), _INK, 20) + _bars((38, 50), _ORANGE, 66),
    "ten-looks": "".join(
        f'<circle cx="{14 + 10 * n}" cy="{32 + (n % 2) * 4}" r="{3 + n * 0.9:.1f}" fill="none" '
        f'stroke="{_BLUE}" stroke-width="2"/>'
        for n in range(10)
    ),
}


def _card(name: str) -> None:
    story = STORIES[name]
    with st.container(border=True, height="stretch"):
        drawing = _EMBLEMS[name].replace(_INK, ink(is_dark()))
        st.image(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-20 0 160 64">{drawing}</svg>',
            width="stretch",
            alt=f"A sketch for the story {story.title}.",
        )
        done = " :green-badge[done]" if name in story_card.finished() else ""
        st.markdown(f"**{story.title}**{done}\n\n:small[{_MINUTES} minutes]")
        st.page_link(linked_page(DEFAULT_PAGE), label="Guess →", query_params={"story": name})


_MINUTES = 4


def show_stories() -> None:
    """Stories."""
    st.markdown(
        "## A question, your guess, and the answer worked out while you watch\n\n"
        "No answer is written down in the program. Each is decided by runs made when you guess."
    )
    for start in range(0, len(STORIES), _COLUMNS):
        row = list(STORIES)[start : start + _COLUMNS]
        with st.container(key=f"stories_{start // _COLUMNS + 1}"):
            columns = st.columns(_COLUMNS)
        for column, name in zip(columns, row, strict=True):
            with column:
                _card(name)

    st.markdown(f"## A lesson of {sum(minutes for _, minutes, _ in PATH)} minutes")
    for number, (goal, minutes, what) in enumerate(PATH, 1):
        with st.container(horizontal=True, vertical_alignment="center", key=f"path_{number}"):
            st.markdown(f"**{number}.** {minutes} min", width=90)
            if goal in STORIES:
                st.page_link(
                    linked_page(DEFAULT_PAGE),
                    label=STORIES[goal].title,
                    query_params={"story": goal},
                )
            else:
                st.page_link(linked_page(goal), label=page_of(PAGES[goal]).title)
            st.markdown(what)

    with st.expander("What the words mean"):
        st.markdown("\n\n".join(f"**{name}**: {text}" for name, text in GLOSSARY.items()))
