"""PNG images of components, pictures and matrices: one tile each, without interpolation."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from dpcore.arrays import FloatArray, IntArray

# Okabe and Ito's blue and vermilion with a light or dark zero, as the start page draws components.
_NEGATIVE, _POSITIVE = (0, 114, 178), (213, 94, 0)
_ZERO, _ZERO_DARK = (255, 255, 255), (24, 28, 34)
_GAP = 2
# Most rows and columns of a matrix, so that three matrices fit side by side on a screen.
_MOST_ENTRIES = 280
# Odd, so that one level is exactly zero. The level after the last is the gap.
_LEVELS = 127


def diverging_colours(values: FloatArray, limit: float, *, dark: bool = False) -> IntArray:
    """Return the RGB colours of values in [-limit, limit], blue below zero and orange above.

    dark: Zero is dark instead of light.

    Returns: ndarray of uint8 with one more axis of length 3
    """
    share = np.clip(values / limit, -1, 1)[..., None]
    zero = np.array(_ZERO_DARK if dark else _ZERO, dtype=float)
    colours: IntArray = np.rint(
        zero + np.abs(share) * (np.where(share < 0, _NEGATIVE, _POSITIVE) - zero)
    ).astype(np.uint8)
    return colours


def grey_colours(values: FloatArray) -> IntArray:
    """Return the RGB greys of values clipped to [0, 1]."""
    level = np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)
    return np.repeat(level[..., None], 3, axis=-1)


def component_strip(
    components: FloatArray,
    image_shape: tuple[int, int],
    *,
    tile_pixels: int = 112,
    dark: bool = False,
) -> bytes:
    """Return a PNG of components side by side, each scaled to its own largest entry.

    components: shape (n_components, n_features)
    image_shape: (int, int). Height and width, n_features pixels in total.
    tile_pixels: Approximate width of a tile; tiles are magnified by an integer.
    dark: Colours for a dark page.
    """
    factor = max(1, tile_pixels // image_shape[1])
    gap = _GAP * max(1, factor // 4)
    limits = np.abs(components).max(axis=1, keepdims=True)
    limits[limits == 0] = 1
    levels = np.rint((components / limits + 1) / 2 * (_LEVELS - 1)).astype(np.uint8)
    tiles = levels.reshape(len(components), *image_shape)
    magnified = tiles.repeat(factor, axis=1).repeat(factor, axis=2)
    framed = np.pad(magnified, ((0, 0), (0, 0), (0, gap)), constant_values=_LEVELS)
    sheet = Image.fromarray(np.hstack(list(framed))[:, :-gap])
    # A palette takes a quarter of the time of RGBA.
    ramp = diverging_colours(np.linspace(-1, 1, _LEVELS), 1.0, dark=dark)
    sheet.putpalette(ramp.tobytes() + bytes(3))
    buffer = io.BytesIO()
    sheet.save(buffer, format="PNG", transparency=_LEVELS, compress_level=1)
    return buffer.getvalue()


def picture_strip(
    pictures: FloatArray, image_shape: tuple[int, int], *, tile_pixels: int = 112
) -> bytes:
    """Return a PNG of grey pictures side by side, values in [0, 1].

    pictures: shape (n_pictures, n_features)
    """
    return tile_strip(
        grey_colours(pictures).reshape(len(pictures), *image_shape, 3), tile_pixels=tile_pixels
    )


def ink_strip(pictures: FloatArray, image_shape: tuple[int, int], *, dark: bool = False) -> bytes:
    """Return a PNG of pictures side by side, with values in [0, 1] as shares of ink.

    pictures: shape (n_pictures, n_features)
    """
    paper, ink_there = (18, 236) if dark else (255, 20)
    shares = np.clip(pictures, 0, 1).reshape(len(pictures), *image_shape)
    levels = np.rint(paper + (ink_there - paper) * shares).astype(np.uint8)
    return _png(np.pad(levels, ((0, 0), (0, 0), (0, 1)), constant_values=paper))


def _png(tiles: IntArray) -> bytes:
    """Return a PNG of grey tiles of shape (n, height, width), without the last gap."""
    buffer = io.BytesIO()
    Image.fromarray(np.hstack(list(tiles))[:, :-1]).save(buffer, format="PNG")
    return buffer.getvalue()


def tile_strip(tiles: IntArray, *, tile_pixels: int) -> bytes:
    """Return a PNG of RGB tiles of shape (n, height, width, 3) with transparent gaps."""
    factor = max(1, tile_pixels // tiles.shape[2])
    opaque = np.concatenate([tiles, np.full_like(tiles[..., :1], 255)], axis=-1)
    magnified = opaque.repeat(factor, axis=1).repeat(factor, axis=2)
    gap = _GAP * max(1, factor // 4)
    framed = np.pad(magnified, ((0, 0), (0, 0), (0, gap), (0, 0)))
    sheet = np.hstack(list(framed))[:, :-gap]
    buffer = io.BytesIO()
    Image.fromarray(sheet).save(buffer, format="PNG", optimize=False, compress_level=1)
    return buffer.getvalue()


def matrix_png(matrix: FloatArray, limit: float) -> bytes:
    """Return a PNG of a matrix, one pixel per entry; large matrices are thinned evenly.

    matrix: shape (rows, columns)
    limit: Positive. Absolute values of `limit` and above have the strongest colours.
    """
    step = -(-max(matrix.shape) // _MOST_ENTRIES)
    shares = np.clip(matrix[::step, ::step] / limit, -1, 1)
    levels = np.rint((shares + 1) / 2 * (_LEVELS - 1)).astype(np.uint8)
    sheet = Image.fromarray(levels)
    sheet.putpalette(diverging_colours(np.linspace(-1, 1, _LEVELS), 1.0).tobytes())
    buffer = io.BytesIO()
    sheet.save(buffer, format="PNG")
    return buffer.getvalue()
