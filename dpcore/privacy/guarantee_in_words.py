"""Meaning of a guarantee for one person: tests, beliefs, and the text of the guarantee card.

An adversary tests between two neighbouring data sets: D with the person's row, and D' with another
row in its place. `type_one` is the probability of deciding "D" under D', `type_two` the probability
of deciding "D'" under D, and `power` is 1 - type_two. (epsilon, delta) bounds the odds of every
*event*. It does not imply that the odds stay within e^epsilon except with probability delta: for
Gaussian noise this is false by a factor of ten and more. `gaussian_exceedance` returns the exact
probability, `exceedance_bound` a bound for every mechanism.

`describe` returns the guarantee card as plain data. Numbers that bound a risk are rounded up, so no
sentence states a stronger guarantee than the one that holds.
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

Values = FloatArray | float


def guarantee_mu(guarantee: Guarantee) -> float | None:
    """Return mu of a Gaussian guarantee, from its exact (epsilon, delta); None for any other.

    A release with epsilon 0 at a positive delta has its mu computed from the noise. Without a
    stated noise, the result is the largest mu with epsilon 0 at this delta.
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
    """Return the smallest mu of a Gaussian release that bounds a pure epsilon-DP release.

    The trade-off curve of pure epsilon-DP consists of two lines that meet where both errors are
    1 / (1 + e^epsilon). The Gaussian curve goes through this corner and, being convex, lies below
    the lines elsewhere (`dpcore.privacy.accountant`).
    """
    if not epsilon >= 0:
        raise ParameterError("epsilon", "at least 0", epsilon)
    if math.isinf(epsilon):
        return math.inf
    # Logarithms are used because e^-epsilon underflows while mu is still small.
    return max(0.0, -2 * float(ndtri_exp(log_expit(-epsilon))))


@lru_cache(maxsize=4096)
def _mu(epsilon: float, delta: float) -> float:
    return gaussian_mu(PrivacyBudget(epsilon, delta))


def trade_off(type_one: Values, epsilon: float, delta: float = 0.0) -> Values:
    """Return the smallest type II error of any test under (epsilon, delta).

    Parameters
    ----------
    type_one : float or ndarray of any shape
        Type I error in [0, 1].
    epsilon, delta : float
        ``delta=0`` gives the curve of pure epsilon-DP.

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
    """Return the smallest type II error: exact for Gaussian noise, else from (epsilon, delta).

    Parameters
    ----------
    guarantee : Guarantee
    type_one : float or array
        Type I error; the result has the same shape.
    """
    mu = guarantee_mu(guarantee)
    if mu is None:
        return trade_off(type_one, guarantee.epsilon, guarantee.delta)
    return gaussian_trade_off(type_one, mu)


def guarantee_power(guarantee: Guarantee, type_one: Values) -> Values:
    """Return the power of the most powerful test at this level.

    Parameters
    ----------
    guarantee : Guarantee
    type_one : float or array
        Probability of deciding "D" under D'.
    """
    return 1 - guarantee_trade_off(guarantee, type_one)


def best_guess(guarantee: Guarantee) -> float:
    """Return the largest probability of guessing right between D and D', both equally likely.

    The value without any information is 0.5. The best test has equal errors:
    (1 - delta) / (1 + e^epsilon) each under (epsilon, delta), Phi(-mu / 2) for Gaussian noise.

    Parameters
    ----------
    guarantee : Guarantee
    """
    mu = guarantee_mu(guarantee)
    if mu is not None:
        return float(ndtr(mu / 2))
    return 1 - (1 - guarantee.delta) * float(expit(-guarantee.epsilon))


def icon_counts(guarantee: Guarantee, n_icons: int = 100) -> tuple[int, int]:
    """Return the largest numbers of right guesses out of `n_icons`, with and without the release.

    The first number is rounded up.

    Parameters
    ----------
    guarantee : Guarantee
    n_icons : int
    """
    if not n_icons >= 1:
        raise ParameterError("n_icons", "at least 1", n_icons)
    # The margin absorbs rounding errors: 50.000000001 must not become 51.
    return math.ceil(n_icons * best_guess(guarantee) - 1e-6), math.ceil(n_icons / 2)


def odds_factor(epsilon: float) -> float:
    """Return e^epsilon, the largest factor by which a pure epsilon-DP release changes any odds."""
    return math.exp(epsilon) if epsilon < 709 else math.inf


def posterior_bounds(prior: float, epsilon: float) -> tuple[float, float]:
    """Return the smallest and the largest belief after a pure epsilon-DP release.

    Parameters
    ----------
    prior : float
        Belief before the release, in (0, 1), that the data set is D.
    epsilon : float
    """
    _require_probability("prior", prior)
    return float(expit(logit(prior) - epsilon)), float(expit(logit(prior) + epsilon))


def posterior_after_test(prior: float, type_one: Values, power: Values) -> Values:
    """Return the belief in D after a test of this level and power has decided "D" (Bayes' rule).

    The power of the most powerful test gives the bound of a guarantee on conclusions of this
    level, both for (epsilon, delta) and for Gaussian noise.

    Parameters
    ----------
    prior : float
        Belief before the release, in (0, 1).
    type_one, power : float or array
    """
    _require_probability("prior", prior)
    return prior * power / (prior * power + (1 - prior) * type_one)


def gaussian_posterior(prior: float, mu: float, quantile: Values) -> Values:
    """Return a quantile of the belief in the true data set after a Gaussian release.

    For an adversary who knows everything except which of D and D' is true, the log-odds of the
    true one change by N(mu^2 / 2, mu^2), exactly.

    Parameters
    ----------
    prior : float
        Belief before the release, in (0, 1).
    mu : float
    quantile : float or array
        Level in (0, 1); the result has the same shape.
    """
    _require_probability("prior", prior)
    if math.isinf(mu):
        return np.ones_like(quantile, dtype=float)
    belief: Values = expit(logit(prior) + mu**2 / 2 + mu * ndtri(quantile))
    return belief


def gaussian_exceedance(epsilon: float, mu: float) -> float:
    """Return the probability that a Gaussian release changes the odds by more than e^epsilon.

    The log-odds of the true data set change by N(mu^2 / 2, mu^2). They increase by more than
    epsilon with probability Phi(mu / 2 - epsilon / mu) and decrease by more than epsilon with
    probability Phi(-mu / 2 - epsilon / mu), which is not negligible for small mu.
    """
    if mu == 0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(mu):
        return 1.0
    # Logarithms are used as in the profile: delta can be positive where Phi underflows, and this
    # probability is at least delta.
    increase, decrease = log_ndtr(mu / 2 - epsilon / mu), log_ndtr(-mu / 2 - epsilon / mu)
    return math.exp(float(np.logaddexp(increase, decrease)))


def exceedance_bound(factor: float, epsilon: float, delta: float) -> float:
    """Bound the probability that a release changes the odds by more than `factor`.

    The release is (epsilon, delta)-DP. The bound covers both directions and both true data sets,
    for every t = factor above e^epsilon:

        P <= delta (1 + t) / (t - e^epsilon),

    At t = 2 e^epsilon this is (2 + e^-epsilon) delta, not 2 delta. Some mechanism attains it.

    Proof. Let D be true. On the event A that the odds of D grow by more than t,
    P[A | D'] <= P[A | D] / t and P[A | D] <= e^epsilon P[A | D'] + delta, so
    P[A | D] <= delta / (1 - e^epsilon / t). On the event B that they shrink by more than t, the
    same argument with D and D' exchanged bounds P[B | D'], and P[B | D] <= P[B | D'] / t. The sum
    is the bound. A mechanism with one outcome each for A and B that attain both bounds, and one
    more outcome that is equally likely under D and D', is (epsilon, delta)-DP, since only A
    exceeds the ratio e^epsilon of D to D', and only B that of D' to D.

    Kasiviswanathan & Smith (2014) state t = e^(2 epsilon), with the larger
    2 delta / (1 - e^-epsilon). The bound applies to compositions, of which only (epsilon, delta)
    is known.
    """
    ratio = odds_factor(epsilon) / factor
    # The comparison is false if both overflow, and the bound is 1.
    return min(1.0, delta * (1 + 1 / factor) / (1 - ratio)) if ratio < 1 else 1.0


def _require_probability(parameter: str, value: float) -> None:
    if not 0 < value < 1:
        raise ParameterError(parameter, "in (0, 1)", value)


# Level of the test on the card: one false alarm in twenty.
CARD_TYPE_ONE = 0.05

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

EXPLANATIONS = {key: each.brief for key, each in STATED.items()}


@dataclass(frozen=True)
class CardRow:
    """Row of the card: a label and its value; `explanation` is a key of `EXPLANATIONS`."""

    label: str
    value: str
    explanation: str


@dataclass(frozen=True)
class Badge:
    """Short text of a badge, with its `tone`: "good", "bad" or "neutral"."""

    text: str
    tone: str


@dataclass(frozen=True)
class GuaranteeCard:
    """Texts of the card of one guarantee.

    Parameters
    ----------
    headline : str
    rows : tuple of CardRow
    assumptions : tuple of Assumption
        Conditions of the guarantee.
    badges : tuple of Badge
    sights : tuple of str
        One sentence per adversary: what it sees, and which guarantee holds against it.
    """

    headline: str
    rows: tuple[CardRow, ...]
    assumptions: tuple[Assumption, ...]
    badges: tuple[Badge, ...]
    sights: tuple[str, ...] = ()


def describe(guarantee: Guarantee) -> GuaranteeCard:
    """Return the card of a guarantee, in sentences for readers who do not know epsilon."""
    return GuaranteeCard(
        headline=_headline(guarantee),
        rows=tuple(_rows(guarantee)),
        assumptions=guarantee.assumptions if guarantee.is_private else (),
        badges=tuple(_badges(guarantee)),
        sights=tuple(map(_sight_sentence, guarantee.against)) if guarantee.is_private else (),
    )


def one_in(chance: float) -> str:
    """Format a probability as "1 in 100", rounded up; "never" for 0."""
    if chance <= 0:
        return "never"
    if chance > 0.5:
        return f"{round_up(100 * chance, 3):g} in 100"
    # Smaller probabilities are shown as 1e-15, a safe bound with a readable number of zeros.
    n = 1 / max(chance, 1e-15)
    # Two significant digits, rounded down; with the margin, 1 / 0.01 = 99.99… stays 100.
    unit = 10 ** max(0, math.floor(math.log10(n)) - 1)
    return f"1 in {int(math.floor(n * (1 + 1e-9) / unit) * unit):,}"


def say_factor(factor: float) -> str:
    """Format a factor of at least 1 with two digits, rounded up; large factors in words."""
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
    """Format with three significant digits, rounded up; "∞" for infinity."""
    return "∞" if math.isinf(value) else say_delta(round_up(value, 3))


def say_delta(value: float) -> str:
    """Format as 0.01, 10⁻⁵ or 2.5·10⁻⁶, with six significant digits, rounded up."""
    value = round_up(value, 6)
    return f"{value:.6g}" if value == 0 or value >= 1e-3 else _in_powers(value, 5)


def _in_powers(value: float, places: int) -> str:
    digits, power = f"{value:.{places}e}".split("e")
    factor = "" if float(digits) == 1 else f"{float(digits):g}·"
    return f"{factor}10{str(int(power)).translate(_SUPERSCRIPTS)}"


def _headline(guarantee: Guarantee) -> str:
    if guarantee.mechanism == "data-independent":
        return "This result does not depend on the data, so it says nothing about anyone."
    if guarantee.mechanism == "exponential" and not guarantee.is_private:
        return (
            "No guarantee yet: the chains have not converged. (Even this message depends on the "
            "data, so only the data holder may see it.)"
        )
    if not guarantee.is_private:
        return "No guarantee: no noise protects this result, and it may reveal any row."
    factor = say_factor(odds_factor(guarantee.epsilon))
    likelier = "likelier" if guarantee.epsilon == 0 else f"more than {factor} times as likely"
    points = say_delta(100 * guarantee.delta)
    plus = f" (plus at most {points} percentage point{'s' * (points != '1')})"
    return (
        f"Nothing anyone could conclude about you becomes {likelier} because your record was used"
        f"{plus if guarantee.delta else ''}."
    )


def _rows(guarantee: Guarantee) -> Iterator[CardRow]:
    if (requested := guarantee.asked) is not None:
        text = f"ε = {say_number(requested.epsilon)}, δ = {say_delta(requested.delta)}"
        yield CardRow("Requested", text, "asked")
    yield CardRow("Delivered", _exact_guarantee(guarantee), "exact")
    if guarantee.mechanism == "data-independent" or not guarantee.is_private:
        return
    if guarantee.against:
        yield CardRow("Protects against", _adversary_names(guarantee.against), "against")
    yield CardRow("δ in words", one_in(guarantee.delta), "delta")
    yield CardRow("Neighbours", "one row replaced", "relation")
    power, level = _percent(float(guarantee_power(guarantee, CARD_TYPE_ONE))), 100 * CARD_TYPE_ONE
    text = f"catches at most {power} in 100 people, and wrongly accuses {level:g} in 100"
    yield CardRow("Strongest test", text, "power")
    right, blind = icon_counts(guarantee)
    text = f"right at most {right} times in 100; a coin is right {blind} times"
    yield CardRow("Best guess", text, "guess")
    yield CardRow("Noise", _noise_text(guarantee), "noise")


def _exact_guarantee(guarantee: Guarantee) -> str:
    text = f"ε = {say_number(guarantee.epsilon)} at δ = {say_delta(guarantee.delta)}"
    if guarantee.mechanism == "gaussian" and guarantee.is_private:
        return f"{text}; dropping directions afterwards reveals nothing more"
    return text


def _adversary_names(against: Sequence[Against]) -> str:
    """Return the names of the adversaries, with their epsilons if these differ."""
    others = [each for each in against if not each.is_trusted]
    differ = len({say_number(each.epsilon) for each in others}) > 1
    names = [
        f"{_lower_name(each)}, ε = {say_number(each.epsilon)}" if differ else _lower_name(each)
        for each in sorted(others, key=lambda each: -each.epsilon)
    ]
    trusted = [f"{_lower_name(each)} is trusted" for each in against if each.is_trusted]
    return "; ".join([*names, *trusted])


def _sight_sentence(each: Against) -> str:
    end = "and is trusted" if each.is_trusted else f"and faces ε = {say_number(each.epsilon)}"
    return f"{each.adversary.who} sees {each.sees}, {end}."


def _lower_name(each: Against) -> str:
    return each.adversary.who[0].lower() + each.adversary.who[1:]


def _noise_text(guarantee: Guarantee) -> str:
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
        # Only one of the two: readers stop at a green "private".
        is_weak = best_guess(guarantee) > 0.95
        yield Badge("weak guarantee", "bad") if is_weak else Badge("private", "good")
        if guarantee.delta == 0:
            yield Badge("pure: δ = 0", "neutral" if is_weak else "good")
    if guarantee.asked is not None:
        if not guarantee.keeps_asked:
            yield Badge("weaker than requested", "bad")
        elif guarantee.epsilon < 0.99 * guarantee.asked.epsilon:
            yield Badge("stronger than requested", "neutral")


def _percent(share: float) -> str:
    return f"{min(100.0, round_up(100 * share, 2)):g}"


def round_up(value: float, digits: int) -> float:
    """Round up to significant digits, with a relative tolerance of 1e-9."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return math.ceil(value / unit * (1 - 1e-9)) * unit
