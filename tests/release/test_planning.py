"""Made-up tables fit their dictionary, and a plan simulates a release on them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.release import Column, Dictionary, Reading, Table, look_alike, plan
from dpcore.release.encoding import grid_blocks
from dpcore.release.examples import example

ONE = Column("one", 0, 1)
WHO = Dictionary(
    (ONE, Column("age", 0, 120, 40), Column("sex", levels=("f", "m", "x"))),
    person="who", at_most=3, site="where", label="ill",
)  # fmt: skip


def test_a_look_alike_fits_its_dictionary():
    table = look_alike(WHO, 500, seed=3)
    assert set(table) == {"one", "age", "sex", "who", "where", "ill"}
    rows_of = Counter(table["who"].tolist())
    assert set(rows_of.values()) == {1, 2, 3}
    assert len(set(zip(table["who"].tolist(), table["where"].tolist(), strict=True))) == len(
        rows_of
    )
    reading = Reading()
    blocks = list(grid_blocks(Table(table, WHO.keys), WHO, reading))
    assert sum(map(len, blocks)) == reading.n_rows == 500 and reading.n_left_out == 0
    assert not sum(reading.missing.values()) and not sum(reading.clipped.values())
    assert set(table["sex"]) == {"f", "m", "x"} and set(table["ill"]) == {"yes", "no"}
    again = look_alike(WHO, 500, seed=3)
    assert all((table[name] == again[name]).all() for name in table)


def test_a_plan_captures_more_at_a_larger_epsilon():
    """A large epsilon captures the best components; a small one captures what chance does."""
    _, dictionary = example("breast-cancer")
    arguments = dict(n_rows=20_000, delta=1e-6, n_components=3)
    good = plan(dictionary, epsilon=8.0, **arguments)
    assert good.captured.shape == good.best.shape == (3, 3)
    np.testing.assert_allclose(good.captured, good.best, atol=1e-3)
    assert good.best[0, 2] > 0.6
    poor = plan(dictionary, epsilon=0.01, **arguments | dict(n_rows=300))
    assert (poor.captured[:, 2] < poor.best[:, 2] - 0.2).any()


@pytest.mark.parametrize(("changed", "named"), [
    (dict(n_rows=0), "n_rows"), (dict(n_rows=2**30), "n_rows"),
    (dict(n_components=9), "n_components"), (dict(epsilon=0.0), "epsilon"),
])  # fmt: skip
def test_an_impossible_plan_gets_one_sentence(changed, named):
    arguments = dict(n_rows=100, epsilon=1.0, delta=1e-6, n_components=1)
    with pytest.raises(ParameterError, match=named):
        plan(WHO, **arguments | changed)
