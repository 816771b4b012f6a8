"""What a hub makes of what sites sent: a centre, then components. All of it is post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dpcore.arrays import AnyArray, FloatArray, IntArray
from dpcore.releases.exact.integer_rows import LENGTH
from dpcore.releases.measurement import Measured, centre_of, leading_of
from dpcore.study.masks import added_up
from dpcore.study.plan import StudyPlan


def centre_and_count(
    plan: StudyPlan, sums: Mapping[str, IntArray]
) -> tuple[tuple[int, ...], float]:
    """The centre on the grid and the noisy number of rows, from the sums of sites that answered.

    Parameters
    ----------
    plan : StudyPlan
    sums : mapping of str to ndarray of int64, shape (n_features + 1,)
    """
    noisy = added_up(list(sums.values()))
    n_rows = float(noisy[-1]) / plan.scales.count_weight
    sigma = math.sqrt(len(sums)) * plan.scales.sum_sigma
    centre = centre_of(noisy[:-1], n_rows, sigma)
    return tuple(int(each) for each in centre), n_rows


def components(
    plan: StudyPlan, moments: Mapping[str, AnyArray], centre: tuple[int, ...], n_rows: float
) -> Measured:
    """The leading directions of what the sites' moments add up to.

    Parameters
    ----------
    plan : StudyPlan
    moments : mapping of str to ndarray
        Upper triangles of noisy moments, or the directions of `dpdis`, of which P P^T goes with a
        site's rows.
    centre, n_rows
        From `centre_and_count`.
    """
    on_grid = np.array(centre, dtype=np.float64)
    if plan.protocol == "dpdis":
        moment = np.sum([each @ each.T for each in moments.values()], axis=0)
        return leading_of(moment, plan.n_components, on_grid, n_rows, None)
    moment = _square(added_up(list(moments.values())), plan.n_features) / LENGTH**2
    sigma = math.sqrt(len(moments)) * plan.scales.diagonal_sigma / LENGTH**2
    return leading_of(moment, plan.n_components, on_grid, n_rows, sigma)


def _square(upper: IntArray, n_features: int) -> FloatArray:
    moment = np.zeros((n_features, n_features))
    above = np.triu_indices(n_features)
    moment[above] = upper
    moment.T[above] = upper
    return moment
