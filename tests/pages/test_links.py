"""Links: values that no control can take give sentences, on every page and for every control."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from pages import sidebar
from pages.navigation import ENTRIES
from tests.pages.opening import with_known_components

OUT_OF_RANGE = ("inf", "nan", "-1", "1.5", "1e99", "none of these")
HOSTILE = (
    "![x](http://foreign.example/p.png)",
    "<img src=x onerror=alert(1)>",
    "9" * 400,
    "\u202e\u0000",
)
CODE_SPAN = re.compile(r"`[^`]*`")


def bound_names(at: AppTest) -> Iterator[str]:
    """Return the names of the address's parameters that set a control of the page."""
    blocks = [at._tree]
    while blocks:
        block = blocks.pop()
        blocks += getattr(block, "children", {}).values()
        if name := getattr(getattr(block, "proto", None), "query_param_key", ""):
            yield name


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_values_out_of_range_give_a_page_with_one_sentence_each(open_page, entry):
    at = open_page(entry.address, dataset="digits", repetitions="1")
    assert not at.exception
    names = {*bound_names(at), *sidebar.ALL}
    # Three of the six values for each name: all are opened in 18 pages.
    for first in (0, 2, 4):
        link = {
            name: OUT_OF_RANGE[(number + first) % len(OUT_OF_RANGE)]
            for number, name in enumerate(sorted(names))
        }
        at = open_page(entry.address, **link)
        assert not at.exception, (link, [exception.value for exception in at.exception])
        sentences = "\n".join(warning.value for warning in at.warning)
        assert [name for name in sidebar.ALL if name not in sentences and link[name] != "1.5"] == []


@pytest.mark.parametrize("value", HOSTILE)
def test_markup_in_a_link_is_shown_as_text(open_page, value):
    at = open_page("", **dict.fromkeys(sidebar.ALL, value))
    assert not at.exception, [exception.value for exception in at.exception]
    # Code spans and escaped characters show letters; the rest must contain no markup.
    shown = CODE_SPAN.sub("", "\n".join(warning.value for warning in at.warning))
    assert "seed" in shown and not re.search(r"(?<!\\)[<\[]|\u202e", shown)


def draw_controls(shown: tuple[str, ...]) -> None:
    import streamlit as st

    from pages import links, sidebar

    links.read_link(st.navigation([st.Page(lambda: None, title="page")]))
    sidebar.draw_sidebar(shown)
    links.report_rejected_values()


@pytest.mark.parametrize("name", sidebar.ALL)
def test_a_value_of_a_hidden_control_is_checked(open_page, name):
    """A number that no control had checked ended each page that did not show the control."""
    for value in ("-1", "1.5"):
        at = AppTest.from_function(draw_controls, args=((),), default_timeout=180)
        with_known_components(at)
        at.query_params["dataset"], at.query_params[name] = "digits", value
        at.run()
        assert not at.exception, value
        assert [name in warning.value for warning in at.warning] == [True], value


@pytest.mark.parametrize(
    ("page", "name", "sentence"),
    [
        ("decide", "decide_harm", "a whole number from 50 to 100, got 1000"),
        ("", "epsilon", "one of 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, …, 50, got 1000"),
    ],
)
def test_a_rejected_value_is_answered_with_the_whole_range(open_page, page, name, sentence):
    """Only the first eight options were named: "one of 50, 51, …, 57" for 50 to 100."""
    at = open_page(page, dataset="digits", repetitions="1", **{name: "1000"})
    (warning,) = at.warning
    assert f"{name} must be {sentence}." in warning.value
