"""The live audit, advanced run by run."""

from __future__ import annotations

import pytest

CAUGHT, HELD = "breaks through", "stays below the promised"


def heading(at) -> str:
    return next(m.value for m in at.markdown if m.value.startswith("## "))


def spoken(at) -> str:
    return "\n".join(m.value for m in at.markdown)


def attacked(at):
    """The page once the attack has begun."""
    return at.button(key="audit_attack").click().run()


def finished(at):
    if any(button.key == "audit_attack" for button in at.button):
        attacked(at)
    for _ in range(600):
        if not any(b.label == "Stop" for b in at.button):
            return at
        at.run()
    raise AssertionError("the attack does not end")


@pytest.mark.parametrize(
    ("family", "key", "mechanism", "words"),
    [
        ("Second moment", "audit_second_moment", "second moment, analytic, isometric", HELD),
        ("Statistics", "audit_statistics", "variance, Laplace noise", "promised pure ε"),
        ("Flawed", "audit_flawed", "one seed for all sites", CAUGHT),
        ("Flawed", "audit_flawed", "lower triangle without noise", CAUGHT),
    ],
)
def test_the_verdict(open_page, family, key, mechanism, words):
    trials = key.replace("audit", "audit_trials")
    address = {"audit_family": family, key: mechanism, trials: "2,000"}
    at = finished(open_page("learn/audit", **address))
    assert not at.exception
    assert words in heading(at)
    assert len(at.get("plotly_chart")) == 3


def test_it_counts_stops_and_goes_on(open_page):
    at = attacked(open_page("learn/audit", audit_family="Second moment"))
    assert "So far the attack proves" in heading(at)
    next(b for b in at.button if b.label == "Stop").click().run()
    before = heading(at)
    at.run()
    assert heading(at) == before
    next(b for b in at.button if b.label == "Go on").click().run()
    assert HELD in heading(finished(at))


def test_a_flawed_mechanism_says_so_and_why(open_page):
    at = open_page("learn/audit", audit_family="Flawed", audit_flawed="Wishart noise")
    said = "\n".join(m.value for m in at.markdown)
    assert "flawed, kept for teaching" in said
    assert "**The flaw.**" in said


def test_the_command_shown_names_the_same_attack(open_page):
    address = {"audit_family": "Distributed PCA", "audit_adversary": "Participating site"}
    at = open_page("learn/audit", **address, audit_trials_distributed_pca="2,000", audit_seed="3")
    assert at.code[0].value == (
        "python -m dpcore audit --mechanism dpdispca --adversary site --trials 2000 "
        "--confidence 0.999 --seed 3"
    )


def test_it_begins_with_a_promise_a_flaw_and_a_needle(open_page):
    at = open_page("learn/audit")
    assert "promises ε\u00a0=\u00a010 at δ\u00a0=\u00a00.01. Is it true?" in heading(at)
    assert not at.get("plotly_chart")
    at = finished(at)
    assert at.button_group(key="audit_family").value == "Flawed"
    assert CAUGHT in heading(at)
    assert "We can be 99.9 % sure that ε is above" in spoken(at) and "nominally" in spoken(at)


def test_the_adversary_is_one_that_attacks_the_mechanism(open_page):
    """Chosen where there are three, it gives way where there is one, and the page says who."""
    address = {"audit_family": "Distributed PCA", "audit_adversary": "Aggregator"}
    at = attacked(open_page("learn/audit", **address))
    assert "Seen: every site's message" in spoken(at)
    assert at.button_group(key="audit_adversary").options == [
        "Outsider",
        "Aggregator",
        "Participating site",
    ]
    at = attacked(at.button_group(key="audit_adversary").set_value("site").run())
    assert "its own noise" in spoken(at)
    at = attacked(at.button_group(key="audit_family").set_value("Statistics").run())
    assert not at.exception
    assert at.button_group(key="audit_adversary").value == "outsider"
    assert "Seen: the released statistic" in spoken(at)


def test_an_address_with_an_unknown_adversary_shows_the_first(open_page):
    at = open_page("learn/audit", audit_adversary="the milkman")
    assert not at.exception
    assert at.button_group(key="audit_adversary").value == "outsider"


def test_another_family_shows_its_own_mechanisms(open_page):
    at = open_page("learn/audit")
    assert "**published noise, asked ε = 10**" in spoken(at)
    at.button_group(key="audit_family").set_value("CCA").run()
    assert not at.exception
    assert at.selectbox(key="audit_cca").options[0] == "CCA, DPdisPCA"
    assert "**CCA, DPdisPCA**" in "\n".join(m.value for m in at.markdown)
