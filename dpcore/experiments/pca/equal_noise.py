"""One curve of captured energy for every (epsilon, delta).

Under each calibration, the noise of a site of n people is m / n times a unit draw, where m depends
on epsilon, delta and the calibration only. The same holds for the noise of a trusted aggregator
with all N people, of the private mean, and of CAPE's messages. With people, sites, K, R and noise
shape fixed, two settings with the same m are therefore the same computation, draw by draw. A sweep
over epsilon at one delta gives the captured energy at every other (epsilon, delta): exactly at
the m of its points, interpolated between them.

The number of people enters through m / n as well. Another number means other people, so in that
direction the curve holds only as far as their second moments agree.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.pca.runs import RunSpec


def iso_energy_sweep(
    spec: RunSpec, epsilons: Sequence[float], people_per_site: Sequence[int]
) -> Sweep:
    """Return the sweep over epsilon and the number of people per site."""
    return Sweep(spec, (("people_per_site", tuple(people_per_site)), ("epsilon", tuple(epsilons))))
