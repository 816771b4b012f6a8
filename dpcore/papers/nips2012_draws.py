"""Draws of the algorithms of the 2012 paper (Chaudhuri, Sarwate & Sinha), as an experiment.

Choices that the paper leaves open: rows are divided by a bound and longer ones clipped, so that the
guarantee covers this step if the bound was chosen without the rows (see `NORM_BOUNDS`); nothing is
centred; energy is measured on the second moment of all rows on this machine; MOD-SuLQ takes the
largest eigenvalues of its noisy matrix.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpcore.experiments.central import central_problem, count_chains, raw_second_moment, run_batch
from dpcore.experiments.engine.cache import OnceCache
from dpcore.experiments.engine.charge_keys import make_charge
from dpcore.experiments.engine.spec import PlannedSpec, Row
from dpcore.experiments.pca import PcaRow, RunSpec, check_feasible
from dpcore.experiments.pca.problem import Problem, local_problem

# The paper scales rows to length 1 and does not say how. Its curves are reproduced with these
# norms, which are close to the longest row, so they may have been read from the data. The
# data sets have bounds of their own, which no row exceeds.
from dpcore.privacy import Charge, Guarantee

NORM_BOUNDS = {"census": 6.0, "kddcup99": 3.5}
PROTOCOLS = ("exact", "ppca", "modsulq", "random")
# Seconds a draw takes, all algorithms together, on one core of 2.8 GHz.
_DRAW_SECONDS = {"census": 0.02, "kddcup99": 0.006, "localization": 0.001, "insurance": 0.003}


@dataclass(frozen=True)
class DrawsSpec(PlannedSpec):
    """Spec of draws of one algorithm on a data set prepared by a bound, with one data holder.

    samples: Number of people; None takes all.
    reference: {"sites", "all"}. Rows on which captured energy is measured, as in `RunSpec`.
    draws: Draws per permutation.
    permutations: Number of permutations; each draws the people anew.
    """

    experiment = "nips2012-draws"
    counted = "permutations"

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

    @classmethod
    def row_type(cls) -> type:
        return DrawRow

    def outline(self) -> Sequence[Row]:
        return [{"protocol": self.protocol}] * self.draws

    def problem_key(self, repetition: int = 0) -> Hashable:
        return self.run_spec().problem_key(repetition)

    @classmethod
    def load(cls, key: Any) -> Any:
        return _problems(key)

    @classmethod
    def data_of(cls, key: Any) -> Hashable:
        return str(key.dataset)

    def check(self) -> None:
        check_feasible(self.run_spec())

    def rows(self, problem: Any, repetition: int) -> Sequence[Row]:
        batch = run_batch(self.run_spec(), problem, first=repetition * self.draws)
        return [{**row, "permutation": repetition} for row in batch.rows]

    def guarantees(self) -> Mapping[str, Guarantee]:
        return self.run_spec().guarantees()

    def charges(
        self, guarantees: Mapping[str, Guarantee], draws: int | None = None
    ) -> list[Charge]:
        """Return one charge for all draws of `draws` permutations."""
        permutations = self.permutations if draws is None else draws
        return super().charges(guarantees, permutations * self.draws)

    def charge(self, name: str, guarantee: Guarantee, draws: frozenset[int]) -> Charge:
        return make_charge(self.charge_cell(), name, guarantee, draws)

    def charge_cell(self) -> dict[str, Any]:
        """Return the fields by which a charge is identified."""
        has_chains = self.protocol == "ppca" and self.components > 1
        chains = count_chains(self.draws) if has_chains else 0
        return self.run_spec().charge_cell() | {"chains": chains}

    def draw_seconds(self) -> float:
        return self.draws * _DRAW_SECONDS.get(self.dataset, 0.001)

    def run_spec(self) -> RunSpec:
        """Return the draws of one permutation as a PCA specification."""
        return RunSpec.bounded(
            dataset=self.dataset,
            protocols=(self.protocol,),
            epsilon=self.epsilon,
            delta=self.delta,
            sites=1,
            samples=self.samples,
            components=self.components,
            calibration="published",
            noise="triangle",
            norm_bound=NORM_BOUNDS.get(self.dataset),
            mean_share=0.0,
            reference=self.reference,
            resample=True,
            repetitions=self.draws,
            seed=self.seed,
        )


class DrawRow(PcaRow):
    """Row of one draw; `chains` is the number of chains that ran together, 0 without chains."""

    permutation: int
    chains: int


_whole_moments = OnceCache(lambda *data: raw_second_moment(local_problem.prepared(*data)), keep=1)
_problems: OnceCache[Problem] = OnceCache(
    lambda key: central_problem(
        key, local_problem.prepared(*key.data), lambda: _whole_moments(*key.data)
    ),
    keep=1,
)
