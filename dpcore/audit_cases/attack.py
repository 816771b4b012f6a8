"""Attack of an audit case in batches of trials, and the list of all cases.

A case, a seed and a number of trials give the same scores on a page, which draws in slices, and on
the command line. Protocols of PCA are attacked as their entries in the register specify. Any other
mechanism is a function that returns an `AuditCase` and is listed in `_sound_cases`. The field
`covers` names the register entry that a case attacks; a test requires a case for every private
entry.
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from itertools import chain

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit_cases.centre_cases import differences_cases_of
from dpcore.audit_cases.flawed import flawed_cases
from dpcore.audit_cases.noise_cases import message_cases, second_moment_cases
from dpcore.audit_cases.private_mean_cases import private_mean_cases_of
from dpcore.audit_cases.protocol_cases import cases_of, ppca_by_chains_case
from dpcore.audit_cases.sphere_cases import sphere_cases_of
from dpcore.errors import ParameterError
from dpcore.params import LARGEST_SEED
from dpcore.pca.protocols.protocol import Protocol
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Adversary, trade_off
from dpcore.privacy.audit import (
    BATCH,
    MIN_TRIALS,
    AuditCase,
    AuditResult,
    judge,
    learn_discriminant,
    paired_scores,
)
from dpcore.privacy.guarantee_in_words import say_delta
from dpcore.streams import Purpose, stream

# Confidence of the bounds. A visitor who tries every sound mechanism should not see one of them
# break by chance.
CONFIDENCE = 0.999
# Number of scores at which the curve of bounds starts: four batches, the fewest for a jackknife.
_FIRST_CHECKPOINT = 200
_N_BARS = 60
_MOST_TRIALS = 10_000_000


class CaseAttack:
    """Scores of one mechanism under D and D', extended batch by batch.

    n_trials: Releases to draw under each of D and D', by default as many as the case requests; half
        of them train the score if the case has none.
    confidence: Confidence of each judgement, in [0.5, 1).
    Raises `ParameterError` if `n_trials` or `confidence` is out of range.
    """

    def __init__(
        self,
        case: AuditCase,
        *,
        n_trials: int | None = None,
        confidence: float = CONFIDENCE,
        seed: int = 0,
    ):
        n_trials = case.n_trials if n_trials is None else n_trials
        if not MIN_TRIALS <= n_trials <= _MOST_TRIALS:
            raise ParameterError("trials", f"from {MIN_TRIALS} to {_MOST_TRIALS:,}", n_trials)
        if not 0 <= seed <= LARGEST_SEED:
            raise ParameterError("seed", f"from 0 to {LARGEST_SEED}", seed)
        if not 0.5 <= confidence < 1:
            raise ParameterError("confidence", "in [0.5, 1)", confidence)
        self.case = case
        self.n_trials = n_trials
        self.confidence = confidence
        self._rng = stream(seed, Purpose.AUDIT, zlib.crc32(case.name.encode()))
        self._statistic = case.statistic
        self._n_training = 0 if case.statistic is not None else n_trials // 2
        self._scores: tuple[list[FloatArray], list[FloatArray]] = ([], [])
        self._n_scored = 0
        self._judged: dict[int, AuditResult] = {}

    @property
    def n_done(self) -> int:
        """Number of trials drawn so far, including those for training."""
        return self._n_scored + (self._n_training if self._statistic is not None else 0)

    @property
    def finished(self) -> bool:
        return self.n_done >= self.n_trials

    def advance(self) -> None:
        """Draw one batch of trials, or all training trials."""
        if self._statistic is None:
            self._statistic = learn_discriminant(self.case, self._n_training, rng=self._rng)
            return
        n = min(BATCH, self.n_trials - self.n_done)
        batch = paired_scores(self.case, self._statistic, n, rng=self._rng)
        for scores, new in zip(self._scores, batch, strict=True):
            scores.append(new)
        self._n_scored += n

    def scores(self) -> tuple[FloatArray, FloatArray]:
        """Return the scores so far under D and under D'."""
        d, d_prime = (np.concatenate(scores or [np.zeros(0)]) for scores in self._scores)
        return d, d_prime

    def judge_first(self, n_scored: int) -> AuditResult:
        """Return the result of the first `n_scored` scores, computed once for each number."""
        if n_scored not in self._judged:
            d, d_prime = self.scores()
            self._judged[n_scored] = judge(
                self.case,
                d[:n_scored],
                d_prime[:n_scored],
                n_trials=n_scored + self._n_training,
                confidence=self.confidence,
            )
        return self._judged[n_scored]

    def growth(self) -> list[AuditResult]:
        """Return results at numbers of trials that grow by about a third, up to the current one."""
        checkpoints = []
        step = count = _FIRST_CHECKPOINT
        while count < self._n_scored:
            checkpoints.append(count)
            count = max(count + step, int(count * 4 / 3) // step * step)
        if self._n_scored:
            checkpoints.append(self._n_scored)
        return [self.judge_first(count) for count in checkpoints]

    def threshold(self) -> float:
        """Return the score at which the sum of the two error rates is smallest."""
        d, d_prime = (np.sort(scores) for scores in self.scores())
        values = np.union1d(d, d_prime)
        gap = np.searchsorted(d_prime, values, side="right") - np.searchsorted(
            d, values, side="right"
        )
        return float(values[np.argmax(gap)])

    def histogram(self) -> dict[str, FloatArray]:
        """Return a histogram of the scores under D and D'.

        Columns are "centre" and "width" of the bars, and the shares of trials "with_you" and
        "without_you".
        """
        d, d_prime = self.scores()
        everything = np.concatenate((d, d_prime))
        # A few outliers would put all other scores into one bar.
        low, high = np.quantile(everything, [0.001, 0.999])
        if not high > low:
            low, high = low - 0.5, high + 0.5
        edges = np.linspace(low, high, _N_BARS + 1)
        shares = (
            np.histogram(np.clip(scores, low, high), edges)[0] / len(scores)
            for scores in (d, d_prime)
        )
        columns = dict(zip(("with_you", "without_you"), shares, strict=True))
        centre = (edges[1:] + edges[:-1]) / 2
        return {"centre": centre, "width": np.diff(edges), **columns}

    def error_rates(self) -> list[dict[str, object]]:
        """Return rows for a trade-off plot: the claim's limit and the rates of this attack."""
        result = self.judge_first(self._n_scored)
        type_one = np.linspace(0, 1, 201)
        claim = trade_off(type_one, self.case.epsilon, self.case.delta)
        return [
            {"curve": "blind", "type_one": type_one, "type_two": 1 - type_one},
            {"curve": "approximate", "type_one": type_one, "type_two": claim},
            {"curve": "gaussian", "type_one": result.type_one, "type_two": result.type_two},
        ]

    def errors_at(self, threshold: float) -> tuple[float, float]:
        """Return the shares of false alarms and of misses."""
        d, d_prime = self.scores()
        return float(np.mean(d_prime > threshold)), float(np.mean(d <= threshold))

    def run(self) -> AuditResult:
        """Draw all trials and return the result."""
        while not self.finished:
            self.advance()
        return self.judge_first(self._n_scored)


def named_cases() -> dict[str, AuditCase]:
    """Return every case by a name for the command line and for addresses.

    The name of the first adversary of a mechanism has no suffix; other names end with the
    adversary.
    """
    named: dict[str, AuditCase] = {}
    for case in audit_cases():
        name = slug_of(case.name)
        named[f"{name}-{case.adversary}" if name in named else name] = case
    return named


def cases_by_family() -> dict[str, dict[str, AuditCase]]:
    """Return the case of the first adversary of every mechanism, by family and name.

    Flawed mechanisms come first, as on the page.
    """
    families: dict[str, dict[str, AuditCase]] = {}
    for case in sorted(audit_cases(), key=lambda case: case.is_sound):
        families.setdefault(case.family, {}).setdefault(slug_of(case.name), case)
    return families


def attackers(mechanism: str) -> dict[Adversary, AuditCase]:
    """Return the cases of a mechanism by adversary, in the order of `Adversary`."""
    by_adversary = {
        case.adversary: case for case in audit_cases() if slug_of(case.name) == mechanism
    }
    return {
        adversary: by_adversary[adversary] for adversary in Adversary if adversary in by_adversary
    }


def slug_of(name: str) -> str:
    """Return the name for addresses: "second moment, analytic" becomes "second-moment-analytic"."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower().replace("ε", "epsilon")).strip("-")


def claim_of(case: AuditCase) -> str:
    """Return the claim of a mechanism: "ε = 1 at δ = 0.01", or "pure ε = 1" if δ is 0."""
    claim = f"ε\u00a0=\u00a0{case.epsilon:.3g}"
    return f"{claim} at δ\u00a0=\u00a0{say_delta(case.delta)}" if case.delta else f"pure {claim}"


def basis_of(case: AuditCase) -> str:
    """Return the source of the claimed guarantee, as the end of a sentence."""
    if not case.is_sound:
        return "as it was published or shipped"
    return "from the exact profile of its noise" if case.is_gaussian else "from its proof"


def describe_bound(result: AuditResult) -> str:
    """Return the closest bound: "ε ≥ 0.95 nominally" by the jackknife, "ε ≥ 0.74" if exact."""
    bound = f"ε\u00a0≥\u00a0{result.epsilon:.3g}"
    return f"{bound} nominally" if result.is_nominal else bound


def verdict(result: AuditResult) -> str:
    """Return the finding of an attack as one sentence."""
    case = result.case
    bound = f"ε\u00a0≥\u00a0{result.epsilon_exact:.3g}"
    claim = claim_of(case)
    if result.proves_breach:
        return f"The attack proves {bound}: the claim of {claim} is false."
    if result.breaks_claim:
        return (
            f"The attack points to {describe_bound(result)}, above the claim of {claim}. It proves "
            f"only {bound}; more trials may decide."
        )
    if not case.is_sound:
        return (
            f"The attack proves only {bound}. More trials are needed to catch this flaw: the claim "
            f"of {claim} is false."
        )
    if result.epsilon == result.epsilon_exact == 0:
        return f"The attack cannot distinguish the two data sets: no evidence against {claim}."
    return f"The attack proves only {bound}, which is below the claim of {claim}."


def audit_cases() -> tuple[AuditCase, ...]:
    """Return the cases of all mechanisms by family, sound mechanisms first."""
    return _sound_cases(tuple(PROTOCOLS.values())) + _flawed_cases()


_flawed_cases = cache(flawed_cases)


@cache
def _sound_cases(protocols: tuple[Protocol, ...]) -> tuple[AuditCase, ...]:
    # Import here: these modules import scikit-learn, which is slow.
    from dpcore.audit_cases.cca_cases import cca_cases
    from dpcore.audit_cases.classification_cases import classification_cases
    from dpcore.audit_cases.masked_cases import cape_cases
    from dpcore.audit_cases.noise_cases import composed_cases, statistics_cases

    return (
        *second_moment_cases(),
        *chain.from_iterable(map(_cases_of_protocol, protocols)),
        ppca_by_chains_case(),
        *message_cases(),
        *cca_cases(),
        *cape_cases(),
        *statistics_cases(),
        *classification_cases(),
        *composed_cases(),
    )


@cache
def _cases_of_protocol(entry: Protocol) -> tuple[AuditCase, ...]:
    return (
        *cases_of(entry),
        *private_mean_cases_of(entry),
        *sphere_cases_of(entry),
        *differences_cases_of(entry),
    )
