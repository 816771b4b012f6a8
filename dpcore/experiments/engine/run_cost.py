"""What a run takes, told before it begins: draws, rows and, roughly, time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpcore.experiments.engine.experiment import Spec, experiment_of
from dpcore.experiments.engine.sweep import Grid


@dataclass(frozen=True)
class RunCost:
    """What a run takes at most: draws that are kept on disk already take nothing.

    seconds: On one processor.
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


def cost_of_sweeps(sweeps: Iterable[Grid]) -> RunCost:
    """What sweeps take: every cell that can run."""
    specs = [cell.spec for sweep in sweeps for cell in sweep.cells() if cell.spec is not None]
    problems = {
        (experiment.problem_seconds, experiment.problem_key(spec, repetition))
        for spec in specs
        for experiment in [experiment_of(spec)]
        for repetition in range(experiment.n_repetitions(spec))
    }
    making = RunCost(seconds=sum(seconds(key) for seconds, key in problems))
    return sum(map(cost_of_spec, specs), making)


def cost_of_spec(spec: Spec) -> RunCost:
    """What the draws of a spec take, its problem being there."""
    experiment = experiment_of(spec)
    one = RunCost(1, len(experiment.outline(spec)), experiment.draw_seconds(spec))
    return one.times(experiment.n_repetitions(spec))
