"""Votes and differences of pairs in exact arithmetic, and the centre in a certificate."""

import json
import math

import numpy as np
import pytest

from dpcore.pca.centre_rule import VoteRule
from dpcore.release import Column, Dictionary, measurement, release
from dpcore.release.exact_pairs import count_votes, moment_of_differences
from dpcore.release.integer_rows import GRID, LENGTH
from dpcore.release.scales import VOTE, calibrated, shares_of
from dpcore.release.verification import verify
from dpcore.spectra import SiteRows

N, D = 40, 4
DICTIONARY = Dictionary(tuple(Column(f"c{i}", lower=-1.0, upper=1.0) for i in range(D)))
RULE = VoteRule(0.05, 0.1, 0.04)
SCALES = calibrated(DICTIONARY, epsilon=1.0, delta=1e-6, mean_share=0.1, vote_share=0.04)


def ring(rng, n=N):
    return rng.integers(-GRID, GRID, (n, D)).astype(np.int32) // rng.choice([1, 50])


def test_one_row_on_the_ring_changes_moment_and_votes_by_at_most_their_sensitivity(rng):
    moved, voted = 0.0, 0.0
    for _ in range(200):
        before = ring(rng)
        after = before.copy()
        after[rng.integers(N)] = rng.integers(-GRID, GRID, D)
        if rng.random() < 0.5:  # added rather than replaced
            after = np.insert(before, rng.integers(N), after[0], axis=0)
        change = moment_of_differences(after) - moment_of_differences(before)
        moved = max(moved, np.linalg.norm(change / LENGTH**2))
        votes = [count_votes(data, SCALES, RULE) for data in (before, after)]
        assert [vote.sum() for vote in votes] == [len(before), len(after)]
        voted = max(voted, np.linalg.norm(votes[0] - votes[1]))
    bound = 2 * math.sqrt(2)
    assert moved <= bound and voted <= bound
    # The row's partners are equal, and the row turns to another axis and away from them.
    rows = np.full((N, D), GRID // 2, np.int32)
    near, far = rows.copy(), rows.copy()
    near[3, 0] += GRID // 100
    far[3] = -GRID
    far[3, 1:] = GRID // 2
    sideways = rows.copy()
    sideways[3, 1] += GRID // 100
    turned = moment_of_differences(near) - moment_of_differences(sideways)
    assert np.linalg.norm(turned / LENGTH**2) == pytest.approx(bound, rel=1e-4)
    votes = count_votes(near, SCALES, RULE) - count_votes(far, SCALES, RULE)
    assert np.linalg.norm(votes) == pytest.approx(bound)


def test_integers_give_the_moment_and_the_votes_of_the_simulation(rng):
    rows = ring(rng, 400)
    of_pairs = SiteRows.of(rows / math.sqrt(SCALES.squared_norm), (np.arange(400),))
    moment = moment_of_differences(rows) / LENGTH**2
    assert moment.trace() == pytest.approx(400, rel=1e-3)
    # The order on the ring differs, so numbers agree up to sampling errors.
    np.testing.assert_allclose(moment / 400, of_pairs.moment_of_differences(), atol=0.12)
    exact = count_votes(rows, SCALES, RULE) / 400
    np.testing.assert_allclose(exact, of_pairs.votes(RULE.votes), atol=0.12)


def test_votes_and_differences_use_the_mu_that_was_charged():
    for_differences = SCALES.for_differences()
    assert for_differences.mu == SCALES.mu
    assert for_differences.distance == SCALES.distance
    parts = (
        2 * math.sqrt(SCALES.squared_norm) / SCALES.sum_sigma,
        2 * math.sqrt(2) * VOTE / SCALES.vote_sigma,
        2 * LENGTH**2 / for_differences.moment_sigma,
    )
    assert math.hypot(*parts) == pytest.approx(SCALES.mu)
    assert SCALES.epsilon(1e-6, 1.0) <= 1.0
    assert shares_of(SCALES) == pytest.approx((0.1, 0.04), rel=1e-4)
    with pytest.raises(Exception, match="vote_share must be at least 0 and below 0.9"):
        calibrated(DICTIONARY, epsilon=1.0, delta=1e-6, vote_share=0.9)


def table(rows):
    return {f"c{i}": column for i, column in enumerate(rows.T)}


def publish(folder, rows, epsilon, dictionary=DICTIONARY, **options):
    released = release(
        table(rows), dictionary, epsilon=epsilon, delta=1e-6, n_components=2,
        project=folder / "project", name="first", cap=(50.0, 1e-3), **options,
    )  # fmt: skip
    return released, json.loads((released.folder / "certificate.json").read_bytes())


def test_a_release_of_concentrated_rows_takes_differences_and_its_certificate_says_so(
    tmp_path, rng
):
    rows = 0.6 + 0.02 * rng.standard_normal((1_500, D)) * [4, 2, 0.3, 0.3]
    released, certificate = publish(tmp_path, rows, 1.0)
    assert certificate["preparation"]["centre"] == "differences"
    assert certificate["mechanism"]["of_differences"]
    assert certificate["epsilon"] <= 1.0
    assert verify(released.folder).holds
    assert np.abs(released.components_[:, :2]).sum() > 1.9
    assert "differences of random pairs" in (released.folder / "certificate.html").read_text()
    # Another centre contradicts the mechanism.
    certificate["preparation"]["centre"] = "mean"
    (released.folder / "certificate.json").write_text(json.dumps(certificate))
    verdict = verify(released.folder)
    assert not verdict.holds
    assert "centre is stated as mean, which its mechanism contradicts" in verdict.sentence


@pytest.mark.parametrize(
    ("rows", "epsilon", "options", "centre"),
    [
        (lambda rng: rng.uniform(-0.2, 1, (1_500, D)), 20.0, {}, "mean"),
        (lambda rng: 0.02 * rng.standard_normal((3_000, D)), 0.5, {}, "none"),
        (lambda rng: 0.6 + 0.02 * rng.standard_normal((900, D)), 1.0, {"preparation": "bounded"},
         "mean"),
    ],
)  # fmt: skip
def test_other_rows_get_another_centre(tmp_path, rng, rows, epsilon, options, centre):
    released, certificate = publish(tmp_path, rows(rng), epsilon, **options)
    assert certificate["preparation"]["centre"] == centre
    assert (certificate["mechanism"]["vote_sigma"] > 0) == (not options)
    assert verify(released.folder).holds
    if centre == "none":
        assert not released.mean_.any()


def test_the_error_of_a_mean_may_hold_what_the_pairs_that_voted_for_it_accept(rng):
    rows = ring(rng, 3_000) // 4 + GRID // 2
    scales = calibrated(DICTIONARY, epsilon=5.0, delta=1e-6, mean_share=0.1, vote_share=0.04)
    choice, limit = measurement._choose_centre(rows.astype(np.int32), scales, 3_000.0)
    rule = VoteRule(2 / (3_000 * scales.mu), *shares_of(scales))
    accepted = rule.largest_error
    assert choice == "mean"
    assert limit in (accepted / (1 + accepted), accepted / 8 / (1 + accepted / 8))
