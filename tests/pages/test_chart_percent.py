"""Plotly figures on pages."""

from __future__ import annotations

import json


def test_shares_have_a_space_before_the_percent_sign(open_page):
    """Axes said 38% where the text says 38 %. The locale's currency is the spaced sign."""
    (chart,) = open_page("compare").get("plotly_chart")
    figure, config = json.loads(chart.proto.spec), json.loads(chart.proto.config)
    assert figure["layout"]["xaxis"]["tickformat"] == "$.0%"
    templates = [trace["hovertemplate"] for trace in figure["data"] if "hovertemplate" in trace]
    assert templates and all("{x:$.1%}" in template for template in templates)
    assert config["locales"][config["locale"]]["format"]["currency"] == ["", "\u00a0%"]
