"""Overview of the published panels in the store."""

from __future__ import annotations

import pytest

from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.pca import RunSpec
from dpcore.papers.dpdispca import PaperFigure, panel_state, stored_draws
from dpcore.papers.dpdispca_claims import check_claims

PANEL = PaperFigure(
    "tiny",
    "Captured energy against ε, digits",
    RunSpec(repetitions=4, components=5),
    "epsilon",
    (0.1, 1.0, 10.0),
    "Captured energy grows with ε.",
    "grows",
    "asked ε",
)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path)


def test_a_panel_that_was_not_run_has_no_draws(store):
    state = panel_state(PANEL, store)
    assert state.draws == 0 and state.agrees is None and not state.means and not state.verdicts


def test_a_panel_is_what_its_rows_say(store):
    rows = collect(PANEL.sweep, store=store).rows
    state = panel_state(PANEL, store)
    assert state.draws == 4 and state.comparison is None
    (mean,) = (mean for key, value, mean in state.means if (key, value) == ("pooled", 1.0))
    expected = [
        row["energy_ratio"] for row in rows if (row["protocol"], row["epsilon"]) == ("pooled", 1.0)
    ]
    assert mean == pytest.approx(sum(expected) / 4)
    holds = [verdict.holds for verdict in state.verdicts]
    assert holds == [verdict.holds for verdict in check_claims(PANEL, rows)]
    assert state.agrees is (None if None in holds else all(holds))


def test_only_draws_that_are_there_for_every_value_count(store):
    collect(PANEL.with_changes(repetitions=2).sweep, store=store)
    one_value = Sweep(PANEL.base, (("epsilon", (0.1,)),))
    collect(one_value, store=store)
    assert stored_draws(one_value, store)[0] == 4
    draws, rows = stored_draws(PANEL.sweep, store)
    assert draws == 2 and len(rows) == 2 * 3 * 4


def test_what_cannot_run_here_is_not_waited_for(store):
    panel = PaperFigure(
        "tiny", "title", RunSpec(repetitions=2, components=5), "samples", (500, 1000, 5000),
        "Captured energy grows with the people.", "grows", "people",
    )  # fmt: skip
    collect(panel.sweep, store=store)
    assert panel_state(panel, store).draws == 2
