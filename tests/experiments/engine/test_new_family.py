"""A family of experiments is one class: a class in this test sweeps, stores, resumes, charges,
exports.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import pytest

from dpcore.data import load_dataset
from dpcore.errors import ParameterError
from dpcore.experiments.engine.grid import Sweep, cost_of_sweeps
from dpcore.experiments.engine.spec import PlannedSpec, Row, charges_of, row_from
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.sweep import collect, run_sweep
from dpcore.experiments.publish.export import csv_of
from dpcore.pca.protocols.protocol import HOLDER, gaussian_guarantee
from dpcore.privacy import Accountant, BeyondCap, Cap, Guarantee, PrivacyBudget, gaussian_sigma
from dpcore.streams import Purpose, stream

# Most that a person moves the mean ink of 1,797 pictures, each within [0, 16].
_MOVED = 16 / 1797


class InkRow(TypedDict):
    dataset: str
    epsilon: float
    seed: int
    repetition: int
    ink: float


@pytest.fixture
def family():
    """Return a class of specs that only this test knows, and the counts of its draws."""
    drawn: list[tuple[float, int]] = []

    @dataclass(frozen=True)
    class InkSpec(PlannedSpec):
        """Spec of the mean ink of a picture of `digits`, in [0, 16], with Gaussian noise."""

        dataset: str = "digits"
        epsilon: float = 1.0
        delta: float = 1e-5
        repetitions: int = 2
        seed: int = 0

        @classmethod
        def row_type(cls) -> type:
            return InkRow

        def outline(self) -> Sequence[Row]:
            return [{"epsilon": self.epsilon}]

        def check(self) -> None:
            if not self.epsilon > 0:
                raise ParameterError("epsilon", "above 0", self.epsilon)

        def problem_key(self, repetition: int = 0) -> Hashable:
            return self.dataset

        @classmethod
        def load(cls, key: str) -> float:
            return float(load_dataset(key).X.mean())

        @property
        def sigma(self) -> float:
            budget = PrivacyBudget(self.epsilon, self.delta)
            return gaussian_sigma(budget, _MOVED, calibration="analytic")

        def guarantees(self) -> Mapping[str, Guarantee]:
            budget = PrivacyBudget(self.epsilon, self.delta)
            made = gaussian_guarantee(
                budget, HOLDER, l2_sensitivity=_MOVED, sigma=self.sigma, is_calibrated=True
            )
            return {"mean ink": made}

        def rows(self, problem: float, repetition: int) -> Sequence[Row]:
            drawn.append((self.epsilon, repetition))
            noise = stream(self.seed, Purpose.STATISTIC, repetition).normal(0, self.sigma)
            return [row_from(InkRow, self, repetition=repetition, ink=problem + noise)]

    return InkSpec, drawn


def test_a_family_defined_here_sweeps_stores_and_resumes(family, tmp_path):
    kind, drawn = family
    sweep = Sweep(kind(), (("epsilon", (0.5, -1.0, 2.0)),))
    first = next(iter(run_sweep(sweep, store=Store(tmp_path))))
    assert first.done < 4
    result = collect(sweep, store=Store(tmp_path))
    assert [(row["epsilon"], row["repetition"]) for row in result.rows] == [
        (epsilon, number) for epsilon in (0.5, 2.0) for number in (0, 1)
    ]
    assert [row["epsilon"] for row in result.skipped] == [-1.0]
    assert len(drawn) == len(set(drawn)) == 4  # what was drawn before the stop is drawn once
    assert collect(sweep, store=Store(tmp_path)).rows == result.rows
    assert len(drawn) == 4
    assert collect(sweep).rows == result.rows
    assert cost_of_sweeps([sweep]).draws == 4


def test_a_family_defined_here_pays_before_it_draws(family):
    kind, drawn = family
    account = Accountant("digits", cap=Cap(1.6, 1e-4))
    assert account.charge(*charges_of([kind()]))
    assert not account.charge(*charges_of([kind()]))  # the same draws are one release
    assert account.n_releases == 2
    with pytest.raises(BeyondCap):
        account.charge(*charges_of([replace(kind(), epsilon=5.0)]))
    assert account.n_releases == 2
    assert not drawn


def test_a_family_defined_here_is_exported(family):
    kind, _ = family
    sweep = Sweep(kind(), (("epsilon", (0.5, 2.0)),))
    rows = collect(sweep).rows
    read = list(csv.DictReader(io.StringIO(csv_of(rows))))
    assert [float(line["ink"]) for line in read] == [row["ink"] for row in rows]
