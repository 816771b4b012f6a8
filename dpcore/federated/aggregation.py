"""Principal components from the messages of the sites. All of it is post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dpcore.arrays import AnyArray, FloatArray, IntArray
from dpcore.cca.canonical import canonical_pairs, noise_floor
from dpcore.federated.masks import sum_of_masked
from dpcore.federated.messages import (
    MOMENT,
    PLOT_UNIT,
    SCORES,
    SUM,
    VOTES,
    MessageError,
    edges_of,
    most_possible,
    noise_reach,
)
from dpcore.federated.plan import SCORE_CELLS, FederatedPlan
from dpcore.pca.aggregator import Inbox, add_up
from dpcore.pca.centre_rule import DIFFERENCES, MEAN, NO_CENTRE
from dpcore.pca.messages import symmetric_from
from dpcore.pca.site import SiteMessage
from dpcore.release.integer_moments import MOST_ROWS
from dpcore.release.integer_rows import LENGTH
from dpcore.release.measurement import (
    ESTIMATES,
    Measured,
    are_votes_counted,
    centre_of,
    choose_by_votes,
    estimate_of,
    leading_of,
    name_centre,
)
from dpcore.release.scales import VOTE
from dpcore.spectra import PublicBasis, Spectrum, leading_eigenpairs
from dpcore.statistics import score_limits, shrink_counts


class Centre(NamedTuple):
    """Centre of the rows of all sites.

    choice: Item of `dpcore.pca.centre_rule.CENTRES`.
    place: Centre on the grid. Zeros without a centre; differences do not use it.
    limit: Result of `choose_by_votes`; None without votes.
    """

    choice: str
    place: tuple[int, ...]
    limit: float | None = None


def centre_and_count(
    plan: FederatedPlan, sums: Mapping[str, IntArray]
) -> tuple[tuple[int, ...], float]:
    """Return the centre on the grid and the noisy number of rows.

    sums: mapping of str to ndarray of int64, shape (n_features + 1,)
    """
    noisy = sum_of_masked(list(sums.values()))
    n_rows = float(noisy[-1]) / plan.scales.count_weight
    sigma = math.sqrt(len(sums)) * plan.scales.sum_sigma
    centre = centre_of(noisy[:-1], n_rows, sigma, plan.bases)
    return tuple(int(entry) for entry in centre), n_rows


def centre_without_votes(plan: FederatedPlan, place: tuple[int, ...], n_rows: float) -> Centre:
    """Return the centre of sites that do not vote, which has no rows if their number is noise.

    place, n_rows: Results of `centre_and_count`.
    """
    is_empty = plan.has_votes and n_rows < 1
    return Centre(NO_CENTRE if is_empty else MEAN, place)


def do_sites_vote(plan: FederatedPlan, n_rows: float) -> bool:
    """Return whether the round of votes follows, given the noisy number of rows."""
    return are_votes_counted(plan.scales, n_rows)


def centre_by_votes(
    plan: FederatedPlan,
    votes: Mapping[str, IntArray],
    sums: Mapping[str, IntArray],
    place: tuple[int, ...],
) -> Centre:
    """Return the centre that all sites decide on by the sum of their noisy votes.

    votes: Noisy numbers of `dpcore.release.exact_pairs.count_votes` of each site.
    sums, place: See `centre_and_count`.
    Raises `MessageError` if no rows can have these votes, with or without masks.
    """
    noisy, n_sites = sum_of_masked(list(votes.values())), len(votes)
    # Sites that voted may be fewer than those that were counted.
    _, n_rows = centre_and_count(plan, {site: sums[site] for site in votes})
    reach = n_sites * noise_reach(plan, VOTES)
    most = VOTE * (max(n_rows, 0) + n_sites * noise_reach(plan, SUM) / plan.scales.count_weight)
    if noisy.min() < -reach or noisy.max() > most + reach:
        raise MessageError(
            f"about {n_rows:,.0f} rows cannot have the sites' votes: at least one site sent a "
            "wrong message"
        )
    choice, limit = choose_by_votes(noisy, plan.scales_of_sum(n_sites), max(n_rows, 1.0))
    return Centre(choice, (0,) * plan.n_features if choice == NO_CENTRE else place, limit)


def require_possible_sum(plan: FederatedPlan, sums: Mapping[str, IntArray]) -> None:
    """Raise `MessageError` if no rows can have these sums, with or without masks.

    sums: See `centre_and_count`.
    """
    total, n_sites = sum_of_masked(list(sums.values())).astype(float), len(sums)
    beyond = np.abs(total) > n_sites * most_possible(plan, SUM)
    if beyond.any() or total[-1] < -n_sites * noise_reach(plan, SUM):
        count = total[-1] / plan.scales.count_weight
        raise MessageError(
            f"the sites' sums imply {count:,.0f} rows, which is impossible: at least one site "
            "sent a wrong message"
        )


def require_possible_moment(
    plan: FederatedPlan, moments: Mapping[str, AnyArray], n_rows: float
) -> None:
    """Raise `MessageError` if the counted rows cannot have the sum of these masked moments.

    moments: See `components`.
    n_rows: Result of `centre_and_count` for these sites or more.
    """
    if not plan.is_masked:  # `values_from` has checked each message.
        return
    n_sites, noise = len(moments), len(moments) * noise_reach(plan, MOMENT)
    count_reach = len(plan.sites) * noise_reach(plan, SUM) / plan.scales.count_weight
    rows = min(n_rows + count_reach, n_sites * MOST_ROWS)
    (total,) = _readable_messages(plan, list(moments.values()))
    moment = _site_message(plan, total).values * LENGTH**2
    diagonal = np.diag(moment)
    if (
        diagonal.min() < -noise
        or diagonal.sum() > rows * LENGTH**2 + plan.n_features * noise
        or np.abs(moment).max() > rows * LENGTH**2 + noise
    ):
        raise MessageError(
            f"about {n_rows:,.0f} rows cannot have the sites' moments: at least one site sent a "
            "wrong message"
        )


def count_in_words(plan: FederatedPlan, n_rows: float, n_sites: int) -> str:
    """Return the noisy number of rows with its standard deviation."""
    sigma = count_sigma(plan, n_sites)
    text = f"{n_rows:,.0f} ± {sigma:,.0f}"
    return text if n_rows > 2 * sigma else f"{text}, hidden by the noise"


def count_sigma(plan: FederatedPlan, n_sites: int) -> float:
    """Return the standard deviation of the noise on the number of rows."""
    return math.sqrt(n_sites) * plan.scales.sum_sigma / plan.scales.count_weight


def components(
    plan: FederatedPlan, moments: Mapping[str, AnyArray], centre: Centre, n_rows: float
) -> Measured:
    """Return the leading directions of the sum of the sites' moments.

    moments: Upper triangles of noisy moments, or the directions P of `dpdis`, which stand for
        the moment P P^T.
    n_rows: Result of `centre_and_count`.
    """
    received = [
        _site_message(plan, message) for message in _readable_messages(plan, list(moments.values()))
    ]
    # A message is a sum over rows, so the unknown numbers of rows are not needed as weights.
    box = Inbox(np.ones(len(received)))
    for message in received:
        box.receive(message)
    add_up([box])
    is_of_differences = centre.choice == DIFFERENCES
    sigma = None if plan.is_cut else _diagonal_sigma(plan, len(moments), is_of_differences)
    place = np.array(centre.place, dtype=np.float64)
    bases = () if plan.is_cut else plan.bases
    measured = leading_of(box.average.matrix, plan.n_components, place, n_rows, sigma, bases)
    scales = plan.scales.for_differences() if is_of_differences else plan.scales
    return name_centre(measured, centre.choice, centre.limit, scales)


def views(
    plan: FederatedPlan, moments: Mapping[str, AnyArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return `dpcore.cca.canonical_pairs` of the sum of the moments.

    plan: Plan with a `first_view`.
    moments: See `components`.
    """
    messages = _readable_messages(plan, list(moments.values()))
    joint = np.sum([_site_message(plan, message).values for message in messages], axis=0)
    floor = noise_floor(joint, _diagonal_sigma(plan, len(moments)), noise="isometric")
    return canonical_pairs(joint, int(plan.first_view or 0), plan.n_components, floor=floor)


def left_out_agreement(
    plan: FederatedPlan,
    moments: Mapping[str, AnyArray],
    components: FloatArray,
    bases: Sequence[PublicBasis] = (),
    *,
    of_differences: bool = False,
) -> FloatArray:
    """Return the overlap of the subspaces with and without each site, from 0 to 1.

    A low value marks a site that changes the result: it lies, or its people differ. The values are
    NaN if the aggregator cannot read single messages.

    moments: See `components`.
    components: shape (n_components, n_features), orthonormal rows. Result with all sites.
    bases: Bases in which that result was denoised.
    of_differences: Whether moments are those of differences of pairs.
    Returns: shape (n_sites,)
    """
    parts = _site_moments(plan, moments)
    if not parts:
        return np.full(len(moments), np.nan)
    pooled = np.sum(parts, axis=0)
    sigma = _diagonal_sigma(plan, len(parts) - 1, of_differences) if bases else 0.0
    others = [
        Spectrum(pooled - part).denoised(sigma, bases=bases, noise="isometric").matrix
        for part in parts
    ]
    without = [leading_eigenpairs(matrix, len(components))[1] for matrix in others]
    return np.array(
        [np.sum((components @ components_of_others.T) ** 2) for components_of_others in without]
    ) / len(components)


def energy_at_sites(
    plan: FederatedPlan, moments: Mapping[str, AnyArray], components: FloatArray
) -> FloatArray:
    """Return the captured energy of the components in each site's own message.

    Fewer than half of the sites cannot raise the median arbitrarily. The values are NaN if the
    aggregator cannot read single messages.

    moments: See `components`.
    components: shape (n_components, n_features), orthonormal rows
    Returns: shape (n_sites,)
    """
    parts = _site_moments(plan, moments)
    if not parts:
        return np.full(len(moments), np.nan)
    most = [leading_eigenpairs(part, len(components))[0].sum() for part in parts]
    captured = [np.einsum("kd,de,ke->", components, part, components) for part in parts]
    return np.divide(captured, most)


def _site_moments(plan: FederatedPlan, moments: Mapping[str, AnyArray]) -> list[FloatArray]:
    """Return the second moment of each message; empty if messages are masked."""
    if plan.is_masked:
        return []
    messages = [_site_message(plan, message) for message in moments.values()]
    return [
        message.values if message.whole else message.values @ message.values.T
        for message in messages
    ]


def _diagonal_sigma(plan: FederatedPlan, n_sites: int, of_differences: bool = False) -> float:
    """Return the standard deviation of the noise on the diagonal of a sum of whole moments."""
    scales = plan.scales.for_differences() if of_differences else plan.scales
    return math.sqrt(n_sites) * scales.diagonal_sigma / LENGTH**2


def _readable_messages(plan: FederatedPlan, moments: list[AnyArray]) -> list[AnyArray]:
    """Return the readable messages: the sum if messages are masked, else all of them."""
    return [sum_of_masked(moments)] if plan.is_masked else moments


def _site_message(plan: FederatedPlan, values: AnyArray) -> SiteMessage:
    if plan.is_cut:
        return SiteMessage(values, 1, 0.0)
    return SiteMessage(symmetric_from(values, plan.n_features) / LENGTH**2, 1, 0.0, whole=True)


def arrays_of_result(
    plan: FederatedPlan, moments: Mapping[str, AnyArray], centre: Centre, n_rows: float
) -> dict[str, AnyArray]:
    """Return the arrays of `result.npz`.

    moments: Messages that `require_possible_moment` accepts.
    n_rows: Result of `centre_and_count`.
    """
    measured = components(plan, moments, centre, n_rows)
    arrays: dict[str, AnyArray] = {
        name: np.asarray(estimate_of(measured, name)) for name in ESTIMATES
    }
    arrays |= {
        "components": measured.components,
        "eigenvalues": measured.eigenvalues,
        "centre": measured.centre,
        "centre_choice": np.array(measured.centre_choice),
        "above_noise": np.asarray(-1 if measured.n_above_noise is None else measured.n_above_noise),
        "n_rows": np.asarray(measured.n_rows),
        "sites": np.array(list(moments)),
        "features": np.array(plan.dictionary.features),
        "left_out_agreement": left_out_agreement(
            plan,
            moments,
            measured.components,
            measured.bases,
            of_differences=centre.choice == DIFFERENCES,
        ),
        "denoised_in": np.array([basis.name for basis in measured.bases], dtype=str),
        "energy_at_sites": energy_at_sites(plan, moments, measured.components),
    }
    if plan.first_view is not None:
        names = "x_rotations", "y_rotations", "correlations"
        arrays |= dict(zip(names, views(plan, moments), strict=True))
    return arrays


def plot_of(result: Mapping[str, AnyArray]) -> tuple[int, ...]:
    """Return the components and limits of a score plot as a request states them.

    result: Result of `arrays_of_result`, at least two components.
    """
    limits = score_limits(result["eigenvalues"] / max(1.0, float(result["n_rows"])))
    numbers = np.concatenate([result["components"][:2].ravel(), limits])
    return tuple(np.rint(np.clip(numbers, -1, 1) * PLOT_UNIT).astype(int).tolist())


def arrays_of_scores(
    plan: FederatedPlan,
    scores: Mapping[str, IntArray],
    sums: Mapping[str, IntArray],
    plot: tuple[int, ...],
) -> dict[str, AnyArray]:
    """Return the arrays of a score plot in `result.npz`.

    scores: Noisy counts of each site.
    sums: See `centre_and_count`.
    plot: Result of `plot_of`.
    Raises `MessageError` if no rows can have these counts, with or without masks.
    """
    counts = sum_of_masked(list(scores.values())).reshape(SCORE_CELLS, SCORE_CELLS) / VOTE
    _, n_rows = centre_and_count(plan, {site: sums[site] for site in scores})
    reach = len(scores) * noise_reach(plan, SCORES) / VOTE
    most = max(n_rows, 0) + len(scores) * noise_reach(plan, SUM) / plan.scales.count_weight
    if counts.min() < -reach or counts.max() > most + reach:
        raise MessageError(
            f"about {n_rows:,.0f} rows cannot have the sites' scores: at least one site sent a "
            "wrong message"
        )
    deviation = math.sqrt(len(scores)) * plan.score_sigma / VOTE
    density = shrink_counts(counts[None], deviation, max(1.0, n_rows))
    edges = edges_of(np.array(plot[-2:]) / PLOT_UNIT)
    return {"score_counts": counts, "score_density": density[0], "score_edges": edges}
