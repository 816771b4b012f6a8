"""Draw your own digit: what exact and private components keep of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.experiments.pca.sentences import percent
from dpcore.experiments.teaching.one_person import rebuild
from dpcore.figures.components.images import picture_strip
from pages.sidebar.parts import in_browser

_SHAPE, _MOST = (8, 8), 16
Seen = Callable[[FloatArray], FloatArray]


_pad = in_browser("digit_pad", *Path(__file__).parent.glob("pad.*"))


def own_digit(
    key: str, components: Mapping[str, FloatArray], *, as_row: Seen, as_picture: Seen
) -> None:
    """A pad, and beside it the drawing rebuilt from each of the components.

    components: mapping of str to shape (n_components, 64)
    as_row, as_picture: From 64 counts of 0 to 16 to what components are of, and back.
    """
    left, right = st.columns([1, 3], gap="large", vertical_alignment="center")
    with left:
        drawn = counts_of(_pad(key=key, on_counts_change=lambda: None).counts)
    if drawn is None:
        right.markdown("Draw a digit. Nothing of it is kept; it takes no part in any component.")
        return
    rebuilt = {title: rebuild(as_row(drawn), each, len(each)) for title, each in components.items()}
    pictures = [drawn, *(as_picture(row) for row, _ in rebuilt.values())]
    told = ", ".join(f"{title}: {percent(error)}" for title, (_, error) in rebuilt.items())
    right.image(
        picture_strip(np.array(pictures) / _MOST, _SHAPE),
        width="stretch",
        alt=f"Your digit, then rebuilt from each of the components. Missing: {told}.",
    )
    right.markdown(f"Your digit, then rebuilt. Missing with {told}.")


def counts_of(sent: object) -> FloatArray | None:
    """A drawing as a browser hands it over; nothing if it is empty, or is none."""
    if not isinstance(sent, list) or len(sent) != _SHAPE[0] * _SHAPE[1]:
        return None
    if not all(isinstance(each, int | float) and 0 <= each <= _MOST for each in sent):
        return None
    return np.array(sent, dtype=float) if any(sent) else None
