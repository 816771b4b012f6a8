"""Captured energy for the bytes that a site sends.

Two families of messages, both post-processing of one noisy second moment: proxies at an R and a
precision, and the whole matrix with dithered rounding to a step of k sigma.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean

from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.spec import Row, group_by_key
from dpcore.experiments.pca.runs import RunSpec
from dpcore.pca.settings import NATIVE, PRECISIONS, ROUNDED

STEPS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
RATIOS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


@dataclass(frozen=True)
class RatePoint:
    """Encoding of a message with its length and captured energy.

    family: "proxy" or "whole matrix".
    intermediate_dim: R of a proxy.
    bytes_per_site: Mean length of a site's message.
    energy, least, greatest: Mean and extremes of the captured energy over the draws.
    is_best: Whether no other encoding captures as much with fewer bytes.
    """

    family: str
    encoding: str
    intermediate_dim: int | None
    bytes_per_site: float
    energy: float
    least: float
    greatest: float
    is_best: bool = False

    @property
    def label(self) -> str:
        """Name of the encoding: "R = 100, float32", "step 1 σ" or "as it is"."""
        if self.family == "proxy":
            return f"R = {self.intermediate_dim}, {self.encoding}"
        if self.encoding.startswith(ROUNDED):
            return f"step {self.encoding.removeprefix(ROUNDED)} σ"
        return "as it is" if self.encoding == NATIVE else self.encoding

    def as_row(self) -> Row:
        """Return the point as a row of a table, with its label."""
        return {"label": self.label, **asdict(self)}


def rate_sweeps(
    spec: RunSpec,
    *,
    ratios: Sequence[float] = RATIOS,
    precisions: Sequence[str] = PRECISIONS,
    steps: Sequence[float] = STEPS,
) -> tuple[Sweep, Sweep]:
    """Return the two sweeps of a frontier: proxies over R and precision, whole matrices over steps.

    Both use the same draws of noise. `rate_points` takes the rows of both together.
    """
    rounded = tuple(f"{ROUNDED}{step:g}" for step in steps)
    return (
        Sweep(
            replace(spec, protocols=("dpdis",)),
            (("intermediate_ratio", tuple(ratios)), ("encoding", tuple(precisions))),
        ),
        Sweep(replace(spec, protocols=("full",)), (("encoding", (NATIVE, *rounded)),)),
    )


def rate_points(rows: Sequence[Row]) -> tuple[RatePoint, ...]:
    """Return captured energy against bytes, fewest bytes first, with the frontier marked.

    rows: Rows of "dpdis" and "full" that differ only in R and encoding.
    """
    ways = group_by_key((_encoding_of(row), row) for row in rows)
    points = []
    for way, members in ways.items():
        energies = [row["energy_ratio"] for row in members]
        points.append(
            RatePoint(
                *way,
                fmean(row["bytes_sent"] / row["sites"] for row in members),
                fmean(energies),
                min(energies),
                max(energies),
            )
        )
    points.sort(key=lambda point: (point.bytes_per_site, -point.energy))
    best = float("-inf")
    marked = []
    for point in points:
        marked.append(replace(point, is_best=point.energy > best))
        best = max(best, point.energy)
    return tuple(marked)


def _encoding_of(row: Row) -> tuple[str, str, int | None]:
    if row["protocol"] == "dpdis":
        return "proxy", row["encoding"], row["intermediate_dim"]
    return "whole matrix", row["encoding"], None
