"""Coverage of the intervals that a release states about itself.

    python -m tests.benchmarks.bench_own_estimate [--draws 200] [--datasets digits,mnist]
        [--preparations published,private,sphere] [--protocols pooled,dpdis] [--sharing 10]

On the sphere every draw has a mean of its own, and moments around it that take longer than all the
rest. With --sharing k each mean serves k draws, whose noise is their own. The law of each draw is
what it was, and so is coverage on average; draws of one mean have that in common.

Every data set at hand, epsilon 0.1, 0.3, 1 and 3 at delta = 1e-5. A line a cell: the true share of
the total and what the release says of it on average, how many of the stated 90 % intervals hold
the captured energy, its share of the total, and (where stated) its ratio to the best subspace, with
the median half-width of each; how many components are said to stand out; how many releases tell
(the others hold the truth in an interval without an end). Ends with code 1 if an interval of the
captured energy holds it in so few of a cell's draws that 88 % of all can be ruled out: of intervals
that hold in 90 of 100, a cell of 200 draws reads below 0.88 one time in six.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.stats import binom

from dpcore.arrays import FloatArray
from dpcore.data import list_datasets
from dpcore.experiments.pca import RunSpec, assessments
from dpcore.experiments.pca.assessments import AssessedRelease, assess_releases
from dpcore.experiments.pca.problem import local_problem
from dpcore.pca.assessment import Estimate
from dpcore.spectra import SiteRows
from dpcore.streams import Purpose, Repetition, stream

_EPSILONS = (0.1, 0.3, 1.0, 3.0)
# What intervals have to hold, and how often a cell that just does may be taken for one that fails.
_ENOUGH, _FALSE_ALARM = 0.88, 1e-4


@dataclass(frozen=True)
class _SharingMeans(Repetition):
    """Repetition that uses the private mean of its neighbours."""

    sharing = 1

    def rng(self, purpose: Purpose, *identity: int) -> np.random.Generator:
        is_mean = purpose is Purpose.PREPARATION
        is_mean |= purpose is Purpose.POOLED_NOISE and identity == (1,)
        return stream(self.seed, purpose, self.index // self.sharing if is_mean else self.index,
                      *identity)  # fmt: skip


class _RememberedRows(SiteRows):
    """Rows that cache their moments around the latest centre."""

    def moment_around(self, centre: FloatArray, site: int | None = None, **how: int) -> FloatArray:
        last, result = self.__dict__.setdefault("kept", (b"", {}))
        if last != centre.tobytes():
            last, result = self.__dict__["kept"] = centre.tobytes(), {}
        if site not in result:
            result[site] = super().moment_around(centre, site, **how)
        return result[site]


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ready = [
        status.name for status in list_datasets() if status.ready and status.default_components
    ]
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--datasets", default=",".join(ready))
    parser.add_argument("--preparations", default="published,private,sphere")
    parser.add_argument("--protocols", default="pooled,dpdis")
    parser.add_argument("--sites", type=int, default=5)
    parser.add_argument("--sharing", type=int, default=1, help="draws to a private mean")
    parser.add_argument("--published-noise", action="store_true", help="triangle, svd")
    return parser.parse_args()


def _remembered(rows: SiteRows) -> SiteRows:
    return _RememberedRows(*(getattr(rows, field.name) for field in fields(rows)))


def _held(estimates: list[Estimate], truths: list[float]) -> str:
    """Return coverage and median half-width over all draws with a statement."""
    if not estimates:
        return "      –       "
    ends = np.array([estimate.interval for estimate in estimates])
    inside = np.mean((ends[:, 0] <= truths) & (truths <= ends[:, 1]))
    return f"{inside:.3f} ±{np.median(ends[:, 1] - ends[:, 0]) / 2:.4f}"


def _line(releases: list[AssessedRelease]) -> tuple[str, float]:
    own = [release.assessment for release in releases if release.assessment is not None]
    energy = [release.energy for release in releases]
    share = [release.energy / release.total for release in releases]
    ratio = [(o.energy_ratio, e.energy_ratio) for o, e in zip(own, releases, strict=True)]
    stated = [(estimate, truth) for estimate, truth in ratio if estimate is not None]
    ends = np.array([assessment.captured.interval for assessment in own])
    coverage = float(np.mean((ends[:, 0] <= energy) & (energy <= ends[:, 1])))
    above = [assessment.n_above_noise for assessment in own if assessment.n_above_noise is not None]
    told = [
        assessment.captured.value for assessment in own if np.isfinite(assessment.captured.value)
    ]
    says = np.mean(told) / releases[0].total if told else np.nan
    return (
        f"{np.mean([release.energy_ratio for release in releases]):.3f} | "
        f"{np.mean(share):.3f} {says:.3f} | "
        f"{_held([assessment.captured for assessment in own], energy)} | "
        f"{_held([assessment.captured_share for assessment in own], share)} | "
        f"{_held([low for low, _ in stated], [truth for _, truth in stated])} "
        f"x{len(stated)} | {np.mean(above) if above else np.nan:.1f} | {len(told)}"
    ), coverage


def main() -> int:
    """Print a line a cell; 1 where an interval fails."""
    asked = _parsed()
    assessments.Repetition, _SharingMeans.sharing = _SharingMeans, asked.sharing
    print("cell | energy ratio | share true said | energy | share | ratio | stand out | tell")
    worst, fails = 1.0, False
    noise = {"noise": "triangle", "truncation": "svd"} if asked.published_noise else {}
    for dataset in asked.datasets.split(","):
        for preparation in asked.preparations.split(","):
            for epsilon in _EPSILONS:
                for key in asked.protocols.split(","):
                    spec = RunSpec(
                        dataset=dataset, protocols=(key,), epsilon=epsilon, delta=1e-5,
                        sites=asked.sites, preparation=preparation, **noise,
                    )  # fmt: skip
                    problem = local_problem(spec.problem_key())
                    if asked.sharing > 1 and isinstance(problem.moments, SiteRows):
                        problem = replace(problem, moments=_remembered(problem.moments))
                    draws = range(asked.draws)
                    releases = [assess_releases(spec, problem, n)[key] for n in draws]
                    if releases[0].assessment is None:
                        print(f"{dataset} {preparation} {epsilon:g} {key} | cannot tell")
                        continue
                    line, coverage = _line(releases)
                    worst = min(worst, coverage)
                    too_few = binom.ppf(_FALSE_ALARM, asked.draws, _ENOUGH)
                    fails |= round(coverage * asked.draws) < too_few
                    print(f"{dataset} {preparation} {epsilon:g} {key} | {line}", flush=True)
    print(f"worst coverage of the captured energy: {worst:.3f}")
    return int(fails)


if __name__ == "__main__":
    sys.exit(main())
