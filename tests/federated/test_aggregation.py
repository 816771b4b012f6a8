"""Results of the aggregator, and sites that are down, slow or lying."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from parties import NAMES, changed, silent

from dpcore.cca.canonical import canonical_pairs, noise_floor
from dpcore.federated.aggregation import count_in_words, count_sigma
from dpcore.federated.aggregator import RunFailed
from dpcore.federated.guard_socket import ABSENT, ANSWERED, CONFLICT, Reply
from dpcore.federated.messages import (
    MOMENT,
    SCORES,
    SUM,
    VOTES,
    MessageError,
    Request,
    most_possible,
    values_from,
)
from dpcore.federated.plan import PROTOCOLS
from dpcore.pca import aggregate
from dpcore.pca.assessment import choose_bases
from dpcore.pca.site import SiteMessage
from dpcore.privacy import Adversary, composed_mu, gaussian_epsilon
from dpcore.privacy.label import SCHEMA
from dpcore.privacy.odometer import odometer_epsilon
from dpcore.release.certificate import READER_ALONE
from dpcore.release.integer_moments import MOST_ROWS
from dpcore.release.integer_rows import GRID, LENGTH
from dpcore.release.scales import VOTE
from dpcore.spectra import Spectrum


def square(upper):
    moment = np.zeros((4, 4))
    moment[np.triu_indices(4)] = upper / LENGTH**2
    return moment + np.triu(moment, 1).T


def modulo(messages):
    """Return the sum between -2^63 and 2^63, computed with Python integers."""
    total = sum(message.astype(object) for message in messages)
    return ((total + 2**63) % 2**64 - 2**63).astype(float)


def spread_out(rows):
    """Give the rows of every site a clear first direction."""
    for site in NAMES:
        rows[site] = np.repeat(rows[site] * np.linspace(1, 0.2, 4), 500, axis=0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_result_equals_the_simulation_for_the_same_messages(plan_with, sites_of, protocol):
    """Equality holds bit for bit, because the weights of four sites are powers of two."""
    plan = plan_with(protocol=protocol, intermediate_dim=3)
    sites = sites_of(plan)
    sites.run()
    received = [sites.messages["1-moment"][site] for site in NAMES]
    if plan.is_cut:
        messages = [SiteMessage(values, 1, 0.0) for values in received]
        _, expected = aggregate(messages, 2, ranking="value")
    else:
        noisy = square(modulo(received)) if plan.is_masked else sum(map(square, received))
        is_of_differences = str(sites.result()["centre_choice"]) == "differences"
        scales = plan.scales.for_differences() if is_of_differences else plan.scales
        sigma = 2 * scales.diagonal_sigma / LENGTH**2
        spectrum = Spectrum(noisy)
        bases = choose_bases(spectrum, sigma=sigma, bases=plan.bases)
        expected = spectrum.denoised(sigma, bases=bases, noise="isometric").leading(2)[1]
    np.testing.assert_array_equal(sites.result()["components"], expected)


@pytest.mark.parametrize("protocol", ["securesum", "full"])
def test_two_views_equal_the_simulation_for_the_same_messages(plan_with, sites_of, protocol):
    plan = plan_with(protocol=protocol, first_view=2)
    sites = sites_of(plan)
    sites.run()
    received = [sites.messages["1-moment"][site] for site in NAMES]
    joint = square(modulo(received)) if plan.is_masked else sum(map(square, received))
    floor = noise_floor(joint, 2 * plan.scales.diagonal_sigma / LENGTH**2, noise="isometric")
    names = "x_rotations", "y_rotations", "correlations"
    for name, values in zip(names, canonical_pairs(joint, 2, 2, floor=floor), strict=True):
        np.testing.assert_array_equal(sites.result()[name], values)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sites_decide_together_for_differences(plan_with, sites_of, rows, protocol):
    """Sites bought a private mean for every table, whose error was then a component."""
    rng = np.random.default_rng(5)
    for site in NAMES:
        rows[site] = 0.6 + 0.02 * rng.standard_normal((900, 4)) * [4, 2, 0.3, 0.3]
    plan = plan_with(protocol=protocol, intermediate_dim=3)
    sites = sites_of(plan)
    sites.run()
    result = sites.result()
    certificate = json.loads((sites.folder / "certificate.json").read_text())
    assert str(result["centre_choice"]) == certificate["preparation"]["centre"] == "differences"
    assert certificate["noise_of_a_site"]["of_differences"]
    assert certificate["noise_of_a_site"]["moment_sigma"] == 2 * plan.scales.moment_sigma
    assert np.abs(result["components"][:, :2]).sum() > 1.8
    assert certificate["result"]["above_noise"] == (None if plan.is_cut else 2)
    assert sites.charges() == [1, 1, 1, 1]
    charged = sites.guards["one"].project.releases()[0]
    assert charged.mu == plan.worst_mu and charged.epsilon == plan.epsilon
    votes = np.sum(
        [message.astype(object) for message in sites.messages["1-votes"].values()], axis=0
    )
    if not plan.is_masked:
        # All 3,600 pairs vote.
        assert sum(votes) / VOTE == pytest.approx(3_600, rel=0.2)


@pytest.mark.parametrize(
    ("make", "settings", "centre"),
    [
        (lambda rng: rng.uniform(-0.2, 1, (900, 4)), {"epsilon": 2.9}, "mean"),
        (lambda rng: 0.05 * rng.standard_normal((2_000, 4)), {}, "none"),
        (lambda rng: rng.uniform(-0.2, 1, (900, 4)), {"preparation": "bounded"}, "mean"),
        (lambda rng: rng.uniform(-0.2, 1, (900, 4)), {"first_view": 2}, "mean"),
    ],
)
def test_other_sites_choose_another_centre(plan_with, sites_of, rows, make, settings, centre):
    rng = np.random.default_rng(5)
    for site in NAMES:
        rows[site] = make(rng)
    sites = sites_of(plan_with(**settings))
    sites.run()
    certificate = json.loads((sites.folder / "certificate.json").read_text())
    assert certificate["preparation"]["centre"] == centre
    assert ("1-votes" in sites.messages) == (not {"preparation", "first_view"} & settings.keys())
    assert sites.result()["centre"].any() == (centre == "mean")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_score_plot_is_the_sum_of_the_sites_counts(plan_with, sites_of, rows, protocol):
    rng = np.random.default_rng(5)
    for site in NAMES:
        sides = rng.choice([-0.7, 0.7], 1_000)
        rows[site] = np.column_stack([sides, *(0.1 * rng.standard_normal((3, 1_000)))])
    plan = plan_with(protocol=protocol, intermediate_dim=3, epsilon=2.0, scores_share=0.3)
    sites = sites_of(plan)
    sites.run()
    result = sites.result()
    received = [sites.messages["1-scores"][site] for site in NAMES]
    total = modulo(received) if plan.is_masked else np.sum(received, axis=0)
    np.testing.assert_array_equal(result["score_counts"].ravel(), total / VOTE)
    density = result["score_density"]
    assert density.min() >= 0 and density.sum() == pytest.approx(float(result["n_rows"]))
    # Two groups lie on either side along the first component.
    along = density.sum(axis=1)
    assert along[:5].sum() > 1_500 and along[-5:].sum() > 1_500
    certificate = json.loads((sites.folder / "certificate.json").read_text())
    assert certificate["scores"]["share"] == 0.3
    (charged,) = sites.guards["one"].project.releases()
    assert charged.mu == plan.worst_mu


def test_a_silent_site_and_impossible_scores(plan_with, sites_of):
    plan = plan_with(scores_share=0.3)
    sites = sites_of(plan)
    sites.faults["four"] = silent(SCORES)
    assert sites.run()["attempts"] == 2
    sites.faults = {"two": changed(plan, "two", SCORES, lambda values: values + (1 << 50))}
    with pytest.raises(RunFailed, match="rows cannot have the sites' scores"):
        sites.run()


def test_votes_that_no_rows_have_end_the_run(plan_with, sites_of):
    plan = plan_with()
    sites = sites_of(plan)
    sites.faults["two"] = changed(plan, "two", VOTES, lambda values: values + (1 << 50))
    with pytest.raises(RunFailed, match="rows cannot have the sites' votes"):
        sites.run()


def test_with_little_noise_the_result_is_the_pca_of_all_rows(plan_with, sites_of, rows):
    spread_out(rows)
    sites = sites_of(plan_with(epsilon=2.9, preparation="bounded"))
    sites.run()
    pooled = np.concatenate([rows[site] for site in NAMES])
    _, _, exact = np.linalg.svd(pooled - pooled.mean(axis=0), full_matrices=False)
    result = sites.result()
    assert np.linalg.norm(exact[:2] @ result["components"].T) ** 2 == pytest.approx(2, abs=0.01)
    assert result["n_rows"] == pytest.approx(len(pooled), abs=100)


@pytest.mark.parametrize("protocol", ["full", "dpdis"])
def test_a_site_that_invents_rows_has_the_lowest_agreement(plan_with, sites_of, rows, protocol):
    spread_out(rows)
    plan = plan_with(protocol=protocol, epsilon=2.9, preparation="bounded")
    sites = sites_of(plan)

    def invented(values):
        values[...] = 0
        values[-1] = 1 << 52 if protocol == "full" else 400.0
        return values

    sites.faults["two"] = changed(plan, "two", MOMENT, invented)
    sites.run()
    agreement = dict(zip(NAMES, sites.result()["left_out_agreement"], strict=True))
    assert min(agreement, key=agreement.get) == "two" and agreement["two"] < 0.6
    assert min(agreement[site] for site in NAMES if site != "two") > 0.9
    energy = dict(zip(NAMES, sites.result()["energy_at_sites"], strict=True))
    assert max(energy, key=energy.get) == "two" and energy["two"] > 0.99
    assert np.median(list(energy.values())) < 0.9


@pytest.mark.parametrize("round_", [SUM, VOTES, MOMENT])
def test_under_masks_a_silent_site_costs_a_new_attempt(plan_with, sites_of, round_):
    sites = sites_of(plan_with())
    sites.faults["four"] = silent(round_)
    sites.run()
    assert "four did not answer in 60 s" in sites.sentences
    assert sites.result()["sites"].tolist() == list(NAMES[:3])
    # The guard of the silent site has charged the attempt that it answered.
    assert sites.charges() == [2, 2, 2, 1]
    certificate = json.loads((sites.folder / "certificate.json").read_text())
    assert certificate["sites"]["answered"] == list(NAMES[:3]) and certificate["attempts"] == 2
    assert READER_ALONE not in (assumptions := certificate["assumptions"])
    # The number of attempts is adaptive, so their epsilon exceeds that of two planned attempts.
    charged = [charge.mu for charge in sites.guards["one"].project.releases()]
    epsilon, planned = certificate["epsilon_of_all_attempts"], composed_mu(*charged)
    assert gaussian_epsilon(1e-6, 1.0, planned) < epsilon < odometer_epsilon(planned, 1e-6)
    assert {entry["epsilon"] for entry in certificate["against"].values()} <= {
        sites.plan.epsilon_against(who) for who in Adversary
    }
    label = json.loads((sites.folder / "label.json").read_text(encoding="utf-8"))
    Draft202012Validator(SCHEMA).validate(label)
    assert label["epsilon"] == epsilon and not label["simulation"]
    assert label["assumptions"] == assumptions and "the 3 sites" in label["protected"]["who"]
    assert "2 attempts" in (sites.folder / "label.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("round_", [SUM, VOTES, MOMENT])
def test_without_masks_the_other_sites_continue(plan_with, sites_of, round_):
    sites = sites_of(plan_with(protocol="full"))
    sites.faults["four"] = silent(round_)
    assert sites.run()["attempts"] == 1
    # The label had another number than the certificate for one attempt.
    label = json.loads((sites.folder / "label.json").read_text(encoding="utf-8"))
    certificate = json.loads((sites.folder / "certificate.json").read_text(encoding="utf-8"))
    assert label["epsilon"] == certificate["epsilon_of_all_attempts"]
    assert sites.result()["sites"].tolist() == list(NAMES[:3])
    assert sites.charges() == [1, 1, 1, 1]


def test_too_few_sites_are_one_sentence(plan_with, sites_of):
    sites = sites_of(plan_with())
    sites.faults |= {"three": silent(SUM), "four": silent(SUM)}
    with pytest.raises(RunFailed, match="too few sites answered: one, two of fewest=3"):
        sites.run()
    with pytest.raises(RunFailed, match="too few sites answered: one of fewest=3"):
        sites.run(["one"])


def test_sites_that_do_not_join_are_left_out(plan_with, sites_of):
    sites = sites_of(plan_with())
    assert sites.run(NAMES[:3])["sites"] == list(NAMES[:3])
    assert sites.charges() == [1, 1, 1, 0]


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Reply(ABSENT, b"no guard answers"), "two: no guard answers"),
        (Reply(ANSWERED, b""), "two sent a message of another form"),
        (Reply(ANSWERED, b"x" * 100_000), "two sent a message of another form"),
        (Reply("other", b"x\n" * 9000), "two: x x"),
    ],
)
def test_a_reply_of_another_form_is_one_sentence(plan_with, sites_of, reply, sentence):
    sites = sites_of(plan_with(protocol="full"))
    sites.faults["two"] = lambda request, _: reply
    assert sites.run()["sites"] == ["one", "three", "four"]
    (said,) = [sentence for sentence in sites.sentences if sentence.startswith("two")]
    assert said.startswith(sentence) and len(said) <= 310 and "\n" not in said
    assert sites.charges() == [1, 1, 1, 1]


def test_damaged_and_foreign_messages_are_refused(plan_with, sites_of):
    plan = plan_with(protocol="full")
    guards = sites_of(plan).guards
    keys = {site: guard.greeting.public_key for site, guard in guards.items()}
    request = Request(plan.digest, 1, SUM, NAMES, keys)
    right, other = (guards[site].answer(request.json()) for site in ("one", "two"))
    for raw in (right[:-1], right[:50] + bytes([right[50] ^ 1]) + right[51:], right + b"x", other):
        with pytest.raises(MessageError, match="one sent"):
            values_from(raw, plan, request, "one")


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e300, -1e300, 2.0**40])
def test_directions_that_no_rows_have_are_refused(plan_with, sites_of, number):
    plan = plan_with(protocol="dpdis")
    sites = sites_of(plan)
    sites.faults["one"] = changed(plan, "one", MOMENT, lambda values: np.full_like(values, number))
    assert sites.run()["sites"] == list(NAMES[1:])
    assert "one sent numbers that are not finite or that no rows add up to" in sites.sentences
    assert np.isfinite(sites.result()["components"]).all() and sites.charges() == [1, 1, 1, 1]


@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("round_", [SUM, VOTES, MOMENT])
def test_integers_that_no_rows_have_are_refused(plan_with, sites_of, round_, place):
    plan = plan_with(protocol="full")
    sites = sites_of(plan)

    def too_large(values):
        values[place] = 1 << 62
        return values

    sites.faults["two"] = changed(plan, "two", round_, too_large)
    assert sites.run()["sites"] == ["one", "three", "four"]
    assert "two sent numbers that are not finite or that no rows add up to" in sites.sentences


def test_a_message_of_another_shape_is_refused(plan_with, sites_of):
    plan = plan_with(protocol="full")
    sites = sites_of(plan)
    sites.faults["two"] = changed(plan, "two", SUM, lambda values: values[:-1])
    assert sites.run()["sites"] == ["one", "three", "four"]
    assert any(sentence.startswith("two sent 32 bytes of numbers") for sentence in sites.sentences)


def test_messages_of_honest_sites_are_within_the_bounds(plan_with):
    for protocol in PROTOCOLS:
        plan = plan_with(protocol=protocol)
        most = most_possible(plan, "sum")
        assert most[0] > MOST_ROWS * GRID
        assert most[-1] > MOST_ROWS * plan.scales.count_weight
        longest = math.sqrt(MOST_ROWS) if plan.is_cut else MOST_ROWS * LENGTH**2
        assert longest < most_possible(plan, "moment") < 2.0**63


def test_an_impossible_masked_count_ends_the_run(plan_with, sites_of):
    """A single masked message is uniform, so only their sum can be checked."""
    plan = plan_with()
    sites = sites_of(plan)

    def fewer(values):
        values[-1] -= 8_300_000_000 * plan.scales.count_weight
        return values

    sites.faults["two"] = changed(plan, "two", SUM, fewer)
    with pytest.raises(RunFailed, match="imply -8,29.* rows, which is impossible"):
        sites.run()
    assert not (sites.folder / "result.npz").exists() and sites.charges() == [1, 1, 1, 1]


@pytest.mark.parametrize("shift", [1 << 50, -(1 << 50)])
def test_impossible_masked_moments_end_the_run(plan_with, sites_of, shift):
    plan = plan_with()
    sites = sites_of(plan)
    sites.faults["three"] = changed(plan, "three", MOMENT, lambda values: values + shift)
    with pytest.raises(RunFailed, match="rows cannot have the sites' moments"):
        sites.run()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("calls", [0, 1, 2])
def test_an_interrupted_aggregator_repeats_the_requests_free_of_charge(
    plan_with, sites_of, protocol, calls
):
    """The process ends after the sites answered the sum (0), the votes or the moment (2)."""
    sites = sites_of(plan_with(protocol=protocol))
    exchange, left = sites.exchange, iter(range(calls))

    def interrupted(requests):
        replies = exchange(requests)
        if next(left, None) is None:
            raise KeyboardInterrupt
        return replies

    sites.exchange = interrupted
    with pytest.raises(KeyboardInterrupt):
        sites.run()
    first = dict(sites.messages)
    sites.exchange = exchange
    sites.run()
    assert sites.charges() == [1, 1, 1, 1]
    for request_id, messages in first.items():
        for site, values in messages.items():
            np.testing.assert_array_equal(values, sites.messages[request_id][site])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_later_run_among_other_sites_is_a_new_attempt(plan_with, sites_of, protocol):
    sites = sites_of(plan_with(protocol=protocol))
    assert sites.run(NAMES[:3])["attempts"] == 1
    assert sites.run()["attempts"] == 2
    assert sites.charges() == [2, 2, 2, 1]
    # The folder of the aggregator is lost: guards report a conflict instead of a second answer.
    (sites.folder / "attempt.json").unlink()
    assert sites.run()["attempts"] == 2
    assert sites.charges() == [2, 2, 2, 2]


def test_a_site_that_reports_conflicts_without_end_is_named(plan_with, sites_of):
    sites = sites_of(plan_with(epsilon=0.1))
    sites.faults["two"] = lambda request, _: Reply(CONFLICT, b"another roster")
    with pytest.raises(RunFailed, match="two reported 4 conflicting attempts"):
        sites.run()


def test_arithmetic_that_fails_is_one_sentence(plan_with, sites_of, monkeypatch):
    def fails(*_):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr("dpcore.federated.aggregation.components", fails)
    with pytest.raises(RunFailed, match="SVD did not converge"):
        sites_of(plan_with()).run()


def test_the_number_of_rows_has_its_noise(plan_with, sites_of):
    plan = plan_with()
    sites = sites_of(plan)
    summary, sigma = sites.run(), count_sigma(plan, 4)
    assert summary["rows"].startswith(f"{float(sites.result()['n_rows']):,.0f} ± {sigma:,.0f}")
    assert count_in_words(plan, -3 * sigma, 4).endswith("hidden by the noise")
    assert not count_in_words(plan, 3 * sigma, 4).endswith("noise")
