"""The audit's reach, honesty and speed.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python tests/benchmarks/bench_audit.py [repetitions]

Reach: the bound as a share of the exact epsilon, Gaussian mechanisms at epsilon 1, D = 20, 10,000
trials. Honesty: how many of the repetitions exceed it, beside what the confidence allows.
Speed: seconds an audit, beside the bare normal draws it needs. Last, every sound mechanism against
each of its adversaries as one Markdown table, at a confidence for the whole of it:

    ... bench_audit.py table
"""

from __future__ import annotations

import itertools
import sys
import time

import numpy as np
from scipy import stats

from dpcore.audit_cases.attack import audit_cases
from dpcore.audit_cases.noise_cases import N_FEATURES, second_moment_case
from dpcore.audit_cases.pca_cases import cape_cases
from dpcore.mechanisms import NOISE_SHAPES
from dpcore.privacy import PrivacyBudget
from dpcore.privacy.audit import audit

N_TRIALS, CONFIDENCE = 10_000, 0.95


def reach_and_honesty(repetitions: int, rng: np.random.Generator) -> None:
    allowed = int(stats.binom.isf(1e-6, repetitions, 1 - CONFIDENCE))
    print(f"{repetitions} audits each, {N_TRIALS} trials; at most {allowed} may exceed\n")
    cases = [
        second_moment_case("analytic", shape, budget=PrivacyBudget(1.0, delta))
        for shape, delta in itertools.product(NOISE_SHAPES, (0.01, 1e-5))
    ] + [cape_cases()[0]]
    for case in cases:
        start = time.perf_counter()
        bounds = np.array(
            [audit(case, n_trials=N_TRIALS, rng=rng).epsilon for _ in range(repetitions)]
        )
        seconds = (time.perf_counter() - start) / repetitions
        exceeding = int((bounds > case.epsilon).sum())
        print(
            f"{case.name:44} δ = {case.delta:<6g} bound / exact {bounds.mean() / case.epsilon:.3f} "
            f"(least {bounds.min() / case.epsilon:.3f})  exceed {exceeding:3d}  {seconds:.3f} s"
        )


def speed_against_bare_draws(rng: np.random.Generator) -> None:
    case = second_moment_case("analytic", "isometric")
    start = time.perf_counter()
    rng.standard_normal((2 * N_TRIALS, N_FEATURES * (N_FEATURES + 1) // 2))
    bare = time.perf_counter() - start
    start = time.perf_counter()
    audit(case, n_trials=N_TRIALS, rng=rng)
    ours = time.perf_counter() - start
    print(f"\none audit {ours:.3f} s, its bare normal draws {bare:.3f} s, ratio {ours / bare:.1f}")


def table_of_sound_cases(rng: np.random.Generator, *, false_alarm: float = 1e-3) -> None:
    """Every registered mechanism, adversary and centring; bounds for all of them together."""
    cases = audit_cases(include_flawed=False)
    confidence = 1 - false_alarm / len(cases)
    print(f"\n{len(cases)} cases; all bounds hold together with confidence {1 - false_alarm:g}\n")
    print("| mechanism | adversary | centring | claimed ε | bound | holds |")
    print("|---|---|---|---|---|---|")
    for case in cases:
        result = audit(case, confidence=confidence, rng=rng)
        delta = f" (δ = {case.delta:g})" if case.delta else " (pure)"
        nominal = f", nominally {result.epsilon:.3f}" if result.is_nominal else ""
        verdict = "no" if result.proves_breach else "in doubt" if result.breaks_claim else "yes"
        print(
            f"| {case.name} | {case.adversary} | {case.centring} | {case.epsilon:.3f}{delta} | "
            f"≥ {result.epsilon_exact:.3f}{nominal} | {verdict} |",
            flush=True,
        )


if __name__ == "__main__":
    generator = np.random.default_rng()
    if sys.argv[1:] != ["table"]:
        reach_and_honesty(int(sys.argv[1]) if len(sys.argv) > 1 else 200, generator)
        speed_against_bare_draws(generator)
    table_of_sound_cases(generator)
