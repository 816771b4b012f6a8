"""One curve for every (epsilon, delta): captured energy against the size of the noise.

Under each calibration the noise of a site of n people is m / n times a unit draw, where m
depends on epsilon, delta and the calibration only; so does that of a trusted aggregator with all
N people, of the private mean, and of CAPE's messages. With the people, sites, K, R, shape of the
noise and truncation held, two settings with the same m are therefore the same computation, draw
by draw. A sweep over epsilon at one delta gives the energy at every other (epsilon, delta): exact
at the m of its points, interpolated between them.

The number of people enters through m / n as well, but another number means other people, so
there the curve holds only as far as their second moments agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.pca.runs import PcaRow
from dpcore.experiments.pca.spec import RunSpec
from dpcore.privacy import PrivacyBudget, second_moment_sigma

_VARIES = ("epsilon", "delta", "calibration")
HELD = tuple(
    name
    for name in PcaRow.__annotations__
    if name in RunSpec.__dataclass_fields__ and name not in _VARIES
)


def noise_multiplier(epsilon: float, delta: float, calibration: str) -> float:
    """m, the noise of a site of one person in units of the squared row norm bound.

    Raises `ParameterError` if the calibration does not cover this budget.
    """
    return second_moment_sigma(PrivacyBudget(epsilon, delta), 1, calibration=calibration)


@dataclass(frozen=True)
class NoiseCurve:
    """Energy ratio of one protocol against the noise multiplier.

    multipliers: shape (n_points,), ascending
    energies: shape (n_draws, n_points). Of each draw.
    """

    multipliers: FloatArray
    energies: FloatArray

    @classmethod
    def from_rows(cls, rows: Sequence[Row], protocol: str) -> NoiseCurve:
        """The curve of one protocol from rows in which only epsilon, delta or calibration vary.

        Raises `ParameterError` if something else varies, there is only one point, or a draw is
            missing at some point.
        """
        own = [row for row in rows if row["protocol"] == protocol]
        for field in HELD:
            values = {row[field] for row in own}
            if len(values) > 1:
                raise ParameterError("rows", f"of one {field}", sorted(map(str, values)))
        points: dict[float, dict[int, float]] = {}
        for row in own:
            m = noise_multiplier(row["epsilon"], row["delta"], row["calibration"])
            points.setdefault(m, {})[row["repetition"]] = row["energy_ratio"]
        draws = {tuple(sorted(point)) for point in points.values()}
        if len(points) < 2 or len(draws) != 1:
            raise ParameterError("rows", "of two or more points with the same draws", len(points))
        multipliers = np.array(sorted(points))
        (order,) = draws
        energies = [[points[m][draw] for m in multipliers] for draw in order]
        return cls(multipliers, np.array(energies))

    def covers(self, multiplier: float) -> bool:
        """Whether a multiplier is between points of the curve."""
        return bool(self.multipliers[0] <= multiplier <= self.multipliers[-1])

    def energy(self, multipliers: FloatArray) -> FloatArray:
        """Energy of each draw, shape (n_draws, *multipliers.shape); NaN outside the curve.

        Monotone cubic interpolation in log m (Fritsch & Carlson 1980): no overshoot.
        """
        curve = PchipInterpolator(
            np.log(self.multipliers), self.energies, axis=1, extrapolate=False
        )
        energies: FloatArray = curve(np.log(multipliers))
        return energies

    def map(
        self, epsilons: Sequence[float], deltas: Sequence[float], *, calibration: str = "published"
    ) -> FloatArray:
        """Mean energy over (delta, epsilon), shape (n_deltas, n_epsilons); NaN outside."""
        multipliers = np.array(
            [[noise_multiplier(e, d, calibration) for e in epsilons] for d in deltas]
        )
        means: FloatArray = self.energy(multipliers).mean(axis=0)
        return means
