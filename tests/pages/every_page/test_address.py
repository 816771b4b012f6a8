"""What an address asks for and cannot have is named, on the page, beside what is shown instead."""

from __future__ import annotations

import pytest

from pages.parameters.sidebar import DEFAULTS, SIDEBAR


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("epsilon", "-3", "1"),
        ("delta", "2", "0.01"),
        ("sites", "5000", "5"),
        ("components", "1000", "10"),
        ("dataset", "nonesuch", "digits"),
        ("calibration", "hopeful", "analytic"),
        ("seed", "-1", "0"),
    ],
)
def test_a_value_out_of_range_is_named(open_page, name, value, shown):
    at = open_page("explore/playground", **{name: value})
    assert not at.exception
    (sentence,) = (warning.value for warning in at.warning)
    assert sentence.startswith(
        f"In the address, {name} must be {SIDEBAR[name].offered}, got {value}: "
    )
    assert sentence.endswith(f"showing {shown}.")


def test_the_sentence_goes_when_the_control_is_moved(open_page):
    at = open_page("explore/playground", epsilon="-3").run()
    assert len(at.warning) == 1
    at.select_slider(key="epsilon").set_value(2.0).run()
    assert not at.warning


def test_a_page_s_own_controls_are_watched_too(open_page):
    at = open_page("explore/cca", cca_pairs="-7")
    assert any(
        "cca_pairs must be" in warning.value and "got -7" in warning.value for warning in at.warning
    )


def test_a_good_address_is_not_commented_on(open_page):
    assert not open_page(
        "explore/playground", epsilon="0.5", dataset="digits", repetitions="2", sites="5"
    ).warning


def test_every_shared_control_is_in_the_table():
    assert set(SIDEBAR) == set(DEFAULTS) | {"components", "intermediate"}
    assert all(parameter.offered for parameter in SIDEBAR.values())


def test_a_page_that_stops_early_says_it_too(open_page):
    at = open_page("explore/eigen_images", dataset="kddcup99", method="none", sites="x")
    told = [warning.value for warning in at.warning]
    assert any(each.startswith("In the address, method must be") for each in told)
    assert any(each.startswith("In the address, sites must be") for each in told)


@pytest.mark.parametrize("page", ["explore/central", "explore/sample_complexity"])
def test_the_link_restores_what_has_been_moved_since_the_page_was_opened(open_page, page):
    at = open_page(page, delta="0.001")
    at.select_slider(key="epsilon").set_value(0.5)
    at.session_state["share"] = True
    (link,) = (block.value for block in at.run().code)
    assert link.endswith("?delta=0.001&epsilon=0.5")
