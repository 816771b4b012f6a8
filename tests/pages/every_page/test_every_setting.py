"""Every page with every data set of its sidebar, and with each of its controls at its ends.

`DPCORE_EVERY_SETTING=1` moves the controls of every data set that is ready, not of one alone, and
with DPCORE_DATA set takes the official ones too. Large ones stand for themselves with few people.
"""

from __future__ import annotations

import os

import pytest

from dpcore.audit_cases.attack import cases_by_family, slug_of
from dpcore.data.loading import CATALOG
from dpcore.experiments.cca_runs import SYNTHETIC
from pages.learn import audit as audit_panels
from pages.shell.navigation import PAGES
from pages.shell.parameters import DECLARED, DEFAULTS, EVERYBODY, Number, OneOf, Switch, parameters
from pages.widgets import job_progress
from tests.pages.looking import assert_whole, leave

EVERYTHING = "DPCORE_EVERY_SETTING" in os.environ
OFFICIAL = os.environ.get("DPCORE_DATA")
# These need no files, and "patches" half a minute; the others are tried where their files are.
HERE = ["digits", "synthetic-2012", "synthetic", "patches"]
NUMERIC = [entry.name for entry in CATALOG.values() if entry.default_components is not None]
TRIED = (NUMERIC if OFFICIAL else HERE) if EVERYTHING else HERE[:3]
FEW = {"people": "100", "repetitions": "2"}
ONE_DRAW = {"repetitions": "1", "class_draws": "1"}
# Moved together: nothing of a page hangs on one of them alone.
ADVANCED = ("calibration", "noise", "truncation", "preparation", "split", "masks", "concentration",
            "seed", "compare")  # fmt: skip
# What has to be chosen for a control to be drawn at all.
DRAWN_UNDER = {
    "stat_bins": {"stat_kind": "histogram"},
    "stat_mistake": {"stat_kind": "histogram"},
    "stat_low_typed": {"stat_source": "typed"},
    "stat_high_typed": {"stat_source": "typed"},
    "class_sites": {"class_protocol": "dpdis"},
    "class_pipeline": {"class_view": "inside"},
    "cca_directions": {"cca_protocols": "Proxies"},
    **{
        name: {"cca_data": SYNTHETIC}
        for name in ("cca_shared", "cca_view_noise", "cca_columns", "cca_total")
    },
    **{
        name: {"audit_family": family}
        for family in cases_by_family()
        for group in [slug_of(family).replace("-", "_")]
        for name in (f"audit_{group}", f"audit_trials_{group}")
    },
}
LARGEST_K = {entry.name: min(entry.n_features, 100) for entry in CATALOG.values()}


@pytest.fixture(autouse=True)
def in_the_foreground(monkeypatch):
    monkeypatch.setattr(job_progress, "_AT_ONCE", 0)
    monkeypatch.setattr(audit_panels, "_SLICE_SECONDS", 0.0)


@pytest.fixture
def open_place(open_page, monkeypatch):
    def open_it(page: str, **query: str):
        at_home = open_page
        if OFFICIAL and query.get("dataset") not in HERE:
            monkeypatch.setenv("DPCORE_DATA", OFFICIAL)
        return at_home(f"{PAGES[page].section.lower()}/{page}", **query)

    return open_it


def own(page: str, dataset: str | None = None) -> list[str]:
    """A page's own parameters; with a data set, without those that belong to another."""
    found = [name for name, one in parameters().items() if one.page == page]
    if dataset is None:
        return found
    return [name for name in found if not name.endswith(tuple(set(NUMERIC) - {dataset}))]


def ends(name: str, dataset: str) -> tuple[list[str], ...]:
    """The smallest and the largest value of a control, as an address spells them."""
    parameter = parameters()[name]
    if name == "components":
        return ["1"], [str(LARGEST_K[dataset])]
    if name == "intermediate":
        return ["1"], [str(CATALOG[dataset].n_features)]
    if isinstance(parameter, Number):
        return parameter.spelled(parameter.low), parameter.spelled(parameter.high)
    if isinstance(parameter, Switch):
        return (["true"],)
    if not isinstance(parameter, OneOf):
        return ()
    if parameter.several:
        return [""], [parameter.label(option) for option in parameter.offers]
    return tuple([parameter.label(parameter.offers[end])] for end in (0, -1))


def settings_of(page: str, dataset: str) -> list[dict[str, list[str]]]:
    """One control at an end, the others at their defaults; the advanced ones move together."""
    shown = set(PAGES[page].controls)
    moved = [name for name in DECLARED if name in shown and name != "dataset"]
    if "draws" in shown:
        moved.append("repetitions")
    found = [
        {name: end} | DRAWN_UNDER.get(name, {})
        for name in moved + own(page, dataset)
        for end in ends(name, dataset)
    ]
    if "advanced" in shown:
        found += [
            {name: sides[side] for name in ADVANCED for sides in [ends(name, dataset)]}
            for side in (0, -1)
        ]
    return found


# With the digits each page is opened below, for each of its controls.
@pytest.mark.parametrize("page", [page for page in PAGES if "dataset" in PAGES[page].controls])
@pytest.mark.parametrize("dataset", TRIED[1:])
def test_every_page_opens_with_every_data_set(open_place, page, dataset):
    assert_whole(open_place(page, dataset=dataset, **FEW))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("dataset", TRIED if EVERYTHING else ["digits"])
def test_every_control_at_its_ends(open_place, page, dataset):
    for setting in settings_of(page, dataset):
        few = {} if "people" in setting else {"people": "50"}
        at = open_place(page, dataset=dataset, **ONE_DRAW | few | setting)
        assert_whole(at)
        leave()


@pytest.mark.parametrize(
    ("page", "setting"),
    [
        ("eigen_images", {"dataset": "synthetic-2012"}),
        ("eigen_images", {"dataset": "digits", "components": "1"}),
        ("eigen_images", {"dataset": "synthetic-2012", "components": "1"}),
        ("eigen_images", {"dataset": "synthetic-2012", "epsilons": "∞"}),
        ("eigen_images", {"dataset": "synthetic-2012", "method": "CAPE"}),
        ("sampler", {"dataset": "digits", "components": "64"}),
        ("sampler", {"dataset": "synthetic-2012", "components": "10"}),
    ],
)
def test_ordinary_settings_that_once_broke_a_page(open_place, page, setting):
    assert_whole(open_place(page, **setting))


def test_as_many_exact_pictures_as_private_ones(open_place):
    """There were ten exact ones beside whatever K, smaller than the private ones and not above
    theirs."""
    at = open_place("eigen_images", components="6", epsilons="2", repetitions="1")
    (strips,) = (each.proto.body for each in at.get("html") if "<figure" in each.proto.body)
    assert [strip.count("<span>") for strip in strips.split("</figure>")] == [6, 6, 0]


@pytest.mark.parametrize("page", PAGES)
def test_the_table_says_what_the_controls_offer(open_place, page):
    """Controls that a page draws by itself agree with the table that reads the address, and it
    knows them all: what it does not know would be called unknown."""
    at = open_place(page, **ONE_DRAW)
    for name in own(page) + [name for name in DEFAULTS if name != "people"]:
        drawn = next(iter(_drawn(at, name)), None)
        if drawn is None:
            continue
        parameter = parameters()[name]
        if isinstance(parameter, OneOf):
            labels = [parameter.label(option) for option in parameter.offers]
            # Data with few people offer fewer numbers of them.
            assert list(drawn.options) == [one for one in labels if one in drawn.options], name
            assert parameter.spelled(at.session_state[name])
        elif isinstance(parameter, Number):
            assert drawn.min == parameter.low, name
            assert drawn.max <= parameter.high, name
    for element in _bound(at):
        assert element.key in parameters(), element.key
        assert parameters()[element.key].page in ("", page), element.key


def _drawn(at, name: str) -> list:
    return [element for element in _widgets(at) if element.key == name]


def _widgets(at) -> list:
    kinds = ("selectbox", "multiselect", "select_slider", "slider", "number_input", "text_input",
             "toggle", "button_group", "pills", "segmented_control")  # fmt: skip
    return [element for kind in kinds for element in at.get(kind)]


def _bound(at) -> list:
    return [each for each in _widgets(at) if getattr(each.proto, "query_param_key", "")]


def test_few_people_is_a_choice_of_the_people_control():
    assert FEW["people"] in [str(option) for option in parameters()["people"].offers]
    assert EVERYBODY == "all"
