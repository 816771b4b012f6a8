"""PPCA's chains, as a visitor sees them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dpcore.experiments.central_runs import MAX_R_HAT, MIN_ESS, WatchedChains
from pages.explore.central import stops


def spoken(at) -> str:
    return "\n".join(element.value for element in [*at.markdown, *at.error])


def test_few_sweeps_promise_nothing(open_page):
    at = open_page("learn/sampler", sampler_sweeps="8")
    assert not at.exception
    assert "the chains do not agree yet" in at.markdown[0].value
    told = spoken(at)
    assert "ε = ∞" in told
    assert "are not released" in told
    assert "no ε covers them" in told


def test_many_sweeps_pass(open_page):
    at = open_page("learn/sampler", sampler_sweeps="2,048")
    assert not at.exception
    assert "after **2,048 sweeps**" in at.markdown[0].value
    assert "passed" in spoken(at)
    assert "no ε covers them" in spoken(at)


def test_traces_say_where_they_started(open_page):
    at = open_page("learn/sampler", sampler_chains="8")
    traces = json.loads(at.get("plotly_chart")[0].proto.spec)["data"]
    assert [trace["name"] for trace in traces] == ["started at random"] * 4 + [
        "started at exact PCA"
    ] * 4


def test_one_component_has_chains_too(open_page):
    at = open_page("learn/sampler", components="1")
    assert not at.exception
    assert not at.error


def chains_of(n_sweeps: int, *, converged: bool) -> WatchedChains:
    shares = np.full((2, n_sweeps + 1), 0.8)
    return WatchedChains(shares, ("random", "mode"), 0.2, converged, r_hat=1.01, ess=100)


@pytest.mark.parametrize(
    ("missed", "words"),
    [
        ({"r_hat": MAX_R_HAT + 0.01}, "split R-hat is 1.060"),
        ({"ess": MIN_ESS - 8}, "worth 42 draws"),
    ],
)
def test_a_check_that_passed_and_fails_again_is_explained(missed, words):
    """After 512 sweeps they "do not agree", beside "stops after 472": both are true."""
    later = replace(chains_of(512, converged=False), **missed)
    told = stops(later, chains_of(472, converged=True))
    assert "stops after 472 sweeps, the first time that its check passed" in told
    assert words in told and "pass and fail again" in told


def test_where_it_stops_is_said_plainly_otherwise():
    enough = chains_of(472, converged=True)
    told = "Left to itself the sampler stops after 472 sweeps."
    assert stops(chains_of(512, converged=True), enough) == told
    assert stops(chains_of(128, converged=False), enough) == told
    assert "not enough" in stops(chains_of(128, converged=False), chains_of(900, converged=False))
