"""Other analyses, two views: correlations, directions, rows, the curve along ε, guarantees."""

from __future__ import annotations

import pytest


def test_it_opens_with_the_captured_correlation(open_page):
    at = open_page("cca", repetitions="2")
    assert not at.exception and not at.error
    assert "%" in at.title[0].value


@pytest.mark.parametrize("data", ["synthetic", "digits", "mnist-small", "breast-cancer"])
def test_every_kind_of_views_runs(open_page, data):
    from dpcore.experiments.cca.views import SYNTHETIC

    at = open_page("cca", cca_data=SYNTHETIC if data == "synthetic" else data, repetitions="1")
    assert not at.exception and not at.error


def test_absent_data_are_explained(open_page):
    at = open_page("cca", cca_data="mfeat")
    assert not at.exception
    assert any("not on this machine" in notice.value for notice in at.info)


@pytest.mark.parametrize("protocol", ["full", "dpdis", "securesum"])
def test_distributed_protocols_state_their_guarantee(open_page, protocol):
    at = open_page("cca", cca_protocols=protocol, repetitions="1", sites="3")
    assert not at.exception and not at.error
    assert any(expander.label == "Assumptions" for expander in at.expander)


def test_all_columns_in_one_view_give_one_sentence(open_page):
    at = open_page("cca", cca_data="breast-cancer", repetitions="1")
    box = next(field for field in at.selectbox if field.key == "cca_cut")
    box.set_value("chosen columns").run()
    at.multiselect(key="cca_x_columns").set_value([]).run()
    assert not at.exception
    assert len(at.error) == 1 and "at least one, but not all" in at.error[0].value
    assert len(at.title) == 1
