"""Draws of central algorithms, in permutations of the people: the 2012 paper's family of runs.

All draws of one algorithm in one permutation are made together, PPCA's as the last states of as
many chains.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.experiments.central.runs import central_problem, raw_second_moment, run_batch
from dpcore.experiments.engine.experiment import Experiment, each_alone
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.pca.experiment import check_feasible
from dpcore.experiments.pca.problem import Problem, local_problem
from dpcore.experiments.pca.runs import PcaRow
from dpcore.experiments.pca.spec import ProblemKey, RunSpec

# The paper scales rows to length 1 and does not say how. Its curves are reproduced with these
# norms, which lie next to the longest row: nobody can tell that they were not looked for. The
# data sets have bounds of their own, which no row exceeds.
NORM_BOUNDS = {"census": 6.0, "kddcup99": 3.5}

# Seconds a draw takes, all algorithms together, on one core of 2.8 GHz.
_DRAW_SECONDS = {"census": 0.02, "kddcup99": 0.006, "localization": 0.001, "insurance": 0.003}


@dataclass(frozen=True)
class DrawsSpec:
    """Draws of one algorithm on a data set prepared by a bound, all people in one place.

    samples: People; None takes everybody.
    reference: {"sites", "all"}. Whose second moment the captured energy is measured on, as in
        `RunSpec`.
    draws: In each permutation.
    permutations: Each draws the people anew.
    """

    experiment = "dpcore.experiments.papers.nips2012_runs:DRAWS"

    dataset: str
    protocol: str
    epsilon: float
    delta: float
    components: int
    samples: int | None = None
    reference: str = "all"
    draws: int = 1
    permutations: int = 1
    seed: int = 0

    def run_spec(self) -> RunSpec:
        """The draws of one permutation, as a PCA run has them."""
        return RunSpec(
            dataset=self.dataset,
            protocols=(self.protocol,),
            epsilon=self.epsilon,
            delta=self.delta,
            sites=1,
            samples=self.samples,
            components=self.components,
            calibration="published",
            noise="triangle",
            truncation="psd",
            preparation="bounded",
            norm_bound=NORM_BOUNDS.get(self.dataset),
            mean_share=0.0,
            reference=self.reference,
            resample=True,
            repetitions=self.draws,
            seed=self.seed,
        )


class DrawRow(PcaRow):
    """A draw, as PCA has it; `chains` is how many ran together, 0 without any."""

    permutation: int
    chains: int


def draw_rows(spec: DrawsSpec, problem: Problem, permutation: int) -> list[DrawRow]:
    """Every draw of one permutation."""
    batch = run_batch(spec.run_spec(), problem, first=permutation * spec.draws)
    return [{**row, "permutation": permutation} for row in batch.rows]


def draw_seconds(spec: DrawsSpec) -> float:
    return spec.draws * _DRAW_SECONDS.get(spec.dataset, 0.001)


def _problem(key: ProblemKey) -> Problem:
    prepared = local_problem.prepared(*key.data)
    return central_problem(key, prepared, lambda: _everybody(*key.data))


_everybody = OnceCache(lambda *data: raw_second_moment(local_problem.prepared(*data)), keep=1)
DRAWS: Experiment[DrawsSpec, ProblemKey, Problem] = Experiment(
    row=DrawRow,
    outline=lambda spec: [{"protocol": spec.protocol}] * spec.draws,
    run=each_alone(draw_rows),
    problem_key=lambda spec, permutation: spec.run_spec().problem_key(permutation),
    problem=OnceCache(_problem, keep=1),
    dataset=lambda spec: spec.dataset,
    data_of=lambda key: key.dataset,
    check=lambda spec: check_feasible(spec.run_spec()),
    repetitions="permutations",
    draw_seconds=draw_seconds,
)
