"""All cells of the laws of tables: `python tests/benchmarks/bench_laws_of_tables.py [SETS] [RUNS]`.

Prints mean captured energies, and each cell in which a law is missed by more than .005 on average,
with the shortfall beyond three standard errors of paired runs.
"""

import sys
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "pca"))

from laws import best_of, energies, shortfall

SETS = "breast-cancer,diabetes,wine,iris,near,far,both"
BUDGETS = (0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 3.0, 10.0, 50.0)
PROTOCOLS = ("pooled", "full", "dpdis", "local")
_SEED = 11


def report(law: str, cell: str, more, less, tolerance: float) -> None:
    """Print a cell in which `more` is below `less`."""
    loss, beyond = less.mean() - more.mean(), shortfall(more, less)
    if loss > 0.005:
        mark = "  VIOLATION" if beyond > tolerance else ""
        print(f"  {law} {cell}: {more.mean():.3f} < {less.mean():.3f}, {beyond:+.3f}{mark}")


def main(names: str = SETS, runs: str = "20") -> None:
    """Print all cells of the given sets."""
    options = {"runs": int(runs), "seed": _SEED}
    for name in names.split(","):
        captured = {
            (key, budget): energies(name, key, budget, **options)
            for key in PROTOCOLS
            for budget in BUDGETS
        }
        for key in PROTOCOLS:
            means = "  ".join(
                f"{budget:g}: {captured[key, budget].mean():.3f}" for budget in BUDGETS
            )
            print(f"{name} {key}  {means}", flush=True)
            for low, high in pairwise(BUDGETS):
                cell = f"{name} {key} {low:g} to {high:g}"
                report("more budget", cell, captured[key, high], captured[key, low], 0.01)
        for budget in BUDGETS:
            for more, less in (("pooled", "full"), ("dpdis", "local")):
                cell = f"{name} {more} and {less} {budget:g}"
                report("more trust", cell, captured[more, budget], captured[less, budget], 0.005)
            for key in ("pooled", "dpdis"):
                mean = energies(name, key, budget, centred_by="accurate mean", **options)
                none = energies(name, key, budget, mean_share=0.0, **options)
                cell = f"{name} {key} {budget:g}"
                report("best centre", cell, captured[key, budget], best_of(mean, none), 0.01)


if __name__ == "__main__":
    main(*sys.argv[1:])
