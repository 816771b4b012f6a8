"""A cap set by a visitor: every page keeps it, says so, and shows what has been paid."""

from __future__ import annotations

import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.looking import go_to

LEDGER = "ledger"
SHORT = {"repetitions": "2"}
# Smaller than what any page asks for at first.
SMALL = 0.05

RUNS = (
    "explore/tradeoffs",
    "explore/bytes",
    "use/plan",
    "use/reproduce",
    "use/reproduce_2012",
)
PAGES = (
    "explore/play",
    "explore/eigen_images",
    "explore/central",
    "explore/cca",
    "explore/statistics",
    "explore/classification",
    "learn/algorithm",
    *RUNS,
)


@pytest.fixture
def open_page(open_on_digits):
    return open_on_digits


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


def button(at: AppTest, label: str):
    return next(b for b in at.button if b.label.startswith(label))


def set_cap(at: AppTest, epsilon: float, delta: float = 0.01) -> AppTest:
    go_to(at, LEDGER).run()
    at.select_slider(key="cap_epsilon").set_value(epsilon)
    at.select_slider(key="cap_delta").set_value(delta).run()
    button(at, "Set it").click().run()
    assert not at.exception
    return at


def visit(at: AppTest, page: str) -> AppTest:
    go_to(at, page).run()
    assert not at.exception
    return at


def refusal(at: AppTest) -> str:
    found = [each.value for each in at.warning if each.value.startswith("Not drawn.")]
    assert len(found) <= 1
    return found[0] if found else ""


def said(at: AppTest) -> str:
    words = (each.value for each in (*at.markdown, *at.caption))
    bodies = (each.proto.body for each in at.get("html"))
    return "\n".join((*words, *(body for body in bodies if not body.startswith("<style>"))))


def paid(at: AppTest) -> int:
    books = at.session_state["_spent"] if "_spent" in at.session_state else {}
    return sum(book.n_releases for book in books.values())


@pytest.mark.parametrize("page", PAGES)
def test_what_would_exceed_the_cap_is_neither_shown_nor_paid(open_page, page):
    at = set_cap(open_page("learn/stories", **SHORT), SMALL)
    visit(at, page)
    assert refusal(at), said(at)[:500]
    assert paid(at) == 0
    # Neither a chart nor a picture nor a guarantee of what was not drawn.
    if page not in RUNS:
        assert not at.get("plotly_chart")
        assert not at.get("imgs")
        assert "%" not in said(at)
    else:
        assert not any(b.label == "Run" and not b.disabled for b in at.button)
    links = [link.proto.label for link in at.get("page_link")]
    assert "See the cap, and what was spent" in links
    visit(at, "use/ledger")
    assert not at.dataframe


def test_the_sentence_says_what_was_asked_what_is_left_and_the_cap(open_page):
    at = set_cap(open_page("learn/stories", **SHORT), 1.0)
    visit(at, "explore/play")
    # Two draws each of the sites' noise, of the first site's and of the pooled, at ε = 1 each:
    # μ = √6 · 0.5325.
    assert refusal(at) == (
        "Not drawn. This asks for ε = 3.32, and ε = 1 is left of the cap of ε = 1 at δ = 0.01."
    )


def test_what_fits_is_shown_and_counted(open_page):
    at = set_cap(open_page("learn/stories", repetitions="1", protocols="DPdisPCA"), 2.0)
    visit(at, "explore/play")
    assert not refusal(at)
    assert "Of the cap of ε = 2, " in "".join(each.value for each in at.sidebar.caption)
    visit(at, "use/ledger")
    assert "of the cap spent" in at.get("progress")[0].proto.text


def test_what_is_paid_stays_when_nothing_is_left(open_page):
    at = open_page("learn/stories", repetitions="1", protocols="DPdisPCA", calibration="analytic")
    set_cap(at, 1.0)
    visit(at, "explore/play")
    assert not refusal(at)
    before = paid(at)
    button(at, "New noise").click().run()
    assert refusal(at) and paid(at) == before
    at.number_input(key="seed").set_value(0).run()
    assert not refusal(at) and paid(at) == before


def test_curves_nobody_asked_for_are_left_out_under_a_cap(open_page):
    at = set_cap(open_page("learn/stories", repetitions="1", protocols="DPdisPCA"), 5.0)
    visit(at, "explore/play").run()
    parts = {part.proto.component_name: part.proto for part in at.get("bidi_component")}
    frames, people = (json.loads(parts[f"energy_{name}"].json)[0] for name in ("frames", "people"))
    assert [frame["epsilon"] for frame in frames["frames"]] == [1.0]
    assert people["epsilons"] == [1.0]
    assert "Left out under a cap" in said(at)


def test_a_cap_set_late_says_that_it_counts_from_now(open_page):
    at = open_page("explore/play", **SHORT)
    set_cap(at, SMALL)
    assert "It promises nothing about what was shown before" in said(at)
    assert "releases came before the cap" in said(at)
    assert at.get("progress")[0].proto.text.startswith("0 % of the cap spent")
    visit(at, "explore/play")
    assert not refusal(at)


def test_what_is_left_for_pure_releases_is_said_while_all_is_pure(open_page):
    at = set_cap(open_page("learn/stories", epsilon="0.5"), 2.0)
    visit(at, "explore/statistics")
    assert not refusal(at)
    visit(at, "use/ledger")
    (bar,) = at.get("progress")
    assert bar.proto.text.startswith("25 % of the cap spent.")
    assert bar.proto.text.endswith("a pure one ε = 1.5 while all is pure.")


def test_a_sweep_that_fits_is_paid_before_it_begins(open_page):
    # Every K reads the same noisy matrices.
    query = {
        "protocols": "DPdisPCA",
        "tradeoffs_field": "components",
        "tradeoffs_values_components": "5, 10",
    }
    at = set_cap(open_page("learn/stories", **SHORT, **query), 5.0)
    visit(at, "explore/tradeoffs")
    assert paid(at) == 0
    button(at, "Run").click().run()
    assert paid(at) == 2
    visit(at, "use/ledger")
    assert paid(at) == 2


def test_no_cap_admits_two_releases_of_one_noise(open_page):
    """They were admitted at the sum of their costs, and gave the data away together."""
    at = set_cap(open_page("learn/stories", protocols="DPdisPCA", epsilon="0.1", **SHORT), 5.0)
    visit(at, "explore/play")
    assert not refusal(at) and paid(at) == 2
    at.select_slider(key="epsilon").set_value(0.2).run()
    assert "scales noise that another release has scaled" in refusal(at) and paid(at) == 2


def test_a_cap_can_be_removed_and_is_the_visitors_own(open_page):
    at = set_cap(open_page("learn/stories", **SHORT), SMALL)
    other = open_page("explore/play", **SHORT)
    assert not refusal(other)
    visit(at, "explore/play")
    assert refusal(at)
    visit(at, "use/ledger")
    button(at, "Remove the cap").click().run()
    visit(at, "explore/play")
    assert not refusal(at)


def test_the_words_are_those_of_a_plan_and_of_stopping_as_it_goes(open_page):
    at = open_page("explore/play", **SHORT)
    foot = next(c.value for c in at.sidebar.caption if "On real data" in c.value)
    assert "would have used up" in foot and "of everyone's privacy budget" in foot
    assert "if you decide as you go when to stop)" in foot
    visit(at, "use/ledger")
    assert "a plan of exactly these 6 releases, fixed beforehand, would have cost" in said(at)
    assert "If you decide as you go when to stop: ε = " in said(at)


def test_what_was_forgotten_is_paid_again_before_it_is_seen_again(open_page):
    query = {"protocols": "DPdisPCA", "tradeoffs_values_epsilon": "1, 2"}
    at = open_page("explore/tradeoffs", **SHORT, **query)
    button(at, "Run").click().run()
    deadline = time.monotonic() + 180
    while at.session_state["_spent_followed"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
        at.run()
    set_cap(at, SMALL)
    button(at, "Forget everything").click().run()
    visit(at, "explore/tradeoffs")
    assert refusal(at) and paid(at) == 0
    # Elsewhere nothing is in the way.
    visit(at, "use/ledger")
    visit(at, "learn/algorithm")
    assert refusal(at)
