"""A protocol is one function and one entry: every consumer knows every key, including a new one."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpcore.audit_cases.attack import audit_cases, named_cases
from dpcore.command_line import main
from dpcore.data import list_datasets
from dpcore.errors import ParameterError
from dpcore.experiments.engine.charge_keys import compute_charges
from dpcore.experiments.engine.grid import Sweep, cost_of_spec
from dpcore.experiments.engine.spec import charges_of
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.pca import RunSpec, check_feasible, draw_subspaces, run
from dpcore.experiments.pca.problem import local_problem
from dpcore.figures.energy import energy_curves, protocol_dots
from dpcore.figures.style import look_of
from dpcore.pca import DistributedPCA
from dpcore.pca.protocols.protocol import Kind, Protocol, Where
from dpcore.pca.protocols.register import PROTOCOLS, protocol, register
from dpcore.privacy import Accountant, Adversary
from pages import sidebar
from tests.pages.opening import open_page_at

(DIGITS,) = (status for status in list_datasets() if status.name == "digits")
GUIDE = Path(__file__).parents[1] / "docs" / "adding-a-protocol.md"
NEW = "average-projections"
SPEC = RunSpec(sites=3, components=2, repetitions=2, delta=1e-3)


def protocol_of_guide(folder: Path) -> Protocol:
    """Import the example of the guide as a file, as the package imports its protocols."""
    (code,) = re.findall(
        r"^```py\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    path = folder / "average_projections.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return protocol(NEW)


@pytest.fixture
def new(tmp_path_factory) -> Iterator[Protocol]:
    """Register the protocol of the guide after all other imports."""
    if NEW in PROTOCOLS:  # in a tree where the guide was followed
        yield protocol(NEW)
        return
    try:
        yield protocol_of_guide(tmp_path_factory.mktemp("guide"))
    finally:
        del PROTOCOLS[NEW]


@pytest.fixture(params=dict.fromkeys([*PROTOCOLS, NEW]))
def entry(request) -> Protocol:
    if request.param == NEW:
        request.getfixturevalue("new")
    return protocol(request.param)


def test_a_run_comes_with_the_guarantee_and_is_charged_for_it(entry):
    spec = replace(SPEC, protocols=(entry.key,))
    subspace = draw_subspaces([spec], local_problem(spec.problem_key()), 0)[0][entry.key]
    assert subspace.components.shape == (2, 64)
    assert subspace.guarantee == spec.guarantee(entry.key, DIGITS)
    if entry.where is Where.EVERY_SITE and (entry.wants_proxies or entry.wants_average):
        # At least one float32 for each entry of two directions.
        assert (subspace.bytes_sent >= 2 * 64 * 4).all()
    # A mean takes two rounds, keys of masks one.
    assert 0 <= subspace.n_rounds <= 3 + (SPEC.sites if entry.is_chain else 1)
    charges = charges_of([spec])
    assert len(charges) == (entry.noise is not None)
    for charge in charges:
        assert charge.algorithms == (entry.title,)
        assert charge.by_sites == entry.is_distributed
        assert charge.draws == 2
    assert [c.release.identity for c in compute_charges(run(spec))] == [
        c.release.identity for c in charges
    ] or entry.key == "ppca"  # in a run of its own, its chains are another draw


def test_sweeps_take_it_keep_it_and_find_it_again(entry, tmp_path):
    sweep = Sweep(replace(SPEC, protocols=(entry.key,)), (("epsilon", (0.5, 2.0)),))
    check_feasible(sweep.base)
    assert cost_of_spec(sweep.base).rows == 2
    first = collect(sweep, store=Store(tmp_path))
    assert len(first.rows) == 4 and not first.skipped
    assert collect(sweep, store=Store(tmp_path)) == first


def test_figures_draw_it_in_a_look_of_its_own(entry):
    rows = [
        {"protocol": entry.key, "energy_ratio": 0.5, "floor": 0.1, "epsilon": epsilon}
        for epsilon in (1.0, 2.0)
    ]
    look = look_of(entry.key)
    assert look.label == entry.title
    others = [look_of(key) for key in PROTOCOLS if key != entry.key]
    assert (look.symbol, look.dash) not in [(other.symbol, other.dash) for other in others]
    assert list(protocol_dots(rows).layout.yaxis.ticktext) == [entry.title]
    (line,) = energy_curves(rows, "epsilon", axis_title="ε").data
    assert (line.name, line.marker.symbol, line.line.color) == (
        entry.title,
        look.symbol,
        look.colour,
    )


def test_the_command_line_runs_it_and_names_it(entry, capsys):
    asked = ["run", "--dataset", "digits", "--sites", "2", "--components", "2"]
    assert main([*asked, "--repetitions", "1", "--protocol", entry.key, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["protocol"] == entry.key
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    # The help breaks lines at hyphens.
    assert entry.key in "".join(capsys.readouterr().out.split())


def test_the_sidebar_offers_it_if_it_adds_noise(entry):
    assert (entry.key in sidebar.protocols()) == (entry.noise is not None)


def test_the_estimator_takes_it_where_rows_are_at_sites(entry):
    rows = np.random.default_rng(0).standard_normal((60, 6)) / 10
    pca = DistributedPCA(2, protocol=entry.key, random_state=0)
    if not entry.has_sites:
        with pytest.raises(ParameterError, match="protocol must be one of"):
            pca.fit(rows)
        return
    assert pca.fit(rows, sites=np.arange(60) % 3).components_.shape == (2, 6)


def test_every_adversary_whom_it_does_not_trust_attacks_it(entry):
    spec = replace(SPEC, protocols=(entry.key,))
    against = spec.guarantee(entry.key, DIGITS).against
    attacked_by = {case.adversary for case in audit_cases() if case.covers == f"pca.{entry.key}"}
    if entry.kind is Kind.NONE:
        assert not attacked_by
        return
    untrusted = {entry.adversary for entry in against if not entry.is_trusted}
    assert (untrusted or {Adversary.OUTSIDER}) <= attacked_by


def test_what_shares_noise_is_charged_once_and_drawn_once(new):
    spec = replace(SPEC, protocols=("full", "dpdis", "sequential", new.key))
    (charge,) = charges_of([spec])
    assert charge.algorithms == tuple(protocol(key).title for key in spec.protocols)
    alone = [charges_of([replace(spec, protocols=(key,))])[0] for key in spec.protocols]
    account = Accountant("digits")
    for adversary in alone:
        account.charge(adversary)
    assert account.n_releases == spec.repetitions


def test_a_protocol_that_is_removed_is_nowhere():
    assert NEW not in named_cases()
    assert NEW not in sidebar.protocols()
    with pytest.raises(ParameterError, match="protocol must be one of dpdis, full"):
        protocol(NEW)


@pytest.mark.parametrize("taken", [{"key": "full"}, {"title": "Full Matrices"}])
def test_names_are_taken_once(taken):
    with pytest.raises(ParameterError, match="one that no protocol has"):
        register(replace(protocol("dpdis"), **{"key": "new", "title": "New"} | taken))


def test_the_start_page_offers_and_charges_it(new, monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    at = open_page_at("", algorithm=new.key, compare=["full"], repetitions="2")
    assert not at.exception and not at.error
    assert f"More: {new.title}" in at.selectbox(key="algorithm").options
    assert at.selectbox(key="algorithm").value == new.key
    charged = at.session_state["_accountants"]["mnist-small"].charges.values()
    assert [charge.algorithms for charge in charged] == [(new.title, "Full matrices")]
