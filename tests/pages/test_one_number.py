"""The same data set and ε have the same captured energy on Explore, Decide and in the memo."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest

from dpcore.data import dataset_status
from dpcore.experiments.decide.decision import answer, asked_spec, decide
from dpcore.experiments.decide.ranking import Trusted
from dpcore.experiments.pca import RunSpec
from pages import cached
from pages.components.decision_brief import Decision, brief_of
from pages.use.decide import reason_of, title_of


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
    spec = asked_spec(RunSpec(dataset=data), trusted, status.n_samples)
    (option,) = decide(spec, epsilons=(1.0,))
    assert option.mean == pytest.approx(explored, abs=1e-9)

    found = answer([option], most_right=100, target=0.5)
    decision = Decision(spec, trusted, status, found, reason_of(found))
    brief = brief_of(decision, title_of(found), "/decide")
    assert brief.chosen.mean == pytest.approx(explored, abs=1e-9)
