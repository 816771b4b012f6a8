"""Private PCA and CCA under audit: register, private means, CAPE and secure sum.

Private PCA as the register runs it, to be audited.

With K = D components a subspace and its eigenvalues give back the whole noisy matrix, so that
the attack loses nothing by looking at what a protocol releases. Claims are those of the release's
own guarantee.

Private PCA that buys a mean, to be audited: a person is in two releases under one budget.

Of bounded rows these are the mean and the matrix centred around it. Rows at an angle whose cosine
is -s / (4 (1 - s)) move the two together the most, and attain the promise
(`dpcore.privacy.l2_sensitivity_of_moment_and_mean`).

Of rows at length 1 they are the noisy mean and the matrix that is taken around it. Opposite rows
move the mean the most, and the matrix too where everybody else's mean is at a right angle to them
and as long (`dpcore.privacy.l2_sensitivity_on_sphere`). Whoever knows everybody else's rows and
the released mean knows both matrices it may have been, and weighs them by the likelihood ratio.
Both are denoised there, the three columns being pixels of one row: the attack looks at the answer
that is released, or at the message cut from it.

CAPE and secure sum before those who take part: the aggregator with its friends, and a site.

Messages come from rounds as the sites run them (`dpcore.pca.protocols.masked.masked_round`); claims
are those of the guarantee against that adversary.

Private CCA on its worst neighbours, to be audited by the attacks on PCA.

The noisy joint moment comes with the canonical pairs, and is attacked as the matrix that leading
directions give back. Each person has two columns in the first view and one in the second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict, TypeVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.cca import PROTOCOLS, distributed_cca
from dpcore.cca.canonical import joint_noise, noisy_joint_moment
from dpcore.data import Dataset, prepare
from dpcore.pca import Draw, ReleaseSettings, Subspace, site_message
from dpcore.pca.protocols.distributed import all_noisy_means
from dpcore.pca.protocols.masked import (
    MaskedRound,
    honest_sites,
    masked_mean_round,
    masked_round,
    noise_of_summands,
    promised_by_masked_sites,
    promised_by_summands,
    release_scales,
)
from dpcore.pca.protocols.protocol import Kind, Protocol, Where
from dpcore.pca.protocols.register import PROTOCOLS as REGISTERED
from dpcore.pca.protocols.trusted_holder import PpcaRelease, draw_ppca
from dpcore.pca.site import centre_of_sphere, noise_scales
from dpcore.privacy import Adversary, CapeScales, Guarantee, PrivacyBudget, mean_weight
from dpcore.privacy.audit import AuditCase, Sampler, Statistic
from dpcore.spectra import (
    COLUMNS,
    PublicBasis,
    SiteMoments,
    SiteRows,
    Spectrum,
    cosine_basis,
    site_moments,
)
from dpcore.spectra.moments import WHOLE, Parts
from dpcore.streams import Purpose, Repetition

# Data sets on which mechanisms do worst, and the scores that tell them apart.

Data = TypeVar("Data")

DISTRIBUTED = "Distributed PCA"
N_SAMPLES = 50
BUDGET = PrivacyBudget(1.0, 0.01)
# Of releases that take a quarter of a millisecond each, a run of a whole protocol.
PROTOCOL_TRIALS = 5_000
TURN = "One person's row turns from the first axis to the second."
RESULT_AND_OWN_ROWS = "the result and its own rows"
RESULT_AND_OWN_NOISE = "the result, its own rows and its own noise"
PRIVATE_MEAN = "private mean"
SPHERE = "sphere"


def epsilon_against(guarantee: Guarantee, adversary: Adversary) -> float:
    """What a guarantee says holds against this adversary.

    Where it names none, nobody but the reader of the result is there.
    """
    named = {entry.adversary: entry.epsilon for entry in guarantee.against}
    return named.get(adversary, math.inf) if named else guarantee.epsilon


class ClaimedGuarantee(TypedDict):
    """The fields of a case that say against whom it claims what."""

    epsilon: float
    delta: float
    adversary: Adversary
    guarantee: Guarantee


def claim(guarantee: Guarantee, adversary: Adversary = Adversary.OUTSIDER) -> ClaimedGuarantee:
    """What this guarantee claims against this adversary."""
    epsilon = epsilon_against(guarantee, adversary)
    return ClaimedGuarantee(
        epsilon=epsilon, delta=guarantee.delta, adversary=adversary, guarantee=guarantee
    )


class Samplers(TypedDict):
    """The fields of a case that draw releases."""

    sampler_d: Sampler
    sampler_d_prime: Sampler


def under_both(
    draws: Callable[[Data, np.random.Generator, int], FloatArray], data: Data, data_prime: Data
) -> Samplers:
    """Releases of one mechanism on two neighbouring data sets."""
    return Samplers(sampler_d=partial(draws, data), sampler_d_prime=partial(draws, data_prime))


def seen_by(adversary: Adversary, sees: str, case: AuditCase) -> AuditCase:
    """The same attack by somebody else, to whom the guarantee may promise something else."""
    if case.guarantee is None:
        raise ValueError(f"{case.name} comes with no guarantee that names an adversary")
    return replace(case, sees=sees, **claim(case.guarantee, adversary))


def seen_by_a_site(case: AuditCase) -> AuditCase:
    """The same attack by a site that knows no more of the noise than anybody with the result."""
    return seen_by(Adversary.SITE, RESULT_AND_OWN_ROWS, case)


def worst_second_moments(n_features: int, n_samples: int) -> tuple[FloatArray, FloatArray]:
    """X^T X / n of two data sets that attain sqrt(2) / n: e_1 replaced by e_2, all else equal."""
    rest = np.full(n_features, (n_samples - 1) / n_samples / n_features)
    moments = []
    for axis in (0, 1):
        diagonal = rest.copy()
        diagonal[axis] += 1 / n_samples
        moments.append(np.diag(diagonal))
    return moments[0], moments[1]


def among_others(row: FloatArray, *, pairs: int = 8) -> FloatArray:
    """Rows of which `row` is the first, and the others lie evenly along all axes, either way.

    Their mean is zero: a moment centred around it keeps all its directions above the noise.
    """
    axes = np.repeat(np.eye(len(row)), pairs, axis=0)
    return np.vstack([row, axes, -axes])


def along(difference: FloatArray) -> Statistic:
    """Projection on the change: the log-likelihood ratio of isometric noise, up to scale.

    Of triangle noise too where the change lies on the diagonal.
    """
    return lambda releases: releases.reshape(len(releases), -1) @ difference.ravel()


def capped(log_ratio: FloatArray) -> FloatArray:
    """Log-likelihood ratios of a pure promise, which take their largest value often.

    Rounding errors would set equal ones apart, and a threshold between them.
    """
    return np.round(log_ratio, 9)


def laplace_ratio(exact: FloatArray, exact_prime: FloatArray, scale: FloatArray) -> Statistic:
    """Log-likelihood ratio of Laplace noise on each number of a release."""

    def score(releases: FloatArray) -> FloatArray:
        nearer = np.abs(releases - exact_prime) - np.abs(releases - exact)
        return capped(np.sum(nearer / scale, axis=1))

    return score


def one_by_one(release: Callable[[Repetition], FloatArray]) -> Sampler:
    """Releases of a protocol, each a repetition of its own."""
    return lambda rng, n: np.stack(
        [release(Repetition(int(seed))) for seed in rng.integers(2**63, size=n)]
    )


# Private PCA as the register runs it, to be audited.

CENTRAL = "Central PCA"
_D = 3
SETTINGS = ReleaseSettings(BUDGET, _D, _D, truncation="svd")
# Rows arrive in other units and too long: `prepare` brings them under the bound.
_UNITS, TOO_LONG = 5.0, 3.0
# What sites hold: moments, or rows that wait for a centre.
Held = SiteMoments | SiteRows


def cases_of(entry: Protocol) -> tuple[AuditCase, ...]:
    """A case of each adversary that a protocol's own guarantee does not trust, whatever it is.

    The result of one site, whose noise nobody else's hides; then two sites, where an aggregator
    reads both messages, and the second site takes its own off the result. A site that adds no
    noise knows no more than anybody with the result.
    """
    if entry.kind is Kind.NONE:
        return ()
    has_noisy_matrix = entry.promise(SETTINGS, [2], _D).sigma is not None
    case = matrix_case(entry) if has_noisy_matrix else direction_case(entry)
    return with_participants(entry, case, lambda who: two_sites_case(entry, who))


def with_participants(
    entry: Protocol, case: AuditCase, by_participant: Callable[[Adversary], AuditCase]
) -> tuple[AuditCase, ...]:
    """The case of whoever has the result, and those of the others who are not trusted."""
    cases = [case]
    for adversary in untrusted(case.guarantee):
        if adversary is Adversary.OUTSIDER:
            continue
        if entry.where is not Where.EVERY_SITE:
            cases.append(seen_by_a_site(case))
        elif not entry.neighbours.has_own_cases:
            cases.append(by_participant(adversary))
    return tuple(cases)


def untrusted(guarantee: Guarantee | None) -> tuple[Adversary, ...]:
    """Those against whom something is promised; nobody where it names none."""
    against = () if guarantee is None else guarantee.against
    return tuple(each.adversary for each in against if not each.is_trusted)


def settings_of(entry: Protocol) -> ReleaseSettings:
    """The audit's settings, as a protocol wants them to be attacked at its worst."""
    asked = entry.neighbours.epsilon or BUDGET.epsilon
    changes = dict(entry.neighbours.settings)
    return replace(SETTINGS, budget=PrivacyBudget(asked, BUDGET.delta), **changes)


def drawn(
    entry: Protocol, moments: Held, settings: ReleaseSettings, repetition: Repetition
) -> Draw:
    """A draw with what this protocol asks of the sites, and no more."""
    return Draw(
        moments,
        settings,
        repetition,
        proxies=entry.wants_proxies,
        average=entry.wants_average,
    )


def is_gaussian(entry: Protocol) -> bool:
    """Return whether the views of a protocol are a matrix plus Gaussian noise.

    A protocol with messages of its own adds the error of their encoding.
    """
    return entry.kind is Kind.APPROXIMATE and entry.neighbours.message is None


def family_of(entry: Protocol) -> str:
    return DISTRIBUTED if entry.is_distributed else CENTRAL


def protocol_case(
    entry: Protocol,
    settings: ReleaseSettings,
    pair: tuple[Held, Held],
    view: Callable[[Draw], FloatArray],
    adversary: Adversary = Adversary.OUTSIDER,
    **fields: Any,
) -> AuditCase:
    """A protocol whose draws one adversary sees as `view` says; claims are the release's own."""

    def sampler(moments: Held) -> Sampler:
        return one_by_one(lambda repetition: view(drawn(entry, moments, settings, repetition)))

    guarantee = entry.release(drawn(entry, pair[0], settings, Repetition(0))).guarantee
    return AuditCase(
        family=family_of(entry),
        covers=f"pca.{entry.key}",
        n_trials=PROTOCOL_TRIALS,
        **claim(guarantee, adversary),
        sampler_d=sampler(pair[0]),
        sampler_d_prime=sampler(pair[1]),
        **{"name": entry.title} | fields,
    )


def sent(
    entry: Protocol,
    draw: Draw,
    site: int,
    *,
    means: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """The matrix a site sends, from its own rows and its own stream; of a proxy, P P^T."""
    if entry.neighbours.message is not None:
        return entry.neighbours.message(draw, site)
    message = site_message(
        draw.moment_around(draw.centre, site),
        int(draw.moments.n_samples[site]),
        draw.settings,
        rng=draw.repetition.rng(Purpose.SITE_NOISE, site),
        whole=not entry.wants_proxies,
        means=means,
    ).values
    return message @ message.T if entry.wants_proxies else message


def matrix_case(
    entry: Protocol, *, on_sphere: bool = False, bases: tuple[PublicBasis, ...] = ()
) -> AuditCase:
    """A protocol that releases a noisy matrix, from raw rows on; on the sphere around zero."""
    neighbours = _turned(entry.neighbours.n_sites, on_sphere=on_sphere)
    return protocol_case(
        entry,
        replace(settings_of(entry), on_sphere=on_sphere, bases=bases),
        neighbours,
        lambda draw: rebuilt(entry.release(draw)),
        statistic=_along_the_turn(neighbours),
        is_gaussian=is_gaussian(entry),
        neighbours=TURN,
    )


def two_sites_case(entry: Protocol, adversary: Adversary) -> AuditCase:
    """One of two sites is attacked, by whoever reads what it sends or by the other site.

    A release is what that adversary makes of its view: the two matrices it has been sent, or the
    result and, from its own rows and its own stream, what it sent itself.
    """
    neighbours, by_aggregator = _turned(2), adversary is Adversary.AGGREGATOR
    score, (share, own) = _along_the_turn(neighbours), neighbours[0].weights

    def view(draw: Draw) -> FloatArray:
        first = sent(entry, draw, 0) if by_aggregator else rebuilt(entry.release(draw))
        return np.stack([first, sent(entry, draw, 1)])

    def of_the_first_site(views: FloatArray) -> FloatArray:
        first, second = views[:, 0], views[:, 1]
        return score(first if by_aggregator else (first - own * second) / share)

    return protocol_case(
        entry,
        settings_of(entry),
        neighbours,
        view,
        adversary,
        sees="every site's message" if by_aggregator else RESULT_AND_OWN_NOISE,
        statistic=of_the_first_site,
        is_gaussian=is_gaussian(entry),
        neighbours="One person's row at the first site turns from the first axis to the second.",
    )


def direction_case(entry: Protocol, *, epsilon: float = 3.0, on_sphere: bool = False) -> AuditCase:
    """A protocol that releases a subspace alone: one direction in the plane.

    Somebody on the second axis already makes the first one rare enough to tell, and not too rare
    to be seen: e^2 to 1 at best, of the e^3 that is promised.
    """
    settings = replace(SETTINGS, budget=PrivacyBudget(epsilon), n_components=1, intermediate_dim=1)
    settings = replace(settings, on_sphere=on_sphere)
    held = SiteRows.of if on_sphere else site_moments
    first, second = (held(np.eye(2)[[axis, 1]], (np.arange(2),)) for axis in (0, 1))
    return protocol_case(
        entry,
        settings,
        (first, second),
        lambda draw: entry.release(draw).components,
        statistic=lambda directions: np.square(directions[:, 0, 0]),
        neighbours=f"{TURN} One other person is there.",
    )


def _turned(n_sites: int, *, on_sphere: bool = False) -> tuple[Held, Held]:
    sites = _rows_at_sites if on_sphere else prepared_sites
    first, second = (sites(axis, n_sites) for axis in np.eye(_D)[:2])
    return first, second


def _along_the_turn(neighbours: tuple[Held, Held]) -> Statistic:
    first, second = (
        held.around_public_middle() if isinstance(held, SiteRows) else held for held in neighbours
    )
    return along(first.second_moments[0] - second.second_moments[0])


def ppca_by_chains_case(*, epsilon: float = 3.0) -> AuditCase:
    """Two directions of four, by Markov chains: as many draws as chains that start at random.

    Each gets as many effective draws as in a release of four chains.
    """
    moments = [np.diag(np.eye(4)[[axis, 1, 2]].mean(axis=0)) for axis in (0, 1)]

    def draws(moment: FloatArray, rng: np.random.Generator, n: int) -> PpcaRelease:
        return draw_ppca(moment, 3, epsilon, 2, rng=rng, n_chains=2 * n, min_ess=12.5 * 2 * n)

    def sampler(moment: FloatArray) -> Sampler:
        return lambda rng, n: draws(moment, rng, n).draw.states[:n]

    return AuditCase(
        name="PPCA, two components by chains",
        family=CENTRAL,
        covers="pca.ppca",
        n_trials=PROTOCOL_TRIALS,
        **claim(draws(moments[0], np.random.default_rng(0), 50).guarantee),
        sampler_d=sampler(moments[0]),
        sampler_d_prime=sampler(moments[1]),
        statistic=lambda frames: (
            np.square(frames[:, :, 0]).sum(1) - np.square(frames[:, :, 1]).sum(1)
        ),
        neighbours=f"{TURN} One other person is there, one on the third.",
    )


def prepared_sites(row: FloatArray, n_sites: int) -> SiteMoments:
    """Moments of sites that hold `row`, at the first, and others; made from raw, long rows."""
    rows, sites = _among_others_at_sites(row, n_sites)
    return site_moments(as_prepared(rows, "bounded"), sites)


def _rows_at_sites(row: FloatArray, n_sites: int) -> SiteRows:
    rows, sites = _among_others_at_sites(row, n_sites)
    return SiteRows.of(as_prepared(rows, "sphere"), sites)


def _among_others_at_sites(row: FloatArray, n_sites: int) -> tuple[FloatArray, list[IntArray]]:
    at_sites = [among_others(row), *[among_others(np.eye(_D)[0])] * (n_sites - 1)]
    rows = TOO_LONG * np.vstack(at_sites)
    return rows, np.array_split(np.arange(len(rows)), n_sites)


def as_prepared(rows: FloatArray, mode: str) -> FloatArray:
    """Rows in units of the public bound, as `prepare` gives them."""
    raw = Dataset(
        name="worst",
        title="Worst neighbours",
        X=_UNITS * rows,
        feature_names=tuple("abc"),
        provenance="Made up for an audit.",
        public_norm_bound=_UNITS,
    )
    return prepare(raw, mode=mode).X


def rebuilt(subspace: Subspace) -> FloatArray:
    """The matrix whose eigenpairs these are."""
    return (subspace.components.T * subspace.eigenvalues) @ subspace.components


# Private PCA that buys a mean, to be audited: a person is in two releases under one budget.

SHARE, _D_WITH_MEAN = 0.1, 3
# On the sphere columns are pixels, since only the mean of pictures is denoised.
PICTURE = (1, _D_WITH_MEAN)
DENOISED = (COLUMNS,)
TURN_FROM_MEAN = "One person's row turns around, at a right angle to everybody else's mean."
_RESULT_AND_MEAN = "the result, and the noisy mean that it is centred around"
# Matrices, the centres they are taken around and the noisy means -> log-likelihood ratios, up to
# scale.
Score = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def with_mean(entry: Protocol) -> ReleaseSettings:
    """Return the audit's settings for a protocol that also releases a mean."""
    return replace(settings_of(entry), mean_share=SHARE)


def with_mean_on_sphere(entry: Protocol) -> ReleaseSettings:
    """Return the audit's settings for rows of length 1 around a released mean."""
    return replace(with_mean(entry), on_sphere=True, bases=DENOISED)


def private_mean_cases_of(entry: Protocol) -> tuple[AuditCase, ...]:
    """A protocol that buys a mean: with the aggregator, where one reads messages, and with a site
    that adds noise of its own."""
    if entry.neighbours.noisy_mean is None:
        return ()
    cases = [private_mean_case(entry, entry.neighbours.noisy_mean)]
    if entry.where is Where.EVERY_SITE and not entry.neighbours.has_own_cases:
        cases.append(seen_by_a_second_site(entry))
    return tuple(cases)


def seen_by_a_second_site(entry: Protocol) -> AuditCase:
    """The first of two sites is attacked by the second, which knows what it sent itself.

    The means come back to the sites, to centre by. A view is the result, the second site's own
    part of it, and both noisy means.
    """
    pair = worst_sites(2)
    weights = pair[0].weights

    def view(draw: Draw) -> FloatArray:
        means = all_noisy_means(draw)
        own = sent(entry, draw, 1, means=(means[1], weights @ means))
        return np.vstack([rebuilt(entry.release(draw)), own, means])

    moment_score, mean_score = _scores(pair)

    def likelihood_ratio(views: FloatArray) -> FloatArray:
        result, own, means = (
            views[:, :_D_WITH_MEAN],
            views[:, _D_WITH_MEAN : 2 * _D_WITH_MEAN],
            views[:, 2 * _D_WITH_MEAN :],
        )
        first, together = means[:, 0], np.tensordot(means, weights, axes=(1, 0))
        cross = together[:, :, None] * first[:, None, :]
        outer = together[:, :, None] * together[:, None, :]
        around_zero = (result - weights[1] * own) / weights[0]
        around_zero = around_zero + cross + cross.swapaxes(1, 2) - outer
        return moment_score(around_zero) + mean_score(first)

    return protocol_case(
        entry,
        with_mean(entry),
        pair,
        view,
        Adversary.SITE,
        name=f"{entry.title}, private mean",
        sees="the result, the means that come back, its own rows and its own noise",
        centring=PRIVATE_MEAN,
        statistic=likelihood_ratio,
        is_gaussian=is_gaussian(entry),
        neighbours="One person's row at the first site turns by a little more than a right angle.",
    )


def worst_sites(n_sites: int) -> tuple[SiteMoments, SiteMoments]:
    """Sites whose first holds one of two rows of length 1 that move moment and mean the most."""
    cosine = -SHARE / (4 * (1 - SHARE))
    rows = np.array([[1.0, 0.0, 0.0], [cosine, math.sqrt(1 - cosine**2), 0.0]])
    first, second = (prepared_sites(row, n_sites) for row in rows)
    return first, second


def _scores(pair: tuple[SiteMoments, SiteMoments]) -> tuple[Statistic, Statistic]:
    """Of the first site's matrix around zero and of its mean, whose noise is smaller by the weight
    and its part in the likelihood ratio larger."""
    moments, moments_prime = pair
    means = mean_weight(SHARE) ** 2 * (moments.means[0] - moments_prime.means[0])
    return along(moments.second_moments[0] - moments_prime.second_moments[0]), along(means)


def private_mean_case(entry: Protocol, noisy_mean: Callable[[Draw], FloatArray]) -> AuditCase:
    """A protocol's matrix and the mean behind it, seen together."""
    n_sites = entry.neighbours.n_sites
    pair = worst_sites(n_sites)

    def view(draw: Draw) -> FloatArray:
        return np.column_stack([rebuilt(entry.release(draw)), noisy_mean(draw)])

    moment_score, mean_score = _scores(pair)

    def likelihood_ratio(releases: FloatArray) -> FloatArray:
        centred, means = releases[:, :, :-1], releases[:, :, -1]
        around_zero = centred + means[:, :, None] * means[:, None, :]
        return moment_score(around_zero) + mean_score(means)

    guarantee = entry.release(drawn(entry, pair[0], with_mean(entry), Repetition(0))).guarantee
    # Of one site, whose noise nobody else's hides, the result is the message.
    is_read = n_sites == 1 and Adversary.AGGREGATOR in untrusted(guarantee)
    return protocol_case(
        entry,
        with_mean(entry),
        pair,
        view,
        Adversary.AGGREGATOR if is_read else Adversary.OUTSIDER,
        name=f"{entry.title}, private mean",
        sees="every site's message and noisy mean" if is_read else _RESULT_AND_MEAN,
        centring=PRIVATE_MEAN,
        statistic=likelihood_ratio,
        is_gaussian=is_gaussian(entry),
        neighbours="One person's row turns by a little more than a right angle.",
    )


def sphere_cases_of(entry: Protocol, *, parts: Parts = WHOLE) -> tuple[AuditCase, ...]:
    """A case of each adversary of a protocol that reads rows; around zero where no mean is
    bought. Parts of a row with a length of their own hold the first two columns, and the third."""
    if entry.noise is None:
        return ()
    if entry.neighbours.noisy_mean is None:
        if entry.kind is Kind.PURE:
            case = direction_case(entry, on_sphere=True)
        else:
            # In columns a turn from one to another drowns: what is on the diagonal is drawn to
            # its mean.
            bases = (cosine_basis(PICTURE), *DENOISED)
            case = matrix_case(entry, on_sphere=True, bases=bases)
        case = replace(case, name=_named(entry), centring=SPHERE)
    else:
        case = sphere_case(entry, parts)

    def by_participant(adversary: Adversary) -> AuditCase:
        if adversary is Adversary.SITE:
            return seen_by_a_second_site_on_sphere(entry, parts)
        # Of one site, whose noise nobody else's hides, the result is the message.
        return seen_by(adversary, "every site's message and noisy mean", case)

    return with_participants(entry, case, by_participant)


def sphere_case(entry: Protocol, parts: Parts = WHOLE) -> AuditCase:
    """A protocol's matrix and the mean that it is taken around, both as released."""
    n_sites = entry.neighbours.n_sites
    pair = worst_on_sphere(n_sites, parts)
    score = likelihood_ratio(pair, 0 if entry.where is Where.FIRST_SITE else None)

    def view(draw: Draw) -> FloatArray:
        released = entry.release(draw)
        if released.centre is None:
            raise ValueError(f"{entry.key} says no centre")
        return np.column_stack([rebuilt(released), released.centre])

    return protocol_case(
        entry,
        with_mean_on_sphere(entry),
        pair,
        view,
        name=_named(entry),
        sees="the result, and the mean that rows are taken around",
        centring=SPHERE,
        statistic=lambda views: score(
            views[:, :, :_D_WITH_MEAN], views[:, :, _D_WITH_MEAN], views[:, :, _D_WITH_MEAN]
        ),
        is_gaussian=is_gaussian(entry),
        neighbours=TURN_FROM_MEAN,
    )


def seen_by_a_second_site_on_sphere(entry: Protocol, parts: Parts = WHOLE) -> AuditCase:
    """The first of two sites is attacked by the second, which knows what it sent itself.

    A view is the result, the second site's own part of it, and both noisy means: their average
    comes back, and its own is known to it.
    """
    pair = worst_on_sphere(2, parts)
    weights, score = pair[0].weights, likelihood_ratio(pair, 0)
    settings = with_mean_on_sphere(entry)
    scales = [noise_scales(int(n), settings).mean for n in pair[0].n_samples]
    left = float(np.linalg.norm(weights * scales))

    def view(draw: Draw) -> FloatArray:
        means = all_noisy_means(draw)
        return np.vstack([rebuilt(entry.release(draw)), sent(entry, draw, 1), means])

    def of_the_first_site(views: FloatArray) -> FloatArray:
        result, own, means = (
            views[:, :_D_WITH_MEAN],
            views[:, _D_WITH_MEAN : 2 * _D_WITH_MEAN],
            views[:, 2 * _D_WITH_MEAN :],
        )
        picture = pair[0].image_shape
        centres = [
            centre_of_sphere(weights @ both, sigma=left, image_shape=picture) for both in means
        ]
        return score((result - weights[1] * own) / weights[0], np.array(centres), means[:, 0])

    return protocol_case(
        entry,
        settings,
        pair,
        view,
        Adversary.SITE,
        name=_named(entry),
        sees="the result, the mean that comes back, its own rows and its own noise",
        centring=SPHERE,
        statistic=of_the_first_site,
        is_gaussian=is_gaussian(entry),
        neighbours=TURN_FROM_MEAN,
    )


def likelihood_ratio(pair: tuple[SiteRows, SiteRows], site: int | None = None) -> Score:
    """Of a noisy matrix and a noisy mean of a site, or of everybody."""
    first, second = (rows if site is None else rows.at([site]) for rows in pair)
    weights, turned = first.weights, turned_mean((first, second))

    def score(matrices: FloatArray, centres: FloatArray, means: FloatArray) -> FloatArray:
        middles, changes = expected((first, second), centres)
        middle = np.tensordot(middles, weights, axes=(1, 0))
        scores: FloatArray = means @ turned + np.einsum("nij,nij->n", matrices - middle, changes)
        return scores

    return score


def turned_mean(pair: tuple[SiteRows, SiteRows]) -> FloatArray:
    """(D,) change of the first site's mean as it counts beside that of its matrix: its noise is
    smaller by the weight, and its part in the likelihood ratio larger."""
    change: FloatArray = pair[0].means[0] - pair[1].means[0]
    return mean_weight(SHARE) ** 2 * change


def expected(pair: tuple[SiteRows, SiteRows], centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What is known of the matrices around released centres, of shape (n, D): those of all sites
    between the two data sets, (n, S, D, D), and how the first one's changes, (n, D, D)."""
    exact = np.array([moments_around(pair[0], centre) for centre in centres])
    turned = np.array([pair[1].around(centre, 0, threads=1) for centre in centres])
    changes = exact[:, 0] - turned
    exact[:, 0] -= changes / 2
    return exact, changes


def moments_around(rows: SiteRows, centre: FloatArray) -> FloatArray:
    """(S, D, D) second moments of the sites."""
    return np.stack([rows.around(centre, site, threads=1) for site in range(rows.n_sites)])


def worst_on_sphere(n_sites: int, parts: Parts = WHOLE) -> tuple[SiteRows, SiteRows]:
    """Sites whose first holds one of two opposite rows.

    The others' rows point along the third axis and a little to all sides, or along it and beyond
    the bound. Seen from their mean they lie evenly along all axes: no direction drowns in the
    noise, so that a cut to the leading ones loses nothing. Of two parts the first turns around
    while the second stays, which is at a right angle whatever the others are.
    """
    aside, top = 0.3 * np.eye(_D_WITH_MEAN)[:2], np.eye(_D_WITH_MEAN)[2:]
    along = math.sqrt(1 - 0.3**2) * top
    others = np.repeat(np.vstack([along + aside, along - aside, TOO_LONG * top]), 20, axis=0)

    def held(row: FloatArray) -> SiteRows:
        at_sites = [np.vstack([each, others]) for each in (row, *[top] * (n_sites - 1))]
        rows = as_prepared(np.vstack(at_sites), "sphere")
        picture = PICTURE if parts == WHOLE else None
        at = np.split(np.arange(len(rows)), n_sites)
        return SiteRows.of(rows, at, parts=parts, image_shape=picture)

    return held(np.eye(_D_WITH_MEAN)[:1]), held(-np.eye(_D_WITH_MEAN)[:1])


def _named(entry: Protocol) -> str:
    return f"{entry.title}, on the sphere"


# CAPE and secure sum before those who take part: the aggregator with its friends, and a site.

_D_OF_SITES, _N_SITES = 4, 3
_SITES_SETTINGS = ReleaseSettings(BUDGET, 1, _D_OF_SITES)
# Every site counted on: then the site that takes part is the worse of the two.
_WIDE = replace(_SITES_SETTINGS, masks="wide", honest_sites=_N_SITES)
_WITH_MEAN = replace(_SITES_SETTINGS, mean_share=SHARE, intermediate_dim=1)
_ON_SPHERE = replace(_WITH_MEAN, on_sphere=True, bases=DENOISED)
_SUM = "pca.securesum"
_SEES = {
    (True, True): "the result, and its own masks and noise",
    (False, False): "every site's message, and the masks and noise of those in league with it",
    (False, True): "the sum of all messages, and the masks and noise of those in league with it",
}
# Three of four sites answer, and one of the three is in league with the adversary.
_FEWER = replace(_SITES_SETTINGS, dropped_sites=1)
_FEWER_ON_SPHERE = replace(_ON_SPHERE, dropped_sites=1)


def cape_cases() -> tuple[AuditCase, ...]:
    """Masks of the published shape and one site in league; masks without bound and none."""
    both = Adversary.AGGREGATOR, Adversary.SITE
    cases: tuple[Callable[[Adversary], AuditCase], ...] = (
        partial(_of_matrices, "compensated masks", _SITES_SETTINGS),
        partial(_of_matrices, "wide masks, all counted on", _WIDE),
        partial(_of_matrices, "compensated masks, private mean", _WITH_MEAN),
        partial(_of_matrices, "compensated masks, on the sphere", _ON_SPHERE),
        _of_pairs,
        partial(_of_sums, "one site drops out", _FEWER),
        partial(_of_sums, "on the sphere", _FEWER_ON_SPHERE),
    )
    return tuple(case(adversary) for case in cases for adversary in both)


def _of_sums(name: str, settings: ReleaseSettings, adversary: Adversary) -> AuditCase:
    """As CAPE's sites, but of what they send the aggregator gets the sum."""
    n_samples = _neighbours(settings)[0].n_samples.tolist()
    noise = noise_of_summands(settings, n_samples)
    return masked_case(
        f"Secure sum, {name}",
        _SUM,
        settings,
        CapeScales(math.inf, _N_SITES * noise.moment),
        promised_by_summands(settings, n_samples, _D_OF_SITES),
        adversary,
    )


def _of_matrices(name: str, settings: ReleaseSettings, adversary: Adversary) -> AuditCase:
    n_samples = _neighbours(settings)[0].n_samples.tolist()
    return masked_case(
        f"CAPE, {name}",
        "pca.cape",
        settings,
        release_scales(settings, n_samples),
        promised_by_masked_sites(settings, n_samples, _D_OF_SITES),
        adversary,
    )


def _of_pairs(adversary: Adversary) -> AuditCase:
    moments, _ = _at_three_sites(_SITES_SETTINGS)
    pairs = distributed_cca(moments, 2, _SITES_SETTINGS, protocol="cape", repetition=Repetition(0))
    case = masked_case(
        "CCA, CAPE, compensated masks",
        "cca.cape",
        _SITES_SETTINGS,
        release_scales(_SITES_SETTINGS, moments.n_samples.tolist(), joint_noise),
        pairs.guarantee,
        adversary,
    )
    return replace(case, family="CCA")


def masked_case(
    name: str,
    covers: str,
    settings: ReleaseSettings,
    scales: CapeScales,
    guarantee: Guarantee,
    adversary: Adversary,
) -> AuditCase:
    """A person at the first of three sites, whose friends are none of the adversary's.

    The adversary's view is stacked: the messages, or the result; then the masks, then the noises
    of the sites it knows, which are the last ones. A private mean is one more column of each.
    """
    is_site = adversary is Adversary.SITE
    has_result = is_site or covers == _SUM
    counted_on = honest_sites(settings, _N_SITES + settings.dropped_sites) - settings.dropped_sites
    unknown = min(counted_on, _N_SITES - 1) if is_site else counted_on
    pair = _neighbours(settings)
    weight = mean_weight(settings.mean_share or 0.0)
    # Of the noise in an entry of the average of all means.
    left = scales.noise_sigma / (weight * math.sqrt(_N_SITES)) if weight > 0 else 0.0

    def seen(found: MaskedRound) -> FloatArray:
        sent = found.messages.mean(axis=0, keepdims=True) if has_result else found.messages
        return np.concatenate([sent, found.masks[unknown:], found.noises[unknown:]])

    def view(at_sites: Held, repetition: Repetition) -> FloatArray:
        if weight == 0:
            return seen(_matrices(at_sites, np.zeros(_D_OF_SITES), scales, settings, repetition))
        means = masked_mean_round(at_sites, scales, weight=weight, repetition=repetition)
        picture = at_sites.image_shape if isinstance(at_sites, SiteRows) else None
        centre = centre_of_sphere(means.messages.mean(axis=0), sigma=left, image_shape=picture)
        matrices = seen(_matrices(at_sites, centre, scales, settings, repetition))
        if has_result and settings.bases:
            noise_left = scales.noise_sigma / math.sqrt(_N_SITES)
            noisy = Spectrum(matrices[0])
            matrices[0] = noisy.denoised(
                noise_left, bases=settings.bases, noise=settings.noise
            ).matrix
        return np.concatenate([matrices, seen(means)[:, :, None]], axis=2)

    def of_the_result(views: FloatArray) -> FloatArray:
        found: FloatArray = views[:, 0] - views[:, 1 + _N_SITES - unknown :].sum(axis=1) / _N_SITES
        return found

    def of_the_messages(views: FloatArray) -> FloatArray:
        # The inverse covariance of the unknown noise, given its masks' sum, applied to a change
        # at the first site.
        across = scales.mask_sigma**2 + scales.noise_sigma**2
        weights = np.full(unknown, (scales.noise_sigma**-2 - 1 / across) / unknown)
        weights[0] += 1 / across
        known = views[:, _N_SITES : 2 * _N_SITES - unknown].sum(axis=1, keepdims=True) / unknown
        return np.tensordot(views[:, :unknown] + known, weights, axes=(1, 0))

    found = of_the_result if has_result else of_the_messages
    return AuditCase(
        name=name,
        family=DISTRIBUTED,
        covers=covers,
        n_trials=PROTOCOL_TRIALS,
        **claim(guarantee, adversary),
        sees=_SEES[is_site, has_result],
        sampler_d=one_by_one(lambda repetition: view(pair[0], repetition)),
        sampler_d_prime=one_by_one(lambda repetition: view(pair[1], repetition)),
        statistic=_score(pair, weight, left, 1 if has_result else _N_SITES, found),
        is_gaussian=True,
        **_prepared(settings),
    )


def _prepared(settings: ReleaseSettings) -> dict[str, str]:
    """What a case says of its rows."""
    if settings.on_sphere:
        return {"centring": SPHERE, "neighbours": TURN_FROM_MEAN}
    turns = "One person's row at the first site turns from the first axis to the second"
    if settings.mean_share:
        return {"centring": PRIVATE_MEAN, "neighbours": f"{turns}, and a little beyond."}
    return {"neighbours": f"{turns}."}


def _matrices(
    at_sites: Held,
    centre: FloatArray,
    scales: CapeScales,
    settings: ReleaseSettings,
    repetition: Repetition,
) -> MaskedRound:
    """The round of the matrices, around the centre of rows that wait for one."""
    if isinstance(at_sites, SiteRows):
        exact = moments_around(at_sites, centre)
        at_sites = SiteMoments(exact, at_sites.means, at_sites.n_samples)
    return masked_round(at_sites, scales, noise=settings.noise, repetition=repetition)


def _score(
    pair: tuple[Held, Held], weight: float, left: float, n_sent: int, found: Statistic
) -> Statistic:
    """Views, by what is found in them about the first site; `n_sent` messages come first."""
    if rows := [held for held in pair if isinstance(held, SiteRows)]:
        return partial(_score_on_sphere, (rows[0], rows[1]), left, n_sent, found)
    first, second = (held for held in pair if isinstance(held, SiteMoments))
    change = first.second_moments[0] - second.second_moments[0]
    if weight > 0:
        # A mean's noise is smaller by the weight, and its part in the likelihood ratio larger.
        change = np.column_stack([change, weight**2 * (first.means[0] - second.means[0])])
    return lambda views: along(change)(found(views))


def _score_on_sphere(
    pair: tuple[SiteRows, SiteRows], left: float, n_sent: int, found: Statistic, views: FloatArray
) -> FloatArray:
    """A view's own mean says what its matrices may have been."""
    means = views[:, :n_sent, :, -1].mean(axis=1)
    picture = pair[0].image_shape
    centres = np.array([centre_of_sphere(mean, sigma=left, image_shape=picture) for mean in means])
    middles, changes = expected(pair, centres)
    less = views.copy()
    less[:, :n_sent, :, :-1] -= middles.mean(axis=1, keepdims=True) if n_sent == 1 else middles
    known = found(less)
    scores: FloatArray = np.einsum("nij,nij->n", known[:, :, :-1], changes)
    return scores + known[:, :, -1] @ turned_mean(pair)


def _neighbours(settings: ReleaseSettings) -> tuple[Held, Held]:
    return worst_on_sphere(_N_SITES) if settings.on_sphere else _at_three_sites(settings)


def _at_three_sites(settings: ReleaseSettings) -> tuple[SiteMoments, SiteMoments]:
    """Equal sites; the others' rows are known to everybody, and lie evenly."""
    if settings.mean_share:
        return worst_sites(_N_SITES)
    others = np.tile(np.eye(_D_OF_SITES) / _D_OF_SITES, (_N_SITES - 1, 1, 1))
    counts = np.full(_N_SITES, N_SAMPLES)
    first, first_prime = worst_second_moments(_D_OF_SITES, N_SAMPLES)
    at_sites = [
        SiteMoments(
            np.concatenate([moment[None], others]), np.zeros((_N_SITES, _D_OF_SITES)), counts
        )
        for moment in (first, first_prime)
    ]
    return at_sites[0], at_sites[1]


# Private CCA on its worst neighbours, to be audited by the attacks on PCA.

CCA_FAMILY = "CCA"
_VIEW_SIZE = math.sqrt(0.5)
CCA_VIEWS = (slice(2), _VIEW_SIZE), (slice(2, None), _VIEW_SIZE)


def cca_cases() -> tuple[AuditCase, ...]:
    """Every protocol without a mean, with one that is subtracted, and on the sphere; there with
    every adversary. A person's first view turns around, while the second stays."""
    return tuple(
        replace(
            case,
            name=f"CCA, {case.name}",
            family=CCA_FAMILY,
            covers=case.covers.replace("pca.", "cca."),
        )
        for key in PROTOCOLS
        for case in _cases_of(replace(REGISTERED[key], release=partial(_released, key)))
    )


def _cases_of(entry: Protocol) -> Iterator[AuditCase]:
    yield matrix_case(entry)
    if entry.neighbours.noisy_mean is not None:
        yield private_mean_case(entry, entry.neighbours.noisy_mean)
    yield from sphere_cases_of(entry, parts=CCA_VIEWS)


def _released(protocol: str, draw: Draw) -> Subspace:
    """The noisy joint moment by its eigenpairs, and what it is centred by."""
    average = noisy_joint_moment(
        draw.everybody, draw.settings, protocol=protocol, repetition=draw.repetition
    )
    eigenvalues, vectors = np.linalg.eigh(average.spectrum.matrix)
    return Subspace(vectors.T, eigenvalues, average.guarantee, centre=average.centre)
