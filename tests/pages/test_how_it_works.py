"""Steps of DPdisPCA: the pictures at the top, one step in view, its numbers."""

from __future__ import annotations

import inspect
import re

import pytest

from dpcore.papers.algorithm1 import dpdispca
from dpcore.teaching.algorithm1 import STEP_TITLES, STEPS
from pages.learn.how_it_works import WORDS
from tests.pages.opening import texts

IMPROVED = {"version": "improved"}


def bodies(at) -> str:
    return "\n".join(element.proto.body for element in at.get("html"))


@pytest.mark.parametrize("title", STEP_TITLES.values())
def test_a_link_opens_its_step_with_numbers_and_pictures(open_page, title):
    at = open_page("how_it_works", step=title)
    assert not at.exception and not at.warning
    assert at.subheader[0].value.startswith(title)
    without_formulas = re.sub(r"\$+[^$]*\$+", "", texts(at))
    assert not re.search(r"{\w+[:}]", without_formulas)
    assert "<img" in bodies(at) and 'alt=""' not in bodies(at)


def test_the_message_moves_from_the_site_to_the_aggregator(open_page):
    at = open_page("how_it_works", step="Noise", dataset="digits", components="5")
    assert "--from:0;--to:0;" in bodies(at)
    at.select_slider(key="step").set_value(STEP_TITLES["message"]).run()
    assert "--from:0;--to:0.5;" in bodies(at)
    at.select_slider(key="step").set_value(STEP_TITLES["average"]).run()
    assert "--from:0.5;--to:1;" in bodies(at)
    assert "prefers-reduced-motion: no-preference" in bodies(at)
    sources = re.findall(r'src="data:image/png;base64,([^"]*)"', bodies(at))
    assert sources and all(source.startswith("iVBOR") for source in sources), "not a PNG file"


def test_every_step_has_its_words():
    assert set(STEPS) - {"decomposition"} == set(STEP_TITLES) - {"rows"}
    assert set(STEP_TITLES) <= set(WORDS)


def test_noise_loses_energy_and_denoising_regains_some(open_page):
    at = open_page("how_it_works", version="improved")
    shares = [float(share) for share in re.findall(r"<br>([\d.]+)\u00a0%", bodies(at))]
    assert shares[0] == 100 and len(shares) == 6
    assert shares[1] > shares[3] > shares[2]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (IMPROVED, ("Denoising lifts a site from ", " to ", ", 5 sites reach ")),
        ({}, ("Noise leaves a site ", " of the energy, 5 sites reach ")),
        ({"sites": "1"} | IMPROVED, ("Denoising lifts the site from ", " to ")),
    ],
)
def test_the_title_compares_equal_processing(open_page, query, words):
    """One site without denoising was compared with five sites with denoising."""
    at = open_page("how_it_works", **query)
    shares = re.findall(r"<br>([\d.]+\u00a0%)", bodies(at))
    noise, denoised, together = (shares[n] for n in (2, 3, 5))
    assert "version" in query or noise == denoised, "one ranking of directions for both steps"
    expected = [noise, denoised, together] if "version" in query else [noise, together]
    parts = (part for pair in zip(words, expected, strict=False) for part in pair)
    assert at.title[0].value == "".join(parts)


def test_algorithm_1_is_shown_beside_its_step_and_can_be_saved(open_page):
    at = open_page("how_it_works", step="Cut")
    codes = [block.value for block in at.code]
    source = inspect.getsource(dpdispca)
    assert "np.linalg.svd(A_hat)" in codes[0]
    assert all(line in source for line in codes[0].splitlines())
    assert source.strip() in [code.strip() for code in codes]
    assert [element.label for element in at.get("download_button")] == ["Download"]


def test_numbers_of_the_steps_come_from_the_settings(open_page):
    rows = texts(open_page("how_it_works", step="Rows"))
    assert "Site 1 has 2,000 pictures of 196 numbers" in rows
    assert "R = 60 of 196" in texts(open_page("how_it_works", step="Cut", intermediate="60"))
    assert "all 3 sites" in texts(open_page("how_it_works", step="Sum", sites="3"))


def test_a_table_has_bars_and_denoising_can_be_off(open_page):
    at = open_page("how_it_works", dataset="synthetic", denoise="none", step="Denoising")
    assert not at.exception
    assert "Denoising is off" in texts(at)
    assert 'class="bars"' in bodies(at)


def test_a_mean_that_sites_sent_before_is_mentioned(open_page):
    def mentions_mean(**query: str) -> bool:
        return "sent a noisy mean" in texts(open_page("how_it_works", step="Moment", **query))

    assert mentions_mean(**IMPROVED) and not mentions_mean()


def test_another_site_can_be_viewed_and_one_site_has_no_choice(open_page):
    at = open_page("how_it_works", sites="3", step_site="3", step="Rows")
    assert not at.exception and "Site 3 has" in texts(at)
    single = open_page("how_it_works", sites="1", step="Sum")
    assert not single.exception
    assert not [field for field in single.number_input if field.key == "step_site"]


def test_settings_that_cannot_run_give_one_sentence(open_page):
    at = open_page("how_it_works", epsilon="10", calibration="classic")
    assert not at.exception and len(at.error) == 1


def test_an_absent_data_set_gives_instructions(open_page):
    at = open_page("how_it_works", dataset="fashion-mnist")
    assert not at.exception
    assert any("is not on this machine" in notice.value for notice in at.info)
