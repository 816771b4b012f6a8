"""The CCA page in Streamlit's own test runner: what it says, and what it hides."""

from __future__ import annotations

import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.looking import opened, shared_link


@pytest.fixture(autouse=True)
def no_data_files(monkeypatch, tmp_path):
    """Digits alone: what a machine without official files has."""
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))


def page(**controls) -> AppTest:
    return opened("explore/cca", **{"repetitions": "2"} | controls)


def texts(at: AppTest) -> str:
    said = [element.value for element in at.markdown]
    return "\n".join([*said, *(element.proto.body for element in at.get("html"))])


def charts(at: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]


def trace_names(at: AppTest) -> set[str]:
    return {trace.get("name") for chart in charts(at) for trace in chart["data"]}


def test_it_answers_first_and_says_what_is_not_private():
    at = page()
    assert not at.exception and not at.error
    said = texts(at)
    assert "of the total correlation of the 3 best pairs survives" in said
    assert "not private" in said and "Projecting and clustering rows" in said
    assert re.search(r'href="promise[^#"]*#requested"', said) and ">ε = 1," in said
    assert {"exact", "random directions", "what the release itself says"} <= trace_names(at)
    assert [metric.label for metric in at.metric].count("k-means against labels, NMI") == 2


def test_only_the_directions_leaves_nobody_on_the_page():
    at = page(cca_only="true")
    assert not at.exception
    assert not at.metric
    assert "Projecting and clustering rows" not in texts(at)
    assert any("Release the directions" in info.value for info in at.info)
    assert not any(
        chart["layout"]["xaxis"]["title"]["text"] == "top half, pair 1" for chart in charts(at)
    )


def test_curves_fill_in_and_say_where_half_is_captured():
    at = page(cca_data="synthetic-views", cca_columns="10", cca_total="1,000")
    for _ in range(600):
        at.run()
        if "Half of the exact correlation is captured **" in texts(at):
            break
    assert "with 1,000 rows" in texts(at)
    assert not at.exception


def test_protocols_of_sites_side_by_side():
    at = page(cca_protocols=["CAPE", "Proxies"], sites="4", cca_cut="left and right")
    assert not at.exception and not at.error
    said = texts(at)
    assert "under masks that cancel** at **ε = 1** with 1,797 rows at 4 sites" in said
    assert "Proxies keeps" in said
    assert any(slider.key == "cca_directions" for slider in at.slider)


def test_the_link_restores_the_page():
    at = page(
        cca_pairs="2",
        cca_floor="0.001",
        cca_protocols=["Full moments"],
        cca_kind="weights",
        cca_cloud="correlation: one view against the other",
        epsilon="5",
    )
    for part in (
        *("epsilon=5", "cca_pairs=2", "cca_floor=0.001", "cca_protocols=Full+moments"),
        *("cca_kind=weights", "cca_cloud=correlation"),
    ):
        assert part in shared_link(at)


def test_absent_data_says_how_to_get_them():
    at = page(cca_data="mfeat")
    assert not at.exception
    assert any("not on this machine" in info.value for info in at.info)


@pytest.mark.parametrize(
    ("controls", "sentence"),
    [
        ({"cca_people": "100", "sites": "60"}, r"samples must be in \[120, 1797\], got 100"),
        ({"calibration": "classic", "epsilon": "5"}, "epsilon must be"),
    ],
)
def test_what_cannot_run_is_one_sentence(controls, sentence):
    at = page(**controls)
    assert not at.exception
    assert len(at.error) == 1 and sentence in at.error[0].value


def test_chosen_columns_are_asked_for():
    at = page(cca_cut="chosen columns")
    assert not at.exception
    assert any("Choose at least one column" in info.value for info in at.info)
    at = page(
        cca_cut="chosen columns",
        cca_x_columns=["pixel_0_2", "pixel_0_3"],
        cca_y_columns=["pixel_1_2", "pixel_1_3", "pixel_1_4"],
    )
    assert not at.exception and not at.error
    assert "of the total correlation of the 2 best pairs" in texts(at)
