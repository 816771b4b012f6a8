"""Replace-one sensitivity: how far one row can move a second moment, and the mean beside it."""

from __future__ import annotations

import math

from dpcore.errors import ParameterError


def l2_sensitivity_of_second_moment(n_samples: float, row_norm_bound: float = 1.0) -> float:
    """sqrt(2) c^2 / n: the replace-one l2-sensitivity of X^T X / n, attained by orthogonal rows.

    The upper triangle with the diagonal has the same bound: for rows along two axes the change
    is all on the diagonal. With one feature no two rows are orthogonal, and it is an upper bound.

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
    """Replace-one l2-sensitivity of (A, w m): the second moment X^T X / n and w times the mean.

    With noise sigma on A and sigma / w on m, mu is this over sigma. Rows x and y of norm c at
    an angle of cosine t move the pair by c^2 / n times the root of 2 (1 - t^2) + 2 v (1 - t),
    v = w^2 / c^2, which is largest at t = -v / 2, or at t = -1 for v above 2:

        sqrt(2) (c^2 + w^2 / 2) / n   where w^2 <= 2 c^2,   2 w c / n   elsewhere.

    No pair attains both parts' sensitivities: the first wants orthogonal rows, the second
    opposite ones. Shorter rows move less: at norms p <= q (in units of c) and the worst t the
    square is p^4 + q^4 + v^2 / 2 + v (p^2 + q^2) where v <= 2 p q, and (p^2 - q^2)^2 +
    v (p + q)^2 elsewhere. Both grow with p and q together, and with p alone: the derivative of
    the second is at least 2 q (v - 2 p q).

    With two features or more the value is attained, by the upper triangle of A too: rows can be
    turned so that the change is all on the diagonal. With one it is an upper bound.

    Parameters
    ----------
    n_samples : float
    row_norm_bound : float
        c.
    weight : float
        w, in the units of a row; 0 leaves the mean out.

    Raises
    ------
    ParameterError
        If `n_samples` or `row_norm_bound` is not positive, or `weight` negative.
    """
    alone = l2_sensitivity_of_second_moment(n_samples, row_norm_bound)
    if not 0 <= weight < math.inf:
        raise ParameterError("weight", "at least 0 and finite", weight)
    relative = weight / row_norm_bound
    if relative**2 <= 2:
        return alone * (1 + relative**2 / 2)
    return alone * math.sqrt(2) * relative


def l2_sensitivity_on_sphere(n_samples: float, *, weight: float = 0.0) -> float:
    """Replace-one l2-sensitivity of a mean and of the moment of rows at length 1 around it.

    A row x becomes (x - m) / |x - m|, which depends on its person and on what has been released,
    m, alone. Given m, one row in n moves the second moment by at most sqrt(2) / n: two unit
    vectors at an angle of cosine t by sqrt(2 (1 - t^2)) / n. Before, it moved the mean of rows of
    length at most 1 by at most 2 / n. With noise sigma on the moment and sigma / w on the mean the
    two are Gaussian mechanisms one after the other, whose mu squared add up (Dong, Roth & Su
    2022, corollary 3.3), to this over sigma:

        root of 2 + 4 w^2, over n.

    It is approached, with two features or more: opposite rows x and -x become orthogonal where
    everybody else is at a right angle to them and as long.

    Parameters
    ----------
    n_samples : float
    weight : float
        w; 0 where no mean is released.

    Raises
    ------
    ParameterError
        If `n_samples` is below 1 or `weight` negative.
    """
    if not 0 <= weight < math.inf:
        raise ParameterError("weight", "at least 0 and finite", weight)
    return math.hypot(l2_sensitivity_of_second_moment(n_samples), 2 * weight / n_samples)


def nuclear_sensitivity_of_moment_and_mean(
    n_samples: float, row_norm_bound: float = 1.0, *, weight: float = 0.0
) -> float:
    """Replace-one nuclear sensitivity of A, bordered by w times the mean where w is not 0.

    Put w as one more entry into every row: the second moment of the rows z = (x, w) holds A, w m
    and w^2, and the change z z^T - z' z'^T has eigenvalues of either sign whose magnitudes add
    up to the root of (|z|^2 + |z'|^2)^2 - 4 <z, z'>^2. That is largest for rows as long as
    can be, at <z, z'> = 0 where the w^2 in it can be made up for, and at opposite rows elsewhere:

        2 (c^2 + w^2) / n   where w <= c,   4 w c / n   elsewhere.

    With rows of lengths p and q at their worst angle the sum is p^2 + q^2 + 2 w^2 where
    w^2 <= p q, and elsewhere (p + q) times the root of (p - q)^2 + 4 w^2: both grow with p and q.
    With two features or more it is attained; with one, and without a mean, it is an upper bound.

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
    """c sqrt(s / (2 (1 - s))): the noise of a second moment over that of the mean beside it.

    So divided, the mean takes the share s of mu squared, where each part is counted at its own
    worst pair of rows: (2 c / n)^2 w^2 against 2 c^4 / n^2. Together they spend less than that
    sum (`l2_sensitivity_of_moment_and_mean`).

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
    if not 0 < value < math.inf:
        raise ParameterError(parameter, "a positive finite number", value)
