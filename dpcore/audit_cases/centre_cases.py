"""Audit cases of differences of pairs, and of the votes that choose them.

The adversary sees the noisy votes, which no release publishes, in addition to the noisy matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit_cases.neighbours import SPHERE
from dpcore.audit_cases.protocol_cases import (
    is_gaussian,
    protocol_case,
    rebuild_matrix,
    settings_of,
)
from dpcore.pca import Draw
from dpcore.pca.protocols.holder import noisy_votes_of_holder
from dpcore.pca.protocols.protocol import Protocol, Where
from dpcore.pca.settings import with_centre
from dpcore.pca.site import noise_scales
from dpcore.privacy import Adversary
from dpcore.privacy.audit import AuditCase
from dpcore.spectra import SiteRows
from dpcore.spectra.pairs import pair_blocks

_D, _N_SAMPLES = 3, 150
# Shares of the mean and of the votes, and the noise from which pairs find their votes.
_MEAN_SHARE, _TEST_SHARE, _VOTE_NOISE = 0.2, 0.5, 0.05


def differences_cases_of(entry: Protocol) -> tuple[AuditCase, ...]:
    """Return the case of a holder of all rows, or of a site that sends its message."""
    votes = {"pooled": noisy_votes_of_holder, "full": _votes_of_site}.get(entry.key)
    return () if votes is None else (differences_case(entry, votes),)


def _votes_of_site(draw: Draw) -> FloatArray | None:
    return None if draw.noisy_votes is None else draw.noisy_votes[0]


def differences_case(entry: Protocol, votes_of: Callable[[Draw], FloatArray | None]) -> AuditCase:
    """Return the case in which one row turns all its differences and moves all its votes.

    Nearly all pairs vote for differences under both data sets. The score is the likelihood ratio
    of votes and matrix, and of the votes only in the rare draws with another centre.

    votes_of: Draw -> noisy shares of votes.
    """
    settings = replace(
        settings_of(entry),
        on_sphere=True,
        mean_share=_MEAN_SHARE,
        test_share=_TEST_SHARE,
        vote_noise=_VOTE_NOISE,
    )
    first, second = worst_pairs()
    scales = noise_scales(_N_SAMPLES, with_centre(settings, "differences"))
    of_moment = first.moment_of_differences() - second.moment_of_differences()
    votes = settings.vote_rule.votes
    of_votes = first.votes(votes) - second.votes(votes)

    def view(draw: Draw) -> FloatArray:
        released, votes = entry.release(draw), votes_of(draw)
        if votes is None:
            raise ValueError(f"{entry.key} has no votes")
        matrix = rebuild_matrix(released)
        if released.centre_choice != "differences":
            matrix[:] = 0
        return np.concatenate([matrix.ravel(), votes])

    def likelihood_ratio(views: FloatArray) -> FloatArray:
        matrices, votes = views[:, : _D**2].reshape(-1, _D, _D), views[:, _D**2 :]
        turned = np.einsum("nij,ij->n", matrices, of_moment) / scales.moment**2
        scores: FloatArray = turned + votes @ of_votes / scales.votes**2
        return scores

    is_read = entry.where is Where.EVERY_SITE
    return protocol_case(
        entry,
        settings,
        (first, second),
        view,
        Adversary.AGGREGATOR if is_read else Adversary.OUTSIDER,
        name=f"{entry.title}, differences of pairs",
        sees="the message and the noisy votes" if is_read else "the result and the noisy votes",
        centring=SPHERE,
        statistic=likelihood_ratio,
        is_gaussian=is_gaussian(entry),
        neighbours="One person's row turns about the rows that it is paired with, and leaves them.",
    )


def worst_pairs() -> tuple[SiteRows, SiteRows]:
    """Return one site with one of two rows, whose partners are equal.

    The row is on the first axis from its partners and near them, or on the second axis and far from
    them. The other pairs are near each other and point to all sides.
    """
    rng = np.random.default_rng(0)
    (ring, _), *_ = pair_blocks(np.arange(_N_SAMPLES), _N_SAMPLES)
    middle = np.full(_D, 0.5)
    rows = middle + 0.05 * rng.standard_normal((_N_SAMPLES, _D))
    rows[ring[[1, -1]]] = middle

    def with_row(step: FloatArray) -> SiteRows:
        changed = rows.copy()
        changed[ring[0]] = middle + step
        return SiteRows.of(changed, (np.arange(_N_SAMPLES),))

    near, far = 0.1 * np.eye(_D)[0], -1.2 * np.eye(_D)[1]
    return with_row(near), with_row(far)
