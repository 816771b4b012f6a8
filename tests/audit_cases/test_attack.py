"""An attack in slices equals an attack in one run, and the command reports it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dpcore.audit_cases.attack import (
    CaseAttack,
    attackers,
    named_cases,
    verdict,
)
from dpcore.command_line import main
from dpcore.errors import ParameterError
from dpcore.privacy import Adversary

SOUND, FLAWED, LEARNT = (
    "second-moment-analytic-isometric",
    "published-noise-requested-epsilon-10",
    "lower-triangle-without-noise",
)


def attack(name: str, **options) -> CaseAttack:
    return CaseAttack(named_cases()[name], **options)


@pytest.mark.parametrize("name", [SOUND, LEARNT])
def test_slices_add_up_to_the_whole(name):
    sliced, whole = attack(name, n_trials=2_000), attack(name, n_trials=2_000)
    seen = []
    while not sliced.finished:
        sliced.advance()
        seen.append(sliced.n_done)
        sliced.growth()
    assert seen == sorted(seen)
    assert seen[-1] == 2_000
    assert sliced.growth()[-1].row() == whole.run().row()


def test_the_bound_grows_towards_the_guarantee():
    running = attack(SOUND)
    result = running.run()
    growth = running.growth()
    assert [r.n_trials for r in growth] == sorted({r.n_trials for r in growth})
    assert growth[0].epsilon < result.epsilon <= result.case.epsilon
    assert "below the claim" in verdict(result)


def test_pictures_of_the_scores_are_shares():
    running = attack(FLAWED, n_trials=1_000)
    running.run()
    columns = running.histogram()
    for name in ("with_you", "without_you"):
        assert columns[name].sum() == pytest.approx(1.0)
    type_one, type_two = running.errors_at(running.threshold())
    d, d_prime = running.scores()
    best = min(np.mean(d_prime > t) + np.mean(d <= t) for t in np.concatenate((d, d_prime)))
    assert type_one + type_two == pytest.approx(best)


def test_scores_that_never_vary_still_have_a_histogram():
    running = attack(LEARNT, n_trials=400)
    running.run()
    assert np.isfinite(running.histogram()["width"]).all()


@pytest.mark.parametrize("options", [{"n_trials": 10}, {"confidence": 1.0}, {"confidence": 0.2}])
def test_options_out_of_range_are_named(options):
    with pytest.raises(ParameterError):
        attack(SOUND, **options)


def test_the_command_prints_one_document(capsys):
    assert main(["audit", "--mechanism", FLAWED, "--trials", "2000", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (row,) = document["rows"]
    assert row["name"] == FLAWED
    assert row["breaks_claim"]
    assert row["epsilon_lower_bound"] > row["claimed_epsilon"] == 10


def test_the_command_prints_a_table_of_all_that_begin_alike(capsys):
    assert main(["audit", "--mechanism", "second-moment-analytic", "--trials", "400"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(line.endswith("holds") for line in lines[1:])


def test_an_unknown_mechanism_is_one_sentence(capsys):
    assert main(["audit", "--mechanism", "no-such"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dpcore: mechanism must be")
    assert "audit --list" in captured.err
    assert captured.err.count("\n") == 1


def test_the_list_names_every_mechanism_or_those_of_a_family(capsys):
    assert main(["audit", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(named_cases())
    assert main(["audit", "--list", "--mechanism", "central-pca", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["family"] for row in rows} == {"Central PCA"}
    assert {"sulq", "mod-sulq", "analyze-gauss"} <= {row["name"] for row in rows}


@pytest.mark.parametrize("name", ["dpdispca", "svm-output"])
def test_a_complete_name_selects_one_mechanism(name, capsys):
    """Other names begin with the same letters."""
    assert main(["audit", "--list", "--json", "--mechanism", name]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["name"] == name


def test_a_mechanism_has_a_case_for_each_of_its_adversaries():
    cases = attackers("dpdispca")
    assert list(cases) == [Adversary.OUTSIDER, Adversary.AGGREGATOR, Adversary.SITE]
    assert all(case.adversary is adversary for adversary, case in cases.items())
    assert cases[Adversary.SITE] is named_cases()["dpdispca-site"]
    assert list(attackers("one-seed-for-all-sites")) == [Adversary.AGGREGATOR]


def test_the_command_attacks_as_one_adversary(capsys):
    arguments = ["audit", "--mechanism", "dpdispca", "--adversary", "site", "--trials", "400"]
    assert main(arguments) == 0
    heading, line = capsys.readouterr().out.splitlines()
    for column in ("mechanism", "adversary", "centring", "claims ε", "found ≥", "trials"):
        assert column in heading
    assert line.split()[:2] == ["dpdispca-site", "site"]
    assert main([*arguments, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["adversary"], row["centring"]) == ("site", "none")
    assert row["bound"] in ("exact", "nominal")
    assert "noise" in row["sees"]


def test_a_nominal_breach_is_pointed_to_and_not_proved():
    """The claim is 0.91 of the truth, between the two bounds (`test_audit` has the deviations)."""
    case = named_cases()[SOUND]
    claim = replace(case, epsilon=0.91 * case.epsilon)
    result = CaseAttack(claim, n_trials=10_000, confidence=0.95).run()
    assert "points to" in verdict(result) and "proves only" in verdict(result)
    assert "nominally" in verdict(result)
