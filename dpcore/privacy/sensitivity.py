"""Replace-one sensitivities of second moments and means, for rows with norm at most c.

Each function's docstring has its proof.
"""

from __future__ import annotations

import math
from numbers import Real

from dpcore.errors import ParameterError


def l2_sensitivity_of_second_moment(n_samples: float, row_norm_bound: float = 1.0) -> float:
    """Return the l2 sensitivity sqrt(2) c^2 / n of the second moment X^T X / n.

    Proof: ||x x^T - y y^T||_F^2 = |x|^4 + |y|^4 - 2 (x . y)^2 <= 2 c^4, attained by orthogonal
    rows of norm c. The upper triangle with the diagonal has the same bound: for rows along two
    axes the whole change is on the diagonal. With one feature, no two rows are orthogonal and
    the value is an upper bound.

    Raises
    ------
    ParameterError
        If `n_samples` is below 1 or `row_norm_bound` not a positive finite number.
    """
    require_positive("n_samples", n_samples)
    require_positive("row_norm_bound", row_norm_bound)
    return math.sqrt(2.0) * row_norm_bound**2 / n_samples


def l2_sensitivity_of_moment_and_mean(
    n_samples: float, row_norm_bound: float = 1.0, *, weight: float = 0.0
) -> float:
    """Return the l2 sensitivity of (A, w m): second moment X^T X / n and w times the mean m.

    With noise sigma on A and sigma / w on m, mu is this sensitivity divided by sigma.

    Proof. Replacing a row x by y, both of norm c at an angle with cosine t, moves the pair by
    c^2 / n times the root of 2 (1 - t^2) + 2 v (1 - t), v = w^2 / c^2. The maximum is at
    t = -v / 2, or at t = -1 for v above 2:

        sqrt(2) (c^2 + w^2 / 2) / n   where w^2 <= 2 c^2,   2 w c / n   elsewhere.

    The sum of both sensitivities is not attained: the first needs orthogonal rows, the second
    opposite ones. Shorter rows move the pair less: at norms p <= q (in units of c) and the worst
    t the square is p^4 + q^4 + v^2 / 2 + v (p^2 + q^2) where v <= 2 p q, and (p^2 - q^2)^2 +
    v (p + q)^2 elsewhere. Both grow with q and with p; the derivative of the second by p is
    at least 2 q (v - 2 p q).

    With two or more features the value is attained, also by the upper triangle of A: rows can be
    rotated until the whole change is on the diagonal. With one feature it is an upper bound.

    Parameters
    ----------
    n_samples : float
    row_norm_bound : float
        c.
    weight : float
        w, in the units of a row; 0 without a mean.

    Raises
    ------
    ParameterError
        If `n_samples` or `row_norm_bound` is not positive, or `weight` negative.
    """
    without_mean = l2_sensitivity_of_second_moment(n_samples, row_norm_bound)
    if not 0 <= weight < math.inf:
        raise ParameterError("weight", "at least 0 and finite", weight)
    relative = weight / row_norm_bound
    if relative**2 <= 2:
        return without_mean * (1 + relative**2 / 2)
    return without_mean * math.sqrt(2) * relative


def l2_sensitivity_of_differences(n_samples: float) -> float:
    """Return the l2 sensitivity 2 sqrt(2) / n of the moment of normalised differences of pairs.

    Each of the n rows is in two of n pairs, or in one of n / 2 pairs of a matching, and the moment
    is the average of u u^T over the pairs, with u = (x_i - x_j) / |x_i - x_j|.

    Proof. Replacing a row changes the u of its pairs only, each from a unit vector to another (or
    to zero for equal rows), and ||u u^T - v v^T||_F <= sqrt(2) as in
    `l2_sensitivity_of_second_moment`. Its pairs are a share 2 / n of all pairs. The same bound
    holds for an average over any number of matchings, by the triangle inequality.

    The value is attained: where a row's partners are equal, the row can move from them along one
    axis to another axis, which turns all its differences by a right angle.

    Raises
    ------
    ParameterError
        If `n_samples` is not positive.
    """
    require_positive("n_samples", n_samples)
    return 2 * math.sqrt(2.0) / n_samples


def l2_sensitivity_of_votes(n_samples: float) -> float:
    """Return the l2 sensitivity 2 sqrt(2) / n of the shares of n pairs that vote for a centre.

    A row is in two of n pairs. Replacing it moves both votes from one candidate to another at
    most, which changes two shares by 2 / n each.

    Raises
    ------
    ParameterError
        If `n_samples` is not positive.
    """
    require_positive("n_samples", n_samples)
    return 2 * math.sqrt(2.0) / n_samples


def l2_sensitivity_on_sphere(
    n_samples: float,
    *,
    weight: float = 0.0,
    votes_weight: float = 0.0,
    of_differences: bool = False,
) -> float:
    """Return the joint l2 sensitivity of votes, a private mean and the moment on the sphere.

    The value is sqrt(2 + 4 w^2 + 8 v^2) / n, with noise sigma on the moment, sigma / w on the mean
    and sigma / v on the shares of votes; with a moment of differences, 8 replaces 2.

    Proof. The mean of rows of norm at most 1 has sensitivity 2 / n. A row x then becomes
    (x - m) / |x - m|, which depends only on x and the released mean m. Given m, replacing a row
    moves the second moment by at most sqrt(2) / n, since two unit vectors at an angle with cosine
    t differ by sqrt(2 (1 - t^2)) / n. The votes are released first and choose among moments with
    the same mu. These are Gaussian mechanisms in sequence, whose mu squared add up (Dong, Roth &
    Su 2022, corollary 3.3).

    With two or more features the value is approached: opposite rows x and -x become orthogonal
    if all other rows are orthogonal to them and equally long.

    Parameters
    ----------
    n_samples : float
    weight, votes_weight : float
        w and v; 0 without a mean and without votes.
    of_differences : bool

    Raises
    ------
    ParameterError
        If `n_samples` is below 1 or a weight negative.
    """
    for name, value in (("weight", weight), ("votes_weight", votes_weight)):
        if not 0 <= value < math.inf:
            raise ParameterError(name, "at least 0 and finite", value)
    of_moment = l2_sensitivity_of_differences if of_differences else l2_sensitivity_of_second_moment
    of_votes = votes_weight * l2_sensitivity_of_votes(n_samples)
    return math.hypot(of_moment(n_samples), 2 * weight / n_samples, of_votes)


def nuclear_sensitivity_of_moment_and_mean(
    n_samples: float, row_norm_bound: float = 1.0, *, weight: float = 0.0
) -> float:
    """Return the nuclear sensitivity of A, bordered by w times the mean if w is not 0.

    Proof. Append the entry w to every row: the second moment of the rows z = (x, w) contains A,
    w m and w^2. The change z z^T - z' z'^T has one positive and one negative eigenvalue, whose
    magnitudes add up to the root of (|z|^2 + |z'|^2)^2 - 4 <z, z'>^2. The maximum is at rows of
    norm c, with <z, z'> = 0 where rows can compensate the w^2 in it, else at opposite rows:

        2 (c^2 + w^2) / n   where w <= c,   4 w c / n   elsewhere.

    With rows of lengths p and q at their worst angle the sum is p^2 + q^2 + 2 w^2 where
    w^2 <= p q, and elsewhere (p + q) times the root of (p - q)^2 + 4 w^2: both grow with p and q.
    With two or more features the value is attained; with one feature and no mean it is an upper
    bound.

    Raises
    ------
    ParameterError
        If `n_samples` or `row_norm_bound` is not positive, or `weight` negative.
    """
    require_positive("n_samples", n_samples)
    require_positive("row_norm_bound", row_norm_bound)
    if not 0 <= weight < math.inf:
        raise ParameterError("weight", "at least 0 and finite", weight)
    if weight <= row_norm_bound:
        return 2 * (row_norm_bound**2 + weight**2) / n_samples
    return 4 * weight * row_norm_bound / n_samples


def mean_weight(mean_share: float, row_norm_bound: float = 1.0) -> float:
    """Return the weight w = c sqrt(s / (2 (1 - s))) that gives the mean the share s of mu squared.

    The weight is the noise of the second moment divided by the noise of the mean. Each part is
    counted at its own worst pair of rows: (2 c / n)^2 w^2 and 2 c^4 / n^2. Jointly they spend
    less than the sum (`l2_sensitivity_of_moment_and_mean`).

    Parameters
    ----------
    mean_share : float
        s, in [0, 1).
    row_norm_bound : float
        c.

    Raises
    ------
    ParameterError
        If `mean_share` is outside [0, 1).
    """
    if not 0 <= mean_share < 1:
        raise ParameterError("mean_share", "in [0, 1)", mean_share)
    return row_norm_bound * math.sqrt(mean_share / (2 * (1 - mean_share)))


def require_positive(parameter: str, value: float) -> None:
    """Raise a ParameterError unless the value is positive and finite."""
    if not isinstance(value, Real) or not 0 < value < math.inf:
        raise ParameterError(parameter, "a positive finite number", value)
