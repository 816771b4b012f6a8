"""Addresses nobody would write by hand: whatever they say, every page answers.

`DPCORE_FUZZ_EXAMPLES=10000` runs more of them than CI does.
"""

from __future__ import annotations

import math
import os
from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from pages.learn import audit as audit_panels
from pages.shell.navigation import PAGES
from pages.shell.parameters import Limits, Number, OneOf, Switch, parameters
from pages.widgets import job_progress
from pages.widgets.notices import plainly
from tests.pages.looking import HOSTILE, assert_whole, leave, sentences

EXAMPLES = int(os.environ.get("DPCORE_FUZZ_EXAMPLES", "300"))
STRANGE = (
    "", " ", "0", "-0", "-1", "1e308", "-1e308", "1e-320", "1e160", "inf", "-inf", "nan", "1" * 400,
    "0x10", "1_000", "٣", "½", "None", "true", "[]", "1,5", "1e-05", "\x00", *HOSTILE,
)  # fmt: skip
# Right, and minutes of work: the addresses are about what is asked, not about computing it.
SLOW = {
    "dataset": ("patches", "synthetic"),
    "cca_data": ("patches", "synthetic"),
    "sampler_sweeps": (1024, 2048),
    "repetitions": (50,),
    "class_draws": (50,),
    "cca_total": (50_000, 20_000),
}


@cache
def right(name: str) -> tuple[str, ...]:
    """Ways to write values that the parameter takes, by the table."""
    parameter = parameters()[name]
    if isinstance(parameter, OneOf):
        options = [option for option in parameter.offers if option not in SLOW.get(name, ())]
        return tuple(
            form
            for option in options
            for label in [parameter.label(option)]
            for form in (label, label.upper(), str(option))
        )
    if isinstance(parameter, Number):
        ends = (parameter.low, parameter.high, (parameter.low + parameter.high) // 2)
        slow = SLOW.get(name, ())
        return tuple(f"{end:g}" for end in ends if end not in slow)
    if isinstance(parameter, Switch):
        return ("true", "False") if name not in SLOW else ("false",)
    if isinstance(parameter, Limits):
        return ("pixels=0:16", "pixels=-1:3; Aspect=; Slope=0:45", "")
    return (
        "0.1, 1, 10",
        "1e308, 1",
        "1e-320,2",
        f"{'9' * 400},1",
        "inf,1",
        "1e-300,0.1",
        "-1,0",
        "1,a",
        "",
    )


def beside(name: str) -> tuple[str, ...]:
    """Values just outside."""
    parameter = parameters()[name]
    if not isinstance(parameter, Number):
        return ("none of them",)
    return (str(parameter.low - 1), str(parameter.high + 1), str(parameter.low + 0.5))


def of_page(page: str) -> list[str]:
    shown = [name for name, one in parameters().items() if one.page in ("", page)]
    # A page's own controls are fewer than the sidebar's, and are what only it can break on.
    return shown + 3 * [name for name in shown if parameters()[name].page == page]


@st.composite
def addresses(draw, page: str) -> dict[str, str]:
    names = draw(st.lists(st.sampled_from(of_page(page)), min_size=1, max_size=4, unique=True))
    address = {
        name: draw(st.one_of(*map(st.sampled_from, (right(name), beside(name), STRANGE))))
        for name in names
    }
    if draw(st.integers(0, 9)) == 0:
        address[draw(st.sampled_from(HOSTILE))] = draw(st.sampled_from(STRANGE))
    return address


@pytest.fixture(autouse=True)
def only_asked(monkeypatch):
    """Nothing goes on in the background, and no attack takes longer than a look at it."""
    monkeypatch.setattr(job_progress, "_AT_ONCE", 0)
    monkeypatch.setattr(audit_panels, "_SLICE_SECONDS", 0.0)


@pytest.mark.parametrize("page", PAGES)
def test_every_address_is_answered(open_page, page):
    place = PAGES[page]

    @seed(20180406)
    @settings(
        max_examples=max(1, math.ceil(EXAMPLES / len(PAGES))),
        derandomize="DPCORE_FUZZ_EXAMPLES" not in os.environ,
        database=None,
        # An address is short as it is, and every try at a shorter one opens a page.
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(addresses(page))
    def answered(address):
        at = open_page(f"{place.section.lower()}/{place.name}", **address)
        assert_whole(at)
        leave()
        told = sentences(at)
        for name, written in address.items():
            if name not in parameters():
                assert plainly(name) in told
                continue
            try:
                parameters()[name].read(name, [written])
            except ParameterError:
                assert f"In the address, {name} must be {parameters()[name].offered}" in told

    answered()


@pytest.mark.parametrize(
    ("page", "address"),
    [
        ("play", {"sites": HOSTILE[0]}),
        *(
            ("play", {name: value})
            for name in ("split", "preparation")
            for value in ("", "x")
        ),
        *((page, {"seed": value}) for page in PAGES for value in ("inf", "9" * 400)),
        ("cca", {"cca_cut": ""}),
        ("audit", {"audit_family": ""}),
        ("audit", {"audit_seed": "inf"}),
        ("tutorials", {"tutorial": ""}),
        ("sampler", {"sampler_chains": ""}),
        ("play", {"calibration": ""}),
        ("eigen_images", {"person": "inf"}),
        ("algorithm", {"step_site": "inf"}),
        *(
            ("statistics", {"dataset": "digits"} | bounds)
            for bounds in (
                {"stat_low_digits": "1e-320", "stat_high_digits": "2e-320"},
                {"stat_high_digits": "1e160", "stat_kind": "variance"},
                {"stat_low_digits": "15.99999999999999"},
            )
        ),
        *(
            ("tradeoffs", {"tradeoffs_field": field, f"tradeoffs_values_{field}": values})
            for field, values in (
                ("epsilon", "1, 1e308"),
                ("epsilon", "1, 1e-320"),
                ("intermediate_ratio", "1, 1e308"),
                ("people_per_site", f"20, {'9' * 400}"),
                ("sites", f"2, {'9' * 400}"),
                ("components", f"2, {'9' * 400}"),
            )
        ),
    ],
)  # fmt: skip
def test_what_once_broke_a_page(open_page, page, address):
    place = PAGES[page]
    at = open_page(f"{place.section.lower()}/{place.name}", **address)
    assert_whole(at)
    assert at.warning or at.error or "cannot run" in sentences(at)


@pytest.mark.parametrize(
    ("page", "name", "written", "value"),
    [
        ("tutorials", "tutorial", "Mean", "mean"),
        ("tutorials", "tutorial", "variance", "variance"),
        ("statistics", "stat_kind", "Mean", "mean"),
        ("statistics", "stat_kind", "variance", "variance"),
        ("classification", "class_model", "SVM", "svm"),
        ("classification", "class_model", "logistic", "logistic"),
        ("plan", "plan_find", "the smallest ε", "epsilon"),
        ("plan", "plan_find", "people_per_site", "people_per_site"),
        ("tradeoffs", "tradeoffs_field", "ε", "epsilon"),
        ("tradeoffs", "tradeoffs_field", "SITES", "sites"),
        ("play", "delta", "1e-05", 1e-5),
        ("play", "delta", "0.01", 1e-2),
        ("play", "epsilon", "1.0", 1.0),
        ("play", "split", "Dirichlet", "dirichlet"),
        ("play", "protocols", "dpdis", ["dpdis"]),
        ("play", "people", "100", 100),
        ("play", "people", "ALL", "all"),
        ("eigen_images", "epsilons", "inf", [math.inf]),
        ("classification", "class_pca_share", "0.5", 0.5),
        ("statistics", "stat_column_digits", "pixel_3_4", None),
    ],
)
def test_every_right_spelling_is_taken_in_silence(open_page, page, name, written, value):
    place = PAGES[page]
    at = open_page(f"{place.section.lower()}/{place.name}", **{name: written})
    assert not at.exception
    assert "In the address" not in sentences(at)
    if value is not None:
        assert at.session_state[name] == value


def test_an_unknown_name_is_said_quietly(open_page):
    at = open_page("explore/play", epsilonn="1", **{HOSTILE[0]: "1"})
    assert_whole(at)
    assert not at.warning
    assert any("No page knows what the address calls epsilonn" in c.value for c in at.caption)


def test_the_last_of_several_values_counts(open_page):
    assert open_page("explore/play", sites=["3", "7"]).session_state["sites"] == 7
