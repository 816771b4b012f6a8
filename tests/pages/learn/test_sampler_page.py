"""PPCA's chains, as a visitor sees them."""

from __future__ import annotations

import json


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
