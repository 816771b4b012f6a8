"""Random addresses give a page, whatever values they have for whichever controls."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pages import sidebar
from pages.navigation import ENTRIES
from tests.pages.opening import open_page_at

FUZZ = settings.get_profile("fuzz")
PAGE_CONTROLS = (
    "step", "step_site", "promise_prior", "audit_seed", "audit_trials_flawed", "cca_pairs",
    "cca_data", "stat_source", "stat_bins", "class_draws", "class_pca_share", "decide_target",
    "tradeoffs_field", "tradeoffs_values_sites", "sampler_sweeps", "papers_runs", "tutorial",
    "story", "room", "present",
)  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(["", "inf", "-inf", "nan", "-1", "0", "1", "1.5", "1e99", "9" * 400, "all"]),
    st.integers().map(str),
    st.floats().map(str),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)


@pytest.fixture(scope="module", autouse=True)
def folders(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPCORE_DATA", str(tmp_path_factory.mktemp("data")))
        patch.setenv("DPCORE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@settings(FUZZ, max_examples=max(1, FUZZ.max_examples // 4))
@given(
    st.sampled_from(ENTRIES),
    st.dictionaries(st.sampled_from((*sidebar.ALL, *PAGE_CONTROLS)), VALUES, max_size=8),
)
def test_a_random_link_opens_a_page(entry, link):
    at = open_page_at(entry.address, **({"dataset": "digits", "repetitions": "1"} | link))
    assert not at.exception, [exception.value for exception in at.exception]
