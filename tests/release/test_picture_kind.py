"""The kind of picture in a dictionary."""

from __future__ import annotations

import tomllib

import pytest

from dpcore.errors import ParameterError
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.dictionary_file import dictionary_from

PIXELS = tuple(Column(f"pixel {number}", 0, 16) for number in range(6))


@pytest.mark.parametrize("picture", ["full", "centred"])
def test_a_dictionary_keeps_the_kind_of_picture(picture):
    dictionary = Dictionary(PIXELS, image=(2, 3), picture=picture)
    assert dictionary_from(tomllib.loads(dictionary.toml())) == dictionary


@pytest.mark.parametrize("values", [{"image": (2, 3), "picture": "round"}, {"picture": "centred"}])
def test_other_kinds_and_a_kind_without_pictures_are_refused(values):
    with pytest.raises(ParameterError, match="picture"):
        Dictionary(PIXELS, **values)
