"""The same data set and ε have the same captured energy on every page, or the page says why not."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest

from dpcore.data import dataset_status
from dpcore.experiments.decide.decision import answer, decide, spec_of_trust
from dpcore.experiments.decide.ranking import Trusted
from dpcore.experiments.engine.fields import version_fields
from dpcore.experiments.engine.summaries import percent
from dpcore.experiments.pca import RunSpec
from dpcore.teaching.class_hospitals import PICTURES, improved_spec
from pages import cached
from pages.components.decision_brief import Decision, brief_of
from pages.use.decide import reason_of, title_of
from tests.pages.opening import texts, visit


@pytest.mark.parametrize("data", ["breast-cancer", "digits"])
@pytest.mark.parametrize(
    ("trusted", "protocol"), [(Trusted.NOBODY, "dpdis"), (Trusted.HOLDER, "pooled")]
)
def test_pages_give_one_number_for_one_question(open_page, data, trusted, protocol):
    """Pages gave 49, 57, 88 and 86 % for the same patients at ε = 1."""
    at = open_page("", dataset=data, version="improved", protocols="dpdis,pooled")
    assert not at.exception
    on_explore = at.session_state["_selection"].spec
    assert on_explore.epsilon == 1.0
    rows = cached.rows(replace(on_explore, protocols=(protocol,)))
    explored = fmean(row["energy_ratio"] for row in rows)

    status = dataset_status(data)
    spec = spec_of_trust(RunSpec(dataset=data), trusted, status.n_samples)
    (option,) = decide(spec, epsilons=(1.0,))
    assert option.mean == pytest.approx(explored, abs=1e-9)

    result = answer([option], most_right=100, target=0.5)
    decision = Decision(spec, trusted, status, result, reason_of(result))
    brief = brief_of(decision, title_of(result), "/decide")
    assert brief.chosen.mean == pytest.approx(explored, abs=1e-9)


def test_your_table_gives_the_first_run_of_explore_and_names_its_setting(open_page):
    at = open_page("own_table")
    title, shown = at.title[0].value, texts(at)
    next(button for button in at.button if button.label == "Use on all pages").click().run()
    visit(at, "")
    on_explore = at.session_state["_selection"].spec
    assert on_explore.dataset.startswith("your-table") and on_explore.epsilon == 1.0
    n_rows = at.session_state["_selection"].dataset.n_samples
    improved = replace(on_explore, protocols=("pooled",), **version_fields("improved", n_rows))
    assert percent(cached.rows(improved)[0]["energy_ratio"]) in title
    for difference in ("one run", "one holder", "improved"):
        assert difference in shown


def test_release_and_its_plan_say_that_one_holder_has_the_rows(open_page):
    at = open_page("release")
    assert "made-up rows, one holder" in texts(at)
    at.button(key="release_now").click().run()
    assert not at.exception
    assert "Explained variance" in texts(at) and "one holder" in texts(at)
    assert "aptured energy" not in texts(at)


def test_an_improved_class_has_the_settings_of_explore_with_as_many_sites():
    """`test_improved_is_the_protocol_of_the_start_page_with_noise_of_its_own` compares numbers."""
    explored = RunSpec(dataset=PICTURES, sites=12, **version_fields("improved", 10_000))
    assert replace(improved_spec(12, 1.0), epsilon=explored.epsilon) == explored
