"""The hub: sites that drop out, lie, come late or twice, and a hub that is killed."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from parties import NAMES, serve

from dpcore.cca.canonical import canonical_pairs, noise_floor
from dpcore.errors import ParameterError
from dpcore.federated.hub import Hub, count_in_words, count_sigma
from dpcore.federated.plan import PROTOCOLS
from dpcore.federated.rehearsal import summary
from dpcore.federated.wire_messages import FrameError, frame, most_possible, values_from
from dpcore.pca import aggregate
from dpcore.pca.assessment import bases_worth
from dpcore.pca.protocols.sequential import join
from dpcore.pca.site import NoisySite, SiteMessage
from dpcore.privacy import Adversary, composed_mu, gaussian_epsilon
from dpcore.privacy.accountant import odometer_epsilon
from dpcore.privacy.label import SCHEMA
from dpcore.release.certificate import READER_ALONE
from dpcore.release.integer_moments import MOST_ROWS
from dpcore.release.integer_rows import GRID, LENGTH
from dpcore.spectra import Spectrum


def result(hub):
    return np.load(hub.folder / "result.npz")


def kept_messages(hub, guards):
    """The moments of a study that goes through, as numbers, from the sites in whatever order."""
    kept = {}
    while not hub.state.has_ended:
        site = next(site for site in NAMES[::-1] if hub.asks(site))
        request = hub.asks(site)
        raw = guards[site].answer(request.json())
        kept[site] = values_from(raw, hub.plan, request, site)
        hub.receive(site, request.id, raw)
    assert hub.state.sent_bytes.keys() == set(NAMES)
    return [kept[site] for site in NAMES]


def square(upper):
    moment = np.zeros((4, 4))
    moment[np.triu_indices(4)] = upper / LENGTH**2
    return moment + np.triu(moment, 1).T


def modulo(received):
    """The sum between -2^63 and 2^63, by whole numbers of any length."""
    total = sum(each.astype(object) for each in received)
    return ((total + 2**63) % 2**64 - 2**63).astype(float)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_result_is_the_laboratory_s_of_the_same_messages(plan_with, joined, protocol):
    """Bit for bit, by its aggregator: weights of four sites are powers of two."""
    plan = plan_with(protocol=protocol, intermediate_dim=3)
    hub, guards = joined(plan)
    received = kept_messages(hub, guards)
    if plan.is_masked:
        received = [modulo(received)]
    if plan.is_cut:
        messages = [SiteMessage(each, 1, 0.0) for each in received[-1 if plan.is_chain else 0 :]]
    else:
        messages = [SiteMessage(square(each), 1, 0.0, whole=True) for each in received]
    if plan.is_cut:
        _, found = aggregate(messages, 2, ranking="value")
    else:
        noisy = sum(each.values for each in messages)
        sigma = 2 * plan.scales.diagonal_sigma / LENGTH**2
        spectrum = Spectrum(noisy)
        bases = bases_worth(spectrum, 2, sigma=sigma, bases=plan.bases)
        found = spectrum.denoised(sigma, bases=bases, noise="isometric").leading(2)[1]
    np.testing.assert_array_equal(result(hub)["components"], found)


@pytest.mark.parametrize("protocol", ["securesum", "cape", "full"])
def test_two_views_are_the_laboratory_s_pairs_of_the_same_messages(plan_with, joined, protocol):
    plan = plan_with(protocol=protocol, first_view=2)
    hub, guards = joined(plan)
    received = kept_messages(hub, guards)
    joint = square(modulo(received)) if plan.is_masked else sum(map(square, received))
    floor = noise_floor(joint, 2 * plan.scales.diagonal_sigma / LENGTH**2, noise="isometric")
    names = "x_rotations", "y_rotations", "correlations"
    for name, values in zip(names, canonical_pairs(joint, 2, 2, floor=floor), strict=True):
        np.testing.assert_array_equal(result(hub)[name], values)


@pytest.mark.parametrize("protocol", ["full", "dpdis"])
def test_a_site_that_made_up_its_rows_stands_apart(plan_with, joined, rows, protocol):
    for site in NAMES:
        rows[site] = np.repeat(rows[site] * np.linspace(1, 0.2, 4), 500, axis=0)
    plan = plan_with(protocol=protocol, epsilon=2.9, preparation="bounded")
    hub, guards = joined(plan)
    serve(hub, guards)
    for site in NAMES:
        request, made_up = hub.request, values_from(
            raw := guards[site].answer(hub.request.json()), plan, hub.request, site
        ).copy()  # fmt: skip
        if site == "two":  # a direction that nobody's rows have
            made_up[...] = 0
            made_up[-1] = 1 << 52 if protocol == "full" else 400.0
            raw = frame(plan, request, site, made_up)
        hub.receive(site, request.id, raw)
    agreement = dict(zip(NAMES, result(hub)["left_out_agreement"], strict=True))
    assert min(agreement, key=agreement.get) == "two" and agreement["two"] < 0.6
    assert min(agreement[site] for site in NAMES if site != "two") > 0.9
    # Its own message is served best, and a typical site poorly: the median is not taken in.
    energy = dict(zip(NAMES, result(hub)["energy_at_sites"], strict=True))
    assert max(energy, key=energy.get) == "two" and energy["two"] > 0.99
    assert np.median(list(energy.values())) < 0.9


def test_a_chain_hands_on_what_the_laboratory_would_join(plan_with, joined, monkeypatch):
    """What a later site sends is `join` of the message before it and its own proxy."""
    plan, own, proxy = plan_with(protocol="sequential", intermediate_dim=3), [], NoisySite.proxy
    monkeypatch.setattr(NoisySite, "proxy", lambda *asked: own.append(proxy(*asked)) or own[-1])
    sent = kept_messages(*joined(plan))
    for links in (1, 2, 3):
        handed = SiteMessage(sent[links - 1], links, 0.0)
        np.testing.assert_array_equal(sent[links], join(handed, own[links], 3).values)


def test_in_a_chain_each_has_a_deadline_and_the_others_go_on(plan_with, joined, clock):
    hub, guards = joined(plan_with(protocol="sequential"))
    serve(hub, guards)
    assert [site for site in NAMES if hub.asks(site)] == ["one"]
    clock.at += 50
    serve(hub, guards, ["one"])
    clock.at += 50
    hub.tick()
    assert hub.asks("two").links == 1
    clock.at += 11  # the second is not waited for any longer
    hub.tick()
    assert hub.asks("two") is None and hub.asks("three").links == 1
    serve(hub, guards, NAMES[2:])
    assert hub.state.phase == "done" and result(hub)["sites"].tolist() == ["one", "three", "four"]


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
    certificate = json.loads((hub.folder / "certificate.json").read_text())
    assert certificate["sites"]["answered"] == list(NAMES[:3]) and certificate["attempts"] == 2
    # A hub sees when a message comes, and hears refusals.
    assert READER_ALONE not in (assumed := certificate["assumptions"])
    assert any("Nobody times the guards" in each for each in assumed)
    # More than two planned attempts: nobody planned that the fourth should fall silent.
    charged = [each.mu for each in guards["one"].project.releases()]
    both, planned = certificate["epsilon_of_all_attempts"], composed_mu(*charged)
    assert gaussian_epsilon(1e-6, 1.0, planned) < both < odometer_epsilon(planned, 1e-6)
    assert {each["epsilon"] for each in certificate["against"].values()} <= {
        hub.plan.epsilon_against(who) for who in Adversary
    }
    assert [len(guard.project.releases()) for guard in guards.values()] == [2, 2, 2, 0]
    label = json.loads((hub.folder / "label.json").read_text(encoding="utf-8"))
    Draft202012Validator(SCHEMA).validate(label)
    assert label["epsilon"] == both and not label["simulation"]
    assert label["assumptions"] == assumed and "the 3 sites" in label["protected"]["who"]
    assert "2 attempts" in (hub.folder / "label.html").read_text(encoding="utf-8")


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
    for named in ("9" * 3000, "1-rows", "٣-sum", "123-sum"):
        with pytest.raises(FrameError, match="not asked for"):
            hub.receive("one", named, right)
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


@pytest.mark.parametrize("protocol", ["securesum", "dpdis", "sequential"])
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
    with pytest.raises(FrameError, match="start its guard with the --project folder") as refused:
        hub.join("one", guards["two"].public_key)
    assert f"another public key, {guards['one'].public_key}: " in str(refused.value)
    with pytest.raises(FrameError, match="does not know"):
        hub.join("five", guards["two"].public_key)
    with pytest.raises(FrameError, match="no public key"):
        hub.join("one", None)


def send(hub, guards, changes, sites=NAMES):
    """Everybody answers, some other numbers than their guard's: functions of those, by site."""
    for site in sites:
        if (request := hub.asks(site)) is None:
            continue
        raw = guards[site].answer(request.json())
        if site in changes:
            values = changes[site](values_from(raw, hub.plan, request, site).copy())
            raw = frame(hub.plan, request, site, values)
        hub.receive(site, request.id, raw)


@pytest.mark.parametrize("number", [1e300, -1e300, 2.0**40, np.inf])
@pytest.mark.parametrize("protocol", ["dpdis", "sequential"])
def test_directions_that_no_rows_have_are_refused(plan_with, joined, protocol, number):
    """Finite ones too: a hub that squared 1e300 never got to an end, nor to a word."""
    hub, guards = joined(plan_with(protocol=protocol))
    send(hub, guards, {})
    sites = ["one"] if protocol == "sequential" else NAMES
    with pytest.raises(FrameError, match="one sent numbers that are not finite, or beyond what"):
        send(hub, guards, {"one": lambda values: np.full_like(values, number)}, sites)
    assert hub.state.phase == "moment" and "one" not in hub.state.answered


@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("phase", ["sum", "moment"])
def test_whole_numbers_that_no_rows_have_are_refused(plan_with, joined, phase, place):
    hub, guards = joined(plan_with(protocol="full"))
    if phase == "moment":
        send(hub, guards, {})

    def beyond(values):
        values[place] = 1 << 62
        return values

    with pytest.raises(FrameError, match="two sent numbers that are not finite, or beyond what"):
        send(hub, guards, {"two": beyond})


def test_what_honest_sites_send_is_within_the_bounds(plan_with):
    """At the ends: as many rows as there may be, each as long as it may be."""
    for protocol in PROTOCOLS:
        plan = plan_with(protocol=protocol)
        most = most_possible(plan, "sum")
        assert most[0] > MOST_ROWS * GRID
        assert most[-1] > MOST_ROWS * plan.scales.count_weight
        longest = math.sqrt(MOST_ROWS) if plan.is_cut else MOST_ROWS * LENGTH**2
        assert longest < most_possible(plan, "moment") < 2.0**63


@pytest.mark.parametrize("protocol", ["securesum", "cape"])
def test_a_count_that_cannot_be_ends_the_study_with_it_for_a_reason(plan_with, joined, protocol):
    """Under masks no message by itself is anything; their sum would have been -8 billion rows."""
    hub, guards = joined(plan_with(protocol=protocol))
    weight = hub.plan.scales.count_weight

    def fewer(values):
        values[-1] -= 8_300_000_000 * weight
        return values

    send(hub, guards, {"two": fewer})
    assert hub.state.phase == "failed" and "say that there are -8,29" in hub.state.why
    assert "sent what no guard sends" in hub.state.why
    assert hub.asks("one") is None and not (hub.folder / "result.npz").exists()


@pytest.mark.parametrize("shift", [1 << 50, -(1 << 50)])
def test_moments_that_the_counted_rows_do_not_have_end_it_too(plan_with, joined, shift):
    hub, guards = joined(plan_with())
    send(hub, guards, {})
    send(hub, guards, {"three": lambda values: values + shift})
    assert hub.state.phase == "failed" and "do not add up to the sites' moments" in hub.state.why


def test_a_count_is_said_with_its_noise_and_a_failed_study_names_no_result(
    plan_with, joined, hub_of
):
    plan = plan_with()
    hub, guards = joined(plan)
    assert "result" not in json.loads(summary(hub))
    serve(hub, guards)
    serve(hub, guards)
    said, sigma = json.loads(summary(hub)), count_sigma(plan, 4)
    assert said["noisy rows"].startswith(f"{hub.state.n_rows:,.0f} ± {sigma:,.0f}")
    assert np.load(said["result"])["components"].shape == (2, 4)
    certificate = json.loads((hub.folder / "certificate.json").read_text())
    assert certificate["result"]["noisy_rows_sigma"] == sigma
    assert count_in_words(plan, -3 * sigma, 4).endswith("the noise hides how many")
    assert not count_in_words(plan, 3 * sigma, 4).endswith("how many")
    failed = Hub(plan, hub.folder.parent / "other")
    failed._fail("of a test")
    said = json.loads(summary(failed))
    assert said["phase"] == "failed" and said["why"] == "of a test" and "result" not in said


def test_what_arithmetic_cannot_do_ends_the_study_with_a_reason(plan_with, joined, monkeypatch):
    """Whatever is met, in whatever step: nobody waits for a hub that has given up in silence."""
    hub, guards = joined(plan_with())
    serve(hub, guards)

    def fails(*_):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr("dpcore.federated.hub.components", fails)
    serve(hub, guards)
    assert hub.state.phase == "failed" and "LinAlgError: SVD did not converge" in hub.state.why
    assert hub.asks("one") is None and not (hub.folder / "result.npz").exists()


def test_a_message_that_is_gone_from_the_hub_ends_it_with_a_reason(plan_with, joined):
    hub, guards = joined(plan_with())
    serve(hub, guards, NAMES[:3])
    (hub.folder / "1-sum" / "two.bin").unlink()
    serve(hub, guards)
    assert hub.state.phase == "failed" and "what two sent cannot be read again" in hub.state.why


def test_a_full_disk_is_said_and_the_hub_goes_on_when_there_is_room(
    plan_with, joined, monkeypatch, clock
):
    hub, guards = joined(plan_with())
    serve(hub, guards, NAMES[:3])
    raw = guards["four"].answer(hub.request.json())
    with monkeypatch.context() as full:

        def fails(*_):
            raise OSError(28, "No space left on device")

        full.setattr("os.fsync", fails)
        with pytest.raises(OSError, match="No space"):
            hub.receive("four", "1-sum", raw)
        clock.at += 61
        hub.tick()  # nothing is raised, and nothing has happened
        assert hub.state.answered == NAMES[:3] and hub.state.attempt == 1
        assert "cannot be written (No space left on device)" in hub.trouble
    hub.tick()
    assert hub.state.attempt == 2 and hub.trouble == ""


def test_a_clock_that_is_set_back_does_not_stop_the_study(plan_with, joined, clock):
    hub, guards = joined(plan_with())
    serve(hub, guards, NAMES[:3])
    clock.at -= 1e6
    hub.tick()
    clock.at += 61
    hub.tick()
    assert hub.state.attempt == 2


def test_a_hub_that_was_down_while_sites_joined_waits_for_them_anew(
    plan_with, hub_of, guard_of, clock
):
    plan = plan_with()
    hub_of(plan).join("one", guard_of(plan, "one").public_key)
    clock.at += plan.join_seconds + 1
    hub = hub_of(plan)
    hub.tick()
    assert hub.state.phase == "joining"
    for site in NAMES[1:]:
        hub.join(site, guard_of(plan, site).public_key)
    assert hub.state.roster == NAMES


def test_a_study_that_has_failed_is_reopened_with_the_files_there_are(
    plan_with, joined, hub_of, clock
):
    hub, guards = joined(plan_with())
    with pytest.raises(ParameterError, match="that has failed, to reopen"):
        hub.reopen()
    serve(hub, guards, NAMES[:2])
    clock.at += 61
    hub.tick()
    assert hub.state.phase == "failed"
    hub = hub_of(hub.plan)
    assert hub.state.phase == "failed"  # nothing begins by itself
    hub.reopen()
    with pytest.raises(FrameError, match="another public key"):
        hub.join("one", guards["two"].public_key)
    for site in NAMES:
        assert hub.state.phase == "joining"
        hub.join(site, guards[site].public_key)
    assert hub.state.attempt == 2
    serve(hub, guards)
    serve(hub, guards)
    assert hub.state.phase == "done"
    assert [len(guard.project.releases()) for guard in guards.values()] == [2, 2, 1, 1]
    with pytest.raises(ParameterError, match="that has failed, to reopen"):
        hub.reopen()


def test_a_damaged_state_is_one_sentence(plan_with, hub_of):
    hub = hub_of(plan_with())
    for content in (b"", b"[1]", b"{", b"null"):
        (hub.folder / "hub.json").write_bytes(content)
        with pytest.raises(ParameterError, match="a sound hub.json"):
            hub_of(plan_with())
