"""Made-up tables fit their dictionary, and a plan simulates a release on them."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.release import Column, Dictionary, Reading, Table, look_alike, measurement, plan
from dpcore.release.encoding import grid_blocks
from dpcore.release.examples import example
from dpcore.release.measurement import scales_of
from dpcore.release.project import Project
from dpcore.release.publication import write_release
from dpcore.release.scales import VOTE
from dpcore.release.settings import PublicationSettings

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
    good = plan(dictionary, PublicationSettings(8.0, 1e-6, 3), n_rows=20_000)
    assert good.captured.shape == (3, 3) and good.best.shape == (3,)
    np.testing.assert_allclose(good.captured, np.tile(good.best, (3, 1)), atol=1e-3)
    assert good.best[2] > 0.6 and good.n_above_noise == (3, 3, 3)
    poor = plan(dictionary, PublicationSettings(0.01, 1e-6, 3), n_rows=300)
    assert (poor.captured[:, 2] < poor.best[2] - 0.2).any()
    assert max(poor.n_above_noise) < 3


# Off their middle, rows have a long mean; few of them have too much noise for votes.
@pytest.mark.parametrize(("settings", "n_rows", "centre"), [
    (PublicationSettings(0.05, 1e-6, 2), 300, "none"),
    (PublicationSettings(5.0, 1e-6, 2), 2_000, "mean"),
    (PublicationSettings(5.0, 1e-6, 2, preparation="bounded"), 300, "mean"),
])  # fmt: skip
def test_plan_and_release_of_the_same_rows_have_one_centre_and_charge(
    tmp_path, settings, n_rows, centre
):
    """A plan simulated a private mean, while a release let pairs vote on the centre."""
    dictionary = Dictionary(tuple(Column(f"c{number}", -1, 1, -0.9) for number in range(6)))
    planned = plan(dictionary, settings, n_rows=n_rows)
    assert set(planned.centres) == {centre}
    folder = write_release(
        look_alike(dictionary, n_rows), dictionary, settings, project=tmp_path / "project",
        name="first", cap=(6.0, 1e-5),
    )  # fmt: skip
    certificate = json.loads((folder / "certificate.json").read_bytes())
    assert certificate["preparation"]["centre"] == centre
    scales = scales_of(dictionary, settings)
    assert certificate["epsilon"] == scales.epsilon(settings.delta, settings.epsilon)
    (charged,) = Project(tmp_path / "project").releases()
    assert charged.mu == scales.mu == certificate["mechanism"]["mu"]


def test_the_rows_of_a_plan_vote_as_often_as_they_are_counted(monkeypatch):
    """A plan of many rows counts copies of fewer made-up rows, votes included."""
    dictionary = Dictionary(tuple(Column(f"c{number}", -1, 1) for number in range(6)))
    noisy = []
    choose = measurement.choose_by_votes
    monkeypatch.setattr(
        measurement, "choose_by_votes", lambda *given: noisy.append(given[0]) or choose(*given)
    )
    plan(dictionary, PublicationSettings(5.0, 1e-6, 2), n_rows=40_000, n_draws=1)
    assert noisy[0].sum() / VOTE == pytest.approx(40_000, rel=0.02)


@pytest.mark.parametrize(("changed", "named"), [
    (dict(n_rows=0), "n_rows"), (dict(n_rows=2**30), "n_rows"),
    (dict(n_components=9), "n_components"), (dict(epsilon=0.0), "epsilon"),
])  # fmt: skip
def test_an_impossible_plan_gets_one_sentence(changed, named):
    values = dict(n_rows=100, epsilon=1.0, n_components=1) | changed
    settings = PublicationSettings(values["epsilon"], 1e-6, values["n_components"])
    with pytest.raises(ParameterError, match=named):
        plan(WHO, settings, n_rows=values["n_rows"])
