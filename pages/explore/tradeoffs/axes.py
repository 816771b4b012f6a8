"""What may vary on the Trade-offs page, and which settings may be compared."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcore.mechanisms import NOISE_SHAPES
from dpcore.pca import TRUNCATIONS
from dpcore.privacy import CALIBRATIONS

SETTINGS = {
    "calibration": ("Calibrations", CALIBRATIONS),
    "noise": ("Noise shapes", NOISE_SHAPES),
    "truncation": ("Truncations", TRUNCATIONS),
}


@dataclass(frozen=True)
class Axis:
    """A field that may vary: how it is called, written, and drawn; and values to begin with."""

    title: str
    axis: str
    at: str
    values: str
    whole: bool = False
    logarithmic: bool = True
    grows: bool = True
    least: float = math.ulp(0.0)

    def told(self, value: float) -> str:
        """A value with its name."""
        words = self.at.format(value)
        if value == 1:
            words = words.replace(" sites", " site").replace(" people", " person")
        return words

    @property
    def kind(self) -> type:
        return int if self.whole else float


AXES: dict[str, Axis] = {
    "epsilon": Axis(
        "ε", "← more private     asked ε     less private →", "ε = {:g}",
        "0.01, 0.05, 0.1, 0.5, 1, 5, 10",
    ),
    "delta": Axis(
        "δ", "← more private     asked δ     less private →", "δ = {:g}",
        "0.000001, 0.00001, 0.0001, 0.001, 0.01, 0.1",
    ),
    "people_per_site": Axis(
        "people per site", "people at each site", "{:,g} people a site", "20, 50, 100, 200, 350",
        whole=True,
    ),
    "sites": Axis(
        "sites S", "sites S, with the people in all held", "{:g} sites", "1, 2, 4, 8, 16, 32",
        whole=True, grows=False,
    ),
    "intermediate_ratio": Axis(
        "directions each site sends", "directions a site sends for each one wanted, R : K",
        "R = {:g} K",
        "0.5, 1, 1.5, 2, 3, 4", logarithmic=False,
    ),
    "dropped_sites": Axis(
        "sites that drop out", "sites that never answer", "{:g} sites dropped out",
        "0, 1, 2, 3, 4", whole=True, logarithmic=False, grows=False, least=0,
    ),
    "components": Axis(
        "components K", "components K", "K = {:g}", "1, 2, 5, 10, 15, 20",
        whole=True, logarithmic=False, grows=False,
    ),
}  # fmt: skip
