"""The Trade-offs page: a sweep runs to its end, and what cannot run is one sentence."""

from __future__ import annotations

import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.command_line.sweep_command import parse_vary
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.sweep import Sweep, collect
from pages.server import background_jobs, caches
from pages.server.background_jobs import (
    SWEEPS,
    Jobs,
    JobView,
    Progress,
    SweepProgress,
    SweepsView,
    find_sweeps,
    parts_of_sweeps,
)
from pages.shell.parameters import AXES
from pages.widgets.job_progress import command_of
from tests.pages.looking import go_to


@pytest.fixture
def open_page(open_on_digits):
    return open_on_digits


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


def button(at: AppTest, label: str):
    return next(each for each in at.button if each.label == label)


def run_to_the_end(at: AppTest) -> AppTest:
    for _ in range(3000):
        if not any(each.label == "Stop" for each in at.button):
            return at
        time.sleep(0.1)
        at.run()
    pytest.fail("the sweep did not end")


def texts(at: AppTest) -> str:
    return "\n".join(element.value for element in at.markdown)


def traces(at: AppTest) -> list[dict]:
    return [t for c in at.get("plotly_chart") for t in json.loads(c.proto.spec)["data"]]


QUICK = {"repetitions": "2", "components": "5"}


def test_a_sweep_runs_to_its_end_and_is_there_on_coming_back(open_page):
    at = open_page("explore/tradeoffs", **QUICK, tradeoffs_values_epsilon="0.1, 1, 10",
                   tradeoffs_published="true")  # fmt: skip
    assert not at.exception
    run_to_the_end(at)
    assert not at.exception and not at.error
    assert "of the pattern survives with **DPdisPCA** on digits" in texts(at)
    assert "Against the published choices" in texts(at)
    assert {"DPdisPCA", "published choices"} <= {trace.get("name") for trace in traces(at)}
    command = next(block.value for block in at.code if "dpcore sweep" in block.value)
    assert "epsilon=0.1,1,10" in command and "--calibration analytic" in command
    next(each for each in at.select_slider if each.key == "epsilon").set_value(0.1).run()
    assert "at **ε = 10**" in texts(at)
    go_to(at, "stories").run()
    go_to(at, "tradeoffs").run()
    assert not at.exception
    assert "at **ε = 10**" in texts(at)


def test_what_stood_stays_until_half_of_its_successor_is_there(open_page, monkeypatch):
    at = run_to_the_end(open_page("explore/tradeoffs", **QUICK, tradeoffs_values_epsilon="1, 10"))
    before = [(trace.get("name"), trace.get("y")) for trace in traces(at)]
    assert before and "%" in texts(at)
    # Bad input: its sentence, and the last answer.
    at.text_input(key="tradeoffs_values_epsilon").set_value("1, two").run()
    assert [error.value for error in at.error] and not at.exception
    assert [(trace.get("name"), trace.get("y")) for trace in traces(at)] == before
    # Another sweep, of which nothing has arrived.
    monkeypatch.setattr("pages.server.background_jobs.run_sweep", lambda *_, **__: iter(()))
    monkeypatch.setattr(JobView, "progress", lambda self: Progress({}, "running"))
    at.text_input(key="tradeoffs_values_epsilon").set_value("2, 20").run()
    assert not at.exception and not at.error
    assert [(trace.get("name"), trace.get("y")) for trace in traces(at)] == before
    assert any("0 of" in bar.proto.text for bar in at.get("progress"))


def test_one_site_is_one_site():
    assert AXES["sites"].told(1) == "1 site" and AXES["sites"].told(2) == "2 sites"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ("1, two", "values of ε must be numbers separated by commas, got 'two'"),
        ("-1, 1", "values of ε must be greater than 0, got '-1'"),
        ("1", "values of ε must be 2 to 30 different numbers, got 1"),
    ],
)
def test_bad_values_are_one_sentence(open_page, values, sentence):
    at = open_page("explore/tradeoffs", tradeoffs_values_epsilon=values)
    assert not at.exception
    assert [error.value for error in at.error] == [sentence]


def test_what_cannot_run_is_a_table_with_reasons(open_page):
    at = open_page("explore/tradeoffs", **QUICK, tradeoffs_field="sites S",
                   tradeoffs_values_sites="2, 4, 5000")  # fmt: skip
    run_to_the_end(at)
    assert not at.exception and not at.error
    [table] = at.dataframe
    assert "sites must be at most half the 1,797 people" in table.value["skipped"][0]


def test_absent_data_says_how_to_get_them(open_page):
    at = open_page("explore/tradeoffs", dataset="mnist")
    assert not at.exception
    assert any("not on this machine" in info.value for info in at.info)


@pytest.fixture
def run_sweeps(monkeypatch):
    """run_sweeps(*sweeps) -> their view, for a visitor of a server of its own."""
    monkeypatch.setattr(background_jobs, "JOBS", Jobs(2))
    monkeypatch.setattr(caches, "visitor", lambda: "me")

    def start(*sweeps: Sweep) -> SweepsView:
        background_jobs.start(SWEEPS, sweeps, lambda: parts_of_sweeps(sweeps))
        return find_sweeps(sweeps)

    return start


def wait_for(job: SweepsView) -> SweepProgress:
    while job.progress().goes_on:
        time.sleep(0.02)
    return job.progress()


SWEEP = Sweep(RunSpec(protocols=("pooled",), repetitions=2), (("epsilon", (0.1, 1.0)),))


def test_a_job_gives_the_rows_of_its_sweeps(run_sweeps):
    job = run_sweeps(SWEEP, SWEEP)
    progress = wait_for(job)
    energies = [row["energy"] for row in collect(SWEEP).rows]
    assert progress.state == "finished" and progress.done == progress.total == 8
    assert [[row["energy"] for row in rows] for rows in progress.rows] == [energies, energies]


def test_a_cancelled_job_keeps_what_arrived(run_sweeps):
    job = run_sweeps(Sweep(RunSpec(repetitions=5000), SWEEP.vary))
    while not job.progress().done:
        time.sleep(0.02)
    job.cancel()
    started = time.monotonic()
    progress = wait_for(job)
    assert time.monotonic() - started < 2
    assert progress.state == "cancelled" and progress.rows[0]


def test_what_a_person_can_put_right_is_a_sentence(run_sweeps, monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    progress = wait_for(run_sweeps(Sweep(RunSpec(dataset="mnist", protocols=("pooled",)))))
    assert progress.state == "failed" and progress.sentence


def test_the_command_line_gives_the_same_sweep():
    words = command_of(SWEEP).split()
    vary = [word for word in words if word.startswith("epsilon=")]
    assert parse_vary(vary) == SWEEP.vary


def test_settings_picked_are_compared_each_with_its_dash(open_page):
    at = open_page("explore/tradeoffs", repetitions="2", tradeoffs_values_epsilon="0.1, 1",
                   tradeoffs_truncation="svd", tradeoffs_datasets="synthetic-2012")  # fmt: skip
    run_to_the_end(at)
    assert not at.exception and not at.error
    assert "Against svd that is" in texts(at)
    assert len(at.get("plotly_chart")) == 2
    dashes = {trace["line"]["dash"] for trace in traces(at) if trace.get("name") == "svd"}
    assert dashes == {"dot"}


def test_too_many_settings_are_one_sentence(open_page):
    picked = {"tradeoffs_calibration": ["published", "analytic"],
              "tradeoffs_noise": ["triangle", "isometric"],
              "tradeoffs_truncation": ["svd", "psd"]}  # fmt: skip
    at = open_page("explore/tradeoffs", **picked)
    assert not at.exception
    assert [error.value for error in at.error] == [
        "combinations of settings must be at most 6, the sidebar's included, got 8"
    ]


def test_the_servers_cluster_is_asked_when_it_has_one(run_sweeps, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "pages.server.background_jobs.run_sweep",
        lambda sweep, **options: asked.append(options["scheduler"]) or iter(()),
    )
    monkeypatch.setenv("DPCORE_SCHEDULER", "tcp://scheduler:8786")
    wait_for(run_sweeps(SWEEP))
    monkeypatch.delenv("DPCORE_SCHEDULER")
    wait_for(run_sweeps(SWEEP))
    assert asked == ["tcp://scheduler:8786", None]
