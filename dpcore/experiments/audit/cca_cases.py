"""Private CCA on its worst neighbours, to be audited: from two raw views to canonical pairs."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.cca import CanonicalPairs, bound_views, distributed_cca
from dpcore.cca.release import constant_coordinate, with_constant
from dpcore.experiments.audit.worst_neighbours import (
    BUDGET,
    PRIVATE_MEAN,
    PROTOCOL_TRIALS,
    RESULT,
    RESULT_AND_OWN_NOISE,
    along,
    among_others,
    claim,
    one_by_one,
    seen_by,
    seen_by_a_site,
)
from dpcore.pca import ReleaseSettings
from dpcore.pca.site import NoisySite, noisy_second_moment
from dpcore.privacy import Adversary
from dpcore.privacy.audit import AuditCase, Sampler
from dpcore.spectra import SiteMoments, site_moments
from dpcore.streams import Purpose, Repetition

FAMILY = "CCA"
_N_X = _N_Y = 2
# Longer than the bound of 1, so that clipping has its part.
_TOO_LONG = 3.0


def cca_cases() -> tuple[AuditCase, ...]:
    """One site where its message is read, as in distributed PCA: the average of one is its
    message. A site that takes part is the second of two."""
    alone = cca_case("local", "CCA, one site alone", n_sites=2)
    pooled = cca_case("pooled", "CCA, pooled")
    messages = cca_case("dpdis", "CCA, DPdisPCA messages"), cca_case("full", "CCA, full matrices")
    with_mean = (
        cca_case("full", "CCA, full matrices, private mean", mean_share=0.1),
        cca_case("dpdis", "CCA, DPdisPCA messages, private mean", mean_share=0.1),
        cca_case("pooled", "CCA, pooled, private mean", mean_share=0.1),
        cca_case("cape", "CCA, CAPE average, private mean", n_sites=4, mean_share=0.1),
    )
    # Where the average of one site is its message, the aggregator reads it.
    read_by_the_aggregator = partial(seen_by, Adversary.AGGREGATOR, "every site's message")
    return (
        *messages,
        *map(read_by_the_aggregator, messages),
        *(
            cca_case(key, case.name, n_sites=2, adversary=Adversary.SITE)
            for key, case in zip(("dpdis", "full"), messages, strict=True)
        ),
        *with_mean,
        cca_case("full", with_mean[0].name, n_sites=2, mean_share=0.1, adversary=Adversary.SITE),
        read_by_the_aggregator(with_mean[0]),
        alone,
        seen_by_a_site(alone),
        cca_case("local", "CCA, one site alone, private mean", n_sites=2, mean_share=0.1),
        cca_case("cape", "CCA, CAPE average, wide masks", n_sites=4),
        pooled,
        seen_by_a_site(pooled),
    )


def cca_case(
    protocol: str,
    name: str,
    *,
    n_sites: int = 1,
    mean_share: float = 0.0,
    adversary: Adversary = Adversary.OUTSIDER,
) -> AuditCase:
    """The noisy joint moment that comes with canonical pairs, and the mean where one is bought.

    Together they are the noisy moment of rows [x y k] with a constant k. Rows [u k] and [v k]
    are orthogonal, so attain its sensitivity, where u.v = -k^2. The second of two sites takes
    off what it sent itself, which it knows to the last bit.
    """
    settings = ReleaseSettings(
        BUDGET,
        n_components=1,
        intermediate_dim=_N_X + _N_Y,
        truncation="svd",
        masks="wide",
        mean_share=mean_share,
    )
    constant = constant_coordinate(mean_share)
    rows = np.zeros((2, _N_X + _N_Y))
    rows[0, 0] = 1.0
    rows[1, [0, _N_X]] = -(constant**2), math.sqrt(1 - constant**4)
    moments, moments_prime = (_bounded(row, n_sites) for row in rows)

    def release(moments: SiteMoments, repetition: Repetition) -> CanonicalPairs:
        return distributed_cca(moments, _N_X, settings, protocol=protocol, repetition=repetition)

    def sampler(moments: SiteMoments) -> Sampler:
        def noisy(repetition: Repetition) -> FloatArray:
            pairs = release(moments, repetition)
            average = _lifted(
                pairs.joint_moment + np.outer(pairs.mean, pairs.mean), pairs.mean, constant
            )
            if adversary is not Adversary.SITE:
                return average
            own = _sent_by_the_second(moments, pairs, constant, repetition, protocol)
            rest: FloatArray = (average - moments.weights[1] * own) / moments.weights[0]
            return rest

        return one_by_one(noisy)

    exact, exact_prime = (
        _lifted(site.second_moments[0], site.means[0], constant)
        for site in (moments, moments_prime)
    )
    guarantee = release(moments, Repetition(0)).guarantee
    return AuditCase(
        name=name,
        family=FAMILY,
        covers=f"cca.{protocol}",
        n_trials=PROTOCOL_TRIALS,
        **claim(guarantee, adversary),
        sees=RESULT_AND_OWN_NOISE if adversary is Adversary.SITE else RESULT,
        preparation=PRIVATE_MEAN if mean_share > 0 else "none",
        sampler_d=sampler(moments),
        sampler_d_prime=sampler(moments_prime),
        statistic=along(exact - exact_prime),
        is_gaussian=True,
        neighbours="One person, seen in the first view only, is then seen in the second only.",
    )


def _bounded(row: FloatArray, n_sites: int) -> SiteMoments:
    at_sites = [among_others(row), *[among_others(np.eye(len(row))[0])] * (n_sites - 1)]
    rows = np.vstack(at_sites)
    # Views weigh the same, so one factor turns raw rows into joined ones.
    raw = _TOO_LONG * math.sqrt(2) * rows
    views = bound_views(raw[:, :_N_X], raw[:, _N_X:])
    return site_moments(views.joined, np.array_split(np.arange(len(rows)), n_sites))


def _sent_by_the_second(
    moments: SiteMoments,
    pairs: CanonicalPairs,
    constant: float,
    repetition: Repetition,
    protocol: str,
) -> FloatArray:
    """What the aggregator makes of the second site's message, from its own rows and stream."""
    lifted = with_constant(moments, constant) if constant > 0 else moments
    noisy = noisy_second_moment(
        lifted.second_moments[1],
        pairs.sigma[1],
        noise="isometric",
        rng=repetition.rng(Purpose.SITE_NOISE, 1),
    )
    if protocol == "dpdis":
        site = NoisySite(noisy, int(moments.n_samples[1]), pairs.sigma[1])
        proxy = site.proxy(len(noisy), "magnitude").values
        noisy = proxy @ proxy.T
    if constant == 0:
        return _lifted(noisy, np.zeros(len(noisy)), constant)
    return _lifted(noisy[:-1, :-1], noisy[:-1, -1] / constant, constant)


def _lifted(moment: FloatArray, mean: FloatArray, constant: float) -> FloatArray:
    """Moment of rows [z, constant], but for the corner, which nobody is told."""
    border = constant * mean
    return np.block([[moment, border[:, None]], [border[None], np.zeros((1, 1))]])
