"""The tutorials page shows every tutorial with its results."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.teaching.tutorials import TUTORIALS


@pytest.fixture
def page(open_page) -> AppTest:
    return open_page("learn/tutorials")


@pytest.mark.parametrize("key", TUTORIALS)
def test_code_and_what_it_prints(page, key):
    next(group for group in page.button_group if group.key == "tutorial").set_value(key).run()
    assert not page.exception and not page.error
    assert f"## {TUTORIALS[key].title}" in [each.value for each in page.markdown]
    code = "\n".join(element.value for element in page.code)
    assert "from dpcore" in code and "import numpy" in code


def test_one_promise_needs_no_tabs(page):
    assert not page.tabs and page.main.get("html")


def test_epsilon_goes_into_the_code(page):
    page.select_slider(key="tutorial_epsilon").set_value(0.1).run()
    assert any("epsilon = 0.1" in element.value for element in page.code)
