"""Algorithm 1, stepped through by a visitor."""

from __future__ import annotations

import pytest

from dpcore.experiments.teaching.algorithm1 import STEPS
from pages.shell.parameters import STEP_TITLES


def heading(at) -> str:
    return next(m.value for m in at.markdown if m.value.startswith("## "))


def button(at, label: str):
    return next(b for b in at.button if b.label == label)


def test_forward_and_back_walk_the_steps(open_page):
    at = open_page("learn/algorithm")
    for number, key in enumerate(STEPS, start=1):
        assert not at.exception
        assert heading(at).startswith(f"## {number} of {len(STEPS)}: {STEP_TITLES[key]}")
        if number < len(STEPS):
            button(at, "Forward →").click().run()
    assert button(at, "Forward →").disabled
    button(at, "← Back").click().run()
    assert STEP_TITLES["average"] in heading(at)


@pytest.mark.parametrize("key", STEPS)
def test_every_step_fills_in_its_words(open_page, key):
    at = open_page("learn/algorithm", step=STEP_TITLES[key])
    assert STEP_TITLES[key] in heading(at)
    assert not any("{" in m.value for m in at.markdown if "$" not in m.value)
    assert len(at.get("image")) >= 1


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
