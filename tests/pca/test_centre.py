"""Centre of rows on the sphere: differences of pairs, votes of pairs, and the budget they use."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.pca import Draw, ReleaseSettings
from dpcore.pca.centre_rule import (
    CENTRES,
    VoteRule,
    choose_centre,
    mean_error_limit,
    n_above_mean_error,
    vote_rule,
)
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import with_centre, with_mean_share
from dpcore.pca.site import noise_scales
from dpcore.privacy import (
    PrivacyBudget,
    gaussian_epsilon,
    gaussian_mu,
    l2_sensitivity_of_differences,
    l2_sensitivity_of_votes,
    l2_sensitivity_on_sphere,
)
from dpcore.spectra import SiteRows, captured_energy
from dpcore.spectra.pairs import pair_blocks
from dpcore.streams import Repetition

SETTINGS = ReleaseSettings(
    PrivacyBudget(1.0, 1e-5), 2, 4, mean_share=None, on_sphere=True, centred_by="votes"
)


def one_site(rows):
    return SiteRows.of(rows, (np.arange(len(rows)),))


def replaced(rows, position, row):
    changed = rows.copy()
    changed[position] = row
    return changed


@pytest.mark.parametrize("n", [2, 3, 7, 500])
def test_every_row_is_in_two_pairs(n):
    members = np.arange(10, 10 + n)
    sides = [np.concatenate(side) for side in zip(*pair_blocks(members, 4), strict=True)]
    assert all(np.array_equal(np.sort(side), members) for side in sides)
    assert (sides[0] != sides[1]).all()


@pytest.mark.parametrize(("n", "dtype"), [(2, float), (9, float), (40, np.float32)])
def test_one_row_moves_differences_by_at_most_their_sensitivity_which_is_attained(rng, n, dtype):
    bound = l2_sensitivity_of_differences(n)
    assert bound == 2 * math.sqrt(2) / n
    moved = []
    for _ in range(200):
        rows = rng.standard_normal((n, 4)).astype(dtype) * rng.choice([0.01, 1.0])
        other = rows[rng.integers(n)] if rng.random() < 0.3 else rng.standard_normal(4)
        first, second = one_site(rows), one_site(replaced(rows, rng.integers(n), other))
        moved.append(first.moment_of_differences() - second.moment_of_differences())
    assert max(map(np.linalg.norm, moved)) <= bound * (1 + 1e-6)
    # All partners are equal, and the row turns to another axis.
    rows = np.zeros((n, 4), dtype)
    pair = [one_site(replaced(rows, 1, axis)) for axis in np.eye(4)[:2]]
    turned = pair[0].moment_of_differences() - pair[1].moment_of_differences()
    assert np.linalg.norm(turned) == pytest.approx(bound, rel=1e-5)


def test_one_row_moves_votes_by_at_most_their_sensitivity_which_is_attained(rng):
    n, rule, bound = 30, VoteRule(0.05, 0.2, 0.03).votes, l2_sensitivity_of_votes(30)
    moved = 0.0
    for _ in range(300):
        rows = rng.standard_normal((n, 3)) * rng.choice([0.1, 0.5, 1e3]) + rng.choice([0.0, 2.0])
        other = rng.standard_normal(3) * rng.choice([0.1, 10.0])
        votes = [one_site(data).votes(rule) for data in (rows, replaced(rows, 5, other))]
        assert votes[0].sum() == pytest.approx(1)
        moved = max(moved, np.linalg.norm(votes[0] - votes[1]))
    assert moved <= bound * (1 + 1e-12)
    rows = np.full((n, 3), 0.5)
    far = [one_site(data).votes(rule) for data in (rows, replaced(rows, 5, np.zeros(3) - 9))]
    assert np.linalg.norm(far[0] - far[1]) == pytest.approx(bound)


def test_an_average_over_sites_weighs_them_by_their_rows_and_forms_no_pairs_across(rng):
    rows = rng.standard_normal((40, 3)) + np.repeat([[9.0], [-9.0]], 20, axis=0)
    sites = SiteRows.of(rows, (np.arange(12), np.arange(12, 40)))
    site_moments = [sites.moment_of_differences(site) for site in (0, 1)]
    np.testing.assert_allclose(
        sites.moment_of_differences(), 0.3 * site_moments[0] + 0.7 * site_moments[1]
    )
    rule = VoteRule(0.05, 0.2, 0.03).votes
    votes = 0.3 * sites.votes(rule, 0) + 0.7 * sites.votes(rule, 1)
    np.testing.assert_allclose(sites.votes(rule), votes)
    # Only pairs across the groups see the large distance between them.
    between = np.ones(3) / math.sqrt(3)
    apart = SiteRows.of(rows, (np.arange(20), np.arange(20, 40)))
    within, across = apart.moment_of_differences(), apart.moment_of_differences(across_sites=True)
    assert between @ within @ between < between @ across @ between - 0.1


@pytest.mark.parametrize("centre", CENTRES)
@pytest.mark.parametrize("calibration", ["analytic", "published"])
def test_votes_mean_and_moment_together_use_the_budget_for_every_centre(centre, calibration):
    settings = with_mean_share(replace(SETTINGS, calibration=calibration), [500], 10)
    assert settings.test_share > 0
    settings = with_centre(settings, centre)
    scales = noise_scales(500, settings)
    sensitivity = math.sqrt(8 if centre == "differences" else 2) / 500
    mu = math.hypot(
        sensitivity / scales.moment,
        2 / 500 / scales.mean if centre == "mean" else 0.0,
        l2_sensitivity_of_votes(500) / scales.votes,
    )
    assert mu == pytest.approx(scales.l2_sensitivity / scales.moment, rel=1e-9)
    if calibration == "analytic":
        assert mu <= gaussian_mu(SETTINGS.budget) * (1 + 1e-6)
        assert gaussian_epsilon(1e-5, 1.0, mu) == pytest.approx(1.0, rel=1e-6)
    assert (scales.mean > 0) == (centre == "mean")


def test_a_public_rule_decides_whether_there_is_a_vote():
    assert vote_rule(0.2, 30).test == vote_rule(0.2, 30).mean == 0
    assert 0 < vote_rule(0.14, 10).test <= 0.1
    assert vote_rule(0.14, 4) == (0.14, 0, 0)
    assert with_mean_share(replace(SETTINGS, mean_share=0.2), [500], 10).test_share == 0
    assert with_mean_share(replace(SETTINGS, centred_by="accurate mean"), [500], 10).test_share == 0


def test_pairs_vote_for_the_centre_that_suits_rows_like_them():
    rule = vote_rule(0.03, 30)
    spread, product = np.array([[0.4, 0.02, 0.02, 0.0, 1e30], [0.3, 0.3, -0.001, 0.0, -1e30]])
    names = [(*CENTRES, "accurate mean")[vote] for vote in rule.votes(spread, product)]
    assert names == ["mean", "differences", "none", "differences", "none"]
    # Position 3 is a mean with a small error.
    assert vote_rule(1e-4, 30).votes(np.array([0.4]), np.array([0.3])) == 3
    errors = [vote_rule(noise, 30).largest_error for noise in np.geomspace(1e-6, 0.04, 50)]
    assert errors[0] < 1e-4 and (np.diff(errors) > 0).all()


@pytest.mark.parametrize(
    ("votes", "centre"),
    [
        ([0.6, 0.4, 0.0, 0.0], "mean"),
        ([0.2, 0.3, 0.3, 0.2], "mean"),
        ([0.0, 0.8, 0.1, 0.1], "differences"),
        ([0.0, 0.6, 0.4, 0.0], "none"),
        ([0.1, 0.1, 0.8, 0.0], "none"),
        # A noise that is equal in all votes has no influence.
        ([0.7, 1.4, 0.7, 0.6], "differences"),
    ],
)
def test_the_centre_follows_the_votes(votes, centre):
    assert choose_centre(np.array(votes)) == centre


def concentrated(rng, n=600, spread=0.08):
    """Rows near a point far from the middle, with two strong directions."""
    rows = rng.standard_normal((n, 12)) * np.r_[4, 2, np.full(10, 0.3)]
    rows *= spread / np.linalg.norm(rows, axis=1).mean()
    return rows + np.full(12, 0.7 / math.sqrt(12))


@pytest.mark.parametrize("key", ["pooled", "full", "dpdis", "local", "cape", "securesum", "coded"])
def test_a_release_of_concentrated_rows_takes_differences_and_names_them(rng, key):
    rows = concentrated(rng)
    sites = SiteRows.of(rows, np.array_split(np.arange(len(rows)), 2))
    entry, settings = PROTOCOLS[key], replace(SETTINGS, budget=PrivacyBudget(3.0, 1e-5))
    draw = Draw(sites, settings, Repetition(1), proxies=True, average=True)
    released = entry.release(draw)
    assert released.centre_choice == "differences"
    assert not released.centre.any()
    assert released.guarantee.epsilon <= 3.0
    reference = np.cov(rows.T, bias=True)
    optimum = np.linalg.eigvalsh(reference)[-2:].sum()
    assert captured_energy(released.components, reference) > 0.9 * optimum


def test_rows_about_the_middle_get_no_centre_and_spread_rows_get_a_mean(rng):
    about_middle = concentrated(rng) - 0.7 / math.sqrt(12)
    spread = np.clip(9 * about_middle, -0.2, 0.2) + 0.2
    for rows, epsilon, centre in ((about_middle, 1.0, "none"), (spread, 20.0, "mean")):
        settings = replace(SETTINGS, budget=PrivacyBudget(epsilon, 1e-5))
        draw = Draw(one_site(rows), settings, Repetition(1))
        assert PROTOCOLS["pooled"].release(draw).centre_choice == centre


def test_a_negative_weight_of_votes_is_refused():
    with pytest.raises(ParameterError, match="votes_weight must be at least 0"):
        l2_sensitivity_on_sphere(10, votes_weight=-1.0)


def test_components_within_the_error_of_the_mean_are_not_above_the_noise():
    """Only the noise of the matrix was compared; a component could be the error of the mean."""
    eigenvalues = np.array([40.0, 21.0, 9.0, 30.0])
    for n_above, expected in ((3, 2), (1, 1), (None, None)):
        assert n_above_mean_error(n_above, eigenvalues, 100.0, 0.1) == expected
    rule = vote_rule(0.01, 30)
    accepted = rule.largest_error
    assert mean_error_limit(np.array([0.5, 0.1, 0.0, 0.4]), rule) == accepted / (1 + accepted)
    small = mean_error_limit(np.array([0.3, 0.1, 0.0, 0.6]), rule)
    assert small == pytest.approx(accepted / 8 / (1 + accepted / 8))


def test_releases_count_components_above_the_noise_as_certificates_do(rng):
    """Explore counted from the matrix only, so that the error of the mean was a component."""
    rows = 0.3 + 0.1 * rng.standard_normal((1_500, 20)) * np.geomspace(1, 0.03, 20)
    rows /= np.linalg.norm(rows, axis=1).max()
    settings = replace(
        SETTINGS, budget=PrivacyBudget(20.0, 1e-5), n_components=8, intermediate_dim=16
    )
    draw = Draw(one_site(rows), settings, Repetition(1))
    average = PROTOCOLS["pooled"].average(draw)
    assert average.centre_choice == "mean" and 0 < average.mean_error < 0.2
    average = replace(average, mean_error=0.15)
    assessment = average.assessment(settings, rng=rng)
    eigenvalues = average.subspace(settings).eigenvalues
    assert assessment.n_above_noise == (eigenvalues > 0.15).sum() < 8
    without_mean = replace(average, centre_choice="none").assessment(settings, rng=rng)
    assert without_mean.n_above_noise == 8
