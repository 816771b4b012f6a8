"""Rows of private CCA as sentences, and a run to take away."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from dpcore.experiments.cca.runs import epsilon_reaching, local_cca_problem
from dpcore.experiments.cca.spec import CcaSpec
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Sweep, collect
from dpcore.experiments.pca.export import Recipe, imports_of, source_of
from dpcore.experiments.pca.sentences import counted, percent

_RUN = """\
rows = collect(Sweep(spec)).rows
print("exact correlations", local_cca_problem(spec.problem_key()).exact.round(4))
for protocol in spec.protocols:
    shares = [row["correlation_share"] for row in rows if row["protocol"] == protocol]
    print(f"{protocol:<8} {fmean(shares):.4f} of it captured, mean of {len(shares)} draws")"""
TITLES = {
    "pooled": "Pooled, trusted",
    "dpdis": "Proxies",
    "full": "Full moments",
    "local": "One site alone",
    "cape": "CAPE",
}
SAID = {
    "pooled": "one noisy joint moment of the pooled rows",
    "dpdis": "the sites' noisy proxies",
    "full": "the sites' noisy joint moments",
    "local": "one site on its own",
    "cape": "the sites' moments under masks that cancel",
}


def captured(rows: Sequence[Row], protocol: str) -> float:
    """Mean share of the exact total correlation, over the draws of one protocol."""
    return fmean(row["correlation_share"] for row in rows if row["protocol"] == protocol)


def cca_headline(rows: Sequence[Row], protocol: str) -> str:
    """What a protocol captures, and under which setting, as one sentence."""
    mine = [row for row in rows if row["protocol"] == protocol]
    shares = [row["correlation_share"] for row in mine]
    spread = (
        f" ({percent(min(shares))} to {percent(max(shares))} over {len(shares)} draws)"
        if len(shares) > 1
        else ""
    )
    first = mine[0]
    sites = "" if protocol == "pooled" else f" at {counted(first['sites'], 'site')}"
    return (
        f"of the total correlation of the {counted(first['components'], 'best pair')} survives in "
        f"**{SAID[protocol]}** at **ε = {first['epsilon']:g}** with {first['samples']:,} "
        f"people{sites}{spread}."
    )


def cca_comparison(rows: Sequence[Row], protocol: str) -> str:
    """What other protocols and random directions capture, as one sentence."""
    others = [key for key in dict.fromkeys(row["protocol"] for row in rows) if key != protocol]
    parts = [f"{TITLES[key]} keeps {percent(captured(rows, key))}" for key in others]
    floor = f"random directions {percent(rows[0]['random_share'])}"
    return f"{', '.join([*parts, floor])}.".replace("random d", "Random d", not others)


def half_captured(rows: Sequence[Row], protocol: str, share: float = 0.5) -> dict[int, float]:
    """By number of people: the smallest epsilon that captures the share (`epsilon_reaching`)."""
    mine = [row for row in rows if row["protocol"] == protocol]
    return {
        samples: epsilon_reaching([row for row in mine if row["samples"] == samples], share)
        for samples in sorted({row["samples"] for row in mine}, reverse=True)
    }


def half_in_words(reached: Mapping[int, float], least: float, greatest: float) -> str:
    """The epsilons of `half_captured` as one sentence; the curve spans `least` to `greatest`."""

    def say(epsilon: float) -> str:
        if math.isinf(epsilon):
            return f"beyond ε = {greatest:g}"
        return f"below ε = {least:g}" if epsilon <= least else f"at ε = {epsilon:.2g}"

    parts = [f"**{say(epsilon)}** with {people:,} people" for people, epsilon in reached.items()]
    return f"Half of the exact correlation is captured {', '.join(parts)}."


def cca_recipe(spec: CcaSpec) -> Recipe:
    """Runs the spec and prints what it found."""
    needed = local_cca_problem, CcaSpec, type(spec.source), Sweep, collect
    imports = imports_of("from statistics import fmean", *needed)
    return Recipe("Private CCA of two views", (f"{imports}\n\nspec = {source_of(spec)}", _RUN))
