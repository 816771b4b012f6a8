"""Other analyses, classification: the error curve, the split of ε, one run, the guarantee."""

from __future__ import annotations

import pytest

from tests.pages.opening import texts, wait_for_jobs


def test_it_gives_the_test_error_with_everything_private(open_page):
    at = wait_for_jobs(open_page("classification", dataset="digits"))
    assert not at.exception and not at.error
    assert "are misclassified at ε = 1" in at.title[0].value


def test_the_stages_share_the_requested_epsilon(open_page):
    at = open_page("classification", dataset="digits", epsilon="2")
    assert not at.exception
    assert "ε = 2 is split" in texts(at)


@pytest.mark.parametrize("task", ["two", "rest", "all"])
def test_every_task_trains(open_page, task):
    at = open_page("classification", dataset="digits")
    next(element for element in at.get("button_group") if element.key == "class_task").set_value(
        task
    ).run()
    assert not at.exception and not at.error


def test_data_without_labels_get_a_sentence(open_page):
    at = open_page("classification", dataset="synthetic")
    assert not at.exception
    assert any("no labels" in notice.value for notice in at.info)
