"""What a guarantee means to a person, and the card that says it.

The adversary's problem is a test between two neighbouring data sets, D with your row and D' with
another in its place. `type_one` is the chance of crying "D" under D', `type_two` that of missing
it under D, and `power` is one minus the latter. (epsilon, delta) bounds the odds of every *event*;
it does not say that the odds stay within e^epsilon except with probability delta, which for
Gaussian noise is false by a factor of ten and more. `gaussian_exceedance` gives that chance
exactly, `exceedance_bound` a bound for any mechanism.

The guarantee card as plain data: a headline, rows, badges and assumptions.

Numbers that bound a risk are rounded up, chances of the form "1 in n" likewise, so that no
sentence promises more than the guarantee does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logit, ndtr, ndtri, ndtri_exp

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.privacy.budget import STATED, Against, Assumption, Guarantee, PrivacyBudget
from dpcore.privacy.gaussian import gaussian_mu, gaussian_trade_off

# What a guarantee means to a person: tests, odds, beliefs and counts.

Values = FloatArray | float


def guarantee_mu(guarantee: Guarantee) -> float | None:
    """mu of a Gaussian guarantee, from its exact (epsilon, delta); None for any other.

    Where delta alone covers the release, so that its epsilon is 0, mu is told from the noise;
    without it, this is the largest mu of which that is true.
    """
    if guarantee.mechanism != "gaussian":
        return None
    if math.isinf(guarantee.epsilon):
        return math.inf
    if guarantee.epsilon == 0 and guarantee.mu is not None:
        return guarantee.mu
    if guarantee.epsilon == 0 and guarantee.sigma and guarantee.l2_sensitivity:
        return guarantee.l2_sensitivity / guarantee.sigma
    if guarantee.epsilon == 0:
        return 2 * float(ndtri((1 + guarantee.delta) / 2))
    return _mu(guarantee.epsilon, guarantee.delta)


def pure_mu(epsilon: float) -> float:
    """mu of the least private Gaussian release that bounds an epsilon-private one.

    Its trade-off curve goes through the corner of the other's two lines, where both errors are
    1 / (1 + e^epsilon), and lies below them elsewhere, being convex (`dpcore.privacy.accountant`).
    """
    if not epsilon >= 0:
        raise ParameterError("epsilon", "at least 0", epsilon)
    if math.isinf(epsilon):
        return math.inf
    # Through its logarithm: e^-epsilon underflows long before mu is large.
    return max(0.0, -2 * float(ndtri_exp(log_expit(-epsilon))))


@lru_cache(maxsize=4096)
def _mu(epsilon: float, delta: float) -> float:
    return gaussian_mu(PrivacyBudget(epsilon, delta))


def trade_off(type_one: Values, epsilon: float, delta: float = 0.0) -> Values:
    """Smallest type II error of any test under (epsilon, delta): two lines and the floor.

    Parameters
    ----------
    type_one : float or ndarray of any shape
        In [0, 1].
    epsilon, delta : float
        ``delta=0`` is the curve of pure privacy.

    References
    ----------
    Kairouz, Oh & Viswanath (2015), "The composition theorem for differential privacy"; Dong,
    Roth & Su (2022), proposition 2.5.
    """
    if math.isinf(epsilon):
        return np.zeros_like(type_one, dtype=float)
    steep = 1 - delta - odds_factor(epsilon) * type_one
    flat = math.exp(-epsilon) * (1 - delta - type_one)
    return np.maximum(0.0, np.maximum(steep, flat))


def guarantee_trade_off(guarantee: Guarantee, type_one: Values) -> Values:
    """The exact curve for Gaussian noise, that of (epsilon, delta) for everything else.

    Parameters
    ----------
    guarantee : Guarantee
    type_one : float or array
        As in `guarantee_power`; the result, of the same shape, is the smallest type two error.
    """
    mu = guarantee_mu(guarantee)
    if mu is None:
        return trade_off(type_one, guarantee.epsilon, guarantee.delta)
    return gaussian_trade_off(type_one, mu)


def guarantee_power(guarantee: Guarantee, type_one: Values) -> Values:
    """Chance that the most powerful test at this level finds you.

    Parameters
    ----------
    guarantee : Guarantee
    type_one : float or array
        Chance of crying "D" where it was D'.
    """
    return 1 - guarantee_trade_off(guarantee, type_one)


def best_guess(guarantee: Guarantee) -> float:
    """Largest chance of guessing right whether the data were D or D', both equally likely.

    One half says nothing. The test with equal errors is the best: (1 - delta) / (1 + e^epsilon)
    each under (epsilon, delta), Phi(-mu / 2) under Gaussian noise.

    Parameters
    ----------
    guarantee : Guarantee
    """
    mu = guarantee_mu(guarantee)
    if mu is not None:
        return float(ndtr(mu / 2))
    return 1 - (1 - guarantee.delta) * float(expit(-guarantee.epsilon))


def icon_counts(guarantee: Guarantee, n_icons: int = 100) -> tuple[int, int]:
    """For an icon array: guesses out of `n_icons` that may be right, with the release and without.

    The first is rounded up, so that the picture never promises too much.

    Parameters
    ----------
    guarantee : Guarantee
    n_icons : int
    """
    if not n_icons >= 1:
        raise ParameterError("n_icons", "at least 1", n_icons)
    # The margin keeps 50.000000001, a rounding error, from becoming 51.
    return math.ceil(n_icons * best_guess(guarantee) - 1e-6), math.ceil(n_icons / 2)


def odds_factor(epsilon: float) -> float:
    """e^epsilon: the most by which a purely private release multiplies or divides any odds."""
    return math.exp(epsilon) if epsilon < 709 else math.inf


def posterior_bounds(prior: float, epsilon: float) -> tuple[float, float]:
    """Least and greatest belief after seeing a purely epsilon-private release.

    Parameters
    ----------
    prior : float
        Belief before, in (0, 1), that the data are D and not D'.
    epsilon : float
    """
    _require_probability("prior", prior)
    return float(expit(logit(prior) - epsilon)), float(expit(logit(prior) + epsilon))


def posterior_after_test(prior: float, type_one: Values, power: Values) -> Values:
    """Belief in D once a test of this level and power has cried "D" (Bayes' rule).

    With the power of the most powerful test it is the bound that a guarantee gives, under
    (epsilon, delta) as well as under Gaussian noise, for conclusions this rare.

    Parameters
    ----------
    prior : float
        In (0, 1): the belief before.
    type_one, power : float or array
    """
    _require_probability("prior", prior)
    return prior * power / (prior * power + (1 - prior) * type_one)


def gaussian_posterior(prior: float, mu: float, quantile: Values) -> Values:
    """Quantile of the belief in what is true, after seeing a Gaussian release.

    Under the true data set the log-odds move by N(mu^2 / 2, mu^2), exactly, for an adversary who
    knows everything but which of D and D' it was.

    Parameters
    ----------
    prior : float
        In (0, 1): the belief before.
    mu : float
    quantile : float or array
        In (0, 1); the result has its shape.
    """
    _require_probability("prior", prior)
    if math.isinf(mu):
        return np.ones_like(quantile, dtype=float)
    belief: Values = expit(logit(prior) + mu**2 / 2 + mu * ndtri(quantile))
    return belief


def gaussian_exceedance(epsilon: float, mu: float) -> float:
    """Chance that a Gaussian release moves the odds by more than e^epsilon, in either direction.

    Under the truth the log-odds move by N(mu^2 / 2, mu^2), whichever of the two data sets it is.
    Towards it they move that far with chance Phi(mu / 2 - epsilon / mu), away from it with
    Phi(-mu / 2 - epsilon / mu): not negligible where mu is small.
    """
    if mu == 0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(mu):
        return 1.0
    # Through their logarithms, as the profile is: where Phi underflows delta may still be above
    # 0, and this chance is never below delta.
    towards, away = log_ndtr(mu / 2 - epsilon / mu), log_ndtr(-mu / 2 - epsilon / mu)
    return math.exp(float(np.logaddexp(towards, away)))


def exceedance_bound(factor: float, epsilon: float, delta: float) -> float:
    """Bound on the chance that an (epsilon, delta) release moves the odds by more than `factor`.

    In either direction, whichever data set is the true one, for every t = factor above
    e^epsilon:

        P <= delta (1 + t) / (t - e^epsilon),

    at t = 2 e^epsilon that is (2 + e^-epsilon) delta, not 2 delta; and some mechanism attains it.

    Proof. Let D be true. On A, where the odds of D grow by more than t, P[A | D'] <= P[A | D] / t,
    and P[A | D] <= e^epsilon P[A | D'] + delta, so P[A | D] <= delta / (1 - e^epsilon / t). On B,
    where they shrink by more than t, the same with D and D' exchanged bounds P[B | D'], and
    P[B | D] <= P[B | D'] / t. The two add up to the bound. A mechanism with one outcome for A and
    one for B that attain both, and else one outcome as likely under D as under D', is
    (epsilon, delta)-private, since A alone exceeds the ratio e^epsilon of D to D', and B alone
    that of D' to D.

    Kasiviswanathan & Smith (2014) state t = e^(2 epsilon), with the larger
    2 delta / (1 - e^-epsilon). Where a release is a composition it is (epsilon, delta)-private
    and no more is known, so that this is what can be said of it.
    """
    ratio = odds_factor(epsilon) / factor
    # Not below 1 either where both overflow.
    return min(1.0, delta * (1 + 1 / factor) / (1 - ratio)) if ratio < 1 else 1.0


def _require_probability(parameter: str, value: float) -> None:
    if not 0 < value < 1:
        raise ParameterError(parameter, "in (0, 1)", value)


# The guarantee card as plain data: a headline, rows, badges and assumptions.

# Level of the test quoted on the card: one false alarm in twenty.
CARD_TYPE_ONE = 0.05

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

EXPLANATIONS = {key: each.brief for key, each in STATED.items()}


@dataclass(frozen=True)
class CardRow:
    """One line of the card, a label and its value; `explanation` is a key of `EXPLANATIONS`."""

    label: str
    value: str
    explanation: str


@dataclass(frozen=True)
class Badge:
    """A text of a word or two, and the tone a page colours it by: "good", "bad" or "neutral"."""

    text: str
    tone: str


@dataclass(frozen=True)
class GuaranteeCard:
    """What a page says about one guarantee, ready to be laid out.

    Parameters
    ----------
    headline : str
    rows : tuple of CardRow
    assumptions : tuple of Assumption
        What the guarantee rests on.
    badges : tuple of Badge
    sights : tuple of str
        A sentence each: what those it holds against, or trusts, see.
    """

    headline: str
    rows: tuple[CardRow, ...]
    assumptions: tuple[Assumption, ...]
    badges: tuple[Badge, ...]
    sights: tuple[str, ...] = ()


def describe(guarantee: Guarantee) -> GuaranteeCard:
    """The card of a guarantee, in sentences for somebody who has never met epsilon."""
    return GuaranteeCard(
        headline=_headline(guarantee),
        rows=tuple(_rows(guarantee)),
        assumptions=guarantee.assumptions if guarantee.is_private else (),
        badges=tuple(_badges(guarantee)),
        sights=tuple(map(_say_sight, guarantee.against)) if guarantee.is_private else (),
    )


def one_in(chance: float) -> str:
    """A chance as "1 in 100", never made smaller than it is; "never" for 0."""
    if chance <= 0:
        return "never"
    if chance > 0.5:
        return f"{round_up(100 * chance, 3):g} in 100"
    # Nobody reads more zeros than these, and a larger chance is the safe side.
    n = 1 / max(chance, 1e-15)
    # Two significant digits, down; the margin saves 1 / 0.01 = 99.99… from becoming 99.
    unit = 10 ** max(0, math.floor(math.log10(n)) - 1)
    return f"1 in {int(math.floor(n * (1 + 1e-9) / unit) * unit):,}"


def say_factor(factor: float) -> str:
    """A factor of at least 1 in two digits, rounded up; large ones in words."""
    if math.isinf(factor):
        return "any number"
    if factor < 2:
        excess = round_up(factor - 1, 2)
        return f"{1 + excess:.6g}"
    factor = round_up(factor, 2)
    if factor >= 1e15:
        return _in_powers(factor, 1)
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if factor >= size:
            return f"{factor / size:.3g} {word}"
    return f"{factor:,.10g}"


def say_number(value: float) -> str:
    """Three significant digits, rounded up, small ones as on paper; "∞" when infinite."""
    return "∞" if math.isinf(value) else say_delta(round_up(value, 3))


def say_delta(value: float) -> str:
    """As on paper: 0.01, but 10⁻⁵ and 2.5·10⁻⁶ where a power of ten says it shorter.

    Six significant digits, rounded up.
    """
    value = round_up(value, 6)
    return f"{value:.6g}" if value == 0 or value >= 1e-3 else _in_powers(value, 5)


def _in_powers(value: float, places: int) -> str:
    digits, power = f"{value:.{places}e}".split("e")
    factor = "" if float(digits) == 1 else f"{float(digits):g}·"
    return f"{factor}10{str(int(power)).translate(_RAISED)}"


def _headline(guarantee: Guarantee) -> str:
    if guarantee.mechanism == "data-independent":
        return "This result does not depend on the data, so it says nothing about anyone."
    if guarantee.mechanism == "exponential" and not guarantee.is_private:
        return (
            "No guarantee yet: the chains have not converged. (Even this message depends on the "
            "data, so only the data holder may see it.)"
        )
    if not guarantee.is_private:
        return "Nothing is promised: no noise protects this result, and it may give any row away."
    factor = say_factor(odds_factor(guarantee.epsilon))
    likelier = "likelier" if guarantee.epsilon == 0 else f"more than {factor} times as likely"
    points = say_delta(100 * guarantee.delta)
    plus = f" (plus at most {points} percentage point{'s' * (points != '1')})"
    return (
        f"Nothing anyone could conclude about you becomes {likelier} because your record was used"
        f"{plus if guarantee.delta else ''}."
    )


def _rows(guarantee: Guarantee) -> Iterator[CardRow]:
    if (asked := guarantee.asked) is not None:
        said = f"ε = {say_number(asked.epsilon)}, δ = {say_delta(asked.delta)}"
        yield CardRow("Requested", said, "asked")
    yield CardRow("Delivered", _say_what_holds(guarantee), "exact")
    if guarantee.mechanism == "data-independent" or not guarantee.is_private:
        return
    if guarantee.against:
        yield CardRow("Protects against", _say_against_whom(guarantee.against), "against")
    yield CardRow("δ in words", one_in(guarantee.delta), "delta")
    yield CardRow("Neighbours", "one row replaced", "relation")
    power, level = _percent(float(guarantee_power(guarantee, CARD_TYPE_ONE))), 100 * CARD_TYPE_ONE
    found = f"catches at most {power} in 100 people, and wrongly accuses {level:g} in 100"
    yield CardRow("Strongest test", found, "power")
    right, blind = icon_counts(guarantee)
    said = f"right at most {right} times in 100; a coin is right {blind} times"
    yield CardRow("Best guess", said, "guess")
    yield CardRow("Noise", _say_noise(guarantee), "noise")


def _say_what_holds(guarantee: Guarantee) -> str:
    said = f"ε = {say_number(guarantee.epsilon)} at δ = {say_delta(guarantee.delta)}"
    if guarantee.mechanism == "gaussian" and guarantee.is_private:
        return f"{said}; dropping directions afterwards reveals nothing more"
    return said


def _say_against_whom(against: Sequence[Against]) -> str:
    """Names, with an epsilon each where they differ; whoever is trusted stands at the end."""
    others = [each for each in against if not each.is_trusted]
    differ = len({say_number(each.epsilon) for each in others}) > 1
    said = [
        f"{_named(each)}, ε = {say_number(each.epsilon)}" if differ else _named(each)
        for each in sorted(others, key=lambda each: -each.epsilon)
    ]
    trusted = [f"{_named(each)} is trusted" for each in against if each.is_trusted]
    return "; ".join([*said, *trusted])


def _say_sight(each: Against) -> str:
    holds = "and is trusted" if each.is_trusted else f"and faces ε = {say_number(each.epsilon)}"
    return f"{each.adversary.who} sees {each.sees}, {holds}."


def _named(each: Against) -> str:
    return each.adversary.who[0].lower() + each.adversary.who[1:]


def _say_noise(guarantee: Guarantee) -> str:
    scale = ""
    if guarantee.sigma is not None:
        scale = f"σ = {guarantee.sigma:.3g}, "
    if guarantee.l2_sensitivity is not None:
        scale += f"one row moves the result by up to {say_number(guarantee.l2_sensitivity)}, "
    return f"{scale}added by {guarantee.noise_added_by}"


def _badges(guarantee: Guarantee) -> Iterator[Badge]:
    if guarantee.mechanism == "data-independent":
        yield Badge("independent of the data", "neutral")
        return
    if not guarantee.is_private:
        yield Badge("not private", "bad")
    else:
        # One verdict: nobody reads on after a green "private".
        is_weak = best_guess(guarantee) > 0.95
        yield Badge("weak promise", "bad") if is_weak else Badge("private", "good")
        if guarantee.delta == 0:
            yield Badge("pure: δ = 0", "neutral" if is_weak else "good")
    if guarantee.asked is not None:
        if not guarantee.keeps_asked:
            yield Badge("breaks what was asked", "bad")
        elif guarantee.epsilon < 0.99 * guarantee.asked.epsilon:
            yield Badge("stronger than asked", "neutral")


def _percent(share: float) -> str:
    return f"{min(100.0, round_up(100 * share, 2)):g}"


def round_up(value: float, digits: int) -> float:
    """Round up to significant digits; a relative 1e-9 above a round number is a rounding error."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return math.ceil(value / unit * (1 - 1e-9)) * unit
