"""The guard and an aggregator that is not trusted."""

from __future__ import annotations

import json
import math
import os
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parties import NAMES
from scipy import stats

import dpcore.federated.guard
from dpcore.errors import ParameterError
from dpcore.federated.guard import AttemptConflict, Guard, RequestRefused, peers_from
from dpcore.federated.masks import sum_of_masked
from dpcore.federated.messages import (
    MOMENT,
    PLOT_UNIT,
    SCORES,
    SUM,
    VOTES,
    MessageError,
    Request,
    request_from,
    values_from,
)
from dpcore.federated.plan import FederatedPlan
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.integer_rows import GRID, LENGTH
from dpcore.release.project import Project
from dpcore.release.scales import VOTE


def requests(agreed, guards, round_=SUM, attempt=1, **changes) -> Request:
    keys = {site: guard.greeting.public_key for site, guard in guards.items()}
    return replace(Request(agreed.digest, attempt, round_, NAMES, keys), **changes)


@pytest.fixture
def guards(plan_with, guard_of):
    return {site: guard_of(plan_with(), site) for site in NAMES}


def test_a_repeated_request_returns_the_same_bytes_and_one_charge(plan_with, guards):
    guard, request = guards["one"], requests(plan_with(), guards)
    first = guard.answer(request.json())
    assert guard.answer(request.json()) == first
    (charged,) = guard.project.releases()
    assert charged.epsilon == 1.0 and charged.name == plan_with().charge_name(1)
    assert [line["bytes"] for line in guard.log()] == [len(first)] * 2


def test_a_new_attempt_is_drawn_and_charged_anew_until_the_cap(plan_with, guards):
    guard, plan = guards["one"], plan_with()
    answers = [guard.answer(requests(plan, guards, attempt=n).json()) for n in (1, 2, 3, 4)]
    assert len(set(answers)) == 4
    before = guard.project.total().share
    assert 0.0 < before <= 1.0
    for attempt in range(5, 12):
        try:
            guard.answer(requests(plan, guards, attempt=attempt).json())
        except RequestRefused as refused:
            assert "cap" in str(refused)
            break
    else:
        pytest.fail("the cap was never reached")
    assert before < guard.project.total().share <= 1.0


def test_another_roster_under_an_answered_name_is_refused(plan_with, guards):
    guard, plan = guards["one"], plan_with()
    guard.answer(requests(plan, guards).json())
    fewer = requests(plan, guards, roster=NAMES[:3])
    fewer = replace(fewer, public_keys={site: fewer.public_keys[site] for site in NAMES[:3]})
    with pytest.raises(AttemptConflict, match="answered another request"):
        guard.answer(fewer.json())
    moment = replace(fewer, round="moment", centre=(0, 0, 0, 0))
    with pytest.raises(RequestRefused, match="another roster"):
        guard.answer(moment.json())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"plan": "0" * 64}, "another plan"),
        ({"round": "rows"}, "a round"),
        ({"attempt": 0}, "attempt"),
        ({"attempt": 1.5}, "attempt"),
        ({"roster": NAMES[:2]}, "fewer than"),
        ({"roster": NAMES[::-1]}, "another order"),
        ({"roster": (*NAMES, "five")}, "other sites"),
        ({"public_keys": {}}, "public keys"),
        ({"public_keys": dict.fromkeys(NAMES, "x" * 64)}, "hexadecimal"),
        ({"public_keys": dict.fromkeys(NAMES, "ab" * 32)}, "another public key"),
        ({"centre": (1, 2, 3, 4)}, "centre"),
        ({"round": "moment", "centre": (0, 0, 0, GRID + 1)}, "centre"),
        ({"round": "moment", "centre": (0, 0, 0, 0)}, "before the sum"),
        ({"round": "votes", "n_rows": 5}, "before the sum"),
        ({"round": "votes"}, "number of rows"),
        ({"n_rows": 5}, "number of rows"),
        ({"of_differences": True}, "differences"),
        ({"round": "moment", "centre": (0, 0, 0, 0), "of_differences": True}, "a centre"),
    ],
)
def test_requests_outside_the_plan_are_refused_and_free(plan_with, guards, changes, said):
    with pytest.raises(RequestRefused, match=said):
        guards["one"].answer(requests(plan_with(), guards, **changes).json())
    assert not guards["one"].project.releases()
    assert guards["one"].log()[-1]["refusal"]


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.one_of(st.binary(max_size=200), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["form", "plan", "attempt", "round", "roster", "public_keys", "centre"]),
        inner, max_size=7), max_leaves=12)))  # fmt: skip
def test_arbitrary_bytes_are_refused(plan_with, junk):
    raw = junk if isinstance(junk, bytes) else json.dumps(junk).encode()
    with pytest.raises(MessageError):
        request_from(raw, plan_with())


def test_a_field_of_another_type_is_refused(plan_with, guards):
    """A request with one field of another type is refused in one sentence."""
    content = json.loads(requests(plan_with(), guards).json())
    others = [None, True, -1, 10**400, 1e308, math.nan, "", "x" * 5000, [], [[]], {}, {"a": 1}]
    for field in content:
        for other in others:
            if other == content[field]:
                continue
            with pytest.raises(RequestRefused):
                guards["one"].answer(json.dumps(content | {field: other}).encode())
    assert not guards["one"].project.releases()


def test_a_known_key_is_not_replaced(plan_with, guards, guard_of):
    known = {"two": guards["two"].greeting.public_key}
    guard = guard_of(plan_with(), "one", peers=known)
    forged = requests(plan_with(), guards | {"one": guard, "two": guards["three"]})
    with pytest.raises(RequestRefused, match="public key for two"):
        guard.answer(forged.json())


def test_an_attempt_interrupted_after_its_charge_is_drawn_and_charged_once(
    plan_with, guards, monkeypatch
):
    guard, request = guards["one"], requests(plan_with(), guards)

    def killed(*_):
        raise OSError("no space left on device")

    with monkeypatch.context() as before:
        before.setattr(Project, "publish", killed)
        with pytest.raises(RequestRefused, match="^one cannot answer; its own log says why$"):
            guard.answer(request.json())
    assert "no space" in guard.log()[-1]["refusal"]
    assert len(guard.project.releases()) == 1
    guard.answer(request.json())
    assert len(guard.project.releases()) == 1


@pytest.mark.parametrize("lost", [SUM, MOMENT])
def test_a_lost_answer_is_not_drawn_again(plan_with, guards, lost):
    """One charge pays for one answer, also after its folder was removed."""
    guard, plan = guards["one"], plan_with()
    request = requests(plan, guards)
    first = guard.answer(request.json())
    if lost == MOMENT:
        request = replace(request, round=MOMENT, centre=(0,) * 4)
        first = guard.answer(request.json())
    left = {first}
    for _ in range(20):
        shutil.rmtree(guard.project.path_of(f"trial-1-{lost}"), ignore_errors=True)
        try:
            left.add(guard.answer(request.json()))
        except RequestRefused as refused:
            assert f"the folder trial-1-{lost} of releases from a copy" in str(refused)
            assert "start a new attempt, which is charged" in str(refused)
    assert left == {first} and len(guard.project.releases()) == 1
    moment = replace(request, round=MOMENT, centre=(0,) * 4)
    with pytest.raises(RequestRefused, match=f"the folder trial-1-{lost} of releases from a copy"):
        guard.answer(moment.json())


@pytest.mark.parametrize("damage", ["message.bin", "request.json"])
def test_a_damaged_answer_is_refused(plan_with, guards, damage):
    guard, request = guards["one"], requests(plan_with(), guards)
    guard.answer(request.json())
    path = guard.project.path_of("trial-1-sum") / damage
    path.write_bytes(b"")
    with pytest.raises(RequestRefused, match="trial-1-sum|another request"):
        guard.answer(request.json())
    path.unlink()
    with pytest.raises(RequestRefused, match="the folder trial-1-sum of releases from a copy"):
        guard.answer(request.json())


def test_an_answer_is_in_the_ledger_before_it_leaves(plan_with, guards, monkeypatch):
    """A stored answer without a hash in the ledger has not left, and is reused."""
    guard, request = guards["one"], requests(plan_with(), guards)

    def killed(*_):
        raise OSError("killed")

    with monkeypatch.context() as before:
        before.setattr(Project, "seal", killed)
        with pytest.raises(RequestRefused):
            guard.answer(request.json())
    stored = (guard.project.path_of("trial-1-sum") / "message.bin").read_bytes()
    others = {"trial-1-votes": "", "trial-1-moment": ""}
    assert guard.project.answers() == {"trial-1-sum": ""} | others
    assert guard.answer(request.json()) == stored
    sealed = sha256(stored).hexdigest()
    assert guard.project.answers() == {"trial-1-sum": sealed} | others
    with pytest.raises(ParameterError, match="the one that was recorded"):
        guard.project.seal("trial-1-sum", "ab" * 32)


def test_an_answer_is_synced_with_its_folders(plan_with, guards, monkeypatch):
    """Files, their folder and the parent folder are synced in this order."""
    synced, fsync = [], os.fsync

    def watched(descriptor):
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    guards["one"].answer(requests(plan_with(), guards).json())
    assert synced == ["message.bin", "request.json", ".trial-1-sum.partial", "releases"]


@pytest.mark.parametrize("protocol", ["securesum", "full"])
def test_messages_carry_the_noise_that_was_charged(tmp_path, protocol, false_alarm):
    """The sum of the messages of sites without rows has the noise of all sites, by a KS test."""
    names = [f"c{number}" for number in range(300)]
    columns = tuple(Column(name, -1, 1) for name in names)
    plan = FederatedPlan("wide", Dictionary(columns), NAMES, 1.0, 1e-6, 2, protocol=protocol)
    row = dict.fromkeys(names, np.zeros(1))
    guards = {site: Guard(plan, site, row, Project(tmp_path / site, (2.0, 1e-5))) for site in NAMES}
    request, scales = requests(plan, guards), plan.scales
    total = sum_over_sites(plan, guards, request)
    assert stats.kstest(total[:-1] / (2 * scales.sum_sigma), "norm").pvalue > false_alarm
    centred = replace(request, round=MOMENT, centre=(0,) * 300)
    upper = np.zeros((300, 300))
    upper[np.triu_indices(300)] = sum_over_sites(plan, guards, centred)
    above = upper[np.triu_indices(300, 1)] / (2 * scales.moment_sigma)
    assert stats.kstest(above, "norm").pvalue > false_alarm
    diagonal = np.diag(upper) / (2 * scales.diagonal_sigma)
    assert stats.kstest(diagonal, "norm").pvalue > false_alarm


def test_votes_and_differences_carry_the_noise_that_was_charged(plan_with, guards, monkeypatch):
    """Sums, votes and moment together use the mu of one site, whatever a request asks for."""
    plan, guard, drawn = plan_with(), guards["one"], []
    for name in ("noisy_sum", "noisy_second_moment"):
        draw = getattr(dpcore.federated.guard, name)
        monkeypatch.setattr(
            f"dpcore.federated.guard.{name}",
            lambda exact, sigma, draw=draw: drawn.append(sigma) or draw(exact, sigma),
        )
    request = requests(plan, guards)
    for refused in (
        request,
        replace(request, round=VOTES, n_rows=220),
        replace(request, round=MOMENT, of_differences=True),
    ):
        guard.answer(refused.json())
    of_sum, of_votes, of_moment = drawn
    root_2, length = math.sqrt(2), math.sqrt(plan.scales.squared_norm)
    parts = (2 * length / of_sum, 2 * root_2 * VOTE / of_votes, 2 * LENGTH**2 / of_moment)
    assert math.hypot(*parts) == pytest.approx(plan.scales.mu)
    assert len(guard.project.releases()) == 1
    # The centre of one attempt cannot be chosen again.
    other = replace(request, round=MOMENT, centre=(0,) * 4)
    with pytest.raises(AttemptConflict):
        guard.answer(other.json())


def test_scores_carry_the_noise_that_was_charged(plan_with, guard_of, monkeypatch):
    plan, drawn = plan_with(scores_share=0.3), []
    guards = {site: guard_of(plan, site) for site in NAMES}
    request = requests(plan, guards)
    guards["one"].answer(request.json())
    draw = dpcore.federated.guard.noisy_sum
    monkeypatch.setattr(
        "dpcore.federated.guard.noisy_sum",
        lambda exact, sigma: drawn.append((exact.sum(), sigma)) or draw(exact, sigma),
    )
    plot = (PLOT_UNIT, 0, 0, 0, 0, PLOT_UNIT, 0, 0, PLOT_UNIT, PLOT_UNIT)
    scores = replace(request, round=SCORES, centre=(0,) * 4, plot=plot)
    guards["one"].answer(scores.json())
    assert drawn == [(40 * VOTE, plan.score_sigma)]
    for wrong in ((), plot[:-1], (*plot[:-1], 0), (*plot[:-1], 2 * PLOT_UNIT)):
        with pytest.raises(RequestRefused, match="a score plot"):
            guards["one"].answer(replace(scores, attempt=2, plot=wrong).json())
    other = plan_with()
    with pytest.raises(MessageError, match="a round"):
        request_from(replace(scores, plan=other.digest).json(), other)


def test_a_plan_without_votes_refuses_them(plan_with, guard_of):
    plan = plan_with(preparation="bounded")
    guards = {site: guard_of(plan, site) for site in NAMES}
    for changes in ({"round": VOTES, "n_rows": 5}, {"round": MOMENT, "of_differences": True}):
        with pytest.raises(RequestRefused, match="a round|differences"):
            guards["one"].answer(requests(plan, guards, **changes).json())


def sum_over_sites(plan, guards, request):
    raw = {site: guard.answer(request.json()) for site, guard in guards.items()}
    return sum_of_masked([values_from(raw[site], plan, request, site) for site in NAMES])


def test_rows_never_leave(plan_with, sites_of, rows, tmp_path):
    """A marked value is in no byte that leaves, nor in the project folders."""
    marked = 0.123456789
    rows["one"][:] = marked
    sites_of(plan_with()).run()
    marks = (np.float64(marked).tobytes(), np.int64(round(marked * GRID)).tobytes(), b"0.12345")
    for path in tmp_path.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(mark in content for mark in marks), path


def test_peers_are_public_keys_of_the_sites(plan_with, tmp_path):
    path = tmp_path / "peers.json"
    path.write_text(json.dumps({"two": "ab" * 32}))
    assert peers_from(path, plan_with()) == {"two": "ab" * 32}
    for wrong in ("{", "[]", '{"two": 1}', '{"two": "ab"}', json.dumps({"nine": "ab" * 32})):
        path.write_text(wrong)
        with pytest.raises(ParameterError, match="peers"):
            peers_from(path, plan_with())


def test_another_plan_of_the_same_name_is_refused(plan_with, guard_of):
    guard_of(plan_with(epsilon=0.5), "one")
    with pytest.raises(ParameterError, match="name must be of one plan per project"):
        guard_of(plan_with(), "one")
    assert guard_of(plan_with(epsilon=0.5), "one").log() == []


@pytest.mark.parametrize("name", ["trial-1", "Trial-1"])
def test_a_release_with_the_name_of_an_attempt_does_not_pay_for_it(plan_with, guards, name):
    """The project already has a release with the name of an attempt."""
    guard, request = guards["one"], requests(plan_with(), guards)
    small = type("Costs", (), {"mu": 0.01, "distance": 0.0})
    guard.project.charge(name, small, 0.01, 1e-6)
    guard.answer(request.json())
    assert guard.project.total().mu > plan_with().worst_mu


def test_a_refusal_contains_neither_rows_nor_paths(plan_with, guards, monkeypatch):
    guard, request = guards["one"], requests(plan_with(), guards)
    for met in (OSError(2, "no such file", "/home/ada/positive.csv"), ValueError("41.5 is no age"),
                ParameterError("data", "a table with rows", "none")):  # fmt: skip
        with monkeypatch.context() as now:
            now.setattr("dpcore.federated.guard.sum_and_count", raising(met))
            with pytest.raises(RequestRefused, match="^one cannot answer; its own log says why$"):
                guard.answer(request.json())
        assert guard.log()[-1]["refusal"] == str(met)


def raising(error):
    def raises(*_):
        raise error

    return raises
