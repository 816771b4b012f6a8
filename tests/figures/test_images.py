"""Pictures decode to the pixels from which they were made."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from dpcore.figures.images import component_strip, diverging_colours, grey_colours, picture_strip

# Tolerance of half a level: components have 127 levels, the steepest 7 colour steps wide.
HALF_A_LEVEL = 4


def pixels(png: bytes, mode: str = "RGBA") -> np.ndarray:
    image = Image.open(io.BytesIO(png))
    assert image.format == "PNG"
    assert image.mode == mode
    return np.asarray(image.convert("RGBA"))


def test_components_are_tiles_magnified_by_a_whole_number_with_clear_gaps():
    components = np.array([[1.0, -2.0, 0.0, 2.0, 0.5, -1.0], [0.0] * 6])
    sheet = pixels(component_strip(components, (2, 3), tile_pixels=12), "P")
    factor, gap = 4, 2
    assert sheet.shape == (2 * factor, 2 * 3 * factor + gap, 4)
    first = sheet[:, : 3 * factor]
    expected = diverging_colours(components[0].reshape(2, 3) / 2.0, 1.0)
    colours_of_tile = first[::factor, ::factor, :3]
    assert np.abs(colours_of_tile.astype(int) - expected.astype(int)).max() <= HALF_A_LEVEL
    np.testing.assert_array_equal(
        first[..., :3], colours_of_tile.repeat(factor, axis=0).repeat(factor, axis=1)
    )
    assert (first[..., 3] == 255).all()
    assert (sheet[:, 3 * factor : 3 * factor + gap] == 0).all()
    # A component of zeros is the colour of zero, not a division by zero.
    np.testing.assert_array_equal(
        sheet[:, 3 * factor + gap :, :3],
        np.broadcast_to(diverging_colours(np.zeros(1), 1.0), (8, 12, 3)),
    )


def test_colours_are_symmetric_about_a_light_zero():
    values = np.linspace(-1, 1, 41)
    colours = diverging_colours(values, 1.0).astype(int)
    assert (colours[20] >= 240).all()
    blue_side, red_side = colours[:20], colours[21:]
    assert (blue_side[:, 2] > blue_side[:, 0]).all()
    assert (red_side[:, 0] > red_side[:, 2]).all()
    np.testing.assert_array_equal(diverging_colours(np.array([-9.0, 9.0]), 1.0), colours[[0, -1]])


def test_components_on_a_dark_page_have_a_dark_zero():
    sheet = pixels(component_strip(np.array([[0.0, 1.0]]), (1, 2), tile_pixels=2, dark=True), "P")
    assert (sheet[0, 0, :3] < 40).all()
    assert sheet[0, 1, 0] > 200


def test_pictures_are_grey_and_cut_at_the_ends():
    sheet = pixels(picture_strip(np.array([[0.0, 0.5, 1.0, 7.0]]), (2, 2), tile_pixels=2))
    np.testing.assert_array_equal(sheet[..., 0], [[0, 128], [255, 255]])
    np.testing.assert_array_equal(sheet[..., 0], sheet[..., 2])
    assert grey_colours(np.array([-1.0]))[0, 0] == 0


@pytest.mark.parametrize("shape", [(8, 8), (28, 28)])
def test_a_row_of_ten_is_one_small_picture(shape, rng):
    components = rng.standard_normal((10, shape[0] * shape[1]))
    png = component_strip(components, shape)
    factor = 112 // shape[1]
    assert pixels(png, "P").shape[:2] == (shape[0] * factor, 10 * 112 + 18 * max(1, factor // 4))
    assert len(png) < 20_000
