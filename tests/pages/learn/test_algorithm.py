"""One message from rows to components, walked through by a visitor."""

from __future__ import annotations

import json
import re

import pytest

from dpcore.teaching.algorithm1 import STEP_TITLES, STEPS


def headings(at) -> list[str]:
    return [m.value for m in at.markdown if m.value.startswith("## ")]


def scrolled_to(at) -> str:
    (walk,) = (c for c in at.get("bidi_component") if c.proto.component_name == "walk")
    return json.loads(walk.proto.json)["step"]


def test_one_page_walks_from_rows_to_components_with_live_numbers(open_page):
    at = open_page("learn/algorithm")
    assert not at.exception
    titles = [told.split(". ")[1].split(",")[0] for told in headings(at)]
    assert titles == list(STEP_TITLES.values())
    assert set(STEPS) - {"decomposition"} == set(STEP_TITLES) - {"rows"}
    said = " ".join(m.value for m in at.markdown)
    assert "Site 1 holds 2,000 pictures of 196 numbers each" in said
    assert "R = 40" in said and "all 5 sites" in said and "K = 20" in said
    assert "{" not in "".join(m.value for m in at.markdown if "$" not in m.value)
    # Each step is a picture with its people, described.
    pictured = [each.proto.body for each in at.get("html") if 'class="walk"' in each.proto.body]
    assert len(pictured) == len(STEP_TITLES)
    assert all("<img" in body and 'alt=""' not in body for body in pictured)


def test_what_each_step_keeps_is_what_the_protocol_gives(open_page):
    at = open_page("learn/algorithm")
    (film,) = (each.proto.body for each in at.get("html") if 'class="film"' in each.proto.body)
    shares = [float(share) for share in re.findall(r"</b>([\d.]+)\u00a0%", film)]
    assert shares[0] == 100 and len(shares) == 6
    # Noise costs, denoising gives back.
    assert shares[1] > shares[3] > shares[2]


@pytest.mark.parametrize(
    ("asked", "step"),
    [("Noise", "noise"), ("Local moment", "moment"), ("decomposition", "truncation"),
     ("Truncation", "truncation"), ("Average", "average"), ("Components", "components")],
)  # fmt: skip
def test_addresses_of_the_stepper_open_the_step(open_page, asked, step):
    at = open_page("learn/algorithm", step=asked)
    assert not at.exception and not at.warning
    assert scrolled_to(at) == step


def test_a_table_shows_bars_for_its_rows_and_calls_them_what_they_are(open_page):
    at = open_page("learn/algorithm", dataset="synthetic", denoise="none")
    assert not at.exception
    said = " ".join(m.value for m in at.markdown)
    assert "12,000 rows of 200 numbers" in said and "Denoising is off" in said
    assert any('class="bars"' in each.proto.body for each in at.get("html"))


def test_a_mean_that_was_sent_before_is_not_kept_quiet(open_page):
    def said(**asked):
        at = open_page("learn/algorithm", **asked)
        assert not at.exception
        return any("sent a noisy mean of its rows" in each.value for each in at.caption)

    assert said() and not said(preparation="published")


def test_the_site_in_view_can_be_another_or_the_only_one(open_page):
    at = open_page("learn/algorithm", sites="3")
    at.number_input(key="step_site").set_value(3).run()
    assert not at.exception
    alone = open_page("learn/algorithm", sites="1")
    assert not alone.exception
    assert not [n for n in alone.number_input if n.key == "step_site"]


def test_what_cannot_run_is_one_sentence(open_page):
    at = open_page("learn/algorithm", epsilon="10", calibration="classic")
    assert not at.exception
    assert len(at.error) == 1


def test_a_data_set_that_is_not_there_says_how_to_get_it(open_page):
    at = open_page("learn/algorithm", dataset="mnist")
    assert not at.exception
    assert any("is not on this machine" in info.value for info in at.info)
