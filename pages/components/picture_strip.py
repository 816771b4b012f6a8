"""Strips of small pictures, magnified without smoothing."""

from __future__ import annotations

import numpy as np
import streamlit as st
from markupsafe import Markup

from dpcore.figures.images import ink_strip
from dpcore.templates import fill
from pages.components.charts import is_dark

_IMAGE = """
<img{% if style %} style="{{ style }}"{% endif %} src="{{ png | data_uri }}" alt="{{ alt }}">
"""


def strip_html(
    levels: bytes, shape: tuple[int, int], *, alt: str, on_paper: bool = True, style: str = ""
) -> Markup:
    """Return an image element with pictures side by side.

    levels: Grey levels of all pictures, one byte per pixel.
    shape: Height and width of one picture.
    on_paper: Draw ink on paper, which follows the theme; otherwise white on black.
    style: CSS of the image.
    """
    tiles = np.frombuffer(levels, dtype=np.uint8).reshape(-1, shape[0] * shape[1])
    png = ink_strip(tiles / 255, shape, dark=is_dark() if on_paper else True)
    return fill(_IMAGE, png=png, alt=alt, style=style)


def draw_strip(levels: bytes, shape: tuple[int, int], *, alt: str, height: int) -> None:
    """Draw pictures side by side, at most `height` CSS pixels high."""
    style = f"max-width:100%;max-height:{height}px;height:{height}px;image-rendering:pixelated"
    style += ";object-fit:contain;object-position:left"
    st.html(strip_html(levels, shape, alt=alt, style=style))
