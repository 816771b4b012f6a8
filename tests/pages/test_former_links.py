"""Links of earlier versions: page and control values that they open now."""

from __future__ import annotations

import pytest

from pages.controls import FORMER_CONTROLS

# Address and query of an earlier version, with the values of the present controls.
LINKS = [
    ("play", {"epsilon": "0.5", "sites": "8"}, {"epsilon": 0.5, "sites": 8}),
    ("", {"protocols": "full"}, {"algorithm": "full", "compare": []}),
    ("algorithm", {"step": "Noise", "step_site": "2"}, {"step": "Noise", "step_site": 2}),
    ("algorithm", {"step": "truncation"}, {"step": "Cut"}),
    ("algorithm", {"step": "local moment"}, {"step": "Moment"}),
    ("plan", {"plan_target": "75"}, {"decide_target": 75}),
    ("decide", {"decide_target": "75"}, {"decide_target": 75}),
    (
        "reproduce",
        {"reproduce_group": "Captured energy against people", "reproduce_draws": "3, quick"},
        {"papers_figure": "fig1-d", "papers_runs": "quick"},
    ),
    (
        "reproduce",
        {
            "reproduce_group": "Captured energy against δ",
            "reproduce_panel_4": "fig2-mnist: MNIST",
            "reproduce_repaired": "true",
        },
        {"papers_figure": "fig2-mnist"},
    ),
    (
        "reproduce_2012",
        {
            "reproduce_2012_figure": "Figure 2: captured energy against ε, synthetic",
            "reproduce_2012_draws": "quick",
        },
        {"papers_figure": "2012-fig2", "papers_runs": "quick"},
    ),
    ("reproduce_2012", {}, {"papers_figure": "2012-fig2"}),
    ("sampler", {"sampler_sweeps": "8"}, {"sampler_sweeps": 8}),
    ("sample_complexity", {"complexity_gap": "0.2"}, {"complexity_gap": 0.2}),
    ("tradeoffs", {"tradeoffs_field": "ε"}, {"tradeoffs_field": "epsilon"}),
    ("statistics", {"stat_bins": "12"}, {}),
]


@pytest.mark.parametrize(("address", "query", "values"), LINKS)
def test_a_link_of_an_earlier_version_opens_the_same_view(open_page, address, query, values):
    at = open_page(address, **query)
    assert not at.exception
    found = {name: at.session_state[name] for name in values}
    assert found == values
    assert not [each.value for each in at.warning if "unknown value" in each.value]


def test_every_translated_control_is_in_the_table():
    named = {name for _, query, _ in LINKS for name in query}
    panels = {name for name in FORMER_CONTROLS if name.startswith("reproduce_panel_")}
    assert FORMER_CONTROLS.keys() - panels <= named and panels & named
