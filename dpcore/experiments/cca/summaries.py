"""Results of CCA experiments in sentences, and a script that repeats them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from dpcore.experiments.cca.runs import TITLES, CcaSpec
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.spec import Row, group_by_key
from dpcore.experiments.engine.summaries import counted, crossing, percent
from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.publish.export import Recipe, imports_of, source_of

_NOISE_WORDS = {
    "pooled": "one noisy joint moment of the pooled rows",
    "dpdis": "the sites' noisy proxies",
    "full": "the sites' noisy joint moments",
    "local": "one site on its own",
    "cape": "the sites' moments under masks that cancel",
}
_RUN = """\
rows = collect(Sweep(spec)).rows
print("exact correlations", CcaSpec.load(spec.problem_key()).exact.round(4))
for protocol in spec.protocols:
    shares = [row["correlation_share"] for row in rows if row["protocol"] == protocol]
    print(f"{protocol:<8} {fmean(shares):.4f} of it captured, mean of {len(shares)} draws")"""


def mean_captured(rows: Sequence[Row], protocol: str) -> float:
    """Return the mean share of the exact total correlation over the draws of one protocol."""
    return fmean(row["correlation_share"] for row in rows if row["protocol"] == protocol)


def cca_headline(rows: Sequence[Row], protocol: str) -> str:
    """Describe the captured correlation of a protocol in one sentence."""
    first = rows[0]
    return (
        f"{percent(mean_captured(rows, protocol))} of the total correlation of the "
        f"{counted(first['components'], 'best pair')} survives at ε = {first['epsilon']:g}"
    )


def cca_comparison(rows: Sequence[Row], protocol: str) -> str:
    """Describe the runs of a protocol, the other protocols and random directions."""
    runs = [row for row in rows if row["protocol"] == protocol]
    shares = [row["correlation_share"] for row in runs]
    sites = "" if protocol == "pooled" else f" at {counted(runs[0]['sites'], 'site')}"
    setting = (
        f"{TITLES[protocol]}: {_NOISE_WORDS[protocol]}, {runs[0]['samples']:,} rows{sites}. "
        f"{counted(len(shares), 'run')}, {percent(min(shares))} to {percent(max(shares))}."
    )
    others = [key for key in dict.fromkeys(row["protocol"] for row in rows) if key != protocol]
    comparisons = [f"{TITLES[key]} keeps {percent(mean_captured(rows, key))}." for key in others]
    floor = f"Random directions keep {percent(rows[0]['random_share'])}."
    return " ".join([setting, *comparisons, floor])


def epsilon_reaching(rows: Iterable[Row], share: float = 0.5) -> float:
    """Return the smallest epsilon at which a curve's mean `correlation_share` reaches `share`.

    The curve is linear in log epsilon between neighbouring points. The result is the lowest epsilon
    of the rows if it reaches the share already, and infinity if none does.
    """
    shares = group_by_key((row["epsilon"], row["correlation_share"]) for row in rows)
    means = ((epsilon, fmean(values)) for epsilon, values in sorted(shares.items()))
    reached = crossing(means, share)
    return math.inf if reached is None else reached


def epsilon_by_rows(rows: Sequence[Row], protocol: str, share: float = 0.5) -> dict[int, float]:
    """Return the smallest epsilon that captures the share, by number of rows."""
    by_samples = group_by_key((row["samples"], row) for row in rows if row["protocol"] == protocol)
    return {
        samples: epsilon_reaching(members, share)
        for samples, members in sorted(by_samples.items(), reverse=True)
    }


def half_in_words(reached: Mapping[int, float], least: float, greatest: float) -> str:
    """Describe the epsilons of `epsilon_by_rows`; the curve spans `least` to `greatest`."""

    def say(epsilon: float) -> str:
        if math.isinf(epsilon):
            return f"beyond ε = {greatest:g}"
        return f"below ε = {least:g}" if epsilon <= least else f"at ε = {epsilon:.2g}"

    parts = [f"**{say(epsilon)}** with {people:,} people" for people, epsilon in reached.items()]
    return f"Half of the exact correlation is captured {', '.join(parts)}."


def cca_recipe(spec: CcaSpec) -> Recipe:
    """Return a recipe that runs the spec and prints the result."""
    needed = CcaSpec, type(spec.source), Sweep, collect
    imports = imports_of("from statistics import fmean", *needed)
    return Recipe("Private CCA of two views", (f"{imports}\n\nspec = {source_of(spec)}", _RUN))
