"""Laws of the improved method on pictures: the whole grid.

    python -m tests.benchmarks.bench_laws [--datasets digits,mnist-small,olivetti-8] [--runs 20]
        [--seed 90917]

Prints one row per data set, K and epsilon with mean energies, and then every cell that breaks a law
by more than its tolerance and three standard errors of paired runs:

- L1: energy does not fall if epsilon rises (independent runs; tolerance .01).
- L2: pooled is at least full, and DPdisPCA at least one site (tolerance .005).
- L3: no protocol is below the public constant (tolerance .01).
- L4: auto is below neither none nor cosines (tolerance .01).

Digits and mnist-small take about ten minutes on two cores. Returns 1 if a law is broken.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator

from tests.benchmarks.bench_denoise import find_data
from tests.pca.laws import shortfall
from tests.pca.picture_laws import PROTOCOLS, Energies, constant_of, energies_of_pictures

EPSILONS = (0.001, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0, 10.0, 50.0)
COMPONENTS = (2, 3, 5, 10, 20, 30, 50)
DENOISING = ("auto", "cosines", "none")


def broken_within(energies: Energies, dataset: str, k: int) -> Iterator[tuple[str, float]]:
    """Yield law and protocol, and the amount, for one epsilon and K."""
    auto = {protocol: energies[k, "auto", protocol] for protocol in PROTOCOLS}
    for more, less in (("pooled", "full"), ("dpdis", "local")):
        if (amount := shortfall(auto[more], auto[less])) > 0.005:
            yield f"L2 {more} < {less}", amount
    constant = constant_of(dataset, k)
    for protocol, values in auto.items():
        if (amount := shortfall(values, constant + 0 * values)) > 0.01:
            yield f"L3 {protocol}", amount
        for other in ("none", "cosines"):
            if (amount := shortfall(values, energies[k, other, protocol])) > 0.01:
                yield f"L4 {protocol} < {other}", amount


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="digits,mnist-small")
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--components", default=",".join(map(str, COMPONENTS)))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--sites", type=int, help="by default as many as the data set needs")
    parser.add_argument("--seed", type=int, default=90_917)
    arguments = parser.parse_args()
    components = tuple(map(int, arguments.components.split(",")))
    broken: list[tuple[str, int, float, str, float]] = []
    for dataset, key, _, usual_sites in find_data(arguments.datasets):
        before: Energies = {}
        for epsilon in map(float, arguments.epsilons.split(",")):
            energies = energies_of_pictures(
                key, epsilon, runs=arguments.runs, components=components, denoise=DENOISING,
                sites=arguments.sites or usual_sites, seed=arguments.seed,
            )  # fmt: skip
            for k in components:
                means = " ".join(f"{p} {energies[k, 'auto', p].mean():.3f}" for p in PROTOCOLS)
                print(f"{dataset} K={k} ε={epsilon:g}: {means}", flush=True)
                for law, amount in broken_within(energies, key, k):
                    broken.append((dataset, k, epsilon, law, amount))
                for protocol in PROTOCOLS if before else ():
                    low, high = before[k, "auto", protocol], energies[k, "auto", protocol]
                    error = math.sqrt((low.var(ddof=1) + high.var(ddof=1)) / len(low))
                    amount = low.mean() - high.mean() - 3 * error
                    if amount > 0.01:
                        broken.append((dataset, k, epsilon, f"L1 {protocol}", float(amount)))
            before = energies
    for dataset, k, epsilon, law, amount in broken:
        print(f"broken: {dataset}, K = {k}, ε = {epsilon:g}: {law} by {amount:.3f}")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
