"""A protocol is one function and one entry: every consumer knows every key, a new one too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.audit_cases.attack import audit_cases, named_cases
from dpcore.command_line import main
from dpcore.data import list_datasets
from dpcore.errors import ParameterError
from dpcore.experiments.charge_keys import compute_charges
from dpcore.experiments.engine import charges_of
from dpcore.experiments.pca import RunSpec, check_feasible, draw_subspaces, run
from dpcore.experiments.problem import local_problem
from dpcore.experiments.store import Store
from dpcore.experiments.sweep import Sweep, collect, cost_of_spec
from dpcore.figures.energy import energy_curves, protocol_dots
from dpcore.figures.style import look_of
from dpcore.pca import DistributedPCA, Draw, Subspace
from dpcore.pca.protocols.distributed import first_noisy_mean, promised_by_sites
from dpcore.pca.protocols.protocol import EVERY_SITE, Kind, Neighbours, Protocol, Where
from dpcore.pca.protocols.register import PROTOCOLS, SITES_MOMENTS, protocol, register
from dpcore.privacy import Accountant, Adversary
from pages import controls

APP = Path(__file__).parents[1] / "app.py"
(DIGITS,) = (status for status in list_datasets() if status.name == "digits")
SPEC = RunSpec(sites=3, components=2, repetitions=2, delta=1e-3)


def by_value(draw: Draw) -> Subspace:
    """Leading directions, by value, of the noisy average that "full" reads."""
    received = draw.whole_matrices()
    eigenvalues, components = received.average.leading(draw.settings.n_components, by="value")
    return Subspace(
        components,
        eigenvalues,
        promised_by_sites(draw.settings, draw.moments.n_samples.tolist(), draw.moments.n_features),
        sigma=draw.sigma,
        bytes_sent=np.array(received.n_bytes),
    )


MADE_UP = Protocol(
    "made-up",
    "Made up",
    "Whole matrices, ranked by value.",
    by_value,
    promised_by_sites,
    Kind.APPROXIMATE,
    Where.EVERY_SITE,
    SITES_MOMENTS,
    wants_average=True,
    neighbours=Neighbours(noisy_mean=first_noisy_mean),
)


@pytest.fixture
def made_up() -> Iterator[Protocol]:
    """Registered while everything else has long been imported, and gone afterwards."""
    try:
        yield register(MADE_UP)
    finally:
        del PROTOCOLS[MADE_UP.key]


@pytest.fixture(params=[*PROTOCOLS, MADE_UP.key])
def entry(request) -> Protocol:
    if request.param == MADE_UP.key:
        request.getfixturevalue("made_up")
    return protocol(request.param)


def test_a_run_comes_with_the_promise_and_is_charged_for_it(entry):
    spec = replace(SPEC, protocols=(entry.key,))
    found = draw_subspaces([spec], local_problem(spec.problem_key()), 0)[0][entry.key]
    assert found.components.shape == (2, 64)
    assert found.guarantee == spec.promise(entry.key, DIGITS)
    charges = charges_of([spec])
    assert len(charges) == (entry.noise is not None)
    for charge in charges:
        assert charge.seen == (entry.title,)
        assert charge.by_sites == entry.is_distributed
        assert charge.draws == 2
    assert [c.release.identity for c in compute_charges(run(spec))] == [
        c.release.identity for c in charges
    ] or entry.key == "ppca"  # run alone, its chains are another draw


def test_sweeps_take_it_keep_it_and_find_it_again(entry, tmp_path):
    sweep = Sweep(replace(SPEC, protocols=(entry.key,)), (("epsilon", (0.5, 2.0)),))
    check_feasible(sweep.base)
    assert cost_of_spec(sweep.base).rows == 2
    first = collect(sweep, store=Store(tmp_path))
    assert len(first.rows) == 4 and not first.skipped
    assert collect(sweep, store=Store(tmp_path)) == first


def test_figures_draw_it_in_a_look_of_its_own(entry):
    rows = [
        {"protocol": entry.key, "energy_ratio": 0.5, "random_ratio": 0.1, "epsilon": epsilon}
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
    assert entry.key in " ".join(capsys.readouterr().out.split())


def test_the_sidebar_offers_it_where_rows_are_at_sites(entry):
    assert (entry.key in controls.protocols()) == entry.has_sites


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
    against = spec.promise(entry.key, DIGITS).against
    attacked_by = {case.adversary for case in audit_cases() if case.covers == f"pca.{entry.key}"}
    if entry.kind is Kind.NONE:
        assert not attacked_by
        return
    untrusted = {each.adversary for each in against if not each.is_trusted}
    assert (untrusted or {Adversary.OUTSIDER}) <= attacked_by


def test_what_shares_noise_is_charged_once_and_drawn_once(made_up):
    spec = replace(SPEC, protocols=("full", "dpdis", "sequential", made_up.key))
    (charge,) = charges_of([spec])
    assert charge.seen == tuple(protocol(key).title for key in spec.protocols)
    alone = [charges_of([replace(spec, protocols=(key,))])[0] for key in spec.protocols]
    account = Accountant("digits")
    for each in alone:
        account.charge(each)
    assert account.n_releases == spec.repetitions
    # One seed is one release for the estimator too: by value, both read the same matrix.
    rows = np.random.default_rng(0).standard_normal((600, 6)) / 10
    ours, theirs = (
        DistributedPCA(6, protocol=key, random_state=0, truncation="svd").fit(
            rows, sites=np.arange(600) % 3
        )
        for key in (made_up.key, "full")
    )
    np.testing.assert_allclose(np.sort(ours.eigenvalues_), np.sort(theirs.eigenvalues_))


def test_what_is_registered_anew_is_audited_as_long_as_it_is_there(made_up):
    assert {"made-up", "made-up-aggregator", "made-up-site"} <= set(named_cases())
    (case,) = (c for name, c in named_cases().items() if name == "made-up-site")
    assert case.guarantee.noise_added_by == EVERY_SITE.noise_added_by


def test_nothing_is_left_of_what_is_gone():
    assert "made-up" not in named_cases()
    assert "made-up" not in controls.protocols()
    with pytest.raises(ParameterError, match="protocol must be one of dpdis, full"):
        protocol("made-up")


@pytest.mark.parametrize("taken", [{"key": "full"}, {"title": "Full Matrices"}])
def test_names_are_taken_once(taken):
    with pytest.raises(ParameterError, match="one that no protocol has"):
        register(replace(MADE_UP, **taken))


def test_play_shows_it(made_up, monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    at = AppTest.from_file(APP, default_timeout=180)
    at.query_params["protocols"] = [made_up.title, "Full matrices"]
    at.query_params["repetitions"] = "2"
    at.run()
    assert not at.exception and not at.error
    (pills,) = (each for each in at.button_group if each.key == "protocols")
    assert made_up.title in pills.options
    assert any(
        f"{made_up.title}, 5 sites of" in str(part.proto) for part in at.get("bidi_component")
    )
    charged = at.session_state["_spent"]["mnist-small"].charges.values()
    assert [charge.seen for charge in charged] == [(made_up.title, "Full matrices")]
