"""Attack a study through the bytes that guards send: as the hub, as a site, and as both.

Run by hand; real guards answer some hundred attempts on two neighbouring tables, in memory:

    python tests/benchmarks/bench_study_audit.py 300

The attacked person is at site one; site three is in league with the hub, adds no noise and tells it
its keys. What is printed is the epsilon that the bytes prove, and the mu that they show,
beside the claims; a proven one above the claim is an error.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from dpcore.federated.guard import Guard
from dpcore.federated.plan import StudyPlan
from dpcore.federated.wire_messages import MOMENT, SUM, Request, masked, values_from
from dpcore.privacy import Adversary
from dpcore.privacy.audit import AuditCase, judge
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.integer_rows import LENGTH
from dpcore.release.project import Project

SITES, EPSILON, DELTA = ("one", "two", "three"), 3.0, 1e-3
# What a ledger with the largest cap admits.
A_PROJECT = 20
PERSON, OTHER = np.eye(4)[0], np.eye(4)[1]


def study(protocol: str) -> StudyPlan:
    columns = tuple(Column(name, -1, 1) for name in "wxyz")
    return StudyPlan(
        "audit", Dictionary(columns, norm_bound=1.0), SITES, EPSILON, DELTA, 2, protocol=protocol,
        fewest=3, honest=2, preparation="bounded",
    )  # fmt: skip


def sent(plan: StudyPlan, person, folder: Path, n_trials: int):
    """All messages of so many attempts, as whole numbers: (trials, sites, numbers)."""
    found = []
    while len(found) < n_trials:
        home = folder / f"{len(found)}"
        guards = {
            site: Guard(plan, site, row[None], Project(home / site, (22.0, 0.5)))
            for site, row in zip(SITES, (person, 0 * person, 0 * person), strict=True)
        }
        keys = {site: guard.public_key for site, guard in guards.items()}
        league = guards["three"]
        for attempt in range(1, min(A_PROJECT, n_trials - len(found)) + 1):
            parts = []
            for round_, centre in ((SUM, ()), (MOMENT, (0, 0, 0, 0))):
                request = Request(plan.digest, attempt, round_, SITES, keys, centre)
                read = [
                    values_from(guards[site].answer(request.json()), plan, request, site)
                    for site in SITES[:2]
                ]
                if plan.is_masked:
                    read = without_league(plan, request, league, read)
                parts.append(np.stack(read))
            found.append(np.concatenate(parts, axis=1))
    return np.array(found, dtype=float)


def without_league(plan, request, league, read):
    """What the hub has when site three has told it the masks that it shares with each."""
    sigma = None
    if plan.protocol == "cape":
        scales = plan.scales
        sigma = plan.pair_sigma(scales.sum_sigma if request.round == SUM else scales.diagonal_sigma)
    purpose = f"{plan.digest} {request.id}"
    less = []
    for site, values in zip(SITES, read, strict=False):
        shared = masked(np.zeros_like(values), league._key, "three", (site, "three"), request.keys,
                        purpose, sigma)  # fmt: skip
        less.append((values.view(np.uint64) + shared.view(np.uint64)).view(np.int64))
    if plan.protocol == "securesum":  # the pair's mask is uniform: the sum is all there is
        total = (less[0].view(np.uint64) + less[1].view(np.uint64)).view(np.int64)
        return [total, np.zeros_like(total)]
    return less


def direction(plan: StudyPlan, adversary: Adversary):
    """Weights of the two honest messages in the likelihood ratio, and of their numbers."""
    scales = plan.scales
    moment = np.outer(PERSON, PERSON) - np.outer(OTHER, OTHER)
    upper = moment[np.triu_indices(4)] * LENGTH**2
    on_diagonal = np.equal(*np.triu_indices(4))
    reach = int(scales.squared_norm) ** 0.5
    numbers = np.concatenate([
        np.append((PERSON - OTHER) * reach, 0.0) / float(scales.sum_sigma) ** 2,
        upper / np.where(on_diagonal, scales.diagonal_sigma, float(scales.moment_sigma)) ** 2,
    ])  # fmt: skip
    if plan.protocol == "full":
        return np.array([1.0, 0.0]), numbers
    if adversary is Adversary.SITE or plan.protocol == "securesum":
        return np.array([1.0, 1.0]), numbers
    across = 1 / (len(SITES) + 1)  # b^2 over a^2 + b^2
    return 0.5 + across * np.array([0.5, -0.5]), numbers


def audit(protocol: str, n_trials: int) -> None:
    plan = study(protocol)
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        d, d_prime = (
            sent(plan, person, Path(folder) / str(number), n_trials)
            for number, person in enumerate((PERSON, OTHER))
        )
    for who in (Adversary.AGGREGATOR, Adversary.SITE):
        sites, numbers = direction(plan, who)
        case = AuditCase(
            f"{protocol}, {who.value}", plan.epsilon_against(who), DELTA, None, None,
            is_gaussian=True,
        )  # fmt: skip
        scores = [np.einsum("tsn,s,n->t", each, sites, numbers) for each in (d, d_prime)]
        result = judge(case, *scores, n_trials=n_trials)
        spread = np.sqrt(np.mean([each.var() for each in scores]))
        apart = (scores[0].mean() - scores[1].mean()) / spread
        print(
            f"{case.name:24} epsilon: claim {case.epsilon:.3f}, proven {result.epsilon_exact:.3f} "
            f"(any law {result.epsilon_any:.3f}); mu: claim {plan.hiding(who).mu:.3f}, "
            f"seen {apart:.3f} +- {2 * (2 / n_trials) ** 0.5:.3f}"
        )
        assert max(result.epsilon_exact, result.epsilon_any) <= case.epsilon, (
            "more than was claimed"
        )


if __name__ == "__main__":
    for name in ("securesum", "cape", "full"):
        audit(name, int(sys.argv[1]) if len(sys.argv) > 1 else 300)
