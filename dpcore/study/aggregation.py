"""What a hub makes of what sites sent: a centre, then components. All of it is post-processing.

And what the result promises, to whom, and on what that rests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import numpy as np

from dpcore.arrays import AnyArray, FloatArray, IntArray
from dpcore.cca.canonical import canonical_pairs, noise_floor
from dpcore.pca.aggregator import Inbox, add_up
from dpcore.pca.messages import symmetric_from
from dpcore.pca.site import SiteMessage
from dpcore.privacy import Adversary
from dpcore.privacy.accountant import counted_epsilon
from dpcore.privacy.guarantee_card import say_delta, say_number
from dpcore.releases.certificate import ASSUMPTIONS, READER_ALONE, relation, software, who_is_one
from dpcore.releases.exact import LENGTH, MOST_ROWS
from dpcore.releases.measurement import Measured, centre_of, leading_of
from dpcore.spectra import leading_eigenpairs
from dpcore.study.frames import MOMENT, SUM, FrameError, most_possible, noise_reach
from dpcore.study.masks import added_up
from dpcore.study.plan import StudyPlan

FORM = "dp-pca-lab/study-certificate/2"
OF_ALL_ATTEMPTS = (
    "Nobody plans how many attempts it takes. At whatever number they stop, for whatever was seen, "
    "epsilon_of_all_attempts holds of all of them at delta: an odometer's number, larger than that "
    "of a plan. Beside it each site's ledger keeps the cap that it was given beforehand, for all "
    "attempts and all else released about its people."
)
OF_SITES = tuple(
    """\
Each site's rows lie at that site alone, and its guard is this program, unchanged.
As many sites as are counted on keep their masks, keys and noise to themselves, and their public \
keys reached one another as they are.
Nobody times the guards, which take longer over more rows: a hub can, and ε does not cover it.
""".splitlines()
)


def centre_and_count(
    plan: StudyPlan, sums: Mapping[str, IntArray]
) -> tuple[tuple[int, ...], float]:
    """The centre on the grid and the noisy number of rows, from the sums of sites that answered.

    sums: mapping of str to ndarray of int64, shape (n_features + 1,)
    """
    noisy = added_up(list(sums.values()))
    n_rows = float(noisy[-1]) / plan.scales.count_weight
    sigma = math.sqrt(len(sums)) * plan.scales.sum_sigma
    centre = centre_of(noisy[:-1], n_rows, sigma)
    return tuple(int(each) for each in centre), n_rows


def require_possible_sum(plan: StudyPlan, sums: Mapping[str, IntArray]) -> None:
    """Refuse sums that no rows add up to, under masks or not.

    sums: As in `centre_and_count`.
    Raises `FrameError` with what they would be.
    """
    total, n_sites = added_up(list(sums.values())).astype(float), len(sums)
    beyond = np.abs(total) > n_sites * most_possible(plan, SUM)
    if beyond.any() or total[-1] < -n_sites * noise_reach(plan, SUM):
        count = total[-1] / plan.scales.count_weight
        raise FrameError(
            f"the sites' sums say that there are {count:,.0f} rows, and no rows add up to them: one"
            " of the sites sent what no guard sends"
        )


def require_possible_moment(
    plan: StudyPlan, moments: Mapping[str, AnyArray], n_rows: float
) -> None:
    """Refuse moments under masks that the counted rows, of length 1 at most, do not add up to.

    moments: As in `components`.
    n_rows: From `centre_and_count`, of these sites or more.
    Raises `FrameError`.
    """
    if not plan.is_masked:  # each is bounded for itself
        return
    n_sites, noise = len(moments), len(moments) * noise_reach(plan, MOMENT)
    off = len(plan.sites) * noise_reach(plan, SUM) / plan.scales.count_weight
    rows = min(n_rows + off, n_sites * MOST_ROWS)
    (total,) = _together(plan, list(moments.values()))
    together = _message(plan, total).values * LENGTH**2
    diagonal = np.diag(together)
    if (
        diagonal.min() < -noise
        or diagonal.sum() > rows * LENGTH**2 + plan.n_features * noise
        or np.abs(together).max() > rows * LENGTH**2 + noise
    ):
        raise FrameError(
            f"about {n_rows:,.0f} rows do not add up to the sites' moments: one of the sites sent "
            "what no guard sends"
        )


def count_in_words(plan: StudyPlan, n_rows: float, n_sites: int) -> str:
    """The noisy number of rows with its noise, and a word where it says nothing."""
    sigma = count_sigma(plan, n_sites)
    said = f"{n_rows:,.0f} ± {sigma:,.0f}"
    return said if n_rows > 2 * sigma else f"{said}, the noise hides how many"


def count_sigma(plan: StudyPlan, n_sites: int) -> float:
    """Of the noise on the number of rows at so many sites."""
    return math.sqrt(n_sites) * plan.scales.sum_sigma / plan.scales.count_weight


def components(
    plan: StudyPlan, moments: Mapping[str, AnyArray], centre: tuple[int, ...], n_rows: float
) -> Measured:
    """The leading directions of what the sites' moments add up to.

    moments: Upper triangles of noisy moments, or the directions of `dpdis`, of which P P^T goes
        with a site's rows.
    centre, n_rows: From `centre_and_count`.
    """
    received = [_message(plan, each) for each in _together(plan, list(moments.values()))]
    # No n_s of a site is public, and none is needed: its message is a sum over its rows.
    box = Inbox(np.ones(len(received)))
    for message in received:
        box.receive(message)
    add_up([box])
    sigma = None if plan.is_cut else _sigma_left(plan, len(moments))
    on_grid = np.array(centre, dtype=np.float64)
    return leading_of(box.average.matrix, plan.n_components, on_grid, n_rows, sigma)


def views(
    plan: StudyPlan, moments: Mapping[str, AnyArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For a study of two views: `dpcore.cca.canonical_pairs` of what the moments add up to.

    plan: With a `first_view`.
    moments: As in `components`.
    """
    together = _together(plan, list(moments.values()))
    joint = np.sum([_message(plan, each).values for each in together], axis=0)
    floor = noise_floor(joint, _sigma_left(plan, len(moments)), noise="isometric")
    return canonical_pairs(joint, int(plan.first_view or 0), plan.n_components, floor=floor)


def left_out_agreement(
    plan: StudyPlan, moments: Mapping[str, AnyArray], components: FloatArray
) -> FloatArray:
    """How much of the subspace stays without each site, from 0 to 1; NaN where nobody can know.

    A site that has moved the result by itself stands apart: it lies, or its people are different.

    moments: As in `components`.
    components: shape (n_components, n_features), orthonormal rows. What all gave.
    Returns: shape (n_sites,)
    """
    parts = _of_each_site(plan, moments)
    if not parts:
        return np.full(len(moments), np.nan)
    everybody = np.sum(parts, axis=0)
    without = [leading_eigenpairs(everybody - part, len(components))[1] for part in parts]
    return np.array([np.sum((components @ each.T) ** 2) for each in without]) / len(components)


def energy_at_sites(
    plan: StudyPlan, moments: Mapping[str, AnyArray], components: FloatArray
) -> FloatArray:
    """Of each site's message, its energy along the components over the most that as many could
    have; NaN where nobody can know.

    Their median is what a typical site gets: fewer than half of the sites, whatever they send,
    cannot make a bad result look good for it.

    moments: As in `components`.
    components: shape (n_components, n_features), orthonormal rows
    Returns: shape (n_sites,)
    """
    parts = _of_each_site(plan, moments)
    if not parts:
        return np.full(len(moments), np.nan)
    most = [leading_eigenpairs(part, len(components))[0].sum() for part in parts]
    along = [np.einsum("kd,de,ke->", components, part, components) for part in parts]
    return np.divide(along, most)


def _of_each_site(plan: StudyPlan, moments: Mapping[str, AnyArray]) -> list[FloatArray]:
    """The second moment of each message; none where a message by itself says nothing."""
    if plan.is_masked or plan.is_chain:
        return []
    messages = [_message(plan, each) for each in moments.values()]
    return [each.values if each.whole else each.values @ each.values.T for each in messages]


def _sigma_left(plan: StudyPlan, n_sites: int) -> float:
    """Of the noise on the diagonal of what so many whole moments add up to."""
    return math.sqrt(n_sites) * plan.scales.diagonal_sigma / LENGTH**2


def _together(plan: StudyPlan, moments: list[AnyArray]) -> list[AnyArray]:
    """Messages of which the second moments are to be added up."""
    if plan.is_chain:
        # The last one is an average over all sites that it came by.
        return [moments[-1] * math.sqrt(len(moments))]
    return [added_up(moments)] if plan.is_masked else moments


def _message(plan: StudyPlan, values: AnyArray) -> SiteMessage:
    if plan.is_cut:
        return SiteMessage(values, 1, 0.0)
    return SiteMessage(symmetric_from(values, plan.n_features) / LENGTH**2, 1, 0.0, whole=True)


def study_certificate(
    plan: StudyPlan, n_attempts: int, result: Mapping[str, AnyArray]
) -> dict[str, Any]:
    """The certificate of a study that has ended well, as a JSON document.

    result: As the hub keeps it.
    """
    scales, n_attempts = plan.scales, max(n_attempts, 1)
    worst = max(plan.epsilon_against(who) for who in Adversary)
    together = of_attempts(plan, n_attempts)
    components = np.ascontiguousarray(result["components"], "<f8")
    return {
        "form": FORM,
        "study": plan.name,
        "plan": plan.digest,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "promise": f"An attempt is (ε = {say_number(worst)}, δ = {say_delta(plan.delta)})-"
        "differentially private for every person at a site that took part.",
        "relation": relation(scales.rows_per_person),
        "person": who_is_one(plan.dictionary.person),
        "protocol": plan.protocol,
        "delta": plan.delta,
        "against": {
            who.value: {"epsilon": plan.epsilon_against(who), "noises_it_lacks": plan.unknown(who)}
            for who in Adversary
        },
        "attempts": n_attempts,
        "epsilon_of_all_attempts": together if math.isfinite(together) else None,
        "all_attempts": OF_ALL_ATTEMPTS,
        "sites": {"answered": [str(site) for site in result["sites"]], "of": list(plan.sites),
                  "fewest": plan.fewest, "honest": plan.honest},
        "noise_of_a_site": {each.name: getattr(scales, each.name) for each in fields(scales)},
        "distance": plan.distance,
        "preparation": {"name": plan.preparation, "mean_share": plan.mean_share},
        "result": {
            "components": len(components),
            "components_sha256": sha256(components.tobytes()).hexdigest(),
            "eigenvalues": np.asarray(result["eigenvalues"]).tolist(),
            "noisy_rows": float(result["n_rows"]),
            "noisy_rows_sigma": count_sigma(plan, len(result["sites"])),
        },
        "assumptions": [*(each for each in ASSUMPTIONS if each != READER_ALONE), *OF_SITES],
        "software": software(),
    }  # fmt: skip


def of_attempts(plan: StudyPlan, number: int) -> float:
    """Epsilon, at the plan's delta, for people whose site has answered so many attempts.

    How many there are is decided while messages are seen, by whoever falls silent and by a hub
    that begins anew, and no plan of so many was ever fixed: it is an odometer's number. Infinite
    where the samplers' distance leaves too little of delta.
    """
    return counted_epsilon(plan.worst.mu, number, plan.delta, distance=plan.distance)
