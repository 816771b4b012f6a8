"""The hub: sites that drop out, lie, come late or twice, and a hub that is killed."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from parties import NAMES, serve

from dpcore.errors import ParameterError
from dpcore.study.aggregation import centre_and_count, components
from dpcore.study.frames import FrameError, frame, values_from
from dpcore.study.hub import Hub


def result(hub):
    return np.load(hub.folder / "result.npz")


@pytest.mark.parametrize("protocol", ["securesum", "full", "dpdis"])
def test_the_result_is_the_aggregate_of_the_same_messages_bit_for_bit(plan_with, joined, protocol):
    plan = plan_with(protocol=protocol)
    hub, guards = joined(plan)
    kept = {}
    while not hub.state.has_ended:
        request = hub.request
        raw = {site: guard.answer(request.json()) for site, guard in guards.items()}
        kept[request.round] = {s: values_from(raw[s], plan, request, s) for s in NAMES}
        for site in NAMES[::-1]:  # in whatever order they come
            hub.receive(site, request.id, raw[site])
    centre, n_rows = centre_and_count(plan, kept["sum"])
    expected = components(plan, kept["moment"], centre, n_rows)
    np.testing.assert_array_equal(result(hub)["components"], expected.components)
    assert hub.state.sent_bytes.keys() == set(NAMES)


def test_with_little_noise_it_is_the_pca_of_all_rows(plan_with, joined, rows):
    for site in NAMES:
        rows[site] = np.repeat(rows[site] * np.linspace(1, 0.2, 4), 500, axis=0)
    hub, guards = joined(plan_with(epsilon=2.9, preparation="bounded"))
    serve(hub, guards)
    serve(hub, guards)
    everybody = np.concatenate([rows[site] for site in NAMES])
    _, _, exact = np.linalg.svd(everybody - everybody.mean(axis=0), full_matrices=False)
    found = result(hub)
    assert np.linalg.norm(exact[:2] @ found["components"].T) ** 2 == pytest.approx(2, abs=0.01)
    assert found["n_rows"] == pytest.approx(len(everybody), abs=100)


def test_one_that_never_answers_costs_a_new_attempt_among_the_others(plan_with, joined, clock):
    hub, guards = joined(plan_with())
    serve(hub, guards, NAMES[:3])
    clock.at += 59
    hub.tick()
    assert hub.state.attempt == 1
    clock.at += 2
    hub.tick()
    assert (hub.state.attempt, hub.state.roster) == (2, NAMES[:3])
    serve(hub, guards)
    serve(hub, guards)
    assert hub.state.phase == "done" and result(hub)["sites"].tolist() == list(NAMES[:3])
    assert [len(guard.project.releases()) for guard in guards.values()] == [2, 2, 2, 0]


@pytest.mark.parametrize("phase", ["sum", "moment"])
def test_without_masks_the_others_go_on(plan_with, joined, clock, phase):
    hub, guards = joined(plan_with(protocol="full"))
    if phase == "moment":
        serve(hub, guards)
    serve(hub, guards, NAMES[:3])
    clock.at += 61
    hub.tick()
    serve(hub, guards)
    assert hub.state.phase == "done" and hub.state.attempt == 1
    assert result(hub)["sites"].tolist() == list(NAMES[:3])


def test_too_few_end_it_in_one_sentence(plan_with, joined, clock):
    hub, guards = joined(plan_with())
    serve(hub, guards, NAMES[:2])
    clock.at += 61
    hub.tick()
    assert hub.state.phase == "failed" and "only 2 sites" in hub.state.why
    assert hub.asks("one") is None


def test_those_who_never_join_are_not_waited_for(plan_with, hub_of, guard_of, clock):
    plan = plan_with()
    hub = hub_of(plan)
    for site in NAMES[:3]:
        hub.join(site, guard_of(plan, site).public_key)
    assert hub.state.phase == "joining"
    clock.at += plan.join_seconds
    hub.tick()
    assert hub.state.roster == NAMES[:3]
    with pytest.raises(FrameError, match="after the study had begun"):
        hub.join("four", guard_of(plan, "four").public_key)


def test_a_refusal_does_not_wait_for_the_deadline(plan_with, joined):
    hub, guards = joined(plan_with())
    serve(hub, guards, NAMES[:3])
    hub.refuse("four", hub.request.id, "the cap\nis reached <b>")
    assert hub.state.attempt == 2 and "four" not in hub.state.roster
    assert any("four refuses: the cap is reached" in what for _, what in hub.state.events)


def test_lies_are_named_and_change_nothing(plan_with, joined):
    plan = plan_with(protocol="dpdis")
    hub, guards = joined(plan)
    request = hub.request
    right = guards["one"].answer(request.json())
    other = guards["two"].answer(request.json())
    wrong = [
        b"",
        right[:-1],
        right[:50] + bytes([right[50] ^ 1]) + right[51:],
        right + b"x" * 10_000,
        other,  # another site's message
        b"x" * 100,
    ]
    before = asdict(hub.state)
    for raw in wrong:
        with pytest.raises(FrameError, match="one sent"):
            hub.receive("one", request.id, raw)
    with pytest.raises(FrameError, match="not asked for"):
        hub.receive("one", "2-sum", right)
    with pytest.raises(FrameError, match="not asked for"):
        hub.receive("one", "../../etc/passwd", right)
    assert asdict(hub.state) == before
    hub.receive("one", request.id, right)
    hub.receive("one", request.id, right)  # twice
    assert hub.state.answered == ("one",)
    for site in NAMES[1:]:
        hub.receive(site, request.id, guards[site].answer(request.json()))
    directions = values_from(
        guards["one"].answer(hub.request.json()), plan, hub.request, "one"
    ).copy()
    directions[0, 0] = np.nan
    with pytest.raises(FrameError, match="not finite"):
        hub.receive("one", hub.request.id, frame(plan, hub.request, "one", directions))
    with pytest.raises(FrameError, match="not asked for"):
        hub.receive("two", "1-late", right)


@pytest.mark.parametrize("protocol", ["securesum", "dpdis"])
def test_a_hub_that_is_killed_after_every_step_goes_on(plan_with, joined, clock, protocol):
    plan = plan_with(protocol=protocol)
    hub, guards = joined(plan)
    whole = []
    while not hub.state.has_ended:
        hub = Hub(plan, hub.folder, now=clock)
        site = next(site for site in NAMES if hub.asks(site))
        request = hub.request
        hub.receive(site, request.id, guards[site].answer(request.json()))
        whole.append(site)
    assert hub.state.phase == "done" and len(whole) == 8
    assert all(len(guard.project.releases()) == 1 for guard in guards.values())


def test_a_folder_of_another_study(plan_with, hub_of):
    hub_of(plan_with())
    with pytest.raises(ParameterError, match="this very study"):
        hub_of(plan_with(epsilon=2.0))


def test_a_site_has_one_key(plan_with, joined):
    hub, guards = joined(plan_with())
    hub.join("one", guards["one"].public_key)
    with pytest.raises(FrameError, match="another public key"):
        hub.join("one", guards["two"].public_key)
    with pytest.raises(FrameError, match="does not know"):
        hub.join("five", guards["two"].public_key)
    with pytest.raises(FrameError, match="no public key"):
        hub.join("one", None)
