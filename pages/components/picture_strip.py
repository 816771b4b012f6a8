"""Strips of small pictures, magnified without smoothing."""

from __future__ import annotations

from base64 import b64encode
from html import escape

import numpy as np
import streamlit as st

from dpcore.figures.images import ink_strip
from pages.components.charts import is_dark


def strip_html(levels: bytes, shape: tuple[int, int], *, alt: str, on_paper: bool = True) -> str:
    """Return an image element with pictures side by side.

    levels: Grey levels of all pictures, one byte per pixel.
    shape: Height and width of one picture.
    on_paper: Draw ink on paper, which follows the theme; otherwise white on black.
    """
    tiles = np.frombuffer(levels, dtype=np.uint8).reshape(-1, shape[0] * shape[1])
    png = ink_strip(tiles / 255, shape, dark=is_dark() if on_paper else True)
    source = f"data:image/png;base64,{b64encode(png).decode()}"
    return f'<img src="{source}" alt="{escape(alt)}">'


def draw_strip(levels: bytes, shape: tuple[int, int], *, alt: str, height: int) -> None:
    """Draw pictures side by side, at most `height` CSS pixels high."""
    image = strip_html(levels, shape, alt=alt)
    style = f"max-width:100%;max-height:{height}px;height:{height}px;image-rendering:pixelated"
    st.html(image.replace("<img", f'<img style="{style};object-fit:contain;object-position:left"'))
