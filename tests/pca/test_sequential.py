"""The chain of sites, and the results of each protocol if sites drop out."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.pca import Draw, ReleaseSettings, site_message
from dpcore.pca.protocols.cape import cape
from dpcore.pca.protocols.distributed import dpdis, full
from dpcore.pca.protocols.first_site import local
from dpcore.pca.protocols.holder import pooled
from dpcore.pca.protocols.references import exact
from dpcore.pca.protocols.sequential import guarantee_of_chain, join_proxies, sequential
from dpcore.pca.settings import sites_that_answer
from dpcore.privacy import Adversary, PrivacyBudget
from dpcore.spectra import SiteMoments, projector_distance, site_moments
from dpcore.streams import Purpose, Repetition

D, S = 8, 5
SIZES = (30, 50, 20, 60, 40)
ROWS = np.random.default_rng(5).uniform(-0.3, 0.3, (sum(SIZES), D)) * np.linspace(1, 0.2, D)
MOMENTS = site_moments(ROWS, np.split(np.arange(sum(SIZES)), np.cumsum(SIZES)[:-1]))
SETTINGS = ReleaseSettings(
    PrivacyBudget(5.0, 0.01), 2, 3, calibration="analytic", noise="isometric", truncation="psd"
)


def draw(settings: ReleaseSettings = SETTINGS, index: int = 0) -> Draw:
    return Draw(MOMENTS, settings, Repetition(3, index))


def own_proxy(site: int, settings: ReleaseSettings, index: int = 0):
    return site_message(
        MOMENTS.second_moments[site],
        SIZES[site],
        settings,
        rng=Repetition(3, index).rng(Purpose.SITE_NOISE, site),
    )


def chain_by_hand(settings: ReleaseSettings, there: tuple[int, ...], index: int = 0) -> np.ndarray:
    """Return the D x D average in the last proxy, from top-R eigendecompositions."""
    order = Repetition(3, index).rng(Purpose.ORDER).permutation(S).tolist()
    last = max(order.index(site) for site in there)
    average, people = np.zeros((D, D)), 0
    for site in order[: last + 1]:
        if site not in there:
            average, people = np.zeros((D, D)), 0
            continue
        proxy = own_proxy(site, settings, index).values
        both = people * average + SIZES[site] * proxy @ proxy.T
        people += SIZES[site]
        values, vectors = np.linalg.eigh(both / people)
        kept = np.argsort(values)[-settings.intermediate_dim :]
        average = (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
    return average


@pytest.mark.parametrize("index", range(4))
@pytest.mark.parametrize("dropped", [0, 1, 2, 4])
@pytest.mark.parametrize("truncation", ["psd", "svd"])
def test_a_chain_is_the_top_r_of_both_at_every_site(index, dropped, truncation):
    settings = replace(SETTINGS, dropped_sites=dropped, truncation=truncation)
    subspace = sequential(draw(settings, index))
    there = sites_that_answer(settings, S, Repetition(3, index))
    average = chain_by_hand(settings, there, index)
    values, vectors = np.linalg.eigh(average)
    np.testing.assert_allclose(subspace.eigenvalues, values[::-1][:2], rtol=1e-10)
    assert projector_distance(subspace.components, vectors.T[::-1][:2]) < 1e-6
    np.testing.assert_allclose(subspace.components @ subspace.components.T, np.eye(2), atol=1e-12)


def test_with_every_direction_kept_a_chain_is_dpdis():
    settings = replace(SETTINGS, intermediate_dim=D)
    ours, theirs = sequential(draw(settings)), dpdis(draw(settings))
    np.testing.assert_allclose(ours.eigenvalues, theirs.eigenvalues, rtol=1e-9)
    assert projector_distance(ours.components, theirs.components) < 1e-6
    assert ours.bytes_sent.sum() == theirs.bytes_sent.sum()
    assert (ours.n_rounds, theirs.n_rounds) == (S, 1)


def test_joining_weighs_by_people():
    first, second = (own_proxy(site, SETTINGS) for site in (0, 3))
    joined = join_proxies(first, second, D)
    expected = (30 * first.values @ first.values.T + 60 * second.values @ second.values.T) / 90
    np.testing.assert_allclose(joined.values @ joined.values.T, expected, atol=1e-12)
    assert joined.n_samples == 90


def test_a_chain_guarantees_what_dpdis_does_and_nothing_to_an_aggregator():
    ours, theirs = sequential(draw()).guarantee, dpdis(draw()).guarantee
    assert (ours.epsilon, ours.delta, ours.sigma) == (theirs.epsilon, theirs.delta, theirs.sigma)
    against = {entry.adversary: entry for entry in ours.against}
    assert set(against) == {Adversary.SITE, Adversary.OUTSIDER}
    assert all(entry.epsilon == ours.epsilon and not entry.is_trusted for entry in ours.against)
    assert "receives" in against[Adversary.SITE].sees


def test_a_chain_has_no_more_directions_than_its_last_site():
    settings = replace(SETTINGS, n_components=4)
    sentence = "n_components must be at most intermediate_dim=3 in a chain"
    with pytest.raises(ParameterError, match=sentence):
        guarantee_of_chain(settings, SIZES, D)
    with pytest.raises(ParameterError, match=sentence):
        sequential(draw(settings))


def test_the_more_drop_out_the_same_and_others():
    there = [
        set(sites_that_answer(replace(SETTINGS, dropped_sites=n), S, Repetition(1)))
        for n in range(S)
    ]
    assert [len(messages) for messages in there] == [5, 4, 3, 2, 1]
    assert all(more > fewer for more, fewer in pairwise(there))


def of_those_there(settings: ReleaseSettings) -> tuple[SiteMoments, tuple[int, ...]]:
    there = sites_that_answer(settings, S, Repetition(3))
    return MOMENTS.at(there), there


@pytest.mark.parametrize("mean_share", [0.0, 0.1])
def test_averages_go_over_those_who_answered(mean_share):
    """Computed by hand from the messages of the answering sites, under their own streams."""
    settings = replace(SETTINGS, dropped_sites=2, mean_share=mean_share)
    whole = draw(settings)
    moments, there = of_those_there(settings)
    assert full(whole).sigma.shape == (3,)
    assert dpdis(whole).bytes_sent.shape == (3,)
    if mean_share == 0:
        messages = [
            site_message(
                MOMENTS.second_moments[site],
                SIZES[site],
                settings,
                rng=Repetition(3).rng(Purpose.SITE_NOISE, site),
                whole=True,
            ).values
            for site in there
        ]
        average = np.tensordot(moments.weights, messages, axes=1)
        values = np.linalg.eigvalsh(average)[::-1][:2]
        np.testing.assert_allclose(full(whole).eigenvalues, values, rtol=1e-10)


def test_the_guarantee_of_those_who_answered_is_the_same():
    for release in (dpdis, full, local, sequential):
        all_sites, fewer = release(draw()), release(draw(replace(SETTINGS, dropped_sites=2)))
        assert fewer.guarantee.epsilon == pytest.approx(all_sites.guarantee.epsilon, rel=1e-9)


def test_a_holder_misses_the_people_of_sites_that_drop_out():
    settings = replace(SETTINGS, dropped_sites=2)
    moments, _ = of_those_there(settings)
    ratio = pooled(draw(settings)).sigma / pooled(draw()).sigma
    assert ratio == pytest.approx(sum(SIZES) / moments.n_samples.sum())
    # The optimum is measured on all rows.
    np.testing.assert_array_equal(exact(draw(settings)).components, exact(draw()).components)


def test_cape_cannot_go_on_without_a_site():
    with pytest.raises(ParameterError, match="masks cancel only where every site answers"):
        cape(draw(replace(SETTINGS, dropped_sites=1)))


def test_somebody_has_to_answer():
    with pytest.raises(ParameterError, match="dropped_sites must be fewer than the 5 there are"):
        draw(replace(SETTINGS, dropped_sites=S))
