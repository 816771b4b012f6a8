"""What a run takes, told before it begins: draws, rows and, roughly, time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpcore.data import dataset_status
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca.protocols.register import PROTOCOLS

# Seconds, measured on one core of 2.8 GHz from digits (D = 64) to MNIST (D = 784), within a factor
# of two: what a draw takes at each site, and what moments take for each person.
_A_DRAW, _A_DRAW_OF_SQUARED_FEATURES = 5e-4, 4.5e-8
_A_MOMENT_OF_SQUARED_FEATURES = 3e-11


@dataclass(frozen=True)
class RunCost:
    """What a run takes at most: draws that are kept on disk already take nothing.

    Parameters
    ----------
    draws, rows : int
    seconds : float
        On one processor.
    """

    draws: int = 0
    rows: int = 0
    seconds: float = 0.0

    def __add__(self, other: RunCost) -> RunCost:
        return RunCost(
            self.draws + other.draws, self.rows + other.rows, self.seconds + other.seconds
        )

    def times(self, number: int) -> RunCost:
        """That many such runs."""
        return RunCost(self.draws * number, self.rows * number, self.seconds * number)


def cost_of_sweeps(sweeps: Iterable[Sweep]) -> RunCost:
    """What sweeps take: every cell that can run."""
    specs = [cell.spec for sweep in sweeps for cell in sweep.cells() if cell.spec is not None]
    problems = {spec.problem_key(draw) for spec in specs for draw in range(spec.repetitions)}
    moments = RunCost(
        seconds=sum(_seconds_of_moments(key.dataset, key.samples) for key in problems)
    )
    return sum(map(cost_of_spec, specs), moments)


def cost_of_spec(spec: RunSpec) -> RunCost:
    """What the draws of a spec take, its moments being there."""
    features = dataset_status(spec.dataset).n_features
    at_a_site = _A_DRAW + _A_DRAW_OF_SQUARED_FEATURES * features**2
    # Every site decomposes its own matrix where it sends proxies; elsewhere it adds noise alone.
    sites = sum(
        spec.sites if PROTOCOLS[key].wants_proxies else 1 + spec.sites / 12
        for key in spec.protocols
    )
    draws = spec.repetitions
    return RunCost(draws, draws * len(spec.protocols), draws * sites * at_a_site)


def _seconds_of_moments(dataset: str, samples: int | None) -> float:
    status = dataset_status(dataset)
    people = status.n_samples if samples is None else samples
    return _A_MOMENT_OF_SQUARED_FEATURES * people * status.n_features**2
