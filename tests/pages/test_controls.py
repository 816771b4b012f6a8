"""Shared controls: links, invalid values, notes about settings that cannot be met."""

from __future__ import annotations

import random

import pytest

from pages import sidebar
from tests.pages.opening import texts

QUICK = {"dataset": "digits", "repetitions": "1", "components": "4"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "imagenet"),
        ("algorithm", "magic"),
        ("epsilon", "0.3"),
        ("epsilon", "many"),
        ("sites", "-4"),
        ("seed", "x"),
        ("noise", "pink"),
        ("denoise", "perhaps"),
    ],
)
def test_an_invalid_value_is_one_sentence_and_the_default(open_page, name, value):
    at = open_page("", **(QUICK | {name: value}))
    assert not at.exception
    assert len(at.warning) == 1 and name in at.warning[0].value
    selection = at.session_state["_selection"]
    assert {"dataset": selection.dataset.name, **selection.values}[name] == sidebar.DEFAULTS[name]


def test_a_valid_link_shows_no_warning_and_sets_every_control(open_page):
    link = {
        "dataset": "digits", "algorithm": "pooled", "epsilon": "0.5", "delta": "0.001",
        "sites": "3", "intermediate": "12", "components": "6", "repetitions": "1", "seed": "7",
        "noise": "triangle", "denoise": "none",
    }  # fmt: skip
    at = open_page("", **link)
    assert not at.exception and not at.warning
    spec = at.session_state["_selection"].spec
    assert (spec.dataset, spec.protocols[0], spec.epsilon, spec.delta) == (
        "digits", "pooled", 0.5, 0.001,
    )  # fmt: skip
    assert (spec.sites, spec.intermediate_dim, spec.components) == (3, 12, 6)
    assert (spec.seed, spec.noise, spec.denoise) == (7, "triangle", "none")


def test_another_data_set_brings_its_own_defaults(open_page):
    at = open_page("", repetitions="1")
    at.sidebar.selectbox(key="dataset").set_value("digits").run()
    spec = at.session_state["_selection"].spec
    assert (spec.components, spec.intermediate_dim) == (10, 20)


def test_more_samples_than_there_are_is_a_note(open_page):
    at = open_page("", **QUICK, sites="20", people="10")
    at.sidebar.slider(key="sites").set_value(100).run()
    assert not at.exception


def test_any_address_opens_the_page_with_at_most_sentences(open_page):
    rng = random.Random(4)
    values = ["", "0", "-1", "1e400", "nan", "ε", "<b>", "a" * 300, "dpdis", "all", "50", "none"]
    for _ in range(12):
        link = QUICK | {name: rng.choice(values) for name in rng.sample(sidebar.ALL, 4)}
        link["repetitions"] = "1"
        at = open_page("", **link)
        assert not at.exception, link
        assert "Traceback" not in texts(at)
