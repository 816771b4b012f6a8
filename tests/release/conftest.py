"""A small table with its dictionary."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.release import Column, Dictionary, release


@pytest.fixture
def people() -> dict[str, np.ndarray]:
    rng = np.random.default_rng()
    x = rng.normal(size=300)
    return {
        "height": 170 + 10 * x,
        "weight": 70 + 9 * x + 3 * rng.normal(size=300),
        "sex": rng.choice(["f", "m"], 300),
    }


@pytest.fixture
def dictionary() -> Dictionary:
    return Dictionary(
        (Column("height", 100, 220), Column("weight", 20, 150), Column("sex", levels=("f", "m"))),
        title="People <b>",
    )


@pytest.fixture
def make(people, dictionary, tmp_path):
    """Return a function that releases the small table, with changed arguments."""

    def made(name: str = "first", **changed):
        settings = dict(
            epsilon=1.0, delta=1e-5, n_components=2, project=tmp_path / "project", name=name,
            cap=(2.0, 1e-5),
        )  # fmt: skip
        return release(people, dictionary, **settings | changed)

    return made
