"""What a run takes is told beforehand, and too much is refused."""

from __future__ import annotations

import pytest

from dpcore.experiments.pca import RunSpec
from dpcore.experiments.sweep import RunCost, Sweep, cost_of_spec, cost_of_sweeps
from dpcore.params import MOST_REPETITIONS
from pages.widgets import job_progress

EPSILONS = tuple(0.1 * n for n in range(1, 31))


@pytest.fixture(autouse=True)
def two_processors(monkeypatch):
    monkeypatch.setattr(job_progress.os, "cpu_count", lambda: 2)
    monkeypatch.delenv("DPCORE_SCHEDULER", raising=False)


def test_draws_and_rows_are_counted():
    sweep = Sweep(RunSpec(repetitions=3, protocols=("dpdis", "full")), (("epsilon", (1.0, 2.0)),))
    infeasible = Sweep(RunSpec(), (("sites", (10_000,)),))
    cost = cost_of_sweeps((sweep, infeasible))
    assert (cost.draws, cost.rows) == (6, 12)
    assert cost.seconds > 0 and cost.times(2).seconds == 2 * cost.seconds


def test_more_sites_features_and_people_take_longer():
    base = RunSpec(dataset="synthetic", repetitions=2)
    assert cost_of_spec(RunSpec(sites=50)).seconds > 2 * cost_of_spec(RunSpec(sites=5)).seconds
    assert cost_of_spec(base).seconds > 2 * cost_of_spec(RunSpec(repetitions=2)).seconds
    fewer = Sweep(RunSpec(dataset="synthetic", repetitions=2, samples=1000))
    assert cost_of_sweeps((Sweep(base),)).seconds > cost_of_sweeps((fewer,)).seconds


def test_a_run_of_two_days_is_refused_with_what_to_do():
    spec = RunSpec(dataset="mnist", sites=60, repetitions=MOST_REPETITIONS)
    cost = cost_of_sweeps([Sweep(spec, (("epsilon", EPSILONS),))] * 6)
    assert cost.draws == 9_000 and not job_progress.starts_by_itself(cost)
    assert "hours; a page takes at most 2 hours. Choose fewer runs" in job_progress.too_much(cost)
    many = RunCost(draws=50_000, rows=100_001, seconds=1.0)
    assert job_progress.too_much(many).startswith(
        "This run would give 100,001 rows; a page takes at most"
    )


def test_what_is_too_much_for_a_page_has_its_command(open_page, monkeypatch):
    monkeypatch.setattr(job_progress, "_MOST_ROWS", 10)
    at = open_page("explore/tradeoffs", tradeoffs_values_epsilon="0.1, 1")
    assert not at.exception
    assert next(button for button in at.button if button.label == "Run").disabled
    assert any("a page takes at most 10" in warning.value for warning in at.warning)
    assert any("python -m dpcore sweep --vary" in block.value for block in at.code)


def test_nobody_is_asked_about_a_minute():
    assert job_progress.starts_by_itself(RunCost(seconds=119.0))
    assert not job_progress.starts_by_itself(RunCost(seconds=121.0))
    assert job_progress.too_much(RunCost(seconds=121.0)) == ""
