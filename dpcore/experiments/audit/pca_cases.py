"""Private PCA as the register runs it, to be audited.

With K = D components a subspace and its eigenvalues give back the whole noisy matrix, so that
the attack loses nothing by looking at what a protocol releases. Claims are those of the release's
own guarantee.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.data import Dataset, prepare
from dpcore.experiments.audit.worst_neighbours import (
    BUDGET,
    DISTRIBUTED,
    PROTOCOL_TRIALS,
    RESULT_AND_OWN_NOISE,
    TURN,
    along,
    among_others,
    claim,
    one_by_one,
    seen_by_a_site,
)
from dpcore.pca import Draw, ReleaseSettings, Subspace, site_message
from dpcore.pca.protocols.central import PpcaRelease, draw_ppca
from dpcore.pca.protocols.protocol import Kind, Protocol, Where
from dpcore.privacy import Adversary, Guarantee, PrivacyBudget
from dpcore.privacy.audit import AuditCase, Sampler, Statistic
from dpcore.spectra import SiteMoments, SiteRows, site_moments
from dpcore.streams import Purpose, Repetition

CENTRAL = "Central PCA"
_D = 3
SETTINGS = ReleaseSettings(BUDGET, _D, _D, truncation="svd")
# Rows arrive in other units and too long: preparation brings them under the bound.
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
    changes: dict[str, Any] = dict(entry.neighbours.settings)
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
    """Whether Gaussian noise is what a matrix is protected by."""
    return entry.kind is Kind.APPROXIMATE


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
    message = site_message(
        draw.moment_around(draw.centre, site),
        int(draw.moments.n_samples[site]),
        draw.settings,
        rng=draw.repetition.rng(Purpose.SITE_NOISE, site),
        whole=not entry.wants_proxies,
        means=means,
    ).values
    return message @ message.T if entry.wants_proxies else message


def matrix_case(entry: Protocol, *, on_sphere: bool = False) -> AuditCase:
    """A protocol that releases a noisy matrix, from raw rows on; on the sphere around zero."""
    neighbours = _turned(entry.neighbours.n_sites, on_sphere=on_sphere)
    return protocol_case(
        entry,
        replace(settings_of(entry), on_sphere=on_sphere),
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
        is_gaussian=True,
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
    """Rows in units of the public bound, as they come out of preparation."""
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
