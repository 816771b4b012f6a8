"""Break it: an attack runs in frames, and the flaw is named only afterwards."""

from __future__ import annotations

import pytest

from tests.pages.opening import texts

BROKEN, HELD = "Broken: the attack proves", "attacks, and the guarantee held"


def start(at):
    return at.button(key="audit_attack").click().run()


def finish(at):
    if any(button.key == "audit_attack" for button in at.button):
        start(at)
    for _ in range(600):
        if not any(button.label == "Stop" for button in at.button):
            return at
        at.run()
    raise AssertionError("the attack does not end")


@pytest.mark.parametrize(
    ("family", "key", "mechanism", "words"),
    [
        ("Second moment", "audit_second_moment", "second moment, analytic, isometric", HELD),
        ("Statistics", "audit_statistics", "variance, Laplace noise", HELD),
        ("Published or shipped", "audit_flawed", "one seed for all sites", BROKEN),
        ("Published or shipped", "audit_flawed", "lower triangle without noise", BROKEN),
    ],
)
def test_the_attack_ends_with_its_verdict(open_page, family, key, mechanism, words):
    trials = key.replace("audit", "audit_trials")
    at = open_page("audit", **{"audit_family": family, key: mechanism, trials: "2,000"})
    assert mechanism in texts(at)
    finish(at)
    assert not at.exception
    assert words in at.title[0].value
    assert len(at.get("plotly_chart")) == 3


def test_an_attack_stops_and_continues(open_page):
    at = start(open_page("audit", audit_family="Second moment"))
    assert "So far the attack proves" in at.title[0].value
    next(button for button in at.button if button.label == "Stop").click().run()
    before = at.title[0].value
    at.run()
    assert at.title[0].value == before
    next(button for button in at.button if button.label == "Continue").click().run()
    assert HELD in finish(at).title[0].value


def test_the_flaw_is_hidden_until_after_the_attack(open_page):
    at = open_page("audit")
    assert "Can you break it?" in at.title[0].value and "ε\u00a0=\u00a010" in at.title[0].value
    assert "flaw" not in texts(at).casefold()
    finish(at)
    assert BROKEN in at.title[0].value
    assert "flawed, for teaching" in texts(at) and "**The flaw.**" in texts(at)


def test_the_command_shown_names_the_same_attack(open_page):
    address = {"audit_family": "Distributed PCA", "audit_adversary": "Participating site"}
    at = open_page("audit", **address, audit_trials_distributed_pca="2,000", audit_seed="3")
    assert at.code[0].value == (
        "python -m dpcore audit --mechanism dpdispca --adversary site --trials 2000 "
        "--confidence 0.999 --seed 3"
    )


def test_the_adversary_is_one_that_attacks_the_mechanism(open_page):
    at = open_page("audit", audit_family="Distributed PCA", audit_adversary="Aggregator")
    assert "every site's message" in texts(start(at))
    at.selectbox(key="audit_adversary").set_value("site").run()
    assert "its own noise" in texts(start(at))
    at.selectbox(key="audit_family").set_value("Statistics").run()
    assert not at.exception
    assert at.selectbox(key="audit_adversary").value == "outsider"


def test_an_unknown_adversary_in_the_address_gives_the_first(open_page):
    at = open_page("audit", audit_adversary="the milkman")
    assert not at.exception
    assert at.selectbox(key="audit_adversary").value == "outsider"
